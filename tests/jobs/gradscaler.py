# SPDX-License-Identifier: Apache-2.0
"""GradScaler: now and then the gradients overflow and the scaler skips the optimizer's step."""

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1000)

skipped = 0
loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    scaler.scale(loss).backward()
    if step % 7 == 5:
        net.head.weight.grad[0, 0] = float("inf")
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped += scaler.get_scale() < scale
    optimizer.zero_grad()
    tell(loss)
print(f"skipped {skipped}")
done(loss, model)
