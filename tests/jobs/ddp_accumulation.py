# SPDX-License-Identifier: Apache-2.0
"""Ranks that accumulate gradients over four micro-batches; only the last one is synchronised."""

from contextlib import nullcontext

import torch
import torch.distributed as dist
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

PARTS = 4

dist.init_process_group("gloo")
torch.manual_seed(0)
net = Net()
ddp = DistributedDataParallel(net)
model = torch.compile(ddp)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    for part in range(PARTS):
        with nullcontext() if part == PARTS - 1 else ddp.no_sync():
            moment = PARTS * step + part
            loss = F.cross_entropy(model(seeded(moment, 8, 32)), labels(moment, 8, 10)) / PARTS
            loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
dist.destroy_process_group()
