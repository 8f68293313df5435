# SPDX-License-Identifier: Apache-2.0
"""Batches of several sizes: automatic dynamic shapes learn from what they saw."""

import os

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

SIZES = [int(n) for n in (os.environ.get("SIZES") or "8,8,8,8,8,6,8,8,12").split(",")]

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    n = SIZES[step % len(SIZES)]
    loss = F.cross_entropy(model(seeded(step, n, 32)), labels(step, n, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
