# SPDX-License-Identifier: Apache-2.0
"""Units: what the job compiles. Captured where every way to torch.compile ends, held weakly, swapped in place."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from . import guard, layout
from .core import nothing
from .variants import Author, Spec, Variant, of_author

WRITTEN, EAGER = "as written", "eager"

live: list[weakref.ref[Unit]] = []
places: list[list[Any]] = []  # of each index: weak unit, place; an index is used again when its unit is gone
born: Callable[[Unit], None] = nothing
fell_back: Callable[[], None] = nothing
births = 0  # changes whenever there may be other units than before
foreign: weakref.WeakSet[Any] = weakref.WeakSet()  # contexts that torch made for itself, or we for a look: no units
own: Any = None  # while we compile a module ourselves: which


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
        self.module: Callable[[], Any] = nothing
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
        self.copied = False

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
        leaves, told = [], []  # leaves: innermost first, as listeners to look-ups must
        while (hook := next((h for h in self.listeners if h not in told), None)) is not None:
            told.append(hook)
            if (leave := hook(self)) is not None:
                leaves.insert(0, leave)
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


def is_entry(code: Any) -> bool:
    """Of the function that torch put around what is compiled."""
    return code.co_name in ("compile_wrapper", "_fn") and "callback" in code.co_freevars


def on_stack() -> list[Unit]:
    """Units with a call in progress in this thread, innermost first."""
    found: list[Unit] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        if is_entry(frame.f_code):
            unit = of_context(frame.f_locals.get("self"))
            if unit is not None and unit not in found:
                found.append(unit)
        frame = frame.f_back
    return found


def register(unit: Unit) -> None:
    live.append(weakref.ref(unit))
    if len(live) % 256 == 0:
        all_units()


def number(unit: Unit) -> int:
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
