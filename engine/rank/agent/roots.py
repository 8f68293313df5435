# SPDX-License-Identifier: Apache-2.0
"""The job's models, found from what its optimizers step: modules that own those parameters and are nobody's child."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from typing import Any

from .look import instances


def parameters(optimizers: Iterable[Any]) -> list[Any]:
    return [p for o in optimizers for group in getattr(o, "param_groups", ()) for p in group.get("params", ())]


def _own(module: Any) -> Iterable[Any]:
    return (p for p in module.__dict__.get("_parameters", {}).values() if p is not None)


def _children(module: Any) -> Iterable[Any]:
    return (m for m in module.__dict__.get("_modules", {}).values() if m is not None)


_known: list[weakref.ref[Any]] = []
_known_for: list[weakref.ref[Any]] = []


def forget() -> None:
    _known.clear()
    _known_for.clear()


def roots(optimizers: Iterable[Any]) -> list[Any]:
    """Found once for a set of optimizers; again after forget, or when one of them is gone."""
    now = list(optimizers)
    found = [m for ref in _known if (m := ref()) is not None]
    same = len(now) == len(_known_for) and all(ref() is o for ref, o in zip(_known_for, now, strict=True))
    if not found or len(found) < len(_known) or not same:
        found = _scan(now)
        _known[:] = [weakref.ref(m) for m in found]
        _known_for[:] = [weakref.ref(o) for o in now]
    return found


def _scan(optimizers: list[Any]) -> list[Any]:
    wanted = {id(p) for p in parameters(optimizers)}
    if not wanted:
        return []
    modules = [m for m in instances(sys.modules["torch"].nn.Module) if "_modules" in m.__dict__]
    parents = {id(child) for m in modules for child in _children(m)}
    found = [m for m in modules if id(m) not in parents and any(id(p) in wanted for p in m.parameters())]
    return _without_wrappers_of_the_same(found)


def _without_wrappers_of_the_same(found: list[Any]) -> list[Any]:
    """A compiled wrapper is looked at through its module, and what a shell (accelerate's regional) was made from is left out."""
    unwrapped: list[Any] = []
    shelled = {id(m.__dict__["_orig_mod"]) for m in found if "_orig_mod" in m.__dict__}
    for module in [m for m in found if id(m) not in shelled]:
        while "_orig_mod" in module.__dict__["_modules"]:
            module = module.__dict__["_modules"]["_orig_mod"]
        if not any(module is m for m in unwrapped):
            unwrapped.append(module)
    return unwrapped


def covers(module: Any, root: Any) -> bool:
    """Does `module` run every parameter of `root`?"""
    if module is root:
        return True
    mine = {id(p) for p in module.parameters()}
    return all(id(p) in mine for p in root.parameters())


def device(modules: Iterable[Any], optimizers: Iterable[Any]) -> str:
    """Type of the device that the job computes on."""
    for module in modules:
        for p in module.parameters() if module is not None else ():
            return str(p.device.type)
    for p in parameters(optimizers):
        return str(p.device.type)
    torch = sys.modules["torch"]
    return "cuda" if torch.version.cuda and torch.cuda.is_initialized() else "cpu"


def has_cuda() -> bool:
    """Without waking CUDA in this process."""
    torch = sys.modules["torch"]
    return bool(torch.version.cuda) and torch.cuda.device_count() > 0


def collectives(module: Any) -> bool:
    """Tensor parallel parameters put collectives into the graph; FSDP2's own run in hooks, outside it."""
    for part in module.modules():
        if any(c.__name__ == "FSDPModule" for c in type(part).__mro__):
            return False
    return any(c.__name__ == "DTensor" for p in module.parameters() for c in type(p).__mro__)
