# SPDX-License-Identifier: Apache-2.0
"""Every cause of a recompile is told apart on real torch, with what was expected and seen and the user's line; none on a clean job.

A case is a piece of a script after which torch compiled again: [cause, source, expected, seen] of each recompile, the line marked HERE.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import textwrap
from typing import Any

import pytest

from .conftest import SOURCE as AGENT
from .conftest import torch_has

HEAD = """
import enum, functools, gc, threading, torch
import torch.utils.data as data
C = functools.partial(torch.compile, backend="eager")
x = torch.randn(3, 4)
GLOBAL, FUNCTION = 3, torch.sin
class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.a = torch.nn.Linear(4, 4); self.count, self.scale = 0, 0.5
"""
F = "@C  # HERE\ndef f(x, n=None): return x.sin()\n"
N = "@C\ndef f(x, n): return x * n  # HERE\n"

Row = tuple[str, Any, Any, Any]
CASES: dict[str, list[tuple[str, list[Row]]]] = {
    "sizes": [
        (F + "for n in (8, 6, 5, 9): f(torch.randn(n, 4))", [("size_first", "x[0]", "8", "6")]),
        (F + "f(torch.randn(8, 4)); f(torch.randn(6, 4)); f(torch.randn(6, 5))", [("size_first", "x[0]", "8", "6"), ("size_first", "x[1]", "4", "5")]),
        ("f = torch.compile(lambda x: x.sin(), backend='eager', dynamic=False)  # HERE\nfor n in (8, 6, 5): f(torch.randn(n, 4))",
         [("size", "x[0]", "8", "6"), ("size", "x[0]", "6", "5")]),
        (F + "for n in (8, 6, 1): f(torch.randn(n, 4))", [("size_first", "x[0]", "8", "6"), ("size_zero_one", "x[0]", "2 <= x[0]", "1")]),
        (F + "for n in (8, 1): f(torch.randn(n, 4))", [("size_zero_one", "x[0]", "8", "1")]),
        (F + "loader = data.DataLoader(list(torch.randn(20, 4)), batch_size=8)\nfor batch in loader: f(batch)", [("size_last_batch", "x[0]", "8", "4")]),
        (F + "loader = data.DataLoader(list(torch.randn(20, 4)), batch_size=8, drop_last=True)\nfor n in (8, 4): f(torch.randn(n, 4))",
         [("size_first", "x[0]", "8", "4")]),
        ("@C(dynamic=True)\ndef f(x):\n    return x.sin() if x.shape[0] > 5 else x.cos()\nfor n in (8, 3): f(torch.randn(n, 4))",
         [("size_dynamic", "x[0]", "6 <= x[0]", "3")]),
        ("@C(dynamic=True)\ndef f(x):\n    return x.sin() if x.shape[0] > 5 else x.cos()\nfor n in (8, 1): f(torch.randn(n, 4))",
         [("size_dynamic", "x[0]", "6 <= x[0]", "1")]),
        (F + "f(x); y = torch.randn(3, 4); torch._dynamo.mark_dynamic(y, 0); f(y)", [("size_marked", None, None, None)]),
        ("m = Linear(); m.forward = None\ng = C(lambda w: w + 1)  # HERE\ng(torch.nn.Parameter(torch.randn(4))); g(torch.nn.Parameter(torch.randn(5)))",
         [("size_parameter", "w[0]", "4", "5")]),
    ],
    "tensors": [
        (F + "f(torch.randn(8, 8)); f(torch.randn(8, 8).t())", [("stride", "x[0]", "8", "1")]),
        (F + "f(x); f(x[0])", [("dimensions", "x", "2", "1")]),
        (F + "f(x); f(x.double())", [("dtype", "x", "Float", "Double")]),
        (F + "f(x); f(x.to('meta'))", [("device", "x", "CPU", "Meta")]),
        (F + "f(x); f(x.clone().requires_grad_())", [("requires_grad", "x", "False", "True")]),
        (F + "f(x); f(torch.nn.Parameter(x, requires_grad=False))", [("tensor_type", "x", "Tensor", "Parameter")]),
        (F + "class Sub(torch.Tensor): pass\nf(x); f(x.as_subclass(Sub))", [("tensor_type", "x", "Tensor", "Sub")]),
        (F + "z = torch.randn(3, 4, dtype=torch.complex64); f(z); f(z.conj())", [("dispatch_keys", "x", "plain", "with Conjugate")]),
        (F + "f(x)\nwith torch.inference_mode(): y = torch.randn(3, 4)\nf(y)", [("inference_tensor", "x", None, None)]),
        ("@C  # HERE\ndef f(x, y): return x + y\nf(x, x.clone()); f(x, x)", [("aliasing", "x, y", None, None)]),
    ],
    "modes": [
        (F + "f(x)\nwith torch.no_grad(): f(x)", [("grad_mode", "grad_mode", None, "off")]),
        (F + "f(x)\nwith torch.inference_mode(): f(x)", [("inference_mode", "grad_mode", None, "on")]),
        (F + "with torch.no_grad(): f(x)\nwith torch.inference_mode(): f(x)", [("inference_mode", "x", None, "on")]),
        (F + "with torch.inference_mode(): f(x)\nf(x)", [("inference_mode", "grad_mode", None, "off")]),
        (F + "f(x)\nwith torch.autocast('cpu', dtype=torch.bfloat16): f(x)", [("autocast", "autocast(cpu)_enabled", None, "cpu bfloat16")]),
        ("class M(Linear):\n    def forward(self, x):\n        return self.a(x) if self.training else x  # HERE\nm = M(); f = C(m); f(x); m.eval(); f(x)",
         [("training", "self.training", "True", "False")]),
        ("m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1)); f = C(m); f(x); m.eval()\nf(x)  # HERE",
         [("training", "fn._modules['1'].training", "True", "False")]),
        (F + "f(x); torch.use_deterministic_algorithms(True); f(x); torch.use_deterministic_algorithms(False)", [("deterministic", "deterministic_algorithms", None, "on")]),
        (F + "n = torch.get_num_threads(); f(x); torch.set_num_threads(n + 1); f(x); torch.set_num_threads(n)", [("threads", "num_threads", None, "2")]),
        (F + "f(x); torch.set_default_dtype(torch.float64); f(x); torch.set_default_dtype(torch.float32)", [("default_dtype", "default_dtype", None, "float64")]),
        (F + "f(x); torch.backends.cuda.matmul.allow_tf32 = True; f(x); torch.backends.cuda.matmul.allow_tf32 = False", [("tf32", "allow_tf32", None, "high")]),
        (F + "b = torch.backends.cuda.matmul\nf(x); b.allow_fp16_reduced_precision_reduction = False; f(x); b.allow_fp16_reduced_precision_reduction = True",
         [("reduced_precision", "allow_fp16_reduce", None, None)]),
        (F + "f(x); torch.set_default_device('meta'); f(x); torch.set_default_device(None)", [("function_mode", "torch function modes", None, "DeviceContext")]),
        (F + "f(x)\nwith torch._C.DisableTorchFunction(): f(x)\nwith torch._C.DisableTorchFunctionSubclass(): f(x)",
         [("function_mode", "torch_function", None, "none"), ("unknown", "GLOBAL_STATE changed:", None, None)]),
    ],
    "values": [
        (N + "for n in (3, 4, 5, 6): f(x, n)", [("value_int", "n", "3", "4")]),
        ("f = C(lambda x, n: x * n, dynamic=False)  # HERE\nfor n in (3, 4, 5): f(x, n)", [("value_int", "n", "3", "4"), ("value_int", "n", "4", "5")]),
        (N + "for n in (3.5, 4.5, 5.5): f(x, n)", [("value_float", "n", "3.5", "4.5")]),
        ("@C\ndef f(x, n):\n    return x.sin() if n else x.cos()  # HERE\nf(x, True); f(x, False)", [("value_bool", "n", "True", "False")]),
        ("@C\ndef f(x, n):\n    return x.sin() if n == 'a' else x.cos()  # HERE\nf(x, 'a'); f(x, 'b')", [("value_str", "n", "'a'", "'b'")]),
        ("@C\ndef f(x, n=None):\n    return x.sin() if n is None else x + n  # HERE\nf(x); f(x, x)", [("value_none", "n", "None", "of type Tensor")]),
        ("class M(Linear):\n    def forward(self, x):\n        self.count += 1  # HERE\n        return x * self.count\nf = C(M())\nfor _ in range(3): f(x)",
         [("value_attribute", "self.count", "0", "1"), ("value_attribute", "self.count", "1", "2")]),
        ("class M(Linear):\n    def forward(self, x): return x * self.scale  # HERE\nm = M(); f = C(m); f(x); m.scale = 1.5; f(x)",
         [("value_attribute", "self.scale", "0.5", "1.5")]),
        ("@C\ndef f(x): return x * GLOBAL  # HERE\nf(x); GLOBAL = 4; f(x)", [("value_int", "G['GLOBAL']", "3", "4")]),
        ("@C\ndef f(x, d): return x.to(d)  # HERE\nf(x, torch.float64); f(x, torch.float16)", [("value", "d", "torch.float64", "torch.float16")]),
        (N + "f(x, float('nan')); f(x, 2.0)", [("value_float", "n", "nan", "2.0")]),
        ("@C(dynamic=True)  # HERE\ndef f(x, n): return x + 1 if n > 5 else x - 1\nf(x, 8); f(x, 9); f(x, 3)", [("value_range", "n", "6 <= n", "3")]),
        ("p = torch.nn.Parameter(x); o = torch.optim.SGD([p], 0.1); step = C(o.step)\nfor i in range(2):\n    p.grad = x; o.param_groups[0]['lr'] *= 0.5; step()  # HERE",
         [("optimizer", "self.param_groups[0]['lr']", "0.05", "0.025")]),
    ],
    "objects": [
        ("@C\ndef f(xs): return sum(x.sin() for x in xs)  # HERE\nf([x, x]); f([x, x, x]); f((x, x, x))", [("container_length", "xs", "2", "3"), ("type", "xs", "list", "tuple")]),
        ("@C\ndef f(d): return sum(x.sin() for x in d.values())  # HERE\nf({'a': x}); f({'b': x})", [("container_keys", "d", "'a'", "'b'")]),
        ("@C\ndef f(d): return d['a'] + (d['b'] if 'b' in d else 0)  # HERE\nf({'a': x}); f({'a': x, 'b': x})", [("container_keys", "d", "without 'b'", "with 'b'")]),
        ("@C\ndef f(x, s): return x + 1 if 'a' in s else x - 1  # HERE\nf(x, {'a'}); f(x, {'b'})", [("container_keys", "s", "with 'a'", "without 'a'")]),
        ("class E(enum.Enum): A = 1; B = 2\n@C\ndef f(x, e): return x + 1 if e is E.A else x  # HERE\nf(x, E.A); f(x, E.B)", [("object", "e", None, "E.B")]),
        ("@C\ndef f(x): return FUNCTION(x)  # HERE\nf(x); FUNCTION = torch.cos; f(x)", [("object", "G['FUNCTION']", None, "cos")]),
        ("@C\ndef f(x, g): return g(x)  # HERE\ndef g1(x): return x + 1\ndef g2(x): return x + 2\nf(x, g1); f(x, g2)", [("function", "g", None, "case.<locals>.g2")]),
        ("def make(k):\n    def f(x): return x * k  # HERE\n    return f\nC(make(2.0))(x); C(make(3.0))(x)", [("closure", "k", "2.0", "3.0")]),
        ("def g(x, k=2): return x * k  # HERE\n@C\ndef f(x): return g(x)\nf(x); g.__defaults__ = (3,); f(x)", [("defaults", "g.__defaults__[0]", "2", "3")]),
        ("def g(x, *, k=2): return x * k  # HERE\n@C\ndef f(x): return g(x)\nf(x); g.__kwdefaults__ = {'k': 3}; f(x)", [("defaults", "g.__kwdefaults__['k']", "2", "3")]),
        ("def seen_hook(m, i, o): return o + 1\nm = torch.nn.Sequential(torch.nn.Linear(4, 4)); h = m[0].register_forward_hook(seen_hook)\nf = C(m); f(x); h.remove()\nf(x)  # HERE",
         [("hooks", "fn._modules['0']", "1 of forward_hooks", "none")]),
        ("def seen_hook(m, i, o): return o + 1\nm = torch.nn.Sequential(torch.nn.Linear(4, 4))\nwith torch._dynamo.config.patch(skip_nnmodule_hook_guards=False):\n"
         "    f = C(m); f(x); m[0].register_forward_hook(seen_hook)\n    f(x)  # HERE", [("hooks", "fn._modules['0']", "no forward_hooks", "seen_hook")]),
        ("for _ in range(2):\n    o = torch.optim.SGD([torch.nn.Parameter(x)], 0.1); o.param_groups[0]['params'][0].grad = x; C(o.step)()  # HERE\n    del o; gc.collect()",
         [("object_gone", "args[0]", None, None), ("object_gone", "self", None, None)]),
        ("def f(x): return x.sin()  # HERE\nC(f)(x); torch.compile(f, backend='aot_eager')(x)", [("backend", None, None, None)]),
        ("for n in range(2):\n    torch.compile(eval('lambda x: x.sin()'), backend='eager')(x)", [("code", None, None, None)]),
    ],
}  # fmt: skip


# Up to 2.9 torch's reasons come without the line of the guard, and some are of another guard: there most causes are the same.
SAYS_WHERE = torch_has("_dynamo/guards.py", "User stack trace")


def script(cases: list[tuple[str, list[Row]]]) -> str:
    """Each case in a function of its own and, for ids of their own, behind a reset; what it makes global stays there."""
    text = HEAD
    for code, _ in cases:
        text += "def case():\n" + textwrap.indent("global GLOBAL, FUNCTION\n" + code, "    ") + "\ncase(); torch._dynamo.reset(); gc.collect()\n"
    return text


def marked(text: str, cases: list[tuple[str, list[Row]]]) -> list[int | None]:
    """The line of each case's mark in the script."""
    lines, found, number = text.splitlines(), [], 0
    for code, _ in cases:
        start = next(i for i in range(number, len(lines)) if lines[i] == "def case():")
        number = start + 1
        place = next((i for i, line in enumerate(code.splitlines()) if line.endswith("# HERE")), None)
        found.append(None if place is None else start + 3 + place)
    return found


def causes(done: Any, epoch: int) -> list[dict[str, Any]]:
    return [e for e in done.of("compile", trigger="recompile") if int(e["id"].partition(":")[0] if ":" in e["id"] else 0) == epoch]


@pytest.mark.parametrize("group", CASES)
def test_causes_are_told_apart(job, group):
    text = script(CASES[group])
    done = job(text)
    assert done.code == 0, done.err[-3000:]
    assert done.faults == []
    others = 0
    for epoch, (code, rows) in enumerate(CASES[group]):
        got = causes(done, epoch)
        if not SAYS_WHERE:
            others += [e.get("cause_id") for e in got] != [row[0] for row in rows]
            continue
        assert [(e.get("cause_id"), e.get("source"), e.get("expected"), e.get("seen")) for e in got] == rows, (code, got)
        line = marked(text, CASES[group])[epoch]
        if line is not None:
            assert {(re.sub(r".*/", "", e["file"]), e["line"]) for e in got} == {("job1.py", line)}, (code, got)
        assert all(e["words"] and ("remedy" in e) == (e["cause_id"] != "unknown") for e in got), code
        assert all(e.get("cause") or e["cause_id"] == "code" for e in got), code
        assert all(0 < e["limits"]["entries"] <= e["limits"]["limit"] == 8 and e["limits"]["accumulated"] == 256 for e in got), (code, got)
    assert others <= 3, [(code, causes(done, epoch)) for epoch, (code, _) in enumerate(CASES[group])]


CLEAN = """
import torch, lab
import torch.utils.data as data
torch.manual_seed(0)
net = lab.Net(); model = torch.compile(net)
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for epoch in range(2):
    for x in data.DataLoader(list(torch.randn(16, 16)), batch_size=4, drop_last=True):
        model(x).square().mean().backward(); opt.step(); opt.zero_grad()
"""


def test_a_clean_job_has_no_cause(job):
    done = job(CLEAN)
    assert done.code == 0 and done.faults == [], done.err
    told = done.of("compile")
    assert [e["trigger"] for e in told if e["trigger"] != "backward"] == ["first"]
    assert not any("cause_id" in e or "words" in e for e in told)
    assert told[0]["limits"] == {"entries": 1, "limit": 8, "total": 1, "accumulated": 256}


VARIANT = """
import torch, lab
torch.manual_seed(0)
net = lab.Net(); model = torch.compile(net, backend="eager")
opt = torch.optim.SGD(net.parameters(), 1e-3)
for i in range(8):
    model(torch.randn(4 + (i > 4), 16)).sum().backward(); opt.step(); opt.zero_grad()
"""


def test_our_own_switch_is_no_recompile(job):
    done = job(VARIANT, [{"step": 2, "by": "at", "settings": {"dynamic": "off"}}])
    assert done.code == 0 and done.faults == [], done.err
    got = [(e["trigger"], e.get("cause_id"), e["limits"]["entries"], e["limits"]["total"]) for e in done.of("compile")]
    assert got == [("first", None, 1, 1), ("variant", "variant", 1, 2), ("recompile", "size", 2, 3)], done.of("compile")


LIMIT = """
import sys, threading, torch
C = torch.compile(lambda x: x.sin(), backend="eager", dynamic=False)
o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
def calls(most):
    for n in range(2, most): C(torch.ones(n))
if sys.argv[1] == "fullgraph":
    C = torch.compile(lambda x: x.sin(), backend="eager", dynamic=False, fullgraph=True)
    try: calls(13)
    except torch._dynamo.exc.FailOnRecompileLimitHit: pass
elif sys.argv[1] == "own":
    C = torch.compile(lambda x: x.sin(), backend="eager", dynamic=False, recompile_limit=3)
    calls(13)
elif sys.argv[1] == "thread":
    torch._dynamo.config.recompile_limit = 64
    thread = threading.Thread(target=calls, args=(13,), name="worker"); thread.start(); thread.join()
elif sys.argv[1] == "accumulated":
    torch._dynamo.config.accumulated_recompile_limit = 3
    calls(13)
else:
    calls(13)
o.step()
"""


own_limits = pytest.mark.skipif(not torch_has("_dynamo/convert_frame.py", "_recompile_limit"), reason="this torch has one limit for all threads and functions")


@pytest.mark.parametrize("how", [pytest.param("thread", marks=own_limits), "accumulated", "plain", pytest.param("own", marks=own_limits), "fullgraph"])
def test_limits(job, how):
    done = job(LIMIT, args=lambda file: [sys.executable, str(file), how])
    assert done.code == 0 and done.faults == [], done.err
    told, limit = done.of("compile"), 3 if how in ("accumulated", "own") else 8
    name = "accumulated_recompile_limit" if how == "accumulated" else "recompile_limit"
    assert [e["limits"]["total"] for e in told] == [*range(1, limit + 1), limit]
    assert [e["limits"]["entries"] for e in told[:-1]] == [*range(1, limit + 1)]
    last = told[-1]
    assert last["failed"] == ("FailOnRecompileLimitHit" if how == "fullgraph" else name) and last["limits"]["hit"] == name
    assert last["trigger"] == "recompile" and last["frame"].startswith("<lambda> job1.py:") and done.of("break") == []
    assert last["unit"] == told[0]["unit"] and last["line"] == int(last["frame"].rpartition(":")[2])
    if how == "thread":
        assert (last["cause_id"], last["expected"], last["seen"]) == ("limit_thread", "64", "8 (worker)")
    else:
        assert (last["cause_id"], last["source"]) == ("size", "x[0]")


UNTOUCHED = """
import collections, json, torch
asked = collections.Counter()
class Config:
    def __init__(self, n): self._n = n
    def __getattr__(self, name): asked[name] += 1; raise AttributeError(name)
    def __eq__(self, other): asked["=="] += 1; return self is other
    def __hash__(self): asked["hash"] += 1; return 1
    def __repr__(self): asked["repr"] += 1; return "config"
    def __len__(self): asked["len"] += 1; return 3
    @property
    def n(self): asked["n"] += 1; return self._n
f = torch.compile(lambda x, c, d: x * c.n + len(d), backend="eager")
for n in range(4): f(torch.ones(3), Config(n), {str(i): Config(i) for i in range(n)})
g = torch.compile(lambda x, c=None: x if c is None else x * 2, backend="eager")
for c in (None, Config(1), Config(2)): g(torch.ones(3), c)
print("asked", json.dumps(asked))
"""


def test_nothing_of_the_script_is_run_to_decode(job):
    seen, plain = job(UNTOUCHED), job(UNTOUCHED, bare=True)
    assert seen.code == plain.code == 0 and seen.faults == [], seen.err
    assert seen.said("asked") == plain.said("asked")
    assert "value_int" in {e["cause_id"] for e in seen.of("compile", trigger="recompile")}


def test_the_backward_of_a_recompile_is_lost_with_it(job):
    script = """
    import torch
    f = torch.compile(lambda x: x.sin() * 2)
    for dtype in (torch.float32, torch.float64):
        f(torch.randn(3, 4, dtype=dtype, requires_grad=True)).sum().backward()
    """
    done = job(script, env={"TORCHINDUCTOR_AUTOGRAD_CACHE": "0"})
    assert done.code == 0 and done.faults == [], done.err
    got = [(e["trigger"], e.get("cause_id"), e["frame"]) for e in done.of("compile")]
    frame = "<lambda> job1.py:3"
    assert got == [("first", None, frame), ("backward", None, frame), ("recompile", "dtype", frame), ("backward", "dtype", frame)]


def test_every_row_has_a_case():
    """The last two are brought about by tests of their own."""
    spec = importlib.util.spec_from_file_location("causes", AGENT / "causes.py")
    sys.modules["causes"] = table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    shown = {row[0] for cases in CASES.values() for _, rows in cases for row in rows}
    assert set(table.TABLE) - shown == {"limit_thread", "variant"}
    sentence = table.Cause("size", "x[0]", "8", "6").words, table.Cause("size", "x[0]", "8").words, table.Cause("size").words
    assert sentence == ("size of x[0]: 8, now 6", "size of x[0]: 8", "size of ?: ?")


HELD = """
import json, sys, weakref, torch
from torch.utils import data
f = torch.compile(lambda x: x.sin(), backend="eager", dynamic=False)
def train():
    seen = []
    loader = data.DataLoader(torch.randn(20, 4), batch_size=8)
    for batch in loader:
        out = f(batch)
        seen.append((weakref.ref(batch), weakref.ref(out)))
    del batch, out
    print(json.dumps([[a() is None, b() is None] for a, b in seen]), flush=True)
train()
"""


def test_a_recompile_for_the_last_batch_keeps_nothing_of_the_script_alive(job):
    done = job(HELD)
    assert done.code == 0 and done.faults == [], done.err
    assert [e["cause_id"] for e in done.of("compile") if e["trigger"] == "recompile"] == ["size_last_batch"]
    assert json.loads(done.out) == [[True, True]] * 3
