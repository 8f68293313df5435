# SPDX-License-Identifier: Apache-2.0
"""Recompiles at the moment when torch decides on one: the reason decoded while the frame is at hand, and the limits as its thread sees them."""

from __future__ import annotations

import os
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from . import core, layout
from .causes import Cause
from .decode import decode
from .look import Frame, is_library

MOST = 4096
ASKED = ("get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason")  # since 2.7, and before
LIMITS = (("recompile_limit", "cache_size_limit"), ("accumulated_recompile_limit", "accumulated_cache_size_limit"))  # the second till 2.6

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_asked: OrderedDict[str, Again] = OrderedDict()
_changed: defaultdict[Any, set[str]] = defaultdict(set)  # (code's place, spec) -> sources that changed since the last reset


class Again(NamedTuple):
    cause: Cause
    code: tuple[str, int, str]  # file, first line, name


def limits() -> tuple[int, ...] | None:
    """recompile_limit and accumulated_recompile_limit on this thread: since 2.12 each thread has its own."""
    from torch._dynamo import config

    found = tuple(getattr(config, name_of_limit(config, which), 0) for which in range(len(LIMITS)))
    return found if all(found) else None


def name_of_limit(config: Any, which: int = 0) -> str:
    return next((name for name in LIMITS[which] if hasattr(config, name)), LIMITS[which][0])


def of(name: str) -> Again | None:
    return _asked.get(name)


def forget() -> None:
    """After a reset everything is compiled for the first time."""
    _changed.clear()


def watch(begin: Callable[[Any], Any], begun: Callable[[str], Any], identity: Callable[[Any], str]) -> None:
    """`begin(compile id)` notes the beginning of a compilation, `begun(name)` finds it again, `identity` names one."""
    from torch._dynamo import convert_frame

    name = next((n for n in ASKED if hasattr(convert_frame, n)), None)
    if name is None:
        return  # the reason is told by the metrics alone

    def ask(reasons: Any, args: tuple[Any, ...], _: Any) -> None:
        try:
            _ask(args[1], reasons, begin, begun, identity)
        except Exception as error:
            core.trouble("recompile", error)

    try:
        setattr(convert_frame, name, core.load().timed(0, getattr(convert_frame, name), ask))  # (entries, frame, ...)
    except ImportError:
        pass  # no core in this Python: nothing will be told


def _ask(frame: Any, reasons: Any, begin: Callable[[Any], Any], begun: Callable[[str], Any], identity: Callable[[Any], str]) -> None:
    from torch._guards import CompileContext

    compile_id = CompileContext.current_compile_id()
    if compile_id is None:
        return
    now = begin(compile_id)
    _asked[identity(compile_id)] = _look(frame, reasons, now, begun)
    while len(_asked) > MOST:
        _asked.popitem(last=False)


def _look(frame: Any, reasons: list[str], now: Any, begun: Callable[[str], Any]) -> Again:
    from torch._dynamo import config

    reason = reasons[0] if reasons else ""
    code = frame.f_code
    looked = Frame(frame, _called_at())
    looked.automatic = bool(config.automatic_dynamic_shapes and config.assume_static_by_default)
    place = (code.co_filename, code.co_firstlineno, code.co_name)  # not the code itself, which would keep its graphs alive
    if len(_changed) > MOST:
        _changed.clear()
    looked.firsts = _changed[place, now.spec]
    looked.inference_now = now.inference
    former = begun(reason.partition(":")[0])
    looked.inference_then = former.inference if former is not None else False
    return Again(decode(reason, looked), place)


def versions() -> int | None:
    """Of the code that is being compiled on this thread, under all settings, before this one."""
    frame: Any = sys._getframe(1)
    while frame is not None and (frame.f_code.co_name != "_compile" or not frame.f_code.co_filename.endswith("convert_frame.py")):
        frame = frame.f_back
    code = frame.f_locals.get("code") if frame is not None else None
    if not isinstance(code, types.CodeType):
        return None
    from torch._dynamo import eval_frame

    count = getattr(eval_frame, "_get_total_cache_entry_count", None)
    if count is not None:
        return int(count(code))
    entries = getattr(layout.insides, "entries", None)
    return len(entries(code)) if entries is not None else None


def _called_at() -> tuple[str, int] | None:
    """The innermost line of the script on the stack."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and not is_library(file):
            return file, frame.f_lineno
        frame = frame.f_back
    return None
