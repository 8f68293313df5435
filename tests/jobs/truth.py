# SPDX-License-Identifier: Apache-2.0
"""What really ran, counted at the lowest place that Python can see: the function that a backend returned for a graph.

One JSON line a step in TRUTH.RANK:
  ran        list of {backend, config, dynamic, id, calls}: graphs executed, by the backend object that compiled them
  compiled   list of the same with `graphs`: graphs compiled
  eager      class name to calls of forward that Python itself executed
"""

from __future__ import annotations

import collections
import functools
import json
import os
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

ran: collections.Counter[int] = collections.Counter()
compiled: collections.Counter[int] = collections.Counter()
eager: collections.Counter[str] = collections.Counter()
backends: list[tuple[Any, dict[str, Any]]] = []
step = 0
file = open(f"{os.environ['TRUTH']}.{os.environ.get('RANK') or 0}", "a", buffering=1)


def plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


def describe(backend: Any) -> dict[str, Any]:
    config = getattr(backend, "config", None)
    if config is None:
        config = getattr(backend, "kwargs", {})
    return {
        "backend": backend.compiler_name,
        "config": {k: plain(v) for k, v in sorted(config.items())},
        "dynamic": backend.dynamic,
    }


def serial(backend: Any) -> int:
    for i, (known, _) in enumerate(backends):
        if known is backend:
            return i
    backends.append((backend, describe(backend)))
    return len(backends) - 1


def counting(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A subclass may call its base: only the outermost call is one compilation.
        if getattr(call, "inside", None) is self:
            return real(self, *args, **kwargs)
        outer, call.inside = getattr(call, "inside", None), self
        try:
            graph = real(self, *args, **kwargs)
        finally:
            call.inside = outer
        number = serial(self)
        compiled[number] += 1

        def run(*inputs: Any, **named: Any) -> Any:
            ran[number] += 1
            return graph(*inputs, **named)

        if hasattr(graph, "_boxed_call"):
            run._boxed_call = graph._boxed_call
        return run

    return call


def watch(cls: type[nn.Module]) -> None:
    inner, name = cls.forward, cls.__name__

    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling():
            eager[name] += 1
        return inner(self, *args, **kwargs)

    # Torch keeps what it compiled with the code object: each class must have its own, in the place of the real one.
    place = inner.__code__
    forward.__code__ = forward.__code__.replace(
        co_filename=place.co_filename, co_firstlineno=place.co_firstlineno, co_name=place.co_name
    )
    cls.forward = functools.wraps(inner)(forward)


def rows(counter: collections.Counter[int], name: str) -> list[dict[str, Any]]:
    return [{**backends[i][1], "id": i, name: n} for i, n in sorted(counter.items())]


def end_of_step() -> None:
    global step
    line = {"step": step, "ns": time.monotonic_ns(), "ran": rows(ran, "calls"),
            "compiled": rows(compiled, "graphs"), "eager": dict(eager)}
    file.write(json.dumps(line) + "\n")
    step += 1
    for counter in (ran, compiled, eager):
        counter.clear()


def close() -> None:
    file.flush()


torch._TorchCompileInductorWrapper.__call__ = counting(torch._TorchCompileInductorWrapper.__call__)
torch._TorchCompileWrapper.__call__ = counting(torch._TorchCompileWrapper.__call__)
