# SPDX-License-Identifier: Apache-2.0
"""The whole model compiled; whatever does not compile the whole of it waits 4 ms a step: a difference that no machine hides."""

import time

import torch
from loop import WORLD, done, labels, seeded, steps, tell
from model import Net
from torch import nn
from torch.nn import functional as F


class Slow(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            time.sleep(0.004)
        return super().forward(x)


torch.manual_seed(0)
net: nn.Module = Slow()
if WORLD > 1:
    torch.distributed.init_process_group("gloo")
    net = nn.parallel.DistributedDataParallel(net)
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
if WORLD > 1:
    torch.distributed.destroy_process_group()
