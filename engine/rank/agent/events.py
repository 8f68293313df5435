# SPDX-License-Identifier: Apache-2.0
"""Events as JSON for the core. What is told before the core is started waits here."""

from __future__ import annotations

import json
import time
from typing import Any

from . import core

MOST = 64 * 1024 - 64
_waiting: list[tuple[str | None, int, bytes]] = []
_open = False
_json = json.JSONEncoder(default=str).encode  # made once: json.dumps with a default makes one at each call
rank: int | None = None


def _encode(kind: str, fields: dict[str, Any]) -> bytes:
    event: dict[str, Any] = {"v": 1, "kind": kind, "ns": fields.pop("ns", None) or time.monotonic_ns()}
    if rank is not None:
        event["rank"] = rank
    event.update((key, value) for key, value in fields.items() if value is not None)
    data = _json(event).encode()
    if len(data) <= MOST:
        return data
    event["cut"] = True
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = value[:2000]
        elif isinstance(value, (dict, list)) and len(_json(value)) > 8000:
            event[key] = dict(list(value.items())[:50]) if isinstance(value, dict) else value[:50]
    data = _json(event).encode()
    return data if len(data) <= MOST else json.dumps({"v": 1, "kind": kind, "ns": event["ns"], "cut": True}).encode()


def _push(kind: str | None, key: int, data: bytes) -> None:
    if not _open:
        if len(_waiting) < 2000:
            _waiting.append((kind, key, data))
        return
    if kind is None:
        core.loaded().event(data)
    else:
        core.loaded().state(kind, key, data)


@core.shield()
def tell(kind: str, **fields: Any) -> None:
    """One event; fields that are None are left out. `ns` (CLOCK_MONOTONIC) when it is not now."""
    _push(None, 0, _encode(kind, fields))


@core.shield()
def keep(kind: str, key: int, **fields: Any) -> None:
    """As tell, and told again to every engine that comes later."""
    _push(kind, key, _encode(kind, fields))


def open_gate() -> None:
    """The core is started: what waited goes out."""
    global _open
    _open = True
    waiting, _waiting[:] = _waiting[:], []
    for kind, key, data in waiting:
        if rank is not None:
            event = json.loads(data)
            event.setdefault("rank", rank)
            data = json.dumps(event).encode()
        _push(kind, key, data)


def problem(what: str, text: str, hint: str | None = None) -> None:
    tell("problem", what=what, text=text, hint=hint)


core.on_trouble = problem
