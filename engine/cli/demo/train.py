# SPDX-License-Identifier: Apache-2.0
"""Trains a small language model on synthetic text, on as many ranks as torchrun starts.

    torchrun --nproc-per-node=2 train.py --steps 300

The text is made here: sentences over a small alphabet in which each letter depends on the two before it.

Most of a step is pointwise work in attention and norms, which compiled code does in fewer passes over memory. Switches that are worth
a look, from step 50 on and some hundred steps apart, so that a baseline finds room between them: scope=regional (compiles in a fraction
of the time, gains a little less), dynamic=on (about as long as the first compilation), scope=eager (nothing to compile). What tunes
kernels (mode=max-autotune-no-cudagraphs) compiles longest and gains nothing here.
"""

from __future__ import annotations

import argparse
import math
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

LETTERS = 64


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


class Rotary(nn.Module):
    """Turns pairs of a head's numbers by an angle that grows with the position."""

    cos: torch.Tensor
    sin: torch.Tensor

    def __init__(self, head: int, length: int) -> None:
        super().__init__()
        frequency = 1.0 / (10000 ** (torch.arange(0, head, 2) / head))
        angle = torch.outer(torch.arange(length), frequency)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat((a * self.cos - b * self.sin, a * self.sin + b * self.cos), -1)


class Attention(nn.Module):
    """Causal attention with rotary positions and softly capped scores."""

    mask: torch.Tensor

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.inward = nn.Linear(width, 3 * width, bias=False)
        self.outward = nn.Linear(width, width, bias=False)
        self.rotary = Rotary(width // heads, length)
        self.register_buffer("mask", torch.ones(length, length).tril().bool(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.inward(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = self.rotary(q), self.rotary(k)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        scores = 30.0 * torch.tanh(scores / 30.0)
        weights = scores.masked_fill(~self.mask, -torch.inf).softmax(-1)
        return self.outward((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.value = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.gate(x), approximate="tanh") * self.value(x))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.attention = Attention(width, heads, length)
        self.mlp = Gated(width)
        self.scale1 = nn.Parameter(torch.full((width,), 0.5))
        self.scale2 = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.scale1 * self.attention(self.norm1(x))
        return x + self.scale2 * self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, width: int, blocks: int, heads: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(LETTERS, width)
        self.blocks = nn.ModuleList(Block(width, heads, length) for _ in range(blocks))
        self.norm = Norm(width)
        self.head = nn.Linear(width, LETTERS, bias=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.embed(text)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def sentences(batch: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """Each letter is 3 times the one before plus 5 times the one before that, now and then off by one."""
    text = torch.randint(0, LETTERS, (batch, length + 1), generator=generator)
    slips = torch.rand(batch, length + 1, generator=generator) < 0.05
    for i in range(2, length + 1):
        text[:, i] = (3 * text[:, i - 1] + 5 * text[:, i - 2] + slips[:, i]) % LETTERS
    return text


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long (0: never)")
    parser.add_argument("--scope", choices=("whole", "regional", "eager"), default="whole", help="what is compiled")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--every", type=int, default=50, help="steps between two lines of output")
    return parser.parse_args()


def time_is_up(begin: float, seconds: float) -> bool:
    """The same answer on all ranks, though their clocks differ."""
    if seconds <= 0:
        return False
    up = torch.tensor(int(time.monotonic() - begin >= seconds))
    if dist.is_initialized():
        dist.all_reduce(up, op=dist.ReduceOp.MAX)
    return bool(up)


def main() -> None:
    args = arguments()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // world))
    torch.manual_seed(0)
    model: nn.Module = Model(args.width, args.blocks, args.heads, args.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
    if args.scope == "regional":
        for block in model.blocks:
            block.compile()
    if world > 1:
        dist.init_process_group("gloo")
        model = DistributedDataParallel(model)
    if args.scope == "whole":
        model = torch.compile(model)

    generator = torch.Generator().manual_seed(rank)
    data = [sentences(args.batch, args.length, generator) for _ in range(64)]
    begin, step, loss = time.monotonic(), 0, torch.tensor(0.0)
    while step < args.steps and not time_is_up(begin, args.seconds):
        text = data[step % len(data)]
        logits = model(text[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if rank == 0 and step % args.every == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
    if rank == 0:
        print(f"trained {step} steps in {time.monotonic() - begin:.1f} s, loss {loss.item():.3f}", flush=True)
    if world > 1:
        dist.barrier()  # gloo's threads let go of the last step here; torch waits for them below with the interpreter locked
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
