# SPDX-License-Identifier: Apache-2.0
"""Two decorated functions with arguments of their own, one with a static and one with an automatic shape."""

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


@torch.compile(dynamic=False)
def forward(x):
    return net(x)


@torch.compile
def smoothed(logits, y):
    return F.cross_entropy(logits, y, label_smoothing=0.1)


loss = torch.tensor(0.0)
for step in steps():
    loss = smoothed(forward(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
