# SPDX-License-Identifier: Apache-2.0
"""Is there room on the device? Asked of the driver and of torch's allocator when a proposal says how much it needs; waits for no kernel."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from typing import Any

SHARE = 0.9  # of what is left: others may use the device, too


def device() -> Any:
    return sys.modules["torch"].cuda


def objection(needed: int) -> str | None:
    """None: there is room, or this process uses no device."""
    if not needed or not device().is_initialized():
        return None
    free, _ = device().mem_get_info()
    left = free + device().memory_reserved() - device().memory_allocated()
    if needed <= SHARE * left:
        return None
    return f"no memory headroom: it may need {needed / 1e9:.1f} GB more on the device, and {left / 1e9:.1f} GB are free"


def host_left() -> float:
    """Bytes of memory that the host, or the nearest limit of a control group, has left; without an end where nothing tells."""
    left = 1024.0 * _number("/proc/meminfo", "MemAvailable:")
    for folder, most, now, cache in _groups():
        limit, used = _number(f"{folder}/{most}"), _number(f"{folder}/{now}")
        if math.isfinite(limit + used):
            unused = _number(f"{folder}/memory.stat", cache)
            left = min(left, limit - used + (unused if math.isfinite(unused) else 0.0))
    return left


def _groups() -> Iterator[tuple[str, str, str, str]]:
    """Folders of this process's memory groups, of both versions, up to the root; names of limit, use, and of what can be given back."""
    try:
        with open("/proc/self/cgroup", encoding="ascii", errors="replace") as file:
            lines = [line.strip().split(":", 2) for line in file]
    except OSError:
        lines = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers and "memory" not in controllers.split(","):
            continue
        top = "/sys/fs/cgroup/memory" if controllers else "/sys/fs/cgroup"
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ") if controllers else ("memory.max", "memory.current", "inactive_file ")
        parts = [part for part in path.split("/") if part]
        yield from ((os.path.join(top, *parts[:count]), *names) for count in range(len(parts), -1, -1))


def resident() -> float:
    """Bytes of this process."""
    return 1024.0 * _number("/proc/self/status", "VmRSS:")


def _number(path: str, name: str = "") -> float:
    """Behind `name` at the beginning of a line; infinite: not told."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return next(float(line[len(name) :].split()[0]) for line in file if line.startswith(name))
    except (OSError, ValueError, StopIteration, IndexError):
        return math.inf
