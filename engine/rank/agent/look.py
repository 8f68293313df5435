# SPDX-License-Identifier: Apache-2.0
"""What a frame holds while it is compiled again, looked at without running code of the script: no properties, no methods, no comparisons.

One exception: of a loader with batches of just the size that was expected, the length of its data is asked.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
import sysconfig
import types
from collections import OrderedDict, defaultdict
from itertools import compress
from typing import Any

_DICTS = (dict, OrderedDict, defaultdict)
_CONTAINERS = (dict, OrderedDict, defaultdict, list, tuple, set, frozenset, str, bytes)
_FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__", "__closure__")
_PACKAGES = tuple({os.path.join(path, "") for name in ("purelib", "platlib") if (path := sysconfig.get_path(name))})
_STANDARD = tuple({os.path.join(path, "") for name in ("stdlib", "platstdlib") if (path := sysconfig.get_path(name))})


class Unknown(Exception):
    """Cannot be looked up without running code of the script."""


def is_standard(file: str) -> bool:
    """Of Python's own library."""
    return file.startswith(_STANDARD) and not file.startswith(_PACKAGES) or file.startswith("<")


def is_library(file: str) -> bool:
    return file.startswith(_PACKAGES) or "/site-packages/" in file or is_standard(file) or is_torch(file)


def is_torch(file: str) -> bool:
    return file.startswith(os.path.dirname(sys.modules["torch"].__file__) + os.sep)


def place(places: list[tuple[str, int]], frame: Frame) -> tuple[str | None, int | None]:
    """The user's line: of the guard, else of the code that is compiled, else of the call."""
    own = [one for one in places if not is_library(one[0])]
    if own:
        return own[-1]
    if frame.code is not None and not is_library(frame.code.co_filename):
        return frame.code.co_filename, frame.code.co_firstlineno
    return frame.called_at or (None, None)


def short(value: Any, objects: bool = False) -> str:
    """A value as text. Objects of the script are told by their type, and only when asked for."""
    kind = type(value)
    if kind in (int, float, bool, complex, types.NoneType):
        return repr(value)
    if kind in (str, bytes):
        return repr(value) if len(value) <= 80 else repr(value[:79])[:-1] + "…" + repr(value)[-1]
    if kind.__module__ == "torch" and kind.__name__ in ("dtype", "device", "layout", "memory_format"):
        return str(value)
    if not objects:
        raise Unknown(kind.__name__)
    name = kind.__dict__.get("_member_map_") and getattr(value, "__dict__", {}).get("_name_")
    if isinstance(name, str):
        return f"{kind.__name__}.{name}"
    if kind in (types.FunctionType, types.BuiltinFunctionType, type):
        return value.__name__
    return f"of type {kind.__name__}"


def _part(value: Any, name: str) -> Any:
    if type(value) is types.FunctionType and name in _FUNCTION_PARTS:
        return getattr(value, name)
    if type(value) is types.MethodType and name in ("__func__", "__self__"):
        return getattr(value, name)
    if type(value) is types.CellType and name == "cell_contents":
        return value.cell_contents
    if isinstance(value, types.ModuleType):
        held: Any = value.__dict__
    else:
        try:
            held = object.__getattribute__(value, "__dict__")
        except AttributeError:
            raise Unknown(name) from None
    for table in (held, *(held.get(n) for n in ("_parameters", "_modules", "_buffers"))):
        if type(table) in _DICTS and dict.__contains__(table, name):
            return dict.__getitem__(table, name)
    raise Unknown(name)


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise Unknown(ast.dump(node)) from None


def _item(value: Any, key: Any) -> Any:
    if type(value) in _DICTS and type(key) in (str, int, bool) and dict.__contains__(value, key):
        return dict.__getitem__(value, key)
    if type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value):
        return value[key]
    raise Unknown(repr(key))


class Frame:
    """The frame being compiled again; without one, nothing is known of it."""

    def __init__(self, frame: Any = None, called_at: tuple[str, int] | None = None):
        self.is_live = frame is not None
        self.code: types.CodeType | None = frame.f_code if frame is not None else None
        self._locals: dict[str, Any] = frame.f_locals if frame is not None else {}
        self._globals: dict[str, Any] = frame.f_globals if frame is not None else {}
        self.called_at = called_at
        self.automatic: bool | None = None  # does torch make sizes dynamic by itself here
        self.firsts: set[str] = set()  # sources that changed before
        self.inference_now = self.inference_then = False

    @property
    def captured(self) -> tuple[str, ...]:
        return self.code.co_freevars if self.code is not None else ()

    def is_first(self, source: str) -> bool:
        before = source in self.firsts
        self.firsts.add(source)
        return not before

    # Values.

    def value(self, text: str) -> Any:
        """Raises Unknown."""
        if not self.is_live:
            raise Unknown(text)
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError:
            raise Unknown(text) from None
        import torch

        with torch._C.DisableTorchFunction():
            return self._of(tree)

    def _of(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id in self._locals:
                return self._locals[node.id]
            raise Unknown(node.id)
        if isinstance(node, ast.Attribute):
            return _part(self._of(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Name) and node.value.id == "G" and "G" not in self._locals:
                return _item(self._globals, _constant(node.slice))
            return _item(self._of(node.value), _constant(node.slice))
        if isinstance(node, ast.Call) and len(node.args) <= 1 and not node.keywords:
            return self._call(node)
        raise Unknown(ast.dump(node))

    def _call(self, node: ast.Call) -> Any:
        """len(x), list(x), dict.keys(x), x.size(), x.stride()."""
        name = ast.unparse(node.func)
        if node.args and name in ("len", "list", "dict.keys"):
            held = self._of(node.args[0])
            if type(held) in _CONTAINERS:
                return {"len": len, "list": list, "dict.keys": list}[name](held)
        elif not node.args and isinstance(node.func, ast.Attribute) and node.func.attr in ("size", "stride"):
            tensor = self._of(node.func.value)
            if _is_plain(tensor):
                return tuple(int(n) for n in (tensor.size() if node.func.attr == "size" else tensor.stride()))
        raise Unknown(name)

    def seen(self, source: str, objects: bool = False) -> str | None:
        try:
            return short(self.value(source), objects)
        except Unknown:
            return None

    def type_of(self, source: str) -> str | None:
        try:
            return type(self.value(source)).__name__
        except Unknown:
            return None

    def function_name(self, source: str) -> str | None:
        try:
            function = self.value(source)
        except Unknown:
            return None
        return getattr(function, "__qualname__", None) if type(function) in (types.FunctionType, types.MethodType) else None

    def hook_names(self, source: str) -> str | None:
        try:
            hooks = self.value(source)
        except Unknown:
            return None
        if type(hooks) not in _DICTS:
            return None
        names = [h.__qualname__.rpartition("<locals>.")[2] if type(h) is types.FunctionType else type(h).__name__ for h in hooks.values()]
        return ", ".join(names) or "none"

    def is_tensor(self, source: str) -> bool:
        import torch

        try:
            return torch.Tensor in type(self.value(source)).__mro__
        except Unknown:
            return False

    def is_of_module(self, source: str) -> bool:
        import torch

        owner, dot, _ = source.rpartition(".")
        try:
            return bool(dot) and torch.nn.Module in type(self.value(owner)).__mro__
        except Unknown:
            return False

    def tensor_is_inference(self, source: str) -> bool | None:
        try:
            tensor = self.value(source)
        except Unknown:
            return None
        import torch

        with torch._C.DisableTorchFunction():
            return bool(tensor.is_inference()) if _is_plain(tensor) else None

    def is_last_batch(self, expected: str, seen: str) -> bool:
        """Is there a loader whose last batch is just so much shorter?"""
        return self.is_live and int(seen) < int(expected) and int(seen) in _last_batches(int(expected))


def _is_plain(value: Any) -> bool:
    import torch

    return type(value) in (torch.Tensor, torch.nn.Parameter)


def _last_batches(size: int) -> set[int]:
    """Of the loaders with batches of this size that keep the last one, and whose data tells its length."""
    found = set()
    for loader in _loaders():
        held = loader.__dict__
        if held.get("batch_size") != size or held.get("drop_last") or held.get("batch_sampler") is None:
            continue
        try:
            found.add(len(held["sampler"]) % size)
        except Exception:
            continue
    return found - {0}


class _IsA(dict):  # type: ignore[type-arg]
    """Type to whether it is one of a class; asked of every object, so the asking has to be done in C."""

    def __init__(self, base: type):
        self._base = base

    def __missing__(self, kind: type) -> bool:
        self[kind] = out = issubclass(kind, self._base)
        return out


def instances(base: type) -> list[Any]:
    """One pass over all objects (tens of milliseconds). `type(o)`, since isinstance wakes lazy proxies; no frames are looked into, as
    what a frame has shown it keeps until it ends."""
    objects = gc.get_objects()
    return list(compress(objects, map(_IsA(base).__getitem__, map(type, objects))))


def _loaders() -> list[Any]:
    data = sys.modules.get("torch.utils.data")
    return instances(data.DataLoader) if data is not None else []


# Of the process, read on the thread that compiles.


def _switched(on: bool) -> str:
    return "on" if on else "off"


def grad_mode() -> str:
    import torch

    return _switched(torch.is_grad_enabled())


def inference_mode() -> str:
    import torch

    return _switched(torch.is_inference_mode_enabled())


def autocast() -> str:
    import torch

    on = [f"{d} {str(torch.get_autocast_dtype(d)).removeprefix('torch.')}" for d in ("cpu", "cuda") if torch.is_autocast_enabled(d)]
    return ", ".join(on) or "off"


def deterministic() -> str:
    import torch

    return _switched(torch.are_deterministic_algorithms_enabled())


def threads() -> str:
    import torch

    return str(torch.get_num_threads())


def default_dtype() -> str:
    import torch

    return str(torch.get_default_dtype()).removeprefix("torch.")


def tf32() -> str:
    import torch

    return torch.get_float32_matmul_precision()


def function_modes() -> str:
    from torch.overrides import _get_current_function_mode_stack

    return ", ".join(type(mode).__name__ for mode in _get_current_function_mode_stack()) or "none"
