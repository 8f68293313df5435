# SPDX-License-Identifier: Apache-2.0
"""Is there room on the device? Asked of the driver and of torch's allocator when a proposal says how much it needs; waits for no kernel."""

from __future__ import annotations

import math
import sys
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
    """Bytes of memory that the host, or the container when that is nearer, has left; without an end where neither tells."""
    left = 1024.0 * _number("/proc/meminfo", "MemAvailable:")
    most, now = _number("/sys/fs/cgroup/memory.max"), _number("/sys/fs/cgroup/memory.current")
    cache = _number("/sys/fs/cgroup/memory.stat", "inactive_file ")
    return min(left, most - now + cache) if math.isfinite(most + now + cache) else left


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
