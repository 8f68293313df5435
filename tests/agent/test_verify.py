# SPDX-License-Identifier: Apache-2.0
"""verify=on: what is compiled is compared with eager, on copies; a planted fault is found, and the job trains as it would have."""

from __future__ import annotations

JOB = """
import json, torch, lab
torch.manual_seed(0)

def faulty(graph, inputs):
    class Off(torch.autograd.Function):
        @staticmethod
        def forward(context, x): return x * %(forward)s
        @staticmethod
        def backward(context, g): return g * %(backward)s
    def run(*args):
        return tuple(Off.apply(o) if isinstance(o, torch.Tensor) and o.is_floating_point() else o for o in graph(*args))
    return run

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.norm = lab.Net(2, 16, %(drop)s), torch.nn.BatchNorm1d(4)
    def forward(self, x):
        return self.norm(self.net(x))

net = Model(); model = torch.compile(net%(how)s)
opt = torch.optim.SGD(net.parameters(), 1e-2)
seen = []
next(net.parameters()).register_hook(lambda g: seen.append(1))
for i in range(7):
    if i == 1: lab.core().propose(1, {"verify": "on"}, 2)
    x = torch.randn(8, 16)
    with torch.autocast("cpu", torch.bfloat16, enabled=%(half)s):
        loss = model(x).float().square().mean()
    loss.backward(); opt.step(); opt.zero_grad()
print("job", json.dumps([len(seen), int(net.norm.num_batches_tracked), loss.item()]))
"""


def script(how: str = "", forward: float = 1.0, backward: float = 1.0, drop: float = 0.0, half: bool = False) -> str:
    return JOB % {"how": how, "forward": forward, "backward": backward, "drop": drop, "half": half}


def told(done):
    assert done.code == 0, done.err[-3000:]
    assert done.faults == [] and done.votes == {1: None}
    return done.of("verify")


def test_what_is_the_same_is_called_so(job):
    found = told(done := job(script()))
    assert [(e["verdict"], e["rule"], e["call"]) for e in found] == [("same", "close", 1), ("same", "close", 4)], found
    assert all(e["unit"] == 0 and e["error"] < 1e-3 and abs(e["gradient"] / e["eager_gradient"] - 1) < 1e-3 for e in found)
    assert done.of("active")[-1]["settings"]["verify"].startswith("same: 1 graph, error ")
    assert done.said("job")[0][:2] == [7, 7]  # hooks and buffers saw the job's own calls alone


def test_fault_in_the_forward_is_found(job):
    found = told(done := job(script(", backend=faulty", forward=1.05)))
    assert found and {e["verdict"] for e in found} == {"differs"}
    assert {e["worst"] for e in found} == {"the output"} and all(abs(e["error"] - 0.05) < 1e-3 for e in found)
    assert done.of("active")[-1]["settings"]["verify"].startswith("differs: the output is 5 % off")


def test_fault_in_the_backward_is_found(job):
    found = told(job(script(", backend=faulty", backward=0.9)))
    assert found and {e["verdict"] for e in found} == {"differs"}
    assert all(e["worst"].startswith("the gradient of self.") and abs(e["gradient"] / e["eager_gradient"] - 0.9) < 1e-3 for e in found), found
    assert all(abs(e["loss"] - e["eager_loss"]) < 1e-6 for e in found)


def test_random_numbers_are_the_same_and_left_alone(job):
    """Dropout and bfloat16: eager draws what the compiled code draws, and the job goes on as under the same options without looks."""
    found = told(done := job(script(drop=0.3, half=True)))
    assert [e["verdict"] for e in found] == ["same"] * 2, found
    alone = job(script(drop=0.3, half=True).replace('{"verify": "on"}', '{"options.fallback_random": "true"}'))
    assert done.said("job") == alone.said("job") and alone.of("verify") == []
    found = told(job(script(", backend=faulty", drop=0.3, half=True, backward=-1.0)))
    assert {e["verdict"] for e in found} == {"differs"}, found


def run_of_the_compiler(body: str) -> str:
    """The job, compiled by something that runs so."""
    begin, end = "    def run(*args):", "    return run"
    whole = script(", backend=faulty", drop=0.3)
    return whole[: whole.index(begin)] + f"{begin}\n        {body}\n" + whole[whole.index(end) :]


def test_what_is_not_written_is_found(job):
    found = told(job(run_of_the_compiler("return graph(*[a if a.requires_grad else a.clone() for a in args])")))
    assert found and {e["verdict"] for e in found} == {"differs"}
    assert all(e["worst"].startswith("what it writes into self.norm.running_") for e in found), found


def test_a_look_that_fails_leaves_the_random_numbers_alone(job):
    """In the look, where gradients are asked of no parameter of the job, the compiled code draws and raises."""
    body = "if not any(a is p for a in args for p in net.parameters()): torch.rand(3); raise RuntimeError('planted')\n        return graph(*args)"
    found = told(done := job(run_of_the_compiler(body)))
    assert [(e["verdict"], e["why"]) for e in found] == [("n/a", "it could not be run twice: RuntimeError: planted")], found
    plain = job(run_of_the_compiler("return graph(*args)").replace('{"verify": "on"}', "{}"))
    assert done.said("job") == plain.said("job")


HOOKED = """
import json, torch, lab
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
net = lab.Block(); block = torch.compile(net); opt = torch.optim.SGD(net.parameters(), 1e-2)
packed = []
def pack(t): packed.append(tuple(t.shape)); return t
def evaluate():
    with torch.no_grad(): return block(torch.ones(4, 16))
for i in range(8):
    if i == 1: lab.core().propose(1, WISH, 2)
    x = torch.randn(4, 16, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=i % 2 == 0)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        z = block(y)
    z.square().mean().backward(); opt.step(); opt.zero_grad(); evaluate()
print("job", json.dumps([len(packed), z.sum().item(), torch.is_autocast_cache_enabled()]))
"""


def test_checkpointing_and_hooks_of_the_job_see_nothing_of_it(job):
    found = told(done := job(HOOKED.replace("WISH", '{"verify": "on"}')))
    plain = job(HOOKED.replace("WISH", '{"options.fallback_random": "true"}'))
    assert done.said("job") == plain.said("job")
    assert {e["verdict"] for e in found} == {"same"} and {"gradient" in e for e in found} == {True, False}, found


OWN = """
import torch, lab
calls = []
@torch.library.custom_op("own::count", mutates_args=())
def count(x: torch.Tensor) -> torch.Tensor:
    calls.append(1)
    return x + 1
count.register_fake(torch.empty_like)
model = torch.compile(lambda x: torch.ops.own.count(x).sin(), backend="aot_eager")
net = torch.nn.Linear(16, 4); opt = torch.optim.SGD(net.parameters(), 1e-2)
for i in range(5):
    if i == 1: lab.core().propose(1, {"verify": "on"}, 2)
    model(torch.randn(4, 16)); net(torch.randn(4, 16)).sum().backward(); opt.step()
print("job", len(calls))
"""


def test_what_may_do_more_than_compute_runs_as_often_as_the_job_wants(job):
    found = told(done := job(OWN))
    assert [e["verdict"] for e in found] == ["n/a"] and found[0]["why"].startswith("it calls own.count"), found
    assert done.said("job") == [5]


def test_without_memory_for_it_nothing_is_compared(job):
    found = told(done := job(script(), env={"LOCAL_WORLD_SIZE": "1000000"}))
    assert found and all(e["verdict"] == "n/a" and e["why"].startswith("no memory headroom: it may need ") for e in found)
    assert done.of("active")[-1]["settings"]["verify"].startswith("n/a: no memory headroom")


RULE = """
import json, math, torch
from inductop_agent import accuracy

def figures(outputs, gradients=()):
    made = accuracy.Figures()
    made.outputs, made.gradients = dict(outputs), dict(gradients)
    return made

def told(a, b, exact=None, ga=None, gb=None):
    one = figures({"a": a}, {} if ga is None else {"g": ga})
    other = figures({"a": b}, {} if gb is None else {"g": gb})
    found = accuracy.judge(one, other, lambda: exact)
    return [found["verdict"], found.get("rule"), found.get("error"), found.get("why")]

torch.manual_seed(0)
x = torch.randn(5000); small = 1e-6 * x; huge = torch.where(x > 1, torch.finfo(torch.float32).min, x)
exact = x.double()
print("rule", json.dumps({
    "same": told(x, x + 1e-5), "off": told(x, 1.05 * x)[:2], "small": told(x, x, None, small, 1.05 * small)[:2],
    "zero": told(x, x, None, 0 * x, 0 * x), "nan": told(x, torch.where(x > 2, math.nan, x)), "both nan": told(x * math.nan, x * math.nan),
    "inf": told(x / 0, x / 0)[:1], "huge": told(huge, 1.1 * huge)[:1], "huge same": told(huge, torch.where(x > 1, huge, x * 1.0001))[:1],
    "hidden": told(huge, torch.where(x > 1, huge, x * 1.5))[:1], "shape": told(x, x[:-1]), "kind": told(x, x.double())[0],
    "as eager": told(x * 1.02, x * 0.98, figures({"a": exact}))[:2], "worse": told(x * 1.001, x * 0.95, figures({"a": exact}))[:2],
    "none": accuracy.judge(figures({}), figures({}), lambda: None),
}))
"""


def test_the_rule(job):
    (told,) = job(RULE).said("rule")
    assert told["same"][:2] == ["same", "close"] and told["off"] == told["small"] == ["differs", "cosine"], told
    assert told["nan"] == ["differs", "close", None, "has NaN or infinity where the other has none"]
    assert told["shape"][0] == told["kind"] == "differs" and told["shape"][3] == "is of another kind or size"
    assert told["zero"][0] == "n/a" and told["both nan"][0] == told["inf"][0] == "same"
    assert told["huge"] == ["differs"] and told["huge same"] == ["same"] and told["hidden"] == ["differs"]
    assert told["as eager"] == ["same", "float64"] and told["worse"] == ["differs", "float64"] and told["none"] is None
