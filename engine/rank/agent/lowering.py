# SPDX-License-Identifier: Apache-2.0
"""Backward graphs of our variants: compiled together with their forward, where a failure can be caught, and without donated buffers."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import sys
from collections.abc import Iterator
from typing import Any

HOMES = ("graph_compile", "jit_compile_runtime_wrappers")  # since 2.9, and before: where torch compiles graphs for autograd


def _home(name: str) -> Any:
    """Module of torch in which `name` is looked up."""
    for home in HOMES:
        with contextlib.suppress(ImportError):
            found = importlib.import_module(f"torch._functorch._aot_autograd.{home}")
            if hasattr(found, name):
                return found
    return None


@contextlib.contextmanager
def _replaced(home: Any, name: str, value: Any) -> Iterator[None]:
    real = getattr(home, name)
    setattr(home, name, value)
    try:
        yield
    finally:
        setattr(home, name, real)


def at_once() -> Any:
    """A bad backward fails in forward, where it can be caught."""
    import torch._functorch.config as config

    setting, later = "force_non_lazy_backward_lowering", "AutogradLazyBackwardCompileInfo"
    if hasattr(config, setting):
        return config.patch(**{setting: True})
    home = _home(later)  # up to 2.9, which has no such setting
    return _replaced(home, later, _not_later(getattr(home, later))) if home is not None else contextlib.nullcontext()


def _not_later(real: type) -> type:
    """What torch makes of a backward that it leaves for later, made only when that backward can be compiled."""

    class Now(real):  # type: ignore[misc]
        def __init__(self, graph: Any, inputs: Any, *rest: Any):
            caller = sys._getframe(1).f_locals
            if caller.get("compiled_bw_func") is None and "aot_config" in caller:
                _compile(caller["aot_config"], graph, inputs, bool(caller.get("disable_amp")))
            super().__init__(graph, inputs, *rest)

    return Now


def _compile(config: Any, graph: Any, inputs: Any, without_autocast: bool) -> None:
    import torch
    from torch._functorch._aot_autograd.logging_utils import track_graph_compiling
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():
        mine = copy.deepcopy(graph)
    context = torch._C._DisableAutocast() if without_autocast else contextlib.nullcontext()
    with context, track_graph_compiling(config, "backward"):
        compiled = config.bw_compiler(mine, inputs)

    @functools.wraps(config.bw_compiler)
    def done(*_: Any, **__: Any) -> Any:
        return compiled

    config.bw_compiler = done


@contextlib.contextmanager
def no_donation() -> Iterator[None]:
    """A backward lowered before it runs cannot know that its graph will be retained, and donated buffers would then end the job."""
    import torch
    import torch._functorch.config as functorch

    name = "collect_bw_donated_buffer_idxs"
    home = _home(name)
    if home is None:
        yield
        return
    config = getattr(torch.compiler, "config", None)
    if hasattr(config, "cache_key_tag"):
        keyed = config.patch(cache_key_tag=f"{config.cache_key_tag}+kept")
    elif hasattr(functorch, "enable_autograd_cache"):
        keyed = functorch.patch(enable_autograd_cache=False)
    else:
        keyed = contextlib.nullcontext()
    with keyed, _replaced(home, name, lambda *args, **kwargs: []):
        yield
