# SPDX-License-Identifier: Apache-2.0
"""What a converter answers torch with, so that a frame runs eager now and nothing is decided about its code: by what torch has for it."""

from __future__ import annotations

import inspect
import sys
from typing import Any

GENERATES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def drop(manager: Any, why: str) -> bool:
    """A version of some code is gone, as torch itself drops those whose objects are gone. False: it was gone already."""
    from torch._dynamo.guards import DeletedGuardManagerWrapper

    entry, entries = getattr(manager, "cache_entry", None), getattr(manager, "extra_state", None)
    if entry is None or entries is None:
        return False
    entries.invalidate(entry, DeletedGuardManagerWrapper(why))
    return True


class Strategies:
    """torch 2.7 and later: an answer says how to run this frame, how those that it calls, and whether that holds for the code."""

    def __init__(self, types: Any, c: Any):
        self.types, self.set_strategy = types, c.set_code_exec_strategy
        self.eager_once(None)

    def eager_once(self, frame: Any) -> Any:
        strategy = self.types.FrameExecStrategy(self.types.FrameAction.SKIP, self.types.FrameAction.SKIP)
        return self.types.ConvertFrameReturn(frame_exec_strategy=strategy, apply_to_code=False)

    def leave(self) -> None:
        """At a boundary."""

    def converted(self, result: Any) -> Any:
        """The compiled code, or None."""
        return result.guarded_code

    def decides_for_all(self, result: Any, entries: list[Any]) -> bool:
        """Would other variants of the code lose what they have? A limit that this one has reached would be everyone's."""
        return result.frame_exec_strategy.cur_action == self.types.FrameAction.RUN_ONLY

    def look_again(self, code: Any) -> None:
        """torch forgets that it skips the code, of which nothing is compiled."""
        again = self.types.FrameAction.DEFAULT
        self.set_strategy(code, self.types.FrameExecStrategy(again, again))


class Codes:
    """torch 2.6: the answer is the code to run, or None, which skips the code for good and drops all that was compiled of it. Its own
    code, compiled for nobody, is the way to run it as it is."""

    def __init__(self, types: Any, c: Any):
        from torch._dynamo import convert_frame, guards, trace_rules

        self.guards, self.is_skipped, self.first = guards, trace_rules.check, convert_frame.first_real_inst_idx
        self.code, self.reset, self.flags = types.GuardedCode, c.reset_code, (c.cache_limit_hit_flag, c.skip_code_recursive_flag)
        self.made: list[Any] = []
        self._for_nobody()

    def _for_nobody(self) -> Any:
        manager = self.guards.DeletedGuardManagerWrapper("inductop ran it eager")
        manager.root.add_lambda_guard(lambda *_: False, ["inductop ran it eager"])
        return manager

    def eager_once(self, frame: Any) -> Any:
        code = frame.f_code
        is_begun = frame.f_lasti >= self.first(code) + (sys.version_info >= (3, 13))
        if is_begun or code.co_flags & GENERATES or self.is_skipped(code):
            return None  # as torch itself would
        self.leave()
        self.made.append(self._for_nobody())
        return self.code(code, self.made[-1], None)

    def leave(self) -> None:
        """What was answered is in the list of the code, and would keep it alive."""
        made, self.made = self.made, []
        for manager in made:
            drop(manager, "inductop ran it eager")

    def converted(self, result: Any) -> Any:
        return result if isinstance(result, self.code) else None

    def decides_for_all(self, result: Any, entries: list[Any]) -> bool:
        return result in self.flags or (result is None and bool(entries))

    def look_again(self, code: Any) -> None:
        self.reset(code)


def find(types: Any, c: Any) -> Any:
    """None where torch has neither."""
    for kind in (Strategies, Codes):
        try:
            return kind(types, c)
        except Exception:
            continue
    return None
