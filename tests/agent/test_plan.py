from __future__ import annotations

STEPS = """
import json, torch, lab
torch.manual_seed(0)
net = lab.Net()
model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
w = lab.Watch()
for i in range(14):
    model(torch.randn(4, 16)).square().mean().backward()
    opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
"""


def test_plan_acts_at_its_steps(job):
    plan = [
        {"step": 3, "by": "at", "settings": {"options.epilogue_fusion": "false"}},
        {"step": 5, "by": "at", "settings": {"scope": "eager"}},
        {"step": 7, "by": "at", "settings": {"scope": "regional"}},
        {"step": 9, "by": "at", "settings": {"as-written": ""}},
        {"step": 11, "by": "at", "settings": {"options.epilogue_fusion": "false", "scope": "as-written"}},
    ]
    done = job(STEPS, plan)
    assert done.code == 0, done.err
    steps = done.said("step")
    print(*steps, sep="\n")
    print(*done.events, sep="\n")
    assert done.faults == []
    ran = [set(s[1]) for s in steps]
    fused = "epilogue_fusion=False"
    assert ran[:3] == [{"written"}] * 3
    assert ran[3:5] == [{fused}] * 2
    assert ran[5:7] == [set()] * 2
    assert steps[7][1] == {fused: 6} or set(steps[7][1]) == {fused}
    assert ran[9:11] == [{"written"}] * 2 and steps[9][2] == 0
    assert ran[11:] == [{fused}] * 3 and steps[11][2] == 0
    assert done.switches() == [(0, "applied", 3), (1, "applied", 5), (2, "applied", 7), (3, "applied", 9), (4, "applied", 11)]
