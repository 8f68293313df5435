# SPDX-License-Identifier: Apache-2.0
"""Ranks whose collectives soon give up, and a backend that takes a good part of that time for each graph."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

TIMEOUT_S, COMPILE_S = 6.0, 2.5


def slow(graph, example_inputs):
    time.sleep(COMPILE_S)
    return graph.forward


dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT_S))
torch.manual_seed(0)
net = Net()
model = DistributedDataParallel(net)
net.compile(backend=slow)
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
