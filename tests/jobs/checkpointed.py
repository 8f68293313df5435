# SPDX-License-Identifier: Apache-2.0
"""The model of the two checkpoint jobs."""

from __future__ import annotations

import os

import torch
from loop import watched
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

BREAKS = os.environ.get("BREAKS") == "1"
DROPOUT = float(os.environ.get("DROPOUT") or 0)


@watched
class CheckpointedBlock(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.gelu(self.up(x))
        if BREAKS:
            torch._dynamo.graph_break()
        return x + self.dropout(self.down(F.gelu(y)))


@watched
class CheckpointedNet(nn.Module):
    def __init__(self, reentrant: bool, inside: bool = True) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(CheckpointedBlock() for _ in range(3))
        self.head = nn.Linear(32, 10)
        self.reentrant = reentrant
        self.inside = inside

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant) if self.inside else block(x)
        return self.head(x)
