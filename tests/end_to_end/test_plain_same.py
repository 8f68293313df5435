# SPDX-License-Identifier: Apache-2.0
"""Under inductop a job ends as without it: the same exit code, the same bytes on both streams, the same weights."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import (
    INDUCTOP,
    JOBS,
    PYTHON,
    SESSIONS,
    Live,
    Result,
    author,
    environment,
    is_alive,
    last_line,
    left_behind,
    plain,
    run,
    wait_for,
)

NOISE = re.compile(r"^.*(?:W\d{4} [\d:.]+ \d+|\[W\d+ [\d:.]+).*$|^\s*$|\(pid: \d+\)|at 0x[0-9a-f]+|time +: .*|exitcode.*pid.*", re.M)


def bare(text: str) -> list[str]:
    """Without our own lines, and without times and pids of torch's own warnings."""
    lines = [line for line in text.splitlines() if not line.startswith("inductop:")]
    return [NOISE.sub("", line) for line in lines]


def same(ours: Result, theirs: Result, err: bool = True) -> None:
    assert ours.code == theirs.code, ours.report()
    assert ours.out == theirs.out, ours.report()
    if err:
        assert ours.job_err == theirs.job_err, (ours.job_err, theirs.job_err)


def both(job: str | list[str], *args: str, env: dict[str, Any] | None = None, **more: Any) -> tuple[Result, Result]:
    with Live(job, *args, env=env, truth=False, **more) as live:
        ours = live.finish()
    env = dict(env or {})
    return ours, plain(job, more.get("ranks", 1), env=env)


def script(name: str, *words: str) -> list[str]:
    return [PYTHON, str(JOBS / f"{name}.py"), *words]


# ---- how jobs end


@pytest.mark.parametrize("code", [0, 3])
def test_exit_code(code: int) -> None:
    same(*both("odd_exit", env={"EXIT": code}))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_a_signal_that_ends_the_job(name: str) -> None:
    ours, theirs = both("odd_exit", env={"SIGNAL": name})
    same(ours, theirs)
    assert ours.code == -getattr(signal, name)


def test_exit_code_after_training() -> None:
    same(*both("odd_exit", env={"EXIT": 3, "TRAIN": 1, "STEPS": 5}))


def test_an_exception_of_the_authors() -> None:
    ours, theirs = both("odd_raise")
    same(ours, theirs)
    assert ours.code == 1 and "author's own mistake" in ours.err


@pytest.mark.parametrize(("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 5, "terminated")])
def test_a_signal_to_the_front_reaches_the_job_once(number: int, code: int, word: str) -> None:
    with Live("odd_interrupt", truth=False) as live:
        live.wait(lambda: "training" in live.out, what="training")
        live.signal(live.front.pid, number)
        result = live.finish()
    assert result.code == code, result.report()
    assert result.out.count(word) == 1


def test_an_interrupt_of_the_whole_group_reaches_the_job_once() -> None:
    with Live("odd_interrupt", truth=False) as live:
        live.wait(lambda: "training" in live.out, what="training")
        os.killpg(live.front.pid, signal.SIGINT)
        result = live.finish()
    assert result.code == 130, result.report()
    assert result.out.count("interrupted") == 1


def test_command_not_found() -> None:
    done = subprocess.run([INDUCTOP, "--headless", "--", "no-such-command-here"], capture_output=True, text=True, env=environment())
    assert done.returncode == 127 and "no-such-command-here" in done.stderr and done.stdout == ""


# ---- jobs of all kinds


FORKS = ["odd_fork", "odd_workers", "odd_spawn", "odd_thread"]


@pytest.mark.parametrize("job", [pytest.param(j, marks=pytest.mark.slow) for j in FORKS])
def test_forks_workers_spawns_and_threads(job: str) -> None:
    ours, theirs = both(job, env={"STEPS": 20})
    same(ours, theirs, err=False)
    assert bare(ours.err) == bare(theirs.err)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_workers_that_are_new_interpreters(start: str) -> None:
    ours, theirs = both("odd_workers", env={"STEPS": 10, "START": start})
    same(ours, theirs)
    assert {e["state"] for e in ours.of("rank")} <= {"hooked", "running", "finished", "exited", "asleep"}
    assert len({e["pid"] for e in ours.of("rank") if e["state"] == "hooked"}) == 1, ours.report()


@pytest.mark.slow
@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_ranks_started_by_the_script_itself(start: str) -> None:
    ours, theirs = both("odd_spawn", env={"START": start})
    same(ours, theirs, err=False)
    assert len({e["pid"] for e in ours.of("rank") if e["state"] == "hooked"}) == 2, ours.report()


def test_no_torch() -> None:
    ours, theirs = both(script("odd_notorch", "a", "b c"))
    same(ours, theirs)
    assert not ours.of("rank", state="hooked")


def test_stdin_is_the_jobs(tmp_path: Path) -> None:
    text = tmp_path / "in"
    text.write_bytes(b"x" * 300000)
    for words in ([], [INDUCTOP, "--headless", "--quiet", "--"]):
        with open(text, "rb") as file:
            done = subprocess.run([*words, *script("odd_notorch")], stdin=file, capture_output=True, text=True, env=environment())
        assert done.returncode == 0 and done.stdout.startswith("300000 bytes read"), done


def test_the_users_own_sitecustomize_runs_too() -> None:
    ours, theirs = both("plain", env={"STEPS": 5, "PYTHONPATH": str(JOBS / "own_site")})
    same(ours, theirs)
    assert ours.err.count("own sitecustomize") == theirs.err.count("own sitecustomize") == 1
    assert ours.of("rank", state="hooked")


def test_dash_c() -> None:
    code = (JOBS / "plain.py").read_text()
    ours, theirs = both([PYTHON, "-c", code], env={"STEPS": 5})
    same(ours, theirs)
    assert ours.of("unit"), ours.report()


def test_dash_m() -> None:
    ours, theirs = both([PYTHON, "-m", "odd_package", "a", "b"])
    same(ours, theirs)
    assert ours.of("unit"), ours.report()


@pytest.mark.parametrize("flag", ["-S", "-E", "-I"])
def test_an_interpreter_that_takes_no_sitecustomize(flag: str) -> None:
    same(*both([PYTHON, flag, "-c", "import sys; print(sys.flags, 'sitecustomize' in sys.modules and 'inductop' in sys.path[0])"]))


def test_a_child_in_the_background_outlives_the_job(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    line = f"(trap '' HUP; for i in 1 2 3 4 5 6; do [ -e {mark}.go ] && break; sleep 0.5; done; echo late > {mark}) & echo $!; exit 6"
    ours, theirs = both(["sh", "-c", line])
    assert ours.code == theirs.code == 6
    assert len(ours.out.split()) == len(theirs.out.split()) == 1
    assert is_alive(int(ours.out)) or mark.exists()
    Path(f"{mark}.go").touch()
    wait_for(mark.exists, 20, "the child in the background was ended")


def interpreters() -> list[str]:
    homes = sorted(Path.home().glob(".pyenv/versions/*/bin/python")) + [Path(p) for p in ("/usr/bin/python2.7", "/usr/bin/python3.8")]
    found = [str(p) for p in homes if p.exists() and re.search(r"2\.7|3\.[6-9]\b|3\.8", str(p))]
    known = found or [p for p in (shutil.which("python2"),) if p is not None]
    return [p for p in known if subprocess.run([p, "-c", ""], capture_output=True).returncode == 0][:4] or ["fake"]  # a shim may stand for none


@pytest.mark.parametrize("python", interpreters())
def test_old_interpreters(python: str, tmp_path: Path) -> None:
    if python == "fake":  # none on this machine: a program that reads its PYTHONPATH as an old one would
        fake = tmp_path / "python2.7"
        fake.write_text("#!/bin/sh\necho old python 2\necho and stderr >&2\nexit 4\n")
        fake.chmod(0o755)
        python = str(fake)
    ours, theirs = both([python, str(JOBS / "odd_old.py")])
    same(ours, theirs)
    assert ours.code == 4 and ours.out.startswith("old python")


def test_a_job_that_ends_at_once_leaves_nothing() -> None:
    with Live(["true"], truth=False) as live:
        result = live.finish()
        wait_for(lambda: not left_behind(live.name), 20, lambda: str(left_behind(live.name)))
    assert result.code == 0 and result.out == ""
    assert result.of("job")[-1]["state"] == "ended"


def test_a_session_that_cannot_be_made_lets_the_job_run() -> None:
    """The folder of sessions belongs to somebody else, or is no folder: the job comes first."""
    done = subprocess.run([INDUCTOP, "--headless", "--", PYTHON, "-c", "print('ran')"], capture_output=True, text=True,
                          env=environment({"INDUCTOP_TMPDIR": "/dev/null"}))  # fmt: skip
    assert done.returncode == 0 and done.stdout == "ran\n"
    assert all(line.startswith("inductop:") for line in done.stderr.splitlines()) and done.stderr


# ---- observing only


@pytest.mark.parametrize(("job", "ranks"), [("plain", 1), ("never_compiles", 1), pytest.param("ddp", 2, marks=pytest.mark.slow),
                                            pytest.param("gan", 1, marks=pytest.mark.slow),
                                            pytest.param("compiled_optimizer", 1, marks=pytest.mark.slow),
                                            pytest.param("checkpoint_reentrant", 1, marks=pytest.mark.slow)])  # fmt: skip
def test_observing_leaves_the_weights_bit_for_bit(job: str, ranks: int) -> None:
    ours = run(job, ranks=ranks, env={"STEPS": 25}, truth=False)
    theirs = author(job, ranks, env={"STEPS": 25})
    for rank in range(ranks):
        assert last_line(ours.out, rank) == last_line(theirs.out, rank)
    assert sorted(ours.out.splitlines()) == sorted(theirs.out.splitlines())
    assert all(e["variant"] == 0 for e in ours.of("step")) and len(ours.of("step")) == 25 * ranks


@pytest.mark.parametrize("change", ["scope=eager", "scope=regional", "scope=whole", "dynamic=on", "backend=aot_eager"])
def test_names_in_the_state_dict_stay(change: str) -> None:
    ours = run("plain", "--set", change, env={"STEPS": 3})
    assert last_line(ours.out)["keys"] == last_line(author("plain", env={"STEPS": 3}).out)["keys"]


ERROR_ON_RECOMPILE = """
import torch
torch._dynamo.config.error_on_recompile = True
f = torch.compile(lambda x: x.sin(), backend="eager", dynamic=False)
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
optimizer.step()
f(torch.ones(3)); f(torch.ones(4))
"""


def test_a_recompile_that_is_an_error_shows_the_jobs_own_frames_only() -> None:
    ours, theirs = both([PYTHON, "-c", ERROR_ON_RECOMPILE])
    assert theirs.code == 1 and "RecompileError" in theirs.err
    same(ours, theirs)


def test_nothing_of_ours_is_in_the_jobs_environment() -> None:
    code = "import os; print(sorted(k for k in os.environ if 'INDUCTOP' in k)); print(os.environ['PYTHONPATH'].count(os.pathsep))"
    with Live([PYTHON, "-c", code], truth=False, env={"PYTHONPATH": "/tmp"}) as live:
        result = live.finish()
    before = {k for k in os.environ if "INDUCTOP" in k}  # of the one who runs the tests: handed on as all else
    assert result.out == f"{sorted(before | {'INDUCTOP_SESSION'})}\n1\n", result.report()


def test_no_thread_no_descriptor_and_no_file_is_added(tmp_path: Path) -> None:
    code = "import os, threading; print(len(threading.enumerate()), sorted(os.listdir('/proc/self/fd')), os.listdir('.'))"
    ours, _ = both([PYTHON, "-c", code], cwd=tmp_path)
    same(ours, plain([PYTHON, "-c", code], cwd=tmp_path))


def test_sessions_are_private() -> None:
    with Live("never_compiles", env={"STEPS": 1000000, "PACE": 5}, truth=False) as live:
        live.wait_step(3)
        assert live.session.is_dir() and live.session.stat().st_mode & 0o777 == 0o700
        assert SESSIONS.stat().st_mode & 0o777 == 0o700 and not SESSIONS.is_symlink()
        for file in live.session.iterdir():
            assert file.stat().st_mode & 0o077 == 0 or file.is_socket(), file
        live.stop()
        assert live.finish().code == 0
