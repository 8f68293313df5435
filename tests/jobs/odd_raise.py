# SPDX-License-Identifier: Apache-2.0
"""An exception of the author's own in the middle of training."""

import torch
from model import Net

model = torch.compile(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    model(torch.ones(8, 32)).sum().backward()
    optimizer.step()
    if step == 3:
        raise ValueError("the author's own mistake")
