# SPDX-License-Identifier: Apache-2.0
"""What one set of settings did in a unit, as torch's records, its compilers and its CUDA graphs show it; what torch cannot tell is n/a."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Callable
from typing import Any

from . import core, look, roots
from .units import State, Unit

MOST_FRAMES = 256
MOST_SHOWN = 16
WORST = ("limit", "skipped", "empty", "compiled")
PART = re.compile(r"\._(?:modules|parameters|buffers)\['(\w+)'\]")
LOCAL = re.compile(r"L\['(\w+)'\]")
SIZE = re.compile(r"(.+)\.size\(\)\[(\d+)\]$")


class Facts:
    """Seen while something was compiled."""

    def __init__(self) -> None:
        self.dims: list[str] | None = None  # None: not told
        self.pads: dict[str, bool] = {}  # shapes of a product: was it padded


class Under:
    """What was compiled of a unit under one set of settings."""

    def __init__(self) -> None:
        self.frames: dict[str, dict[str, Any]] = {}
        self.places: dict[Any, None] = {}
        self.names: set[str] = set()  # compile ids
        self.dims: dict[str, None] | None = None
        self.pads: dict[str, bool] = {}
        self.autotune_ms = 0.0
        self.graph_skip: str | None = None
        self.cached = False
        self.verified: dict[int, dict[str, Any]] = {}  # by number of the graph: what the last comparison with eager gave

    def take(self, record: Any, facts: Facts | None, frame: str | None, hit: str | None, step: int) -> None:
        self.names.add(named(record.compile_id))
        if facts is not None:
            self.pads.update(facts.pads)
            if facts.dims is not None:
                self.dims = {**(self.dims or {}), **dict.fromkeys(facts.dims)}
        self.graph_skip = line(getattr(record, "cudagraph_skip_reason", None)) or self.graph_skip
        self.autotune_ms += sum((getattr(record, n, None) or 0) / 1e3 for n in ("compile_time_autotune_time_us", "runtime_triton_autotune_time_us"))
        hits = ("inductor_fx_local_cache_hit_count", "inductor_fx_remote_cache_hit_count", "aotautograd_local_cache_hit_count")
        self.cached |= any(getattr(record, n, None) for n in hits)
        if getattr(record, "is_forward", True) is not False and not getattr(record, "is_runtime", False) and frame is not None:
            self._frame(record, frame, hit, step)

    def _frame(self, record: Any, frame: str, hit: str | None, step: int) -> None:
        known = self.frames.get(frame)
        if len(self.frames) >= MOST_FRAMES and known is None:
            return
        if record.co_filename is not None:
            self.places[record.co_filename, record.co_firstlineno, record.co_name] = None
        if hit is not None:
            state, why = "limit", hit
        elif getattr(record, "fail_type", None):
            state, why = "skipped", line(record.fail_reason) or str(record.fail_type)
        else:
            state, why = "compiled" if record.graph_op_count else "empty", None
        if known is None or known["state"] != "limit":
            self.frames[frame] = {"frame": frame, "state": state, "step": step, **({"why": why} if why else {})}
            if state == "skipped" and look.is_torch(record.co_filename or ""):
                self.frames[frame]["torch"] = True

    def first(self, state: str) -> dict[str, Any] | None:
        """Of the author's code or a library's: what torch leaves alone of its own is meant so."""
        return next((one for one in self.frames.values() if one["state"] == state and "torch" not in one), None)

    def number(self, state: str) -> int:
        return sum(one["state"] == state and "torch" not in one for one in self.frames.values())

    def worst(self) -> list[dict[str, Any]]:
        return sorted(self.frames.values(), key=lambda one: WORST.index(one["state"]))[:MOST_SHOWN]


def line(text: Any) -> str | None:
    """The first that is not empty."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    return lines[0][:200] if lines else None


def named(compile_id: Any) -> str:
    from . import compiles

    return compiles.identity(compile_id)


# While it is compiled.


def output_of_conversion() -> Any:
    """What Dynamo made of a frame, in its call-back at the end: held by the function that just made it. None: nothing, or not told."""
    frame: Any = sys._getframe(1)
    for _ in range(24):
        if frame is None:
            return None
        if frame.f_code.co_name in ("compile_inner", "_compile_inner") and "result" in frame.f_code.co_varnames:
            made = frame.f_locals.get("result")
            if isinstance(made, tuple) and len(made) == 2 and getattr(made[0], "guarded_code", None) is not None:
                return getattr(made[1], "output_graph", None)
            return None
        frame = frame.f_back
    return None


def traced(output: Any) -> list[Any]:
    """The code that was traced: of the frame itself, then what was taken in."""
    return list(getattr(getattr(output, "tracing_context", None), "traced_code", None) or ())


def symbolic(output: Any) -> list[str] | None:
    """Sizes and numbers that became symbolic and stayed so."""
    shapes = getattr(output, "shape_env", None)
    sources, fixed = getattr(shapes, "var_to_sources", None), getattr(shapes, "replacements", {})
    if sources is None:
        return None
    names = [named_source(one[0]) for symbol, one in list(sources.items()) if one and not getattr(fixed.get(symbol), "is_number", False)]
    return names[:32]


def named_source(source: Any) -> str:
    """As the author would write it."""
    name = LOCAL.sub(r"\1", source.name if isinstance(source.name, str) else source.name())
    name = PART.sub(lambda part: f"[{part[1]}]" if part[1].isdigit() else f".{part[1]}", name)
    found = SIZE.match(name)
    return (f"size {found[2]} of {found[1]}" if found else name)[:80]


def watch_padding(pad_mm: Any, tell: Callable[[str, bool, str], None]) -> None:
    """Inductor's module for it has been executed: its decisions are listened to."""

    def decided(is_padded: bool, args: tuple[Any, ...], kwargs: Any) -> None:
        try:
            from torch._guards import CompileContext

            now = CompileContext.current_compile_id()
            if now is not None and len(args) >= 3:
                tell(named(now), bool(is_padded), f"{_shape(args[1])} by {_shape(args[2])}")
        except Exception as error:
            core.trouble("padding", error)

    real = getattr(pad_mm, "should_pad", None)
    with contextlib.suppress(ImportError):  # no core in this Python: nothing will be told
        if real is not None:
            pad_mm.should_pad = core.load().timed(0, real, decided)


def _shape(tensor: Any) -> str:
    return "x".join(str(n) for n in tensor.shape)


# What runs.


def skip_rule(code: Any) -> str | None:
    """Why torch does not look into this code at all."""
    try:
        from torch._dynamo import trace_rules

        found = trace_rules.check_verbose(code) if code is not None else None
    except Exception:
        return None
    return f"torch skips it: {found.reason}" if found is not None and found.skipped else None


def is_trained(module: Any) -> bool:
    import torch

    if module is None:
        return False
    with torch._C.DisableTorchFunction():
        return any(p.grad is not None for _, p in zip(range(64), module.parameters(), strict=False))


# Settings.


def settings(unit: Unit, under: Under, looked: int, optimizers: list[Any]) -> dict[str, str]:
    """Setting to what became of it: one word, and after a colon why or what."""
    if not under.frames:
        return {}
    values, backend = _asked(unit)
    found = {"dynamic": _dynamic(under)}
    if _verifies(unit):
        found["verify"] = _verified(under)
    if backend != "inductor":
        return {**dict.fromkeys(("cudagraphs", "shape_padding", "autotune"), f"n/a: the backend is {backend}"), **found}
    device = roots.device([m for m in (unit.module(),) if m is not None], optimizers)
    return {
        "cudagraphs": _graphs(under, values, device, looked),
        "shape_padding": _padding(under, values, device),
        "autotune": _autotune(under, values, device),
        **found,
    }


def _asked(unit: Unit) -> tuple[dict[str, Any], str]:
    spec = unit.now.spec if isinstance(unit.now, State) else unit.author_spec
    name = spec.backend if not spec.backend.startswith("#") else unit.author.named
    return spec.values, name


def _verifies(unit: Unit) -> bool:
    return isinstance(unit.now, State) and unit.now.spec.verifies


def _verified(under: Under) -> str:
    """The worst of its graphs."""
    if not under.verified:
        return "waiting: no graph was called yet"
    of = {word: [one for one in under.verified.values() if one["verdict"] == word] for word in ("differs", "same", "n/a")}
    if of["differs"]:
        worst = max(of["differs"], key=lambda one: one["error"] or math.inf)
        return f"differs: {differs(worst)}"
    if of["same"]:
        largest = max(one["error"] or 0.0 for one in of["same"])
        more = f"; {len(of['n/a'])} cannot be compared: {of['n/a'][0]['why']}" if of["n/a"] else ""
        count = len(of["same"])
        return f"same: {count} graph{'s' if count > 1 else ''}, error {largest:.1g}{more}"
    return f"n/a: {of['n/a'][0]['why']}"


def differs(one: dict[str, Any]) -> str:
    share = f"is {100 * one['error']:.2g} % off" if one["error"] is not None else one["why"]
    return f"{one['worst']} {share} (compile id {one['id']})"


def _option(values: dict[str, Any], name: str) -> Any:
    """As this call asks for it, else inductor's own."""
    if name in values:
        return values[name]
    config: Any = sys.modules.get("torch._inductor.config")
    for part in name.split("."):
        config = getattr(config, part, None)
    return config


def _dynamic(under: Under) -> str:
    if under.dims is None:
        return "n/a: torch does not tell"
    return f"symbolic: {', '.join(under.dims)}" if under.dims else "static"


def _graphs(under: Under, values: dict[str, Any], device: str, looked: int) -> str:
    if not _option(values, "triton.cudagraphs"):
        return "off"
    if device == "cpu":
        return "n/a: no CUDA device" if not roots.has_cuda() else "n/a: the model is on the CPU"
    recorded, again, replays = recordings(under.names)
    if recorded:
        if again:
            return f"re-recorded: {again} times, {recorded} graphs"
        return f"{'replayed' if replays else 'recorded'}: {recorded} graphs"
    if under.graph_skip:
        return f"skipped: {under.graph_skip}"
    return "skipped: torch gives no reason" if looked > 4 else "waiting: torch warms up first"


def recordings(names: set[str]) -> tuple[int, int, bool]:
    """Of these compile ids, by torch's trees of CUDA graphs: graphs recorded, recorded again, and whether the last call replayed."""
    trees = sys.modules.get("torch._inductor.cudagraph_trees")
    recorded = again = 0
    replays = False
    for holder in list(getattr(getattr(trees, "local", None), "tree_manager_containers", {}).values()):
        manager = holder.tree_manager
        if manager is None:
            continue
        mine = {i for i, compile_id in manager.id_to_compile_id.items() if compile_id is not None and named(compile_id) in names}
        again += sum(n for by_function in manager.num_rerecord.values() for i, n in by_function.items() if i in mine)
        waiting = [node for nodes in manager.roots.values() for node in nodes]
        while waiting and recorded < 4096:
            node = waiting.pop()
            recorded += node.wrapped_function.id in mine
            waiting += [child for nodes in node.children.values() for child in nodes]
        replays |= getattr(manager.path_state, "name", "") == "EXECUTION"
    return recorded, again, replays


def _padding(under: Under, values: dict[str, Any], device: str) -> str:
    done = [shapes for shapes, is_padded in under.pads.items() if is_padded]
    if done:
        return f"applied: {', '.join(done[:8])}" + (f" and {len(done) - 8} more" if len(done) > 8 else "")
    if _option(values, "shape_padding") is False:
        return "off"
    if device == "cpu":
        return "n/a: no effect on CPU"
    if under.pads:
        return f"nothing to pad: {len(under.pads)} products were looked at"
    return "n/a: its code came from torch's cache, which does not tell" if under.cached else "nothing to pad: no product of matrices"


def _autotune(under: Under, values: dict[str, Any], device: str) -> str:
    if under.autotune_ms:
        return f"ran: {under.autotune_ms / 1e3:.1f} s"
    if not any(_option(values, name) for name in ("max_autotune", "max_autotune_gemm", "max_autotune_pointwise")):
        return "off"
    if under.cached:
        return "n/a: its code came from torch's cache, which does not tell"
    return "n/a: inductor timed nothing on the CPU" if device == "cpu" else "nothing to choose: inductor timed nothing"
