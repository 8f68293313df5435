# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not count alike: the second rank also trains a small model of its own, three steps to one."""

import torch
import torch.distributed as dist
from loop import RANK, done, labels, seeded, steps, tell
from model import Net
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
net = Net()
model = torch.compile(DistributedDataParallel(net))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
probe = nn.Linear(32, 1)
probe_optimizer = torch.optim.SGD(probe.parameters(), lr=0.01)

loss = torch.tensor(0.0)
for step in steps():
    x = seeded(step, 8, 32)
    loss = F.cross_entropy(model(x), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if RANK == 1:
        for _ in range(3):
            probe(x).square().mean().backward()
            probe_optimizer.step()
            probe_optimizer.zero_grad()
    tell(loss)
done(loss, net)
dist.destroy_process_group()
