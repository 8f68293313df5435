# SPDX-License-Identifier: Apache-2.0
"""Units: what the job compiles. Captured where every way to torch.compile ends, held weakly, swapped in place."""

from __future__ import annotations

import os
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from . import guard, layout
from .core import shield
from .variants import CARRIED, Author, Spec, Variant, of_author

WRITTEN, EAGER = "as written", "eager"
FRAMEWORKS = (
    ("lightning/pytorch/", "lightning"), ("pytorch_lightning/", "lightning"), ("lightning/fabric/", "fabric"),
    ("lightning_fabric/", "fabric"), ("accelerate/", "accelerate"), ("transformers/", "transformers"),
)  # fmt: skip

live: list[weakref.ref[Unit]] = []
places: list[list[Any]] = []  # of each index: weak unit, place; an index is used again when its unit is gone
foreign: weakref.WeakSet[Any] = weakref.WeakSet()  # contexts that torch made for itself
born: Callable[[Unit], None] = lambda unit: None
fell_back: Callable[[], None] = lambda: None
births = 0  # changes whenever there may be other units than before
own: str | None = None  # while we compile something ourselves: its name


Listener = Callable[["Unit"], Callable[[], None] | None]


class State:
    """What a context and its callback hold under one variant, or as written (no guard)."""

    __slots__ = ("attrs", "convert", "hooks", "guard", "spec")

    def __init__(self, context: Any, guard_: Any = None, spec: Spec | None = None):
        inside = layout.insides
        self.attrs = {name: getattr(context, name) for name in layout.SWAPPED if hasattr(context, name)}
        self.convert, self.hooks = getattr(context.callback, inside.orig), context.callback.hooks
        self.guard, self.spec = guard_, spec


class Unit:
    def __init__(self, context: Any, author: Author, place: tuple[str, int] | None, origin: str):
        self.context = weakref.ref(context)
        self.author = author
        self.file, self.line = place or (None, None)
        self.origin, self.name, self.target = origin, "", None
        self.module: Callable[[], Any] = lambda: None
        self.index = -1
        self.written = State(context)
        self.author_spec = of_author(author)
        self.states: dict[Spec, State] = {}
        self.now: Any = WRITTEN
        self.is_eager = False
        self.wrappers: list[weakref.ref[Any]] = []
        self.listeners: list[Listener] = []
        self.deferred: Listener | None = None
        self.holds_parameters: bool | None = None
        self.known = False  # one like it had its index before

    def alive(self) -> list[Any]:
        return [w for ref in self.wrappers if (w := ref()) is not None]

    def state(self, spec: Spec, on_failure: Callable[[Any, guard.Failure], None]) -> State:
        """Built once per unit and spec; compiles nothing. Raises Refused."""
        if spec not in self.states:
            variant = Variant.of(spec)
            carried = dict(self.author.carried)
            if spec.dynamic is not None:
                carried.pop("shapes_spec", None)
                carried.pop("dynamic_shapes", None)
            if spec.fullgraph:
                carried.pop("error_on_graph_break", None)
            away = layout.insides.optimize(backend=variant.backend, nopython=spec.fullgraph, dynamic=spec.dynamic, **carried)
            made = State(away, guard.Guard(self, variant, on_failure), spec)
            made.attrs["fullgraph"] = False
            if variant.region is not None:
                made.attrs["_isolate_recompiles_id"] = variant.region
            self.states[spec] = made
        return self.states[spec]

    def show(self, target: Any) -> None:
        """WRITTEN, EAGER or a State: from the next call on."""
        context = self.context()
        if context is None:
            return
        state = target if isinstance(target, State) else self.written
        callback = context.callback
        setattr(callback, layout.insides.orig, state.convert)
        callback.hooks = state.hooks
        if state.guard is not None:
            state.guard.dead, state.guard.failure = False, None
            callback._inductop = state.guard
            callback.__class__ = guard.guarded()
        elif "_inductop" in callback.__dict__:
            callback.__class__ = layout.insides.convert_frame.CatchErrorsWrapper
            del callback._inductop
        for name, value in state.attrs.items():
            setattr(context, name, value)
        self.now = target
        if self.deferred is not None:
            deferred, self.deferred = self.deferred, None
            self.unlisten(deferred)
        self._listen(context)
        self._cells(target is EAGER, context)

    def _cells(self, eager: bool, context: Any) -> None:
        if eager:
            context.fullgraph = False
        if eager != self.is_eager:
            self.is_eager = eager
            for wrapper in self.alive():
                layout.set_cell(wrapper, None if eager else context.callback)

    def _hooks(self) -> list[Any]:
        state = self.now if isinstance(self.now, State) else self.written
        return state.attrs["enter_exit_hooks"]

    def _listen(self, context: Any) -> None:
        context.enter_exit_hooks = [self._enter] if self.listeners else self._hooks()

    def _enter(self) -> Callable[[], None]:
        """At the beginning of a call: listeners first, since they may show another state, then what the state has to enter."""
        before = self.now
        leaves, told = [], []
        while (hook := next((h for h in self.listeners if h not in told), None)) is not None:
            told.append(hook)
            if (leave := hook(self)) is not None:
                leaves.append(leave)
        if before is WRITTEN and self.now is not WRITTEN and self.written.attrs.get("fullgraph"):
            layout.insides.count_no_frames()  # this call began as one that must compile
        leaves += [enter() for enter in self._hooks()]

        def leave_all() -> None:
            for leave in leaves:
                leave()

        return leave_all

    def listen(self, hook: Listener, first: bool = False) -> None:
        """Calls `hook(unit)` at the beginning of each call, and what it returns at the end, until unlisten. It must not raise."""
        if hook not in self.listeners and (context := self.context()) is not None:
            self.listeners.insert(0 if first else len(self.listeners), hook)
            self._listen(context)

    def unlisten(self, hook: Listener) -> None:
        if hook in self.listeners:
            self.listeners.remove(hook)
            if (context := self.context()) is not None:
                self._listen(context)

    def show_at_next_call(self, target: Any) -> None:
        """For a unit with a call in progress: what that call still has to do stays as it began."""

        def at_call(unit: Unit) -> None:
            unit.unlisten(at_call)
            if unit.deferred is at_call:
                unit.deferred = None
                unit.show(target)

        if self.deferred is not None:
            self.unlisten(self.deferred)
        self.deferred = at_call
        self.listen(at_call, first=True)
        if target is not WRITTEN and (context := self.context()) is not None:
            context.fullgraph = False

    def __str__(self) -> str:
        return self.name or "?"


def all_units() -> list[Unit]:
    """Units whose context is alive and that were named, in the order of creation."""
    found = [u for ref in live if (u := ref()) is not None and u.context() is not None]
    if len(found) < len(live):
        live[:] = [weakref.ref(u) for u in found]
    return [u for u in found if u.index >= 0]


def of_context(context: Any) -> Unit | None:
    return getattr(context, "__dict__", {}).get("_inductop_unit")


def on_stack() -> list[Unit]:
    """Units with a call in progress in this thread, innermost first."""
    found: list[Unit] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in ("compile_wrapper", "_fn") and "callback" in frame.f_code.co_freevars:
            unit = of_context(frame.f_locals.get("self"))
            if unit is not None and unit not in found:
                found.append(unit)
        frame = frame.f_back
    return found


# Capture.


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
    if type(backend) in (torch._TorchCompileInductorWrapper, *_ours()):
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


def _ours() -> tuple[type, ...]:
    from . import variants

    return variants._classes or ()


def _mode_of(config: dict[str, Any]) -> dict[str, Any]:
    from . import known

    for options in known.modes().values() if config else ():
        if options and options == config:
            return options
    return {}


def _capture(context: Any, frame: Any, kwargs: dict[str, Any]) -> None:
    inside = layout.insides
    if inside.switching != "live" or not isinstance(context, inside.optimize_context or inside.context):
        return
    if own is not None:
        is_foreign, place, origin, asked = False, None, "inductop", {}
    else:
        is_foreign, place, origin, asked = _origin(frame)
    if is_foreign:
        foreign.add(context)
        return
    _judge(context, None)
    if inside.switching == "live":
        context._inductop_unit = unit = Unit(context, _author(context, asked, kwargs), place, origin)
        live.append(weakref.ref(unit))
        if len(live) % 256 == 0:
            all_units()


def _judge(context: Any, wrapper: Any) -> None:
    before = layout.insides.switching
    layout.insides.judge(context, wrapper)
    if layout.insides.switching != before:
        live.clear()
        fell_back()


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


def _number(unit: Unit) -> int:
    """The next index; torch.compile in a loop takes the index of its dead forerunner from the same place."""
    place = (unit.file, unit.line, unit.name)
    same = [i for i, (ref, where) in enumerate(places[:512]) if where == place]
    if len(same) >= 8:
        for index in same:
            former = places[index][0]()
            if former is None or former.context() is None:
                places[index][0] = weakref.ref(unit)
                unit.known = True
                return index
    if len(places) >= 4096:
        return len(places)
    places.append([weakref.ref(unit), place])
    return len(places) - 1


@shield()
def _wrapped(context: Any, fn: Any, result: Any) -> None:
    """A context was put around something: its first time names the unit and gives it the settings in force."""
    inside = layout.insides
    if inside.switching != "live":
        return
    unit = of_context(context)
    if unit is None:
        if context in foreign or type(context) is not inside.optimize_context:
            return
        _capture(context, sys._getframe(3), {})  # a deep copy, or unpickled
        if (unit := of_context(context)) is None:
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
        global births
        births += 1
        unit.name, unit.target, module = _target(fn)
        if own is not None:
            unit.name = own
        if module is not None:
            unit.module = weakref.ref(module)
        unit.index = _number(unit)
        born(unit)


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
        unit = of_context(context)
        if unit is None or not isinstance(unit.now, State):
            return reduced
        written = unit.written
        kind, (_, *rest), facts = reduced
        callback = layout.insides.convert_frame.CatchErrorsWrapper(written.convert, written.hooks)
        facts = {**facts, "dynamic": written.attrs.get("_dynamic"), "compiler_config": written.attrs.get("compiler_config")}
        return kind, (callback, *rest), facts
    except Exception as error:
        from .core import trouble

        trouble("pickle", error)
        return reduced
