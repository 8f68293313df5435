# SPDX-License-Identifier: Apache-2.0
"""Is there room on the device, asked of the driver and of torch's allocator when a proposal says how much it needs, and on the host? Waits for
no kernel."""

from __future__ import annotations

import os
import sys
from typing import Any

from . import core

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
    """Bytes that the host, or a control group, can still give; NaN: not known."""
    return core.load().memory_left()


def resident() -> float:
    """Bytes of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return float(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
