# SPDX-License-Identifier: Apache-2.0
"""Activation checkpointing of each block, the reentrant kind.

SCOPE    whole (default): the model is compiled; regional: each block in place; outer: a checkpoint around the compiled model
BREAKS   1: each block has a graph break
DROPOUT  (0)
"""

import os

import torch
from checkpointed import CheckpointedNet
from loop import done, labels, seeded, steps, tell
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

REENTRANT = True
SCOPE = os.environ.get("SCOPE") or "whole"

torch.manual_seed(0)
net = CheckpointedNet(REENTRANT, inside=SCOPE != "outer")
model = net
if SCOPE == "regional":
    for block in net.blocks:
        block.compile()
else:
    model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    x = seeded(step, 8, 32).requires_grad_()
    logits = checkpoint(model, x, use_reentrant=REENTRANT) if SCOPE == "outer" else model(x)
    loss = F.cross_entropy(logits, labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
