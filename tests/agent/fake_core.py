# SPDX-License-Identifier: Apache-2.0
"""The rank core's API in Python, for tests: events are kept and written to SESSION/events.jsonl, proposals come from propose()."""

from __future__ import annotations

import json
import os
import types
from typing import Any

EVENTS: list[dict[str, Any]] = []
STEPS: list[dict[str, Any]] = []
VOTES: dict[int, str | None] = {}
_call: dict[str, Any] = {}
_count = 0
_variant = 0
_why = 1
_plan = 0
_faults = 0
_forked = False
_file: Any = None
_open: dict[int, dict[str, Any]] = {}  # id -> {at, payload}
_running: tuple[int, int, int] | None = None  # id, index, count


def _write(line: dict[str, Any]) -> None:
    if _file is not None:
        _file.write(json.dumps(line) + "\n")
        _file.flush()


def join(page_path: str, key: str, rank: int, world: int) -> dict[str, Any]:
    return {"group_index": 0, "slot": rank, "gen": 1, "nonce": "0123456789abcdef", "step": 0}


def start(socket_path: str, hello: bytes) -> bool:
    global _file
    name = f"events.{os.environ.get('RANK', '0')}.jsonl"
    _file = open(os.path.join(os.path.dirname(socket_path), name), "a", encoding="utf-8")  # noqa: SIM115
    _write({"hello": json.loads(hello)})
    os.register_at_fork(after_in_child=_fork)
    return True


def _fork() -> None:
    global _forked, _file
    _forked, _file = True, None


def collectives(plugin_path: str) -> None:
    pass


def gloo() -> None:
    pass


def callbacks(prepare: Any, apply: Any, outcome: Any, plan: Any) -> None:
    _call.update(prepare=prepare, apply=apply, outcome=outcome, plan=plan)


def bridge(path: str, torch: str, call_back: Any) -> bool:
    """Answers what BRIDGE_ANSWER says: "counts", "waits", or a reason to refuse it."""
    answer = os.environ.get("BRIDGE_ANSWER", "waits")
    if answer not in ("counts", "waits"):
        raise RuntimeError(answer)
    _call["bridge"] = call_back
    return answer == "counts"


def memory_left() -> float:
    return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE"))


def plan_next(count: int) -> None:
    global _plan
    _plan = count


def propose(identity: int, settings: Any, at: int, by: str = "viewer", **more: Any) -> None:
    """Prepared at the next boundary and applied at `at`; `settings` is one set or a schedule."""
    schedule = settings if isinstance(settings, list) else [[0, settings]]
    sets = {"sets": [one for _, one in schedule], "schedule": [[offset, place] for place, (offset, _) in enumerate(schedule)]}
    _open[identity] = {"at": at, "payload": json.dumps({"by": by, **sets, **more}).encode()}


def step(flags: int = 0, begun_ns: int = 0) -> int:
    global _count, _why, _running, _plan
    if _forked:
        return 0
    record = {"step": _count, "variant": _variant, "why": _why | flags}
    STEPS.append(record)
    _write({"record": record})
    _why = 0
    _count += 1
    for identity, one in list(_open.items()):
        if identity not in VOTES:
            VOTES[identity] = _call["prepare"](identity, one["payload"])
            _write({"vote": identity, "reason": VOTES[identity]})
            if VOTES[identity] is not None:
                del _open[identity]
        if identity in _open and one["at"] == _count:
            del _open[identity]
            _running = (identity, 0, _count)
    while _running is not None and _running[2] == _count:
        identity, index, _ = _running
        following = _call["apply"](identity, _count, index)
        _running = (identity, index + 1, following) if following else None
    if _plan and _plan == _count:
        _plan = _call["plan"](_count)
    return _count


def variant(key: int) -> None:
    global _variant
    _variant = key


def dirty(why: int) -> None:
    global _why
    _why |= why


def event(data: bytes) -> bool:
    if len(data) > 64 * 1024:
        raise ValueError("event too long")
    if not _forked:
        EVENTS.append(json.loads(data))
        _write({"event": EVENTS[-1]})
    return True


def state(kind: str, key: int, data: bytes) -> bool:
    return event(data)


def fault() -> None:
    global _faults
    _faults += 1


def count() -> int:
    return _count


def mark(kind: int, value: float) -> None:
    pass


def stepped() -> None:
    pass


class _Listened:
    def __init__(self, real: Any, listener: Any):
        self.__wrapped__, self.listener = real, listener

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.__wrapped__(*args, **kwargs)
        self.listener(result, args, kwargs or None)
        return result

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else types.MethodType(self, instance)


def timed(kind: int, real: Any, listener: Any = None) -> Any:
    """As the real one, without a clock: as that is no Python frame, what only would be timed stays as it is."""
    return real if listener is None else _Listened(real, listener)


def stats() -> dict[str, int]:
    return {"sent": len(EVENTS), "dropped": 0, "faults": _faults}


def stop() -> None:
    _write({"stopped": True, "faults": _faults})
