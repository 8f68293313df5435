# SPDX-License-Identifier: Apache-2.0
"""What a compilation under way does just now: torch's own marks of its phases, listened to without a Python frame in between."""

from __future__ import annotations

import threading
from typing import Any

from . import core, events

# torch's name of what begins: the phase, named as in compile events.
PHASES = {
    "bytecode_tracing": "dynamo",
    "create_aot_dispatcher_function": "aot",
    "inductor_compile": "inductor",
    "code_gen": "codegen",
    "PyCodeCache.load_by_key_path": "backend",
    "build_guards": "guards",
}

_running: dict[int, list[Any]] = {}  # thread that compiles: the fields of its events, the phase told last


def watch(dynamo: Any) -> None:
    """Where torch has no such marks a compilation is told without phases until it has ended."""
    from torch._dynamo import utils

    marks = getattr(utils, "ChromiumEventLogger", None)
    if hasattr(marks, "log_event_start"):
        listener = dynamo.disable(_begins)  # a lazy backward is compiled while Dynamo looks at frames
        marks.log_event_start = core.load().timed(0, marks.log_event_start, listener)


def begun(fields: dict[str, Any]) -> None:
    _running[threading.get_ident()] = [fields, None]


def ended() -> None:
    _running.pop(threading.get_ident(), None)


def _begins(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
    phase = PHASES.get(args[1] if len(args) > 1 else (kwargs or {}).get("event_name"))
    running = _running.get(threading.get_ident())
    if phase is not None and running is not None and running[1] != phase:
        running[1] = phase
        events.tell("compiling", state="phase", phase=phase, **running[0])
