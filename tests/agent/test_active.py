# SPDX-License-Identifier: Apache-2.0
"""Is it on: one job for each state of a unit and of a setting on real torch, with its reason; no trouble in a clean job."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = """
import copy, functools, gc, json, os, sys, torch, lab
C = functools.partial(torch.compile, backend="eager")
class Net(torch.nn.Module):
    def __init__(self): super().__init__(); self.a = torch.nn.Linear(4, 4)
    def forward(self, x): return self.a(x).relu()
    def other(self, x): return self.a(x).sin()
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.01)
def steps(call, n=12, size=lambda i: 2):
    for i in range(n):
        call(torch.randn(size(i), 4)).sum().backward(); opt.step(); opt.zero_grad()
"""
OUTER = """
class Outer(torch.nn.Module):
    def __init__(self, inner): super().__init__(); self.inner = inner
    def forward(self, x): return self.inner(x) + 1
"""
SKIPS = """
@C
def f(x):
    x = {before}
    torch._dynamo.skip_frame("by design")
    return x {after}
steps(f)
"""
LIMIT = "recompile_limit was reached in forward job1.py:6: what is new to it runs eager since step 8"
NEVER_ENTERED = "its code was never entered, yet its parameters are trained: the module itself or another method of it is called"

# A piece of a script: the last state of unit 0, how its reason begins, the trouble's beginning (empty: none).
STATES: dict[str, tuple[str, str, str, str]] = {
    "on": ("steps(C(net))", "on", "", ""),
    "on with a break": ("@C\ndef f(x):\n    x = net(x)\n    print('b', end='')\n    return x * 2\nsteps(f)", "on", "", ""),
    "compiled in a loop": ("for i in range(12): steps(C(net), 1)", "on", "", ""),
    "partly": (SKIPS.format(before="net(x)", after=""), "partly", "f job1.py:14 runs eager: Call to `torch._dynamo.skip_frame()`", ""),
    "eager": (SKIPS.format(before="x + 1", after="+ net.a.weight.sum()"), "eager", "f job1.py:14: Call to `torch._dynamo.skip_frame()`",
              "is compiled but runs eager: "),
    "nothing in it": ("k = C(lambda x: 1)\nsteps(lambda x: net(x) * k(x))", "eager", "there is no tensor operation in it", "is compiled but runs eager: "),
    "limit": ("steps(C(net, dynamic=False), 20, lambda i: 2 + i)", "limit", LIMIT, "is compiled no further: "),
    "never called": ("k = C(lambda x: x + 1)\nsteps(net, 70)", "never called", "never called in 7", "is compiled and was never called in 7"),
    "never called, short": ("k = C(lambda x: x + 1)\nsteps(net, 5)", "never called", "never called in 5 steps", "is compiled and was never called in 5 steps"),
    "another method": ("model = C(net)\nsteps(model.other)", "bypassed", NEVER_ENTERED, "is compiled for nothing: "),
    "the original": ("model = C(net)\nsteps(net.forward)", "bypassed", NEVER_ENTERED, "is compiled for nothing: "),
    "dropped": ("C(net)\nsteps(net)", "dropped", "what torch.compile gave at job1.py:13 was dropped before it was called", "is not compiled: "),
    "rebound": ("model = C(net)\nsteps(model)\nmodel = net\ngc.collect()\nsteps(model, 40)", "rebound",
                "what torch.compile gave at job1.py:13 is gone, and its parameters are trained without it", "is not compiled any more: "),
    "gone": ("model = C(net)\nsteps(model)\ndel model, net\nnet = Net(); opt = torch.optim.SGD(net.parameters(), 0.01)\ngc.collect()\nsteps(net, 40)", "gone",
             "what torch.compile gave at job1.py:13 is gone", ""),
    "part": (OUTER + "inner = C(net)\nsteps(C(Outer(inner)))", "part", "its code is compiled as part of Outer (unit 1)", ""),
    "another takes it": ("first = C(net)\nmodel = C(net, dynamic=True)\nsteps(model)", "part", "what it compiles is run by Net (unit 1)", ""),
    "idle": ("model = C(net)\nsteps(model, 3)\nsteps(net, 60)", "idle", "not called in the last 4 steps that were looked at", ""),
    "stance": ("model = C(net)\ntorch.compiler.set_stance('force_eager')\nsteps(model)", "off", "the job's own stance is force_eager", ""),
}  # fmt: skip


def last(done: Any, unit: int = 0) -> dict[str, Any]:
    assert done.code == 0 and done.faults == [], (done.err[-3000:], done.faults)
    return done.of("active", unit=unit)[-1]


@pytest.mark.parametrize("name", STATES)
def test_states_of_a_unit(job, name):
    script, state, why, trouble = STATES[name]
    done = job(HEAD + script)
    told = last(done)
    assert told["state"] == state and told.get("why", "").startswith(why) and bool(told.get("why")) == bool(why), told
    assert told.get("trouble", "").startswith(trouble) and bool(told.get("trouble")) == bool(trouble), told
    if not trouble:
        assert not any("trouble" in one for one in done.of("active")), done.of("active")
    if state in ("on", "partly"):
        assert (told.get("lookup_us", 0) > 0) == (state == "on"), told  # what is partly eager comes to compiled code in its own time
        assert told["compiled"] == told["calls"] == told["looked"] >= 2 and told["ran"] == 0 and told["ids"], told
        assert told["entered"] == told["calls"] * (2 if name == "on with a break" else 1), told
    if state in ("bypassed", "never called", "part"):
        assert told.get("calls", 0) == 0, told


def test_share_of_calls_and_frames(job):
    told = last(job(HEAD + "torch._dynamo.config.recompile_limit = 1\nsteps(C(net, dynamic=False), 60, lambda i: 2 + i % 2)"))
    assert told["state"] == "limit" and told["limited"] == 1 and told["frames"][0]["state"] == "limit", told
    assert told["frames"][0]["step"] == 1 and told["frames"][0]["why"] == "recompile_limit" and 0 < told["compiled"] < told["calls"], told


def test_blocks_of_one_line_are_one_unit(job):
    done = job(HEAD + "net = torch.nn.Sequential(*[Net() for _ in range(3)])\nopt = torch.optim.SGD(net.parameters(), 0.01)\n"
               "for one in net: one.compile(backend='eager')\nsteps(net)")  # fmt: skip
    told = last(done)
    assert (told["state"], told["units"], told["calls"], told["compiled"]) == ("on", 3, 3 * told["looked"], 3 * told["looked"]), told
    assert {one["unit"] for one in done.of("active")} == {0}
    assert [one.get("whole") for one in done.of("unit")] == [None, 0, 0]


AGAIN = """
os.makedirs("lightning/fabric"); open("lightning/__init__.py", "w"); open("lightning/fabric/__init__.py", "w")
with open("lightning/fabric/setup.py", "w") as file:
    file.write("import torch\\ndef setup(model): return torch.compile(Wrapper(model._orig_mod), backend='eager')\\n"
               "class Wrapper(torch.nn.Module):\\n    def __init__(self, m): super().__init__(); self.module = m\\n"
               "    def forward(self, x): return self.module(x)\\n")
sys.path.insert(0, os.getcwd())
from lightning.fabric.setup import setup
model = C(net)
model = setup(model)
steps(model)
"""


def test_what_a_framework_compiles_again_is_one_unit(job):
    done = job(HEAD + AGAIN)
    told = last(done)
    assert told["state"] == "on" and told["why"] == "compiled again by fabric" and told["units"] == 1, told
    first, second = done.of("unit")
    assert first["origin"] == "script" and second["origin"] == "fabric" and second["whole"] == 0 and second["wraps"] == ["Wrapper", "Net"]
    assert not any("trouble" in one for one in done.of("active")) and {one["unit"] for one in done.of("active")} == {0}


def test_what_is_compiled_anew_is_no_trouble(job):
    done = job(HEAD + "model = C(net)\nmodel = C(net, dynamic=True)\nsteps(model)\nmodel = C(net, dynamic=False)\nsteps(model, 40)")
    assert last(done, 2)["state"] == "on" and last(done, 1)["why"] == "another one has taken its place", done.of("active")
    assert not any("trouble" in one for one in done.of("active")), done.of("active")


def test_a_copy_that_waits_is_no_trouble(job):
    done = job(HEAD + "model = C(net)\nema = copy.deepcopy(model)\nsteps(model, 80)")
    assert last(done, 1)["why"] == "a copy of a compiled module, not called yet"
    assert last(done)["state"] == "on" and not any("trouble" in one for one in done.of("active"))


def test_which_settings_ran(job):
    plan = [{"step": 10, "by": "at", "settings": {"dynamic": "on"}}, {"step": 30, "by": "at", "settings": {"scope": "eager"}},
            {"step": 50, "by": "at", "settings": {"scope": "as-written", "dynamic": "as-written"}}]  # fmt: skip
    done = job(HEAD + "model = C(net)\nsteps(model, 70)", plan)
    assert last(done)["state"] == "on"
    key = done.of("switch", status="applied")[0]["variant"]
    seen = [(one["variant"], one.get("ran"), tuple(one.get("ids", ()))) for one in done.of("active") if one.get("calls")]
    assert list(dict.fromkeys(seen)) == [(0, 0, ("0/0",)), (key, key, ("0/1",))] and seen[-1] == (0, 0, ("0/0",)), seen
    off = [one for one in done.of("active") if one["state"] == "off"]
    assert off and all(one["why"] == "the settings want it eager" and one["since"] == 30 for one in off), off
    symbolic = {one["settings"]["dynamic"] for one in done.of("active") if one["variant"] == key and one["state"] == "on"}
    assert symbolic == {"symbolic: size 0 of x"}, symbolic


BLIND = """
layout, boundary, active = (lab.agent(name) for name in ("layout", "boundary", "active"))
layout.look(torch._dynamo).hook_lookups = None
real, counts = active.boundary, []
active.boundary = lambda count: (counts.append(count), real(count))
model = C(net)
steps(model, 300)
print("pending", json.dumps(len([count for count in counts if 100 < count <= 300])), flush=True)
"""


def test_where_torch_tells_nobody_of_its_lookups(job):
    """Judged by compilations and first calls, and no step is woken for a look that cannot be."""
    done = job(HEAD + BLIND, [{"step": 40, "by": "at", "settings": {"scope": "eager"}}])
    assert done.code == 0 and done.faults == [], done.err
    told = [(one["state"], one["since"]) for one in done.of("active")]
    assert ("on", 1) in told and told[-1] == ("off", 40), told
    assert done.said("pending")[0] <= 8, done.said("pending")


# How torch.compile is called in a job: what becomes of the settings.
NONE = {"cudagraphs": "off", "shape_padding": "n/a: no effect on CPU", "autotune": "off", "dynamic": "static"}
SETTINGS: list[tuple[str, dict[str, str]]] = [
    ("steps(torch.compile(net))", NONE),
    ("steps(torch.compile(net, mode='reduce-overhead'))", NONE | {"cudagraphs": "n/a: no CUDA device"}),
    ("steps(torch.compile(net, mode='max-autotune-no-cudagraphs'))", NONE | {"autotune": "n/a: inductor timed nothing on the CPU"}),
    ("steps(torch.compile(net, options={'shape_padding': False}), 20, lambda i: 2 + i)",
     NONE | {"shape_padding": "off", "dynamic": "symbolic: size 0 of x"}),
    ("steps(C(net, dynamic=True))", dict.fromkeys(NONE, "n/a: the backend is eager") | {"dynamic": "symbolic: size 0 of x"}),
]  # fmt: skip


@pytest.mark.parametrize("script", [script for script, _ in SETTINGS])
def test_states_of_settings(job, tmp_path, script):
    done = job(HEAD + script, env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")})  # what comes from a cache does not tell of autotuning
    told = last(done)
    assert told["settings"] == dict(SETTINGS)[script] and told["state"] == "on", told
    assert not any("trouble" in one for one in done.of("active")), done.of("active")


PADDED = """
import torch._inductor.fx_passes.pad_mm as pad_mm
pad_mm.can_pad = lambda *args, **kwargs: {can}
net = torch.nn.Sequential(torch.nn.Linear(5, 7)); opt = torch.optim.SGD(net.parameters(), 0.01)
lab.agent("roots").device = lambda *args: "cuda"
model = torch.compile(net, options={{"force_shape_pad": True}})
for i in range(6): model(torch.randn(3, 5)).sum().backward(); opt.step(); opt.zero_grad()
"""


@pytest.mark.parametrize(("can", "told"), [(True, "applied: 7x3 by 3x5, 3x5 by 5x7"), (False, "nothing to pad: 2 products were looked at")])
def test_padding_is_told_by_what_inductor_decides(job, tmp_path, can, told):
    done = job(HEAD + PADDED.format(can=can), env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")})
    assert last(done)["settings"]["shape_padding"] == told, last(done)
    cached = job(HEAD + PADDED.format(can=can), env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")})
    assert last(cached)["settings"]["shape_padding"].startswith(("n/a: its code came from torch's cache", told)), last(cached)


# Trees of CUDA graphs as torch keeps them, made by hand where there is no device.
GRAPHS = """
import types
from torch._guards import CompileId
steps(C(net), 2)
effects, named = lab.agent("effects"), types.SimpleNamespace
def node(function, *children): return named(wrapped_function=named(id=function), children={1: list(children)})
def trees(nodes=(), again=0, state="RECORDING"):
    manager = named(id_to_compile_id={1: CompileId(frame_id=0, frame_compile_id=0), 2: CompileId(frame_id=9, frame_compile_id=9)}, num_rerecord={None: {1: again, 2: 5}}, roots={1: list(nodes)},
                    path_state=named(name=state))
    sys.modules["torch._inductor.cudagraph_trees"] = named(local=named(tree_manager_containers={0: named(tree_manager=manager)}))
def graphs(looked=9, **record):
    under, fields = effects.Under(), dict(compile_id=CompileId(frame_id=0, frame_compile_id=0), co_filename="a.py", co_firstlineno=1, co_name="f", graph_op_count=1)
    under.take(named(**fields, **record), None, "f a.py:1", None, 0)
    return effects._graphs(under, {"triton.cudagraphs": True}, "cuda", looked)
told = [graphs(2), graphs(), graphs(cudagraph_skip_reason="skipping cudagraphs due to mutated inputs (1 instances)")]
trees([node(1, node(1), node(2))]); told.append(graphs())
trees([node(1)], state="EXECUTION"); told.append(graphs())
trees([node(1)], again=3, state="EXECUTION"); told.append(graphs())
trees([node(2)]); told.append(graphs())
print("told", json.dumps(told))
"""


def test_states_of_cuda_graphs(job):
    done = job(HEAD + GRAPHS)
    assert done.code == 0, done.err
    assert done.said("told") == [[
        "waiting: torch warms up first", "skipped: torch gives no reason", "skipped: skipping cudagraphs due to mutated inputs (1 instances)",
        "recorded: 2 graphs", "replayed: 1 graphs", "re-recorded: 3 times, 1 graphs", "skipped: torch gives no reason",
    ]]  # fmt: skip


LOOKS = """
hook = torch._C._dynamo.eval_frame.set_guard_complete_hook
model, looked, heard = C(net), [], []
context = model.dynamo_ctx
for i in range(600):
    now = hook(None); hook(now); looked.append(now is not None); heard.append(any(getattr(h, "__name__", "") == "_enter" for h in context.enter_exit_hooks))
    steps(model, 1)
print("looks", json.dumps([sum(looked), sum(heard), looked[-1], heard[-1]]))
"""


def test_steps_are_looked_at_seldom_and_nothing_is_left(job):
    done = job(HEAD + LOOKS)
    told = last(done)
    (looked, heard, at_end, heard_at_end), = done.said("looks")
    assert told["state"] == "on" and told["looked"] <= looked <= 12 and heard <= 14 and not at_end and not heard_at_end, (told, looked, heard)


COMPILED_STEP = """
opt.step = torch.compile(opt.step, backend="eager")
model = C(net)
for i in range(40):
    model(torch.randn(2, 4)).sum().backward(); opt.step(); opt.zero_grad()
print("slot", json.dumps(torch._C._dynamo.eval_frame.set_guard_complete_hook(None) is None))
"""


def test_a_boundary_inside_a_compiled_optimizer(job):
    done = job(HEAD + COMPILED_STEP)
    for unit in (0, 1):
        told = last(done, unit)
        assert told["state"] == "on" and told["compiled"] == told["calls"] == told["looked"] >= 2, told
    assert done.said("slot") == [True] and not any("trouble" in one for one in done.of("active"))


def test_inference(job):
    done = job(HEAD.replace("opt = torch.optim.SGD(net.parameters(), 0.01)\n", "") + "model = C(net)\nwith torch.no_grad():\n    for i in range(20): model(torch.randn(2, 4))")
    told = last(done)
    assert told["state"] == "on" and told["compiled"] == told["calls"] == told["looked"] >= 2, told


def test_a_reset_begins_anew(job):
    done = job(HEAD + "model = C(net, dynamic=False)\nsteps(model, 12, lambda i: 2 + i)\ntorch._dynamo.reset()\nsteps(model, 12)")
    states = list(dict.fromkeys(one["state"] for one in done.of("active")))
    assert states == ["on", "limit"] and last(done)["state"] == "on", states
    assert last(done)["ids"] == ["1:0/0"] and last(done)["limited"] == 0, last(done)
