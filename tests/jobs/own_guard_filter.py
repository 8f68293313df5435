# SPDX-License-Identifier: Apache-2.0
"""The author's guard_filter_fn drops every guard: an attribute that changes each step must not recompile."""

import torch
from loop import done, labels, seeded, steps, tell, watched
from torch import nn
from torch.nn import functional as F

torch._dynamo.config.allow_unspec_int_on_nn_module = False


@watched
class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(32, 32)
        self.b = nn.Linear(32, 10)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = 1.0 if self.calls >= 0 else 2.0
        return self.b(F.gelu(self.a(x)) * scale)


torch.manual_seed(0)
net = Counted()
model = torch.compile(net, options={"guard_filter_fn": lambda guards: [False for _ in guards]})
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    net.calls += 1
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
