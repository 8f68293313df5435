# SPDX-License-Identifier: Apache-2.0
"""A compiled function that calls a compiled model, with a graph break on either side of the call when BREAKS=1."""

import os

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

BREAKS = os.environ.get("BREAKS") == "1"

torch.manual_seed(0)
net = Net(blocks=2)
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


@torch.compile
def loss_of(x, y):
    x = x * 1.5
    if BREAKS:
        torch._dynamo.graph_break()
    logits = model(x)
    if BREAKS:
        torch._dynamo.graph_break()
    return F.cross_entropy(logits, y)


loss = torch.tensor(0.0)
for step in steps():
    loss = loss_of(seeded(step, 8, 32), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
