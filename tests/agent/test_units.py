# SPDX-License-Identifier: Apache-2.0
"""Units: found once, held weakly, numbered sparingly."""

from __future__ import annotations

LEAKS = """
import gc, json, resource, torch, lab, weakref
U = lab.agent("units")
class Break(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.a = torch.nn.Linear(16, 16)
    def forward(self, x):
        y = self.a(x); torch._dynamo.graph_break(); return y
turn = None
m = torch.compile(Break()); x = torch.randn(4, 16); m(x)
turn = lab.Turn()
turn(fullgraph="on")
x = torch.randn(4, 16); ref = weakref.ref(x); m(x); del x; gc.collect()
failed = turn()[0]
print("failure", json.dumps([failed["status"], ref() is not None]))
models = []
for i in range(3):
    turn(options__epilogue_fusion="false" if i % 2 else "true")
    net = lab.Net(1); c = torch.compile(net); c(torch.randn(4, 16)); models.append(weakref.ref(net)); del net, c
turn()
gc.collect()
print("models", json.dumps(sum(r() is not None for r in models)))
def f(x): return x.sin() + 1
x = torch.randn(4)
torch.compile(f)(x)
turn(options__epilogue_fusion="false")
torch.compile(f)(x)
gc.collect()
before, size = len(U.all_units()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for i in range(1500): torch.compile(f)(x)
gc.collect()
print("loop", json.dumps([len(U.all_units()) - before, len(U.places), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size]))
before = len(U.all_units())
for i in range(3): torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
print("cond", json.dumps(len(U.all_units()) - before))
"""


def test_nothing_leaks(job):
    done = job(LEAKS)
    assert done.code == 0, done.err[-3000:]
    assert done.faults == []
    assert done.said("failure") == [["failed", False]]
    assert done.said("models") == [0]
    grown, places, kb = done.said("loop")[0]
    assert grown <= 1 and places < 40 and kb < 8000, done.said("loop")
    assert done.said("cond") == [0]


CARRIED = """
import json, torch, lab
torch._dynamo.config.allow_unspec_int_on_nn_module = False
class K(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.k = 0
    def forward(self, x): return x * (self.k + 1)
k = K()
m = torch.compile(k, options={"guard_filter_fn": lambda guards: [False for g in guards], "epilogue_fusion": False})
x = torch.randn(4); m(x)
turn = lab.Turn()
turn(options__shape_padding="false")
w = lab.Watch(); out = []
for i in range(3):
    k.k = i; m(x); out.append(w.look())
print("ran", json.dumps(out))
"""


def test_users_arguments_are_carried_over(job):
    done = job(CARRIED)
    assert done.code == 0, done.err[-3000:]
    # the author's option stays, and so does the filter: no guard, no recompile
    name = "epilogue_fusion=False,shape_padding=False"
    assert done.said("ran") == [[[{name: 1}, 1], [{name: 1}, 0], [{name: 1}, 0]]]


RESET = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(10):
    if i in (3, 7): torch.compiler.reset()
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_a_users_reset(job):
    plan = [{"step": 2, "by": "at", "settings": {"options.epilogue_fusion": "false"}}, {"step": 5, "by": "at", "settings": {"as-written": ""}}, {"step": 8, "by": "at", "settings": {"options.epilogue_fusion": "false"}}]
    done = job(RESET, plan)
    assert done.code == 0, done.err[-3000:]
    own, fused = {"written"}, {"epilogue_fusion=False"}
    assert [set(r) for _, r, _ in done.said("step")] == [own] * 2 + [fused] * 3 + [own] * 3 + [fused] * 2
    compiles = [e for e in done.of("compile") if e["trigger"] != "backward"]
    assert [e["id"].count(":") for e in compiles] == [0, 0, 1, 1, 1, 1]
    assert [e["id"].split(":")[0] for e in compiles[2:]] == ["1", "1", "2", "2"]
    assert [e["trigger"] for e in compiles] == ["first", "variant", "first", "variant", "first", "variant"]
    assert len({e["id"] for e in done.of("compile")}) >= 6
    assert all(r["why"] & 2 for r in done.records if r["step"] in (0, 2, 3, 5, 7, 8))


NESTED = """
import json, torch, lab
m = torch.compile(lab.Net(1))
apart = torch._dynamo.disable(lambda y: m(y))
@torch.compile
def f(x):
    y = x.sin()
    torch._dynamo.graph_break()
    z = apart(y)
    torch._dynamo.graph_break()
    return z.sum() + 1
x = torch.randn(4, 16); f(x)
turn = lab.Turn(); w = lab.Watch(); out = []
for s in ({"Net/options.epilogue_fusion": "false"}, {"f/options.epilogue_fusion": "false"}, {"scope": "eager"}, {"f/fullgraph": "on"}, {}, {"f/fullgraph": "on"}, {"f/options.epilogue_fusion": "false"}):
    events = turn(**s); w.look(); f(x); out.append(w.look())
    f(x); assert w.look()[1] == 0
    out[-1] += ([e["status"] for e in events],)
print("ran", json.dumps(out))
print("last", json.dumps([e["status"] for e in turn.end()]))
"""


def test_nested_units_have_settings_of_their_own(job):
    done = job(NESTED)
    assert done.code == 0, done.err[-3000:]
    assert done.faults == []
    ran = [(set(r), s) for r, _, s in done.said("ran")[0]]
    own, fused = "written", "epilogue_fusion=False"
    assert ran[0][0] == ran[1][0] == {own, fused}
    assert ran[2][0] == set()
    assert ran[4] == ({own}, ["failed"]) and ran[6][1] == ["failed"]  # a failure is told each time


SHARED = """
import json, torch, lab
class Net(lab.Net): pass
a, b = torch.compile(lab.Net(1)), torch.compile(lab.Net(1))
x = torch.randn(4, 16)
def both(): a(x).sum().backward(); b(x).sum().backward()
both()
turn = lab.Turn(); w = lab.Watch(); out = []
for s in ({"0/options.epilogue_fusion": "false"}, {"1/dynamic": "on"}, {"0/options.epilogue_fusion": "false", "1/dynamic": "on"}, {"0/scope": "eager"}, {"options.epilogue_fusion": "false"}, {}):
    turn(**s); w.look(); both(); out.append(w.look())
print("ran", json.dumps(out))
events = turn.end()
"""


def test_two_models_share_one_code_object(job):
    done = job(SHARED)
    assert done.code == 0, done.err[-3000:]
    ran = done.said("ran")[0]
    own, fused, dyn = "written", "epilogue_fusion=False", "dynamic=True"
    assert [r for r, _ in ran] == [{fused: 1, own: 1}, {own: 1, dyn: 1}, {fused: 1, dyn: 1}, {own: 1}, {fused: 2}, {own: 2}]
    assert [c for _, c in ran[2:]] == [0, 0, 0, 0]
    assert done.of("switch", id=4)[0]["ran"] == {"Net#0": "eager", "Net#1": "as written"}


EMA = """
import copy, json, torch, lab
net = lab.Net(1); model = torch.compile(net)
ema = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for epoch in range(4):
    model.train()
    for i in range(2):
        model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
        for p, q in zip(ema.parameters(), net.parameters()): p.data.lerp_(q.data, 0.1)
    model.eval()
    with torch.no_grad(): model(torch.randn(4, 16)); ema(torch.randn(4, 16))
    with torch.inference_mode(): model(torch.randn(4, 16))
    print("step", json.dumps([epoch, *w.look()]), flush=True)
"""


def test_evaluation_between_epochs(job):
    plan = [{"step": 2, "by": "at", "settings": {"options.epilogue_fusion": "false"}}, {"step": 4, "by": "at", "settings": {"as-written": ""}}, {"step": 6, "by": "at", "settings": {"options.epilogue_fusion": "false"}}]
    done = job(EMA, plan)
    assert done.code == 0, done.err[-3000:]
    assert done.faults == []
    steps = done.said("step")
    assert steps[3][2] == 0  # train, no_grad and inference: each variant has all it needs


COPIES = """
import copy, json, torch, lab
from torch.optim.swa_utils import AveragedModel
net = lab.Net(1); model = torch.compile(net)
ema = AveragedModel(model); best = copy.deepcopy(model)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(9):
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    w.look()
    if i % 2:
        out = []
        for copied in (ema, best):
            with torch.no_grad(): copied(torch.randn(4, 16))
            out.append(sorted(w.look()[0]))
        print("ran", json.dumps([i, *out]))
        best = copy.deepcopy(model)
"""


def test_copies_are_units_of_their_own(job):
    plan = [{"step": 1, "by": "at", "settings": {"options.epilogue_fusion": "false"}}, {"step": 3, "by": "at", "settings": {"scope": "eager"}}, {"step": 5, "by": "at", "settings": {"as-written": ""}}]
    done = job(COPIES, plan)
    assert done.code == 0, done.err[-3000:]
    fused = ["epilogue_fusion=False"]
    assert done.said("ran") == [[1, fused, fused], [3, [], []], [5, ["written"], ["written"]], [7, ["written"], ["written"]]]
