# SPDX-License-Identifier: Apache-2.0
"""Lightning Fabric: compiled before setup(), which compiles again around the DDP wrapper."""

import logging
import os

import lightning
import torch
from loop import WORLD, done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
if os.environ.get("LT_CLI_USED"):  # under `fabric run`, which says all this and launches
    fabric = lightning.Fabric()
else:
    fabric = lightning.Fabric(accelerator="cpu", devices=WORLD, strategy="ddp" if WORLD > 1 else "auto")
    fabric.launch()
torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
model, optimizer = fabric.setup(model, optimizer)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    fabric.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
fabric.barrier()
