# SPDX-License-Identifier: Apache-2.0
"""A compiled function, no compiled module: forward and loss together."""

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def loss_of(x, y):
    return F.cross_entropy(net(x), y)


fast_loss = torch.compile(loss_of)

loss = torch.tensor(0.0)
for step in steps():
    loss = fast_loss(seeded(step, 8, 32), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
