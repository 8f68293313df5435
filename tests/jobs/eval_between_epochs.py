# SPDX-License-Identifier: Apache-2.0
"""Evaluation after each epoch of ten steps: under no_grad in even epochs, in inference mode in odd ones."""

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

EPOCH = 10

torch.manual_seed(0)
net = Net(dropout=0.0)
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def evaluate(epoch: int) -> float:
    model.eval()
    with torch.no_grad() if epoch % 2 == 0 else torch.inference_mode():
        total = sum(float(F.cross_entropy(model(seeded(90 + i, 16, 32)), labels(90 + i, 16, 10))) for i in range(3))
    model.train()
    return total / 3


loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
    if step % EPOCH == EPOCH - 1:
        print(f"eval {evaluate(step // EPOCH):.6f}", flush=True)
done(loss, model)
