# SPDX-License-Identifier: Apache-2.0
"""A hundred switches in one run, with batches that grow and shrink: no memory but that of the variants, and nothing left of the model."""

from __future__ import annotations

SWITCHES, EVERY, WARM = 100, 3, 40

SOAK = """
import ctypes, gc, json, os, sys, weakref, torch, lab
import torch._dynamo.utils as dynamo_utils
SWITCHES, EVERY, WARM = {numbers}
OURS = [getattr(lab.agent(room), name) for room, name in (("units", "Unit"), ("units", "State"), ("guard", "Guard"), ("regional", "InPlace"), ("runs", "Looker"))]
libc = ctypes.CDLL(None)

def ours():
    return sorted(type(o).__name__ for o in gc.get_objects() if type(o) in OURS)

def look():
    "Everything that could grow, with the fake core's own notes out of the way."
    for kept in (lab.core().EVENTS, lab.core().STEPS): kept.clear()
    gc.collect(); libc.malloc_trim(0)
    objects = gc.get_objects()
    tensors = [o for o in objects if issubclass(type(o), torch.Tensor)]
    entries = sum(len(lab.agent("layout").insides.entries(code)) for code in lab.agent("layout").insides.codes())
    rss = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return dict(objects=len(objects), tensors=len(tensors), bytes=sum(t.untyped_storage().nbytes() for t in tensors if not t.is_sparse and type(t) in (torch.Tensor, torch.nn.Parameter)),
                entries=entries, compiles=len(dynamo_utils.get_compilation_metrics()), rss=rss, ours=len(ours()))

def train():
    torch.manual_seed(0)
    net = lab.Net(2); model = torch.compile(net, backend="aot_eager")
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    sizes, data = list(range(2, 34, 2)) + list(range(34, 2, -2)), torch.randn(64, 16)
    for step in range(SWITCHES * EVERY + 6):
        if step in (WARM * EVERY + 1, SWITCHES * EVERY + 1): print("look", json.dumps(look()), flush=True)
        model(data[:sizes[step % len(sizes)]]).square().mean().backward()
        optimizer.step(); optimizer.zero_grad()
    print("alive", json.dumps([len(lab.agent("units").all_units()), len(ours())]))
    block = net.blocks[0]
    return [weakref.ref(o) for o in (net, model, optimizer, block, *net.parameters())]

gone = train()
gc.collect()
print("left", json.dumps([sum(ref() is not None for ref in gone), len(lab.agent("units").all_units()), ours()]))
"""

SETTINGS = ({"dynamic": "on"}, {"scope": "regional"}, {"fullgraph": "on"}, {"scope": "eager"}, {"backend": "eager"}, {})


def test_a_hundred_switches_keep_nothing(job):
    plan = [{"step": (i + 1) * EVERY, "by": "at", "settings": {"as-written": "", **SETTINGS[i % len(SETTINGS)]}} for i in range(SWITCHES)]
    done = job(SOAK.replace("{numbers}", f"{SWITCHES}, {EVERY}, {WARM}"), plan)
    assert done.code == 0, done.err[-3000:]
    assert done.faults == []
    assert [(e["status"], e.get("reason")) for e in done.of("switch")] == [("applied", None)] * SWITCHES
    before, after = done.said("look")
    # what was compiled was compiled till then: the same, to the last entry, tensor and byte of a tensor
    for name in ("compiles", "entries", "ours", "tensors"):
        assert after[name] == before[name], (name, before, after)
    assert abs(after["bytes"] - before["bytes"]) < 64 * 1024, (before, after)  # a batch is larger than the other
    assert after["objects"] < before["objects"] + 1000, (before, after)
    assert after["rss"] < before["rss"] + 4 * 1024 * 1024, (before, after)
    assert done.said("alive")[0][0] >= 1 and done.said("alive")[0][1] >= 3  # the look finds what is there
    assert done.said("left") == [[0, 0, []]]
