# SPDX-License-Identifier: Apache-2.0
"""Ranks under DistributedDataParallel; each block compiled in place."""

import torch
import torch.distributed as dist
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
net = Net()
for block in net.blocks:
    block.compile()
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
dist.destroy_process_group()
