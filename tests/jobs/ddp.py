# SPDX-License-Identifier: Apache-2.0
"""Ranks under DistributedDataParallel, the wrapper compiled as a whole."""

import torch
import torch.distributed as dist
from loop import done, labels, meeting, seeded, steps, tell
from model import Net
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", **meeting())
torch.manual_seed(0)
net = Net()
model = torch.compile(DistributedDataParallel(net))
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
