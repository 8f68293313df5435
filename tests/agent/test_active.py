# SPDX-License-Identifier: Apache-2.0
"""Is it on: each state of a unit and of a setting on real torch, with its reason; nothing of the kind in a clean job."""

from __future__ import annotations

from typing import Any

HEAD = """
import gc, os, sys, torch, lab
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


def last(done: Any, unit: int = 0) -> dict[str, Any]:
    assert done.code == 0 and done.faults == [], (done.err[-3000:], done.faults)
    return done.of("active", unit=unit)[-1]


def test_a_clean_job_is_on(job):
    done = job(HEAD + "steps(torch.compile(net), 40)")
    told = last(done)
    assert (told["state"], told["calls"], told["compiled"], told["limited"], told["skipped"]) == ("on", told["looked"], told["looked"], 0, 0), told
    assert told["entered"] == told["calls"] >= 5 and told["ids"] == ["0/0"] and told["ran"] == 0 and told["since"] == 1
    assert not any("trouble" in one for one in done.of("active")), done.of("active")
    assert told["settings"] == {
        "cudagraphs": "off", "shape_padding": "n/a: no effect on CPU", "autotune": "off", "dynamic": "static"
    }  # fmt: skip
