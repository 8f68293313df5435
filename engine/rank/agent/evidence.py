# SPDX-License-Identifier: Apache-2.0
"""What really ran in the first step under new settings: looked up, never assumed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from . import layout
from .core import trouble
from .guard import Failure
from .settings import Settings
from .units import EAGER, WRITTEN, State, Unit

UNKNOWN = -1


class Trial:
    """One application of settings, until the step under it has ended."""

    def __init__(self, identity: int, by: str, before: Settings, to: Settings, at: int, concerned: Iterable[Unit]):
        self.identity, self.by, self.before, self.to, self.at = identity, by, before, to, at
        self.asked = [(identity, by, to)]  # several lines of a start file may act at one step
        self.swap_ms: float | None = None
        self.step_before_ns = 0  # how long the step before took, 0: not known
        self.waits = False  # for models that are known only after the first step
        self.over = False
        self.is_told = True  # when it went well
        self.failure: Failure | None = None
        self.more: dict[str, Any] = {}  # that its event tells
        self.frames: weakref.WeakKeyDictionary[Unit, int] = weakref.WeakKeyDictionary()  # compiled ones in the first call
        self._units: list[weakref.ref[Unit]] = []
        self.add(concerned)

    def add(self, concerned: Iterable[Unit]) -> None:
        for unit in concerned:
            self.waits = False
            if len(self._units) % 256 == 255:
                self._units = [ref for ref in self._units if ref() is not None]
            if len(self._units) < 8192 and self._first_call not in unit.listeners:
                self._units.append(weakref.ref(unit))
                unit.listen(self._first_call)

    @property
    def units(self) -> list[Unit]:
        return [unit for ref in self._units if (unit := ref()) is not None]

    def fail(self, unit: Unit | None, failure: Failure) -> None:
        if self.failure is None:
            self.failure = failure

    def _first_call(self, unit: Unit) -> Callable[[], None] | None:
        try:
            unit.unlisten(self._first_call)
            if self.over:
                return None
            if isinstance(unit.now, State) and self.failure is not None and unit.now.guard.failure is None:
                unit.now.guard.dead = True  # never began under the variant that has failed elsewhere: eager from the start
            self.frames[unit] = UNKNOWN
            return None if layout.insides.hook_lookups is None or unit.now is WRITTEN else self._counting(unit)
        except Exception as error:
            trouble("evidence", error)
            return None

    def _counting(self, unit: Unit) -> Callable[[], None]:
        """Counts the cache hits of this one call."""
        hits = 0
        guard = unit.now.guard if isinstance(unit.now, State) else None
        converted = guard.converted if guard is not None else 0

        def looked_up(found: bool) -> None:
            nonlocal hits
            hits += found

        def left() -> None:
            leave()
            self.frames[unit] = hits + (guard.converted - converted if guard is not None else 0)

        leave = layout.insides.listen_to_lookups(looked_up)
        return left

    def conclude(self) -> Failure | None:
        """None when it holds, else why it does not."""
        for unit in self.units:
            unit.unlisten(self._first_call)
            if isinstance(unit.now, State):
                guard = unit.now.guard
                if self.failure is None and guard.failure is not None:
                    self.failure = guard.failure
                if guard.dead:
                    continue
                ran = self._ran(unit)
                if ran == "variant":
                    guard.variant.worked = True
                elif self.failure is None and unit.now.spec.fullgraph and ran == EAGER:
                    reason = "fullgraph: nothing of it was compiled: its frames are skipped by torch"
                    self.failure = Failure(reason, unit.file, unit.line)
        return self.failure

    def _ran(self, unit: Unit) -> str:
        frames = self.frames.get(unit)
        if frames is None:
            return "not called"
        if unit.now is WRITTEN:
            return WRITTEN
        if isinstance(unit.now, State) and unit.now.guard.dead:
            return EAGER
        if unit.now is EAGER:
            inside = any(isinstance(u.now, State) for u in self.units)  # blocks of it are compiled by themselves
            return EAGER if frames <= 0 or inside else "partly compiled"
        if frames == UNKNOWN:
            return "variant" if _front(unit.now) else EAGER
        return "variant" if frames > 0 else EAGER

    def ran(self) -> dict[str, str]:
        """By name of the unit; by name and index where units of one name differ."""
        by_name: dict[str, dict[int, str]] = {}
        for unit in self.units:
            by_name.setdefault(unit.name, {})[unit.index] = self._ran(unit)
        out: dict[str, str] = {}
        for name, each in by_name.items():
            called = {v for v in each.values() if v != "not called"}
            if len(called) <= 1:
                out[name] = next(iter(called), "not called")
            else:
                out.update((f"{name}#{index}", value) for index, value in each.items())
        return out


def _front(state: State) -> bool:
    """Is an entry of this variant the one used last on some code object of it?"""
    inside, variant = layout.insides, state.guard.variant
    for code in list(variant.owned):
        found = inside.region_entries(code, variant.region) if variant.region is not None else inside.entries(code)
        if found and found[0].guard_manager in variant.versions:
            return True
    return False
