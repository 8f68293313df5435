# SPDX-License-Identifier: Apache-2.0
"""Ranks under DistributedDataParallel; the model is compiled first and wrapped then.

TIMEOUT_S  after so many seconds a collective gives up (1800)
COMPILE_S  each graph takes so long to compile, by a backend that only waits (0: inductor)
"""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

TIMEOUT_S, COMPILE_S = float(os.environ.get("TIMEOUT_S") or 1800), float(os.environ.get("COMPILE_S") or 0)


def slow(graph, example_inputs):
    time.sleep(COMPILE_S)
    return graph.forward


dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT_S))
torch.manual_seed(0)
net = Net()
model = DistributedDataParallel(torch.compile(net, backend=slow if COMPILE_S else "inductor"))
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
