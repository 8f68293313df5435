# SPDX-License-Identifier: Apache-2.0
"""A branch on the value of a tensor."""

import torch
from loop import done, labels, seeded, steps, tell, watched
from torch import nn
from torch.nn import functional as F


@watched
class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(32, 32)
        self.last = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        if x.abs().mean() > 100:
            x = x / 100
        return self.last(F.gelu(x))


torch.manual_seed(0)
net = Branching()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
