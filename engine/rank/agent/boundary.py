# SPDX-License-Identifier: Apache-2.0
"""Where one step ends and the next begins: the pacing optimizer's step, outside backward; without one, the outermost compiled call.

The pacing optimizer is the one that was first seen latest: a GAN has two, and between G's forward and its backward is no boundary.
The body of a hook with nothing pending is a few comparisons and the core's step().
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from . import core, units

OWN = 1 << 4  # bit of enum step_valid (engine/wire/record.h)
IDLE = 16  # steps of others after which an optimizer has left the cycle

pending = False  # the next boundary has more to do than to count
wake_at = sys.maxsize  # steps after which that is so once
thread: int | None = None  # the one that trains
in_backward = False  # every optimizer so far stepped inside backward
_pacer: Callable[[], Any] = core.nothing
_seen: list[weakref.ref[Any]] = []
_early: list[weakref.ref[Any]] = []  # stepped while others had not yet
_made: list[weakref.ref[Any]] = []  # optimizers that were constructed
any_made = False
_idle = 0
_last = _before = 0
_stepped_since_update = True
_step: Callable[[int, int], int] | None = None
_handle: Any = None
_hook: Callable[[Any, Any, Any], None]
_graph_task: Callable[[], int] = int
_after_backward = False
_pacing_unit: Callable[[], Any] = core.nothing
_calls = _other_calls = 0

before_count: Callable[[], None] = core.nothing
after_count: Callable[[int], None] = core.nothing
first: Callable[[], bool] = bool  # wakes the process; False: stays asleep
new_optimizer: Callable[[], None] = core.nothing
inert = False  # a forked child of a rank


def wake() -> None:
    global pending
    pending = True


def wake_after(count: int) -> None:
    global wake_at
    wake_at = count


def started(step: Callable[[int, int], int]) -> None:
    global _step
    _step = step


def step_ns() -> int:
    """How long the step that ends here took; 0 when its beginning was not seen."""
    return _last - _before if _before else 0


def optimizers() -> list[Any]:
    return [o for ref in _seen if (o := ref()) is not None]


def _tick(begun_ns: int) -> None:
    """The boundary itself. begun_ns: when our work at it began; how long it takes is told as our own in the step that begins here."""
    global _last, _before, pending
    if _step is None:
        if not first():
            return
    _before, _last = _last, begun_ns
    if pending:
        pending = False
        before_count()
        count = _step(0, begun_ns)
        counted_ns = time.monotonic_ns()
        after_count(count)
        core.loaded().mark(OWN, time.monotonic_ns() - counted_ns)
    elif _step(0, begun_ns) >= wake_at:
        wake_after(sys.maxsize)
        wake()


def step_done(optimizer: Any, args: Any, kwargs: Any) -> None:
    """Global post hook of optimizers."""
    global _idle, _stepped_since_update
    try:
        begun_ns = time.monotonic_ns()
        _stepped_since_update = True
        if optimizer is _pacer() and _graph_task() == -1 and threading.get_ident() == thread:
            _idle = 0
            _tick(begun_ns)
        elif not inert and _paces_now(optimizer):
            _tick(begun_ns)
    except Exception as error:
        core.trouble("boundary", error)


def _paces_now(optimizer: Any) -> bool:
    """An optimizer that did not pace so far: does a step end here on its account?"""
    global _after_backward, _idle, _pacer, in_backward, thread
    if thread is None:
        thread = threading.get_ident()
    if threading.get_ident() != thread:
        return False
    known = any(ref() is optimizer for ref in _seen)
    if _step is not None:
        core.loaded().stepped()
    if _graph_task() != -1:
        _after_backward = True
        if not known:
            _seen.append(weakref.ref(optimizer))
            new_optimizer()
        if _pacer() is None and not in_backward:
            in_backward = True
            listen_to_calls()
        return False
    if not known:
        _seen.append(weakref.ref(optimizer))
        new_optimizer()
        if _others_wait(optimizer) and not any(r() is optimizer for r in _early):
            _early.append(weakref.ref(optimizer))
            return False
        _pace(optimizer)
    elif any(ref() is optimizer for ref in _early) and _pacer() is None:
        _pace(optimizer)  # it came round again, and the others did not come
    else:
        _idle += 1
        if _pacer() is None or _idle >= IDLE:
            _pace(optimizer)
        else:
            return False
    return True


def _pace(optimizer: Any) -> None:
    global _pacer, _idle, in_backward
    _seen.sort(key=lambda ref: ref() is optimizer)
    _seen[:] = [ref for ref in _seen if ref() is not None]
    _pacer, _idle, in_backward = weakref.ref(optimizer), 0, False
    stop_listening()


def _others_wait(optimizer: Any) -> bool:
    """Is there an optimizer that has not stepped yet and shares no parameter with this one? Then this may be the first of several."""
    mine = {id(p) for group in optimizer.param_groups for p in group["params"]}
    _made[:] = [ref for ref in _made if ref() is not None]
    for other in [o for ref in _made if (o := ref()) is not None and not any(seen() is o for seen in _seen)]:
        groups = other.__dict__.get("param_groups") or []
        theirs = {id(p) for group in groups for p in group.get("params", ())}
        if theirs and not theirs & mine:
            return True
    return False


# Without an optimizer outside backward: compiled calls.


def call_begins(unit: Any) -> None:
    """Listener of units until an optimizer paces."""
    global _after_backward
    try:
        begun_ns = time.monotonic_ns()
        if inert or (thread is not None and threading.get_ident() != thread):
            return
        if _graph_task() != -1 or len(units.on_stack()) > 1:
            return
        if in_backward:
            import torch

            if not _after_backward or not torch.is_grad_enabled():
                return
            _after_backward = False
        elif not _paces(unit):
            return
        _tick_by_call(begun_ns)
    except Exception as error:
        core.trouble("boundary", error)


def _paces(unit: Any) -> bool:
    """Without any optimizer: does this call of the unit begin a new step? The first call of all begins step 0, and ends none."""
    global _calls, _other_calls, _pacing_unit, thread
    former = _pacing_unit()
    if former is not unit:
        _other_calls += 1
        if former is not None and _other_calls < IDLE:
            return False
    _calls += 1
    if any_made:
        _calls -= 1
        return False
    _other_calls, _pacing_unit, thread = 0, weakref.ref(unit), threading.get_ident()
    return _calls > 1


def _tick_by_call(begun_ns: int) -> None:
    from . import switch

    switch.by_call = True
    try:
        _tick(begun_ns)
    finally:
        switch.by_call = False


def listen_to_calls() -> None:
    for unit in units.all_units():
        unit.listen(call_begins, first=True)


def listen_to(unit: Any) -> None:
    if _pacer() is None or in_backward:
        unit.listen(call_begins, first=True)


def stop_listening() -> None:
    for unit in units.all_units():
        unit.unlisten(call_begins)


# Putting the hooks in.


def _register(hook: Callable[..., None]) -> None:
    global _handle
    from torch.optim.optimizer import register_optimizer_step_post_hook

    fresh = register_optimizer_step_post_hook(hook)
    if _handle is not None:
        _handle.remove()
    _handle = fresh


def watch(torch: Any) -> None:
    global _graph_task
    _graph_task = torch._C._current_graph_task_id
    _register(step_done)
    _watch_made(torch)
    _watch_scaler(torch)


def watch_dynamo(dynamo: Any) -> None:
    """Dynamo must not compile the hook into a compiled optimizer step."""
    _register(dynamo.disable(step_done))


def _watch_made(torch: Any) -> None:
    """Each optimizer patches its class's step when it is constructed: that tells which ones there are before they step."""
    base = torch.optim.Optimizer
    real = getattr(base, "_patch_step_function", None)
    if real is None:
        return

    def patch_step_function(self: Any) -> None:
        global any_made
        any_made = True
        _made.append(weakref.ref(self))
        real(self)

    patch_step_function.__wrapped__ = real
    base._patch_step_function = patch_step_function


def _watch_scaler(torch: Any) -> None:
    """GradScaler.update after a step() that left the optimizer out: the step in progress is not clean."""
    scaler = getattr(getattr(torch, "amp", None), "GradScaler", None)
    real = getattr(scaler, "update", None)
    if real is None:
        return

    traced = torch.compiler.is_compiling

    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not traced():
            _updated()
        return real(self, *args, **kwargs)

    update.__wrapped__ = real
    update.__name__, update.__doc__, update.__qualname__ = real.__name__, real.__doc__, real.__qualname__
    scaler.update = update


def _updated() -> None:
    global _stepped_since_update
    if not _stepped_since_update:
        core.dirty(core.WHY["SKIPPED"])
    _stepped_since_update = False


def overdue() -> str | None:
    if in_backward and not units.all_units():
        return "no step boundary: the optimizer steps inside backward, and nothing is compiled"
    return None


