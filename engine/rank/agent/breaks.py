# SPDX-License-Identifier: Apache-2.0
"""Graph breaks as events: torch's own list, and frames that it gave up because of one. Frames that torch skips by design are none."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import OrderedDict
from typing import Any, NamedTuple

from . import events, look, runs

MOST = 4096
LINK = re.compile(r"gb(\d{4,})\.html|\bGB(\d{4,})\b")
RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+$")
NO_BREAK = re.compile(r"recompile limit|cache_size_limit|skip[_ ]frame", re.I)  # a limit was reached, or the frame is skipped by design
SPLIT = "DDPOptimizer intentional graph-break"
# What torch gives no class in the text itself: how the text begins, the class in its registry, in words.
UNNAMED = (
    ("generic_jump ", "Data-dependent branching", "Branch on the value of a tensor"),
    ("step_unsupported", None, "An instruction that cannot be traced"),
)

_read = 0
_told: OrderedDict[Key, Break] = OrderedDict()
_changed: dict[Key, Break] = {}  # since the last that was told
_registry: dict[str, str] | None = None


class Compiled(NamedTuple):
    """A record of torch's, with what we know of it."""

    record: Any
    unit: Any  # None when it is gone, or was none
    index: int | None
    variant: int


class Key(NamedTuple):
    file: str | None
    line: int | None
    frame: str | None
    reason: str
    unit: int | None
    variant: int


class Break:
    """One place, in one unit under one set of settings."""

    def __init__(self, key: Key, reason: str):
        self.key, self.count = key, 0
        self.facts: dict[str, Any] = describe(reason)
        self.behind: set[runs.Resume] = set()  # where its own frame goes on behind it
        self.outside: set[runs.Resume] = set()  # where a frame goes on that could not take it in
        self.runs: int | None = None

    def tell(self) -> None:
        found = {**self.key._asdict(), **self.facts}
        events.tell("break", **found, count=self.count, runs=self.runs)


def forget() -> None:
    """torch's list was emptied."""
    global _read
    _read = 0


def poll(compiled: list[Compiled]) -> None:
    """What broke in what was compiled since the last time."""
    global _read
    from torch._dynamo import utils

    reasons = utils.graph_break_reasons
    if len(reasons) < _read:
        _read = 0
    fresh, _read = reasons[_read:], len(reasons)
    failed = [one for one in compiled if _gave_up(one.record)]
    lost = [(one.record.co_filename, _named(one.record.co_name), *_failed_at(one.record), _line(one.record.fail_reason)) for one in failed]
    units, used = {}, set()
    for reason in fresh:
        if SPLIT in reason.reason:
            _count(Key(None, None, None, "split at a bucket of DDP, as intended", *_of(None)), reason.reason, effect="ddp")
            continue
        root = reason.user_stack[0] if reason.user_stack else None
        inner = reason.user_stack[-1] if reason.user_stack else None
        if root is not None and (root.filename, _named(root.name), inner.filename, inner.lineno, _line(reason.reason)) in lost:
            continue  # an attempt to go on behind it, given up later: told below
        one = _compiled_from(reason, root, compiled, used)
        unit, variant = _of(one)
        told = _count(_key(reason.reason, reason.user_stack, unit, variant), reason.reason, effect="split", **_inside(reason.user_stack))
        if one is not None and one.unit is not None and root is not None:
            behind = told.behind if len(reason.user_stack) == 1 else told.outside
            behind.add(runs.Resume(root.filename, _named(root.name), root.lineno))
            units[id(one.unit)] = one.unit
    for one in failed:
        _from_failure(one)
    for told in _changed.values():
        told.tell()
    _changed.clear()
    for unit in units.values():
        runs.look_at(unit, _ran)


def _of(one: Compiled | None) -> tuple[int | None, int]:
    from . import settings, switch

    if one is None:
        return None, settings.key(switch.current)
    return one.index, one.variant


def _named(name: str | None) -> str | None:
    """Of the function as written, for what goes on behind a break."""
    found = RESUMED.match(name or "")
    return found[1] if found else name


def _compiled_from(reason: Any, root: Any, compiled: list[Compiled], used: set[Any]) -> Compiled | None:
    """Whose compilation met it: the record that was begun again for it, else one of the same function."""
    if root is not None:
        same = [c for c in compiled if c.record.co_filename == root.filename and _named(c.record.co_name) == _named(root.name)]
        text = str(reason.reason)
        again = [c for c in same if any(text in str(other) for other in c.record.restart_reasons or ())]
        for one in again or same:
            if (str(one.record.compile_id), text) not in used:
                used.add((str(one.record.compile_id), text))
                return one
        if same:
            return same[0]
    return compiled[0] if len({(c.index, c.variant) for c in compiled}) == 1 else None


def _gave_up(record: Any) -> bool:
    kind, reason = getattr(record, "fail_type", None) or "", getattr(record, "fail_reason", None)
    return bool(kind.endswith(("Unsupported", "UserError")) and reason and not NO_BREAK.search(_line(reason)))


def _failed_at(record: Any) -> tuple[str | None, int | None]:
    stack = re.findall(r'File "(.+?)", line (\d+), in .+', str(record.fail_reason))
    if stack:
        return stack[-1][0], int(stack[-1][1])
    if record.fail_user_frame_filename is not None:
        return record.fail_user_frame_filename, record.fail_user_frame_lineno
    return record.co_filename, record.co_firstlineno


def _from_failure(one: Compiled) -> None:
    """A frame that torch left alone for good leaves no break behind, only a failed record."""
    record = one.record
    file, line = _failed_at(record)
    key = Key(file, line, _named(record.co_name), _line(record.fail_reason), *_of(one))
    inside = {"framework": True, "inside": f"{file}:{line}"} if look.is_library(file or "<") else {}
    _count(key, str(record.fail_reason), effect="eager", **inside)


def _key(reason: str, stack: Any, unit: int | None, variant: int) -> Key:
    """The innermost line of the user's, else of a library, else of torch."""
    stack = list(stack or [])
    libraries = [f for f in stack if not look.is_torch(f.filename) and not look.is_standard(f.filename)]
    own = [f for f in stack if not look.is_library(f.filename)] or libraries or stack
    place = (own[-1].filename, own[-1].lineno, _named(own[-1].name)) if own else (None, None, None)
    return Key(*place, _line(reason), unit, variant)


def _inside(stack: Any) -> dict[str, Any]:
    """A break in code of a library that the user's line calls: where."""
    dynamo = os.path.join(os.path.dirname(sys.modules["torch"].__file__), "_dynamo", "")
    outer = [f for f in stack or [] if not f.filename.startswith(dynamo)]
    if not outer or not look.is_library(outer[-1].filename):
        return {}
    return {"framework": True, "inside": f"{outer[-1].filename}:{outer[-1].lineno}"}


def _line(reason: Any) -> str:
    lines = [line.strip() for line in str(reason or "").splitlines() if line.strip()]
    first = lines[0] if lines else "graph break"
    return next((words for beginning, _, words in UNNAMED if first.startswith(beginning)), first)[:500]


def describe(reason: str) -> dict[str, Any]:
    """Class and link id of torch's registry, its explanation and its first advice."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    kind = next((kind for beginning, kind, _ in UNNAMED if first.startswith(beginning)), first)
    link, known = LINK.search(reason), _registered(kind)
    code = f"GB{link[1] or link[2]}" if link else known
    texts = {name: next((line.partition(": ")[2] for line in lines if line.startswith(f"{name}: ")), None) for name in ("Explanation", "Hint")}
    found = {"class": kind if code else None, "code": code, "explanation": texts["Explanation"], "remedy": texts["Hint"]}
    return {name: value[:500] for name, value in found.items() if value}


def _registered(kind: str | None) -> str | None:
    """The id of a class; torch reads its registry for every message of its own, so it is read already, or a break without one is rare."""
    global _registry
    if _registry is None:
        folder = os.path.dirname(sys.modules["torch._dynamo"].__file__)
        try:
            with open(os.path.join(folder, "graph_break_registry.json"), encoding="utf-8") as file:
                _registry = {entry["Gb_type"]: code for code, row in json.load(file).items() for entry in row}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            _registry = {}  # 2.7 and older have none
    return _registry.get(kind or "")


def _count(key: Key, reason: str, **facts: Any) -> Break:
    told = _told.get(key)
    if told is None:
        told = _told[key] = Break(key, reason)
        while len(_told) > MOST:
            _told.popitem(last=False)
    told.facts.update(facts)
    told.count += 1
    _changed[key] = told
    return told


def _ran(unit: Any, variant: int, seen: dict[runs.Resume, int]) -> None:
    """One call of a unit was looked at: how often each way on from a break was taken in it."""
    for told in _told.values():
        known = [seen[resume] for resume in told.behind or told.outside if resume in seen]
        if told.key.unit == unit.index and told.key.variant == variant and known and told.runs != sum(known):
            told.runs = sum(known)
            told.tell()
