# SPDX-License-Identifier: Apache-2.0
"""Jobs in which a live switch once did harm: each trains to its end, and what ran is counted from outside."""

from __future__ import annotations

import pytest

CHECKPOINT = """
import json, sys, torch, lab
from torch.utils.checkpoint import checkpoint
reentrant, regional, bad = sys.argv[1] == "1", sys.argv[2] == "1", sys.argv[3]

class Block(lab.Block):
    def forward(self, x):
        y = torch.nn.functional.gelu(self.a(x))
        if regional or bad == "fullgraph":
            torch._dynamo.graph_break()
        return x + self.drop(self.b(torch.nn.functional.gelu(y)))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(p=0.1) for _ in range(2))
    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=reentrant)
        return x

torch.manual_seed(0)
net = Net()
model = net
if regional:
    for block in net.blocks:
        block.compile()
else:
    model = torch.compile(net)
if bad == "backend":
    real = torch._TorchCompileInductorWrapper.__call__
    def call(self, gm, inputs, **kw):
        if type(self) is not torch._TorchCompileInductorWrapper and self.config.get("shape_padding") is False:
            raise RuntimeError("planted failure")
        return real(self, gm, inputs, **kw)
    torch._TorchCompileInductorWrapper.__call__ = call
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
w = lab.Watch()
change = {"fullgraph": "on"} if bad == "fullgraph" else {"options.shape_padding": "false"} if bad == "backend" else {"options.epilogue_fusion": "false"}
for i in range(8):
    if i in (1, 4):
        lab.core().propose(i, change, at=i + 1)
    loss = model(torch.randn(4, 16, requires_grad=True)).square().mean()
    loss.backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
print("end", json.dumps(loss.item()))
"""


@pytest.mark.parametrize("bad", ["none", "fullgraph", "backend"])
@pytest.mark.parametrize("regional", [0, 1])
@pytest.mark.parametrize("reentrant", [0, 1])
def test_checkpointing_survives_a_switch(job, reentrant, regional, bad):
    done = job(CHECKPOINT, args=lambda file: [__import__("sys").executable, str(file), str(reentrant), str(regional), bad])
    assert done.code == 0, done.err[-3000:]
    assert not done.faults
    steps = {i: (ran, compiles) for i, ran, compiles in done.said("step")}
    if bad == "none":
        assert done.switches() == [(1, "applied", 2), (4, "applied", 5)]
        assert all(set(steps[i][0]) == {"epilogue_fusion=False"} for i in range(2, 8)), steps
        assert all(steps[i][1] == 0 for i in range(3, 8)), steps
    else:
        assert done.switches() == [(1, "failed", 2), (4, "failed", 5)]
        assert not set(steps[2][0]) - {"epilogue_fusion=False"} and not steps[2][0].get("written"), steps  # nothing of the old one ran in it
        again = 0 if regional or bad == "backend" else 1  # what torch had skipped it looks at once more
        assert steps[3][0] == steps[7][0] == steps[1][0] and set(steps[1][0]) <= {"written"}, steps
        assert steps[3][1] <= again and steps[7][1] == 0, steps
        event = done.of("switch")[0]
        assert event["file"].endswith("job1.py") and event["line"] > 0 and event["reason"]


GAN = """
import json, sys, torch, lab
from torch.utils.checkpoint import checkpoint
reentrant = sys.argv[1] == "1"
class G(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(lab.Block(p=0.1) for _ in range(2))
    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=reentrant)
        return x
torch.manual_seed(0)
g, d = G(), torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
for block in g.blocks:
    block.compile()
dc = torch.compile(d)
og, od = torch.optim.SGD(g.parameters(), lr=1e-3), torch.optim.SGD(d.parameters(), lr=1e-3)
w = lab.Watch()
for i in range(10):
    fake = g(torch.randn(4, 16, requires_grad=True))
    (dc(fake.detach()).mean() - dc(torch.randn(4, 16)).mean()).backward(); od.step(); od.zero_grad()
    (-dc(fake).mean()).backward(); og.step(); og.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


@pytest.mark.parametrize("reentrant", [0, 1])
def test_gan_switches_between_iterations(job, reentrant):
    plan = [
        {"step": 1, "by": "at", "settings": {"options.epilogue_fusion": "false"}},
        {"step": 3, "by": "at", "settings": {"scope": "eager"}},
        {"step": 5, "by": "at", "settings": {"as-written": ""}},
        {"step": 7, "by": "at", "settings": {"Sequential/scope": "eager"}},
        {"step": 8, "by": "at", "settings": {"as-written": "", "options.epilogue_fusion": "false"}},
    ]
    done = job(GAN, plan, args=lambda file: [__import__("sys").executable, str(file), str(reentrant)])
    assert done.code == 0, done.err[-3000:]
    assert not done.faults
    steps = [set(ran) for _, ran, _ in done.said("step")]
    own, fused = {"written"}, {"epilogue_fusion=False"}
    assert steps == [own, fused, fused, set(), set(), own, own, own, fused, fused]
    assert [e["status"] for e in done.of("switch")] == ["applied"] * 5
    assert len(done.records) == 10
    assert done.said("step")[8][2] == 0
    assert done.of("switch", id=3)[0]["ran"] == {"Block": "as written", "Sequential": "eager"}


LAZY_BACKWARD = """
import json, torch, lab
import torch._inductor.compile_fx as cfx
real, inner = torch._TorchCompileInductorWrapper.__call__, cfx.compile_fx_inner
def planted(gm, ex, **kw):
    if kw.get("is_backward"):
        raise RuntimeError("planted backward failure")
    return inner(gm, ex, **kw)
def call(self, gm, inputs, **kw):
    if self.config.get("epilogue_fusion") is False:
        return cfx.compile_fx(gm, inputs, inner_compile=planted, config_patches=dict(self.config))
    return real(self, gm, inputs, **kw)
torch._TorchCompileInductorWrapper.__call__ = call
net = lab.Net(1, 20)  # a size of its own: what is cached would not be compiled, and could not fail
model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(8):
    model(torch.randn(4, 20)).sum().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_backward_that_fails_alone_fails_in_forward(job):
    settings = {"options.epilogue_fusion": "false"}
    plan = [{"step": 2, "by": "at", "settings": settings}, {"step": 5, "by": "at", "settings": settings}]
    done = job(LAZY_BACKWARD, plan)
    assert done.code == 0, done.err[-3000:]
    assert done.switches() == [(0, "failed", 2), (1, "failed", 5)]
    assert "planted backward failure" in done.of("switch")[0]["reason"]
    steps = {i: (ran, compiles) for i, ran, compiles in done.said("step")}
    assert steps[2][0] == steps[5][0] == {} and steps[3] == steps[7] == ({"written": 1}, 0) or steps[3] == ({"written": 1}, 0)
    assert [r["why"] & 64 for r in done.records if r["step"] in (2, 5)] == [64, 64]


RETAIN = """
import json, sys, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
for i in range(7):
    y = model(torch.randn(4, 16)).sum()
    y.backward(retain_graph=True); y.backward(); opt.step(); opt.zero_grad()
print("end")
"""


def test_retained_graphs(job, tmp_path):
    plan = [
        {"step": 1, "by": "at", "settings": {"options.epilogue_fusion": "false"}},
        {"step": 3, "by": "at", "settings": {"as-written": "", "dynamic": "on"}},
        {"step": 5, "by": "at", "settings": {"as-written": ""}},
    ]
    cold = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cold")}
    done = job(RETAIN, plan, env=cold)
    assert done.code == 0 and "end" in done.out, done.err[-3000:]
    assert [e["status"] for e in done.of("switch")] == ["applied"] * 3


USERS_FULLGRAPH = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net, fullgraph=True)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(10):
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_users_own_fullgraph(job):
    plan = [
        {"step": 2, "by": "at", "settings": {"scope": "eager"}},
        {"step": 4, "by": "at", "settings": {"scope": "as-written"}},
        {"step": 6, "by": "at", "settings": {"options.epilogue_fusion": "false"}},
        {"step": 8, "by": "at", "settings": {"fullgraph": "off"}},
    ]
    done = job(USERS_FULLGRAPH, plan)
    assert done.code == 0, done.err[-3000:]
    assert [e["status"] for e in done.of("switch")] == ["applied"] * 4
    steps = [set(ran) for _, ran, _ in done.said("step")]
    fused = "epilogue_fusion=False"
    assert steps == [{"written"}] * 2 + [set()] * 2 + [{"written"}] * 2 + [{f"{fused},fullgraph"}] * 2 + [{fused}] * 2


STANCE = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(8):
    if i == 1: torch.compiler.set_stance("eager_on_recompile")
    if i == 4: torch.compiler.set_stance("default")
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_users_own_stance_refuses(job):
    settings = {"options.epilogue_fusion": "false"}
    plan = [{"step": 3, "by": "at", "settings": settings}, {"step": 6, "by": "at", "settings": settings}]
    done = job(STANCE, plan)
    assert done.code == 0, done.err[-3000:]
    first, second = done.of("switch")
    assert first["status"] == "refused" and "stance is 'eager_on_recompile'" in first["reason"]
    assert second["status"] == "applied" and second["ran"] == {"Net": "variant"}
    assert [set(ran) for _, ran, _ in done.said("step")] == [{"written"}] * 6 + [{"epilogue_fusion=False"}] * 2


LIMIT = """
import json, torch, lab
import torch._dynamo.config as config
config.recompile_limit = 3
config.allow_unspec_int_on_nn_module = False
class K(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.a = torch.nn.Linear(16, 16); self.k = 0
    def forward(self, x): return self.a(x) * (self.k + 1)
net = K(); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i, k in enumerate([0, 1, 2, 3, 0, 0, 1, 2, 3, 0, 0, 3, 1]):
    net.k = k
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_users_recompile_limit_holds_for_each_variant(job):
    plan = [{"step": 5, "by": "at", "settings": {"options.epilogue_fusion": "false"}}, {"step": 10, "by": "at", "settings": {"as-written": ""}}]
    done = job(LIMIT, plan)
    assert done.code == 0, done.err[-3000:]
    assert [e["status"] for e in done.of("switch")] == ["applied"] * 2
    steps = [set(ran) for _, ran, _ in done.said("step")]
    own, fused = {"written"}, {"epilogue_fusion=False"}
    assert steps[:5] == [own, own, own, set(), own]
    assert steps[5:10] == [fused, fused, fused, set(), fused]
    assert steps[10:] == [own, set(), own]


HISTORY = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i, batch in enumerate([4, 8, 12, 4, 4, 8, 12, 4]):
    model(torch.randn(batch, 16)).sum().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_each_variant_has_its_own_history_of_sizes(job):
    done = job(HISTORY, [{"step": 4, "by": "at", "settings": {"options.epilogue_fusion": "false"}}])
    assert done.code == 0, done.err[-3000:]
    compiles = [bool(c) for _, _, c in done.said("step")]
    assert compiles == [True, True, False, False, True, True, False, False]  # static first, then dynamic, both times
    triggers = [e["trigger"] for e in done.of("compile") if e["trigger"] != "backward"]
    assert triggers == ["first", "recompile", "variant", "recompile"]
    recompile = [e for e in done.of("compile") if e["trigger"] == "recompile"]
    assert all("size" in e["cause"] for e in recompile)
