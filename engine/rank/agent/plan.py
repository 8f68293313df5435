# SPDX-License-Identifier: Apache-2.0
"""The start file: what `--set` and `--at` asked for, the same on every rank, at exactly its step."""

from __future__ import annotations

import contextlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

from . import core, switch, wish
from . import settings as text
from .known import Refused


class Entry(NamedTuple):
    place: int
    step: int
    by: str
    change: text.Settings


_entries: list[Entry] = []  # by step
_steps: list[int] = []  # theirs
_refusals: dict[int, str | None] = {}  # by place, once looked for
begun = True  # entries of step 0 are in force, or there are none


@core.shield()
def take(start: dict[str, Any]) -> None:
    """`start`: what stands in start.json."""
    for place, row in enumerate(start.get("plan") or []):
        by = row.get("by") if row.get("by") in ("set", "at") else "at"
        _entries.append(Entry(place, int(row["step"]), by, dict(row["settings"])))
    _entries.sort(key=lambda entry: (entry.step, entry.place))
    _steps[:] = [entry.step for entry in _entries]
    global begun
    begun = not any(entry.step == 0 for entry in _entries)


def next_after(count: int) -> int:
    """Step of the next entry, 0: none."""
    place = bisect_right(_steps, count)
    return _steps[place] if place < len(_steps) else 0


def _at(step: int) -> list[Entry]:
    return _entries[bisect_left(_steps, step) : bisect_right(_steps, step)]


def _refusal(entry: Entry) -> str | None:
    if entry.place not in _refusals:
        _refusals[entry.place] = _find_refusal(entry)
    return _refusals[entry.place]


def _find_refusal(entry: Entry) -> str | None:
    for name, value in entry.change.items():
        if name == text.AS_WRITTEN or value == text.AS_WRITTEN:
            continue
        if reason := text.refusal(name, value):
            return reason
    return text.contradiction({}, {k: v for k, v in entry.change.items() if text.AS_WRITTEN not in (k, v)})


@core.shield(fallback=0)
def act(count: int) -> int:
    """Entries of this count; each is a change over what is in force."""
    if asked := _possible(count, count, switch.check if len(_at(count)) > 1 else None):
        switch.apply_all(asked, count)
    return next_after(count)


def _possible(step: int, count: int, check: Callable[[text.Settings], Any] | None) -> list[switch.Asked]:
    """The entries of a step that can be, each with the settings after it; the others are told as refused. A single one needs no check
    of its own: it is checked when it is applied."""
    asked: list[switch.Asked] = []
    settings = dict(switch.current)
    for entry in _at(step):
        after = text.merge(settings, entry.change)
        try:
            if reason := _refusal(entry):
                raise Refused(reason)
            if check is not None:
                check(after)
        except Refused as refused:
            switch.tell(entry.place, entry.by, settings, after, "refused", count, reason=str(refused))
            continue
        asked.append((entry.place, entry.by, after))
        settings = after
    return asked


def begin() -> None:
    """Entries of step 0: in force before the first call of each unit, which takes them when it is born."""
    global begun
    begun = True
    if asked := _possible(0, 0, wish.check_alone):
        switch.begin(asked)


@core.shield()
def rehearse() -> None:
    """At the first boundary: what later entries need is found and built, so that their steps are not held up by it."""
    settings = dict(switch.current)
    if any(e.step > 0 for e in _entries):
        core.dirty(core.WHY["PREPARE"])
    for entry in [e for e in _entries if e.step > 0][:64]:
        settings = text.merge(settings, entry.change)
        if _refusal(entry) is None:
            with contextlib.suppress(Refused):
                switch.check(settings)


def unreached(count: int) -> None:
    """At the end of the job: entries whose step never came."""
    for entry in [e for e in _entries if e.step > count]:
        switch.tell(entry.place, entry.by, switch.current, text.merge(switch.current, entry.change), "not reached", entry.step)


def begin_late(count: int) -> None:
    """A job that has compiled nothing: its models are known only now, after its first step."""
    global begun
    begun = True
    if asked := _possible(0, count, switch.check):
        switch.apply_all(asked, count)
