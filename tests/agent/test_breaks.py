# SPDX-License-Identifier: Apache-2.0
"""Graph breaks of the usual classes on real torch: class and id of torch's registry, the user's line, what it does, how often it runs."""

from __future__ import annotations

import textwrap
from typing import Any

from .conftest import needs_lookups, torch_has

HEAD = """
import copy, functools, gc, json, logging, os, random, sys, threading, time, warnings
import numpy, torch
C = functools.partial(torch.compile, backend="eager")
x = torch.randn(3, 4)
"""


def broken(line: str, result: str = "y + 1") -> str:
    return f"@C\ndef f(x):\n    y = x + 1\n    {line}  # HERE\n    return {result}\nf(x)"


# A piece of a script: its class, what becomes of the frame, and in which library it breaks (a file, "": in none).
CASES: list[tuple[str, str, str, str]] = [
    (broken("torch._dynamo.graph_break()"), "Call to `torch._dynamo.graph_break()`", "split", ""),
    (broken("print(1)"), "Failed to trace builtin operator", "split", ""),
    (broken("z = y.sum().item()", "y + z"), "Unsupported Tensor.item() call with capture_scalar_outputs=False", "split", ""),
    (broken("y = y + 1 if y.sum() > 0 else y - 1"), "Data-dependent branching", "split", ""),
    (broken("logging.getLogger('z').info('a')"), "logging.Logger method not supported for non-export cases", "split", ""),
    (broken("warnings.warn('a')"), "Attempted to call function marked as skipped", "split", ""),
    (broken("t = time.time()", "y + t"), "Attempted to call function marked as skipped", "split", ""),
    (broken("t = numpy.random.rand()", "y + t"), "Data dependent operator", "split", ""),
    ("g = torch.compiler.disable(lambda x: x + 1)\n" + broken("y = g(y)"), "Skip calling `torch.compiler.disable()`d function", "split", ""),
    (broken("y = torch.nonzero(y)"), "Dynamic shape operator", "split", ""),
    (broken("y = y[y > 0]"), "Dynamic shape operator", "split", ""),
    (broken("z = y.tolist()", "y + z[0][0]"), "Tensor.tolist() with non-integer tensor", "split", ""),
    (broken("y.sum().backward()").replace("f(x)", "f(x.clone().requires_grad_())").replace("def f(x.clone().requires_grad_())", "def f(x)"),
     "Unsupported Tensor.backward() call", "split", ""),
    (broken("y.requires_grad_(True)", "y * 2"), "requires_grad_() intermediate leaked as output", "split", ""),
    (broken("z = y.numpy().tobytes()", "y + len(z)"), "Unsupported ndarray method call", "split", ""),
    (broken("exec('a = 1', {}, {})"), "Failed to trace builtin operator", "split", ""),
    (broken("z = json.dumps({'a': 1})", "y + len(z)"), "Unsupported method call", "split", "encoder.py"),
    ("m = torch.nn.Linear(4, 4)\n" + broken("z = copy.deepcopy(m)", "z(y)"), "Attempted to copy.deepcopy a tensor", "split", "copy.py"),
    (broken("y = m(y)[0]").replace("@C", "m = torch.nn.LSTM(4, 4)\n@C"), "Attempted to wrap RNN, GRU, or LSTM", "eager", ""),
    ("lock = threading.Lock()\n@C\ndef f(x):\n    with lock:  # HERE\n        y = x + 1\n    return y\nf(x)", "Unsupported context manager", "eager", ""),
    ("@C\ndef f(x):\n    for _ in range(2):\n        x = x + 1\n        torch._dynamo.graph_break()  # HERE\n    return x\nf(x)",
     "Call to `torch._dynamo.graph_break()`", "eager", ""),
    ("@C\ndef f(x):\n    y = x + 1\n    return y + y.data_ptr() % 2  # HERE\nf(x)", "Observed exception", "eager", ""),
]  # fmt: skip


REGISTRY = """
registry = os.path.join(os.path.dirname(torch._dynamo.__file__), "graph_break_registry.json")  # since 2.8
entries = json.load(open(registry)) if os.path.exists(registry) else {}
print("registry", json.dumps({entry["Gb_type"]: code for code, row in entries.items() for entry in row}), flush=True)
"""


def script() -> str:
    text = HEAD
    for code, *_ in CASES:
        text += "def case():\n" + textwrap.indent(code, "    ") + "\ncase(); torch._dynamo.reset()\n"
    return text + REGISTRY


def test_classes_of_breaks(job):
    done = job(script())
    assert done.code == 0 and done.faults == [], done.err[-3000:]
    registry = done.said("registry")[0]
    lines = [i for i, line in enumerate(script().splitlines(), 1) if line.endswith("# HERE")]
    assert len(lines) == len(CASES) >= 20
    told = {}
    for one in done.of("break"):
        told.setdefault(one["line"], []).append(one)
    untold = set()
    if "graph break in loop" not in registry:  # up to 2.9 such a frame is given up without a trace in torch's records
        untold = {line for line, (code, *_) in zip(lines, CASES, strict=True) if "for _ in range" in code}
    assert set(told) == set(lines) - untold, {line: told.get(line) for line in set(told) ^ set(lines)}
    for line, (code, kind, effect, inside) in zip(lines, CASES, strict=True):
        if line in untold:
            continue
        is_known = not untold  # each torch has classes of its own, and the first had none
        one = next((one for one in told[line] if one.get("class") == kind or not is_known), None)
        assert one is not None, (kind, told[line])
        assert one.get("code") == registry.get(one.get("class")), (code, one)
        assert one["effect"] == effect or not is_known, (code, one)
        assert one["file"].endswith("job1.py") and one["frame"] == "f" and one["variant"] == 0 and one["unit"] >= 0, one
        assert all(other["count"] == 1 for other in told[line]), (code, told[line])
        assert untold or (one.get("framework", False) == bool(inside) and inside in one.get("inside", "")), (code, one)  # elsewhere, up to 2.9
        if kind != "Data-dependent branching" and is_known:
            assert one["reason"] == kind and one["explanation"], one


NONE = """
import torch
C = torch.compile(lambda x: 1, backend="eager"); C(torch.ones(2))
@torch.compiler.disable
def off(x): return x + 1
torch.compile(off, backend="eager")(torch.ones(2))
@torch.compile(backend="eager")
def skipped(x):
    x = x + 1
    SKIP
    return x
skipped(torch.ones(2))
f = torch.compile(lambda x: x.sin(), backend="eager", dynamic=False)
for n in range(2, 14): f(torch.ones(n))
"""


def test_frames_that_are_skipped_are_no_breaks(job):
    by_design = 'torch._dynamo.skip_frame("by design")' if torch_has("_dynamo/decorators.py", "def skip_frame") else "pass"
    done = job(NONE.replace("SKIP", by_design))
    assert done.code == 0 and done.faults == [], done.err
    assert done.of("break") == []
    assert done.of("compile")[-1]["failed"] == "recompile_limit"

RUNS = """
import sys, torch
class M(torch.nn.Module):
    def __init__(self): super().__init__(); self.a = torch.nn.Linear(4, 4)
    def forward(self, x):
        print("a")
        for _ in range(3): x = part(x)
        return self.a(x)
def part(x):
    x = x.sin()
    print("b")
    return helper(x)
def helper(x):
    x = x + 1
    print("c")
    return x * 2
def twice(x):
    torch._dynamo.graph_break()
    y = part(x)
    return y + part(y)
model, other = torch.compile(M(), backend="eager"), torch.compile(twice, backend="eager")
o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
before = torch._C._dynamo.eval_frame.set_guard_complete_hook(None)
for i in range(40):
    model(torch.ones(2, 4)).sum().backward(); other(torch.ones(2, 4)); o.step()
assert torch._C._dynamo.eval_frame.set_guard_complete_hook(None) is before
"""


def runs(done: Any) -> dict[tuple[int, int], Any]:
    """The last that was told, by unit and line."""
    return {(one["unit"], one["line"]): one.get("runs") for one in done.of("break") if one.get("effect") == "split"}


@needs_lookups
def test_how_often_breaks_run(job):
    done = job(RUNS)
    assert done.code == 0 and done.faults == [], done.err
    assert done.out.count("b\n") == 40 * 5
    got = runs(done)
    assert got[0, 11] == 3 and got[0, 15] == 3, done.of("break")
    assert got[0, 6] is None  # the loop behind it runs eager, and nobody looks that up
    assert got[1, 18] == 1, done.of("break")


@needs_lookups
def test_a_call_that_is_looked_at_for_two_reasons(job):
    done = job(RUNS, [{"step": 8, "by": "at", "settings": {"dynamic": "off"}}])  # the eighth call since anything was compiled
    assert done.code == 0 and done.faults == [], done.err
    assert [one["ran"] for one in done.of("switch")] == [{"M": "variant", "twice": "variant"}]
    got = runs(done)
    assert got[0, 11] == 3 and got[0, 15] == 3 and got[1, 18] == 1, done.of("break")


def test_breaks_say_their_settings(job):
    script = """
    import torch
    @torch.compile(backend="eager")
    def f(x):
        print("a")
        return x + 1
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
    for i in range(8):
        f(torch.ones(2)); o.step()
    """
    done = job(script, [{"step": 2, "by": "at", "settings": {"dynamic": "off"}}])
    assert done.code == 0 and done.faults == [], done.err
    told = done.of("break")
    assert {one["variant"] for one in told} == {one["variant"] for one in done.of("compile")} and len({one["variant"] for one in told}) == 2
    assert all(one["count"] == 1 for one in told)


DDP = """
import os, sys, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist._DEFAULT_FIRST_BUCKET_BYTES = 1000
dist.init_process_group("gloo", rank=0, world_size=1, init_method="file://" + os.path.abspath("rendezvous"))
class Net(torch.nn.Module):
    def __init__(self): super().__init__(); self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(4))
    def forward(self, x):
        for layer in self.layers: x = layer(x)
        return x
net = DistributedDataParallel(Net(), bucket_cap_mb=0.02)
model = torch.compile(net, backend="aot_eager")
o = torch.optim.SGD(net.parameters(), 0.1)
for i in range(3):
    model(torch.randn(2, 64)).sum().backward(); o.step(); o.zero_grad()
dist.destroy_process_group()
"""


def test_the_splits_of_ddp_are_apart(job):
    done = job(DDP)
    assert done.code == 0 and done.faults == [], done.err
    split = done.of("break", effect="ddp")
    assert split and not any("file" in one or "code" in one for one in split), done.of("break")
    others = done.of("break", effect="split")
    assert others and all(one["framework"] for one in others), done.of("break")


@needs_lookups
def test_a_break_is_told_again_whenever_it_was_compiled_again(job):
    script = """
    import torch
    setattr(torch._dynamo.config, "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit", 1000)
    @torch.compile(backend="eager", dynamic=False)
    def f(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x + 1
    for i in range(2, 42):
        f(torch.ones(i))
    """
    done = job(script)
    assert done.code == 0 and done.faults == [], done.err
    told = [(one["count"], one.get("runs")) for one in done.of("break")]
    assert told == [(1, None), *((count, 1) for count in range(1, 41))]
