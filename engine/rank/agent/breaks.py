# SPDX-License-Identifier: Apache-2.0
"""Graph breaks as events: torch's own list, and frames that it gave up."""

from __future__ import annotations

import re
from typing import Any

from . import events
from .guard import _is_torch

LINK = re.compile(r"gb(\d{4})\.html|\bGB(\d{4})\b")
OURS = "DDPOptimizer intentional graph-break"

_read = 0
_counts: dict[tuple[Any, ...], int] = {}


def forget() -> None:
    """torch's list was emptied."""
    global _read
    _read = 0


def poll(unit: int | None = None) -> None:
    """`unit`: the only one that was compiled since the last time, if it was one."""
    global _read
    from torch._dynamo import utils

    reasons = utils.graph_break_reasons
    if len(reasons) < _read:
        _read = 0
    fresh, _read = reasons[_read:], len(reasons)
    for reason in fresh:
        if OURS not in reason.reason:
            _one(str(reason.reason), reason.user_stack, unit)


def from_failure(record: Any, unit: int | None) -> None:
    """A frame that torch left alone for good leaves no break behind, only a failed record."""
    kind = getattr(record, "fail_type", None) or ""
    if kind.endswith(("Unsupported", "UserError")) and record.fail_reason:
        place = (record.fail_user_frame_filename, record.fail_user_frame_lineno, record.co_name)
        _count(place, str(record.fail_reason), unit)


def _one(reason: str, stack: Any, unit: int | None) -> None:
    frames = [f for f in stack or [] if not _is_torch(f.filename)] or list(stack or [])[-1:]
    place = (frames[-1].filename, frames[-1].lineno, frames[-1].name) if frames else (None, None, None)
    _count(place, reason, unit)


def _count(place: tuple[Any, Any, Any], reason: str, unit: int | None) -> None:
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    line = lines[0] if lines else "graph break"
    key = (*place, line)
    count = _counts[key] = _counts.get(key, 0) + 1
    if len(_counts) > 4096:
        _counts.clear()
    if count & (count - 1) and count % 256:
        return  # told at 1, 2, 4, 8, ... and every 256
    link = LINK.search(reason)
    file, number, frame = place
    code = f"GB{link.group(1) or link.group(2)}" if link else None
    events.tell("break", unit=unit, frame=frame, file=file, line=number, reason=line[:500], code=code, count=count)
