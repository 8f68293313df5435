# SPDX-License-Identifier: Apache-2.0
"""How often the code behind a graph break runs: counted in a few calls of a unit, by the look-ups that torch does anyway.

In a call that is looked at, each look-up of compiled code tells us (1 us); who calls, and with which instruction, tells whether it is the
way on from a break. Between such calls nothing of it is there, and after the last one not even the listener.
"""

from __future__ import annotations

import dis
import sys
import types
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from . import core, layout

LOOKED_AT = (1, 8, 64, 512)  # calls of a unit after something in it was compiled

Sites = dict[tuple[types.CodeType, int], str | None]
Tell = Callable[[Any, int, dict["Resume", int]], None]


class Resume(NamedTuple):
    """A function that goes on behind a break: the file, function and line of the break in the frame that broke."""

    file: str
    function: str
    line: int


_lookers: weakref.WeakKeyDictionary[Any, Looker] = weakref.WeakKeyDictionary()


def look_at(unit: Any, tell: Tell) -> None:
    """Counts anew from the unit's next calls on."""
    if layout.insides is None or layout.insides.hook_lookups is None:
        return
    looker = _lookers.get(unit)
    if looker is None:
        looker = _lookers[unit] = Looker(tell)
    looker.calls = 0
    unit.listen(looker.at_call)


class Looker:
    def __init__(self, tell: Tell):
        self.calls, self.tell = 0, tell

    def at_call(self, unit: Any) -> Callable[[], None] | None:
        """Listener of a unit."""
        try:
            self.calls += 1
            if self.calls not in LOOKED_AT:
                return None
            if self.calls >= LOOKED_AT[-1]:
                unit.unlisten(self.at_call)
            return self._looking(unit)
        except Exception as error:
            core.trouble("runs", error)
            return None

    def _looking(self, unit: Any) -> Callable[[], None]:
        from . import settings, switch

        assert layout.insides is not None
        variant, seen = settings.key(switch.current), Counter[Any]()
        sites: Sites = {}  # of this look alone: they hold code

        def looked_up(found: bool) -> None:
            caller = sys._getframe(2)
            name = resume_called(caller.f_code, caller.f_lasti, sites)
            if name is not None:
                seen[caller.f_globals.get(name)] += 1

        def left() -> None:
            leave()
            try:
                self.tell(unit, variant, _counts(seen))
            except Exception as error:
                core.trouble("runs", error)

        leave = layout.insides.listen_to_lookups(looked_up)
        return left


def resume_called(code: types.CodeType, at: int, sites: Sites) -> str | None:
    """The global name of the function that goes on behind a break, if the instruction is its call: the last thing that such code does."""
    site = (code, at)
    if site not in sites:
        sites[site] = _resume_at(code, at) if any(name.startswith("__resume_at_") for name in code.co_names) else None
    return sites[site]


def _resume_at(code: types.CodeType, at: int) -> str | None:
    name = None
    instructions = list(dis.get_instructions(code))
    for one, following in zip(instructions, instructions[1:], strict=False):
        if isinstance(one.argval, str) and one.argval.startswith("__resume_at_"):
            name = one.argval
        if one.offset == at:
            return name if following.opname == "RETURN_VALUE" else None
    return None


def _counts(seen: Counter[Any]) -> dict[Resume, int]:
    """By place; of what is compiled, but was not called, 0; nothing of what runs eager behind a break, since nobody looks it up."""
    counts: dict[Resume, int] = {}
    assert layout.insides is not None
    for code in layout.insides.codes():
        resume = _resume(code)
        if resume is not None and layout.insides.entries(code):
            counts.setdefault(resume, 0)
    for function, count in seen.items():
        resume = _resume(getattr(function, "__code__", None))
        if resume is not None:
            counts[resume] = counts.get(resume, 0) + count
    return counts


def _resume(code: Any) -> Resume | None:
    before, middle, line = getattr(code, "co_name", "").rpartition("_at_")
    beginning = "torch_dynamo_resume_in_"
    if not middle or not before.startswith(beginning) or not line.isdigit():
        return None
    return Resume(code.co_filename, before.removeprefix(beginning), int(line))
