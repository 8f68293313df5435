# SPDX-License-Identifier: Apache-2.0
"""The door to the rank core (C), and the net under everything of ours: an error ends here, counted and told, never in the job."""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

WHY = {"FIRST": 1, "COMPILE": 2, "SWITCH": 4, "AUTOTUNE": 8, "RECORDING": 16, "SKIPPED": 32, "FAILED": 64, "PREPARE": 128, "WAITED": 256, "VERIFY": 1024}

_core: Any = None
_told: set[str] = set()
on_trouble: Callable[[str, str], None] | None = None


def nothing(*_: Any) -> None:
    """Stands where another module will put its own function."""


def load() -> Any:
    """The extension module; raises ImportError with its reason where it does not load (free-threaded Python)."""
    global _core
    if _core is None:
        _core = import_module(__package__ + "._inductop")
    return _core


def loaded() -> Any:
    return _core


def dirty(why: int) -> None:
    if _core is not None:
        _core.dirty(why)


def trouble(what: str, error: BaseException) -> None:
    """Counts an error of ours and tells it once. Never raises."""
    try:
        if _core is not None:
            _core.fault()
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = f" ({os.path.basename(last[0].filename)}:{last[0].lineno})" if last else ""
        lines = str(error).splitlines()
        text = f"{type(error).__name__}: {lines[0] if lines else ''}"[:300] + place
        if on_trouble is not None and what + text not in _told and len(_told) < 200:
            _told.add(what + text)
            on_trouble(what, text)
    except Exception:
        pass


def shield(fallback: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: errors of ours end here and the call returns `fallback`."""

    def wrap(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def shielded(*args: Any, **kwargs: Any) -> Any:
            try:
                return fn(*args, **kwargs)
            except Exception as error:
                trouble(fn.__name__, error)
                return fallback

        return shielded

    return wrap
