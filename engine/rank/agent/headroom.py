# SPDX-License-Identifier: Apache-2.0
"""Is there room on the device? Asked of the driver and of torch's allocator when a proposal says how much it needs; waits for no kernel."""

from __future__ import annotations

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
