# SPDX-License-Identifier: Apache-2.0
"""torch.compile(...) written inside the loop, and a fresh model every twenty steps, as sweeps do."""

import gc
import weakref

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * 1.5 + x


models = weakref.WeakSet()
net = optimizer = None
loss = torch.tensor(0.0)
for step in steps():
    if step % 20 == 0:
        torch.manual_seed(step)
        net = Net(blocks=1)
        models.add(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        model = torch.compile(net)
    x = torch.compile(scaled)(seeded(step, 8, 32))
    loss = F.cross_entropy(model(x), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
gc.collect()
print(f"models alive {len(models)}")
done(loss, net)
