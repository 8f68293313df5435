# SPDX-License-Identifier: Apache-2.0
"""Conversions of ours: a failure in one never reaches the job's step, and none leaves a trace in how the script's own settings act."""

from __future__ import annotations

import contextlib
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from . import again, layout, lowering
from .core import trouble
from .look import is_library
from .variants import Variant

retains: bool | None = None  # does the job retain graphs? None: no backward was seen to be compiled
_class: type | None = None


class Failure:
    """Why a variant failed, as text: an exception would keep the job's tensors alive."""

    __slots__ = ("reason", "file", "line")

    def __init__(self, reason: str, file: str | None, line: int | None):
        self.reason, self.file, self.line = reason, file, line


class Guard:
    """Of one unit and variant. Dead: everything of this unit runs eager until the boundary, the recompute of checkpointing included."""

    __slots__ = ("unit", "variant", "dead", "failure", "converted", "on_failure", "__weakref__")

    def __init__(self, unit: Any, variant: Variant, on_failure: Callable[[Any, Failure], None]):
        self.unit, self.variant, self.on_failure = weakref.ref(unit), variant, on_failure
        self.dead, self.failure, self.converted = False, None, 0

    def fail(self, failure: Failure) -> None:
        self.dead, self.failure = True, failure
        unit = self.unit()
        if unit is not None:
            self.on_failure(unit, failure)


def saw_backward_compiled() -> None:
    """In the start call-back of a lazily compiled backward."""
    global retains
    import torch

    if torch._C._current_graph_task_id() != -1:
        keep = bool(torch._C._autograd._get_current_graph_task_keep_graph())
        retains = keep or bool(retains)


def guarded() -> type:
    """Class that a unit's own callback object has while a variant is applied: torch finds all it looks for in the same places."""
    global _class
    if _class is None:
        inside = layout.insides
        base = inside.convert_frame.CatchErrorsWrapper

        class Guarded(base):
            def __call__(self, frame: Any, *rest: Any) -> Any:
                guard: Guard = self._inductop
                if guard.dead:
                    return inside.answers.eager_once(frame)
                try:
                    with conversion(guard.variant, frame.f_code):
                        result = base.__call__(self, frame, *rest)
                    return _judged(inside, guard, frame, result)
                except Exception as error:
                    guard.fail(explain(error, frame.f_code, guard.unit()))
                    return inside.answers.eager_once(frame)

        _class = Guarded
    return _class


def _judged(inside: Any, guard: Guard, frame: Any, result: Any) -> Any:
    code = frame.f_code
    converted = inside.answers.converted(result)
    if converted is not None:
        guard.converted += 1
        guard.variant.owned[code] = guard.variant.owned.get(code, 0) + 1
        manager = getattr(converted, "guard_manager", None)
        if manager is not None:
            guard.variant.versions.add(manager)
    elif inside.regions is None and inside.answers.decides_for_all(result, inside.entries(code)):
        return inside.answers.eager_once(frame)
    return result


@contextlib.contextmanager
def conversion(variant: Variant, code: Any) -> Iterator[None]:
    inside = layout.insides
    with contextlib.ExitStack() as stack:
        lock = getattr(inside.convert_frame, "compile_lock", None)
        if lock is not None:
            stack.enter_context(lock)
        stack.enter_context(lowering.at_once())
        if retains is not False:
            stack.enter_context(lowering.no_donation())
        if inside.regions is None:
            config = inside.dynamo.config
            others = len(inside.entries(code)) - variant.owned.get(code, 0)
            name = again.name_of_limit(config)
            stack.enter_context(config.patch(**{name: getattr(config, name) + max(others, 0)}))
        stack.enter_context(_own_history(variant))
        yield


@contextlib.contextmanager
def _own_history(variant: Variant) -> Iterator[None]:
    """Which sizes were seen decides what automatic dynamic shapes do: each variant remembers for itself."""
    try:
        from torch._dynamo import pgo

        private = hasattr(pgo, "_CODE_STATE") and pgo.get_cache_key() is None
        if private:
            pgo.get_code_state()
            shared, pgo._CODE_STATE = pgo._CODE_STATE, variant.history or defaultdict(pgo.CodeState)
    except Exception as error:
        trouble("history", error)
        private = False
    try:
        yield
    finally:
        if private:
            variant.history, pgo._CODE_STATE = pgo._CODE_STATE, shared


def explain(error: BaseException, code: Any, unit: Any) -> Failure:
    """One line of reason and the user's place: the innermost frame outside libraries, else the code, else where the unit was compiled."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if text.endswith("raised:") and len(lines) > 1:
        text = f"{text} {lines[1]}"
    file = line = None
    for frame in reversed(getattr(error, "real_stack", None) or []):
        if not is_library(frame.filename):
            file, line = frame.filename, frame.lineno
            break
    if file is None and code is not None and not is_library(code.co_filename):
        file, line = code.co_filename, code.co_firstlineno
    if file is None and unit is not None:
        file, line = unit.file, unit.line
    if type(getattr(unit, "module", int)()).__name__ == "DistributedDataParallel" and unit.now.spec.fullgraph:
        text += " (DistributedDataParallel cannot be one graph in torch: compile the module inside it)"
    kind = type(error).__name__
    return Failure((text if kind == "Refused" else f"{kind}: {text}")[:400], file, line)
