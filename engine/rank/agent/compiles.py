# SPDX-License-Identifier: Apache-2.0
"""Compilations as events: from torch's own metrics, read at boundaries after a compilation was announced."""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from . import active, again, breaks, core, events, guard, stages, switch, units, verify
from . import settings as text
from .causes import Cause
from .decode import decode
from .look import Frame
from .variants import Variant

LIMIT = 4096
PARTS = {"DYNAMO": "forward", "LAZY_BACKWARD": "backward", "TRITON_AUTOTUNING": "autotune", "CUDAGRAPH_RECORDING": "recording"}

epoch = 0  # resets of torch so far: compile ids begin again
wake_boundary: Callable[[], None] = core.nothing
first_compile: Callable[[], None] = core.nothing
_last: Any = None
_listener: Any = None
_end_listener: Any = None
_begun: OrderedDict[str, Begun] = OrderedDict()
_seen: set[tuple[Any, Any]] = set()  # (code or number of its object, spec of the unit) that was compiled since the last reset
_codes: set[Any] = set()


class Begun(NamedTuple):
    unit: Callable[[], Any]
    index: int | None
    spec: Any
    variant: int
    limits: tuple[int, ...] | None  # as the thread that compiles sees them
    total: int | None  # versions of the code so far, under all settings
    thread: str
    inference: bool


def identity(compile_id: Any) -> str:
    name = str(compile_id).strip("[]")
    return f"{epoch}:{name}" if epoch else name


def started(args: Any = None) -> None:
    """Start call-back: once for each outermost compilation, on the thread that compiles."""
    try:
        first_compile()
        core.dirty(core.WHY["COMPILE"])
        name = getattr(getattr(args, "callback_trigger", None), "name", "")
        if name == "LAZY_BACKWARD":
            guard.saw_backward_compiled()
        elif name == "CUDAGRAPH_RECORDING":
            core.dirty(core.WHY["RECORDING"])
        elif name == "TRITON_AUTOTUNING":
            core.dirty(core.WHY["AUTOTUNE"])
        compile_id = _compile_id(args)
        begun = remember(compile_id)
        stages.begun(_tell_now("begin", compile_id, begun, PARTS.get(name)))
    except Exception as error:
        core.trouble("compile started", error)


def ended(args: Any = None) -> None:
    """End call-back of the same compilation, failed ones too."""
    try:
        compile_id = _compile_id(args)
        if compile_id is not None:
            active.converted(identity(compile_id))
        stages.ended()
        _tell_now("end", compile_id, None, None)
    except Exception as error:
        core.trouble("compile ended", error)


def _compile_id(args: Any) -> Any:
    """Call-backs are given it since 2.8; before, it is asked for."""
    from torch._guards import CompileContext

    return args.compile_id if hasattr(args, "compile_id") else CompileContext.current_compile_id()


def _tell_now(state: str, compile_id: Any, begun: Begun | None, part: str | None) -> dict[str, Any]:
    asked = again.of(identity(compile_id)) if state == "begin" and part == "forward" else None
    fields = {
        "id": identity(compile_id) if compile_id is not None else None,
        "unit": begun.index if begun is not None else None,
        "variant": begun.variant if begun is not None else None,
        "part": part,
        "words": asked.cause.words if asked is not None else None,
    }
    events.tell("compiling", state=state, **fields)
    return fields


def remember(compile_id: Any) -> Begun | None:
    wake_boundary()
    if compile_id is None:
        return None
    name = identity(compile_id)
    if name not in _begun:
        import torch

        unit = next(iter(units.on_stack()), None)
        spec = getattr(unit.now, "spec", unit.now) if unit is not None else None
        held = weakref.ref(unit) if unit is not None else core.nothing
        thread, inference = threading.current_thread().name, torch.is_inference_mode_enabled()
        index = unit.index if unit is not None and unit.index >= 0 else None
        _begun[name] = Begun(held, index, spec, text.key(switch.current), again.limits(), again.versions(), thread, inference)
        while len(_begun) > LIMIT:
            _begun.popitem(last=False)
    return _begun[name]


def register() -> None:
    """Again after a reset, which clears them."""
    try:
        from torch._dynamo.callback import callback_handler
    except ImportError:
        return
    if _listener is not None and _listener not in callback_handler.start_callbacks:
        callback_handler.register_start_callback(_listener)
    if _end_listener is not None and _end_listener not in callback_handler.end_callbacks:
        callback_handler.register_end_callback(_end_listener)


def watch(dynamo: Any) -> None:
    global _end_listener, _listener
    from torch._dynamo import utils

    _end_listener = dynamo.disable(ended)
    _listener = dynamo.disable(started)  # a lazy backward is compiled while Dynamo looks at frames
    if hasattr(utils, "set_compilation_metrics_limit"):
        kept = getattr(utils, "_compilation_metrics", None)
        if getattr(kept, "maxlen", 0) and kept.maxlen < LIMIT:
            utils.set_compilation_metrics_limit(LIMIT)
    stages.watch(dynamo)
    again.watch(remember, lambda name: _begun.get(identity(name)), identity)
    active.begun = verify.begun = _begun.get
    register()
    real = dynamo.reset

    def reset(*args: Any, **kwargs: Any) -> Any:
        poll()
        try:
            return real(*args, **kwargs)
        finally:
            _after_reset()

    reset.__wrapped__, reset.__name__, reset.__doc__ = real, real.__name__, real.__doc__
    dynamo.reset = reset


@core.shield()
def _after_reset() -> None:
    global epoch
    epoch += 1
    _seen.clear()
    _codes.clear()
    Variant.forget()
    again.forget()
    breaks.forget()
    active.forget()
    register()


@core.shield()
def poll() -> None:
    """Tells what was compiled since the last time."""
    global _last
    from torch._dynamo import utils

    fresh = []
    kept = getattr(utils, "_compilation_metrics", None)
    if not kept or kept[-1] is not _last:  # else nothing is new, and the copy of the list is saved
        for record in reversed(utils.get_compilation_metrics()):
            if record is _last:
                break
            fresh.append(record)
    if fresh:
        _last = fresh[0]
    breaks.poll([_tell(record) for record in reversed(fresh)])
    register()


def _ended_ns(record: Any) -> int | None:
    """When it ended, by our clock: torch has wall time, and an event is told only at the next boundary."""
    end_us = getattr(record, "end_time_us", None)
    return time.monotonic_ns() - max(0, time.time_ns() - int(end_us) * 1000) if end_us else None


def _ms(record: Any, name: str) -> float | None:
    value = getattr(record, name, None)
    return None if value is None else value / 1e3


def _phases(record: Any, ms: float) -> dict[str, float]:
    """Torch's times nest (dynamo holds aot holds inductor holds code generation holds the backend compiler): each without its inner."""
    nested = [
        ("dynamo", _ms(record, "dynamo_cumulative_compile_time_us")),
        ("aot", _ms(record, "aot_autograd_cumulative_compile_time_us")),
        ("inductor", _ms(record, "inductor_cumulative_compile_time_us")),
        ("codegen", _ms(record, "inductor_code_gen_cumulative_compile_time_us")),
        ("backend", _ms(record, "triton_compile_time_us")),
    ]
    there = [(name, value) for name, value in nested if value]
    phases = {}
    for place, (name, value) in enumerate(there):
        inner = there[place + 1][1] if place + 1 < len(there) else 0.0
        phases[name] = round(max(value - inner, 0.0), 3)
    phases["rest"] = round(max(ms - sum(phases.values()), 0.0), 3)
    return phases


def _trigger(record: Any, code: Any, begun: Begun | None) -> str:
    if getattr(record, "is_runtime", False):
        return "runtime"
    if getattr(record, "is_forward", True) is False:
        return "backward"
    spec, is_first = begun.spec if begun is not None else None, _is_first_of_code(record)
    follows_break = str(code[2]).startswith("torch_dynamo_resume_in_")  # made anew with each version of what is before the break
    pairs = {(code, spec), (str(record.compile_id).strip("[]").partition("/")[0], spec)}
    if code not in _codes or (is_first and follows_break):
        trigger = "first"
    else:
        trigger = "recompile" if (pairs <= _seen or (is_first and pairs & _seen)) else "variant"
    if not getattr(record, "fail_type", None):
        _codes.add(code)
        _seen.update(pairs)
    return trigger


def _is_first_of_code(record: Any) -> bool:
    return str(record.compile_id).strip("[]").endswith("/0")


def _reason(record: Any) -> str | None:
    """torch's own, one line."""
    reason = str(getattr(record, "recompile_reason", None) or "").strip()
    return reason.splitlines()[0][:1000] if reason else None


def _cause(record: Any, trigger: str, begun: Begun | None, asked: again.Again | None, hit: str | None) -> Cause | None:
    if trigger == "variant":
        return Cause("variant")
    if trigger != "recompile":
        return None
    if hit is not None and begun is not None and begun.limits is not None:
        which = int(hit != "recompile_limit")
        raised = _raised_elsewhere(begun, which)
        if raised > begun.limits[which]:
            place = asked.cause if asked is not None else Cause("unknown")
            return Cause("limit_thread", hit, str(raised), f"{begun.limits[which]} ({begun.thread})", place.file, place.line)
    if asked is not None:
        return asked.cause
    reason = getattr(record, "recompile_reason", None)
    if reason:
        return decode(str(reason), Frame())
    if _is_first_of_code(record):
        return Cause("code", file=record.co_filename, line=record.co_firstlineno)
    return None


def _raised_elsewhere(begun: Begun, which: int) -> int:
    """The highest that a limit is on any other thread that has compiled, or on this one."""
    here = Begun(core.nothing, None, None, 0, again.limits(), None, threading.current_thread().name, False)
    others = (b.limits[which] for b in (here, *_begun.values()) if b.limits is not None and b.thread != begun.thread)
    return max(others, default=0)


def _limit_hit(record: Any, begun: Begun | None) -> str | None:
    """Which limit ended the compiling of this code: what it has runs on, all else runs eager from now on, or ends the call."""
    kind, reason = str(getattr(record, "fail_type", None)), str(getattr(record, "fail_reason", None))
    if "limit" not in f"{kind} {reason}".lower():
        return None
    found = re.search(r"(accumulated_)?(?:recompile_limit|cache_size_limit)", reason)
    if found is not None:
        return "accumulated_recompile_limit" if found[1] else "recompile_limit"
    if kind != "FailOnRecompileLimitHit" or begun is None or begun.limits is None:
        return None
    return "accumulated_recompile_limit" if (begun.total or 0) >= begun.limits[1] else "recompile_limit"


def _limits(record: Any, begun: Begun | None, hit: str | None) -> dict[str, Any] | None:
    """How many versions the code has, shared by all that run it, and how many it may have."""
    if begun is None or begun.limits is None or getattr(record, "is_forward", True) is False or getattr(record, "is_runtime", False):
        return None
    limit, accumulated = begun.limits
    entries, total = getattr(record, "cache_size", None), begun.total
    if hit == "recompile_limit":
        entries = limit
    new = int(not getattr(record, "fail_type", None))
    counts = {"entries": None if entries is None else entries + new, "total": None if total is None else total + new}
    found = {"limit": limit, "accumulated": accumulated, "hit": hit, **counts}
    return {name: value for name, value in found.items() if value is not None}


def _code(record: Any, asked: again.Again | None) -> tuple[Any, Any, Any]:
    if record.co_filename is None and asked is not None:
        return asked.code
    return record.co_filename, record.co_firstlineno, record.co_name


_told: OrderedDict[str, tuple[str | None, Cause | None]] = OrderedDict()  # frame and cause of a version, for the backward that follows


def _why(name: str, trigger: str, frame: str | None, cause: Cause | None) -> tuple[str | None, dict[str, Any]]:
    """Frame and fields of the cause; the backward of a version is of the same frame, and was compiled again for the same cause."""
    if trigger == "backward":
        frame, cause = _told.get(name, (frame, cause))
    elif trigger != "runtime":
        _told[name] = frame, cause
        while len(_told) > LIMIT:
            _told.popitem(last=False)
    return frame, cause.fields() if cause is not None else {}


def _tell(record: Any) -> breaks.Compiled:
    name = identity(record.compile_id)
    begun, asked = _begun.get(name), again.of(name)
    file, line, function = _code(record, asked)
    ms = _ms(record, "duration_us") or _ms(record, "dynamo_cumulative_compile_time_us")
    if ms is None and record.end_time_us and record.start_time_us:
        ms = (record.end_time_us - record.start_time_us) / 1e3
    trigger, hit = _trigger(record, (file, line, function), begun), _limit_hit(record, begun)
    unit = begun.unit() if begun is not None else None
    if unit is not None and not unit.holds_parameters and trigger in ("first", "variant", "recompile"):
        unit.holds_parameters = bool(getattr(record, "param_count", None))
        units.births += 1
    graph = {"nodes": record.graph_node_count, "inputs": record.graph_input_count, "guards": record.guard_count}
    graph["breaks"] = getattr(record, "num_graph_breaks", None)
    graph["guard_us"] = getattr(record, "guard_latency_us", None)
    frame = f"{function} {os.path.basename(file)}:{line}" if file else None
    frame, why = _why(name, trigger, frame, _cause(record, trigger, begun, asked, hit))
    variant = begun.variant if begun is not None else text.key(switch.current)
    index = unit.index if unit is not None else begun.index if begun is not None else None
    events.tell(
        "compile",
        ns=_ended_ns(record),
        unit=index,
        variant=variant,
        id=name,
        frame=frame,
        trigger=trigger,
        ms=round(ms or 0.0, 3),
        phases=_phases(record, ms or 0.0),
        cache=_cache(record) or None,
        graph={k: v for k, v in graph.items() if v is not None} or None,
        cause=_reason(record) if trigger == "recompile" else None,
        limits=_limits(record, begun, hit),
        failed=hit if hit is not None and record.fail_type != "FailOnRecompileLimitHit" else record.fail_type,
        **why,
    )
    active.compiled(record, index, begun.spec if begun is not None else None, name, frame, hit)
    return breaks.Compiled(record, unit, index, variant)


def _cache(record: Any) -> dict[str, int]:
    found = {}
    for short, long in (("fx", "inductor_fx"), ("aot", "aotautograd")):
        for place in ("local", "remote"):
            for what in ("hit", "miss"):
                count = getattr(record, f"{long}_{place}_cache_{what}_count", None)
                if count:
                    name = f"{short}_{what}" + ("" if place == "local" else "_remote")
                    found[name] = found.get(name, 0) + count
    return found
