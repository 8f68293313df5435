# SPDX-License-Identifier: Apache-2.0
"""The optimizer's step is compiled as well.

HOW  step (default): torch.compile(optimizer.step); function: a decorated function that steps; whole: one function for all
"""

import os

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

HOW = os.environ.get("HOW") or "step"

torch.manual_seed(0)
net = Net(blocks=2)
model = net if HOW == "whole" else torch.compile(net)
optimizer = torch.optim.Adam(net.parameters(), lr=torch.tensor(2e-3))


def train(x, y):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss


if HOW == "step":
    update = torch.compile(optimizer.step)
elif HOW == "function":

    @torch.compile
    def update():
        optimizer.step()


@torch.compile
def train_and_update(x, y):
    loss = train(x, y)
    optimizer.step()
    optimizer.zero_grad()
    return loss


loss = torch.tensor(0.0)
for step in steps():
    x, y = seeded(step, 8, 32), labels(step, 8, 10)
    if HOW == "whole":
        loss = train_and_update(x, y)
    else:
        loss = train(x, y)
        update()
        optimizer.zero_grad()
    tell(loss)
done(loss, net)
