# SPDX-License-Identifier: Apache-2.0
"""verify=on: a compiled graph computes what eager does, or it is told what differs.

In some calls of a graph (the 1st, 4th, 16th, ...) copies of its inputs go through the graph as Dynamo captured it, in eager, and through
the compiled code, each from the same random state; outputs, what it writes into its inputs, a loss made of the outputs and the gradients
of that loss are compared. Then the job's own call runs as it would have: the model, its gradients and buffers, the optimizer, hooks and
the random state are not touched. A graph that holds collectives is not compiled by us at all (variants.py).

The rule is torch's own for accuracy (torch/_dynamo/utils.py, same): all elements close, else the error to a run in float64 at most 2 to 3
times eager's own plus a tenth of the tolerance; cosine of at least 0.99 where float64 says nothing. Unlike there each tensor is taken in
units of its own root mean square (at least a thousandth of that of all outputs, or of all gradients), for most gradients are smaller than
the tolerance.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from . import core, effects, events, headroom

TOLERANCE = {True: 1e-2, False: 1e-3}  # with gradients and without: torch's, of benchmarks/dynamo/huggingface.py
COSINE = 0.99
OPTIONS = {"fallback_random": True, "triton.cudagraphs": False}  # eager's random numbers; a recorded graph is bound to the addresses it saw
TIMES = 4  # a graph is looked at again after so many times the calls
LEAST = 1e-3  # of the root mean square of all

OPERATORS = ("aten", "prims", "prim", "higher_order", "quantized", "torchvision")
MODULES = ("torch", "torchvision", "_operator", "operator", "math", "builtins")

begun: Callable[[str], Any] = core.nothing  # what compiles.py knows of a compile id
told: Callable[[int | None, str, int, Any, dict[str, Any]], None] = core.nothing  # unit, compile id, number, spec, what came of it
_numbers = itertools.count()


class Unable(Exception):
    """It cannot be compared here; the text says why."""


class Figures:
    """What one run gave: names to tensors, and the loss."""

    def __init__(self) -> None:
        self.outputs: dict[str, Any] = {}
        self.gradients: dict[str, Any] = {}
        self.loss: float | None = None

    def norm(self) -> float | None:
        squares = [float(g.detach().double().square().sum()) for g in self.gradients.values()]
        return math.sqrt(sum(squares)) if squares else None


def wrap(graph: Any, inner: Callable[[], Any], spec: Any) -> Any:
    """inner() compiles the graph; returns what it made, with looks at it now and then."""
    from torch._guards import CompileContext

    names = _names(graph)
    try:
        eager = _copy(graph)  # compilers change what they are given
        fault = "parameters are inside of the graph" if next(eager.parameters(), None) is not None else _foreign(graph)
    except Exception as error:
        eager, fault = None, f"the graph cannot be copied: {_line(error)}"
    compiled = inner()
    identity = CompileContext.current_compile_id()
    check = Check(eager, compiled, names, effects.named(identity) if identity is not None else "", spec, fault)

    def run(*args: Any) -> Any:
        check.calls += 1
        if check.calls >= check.next:
            check.look(args)
        return compiled(*args)

    run.__dict__.update(getattr(compiled, "__dict__", {}))
    return run


def _copy(graph: Any) -> Any:
    """With the same attributes, and without what Dynamo noted at its nodes, which may hold tensors."""
    from torch.fx import Graph, GraphModule

    fresh = Graph()
    fresh.output(fresh.graph_copy(graph.graph, {}))
    for node in fresh.nodes:
        node.meta = {}
    made = GraphModule(graph, fresh)
    for name, part in list(made.named_children()):
        if isinstance(part, GraphModule):
            setattr(made, name, _copy(part))
    return made


def _foreign(graph: Any) -> str | None:
    """What it calls that is not torch's may do more than compute (count, send), and must not run more often than the job wants it to."""
    for part in graph.modules():
        for node in getattr(getattr(part, "graph", None), "nodes", ()):
            if node.op != "call_function":
                continue
            space = getattr(node.target, "namespace", None) or getattr(node.target, "_qualified_op_name", "").partition("::")[0]
            home = (getattr(node.target, "__module__", None) or "torch").partition(".")[0]
            if (space and space not in OPERATORS) or home not in MODULES:
                return f"it calls {node.target}, which may do more than compute"[:200]
    return None


def _names(graph: Any) -> list[str]:
    """Of the inputs, as the author would write them."""
    names = []
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            source = getattr(node.meta.get("grapharg"), "source", None)
            try:
                names.append(effects.named_source(source) if source is not None else node.name)
            except Exception:
                names.append(node.name)
    return names


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


class Check:
    """One compiled graph and its like in eager."""

    def __init__(self, eager: Any, compiled: Any, names: list[str], identity: str, spec: Any, fault: str | None):
        self.eager, self.compiled, self.names, self.id, self.spec, self.fault = eager, compiled, names, identity, spec, fault
        self.calls, self.next, self.number = 0, 1, next(_numbers)
        known = begun(identity)
        self.unit, self.variant = (known.index, known.variant) if known is not None else (None, None)

    def look(self, args: tuple[Any, ...]) -> None:
        """Never raises."""
        import torch

        if torch._C._current_graph_task_id() != -1:
            return  # the recompute of checkpointing, within a backward: another call will do
        self.next = self.calls * TIMES
        core.dirty(core.WHY["VERIFY"])
        try:
            found = self._compare(args)
        except Unable as reason:
            found = {"verdict": "n/a", "why": str(reason)}
        except Exception as error:  # also of the graph itself: the job's own call comes next and meets it in its place
            found = {"verdict": "n/a", "why": f"it could not be run twice: {_line(error)}"}
        finally:
            core.dirty(core.WHY["VERIFY"])
        if found["verdict"] == "n/a":
            self.next *= TIMES
        try:
            events.tell("verify", unit=self.unit, variant=self.variant, id=self.id or None, call=self.calls, **found)
            told(self.unit, self.id, self.number, self.spec, found)
        except Exception as error:
            core.trouble("verify", error)

    def _compare(self, args: tuple[Any, ...]) -> dict[str, Any]:
        if self.fault:
            raise Unable(self.fault)
        _check_inputs(args)
        with _apart(args) as rewind:
            expected = _run(self.eager, args, self.names)
            drawn = rewind()
            seen = _run(self.compiled, args, self.names)
            if rewind() != drawn:
                raise Unable("it draws other random numbers than eager")
            exact = Exact(self.eager, args, self.names, rewind) if not drawn else None  # in float64 others are drawn
            found = _judge(expected, seen, exact)
            if found["verdict"] == "differs" and _share_memory(args):
                raise Unable("its inputs share memory, and copies do not")
            return found


class Exact:
    """The run in float64, made when it is asked for; None where it cannot be."""

    def __init__(self, eager: Any, args: tuple[Any, ...], names: list[str], rewind: Callable[[], bytes]):
        self.make, self.figures, self.is_made = (eager, args, names, rewind), None, False

    def get(self) -> Figures | None:
        if not self.is_made:
            self.is_made = True
            eager, args, names, rewind = self.make
            with contextlib.suppress(Exception):
                from torch._dynamo.debug_utils import cast_to_fp64

                self.figures = _run(cast_to_fp64(copy.deepcopy(eager), [])[0], args, names, exact=True)
            rewind()
        return self.figures


def _check_inputs(args: tuple[Any, ...]) -> None:
    import torch
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    if _get_current_dispatch_mode_stack() or torch._C._functorch.peek_interpreter_stack() is not None:
        raise Unable("a mode of torch is active around it")
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    for tensor in tensors:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise Unable(f"an input is a {type(tensor).__name__}")
        if tensor.layout is not torch.strided:
            raise Unable(f"an input is {tensor.layout}")
    _check_memory(tensors)


def _share_memory(args: tuple[Any, ...]) -> bool:
    import torch

    places = [a.untyped_storage().data_ptr() for a in args if isinstance(a, torch.Tensor) and a.numel()]
    return len(set(places)) < len(places)


def _check_memory(tensors: list[Any]) -> None:
    """A run of its own may take as much again as the process holds."""
    import torch

    if any(t.is_cuda for t in tensors):
        if torch.cuda.is_current_stream_capturing():
            raise Unable("a CUDA graph is being recorded around it")
        free, _ = torch.cuda.mem_get_info()
        held, where = torch.cuda.memory_allocated(), " on the device"
        left = free + torch.cuda.memory_reserved() - held
    else:
        left, held, where = headroom.host_left(), headroom.resident() * int(os.environ.get("LOCAL_WORLD_SIZE") or 1), ""
    if left < held:
        raise Unable(f"no memory headroom: it may need {held / 1e9:.1f} GB more{where}, and {left / 1e9:.1f} GB are free")


# Runs.


@contextlib.contextmanager
def _apart(args: tuple[Any, ...]) -> Iterator[Callable[[], bytes]]:
    """The random state is put back at the end, and by what this yields, which returns the state that was left, empty when it is unchanged;
    what the job listens to in autograd does not see it."""
    import torch

    devices = sorted({a.device.index for a in args if isinstance(a, torch.Tensor) and a.is_cuda})

    def state() -> list[Any]:
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(d) for d in devices)]

    before = state()

    def rewind() -> bytes:
        left = state()
        if all(map(torch.equal, before, left)):
            return b""
        torch.set_rng_state(before[0])
        for device, one in zip(devices, before[1:], strict=True):
            torch.cuda.set_rng_state(one, device)
        return b"".join(one.numpy().tobytes() for one in left)

    keeps = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        with torch.autograd.graph.saved_tensors_hooks(_same_thing, _same_thing):
            yield rewind
    finally:
        torch.set_autocast_cache_enabled(keeps)
        rewind()


def _same_thing(tensor: Any) -> Any:
    return tensor


def _clone(tensor: Any, dtype: Any) -> Any:
    """With the same strides, those of overlapping memory as well."""
    import torch

    span = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)) if tensor.numel() else 0
    with torch.no_grad():
        memory = torch.as_strided(tensor.detach(), (span,), (1,), tensor.storage_offset()).clone().to(dtype)
        return torch.as_strided(memory, tensor.shape, tensor.stride())


def _copies(args: tuple[Any, ...], exact: bool) -> tuple[list[Any], dict[int, Any]]:
    """Inputs as the graph takes them, and by place the leaves of which gradients are asked. What is no leaf in the job is none here."""
    import torch

    copies, leaves = [], {}
    for place, arg in enumerate(args):
        if not isinstance(arg, torch.Tensor):
            copies.append(arg)
            continue
        made = _clone(arg, torch.float64 if exact and arg.is_floating_point() else arg.dtype)
        if torch.is_grad_enabled() and arg.requires_grad:
            leaves[place] = made.requires_grad_()
            if not arg.is_leaf:
                made = torch.empty_strided(made.shape, made.stride(), dtype=made.dtype, device=made.device).copy_(made)
        copies.append(made)
    return copies, leaves


def _run(fn: Any, args: tuple[Any, ...], names: list[str], exact: bool = False) -> Figures:
    import torch
    from torch.utils._pytree import tree_leaves

    figures = Figures()
    copies, leaves = _copies(args, exact)
    found = [o for o in tree_leaves(fn(*copies)) if isinstance(o, torch.Tensor) and (o.is_floating_point() or o.is_complex())]
    outputs = {f"output {place}" if len(found) > 1 else "the output": one for place, one in enumerate(found)}
    loss = _loss([o for o in found if o.requires_grad])
    if loss is not None and leaves:
        gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
        named = zip(leaves, gradients, strict=True)
        figures.gradients = {f"the gradient of {_name(names, place)}": g.detach() for place, g in named if g is not None}
    figures.loss = float(loss.detach()) if loss is not None else None
    for place, (copied, arg) in enumerate(zip(copies, args, strict=True)):
        if isinstance(copied, torch.Tensor) and copied.is_floating_point() and place not in leaves and not torch.equal(copied, arg.to(copied.dtype)):
            outputs[f"what it writes into {_name(names, place)}"] = copied  # versions do not tell: batch_norm counts none in eager
    figures.outputs = {name: one.detach() for name, one in outputs.items()}
    return figures


def _name(names: list[str], place: int) -> str:
    return names[place] if place < len(names) else f"input {place}"


def _loss(outputs: list[Any]) -> Any:
    """One number of all outputs: a single number itself, else means with weights from 0.5 to 1.5, for plain ones give no gradient behind
    a normalisation."""
    import torch

    total = None
    for one in outputs:
        flat = (torch.view_as_real(one) if one.is_complex() else one).reshape(-1)
        flat = flat if flat.dtype == torch.float64 else flat.float()
        if flat.numel() > 1:
            with torch.no_grad():
                weights = (torch.arange(flat.numel(), device=flat.device, dtype=torch.float64) * 0.6180339887 % 1 + 0.5).to(flat.dtype)
            flat = flat * weights
        if flat.numel():
            total = flat.mean() if total is None else total + flat.mean()
    return total


# The rule.


class Worst:
    """The largest error so far, and whether all were small enough."""

    def __init__(self) -> None:
        self.error, self.name, self.same, self.rules = 0.0, "", True, set[str]()

    def take(self, name: str, error: float, rule: str, is_same: bool) -> None:
        if (not is_same, error) > (not self.same, self.error) or not self.name:
            self.error, self.name = error, name
        self.same &= is_same
        self.rules.add(rule)


def _judge(expected: Figures, seen: Figures, exact: Exact | None) -> dict[str, Any]:
    worst, tolerance = Worst(), TOLERANCE[bool(expected.gradients)]
    for part in ("outputs", "gradients"):
        if not worst.same:
            break  # gradients of what is wrong are wrong
        ours, theirs = getattr(seen, part), getattr(expected, part)
        if list(ours) != list(theirs):
            missing = next(iter(dict.fromkeys([*theirs, *ours]).keys() - (ours.keys() & theirs.keys())), "")
            worst.take(missing, math.inf, "close", False)
            continue
        least = LEAST * _common(theirs)
        for name, one in theirs.items():
            worst.take(name, *_tensor(one, ours[name], name, part, exact, tolerance, least))
    if not worst.name:
        raise Unable("it has no outputs that are floating-point numbers")
    fields = {
        "verdict": "same" if worst.same else "differs",
        "worst": worst.name,
        "error": worst.error if math.isfinite(worst.error) else None,
        "rule": next(r for r in ("cosine", "float64", "close") if r in worst.rules),
        "loss": seen.loss,
        "eager_loss": expected.loss,
        "gradient": seen.norm(),
        "eager_gradient": expected.norm(),
    }
    return {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in fields.items()}


def _common(tensors: dict[str, Any]) -> float:
    """Root mean square of all."""
    count = sum(one.numel() for one in tensors.values())
    total = sum(float(_plain(one).square().nansum()) for one in tensors.values())
    return math.sqrt(total / count) if count and math.isfinite(total) else 0.0


def _plain(tensor: Any) -> Any:
    import torch

    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()


def _tensor(expected: Any, seen: Any, name: str, part: str, exact: Exact | None, tolerance: float, least: float) -> tuple[float, str, bool]:
    """Relative error (root mean square), the rule that decided, and whether it is the same."""
    import torch

    if expected.shape != seen.shape or expected.dtype != seen.dtype:
        return math.inf, "close", False
    is_half = expected.dtype in (torch.float16, torch.bfloat16)
    a, b = _plain(expected), _plain(seen)
    scale = max(float(a.square().nanmean().sqrt()) if a.numel() else 0.0, least)
    scale = scale if 0 < scale < math.inf else 1.0
    a, b = a / scale, b / scale
    error = float((a - b).square().nanmean().sqrt()) if a.numel() else 0.0
    if torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
        return error, "close", True
    figures = exact.get() if exact is not None else None
    truth = getattr(figures, part).get(name) if figures is not None else None
    if truth is not None and truth.shape == expected.shape and bool(truth.isfinite().all()):
        c = _plain(truth) / scale
        times = 3.0 if is_half or a.numel() < 1000 else 2.0
        own, ours = (float((x - c).square().mean().sqrt()) for x in (a, b))
        return error, "float64", ours <= times * own + tolerance / 10
    cosine = torch.nn.functional.cosine_similarity(a.reshape(-1), b.reshape(-1), dim=0, eps=1e-12)
    return error, "cosine", bool(cosine >= COSINE)
