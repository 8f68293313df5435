# SPDX-License-Identifier: Apache-2.0
"""python -m odd_package: trains a little and prints how it was called."""

import sys

import torch
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net(blocks=1)
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(10):
    generator = torch.Generator().manual_seed(step)
    F.mse_loss(model(torch.randn(8, 32, generator=generator)), torch.zeros(8, 10)).backward()
    optimizer.step()
    optimizer.zero_grad()
print(__name__, __package__, sys.argv[1:], f"sum {sum(float(p.detach().sum()) for p in net.parameters()):.6f}")
