# SPDX-License-Identifier: Apache-2.0
"""Compiling modules in place that the script did not: blocks of a ModuleList, or roots. Keys of state_dict stay as they are."""

from __future__ import annotations

import types
import weakref
from typing import Any

from . import layout, units
from .units import Unit

IMPL = "_compiled_call_impl"


class Impl:
    """For modules that pickle all of their dict (DistributedDataParallel): goes into the file as None, as if we had not been there."""

    __slots__ = ("fn", "__weakref__")

    def __init__(self, fn: Any):
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __reduce__(self) -> Any:
        return type(None), ()


def _drops_impl(module: Any) -> bool:
    import torch

    return type(module).__getstate__ is torch.nn.Module.__getstate__


class InPlace:
    """One module of the job that we compile. What we hold is the function of its class, compiled, and not the module."""

    def __init__(self, module: Any):
        import torch

        units.own = module
        try:
            backend = torch._TorchCompileInductorWrapper(None, None, None)
            context = layout.insides.dynamo.optimize(backend=backend)
            self.compiled = context(module._call_impl.__func__)
        finally:
            units.own = None
        found = units.of_context(context)
        if found is None:
            raise RuntimeError("a context of ours was not captured")
        self.unit: Unit = found
        number = id(module)
        self.module = weakref.ref(module, lambda _: _all.pop(number, None))

    def install(self) -> None:
        module = self.module()
        if module is not None and not self.installed():
            impl = types.MethodType(self.compiled, module)
            module.__dict__[IMPL] = impl if _drops_impl(module) else Impl(impl)

    def installed(self) -> bool:
        module = self.module()
        impl = module.__dict__.get(IMPL) if module is not None else None
        return getattr(impl.fn if type(impl) is Impl else impl, "__func__", None) is self.compiled

    def remove(self) -> None:
        """`del`, never None: guards look at the module's own dict."""
        if self.installed():
            del self.module().__dict__[IMPL]


_all: dict[int, InPlace] = {}


def of(module: Any) -> InPlace:
    known = _all.get(id(module))
    if known is None or known.module() is not module:
        known = _all[id(module)] = InPlace(module)
    return known


def everything() -> list[InPlace]:
    return list(_all.values())


def compiled_by_script(module: Any) -> bool:
    mine = _all.get(id(module))
    is_wrapped = "_orig_mod" in module.__dict__.get("_modules", {})
    is_mine = mine is not None and mine.installed()
    return is_wrapped or (module.__dict__.get(IMPL) is not None and not is_mine)


def _is_repeated(module: Any) -> bool:
    import torch

    if not issubclass(type(module), torch.nn.ModuleList) or not len(module):
        return False
    first = type(module[0])
    return all(issubclass(type(m), first) for m in module) and any(True for _ in module[0].children())


def blocks(module: Any) -> list[Any]:
    """Every block of the outermost repeated lists below `module`."""
    if _is_repeated(module):
        return [] if any("_orig_mod" in m.__dict__.get("_modules", {}) for m in module) else list(module)
    found: list[Any] = []
    for child in module.children():
        found += [b for b in blocks(child) if not any(b is f for f in found)]
    return found
