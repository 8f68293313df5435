# SPDX-License-Identifier: Apache-2.0
"""What the jobs have in common: how long they run, what they print, when they stop.

The environment says:
STEPS   how many steps (40)
PACE    a step lasts at least so many milliseconds (0)
STOP    a file: once it is there, all ranks end after the same step
NOISE   so many characters more on each line (0)
MEET    a folder: the ranks of each round of torchrun meet by a file there (by torchrun's own store)
TRUTH   a file: what really ran in each step is written to TRUTH.RANK (truth.py)
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

if os.environ.get("TRUTH"):
    import truth
else:
    truth = None

STEPS = int(os.environ.get("STEPS") or 40)
PACE = float(os.environ.get("PACE") or 0) / 1000
NOISE = "." * int(os.environ.get("NOISE") or 0)
STOP = os.environ.get("STOP", "")
RANK = int(os.environ.get("RANK") or 0)
WORLD = int(os.environ.get("WORLD_SIZE") or 1)
WHO = f"[rank{RANK}] " if WORLD > 1 else ""

count = 0


def meeting() -> dict[str, Any]:
    """How init_process_group finds the other ranks."""
    if not os.environ.get("MEET"):
        return {}
    round = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return {"init_method": f"file://{os.environ['MEET']}/{round}", "rank": RANK, "world_size": WORLD}


def watched(cls: type[nn.Module]) -> type[nn.Module]:
    """Class decorator: calls of forward that Python itself executes are counted when the truth is asked for."""
    if truth is not None:
        truth.watch(cls)
    return cls


def seeded(step: int, *shape: int) -> torch.Tensor:
    """The same numbers for the same step and rank in every run."""
    generator = torch.Generator().manual_seed(1000 * step + RANK)
    return torch.randn(*shape, generator=generator)


def labels(step: int, n: int, classes: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1000 * step + 500 + RANK)
    return torch.randint(0, classes, (n,), generator=generator)


def stopped() -> bool:
    if not STOP:
        return False
    flag = torch.tensor(int(os.path.exists(STOP)))
    if dist.is_initialized():
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def steps() -> Iterator[int]:
    """0, 1, 2 ... until STEPS are done or the file STOP appears."""
    for step in range(STEPS):
        if stopped():
            return
        begin = time.monotonic()
        yield step
        end_of_step()
        time.sleep(max(0.0, PACE - (time.monotonic() - begin)))


def end_of_step() -> None:
    global count
    count += 1
    if truth is not None:
        truth.end_of_step()


def number(loss: torch.Tensor | float) -> float:
    return loss.detach().item() if isinstance(loss, torch.Tensor) else float(loss)


def say(text: str) -> None:
    """One write a line, so that the lines of two ranks do not mix."""
    sys.stdout.write(f"{WHO}{text}\n")
    sys.stdout.flush()


def tell(loss: torch.Tensor | float) -> None:
    say(f"step {count} loss {number(loss):.6f}{NOISE}")


def digest(model: nn.Module) -> tuple[str, str]:
    """Of the weights, bit for bit, and of the names in the state_dict."""
    weights, names = hashlib.sha256(), hashlib.sha256()
    for name, value in model.state_dict().items():
        names.update(name.encode())
        if isinstance(value, torch.Tensor):
            value = value.full_tensor() if hasattr(value, "full_tensor") else value
            weights.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return weights.hexdigest()[:16], names.hexdigest()[:16]


def done(loss: torch.Tensor | float, model: nn.Module | None = None) -> None:
    tail = " weights={} keys={}".format(*digest(model)) if model is not None else ""
    say(f"done steps={count} loss={number(loss):.6f}{tail}")
    if truth is not None:
        truth.close()
