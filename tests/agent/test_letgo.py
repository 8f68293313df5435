# SPDX-License-Identifier: Apache-2.0
"""Settings that are let go of: their versions are freed, all others stay, and the settings work again when they are wanted again."""

from __future__ import annotations

JOB = """
import gc, json, weakref, torch, lab
from inductop_agent import layout, variants

net = lab.Net(2); model = torch.compile(net)
own = torch.compile(lambda x: x * 2 + 1)
opt = torch.optim.SGD(net.parameters(), 1e-2)
other = {"options.epilogue_fusion": "false"}
codes, x = [], torch.randn(4, 16)

def mine():
    return [v for s, v in variants.Variant.all.items() if dict(s.options).get("epilogue_fusion") == "False"]

w = lab.Watch()
for i in range(14):
    if i == 1: lab.core().propose(1, other, 3)
    if i == 4: lab.core().propose(2, {}, 6)
    if i == 6:
        codes = [weakref.ref(m.cache_entry.code) for v in mine() for m in v.versions]
        lab.core().propose(3, {}, 8, forget=%s)
    if i == 9: lab.core().propose(4, other, 11)
    own(x); model(x).square().mean().backward(); opt.step(); opt.zero_grad()
    print("step", json.dumps([i, *w.look()]), flush=True)
    if i == 6: print("before", json.dumps(sum(c() is not None for c in codes)))
    if i == 8: gc.collect(); print("after", json.dumps([sum(c() is not None for c in codes), len(mine())]))
"""
OWN, OTHER = {"written"}, {"epilogue_fusion=False"}


def test_what_is_let_go_is_freed_and_nothing_else(job):
    done = job(JOB % "other")
    assert done.code == 0, done.err[-3000:]
    assert done.faults == [] and done.votes == {1: None, 2: None, 3: None, 4: None}
    steps = done.said("step")
    assert [set(ran) for _, ran, _ in steps] == [OWN] * 3 + [OTHER] * 3 + [OWN] * 5 + [OTHER] * 3
    assert [count for _, _, count in steps].count(0) == 11, steps  # compiles: at 0, 3 and, anew, at 11
    assert steps[8][2] == 0 and steps[11][2] > 0
    (before,), (after,) = done.said("before"), done.said("after")
    assert before > 0 and after == [0, 0]
    told = {e["id"]: e for e in done.of("switch")}
    assert told[3]["status"] == "applied" and told[3]["freed"]["versions"] == before and told[3]["freed"]["functions"] >= 1
    assert "freed" not in told[1] and told[4]["status"] == "applied"


def test_settings_in_force_and_unused_ones_are_refused(job):
    for forget in ('{"dynamic": "on"}', '{"scope": "eager"}'):
        done = job(JOB % forget)
        assert done.code == 0, done.err[-3000:]
        assert "nothing is compiled under these settings" in done.votes[3] and done.faults == []
