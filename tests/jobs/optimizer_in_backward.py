# SPDX-License-Identifier: Apache-2.0
"""Each parameter has its own optimizer, which steps inside backward as soon as the gradient is there."""

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizers = {p: torch.optim.SGD([p], lr=0.05, momentum=0.9) for p in net.parameters()}


def step_now(parameter: torch.Tensor) -> None:
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in net.parameters():
    parameter.register_post_accumulate_grad_hook(step_now)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    tell(loss)
done(loss, model)
