# SPDX-License-Identifier: Apache-2.0
"""A small model of repeated blocks, as most jobs here train it."""

from __future__ import annotations

import torch
from loop import watched
from torch import nn
from torch.nn import functional as F


@watched
class Block(nn.Module):
    def __init__(self, width: int = 32, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.dropout(self.down(F.gelu(self.up(self.norm(x)))))


@watched
class Net(nn.Module):
    def __init__(self, width: int = 32, blocks: int = 3, classes: int = 10, dropout: float = 0.0) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, dropout) for _ in range(blocks))
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)
