# SPDX-License-Identifier: Apache-2.0
"""Where steps end: counted from outside by what ran in each pass of the job's own loop."""

from __future__ import annotations

FUSED = {"epilogue_fusion=False"}
OWN = {"written"}
CHANGE = {"options.epilogue_fusion": "false"}


def ran(done):
    return [set(r) for _, r, _ in done.said("step")]


def check(done, records=None):
    assert done.code == 0, done.err[-3000:]
    assert done.faults == []
    if records is not None:
        assert [r["step"] for r in done.records] == list(range(records))


ACCUMULATE = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.Adam(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(6):
    for _ in range(3):
        model(torch.randn(4, 16)).sum().backward()
    opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_accumulation(job):
    done = job(ACCUMULATE, [{"step": 2, "by": "at", "settings": CHANGE}, {"step": 4, "by": "at", "settings": {"scope": "eager"}}])
    check(done, 6)
    assert ran(done) == [OWN, OWN, FUSED, FUSED, set(), set()]
    assert done.said("step")[3][1] == {"epilogue_fusion=False": 3}


IN_BACKWARD = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opts = {p: torch.optim.SGD([p], 1e-3) for p in net.parameters()}
for p in net.parameters():
    p.register_post_accumulate_grad_hook(lambda p: [opts[p].step(), opts[p].zero_grad(), None][-1])
w = lab.Watch()
for i in range(8):
    model(torch.randn(4, 16)).sum().backward()
    if i == 4:
        with torch.no_grad(): model(torch.randn(4, 16))
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_optimizer_in_backward(job):
    plan = [{"step": 2, "by": "at", "settings": CHANGE}, {"step": 4, "by": "at", "settings": {"scope": "eager"}}, {"step": 6, "by": "at", "settings": {"as-written": ""}}]
    done = job(IN_BACKWARD, plan)
    check(done, 7)
    assert ran(done) == [OWN, OWN, FUSED, FUSED, set(), set(), OWN, OWN]
    assert [e["ran"] for e in done.of("switch", status="applied")] == [{"Net": "variant"}, {"Net": "eager"}, {"Net": "as written"}]


COMPILED_STEP = """
import json, sys, torch, lab
how = sys.argv[1]
net = lab.Net(1); opt = torch.optim.Adam(net.parameters(), 1e-3)
if how == "whole":
    @torch.compile
    def train(x):
        loss = net(x).square().mean(); loss.backward(); opt.step(); opt.zero_grad(); return loss
else:
    model = torch.compile(net)
    if how == "bound":
        opt.step = torch.compile(opt.step)
        step = lambda: opt.step()
    else:
        @torch.compile
        def step(): opt.step()
    def train(x):
        model(x).square().mean().backward(); step(); opt.zero_grad()
w = lab.Watch()
for i in range(10):
    train(torch.randn(4, 16))
    print("step", json.dumps([i, *w.look()]), flush=True)
import torch._dynamo.convert_frame as cf
print("codes", json.dumps([c.co_filename for r in cf.input_codes.seen if (c := r()) is not None and "inductop_agent" in c.co_filename and not c.co_filename.endswith("_inductop.py")]))
"""


def test_compiled_optimizer_step(job):
    import sys

    plan = [{"step": 4, "by": "at", "settings": CHANGE}, {"step": 6, "by": "at", "settings": {"as-written": ""}}, {"step": 8, "by": "at", "settings": {"scope": "eager"}}]
    for how in ("bound", "function", "whole"):
        done = job(COMPILED_STEP, plan, args=lambda file: [sys.executable, str(file), how])  # noqa: B023
        check(done, 10)
        steps = done.said("step")
        assert ran(done) == [OWN] * 4 + [FUSED] * 2 + [OWN] * 2 + [set()] * 2, (how, steps)
        assert [steps[i][2] for i in (5, 6, 7, 8, 9)] == [0] * 5, (how, steps)
        assert [e["status"] for e in done.of("switch")] == ["applied"] * 3
        assert done.said("codes") == [[]], how  # Dynamo has not looked at anything of ours; the fake core stands for C


SCALER = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
w = lab.Watch()
for i in range(8):
    x = torch.randn(4, 16)
    if i == 3: x[:] = float("inf")
    scaler.scale(model(x).sum()).backward(); scaler.step(opt); scaler.update(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_grad_scaler(job):
    done = job(SCALER, [{"step": 5, "by": "at", "settings": CHANGE}])
    check(done, 7)
    assert [r["step"] for r in done.records if r["why"] & 32] == [3]
    assert ran(done) == [OWN] * 6 + [FUSED] * 2  # the skipped one joined the next


INFERENCE = """
import json, sys, torch, lab
net = lab.Net(2).eval()
if sys.argv[1] == "regional":
    for b in net.blocks: b.compile()
    model = net
else:
    model = torch.compile(net, fullgraph=sys.argv[1] == "fullgraph")
w = lab.Watch()
for i in range(10):
    with torch.no_grad(): model(torch.randn(4, 16))
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_inference_without_an_optimizer(job):
    import sys

    plan = [{"step": 2, "by": "at", "settings": CHANGE}, {"step": 4, "by": "at", "settings": {"scope": "eager"}}, {"step": 6, "by": "at", "settings": {"as-written": ""}}, {"step": 8, "by": "at", "settings": {"scope": "eager"}}]
    for how in ("whole", "fullgraph", "regional"):
        done = job(INFERENCE, plan, args=lambda file: [sys.executable, str(file), how])  # noqa: B023
        check(done, 9)
        fused = {"epilogue_fusion=False,fullgraph"} if how == "fullgraph" else FUSED
        assert ran(done) == [OWN] * 2 + [fused] * 2 + [set()] * 2 + [OWN] * 2 + [set()] * 2, how
        assert [e["status"] for e in done.of("switch")] == ["applied"] * 4, how


EVALUATED_FIRST = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
with torch.no_grad():
    for _ in range(5): model(torch.randn(4, 16))
w = lab.Watch()
for i in range(4):
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    with torch.no_grad(): model(torch.randn(4, 16))
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_evaluation_counts_no_steps(job):
    done = job(EVALUATED_FIRST, [{"step": 2, "by": "at", "settings": CHANGE}])
    check(done, 4)
    assert ran(done)[2:] == [{*FUSED}, {*FUSED}] and "epilogue_fusion=False" in done.said("step")[1][1]


PHASES = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
a, b = torch.optim.Adam(net.parameters(), 1e-3), torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(30):
    o = a if i < 3 or i > 6 else b
    model(torch.randn(4, 16)).sum().backward(); o.step(); o.zero_grad()
print("end")
"""


def test_an_optimizer_that_left_the_cycle(job):
    done = job(PHASES)
    check(done)
    # three of the first, four of the second; the first is back for 23, and paces again after 16 of them
    assert len(done.records) == 3 + 4 + (23 - 15)


UNCOMPILED = """
import json, sys, torch, lab
net = lab.Net(2)
opt = torch.optim.SGD(net.parameters(), 1e-2)
before = list(net.state_dict())
w = lab.Watch()
for i in range(12):
    net(torch.randn(4, 16)).square().mean().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
    assert list(net.state_dict()) == before
"""


def test_a_job_that_compiles_nothing(job):
    plan = [
        {"step": 2, "by": "at", "settings": {"scope": "whole"}},
        {"step": 4, "by": "at", "settings": {"scope": "regional"}},
        {"step": 6, "by": "at", "settings": {"scope": "as-written"}},
        {"step": 8, "by": "at", "settings": {"scope": "whole"}},
        {"step": 10, "by": "at", "settings": {"scope": "eager"}},
    ]
    done = job(UNCOMPILED, plan)
    check(done, 12)
    steps = done.said("step")
    assert ran(done) == [set()] * 2 + [{"plain"}] * 4 + [set()] * 2 + [{"plain"}] * 2 + [set()] * 2
    assert steps[4][1] == {"plain": 2} and steps[8][2] == 0
    assert [e["status"] for e in done.of("switch")] == ["applied"] * 5
    assert {u["origin"] for u in done.of("unit")} == {"inductop"}


def test_a_job_that_compiles_nothing_from_the_start(job):
    done = job(UNCOMPILED, [{"step": 0, "by": "set", "settings": {"scope": "whole"}}])
    check(done, 12)
    assert ran(done) == [set()] + [{"plain"}] * 11
    assert done.switches() == [(0, "applied", 1)]  # its models are known after the first step
    assert done.of("switch")[0]["ran"] == {"Net": "variant"}
    assert [r["variant"] != 0 for r in done.records] == [False] + [True] * 11
