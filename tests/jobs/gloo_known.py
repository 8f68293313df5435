# SPDX-License-Identifier: Apache-2.0
"""Compiles nothing, and has a known number of collectives on gloo in each step; rank LATE, if any, comes late to the first of them.

LATE     the rank that sleeps (none)
LATE_MS  for so long (20)
"""

import os
import time

import torch
import torch.distributed as dist
from loop import RANK, WORLD, done, labels, meeting, seeded, steps, tell
from model import Net
from torch.nn import functional as F

dist.init_process_group("gloo", **meeting())
torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
late_s = float(os.environ.get("LATE_MS") or 20) / 1000 if os.environ.get("LATE") == str(RANK) else 0.0
parts = [torch.empty(10) for _ in range(WORLD)]

loss = torch.tensor(0.0)
for step in steps():
    time.sleep(late_s)
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    for _ in range(3):
        dist.all_reduce(torch.ones(1000))  # 4000 bytes
    dist.broadcast(torch.ones(50, dtype=torch.float64), 0)  # 400 bytes
    dist.all_gather(parts, torch.ones(10))  # 40 bytes
    dist.barrier()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
dist.destroy_process_group()
