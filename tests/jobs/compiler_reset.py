# SPDX-License-Identifier: Apache-2.0
"""The author resets the compiler every fifteen steps, each time in another of its two ways."""

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    if step % 15 == 12:
        (torch.compiler.reset if step % 2 else torch._dynamo.reset)()
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
