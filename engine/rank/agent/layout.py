# SPDX-License-Identifier: Apache-2.0
"""torch's insides, looked up once: what the switch touches. Judged by what is there, never by a version."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from . import answers, core

# Of a compile context: what a variant replaces. The first line must be there; of the others each torch has its own set.
NEEDED = ("enter_exit_hooks", "callback")
SWAPPED = (
    "enter_exit_hooks", "fullgraph", "error_on_graph_break", "_dynamic", "compiler_config",
    "_isolate_recompiles_id", "_hooks", "_shapes_spec",
)  # fmt: skip


class Insides:
    """Names of torch that the other modules use, and how settings can be switched here."""

    def __init__(self, dynamo: Any):
        from torch._dynamo import convert_frame, eval_frame
        from torch._dynamo import types as dynamo_types

        self.dynamo, self.eval_frame, self.convert_frame = dynamo, eval_frame, convert_frame
        self.context = eval_frame._TorchDynamoContext
        self.optimize_context = getattr(eval_frame, "OptimizeContext", None)
        self.optimize = dynamo.optimize
        self.orig = "_torchdynamo_orig_backend"
        self.switching, self.reason = "live", ""
        self.judged = False  # by a context
        self.proved = False  # by a function that a context made
        self.regions: Any = getattr(eval_frame, "_next_isolate_recompiles_id", None)
        c = getattr(__import__("torch._C._dynamo", fromlist=["eval_frame"]), "eval_frame", None)
        self.frame_count = getattr(c, "set_fullgraph_compiled_frame_count", None)
        self.hook_lookups = getattr(c, "set_guard_complete_hook", None)
        self.region_entries = getattr(c, "_get_cache_entries_for_region", None)
        self.answers = answers.find(dynamo_types, c)
        self.entries = getattr(c, "_debug_get_cache_entry_list", None)

    def count_no_frames(self) -> None:
        """In a call that began with fullgraph: torch ends the job at its end when it counted no compiled frame."""
        if self.frame_count is not None:
            self.frame_count(-1)

    def listen_to_lookups(self, tell: Callable[[bool], None]) -> Callable[[], None]:
        """tell(found) at each look-up of compiled code until what is returned is called, beside who listens already (torch's guard
        collectives, another of ours): those who listen leave in the opposite order. Only where `hook_lookups` is there."""

        def looked_up(found: bool) -> bool:
            try:
                tell(found)
            except Exception as error:
                core.trouble("look-ups", error)
            return found if prior is None else prior(found)

        def leave() -> None:
            self.hook_lookups(prior)

        prior = self.hook_lookups(looked_up)
        return leave

    def is_listened_to(self) -> bool:
        now = self.hook_lookups(None)
        self.hook_lookups(now)
        return now is not None

    def fall_back(self, mode: str, reason: str) -> None:
        self.switching, self.reason = mode, reason

    def innermost(self, fn: Any) -> Any:
        """The user's backend below a converter or callback."""
        for _ in range(16):
            inner = getattr(fn, "_torchdynamo_orig_backend", None) or getattr(fn, "_torchdynamo_orig_callable", None)
            if inner is None:
                break
            fn = inner
        return fn

    def judge(self, context: Any, wrapper: Any) -> None:
        """Looks at the first context and at the first function that one made."""
        if self.proved or (self.judged and wrapper is None):
            return
        self.judged, self.proved = True, wrapper is not None
        missing = self._missing(context, wrapper)
        if missing:
            import torch

            stance = hasattr(getattr(torch, "compiler", None), "set_stance")
            why = f"torch {torch.__version__} has another inside: no {missing}"
            self.fall_back("stance" if stance else "observe-only", why)

    def _missing(self, context: Any, wrapper: Any) -> str | None:
        for name in NEEDED:
            if not hasattr(context, name):
                return f"{name} in a compile context"
        callback = context.callback
        if not isinstance(callback, getattr(self.convert_frame, "CatchErrorsWrapper", ())):
            return "CatchErrorsWrapper as callback"
        if not hasattr(callback, self.orig):
            self.orig = "_torchdynamo_orig_callable"
        if not hasattr(callback, self.orig) or not hasattr(callback, "hooks"):
            return "converter in a callback"
        if wrapper is not None and not has_cell(wrapper):
            return "callback cell in a compiled function"
        if not callable(self.entries):
            return "cache entries of a code object"
        if not hasattr(getattr(self.convert_frame, "input_codes", None), "seen"):
            return "list of codes looked at"
        return "way to skip a frame once" if self.answers is None else None

    def codes(self) -> list[types.CodeType]:
        """Code objects that Dynamo has looked at and that are alive."""
        return [code for ref in list(self.convert_frame.input_codes.seen) if (code := ref()) is not None]

    def look_again(self) -> None:
        """A frame that torch once decided to skip is skipped for every variant: take that back where nothing was compiled."""
        for code in self.codes():
            if not self.entries(code):
                self.answers.look_again(code)

    def stance(self) -> str:
        """The user's own stance; "default" when there is none."""
        stance = getattr(self.eval_frame, "_stance", None)
        return "force_backend" if getattr(stance, "backend", None) is not None else getattr(stance, "stance", "default")


def has_cell(wrapper: Any) -> bool:
    return isinstance(wrapper, types.FunctionType) and "callback" in wrapper.__code__.co_freevars


def set_cell(wrapper: types.FunctionType, value: Any) -> None:
    wrapper.__closure__[wrapper.__code__.co_freevars.index("callback")].cell_contents = value


insides: Insides | None = None


def look(dynamo: Any) -> Insides:
    global insides
    if insides is None:
        insides = Insides(dynamo)
    return insides
