# SPDX-License-Identifier: Apache-2.0
"""Capture: every way to torch.compile ends in torch._dynamo.optimize and in a context's call; there units are made."""

from __future__ import annotations

import os
import sys
import types
import weakref
from typing import Any

from . import layout, units, variants
from .core import shield, trouble
from .units import State, Unit
from .variants import CARRIED, Author

FRAMEWORKS = (
    ("lightning/pytorch/", "lightning"), ("pytorch_lightning/", "lightning"), ("lightning/fabric/", "fabric"),
    ("lightning_fabric/", "fabric"), ("accelerate/", "accelerate"), ("transformers/", "transformers"),
)  # fmt: skip


def _tail(file: str) -> str:
    return file.replace(os.sep, "/")


def _origin(frame: Any) -> tuple[bool, tuple[str, int] | None, str, dict[str, Any]]:
    """Is a context torch's own; the user's place; who asked; the arguments of the torch.compile call where it can be seen."""
    torch_dir = _tail(os.path.dirname(sys.modules["torch"].__file__)) + "/"
    library = _tail(os.path.dirname(os.__file__)) + "/"
    ours = _tail(os.path.dirname(__file__)) + "/"
    origin, asked, seen_caller = "script", {}, False
    while frame is not None:
        file, name = _tail(frame.f_code.co_filename), frame.f_code.co_name
        if file.startswith(torch_dir):
            inner = file[len(torch_dir) :]
            if inner == "__init__.py" and name == "compile" and not asked:
                asked = {k: frame.f_locals.get(k) for k in ("mode", "options")}
            if not inner.startswith(("_dynamo/", "compiler/__init__.py")) and inner != "__init__.py":
                if inner == "nn/modules/module.py":
                    origin = "module.compile"
                elif not seen_caller:
                    return True, None, origin, asked
        elif file.startswith((ours, "<frozen ")) or (file.startswith(library) and "/site-packages/" not in file):
            pass
        elif not (name == "_capture" and file.endswith("fabric/wrappers.py")):
            seen_caller = True
            framework = next((f for part, f in FRAMEWORKS if "/" + part in file), None)
            if framework is None:
                return False, (frame.f_code.co_filename, frame.f_lineno), origin, asked
            origin = framework
        frame = frame.f_back
    return False, None, origin, asked


def _author(context: Any, asked: dict[str, Any], kwargs: dict[str, Any]) -> Author:
    import torch

    inside = layout.insides
    callback = context.callback
    convert, backend = getattr(callback, inside.orig), inside.innermost(callback)
    named = getattr(backend, "compiler_name", None) or getattr(backend, "__name__", type(backend).__name__)
    author = Author(backend, named=str(named), dynamic=getattr(context, "_dynamic", None))
    author.fullgraph = bool(getattr(context, "fullgraph", False)) or bool(getattr(convert, "_one_graph", False))
    if type(backend) in (torch._TorchCompileInductorWrapper, *(variants._classes or ())):
        author.inductor = getattr(backend, "compiler_name", "") == "inductor"
        author.region_name = getattr(backend, "name", None)
        config = dict(getattr(backend, "config", {}))
        mode = asked.get("mode")
        by_mode = _mode_of(config) if not asked or mode else {}
        author.by_mode = {k: v for k, v in config.items() if k in by_mode}
        author.explicit = {k: v for k, v in config.items() if k not in by_mode}
    elif named == "inductor" and getattr(backend, "__module__", "").startswith("torch."):
        author.inductor = True  # torch._dynamo.optimize("inductor")
    hooks = callback.hooks
    for name, value in (
        ("guard_filter_fn", getattr(hooks, "guard_filter_fn", None)),
        ("guard_fail_fn", getattr(hooks, "guard_fail_fn", None)),
        ("recompile_limit", getattr(convert, "_recompile_limit", None)),
        ("shapes_spec", getattr(context, "_shapes_spec", None)),
        ("error_on_graph_break", getattr(context, "error_on_graph_break", None)),
    ):
        if value is not None and value is not False:
            author.carried[name] = value
    for name in CARRIED:
        if kwargs.get(name) is not None:
            author.carried.setdefault(name, kwargs[name])
    return author


def _mode_of(config: dict[str, Any]) -> dict[str, Any]:
    from . import known

    for options in known.modes().values() if config else ():
        if options and options == config:
            return options
    return {}


def _capture(context: Any, frame: Any, kwargs: dict[str, Any], is_copy: bool = False) -> None:
    inside = layout.insides
    if inside.switching != "live" or not isinstance(context, inside.optimize_context or inside.context):
        return
    if units.own is not None:
        is_foreign, place, origin, asked = False, None, "inductop", {}
    else:
        is_foreign, place, origin, asked = _origin(frame)
    if is_foreign and not is_copy:
        units.foreign.add(context)
        return
    _judge(context, None)
    if inside.switching == "live":
        context._inductop_unit = unit = Unit(context, _author(context, asked, kwargs), place, origin)
        unit.copied = is_copy
        units.register(unit)


def _judge(context: Any, wrapper: Any) -> None:
    before = layout.insides.switching
    layout.insides.judge(context, wrapper)
    if layout.insides.switching != before:
        units.live.clear()
        units.fell_back()


def _target(fn: Any) -> tuple[str, str, Any]:
    """Name, longer name, and the module that a compiled thing runs, where it is one."""
    import torch

    for _ in range(8):
        if issubclass(type(fn), torch.nn.Module):
            inner = fn.__dict__.get("_modules", {}).get("_orig_mod")
            if inner is None:
                return type(fn).__name__, type(fn).__qualname__, fn
            fn = inner
            continue
        owner = getattr(fn, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            name, kind = getattr(fn, "__name__", ""), type(owner)
            if issubclass(kind, torch.nn.Module):
                whole = name in ("_call_impl", "_wrapped_call_impl", "__call__", "forward")
                return kind.__name__, kind.__qualname__ if whole else f"{kind.__qualname__}.{name}", owner
            return f"{kind.__name__}.{name}", f"{kind.__qualname__}.{name}", None
        wrapped = getattr(fn, "__wrapped__", None)
        if wrapped is None or not issubclass(type(wrapped), torch.nn.Module):
            break
        fn = wrapped
    name = getattr(fn, "__qualname__", type(fn).__name__)
    return name.rpartition("<locals>.")[2], f"{getattr(fn, '__module__', '')}.{name}", None


@shield()
def _wrapped(context: Any, fn: Any, result: Any) -> None:
    """A context was put around something: its first time names the unit and gives it the settings in force."""
    inside = layout.insides
    if inside.switching != "live":
        return
    unit = units.of_context(context)
    if unit is None:
        if context in units.foreign or type(context) is not inside.optimize_context:
            return
        _capture(context, sys._getframe(3), {}, is_copy=True)  # a deep copy (also by torch's AveragedModel), or unpickled
        if (unit := units.of_context(context)) is None:
            return
    wrappers = [w for w in (result if isinstance(result, list) else [result]) if layout.has_cell(w)]
    for wrapper in wrappers:
        _judge(context, wrapper)
        if inside.switching != "live":
            return
        unit.wrappers.append(weakref.ref(wrapper))
        if unit.is_eager:
            layout.set_cell(wrapper, None)
    if wrappers and unit.index < 0:
        units.births += 1
        unit.name, unit.target, module = _target(fn if units.own is None else units.own)
        if module is not None:
            unit.module = weakref.ref(module)
        unit.index = units.number(unit)
        units.born(unit)


@shield()
def _captured(context: Any, frame: Any, kwargs: dict[str, Any]) -> None:
    _capture(context, frame, kwargs)


def watch(dynamo: Any) -> None:
    """Puts the listeners in, right after torch._dynamo has been executed."""
    inside = layout.insides
    real_optimize, real_call = dynamo.optimize, inside.context.__call__

    def optimize(*args: Any, **kwargs: Any) -> Any:
        context = real_optimize(*args, **kwargs)
        _captured(context, sys._getframe(1), kwargs)
        return context

    def call(self: Any, fn: Any) -> Any:
        result = real_call(self, fn)
        _wrapped(self, fn, result)
        return result

    optimize.__wrapped__, call.__wrapped__ = real_optimize, real_call
    dynamo.optimize = optimize
    inside.context.__call__ = call
    if inside.optimize_context is not None and "__reduce__" in inside.optimize_context.__dict__:
        real_reduce = inside.optimize_context.__reduce__

        def reduce(self: Any) -> Any:
            return _as_written(self, real_reduce(self))

        inside.optimize_context.__reduce__ = reduce


def _as_written(context: Any, reduced: Any) -> Any:
    """What pickling and deep copies see: torch's own objects, in the state that the script gave them."""
    try:
        unit = units.of_context(context)
        if unit is None or not isinstance(unit.now, State):
            return reduced
        written = unit.written
        kind, (_, *rest), facts = reduced
        callback = layout.insides.convert_frame.CatchErrorsWrapper(written.convert, written.hooks)
        facts = {**facts, "dynamic": written.attrs.get("_dynamic"), "compiler_config": written.attrs.get("compiler_config")}
        return kind, (callback, *rest), facts
    except Exception as error:
        trouble("pickle", error)
        return reduced
