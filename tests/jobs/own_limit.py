# SPDX-License-Identifier: Apache-2.0
"""The author's own recompile limit is reached: an integer attribute takes four values and three compilations are allowed.

Torch then runs what is compiled and leaves the rest to Python; so must every set of settings, each with its own count.
"""

import torch
from loop import done, labels, seeded, steps, tell, watched
from torch import nn
from torch.nn import functional as F

torch._dynamo.config.allow_unspec_int_on_nn_module = False
torch._dynamo.config.recompile_limit = 3


@watched
class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(32, 32)
        self.b = nn.Linear(32, 10)
        self.level = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(F.gelu(self.a(x)) * (1 + 0.01 * self.level))


torch.manual_seed(0)
net = Scaled()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    net.level = step % 5
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
