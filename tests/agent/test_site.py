# SPDX-License-Identifier: Apache-2.0
"""Injection: every Python process of the job is as it would be without us, torch or not."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from .conftest import SOURCE

SITE = SOURCE / "site" / "sitecustomize.py"


def both(job, script, **kw):
    seen, plain = job(script, **kw), job(script, bare=True, **kw)
    assert (seen.code, seen.out, seen.err) == (plain.code, plain.out, plain.err)
    return seen


def test_source_needs_nothing_new():
    """No syntax that an old Python cannot read; nothing imported but what every start has loaded."""
    tree = ast.parse(SITE.read_text(), feature_version=(3, 4))
    imported = {a.name for n in tree.body if isinstance(n, ast.Import) for a in n.names}
    assert imported == {"os", "sys", "sitecustomize"}
    assert not any(isinstance(n, (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal)) for n in ast.walk(tree))


def test_every_python_here_runs_as_before(tmp_path, support):
    pythons = [*Path("~/.pyenv/versions").expanduser().glob("*/bin/python"), *Path("/usr/bin").glob("python[23]")]
    code = "import sys; print([p for p in sys.path if p.endswith('/site')]); print('sitecustomize' in sys.modules); sys.exit(4)"
    for python in pythons:
        results = []
        for path in ({}, {"PYTHONPATH": str(support / "site"), "INDUCTOP_SESSION": str(tmp_path)}):
            env = {**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", **path}
            done = subprocess.run([python, "-c", code], env=env, capture_output=True, text=True)
            results.append((done.returncode, done.stdout, done.stderr))
        assert results[0] == results[1] and results[0][0] == 4, python


LOOK = """
import sys, threading
print(sorted(m for m in sys.modules if "sitecustom" in m or "inductop" in m))
print([p.split("/")[-1] for p in sys.path if p.endswith("/site")], threading.active_count())
try:
    import sitecustomize
    print("there is one")
except ImportError as error:
    print(error)
sys.exit(3)
"""


def test_without_torch_nothing_is_there(job):
    seen = both(job, LOOK)
    assert seen.code == 3 and seen.events == []


def test_flags_that_leave_us_out(job):
    for flag in ("-I", "-E", "-S", "-s", "-B"):
        both(job, "print(1)", args=[flag])


def test_the_users_own_sitecustomize_runs(job, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys\nsys.stderr.write('own site\\n')\nANSWER = 42\n")
    script = "import sitecustomize, os; print(sitecustomize.ANSWER, os.path.basename(os.path.dirname(sitecustomize.__file__)))"
    support = None
    seen = job(script, env={"PYTHONPATH_EXTRA": ""})
    assert seen.code == 1  # none yet
    path = [p for p in [support, str(own)] if p]
    for bare in (True, False):
        done = job("import os, sys\n" + script, bare=bare, args=lambda file: ["env", f"PYTHONPATH={os.pathsep.join([*(() if bare else (str(_site(job)),)), *path])}", sys.executable, str(file)])  # noqa: B023
        assert (done.code, done.out, done.err) == (0, "42 own\n", "own site\n")


def test_a_broken_sitecustomize_of_the_user_breaks_as_before(job, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("raise RuntimeError('broken by its owner')\n")
    outputs = []
    for bare in (True, False):
        paths = os.pathsep.join([*(() if bare else (str(_site(job)),)), str(own)])
        done = job("print('on')", bare=bare, args=lambda file: ["env", f"PYTHONPATH={paths}", sys.executable, str(file)])  # noqa: B023
        outputs.append((done.code, done.out, done.err))
    assert outputs[0] == outputs[1] and "broken by its owner" in outputs[0][2]


def _site(job):
    return Path(job.__closure__[[*job.__code__.co_freevars].index("support")].cell_contents) / "site"


TORCH_IN_THREAD = """
import sys, threading
def work():
    import torch
    model = torch.nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), 1e-3)
    for _ in range(3):
        model(torch.randn(2, 4)).sum().backward(); opt.step()
t = threading.Thread(target=work); t.start(); t.join()
print("done", sorted(p for p in sys.path if p.endswith("/site")))
"""


def test_torch_imported_in_a_thread(job):
    seen = both(job, TORCH_IN_THREAD)
    assert seen.code == 0 and len(seen.records) == 3


def test_dash_c_and_dash_m(job, tmp_path):
    code = "import torch; m = torch.nn.Linear(2, 2); o = torch.optim.SGD(m.parameters(), 1e-3); m(torch.ones(1, 2)).sum().backward(); o.step(); print(m.weight.shape)"
    both(job, "", args=lambda file: [sys.executable, "-c", code])
    (tmp_path / "mod.py").write_text(code)
    done = both(job, "", args=lambda file: [sys.executable, "-m", "mod"])
    assert done.code == 0 and len(done.records) == 1


LAUNCHER = """
import os, subprocess, sys, torch
import torch._dynamo
print(torch.__version__, subprocess.call([sys.executable, "-c", "print('child')"]))
"""


def test_a_launcher_stays_asleep(job):
    done = both(job, LAUNCHER)
    assert done.code == 0 and done.lines == []


WORKERS = """
import torch, sys
class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.full((4,), float(i))
if __name__ == "__main__":
    net = torch.nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 1e-3)
    model = torch.compile(net)
    for epoch in range(2):
        for context in ("fork", "spawn"):
            for batch in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=1, multiprocessing_context=context):
                model(batch).sum().backward(); opt.step(); opt.zero_grad()
    print("end", flush=True)
"""


def test_data_loader_workers_stay_asleep(job):
    done = both(job, WORKERS)
    assert done.code == 0
    assert len([line for line in done.lines if "hello" in line]) == 1 and len(done.records) == 8


FORKS = """
import os, torch
net = torch.nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 1e-3)
def train(n):
    for _ in range(n): net(torch.randn(2, 4)).sum().backward(); opt.step()
torch.set_num_threads(1)
train(2)
pid = os.fork()
if pid == 0:
    with torch.no_grad(): net(torch.randn(2, 4))
    for p in net.parameters(): p.grad = torch.zeros_like(p)
    opt.step()
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
train(2)
"""


def test_a_fork_of_a_rank_is_none(job):
    done = both(job, FORKS)
    assert done.out == "5\n" and len(done.records) == 4


RANK_BY_FORK = """
import os, torch
torch.set_num_threads(1)
pid = os.fork()
if pid == 0:
    net = torch.nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 1e-3)
    for p in net.parameters(): p.grad = torch.zeros_like(p)
    for _ in range(3): opt.step()
    os._exit(0)
print(os.waitpid(pid, 0)[1])
"""


def test_a_fork_of_a_sleeper_can_be_a_rank(job):
    done = both(job, RANK_BY_FORK)
    assert len(done.records) == 3


GROUP = """
import torch
net = torch.nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 1e-3)
opt.step()
"""


def test_group_and_rank(job):
    elastic = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "abc", "TORCHELASTIC_RESTART_COUNT": "2", "ROLE_NAME": "train"}
    done = job(GROUP, env=elastic)
    hello = done.lines[0]["hello"]
    assert (hello["group"], hello["slot"]) == ("abc/2/train", 1)
    told = done.of("rank")[0]
    assert (told["rank"], told["world"], told["local_rank"], told["restart"]) == (1, 4, 1, 2)
    alone = job(GROUP).lines[0]["hello"]
    kind, pid, began = alone["group"].split("/")
    assert kind == "pid" and int(pid) == alone["pid"] and int(began) > 0


BROKEN_CORE = """
import torch
net = torch.nn.Linear(4, 1); model = torch.compile(net); opt = torch.optim.SGD(net.parameters(), 1e-3)
for _ in range(3):
    model(torch.randn(2, 4)).sum().backward(); opt.step()
print("end")
"""


def test_a_core_that_does_not_load_costs_nothing(tmp_path):
    from .conftest import LOG_STAMP, support_folder

    support = support_folder(tmp_path / "support")
    (support / "agent" / "inductop_agent" / "_inductop.py").unlink()
    (support / "agent" / "inductop_agent" / "_inductop.py").write_text("raise ImportError('no such ABI')\n")
    (tmp_path / "start.json").write_text('{"plan": [{"step": 1, "by": "at", "settings": {"scope": "eager"}}]}')
    env = dict(os.environ, PYTHONPATH=str(support / "site"), INDUCTOP_SESSION=str(tmp_path), OMP_NUM_THREADS="1")
    done = subprocess.run([sys.executable, "-c", BROKEN_CORE], env=env, capture_output=True, text=True)
    alone = subprocess.run([sys.executable, "-c", BROKEN_CORE], env=dict(os.environ, OMP_NUM_THREADS="1"), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout) == (0, "end\n")
    assert LOG_STAMP.sub("", done.stderr) == LOG_STAMP.sub("", alone.stderr)
