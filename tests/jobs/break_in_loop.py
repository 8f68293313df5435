# SPDX-License-Identifier: Apache-2.0
"""A graph break inside a loop: torch gives the frame up and compiles what it calls."""

import torch
from loop import done, labels, seeded, steps, tell, watched
from torch import nn
from torch.nn import functional as F


@watched
class Looping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(32, 32)
        self.second = nn.Linear(32, 32)
        self.last = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in (self.first, self.second):
            x = F.gelu(layer(x))
            torch._dynamo.graph_break()
        return self.last(x)


torch.manual_seed(0)
net = Looping()
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
