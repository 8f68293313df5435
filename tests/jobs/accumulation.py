# SPDX-License-Identifier: Apache-2.0
"""Gradients accumulated over three micro-batches."""

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

PARTS = 3

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    for part in range(PARTS):
        moment = PARTS * step + part
        loss = F.cross_entropy(model(seeded(moment, 8, 32)), labels(moment, 8, 10)) / PARTS
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
