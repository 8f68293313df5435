# SPDX-License-Identifier: Apache-2.0
"""verify=on: a compiled graph computes what eager does, or it is told what differs.

In some calls of a graph (the 1st, 4th, 16th, ...) copies of its inputs go through the graph as Dynamo captured it, in eager, and through
the compiled code, each from the same random state; outputs, what it writes into its inputs, a loss made of the outputs and the gradients
of that loss are compared. Then the job's own call runs as it would have: the model, its gradients and buffers, the optimizer, hooks and
the random state are not touched. A graph that holds collectives is not compiled by us at all (variants.py). By which rule it is the same
stands in accuracy.py.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import core, effects, events, headroom
from .accuracy import Figures, judge

OPTIONS = {"fallback_random": True, "triton.cudagraphs": False}  # eager's random numbers; a recorded graph is bound to the addresses it saw
TIMES = 4  # a graph is looked at again after so many times the calls
SLOWER = {False: 4, True: 64}  # times that float64 may take, on the CPU and on CUDA (devices without double units; NVIDIA's tables of throughput)
LONGEST_S = 5.0  # of a run in float64: other ranks may wait for this one

OPERATORS = ("aten", "prims", "prim", "higher_order", "quantized", "torchvision")
MODULES = ("torch", "torchvision", "_operator", "operator", "math", "builtins")

begun: Callable[[str], Any] = core.nothing  # what compiles.py knows of a compile id
told: Callable[[int | None, int, Any, dict[str, Any]], None] = core.nothing  # unit, number of the graph, spec, what came of it
_numbers = itertools.count()


class Unable(Exception):
    """It cannot be compared here; the text says why."""


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
    return f"{type(error).__name__}: {effects.line(error) or ''}"


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
        found["id"] = self.id or None
        try:
            events.tell("verify", unit=self.unit, variant=self.variant, call=self.calls, **found)
            told(self.unit, self.number, self.spec, found)
        except Exception as error:
            core.trouble("verify", error)

    def _compare(self, args: tuple[Any, ...]) -> dict[str, Any]:
        if self.fault:
            raise Unable(self.fault)
        _check_inputs(args)
        with _apart(args) as rewind:
            begun = time.perf_counter()
            expected = _run(self.eager.forward, args, self.names)
            took_s, drawn = time.perf_counter() - begun, rewind()
            seen = _run(self.compiled, args, self.names)
            if rewind() != drawn:
                raise Unable("it draws other random numbers than eager")
            _fill(expected, seen, args)
            found = judge(expected, seen, lambda: None if drawn else self._exact(args, took_s))  # in float64 others are drawn
        if found is None:
            raise Unable("it has no outputs that are floating-point numbers")
        if found["verdict"] == "differs" and _share_memory(args):
            raise Unable("its inputs share memory, and copies do not")
        return found

    def _exact(self, args: tuple[Any, ...], took_s: float) -> Figures | None:
        """The run in float64; None where there is no room for it, it would take long, or the graph cannot be run so."""
        import torch

        floats = [a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()]
        if took_s * SLOWER[any(a.is_cuda for a in floats)] > LONGEST_S:
            return None
        try:
            from torch._dynamo.debug_utils import cast_to_fp64

            _check_memory(floats, 1 + 8 / min((a.itemsize for a in floats), default=4))
            return _run(cast_to_fp64(copy.deepcopy(self.eager), [])[0].forward, args, self.names, exact=True)
        except Exception:
            return None


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
        if tensor.device.type not in ("cpu", "cuda"):
            raise Unable(f"an input is on {tensor.device}")
    _check_memory(tensors)


def _share_memory(args: tuple[Any, ...]) -> bool:
    import torch

    places = [a.untyped_storage().data_ptr() for a in args if isinstance(a, torch.Tensor) and a.numel()]
    return len(set(places)) < len(places)


def _check_memory(tensors: list[Any], times: float = 1.0) -> None:
    """A run of its own may take as much again as the process holds, one of larger numbers so many `times`."""
    import torch

    if any(t.is_cuda for t in tensors):
        if torch.cuda.is_current_stream_capturing():
            raise Unable("a CUDA graph is being recorded around it")
        free, _ = torch.cuda.mem_get_info()
        held, where = torch.cuda.memory_allocated(), " on the device"
        left = free + torch.cuda.memory_reserved() - held
    else:
        left, held, where = headroom.host_left(), headroom.resident() * int(os.environ.get("LOCAL_WORLD_SIZE") or 1), ""
    held *= times
    if not left >= held:
        raise Unable(f"no memory headroom: it may need {held / 1e9:.1f} GB more{where}, and {left / 1e9:.1f} GB are free")


# Runs.


@contextlib.contextmanager
def _apart(args: tuple[Any, ...]) -> Iterator[Callable[[], bytes]]:
    """The random state is put back at the end, and by what this yields, which returns the state that was left, empty when it is unchanged;
    what the job listens to in autograd does not see it."""
    import torch

    has_cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    devices = range(torch.cuda.device_count()) if has_cuda else range(0)  # it may draw on one that no input is on
    reserved = torch.cuda.memory_reserved() if has_cuda else 0

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
        if has_cuda and torch.cuda.memory_reserved() > reserved:
            torch.cuda.empty_cache()  # others on the device, NCCL too, take theirs from what is free


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
    figures.outputs = {f"output {place}" if len(found) > 1 else "the output": one.detach() for place, one in enumerate(found)}
    differentiable = [o for o in found if o.requires_grad]
    loss = _loss(differentiable)
    if loss is not None and leaves:
        figures.scale = _loss_scale([*args, *differentiable])
        gradients = torch.autograd.grad(loss * figures.scale, list(leaves.values()), allow_unused=True)
        named = zip(leaves.items(), gradients, strict=True)
        figures.gradients = {f"the gradient of {_name(names, at)}": g.detach() if g is not None else torch.zeros_like(leaf) for (at, leaf), g in named}
    figures.loss = float(loss.detach()) if loss is not None else None
    for place, (copied, arg) in enumerate(zip(copies, args, strict=True)):
        if isinstance(copied, torch.Tensor) and copied.is_floating_point() and place not in leaves and not torch.equal(copied, arg.to(copied.dtype)):
            figures.written[f"what it writes into {_name(names, place)}"] = place  # versions do not tell: batch_norm counts none in eager
            figures.outputs[f"what it writes into {_name(names, place)}"] = copied.detach()
    return figures


def _fill(one: Figures, other: Figures, args: tuple[Any, ...]) -> None:
    """What only one of them wrote into is in the other as it was."""
    for name, place in {**one.written, **other.written}.items():
        for figures in (one, other):
            figures.outputs.setdefault(name, args[place].detach())


def _loss_scale(tensors: list[Any]) -> float:
    """For float16, in which the gradient of a mean over many numbers is 0: a power of two that makes it about 1/64 for each of them."""
    import torch

    halves = [t.numel() for t in tensors if isinstance(t, torch.Tensor) and t.dtype is torch.float16]
    return 2.0 ** min(16, max(0, max(halves).bit_length() - 6)) if halves else 1.0


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
