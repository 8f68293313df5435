# SPDX-License-Identifier: Apache-2.0
"""Imported by jobs under test: counts which graphs really ran, by whose backend they were compiled. Independent of the agent's events."""

from __future__ import annotations

import collections
import sys
from typing import Any

import torch
import torch._dynamo.utils as dynamo_utils

RAN: collections.Counter[str] = collections.Counter()  # label -> graph executions
COMPILED: list[str] = []
_real = torch._TorchCompileInductorWrapper.__call__


def label(backend: Any) -> str:
    if type(backend) is torch._TorchCompileInductorWrapper:
        return "written"
    for spec, variant in sys.modules["inductop_agent.variants"].Variant.all.items():
        if variant.backend is backend:
            words = [f"{k}={v}" for k, v in spec.options]
            words += ["fullgraph"] * spec.fullgraph + ([] if spec.dynamic is None else [f"dynamic={spec.dynamic}"])
            return ",".join(words) or "plain"
    return "other"


def _call(self: Any, gm: Any, inputs: Any, **kw: Any) -> Any:
    compiled = _real(self, gm, inputs, **kw)
    name = label(self)
    COMPILED.append(name)

    def run(*args: Any, **kwargs: Any) -> Any:
        RAN[name] += 1
        return compiled(*args, **kwargs)

    if hasattr(compiled, "_boxed_call"):
        run._boxed_call = compiled._boxed_call
    return run


torch._TorchCompileInductorWrapper.__call__ = _call


class Watch:
    """What ran and how often torch compiled since the last look."""

    def __init__(self) -> None:
        self.look()

    def look(self) -> tuple[dict[str, int], int]:
        ran, compiles = RAN.copy(), len(dynamo_utils.get_compilation_metrics())
        out = dict(ran - getattr(self, "ran", collections.Counter())), compiles - getattr(self, "compiles", compiles)
        self.ran, self.compiles = ran, compiles
        return out


class Block(torch.nn.Module):
    def __init__(self, d: int = 16, p: float = 0.0):
        super().__init__()
        self.a, self.b = torch.nn.Linear(d, 2 * d), torch.nn.Linear(2 * d, d)
        self.drop = torch.nn.Dropout(p)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.drop(self.b(torch.nn.functional.gelu(self.a(x))))


class Net(torch.nn.Module):
    def __init__(self, n: int = 3, d: int = 16, p: float = 0.0):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(d, p) for _ in range(n))
        self.head = torch.nn.Linear(d, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Breaks(torch.nn.Module):
    """Has a graph break in a loop."""

    def __init__(self, d: int = 16):
        super().__init__()
        self.a, self.b = torch.nn.Linear(d, d), torch.nn.Linear(d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = self.a(x)
            torch._dynamo.graph_break()
            x = self.b(x).relu()
        return x


def core() -> Any:
    return sys.modules["inductop_agent._inductop"]


def agent(name: str) -> Any:
    return sys.modules[f"inductop_agent.{name}"]


class Turn:
    """Stands in for the optimizer: each call is a boundary at which settings are applied. Returns the switch events it caused."""

    def __init__(self) -> None:
        boundary = agent("boundary")
        boundary._pacer = lambda: self
        boundary.stop_listening()
        agent("wake")._wake()
        self.count = 0

    def end(self) -> list[dict[str, Any]]:
        wake, seen = agent("wake"), len(core().EVENTS)
        wake._before_count()
        wake._after_count(core().step())
        return [e for e in core().EVENTS[seen:] if e["kind"] == "switch"]

    def __call__(self, **settings: str) -> list[dict[str, Any]]:
        out = self.end()
        seen = len(core().EVENTS)
        self.count += 1
        flat = {k.replace("__", "."): v for k, v in settings.items()}
        agent("switch").apply(flat, self.count, "viewer", core().count())
        return out + [e for e in core().EVENTS[seen:] if e["kind"] == "switch"]
