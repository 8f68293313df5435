# SPDX-License-Identifier: Apache-2.0
"""Observing alone changes nothing; copies and files see plain torch whatever is applied."""

from __future__ import annotations

import re

from .conftest import torch_has

BITS = """
import hashlib, io, json, sys, torch
from torch.optim.swa_utils import AveragedModel
class Block(torch.nn.Module):
    def __init__(self, d=16):
        super().__init__(); self.n = torch.nn.LayerNorm(d); self.a = torch.nn.Linear(d, 2 * d); self.b = torch.nn.Linear(2 * d, d); self.drop = torch.nn.Dropout(0.1)
    def forward(self, x): return x + self.drop(self.b(torch.nn.functional.gelu(self.a(self.n(x)))))
torch.manual_seed(0)
net = torch.nn.Sequential(*[Block() for _ in range(2)])
model = torch.compile(net) if sys.argv[1] != "eager" else net
opt = torch.optim.AdamW(net.parameters(), 1e-2)
if sys.argv[1] == "step":
    opt.step = torch.compile(opt.step)
for i in range(8):
    model(torch.randn(4, 16)).square().mean().backward(); opt.step(); opt.zero_grad()
digest = hashlib.sha256(b"".join(v.numpy().tobytes() for v in net.state_dict().values())).hexdigest()
file = io.BytesIO(); torch.save(net.state_dict(), file)
print(json.dumps([digest, list(model.state_dict()), len(file.getvalue()), sorted(k for k in sys.modules if "sitecustom" in k)]))
"""


def test_observing_changes_no_bit(job):
    import sys

    for how in ("whole", "step", "eager"):
        seen = job(BITS, args=lambda file: [sys.executable, str(file), how])  # noqa: B023
        plain = job(BITS, args=lambda file: [sys.executable, str(file), how], bare=True)  # noqa: B023
        assert seen.code == plain.code == 0, seen.err + plain.err
        stamp = re.compile(r"^W\d+ [\d:.]+ \d+ ", re.M)
        assert (seen.out, stamp.sub("", seen.err)) == (plain.out, stamp.sub("", plain.err)), how
        assert len(seen.records) == 8 and seen.faults == []


FILES = """
import copy, gc, io, json, pickle, re, sys, torch
from multiprocessing.reduction import ForkingPickler
from torch.optim.swa_utils import AveragedModel
watched = len(sys.argv) > 1
if watched: import lab
class Net(torch.nn.Module):
    def __init__(self, d=16):
        super().__init__(); self.a = torch.nn.Linear(d, d); self.b = torch.nn.Linear(d, d)
    def forward(self, x): return self.b(torch.nn.functional.gelu(self.a(x)))
torch.manual_seed(0)
net = Net(); m = torch.compile(net); x = torch.randn(4, 16)
net2 = Net(); net2.compile()
opt = torch.optim.SGD([*net.parameters(), *net2.parameters()], 1e-3)
for i in range(4):
    (m(x).sum() + net2(x).sum()).backward(); opt.step(); opt.zero_grad()
out = {}
def saved(obj):
    f = io.BytesIO(); torch.save(obj, f); f.seek(0)
    again = torch.load(f, weights_only=False); again(x)
    return [len(f.getvalue()), b"inductop" in f.getvalue()]
out["keys"] = [list(m.state_dict()), list(net2.state_dict())]
def size(data): return len(re.sub(rb"\\d{9,}", b"address", bytes(data)))  # a storage is named by its address
out["pickle"] = [size(pickle.dumps(m)), b"inductop" in pickle.dumps(m), size(ForkingPickler.dumps(m))]
out["saved"] = [saved(m), saved(net2)]
again = pickle.loads(pickle.dumps(m)); again(x)
copies = [copy.deepcopy(m), copy.deepcopy(net2), copy.copy(m), AveragedModel(m), AveragedModel(net2)]
for c in copies: c(x)
out["classes"] = sorted({type(c).__name__ for c in copies})
print(json.dumps(out))
if watched:
    lab.RAN.clear(); copies[0](x); again(x)
    print("copies", json.dumps(lab.RAN))
"""


def test_copies_and_files_see_plain_torch(job):
    import sys

    plain = job(FILES, bare=True)
    assert plain.code == 0, plain.err
    plans = {"observed": [], "variant": [{"step": 2, "by": "at", "settings": {"options.epilogue_fusion": "false"}}]}
    plans["eager"] = [{"step": 2, "by": "at", "settings": {"scope": "eager"}}]
    plans["dynamic"] = [{"step": 2, "by": "at", "settings": {"dynamic": "on", "fullgraph": "on"}}]
    for name, plan in plans.items():
        done = job(FILES, plan, args=lambda file: [sys.executable, str(file), "1"])
        assert done.code == 0, (name, done.err[-2000:])
        assert done.out.splitlines()[0] == plain.out.splitlines()[0], name
        assert done.faults == []
        assert all(e["status"] == "applied" for e in done.of("switch"))
        if name == "variant":  # what is born after a switch takes the settings in force
            assert done.said("copies") == [{"epilogue_fusion=False": 2}]


CHECKPOINT_KEYS = """
import json, torch, lab
net = lab.Net(2); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
keys = set()
for i in range(10):
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    keys.add((tuple(net.state_dict()), tuple(model.state_dict()), tuple(n for n, _ in net.named_parameters()), tuple(n for n, _ in net.named_modules())))
print(len(keys))
"""


def test_keys_are_the_same_in_every_mode(job):
    scopes = ["regional", "eager", "whole", "regional", "as-written"]
    done = job(CHECKPOINT_KEYS, [{"step": 2 + i, "by": "at", "settings": {"scope": s}} for i, s in enumerate(scopes)])
    assert done.code == 0, done.err
    assert done.out == "1\n" and [e["status"] for e in done.of("switch")] == ["applied"] * 5


TELLS_GUARDS = torch_has("_dynamo/utils.py", "guard_latency_us")
COMPILES = """
import torch
import torch._functorch.config
torch._functorch.config.enable_autograd_cache = False  # else it is read in one piece
net = torch.nn.Linear(4, 4)
model = torch.compile(net)
o = torch.optim.SGD(net.parameters(), 0.1)
for i in range(2):
    model(torch.randn(2 + i, 4)).sum().backward(); o.step()
"""


def test_a_compilation_tells_what_it_does_just_now(job):
    done = job(COMPILES)
    assert done.code == 0 and done.faults == [], done.err
    told: dict[tuple[str, str], list[str]] = {}
    for one in done.of("compiling"):
        if one["state"] == "begin":
            key = one["id"], one["part"]
        told.setdefault(key, []).append(one.get("phase") or one["state"])
        assert one["id"] == key[0] and (one["state"] == "end" or one["part"] == key[1]), one
    assert all(phases[0] == "begin" and phases[-1] == "end" for phases in told.values()), told
    first = told["0/0", "forward"]
    assert first[1:3] == ["dynamo", "aot"] and first[-2] == "guards", told
    assert len({id for id, _ in told}) == 2, told  # the second size is compiled again
    graphs = [one["graph"] for one in done.of("compile") if one["trigger"] != "backward"]
    assert all(graph["guards"] > 0 and ("guard_us" in graph) == TELLS_GUARDS and graph.get("guard_us", 1) > 0 for graph in graphs), graphs
