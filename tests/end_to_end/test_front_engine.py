"""The engine beside the job: whatever it does costs the job nothing, and its last lines are waited for, within bounds."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from front_tools import (
    DRIVER,
    FRONT,
    Runner,
    Terminal,
    is_stopped,
    own_lines,
    read_until,
    state,
    wait_until,
    without_own_lines,
)

pytestmark = pytest.mark.skipif(bool(FRONT), reason="needs the driver's engine, which misbehaves on request")

ENDED = b"inductop: the engine ended (%s): the job goes on, its figures end here\n"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path, [])


def run(runner: Runner, behaviour: str, command: list[str]) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [*runner.prefix("--engine", behaviour), *command], capture_output=True, env=runner.env(), timeout=60
    )
    assert runner.leftovers() == []
    return done.returncode, done.stdout, done.stderr


class Held:
    """A job that runs until it is let go: prints `up`, then waits for a line."""

    def __init__(self, runner: Runner, behaviour: str, end: str = "exit 4", **kw: object) -> None:
        kw = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kw}
        script = f"echo up $$; read x; echo out; {end}"
        self.process = runner.start(["sh", "-c", script], options=("--engine", behaviour), **kw)
        assert self.process.stdout
        self.job = int(read_until(self.process.stdout.fileno(), r"up \d+\n").split()[1])
        self.runner = runner

    @property
    def engine(self) -> int:
        """The one of its processes that leads a session."""
        pids = [pid for pid, _ in self.runner.processes() if os.getsid(pid) == pid]
        assert len(pids) == 1
        return pids[0]

    def let_go(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(b"go\n", timeout=60)
        assert self.runner.leftovers() == []
        return self.process.returncode, out, err


@pytest.mark.parametrize("behaviour", ["none", "quiet"])
def test_exit_file(runner: Runner, behaviour: str) -> None:
    for command, code, text in (
        (["true"], 0, "exit 0\n"),
        (["sh", "-c", "exit 3"], 3, "exit 3\n"),
        (["sh", "-c", "kill -9 $$"], -9, "signal 9\n"),
        (["nosuchcommand"], 127, "exit 127\n"),
    ):
        assert run(runner, behaviour, command)[0] == code
        assert runner.exit_file() == text
        assert runner.session and [entry.name for entry in runner.session.iterdir()] == ["exit"]


def test_exit_file_of_an_earlier_job_is_gone_while_this_one_runs(runner: Runner) -> None:
    prefix = runner.prefix()
    assert runner.session
    runner.session.mkdir()
    (runner.session / "exit").write_text("exit 9\n")
    script = f"test -e {runner.session}/exit || echo gone"
    done = subprocess.run([*prefix, "sh", "-c", script], capture_output=True, timeout=60)
    assert done.stdout == b"gone\n" and runner.exit_file() == "exit 0\n"


def test_summary_comes_before_the_end(runner: Runner) -> None:
    assert run(runner, "summary", ["sh", "-c", "echo last >&2; exit 5"]) == (5, b"", b"last\ninductop: the summary\n")


def test_engine_that_dies_at_once_is_said_once(runner: Runner) -> None:
    held = Held(runner, "dies")
    assert held.process.stderr
    line = read_until(held.process.stderr.fileno(), "\n")
    code, out, err = held.let_go()
    assert (code, out, line.encode() + err) == (4, b"out\n", ENDED % b"exit 3")


def test_engine_killed_costs_the_job_nothing(runner: Runner) -> None:
    held = Held(runner, "summary")
    os.kill(held.engine, signal.SIGKILL)
    assert held.process.stderr
    line = read_until(held.process.stderr.fileno(), "\n")
    assert held.let_go() == (4, b"out\n", b"")
    assert line.encode() == ENDED % b"signal 9"


def test_stopped_engine_is_not_waited_for(runner: Runner) -> None:
    held = Held(runner, "summary")
    engine = held.engine
    os.kill(engine, signal.SIGSTOP)
    assert wait_until(lambda: is_stopped(engine))
    begun = time.monotonic()
    code, out, err = held.let_go()
    assert (code, out) == (4, b"out\n") and without_own_lines(err) == b""
    assert time.monotonic() - begun < 3


def test_engine_that_does_not_end_is_waited_for_within_a_bound(runner: Runner) -> None:
    held = Held(runner, "hangs")
    code, out, err = held.let_go()
    assert (code, out) == (4, b"out\n") and without_own_lines(err) == b""


def test_engine_that_cannot_be_started_leaves_the_job_bare(runner: Runner, tmp_path: Path) -> None:
    prefix = runner.prefix("--engine", "fails", "--inject", "/support")
    done = subprocess.run(
        [*prefix, "sh", "-c", "echo ${INDUCTOP_SESSION-none}; exit 4"], capture_output=True, env=runner.env(), timeout=60
    )
    assert (done.returncode, done.stdout) == (4, b"none\n")
    assert len(own_lines(done.stderr)) == 1 and runner.exit_file() == "exit 4\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_wait_for_the_engine(runner: Runner, number: int) -> None:
    held = Held(runner, "hangs")
    assert held.process.stdin
    held.process.stdin.write(b"go\n")
    held.process.stdin.flush()
    assert runner.session and wait_until((runner.session / "exit").exists)
    begun = time.monotonic()

    def ended() -> bool:
        if held.process.poll() is None:
            held.process.send_signal(number)
        return held.process.poll() is not None

    assert wait_until(ended) and time.monotonic() - begun < 3
    assert held.let_go()[0] == 4


def test_stop_and_continue_while_the_engine_is_waited_for(runner: Runner) -> None:
    held = Held(runner, "hangs", preexec_fn=os.setpgrp)
    assert held.process.stdin
    held.process.stdin.write(b"go\n")
    held.process.stdin.flush()
    assert runner.session and wait_until((runner.session / "exit").exists)
    os.kill(held.process.pid, signal.SIGTSTP)
    assert wait_until(lambda: is_stopped(held.process.pid))
    os.kill(held.process.pid, signal.SIGCONT)
    assert held.let_go()[0] == 4


# ---- stderr that is not read


def fill(fd: int) -> None:
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(fd, True)


def test_line_that_nobody_reads_is_dropped(runner: Runner) -> None:
    read, write = os.pipe()
    fill(write)
    held = Held(runner, "dies", stderr=write)
    os.close(write)
    code, out, _ = held.let_go()
    assert (code, out) == (4, b"out\n")
    os.close(read)


def test_line_for_a_stderr_without_reader_is_no_fault(runner: Runner) -> None:
    read, write = os.pipe()
    os.close(read)
    held = Held(runner, "dies", stderr=write)
    os.close(write)
    assert held.let_go()[:2] == (4, b"out\n")


def test_last_lines_are_waited_for_while_they_are_read_slowly(runner: Runner) -> None:
    held = Held(runner, "loud")
    code, out, err = held.let_go()
    assert (code, out) == (4, b"out\n")
    assert len(own_lines(err)) == (1 << 14) + 1 and err.endswith(b"inductop: the last line\n")


def test_pager_that_does_not_read_is_waited_for_until_a_key(runner: Runner, tmp_path: Path) -> None:
    """At a terminal the front waits longer than the bound for a reader, and ^C ends that."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    words = runner.words("--engine", "loud")
    text = f"{words} sh -c 'echo up' 2>&1 | {{ read x; echo $x; read y <{gate}; wc -l; }}"
    terminal = Terminal(["bash", "-c", text], runner.env())
    try:
        terminal.until("up")
        assert runner.session and wait_until((runner.session / "exit").exists)
        front = next(pid for pid, _ in runner.processes() if f"--session\0{runner.session}" in Path(f"/proc/{pid}/cmdline").read_text())
        begun = time.monotonic()
        wait_until(lambda: state(front) == "X" or time.monotonic() - begun > 6)
        assert state(front) != "X"
        gate.open("w").close()
        assert terminal.until(r"^\d+$") == str((1 << 14) + 1)
        assert terminal.wait() == 0
    finally:
        terminal.close()
        assert runner.leftovers() == []


def test_interrupt_ends_the_wait_for_a_pager(runner: Runner) -> None:
    words = runner.words("--engine", "loud")
    terminal = Terminal(["bash", "-c", f"{words} sh -c 'echo up' 2>&1 | {{ read x; echo $x; kill -STOP $BASHPID; }}"], runner.env())
    try:
        terminal.until("up")
        assert runner.session and wait_until((runner.session / "exit").exists)

        def ended() -> bool:
            names = [name for _, name in runner.processes()]
            if "front_driver" in names:
                terminal.send("\x03")
            return "front_driver" not in names

        assert wait_until(ended)
    finally:
        terminal.close()
        runner.leftovers(0.0)
        terminal.process.wait()


# ---- what the engine is given


def report(runner: Runner, *options: str, **kw: object) -> str:
    process = runner.start(["sh", "-c", "read x"], options=("--engine", "report", *options), stdin=subprocess.PIPE, **kw)
    assert runner.session
    path = runner.session / "report"
    assert wait_until(lambda: path.exists() and "end\n" in path.read_text())
    process.communicate(b"x\n", timeout=60)
    assert process.returncode == 0 and runner.leftovers() == []
    return path.read_text()


def test_engine_has_a_session_and_default_signals(runner: Runner) -> None:
    def before() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGTERM])

    text = report(runner, preexec_fn=before, restore_signals=False)
    sid, pid = re.search(r"sid (\d+) pid (\d+)", text).groups()
    assert sid == pid
    assert re.findall(r"Sig(?:Blk|Ign):\s+0+$", text, re.M) and len(re.findall(r"\t0{16}$", text, re.M)) >= 3


def descriptors(text: str) -> dict[int, str]:
    return {int(fd): target for fd, target in re.findall(r"fd (\d+) (.*)", text)}


def test_engine_inherits_only_stderr_and_what_was_named(runner: Runner, tmp_path: Path) -> None:
    read, write = os.pipe()
    with (tmp_path / "json").open("w") as json, (tmp_path / "err").open("w") as err:
        fds = descriptors(report(runner, "--keep", str(json.fileno()), pass_fds=(json.fileno(), write), stderr=err, stdout=write))
        assert fds == {0: "/dev/null", 1: "/dev/null", 2: str(tmp_path / "err"), json.fileno(): str(tmp_path / "json")}
    os.close(read), os.close(write)


def test_engine_keeps_stdout_when_asked(runner: Runner, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        fds = descriptors(report(runner, "--keep-stdout", stdout=out, stderr=err))
        assert fds == {0: "/dev/null", 1: str(tmp_path / "out"), 2: str(tmp_path / "err")}


def test_engine_has_its_standard_descriptors_when_they_were_closed(runner: Runner) -> None:
    fds = descriptors(report(runner, "--keep-stdout", preexec_fn=lambda: os.closerange(1, 3)))
    assert fds == {0: "/dev/null", 1: "/dev/null", 2: "/dev/null"}


# ---- set-up that fails, and the environment


def bare(command: list[str], *options: str, **kw: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(DRIVER), *options, "--", *command], capture_output=True, timeout=60, **kw)


def test_without_a_session_the_job_takes_our_place(tmp_path: Path) -> None:
    process = subprocess.Popen([str(DRIVER), "--", "sh", "-c", "echo $$; exit 3"], stdout=subprocess.PIPE)
    assert int(process.communicate(timeout=60)[0]) == process.pid and process.returncode == 3
    done = bare(["nosuchcommand"])
    assert done.returncode == 127 and done.stderr == b"inductop: command 'nosuchcommand' not found\n"


def test_without_a_session_signals_are_the_shells() -> None:
    command = ["grep", "Sig[BIC]", "/proc/self/status"]

    def before() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGTERM])

    plain = subprocess.run(command, capture_output=True, preexec_fn=before, restore_signals=False)
    assert bare(command, preexec_fn=before, restore_signals=False).stdout == plain.stdout


def test_session_that_cannot_be_written_leaves_the_job_bare(tmp_path: Path) -> None:
    done = bare(["sh", "-c", "echo out; exit 3"], "--session", "/proc", "--inject", "/support")
    assert (done.returncode, done.stdout) == (3, b"out\n")
    assert re.fullmatch(rb"inductop: could not set up the session: .*: the job runs without inductop\n", done.stderr)


def test_no_descriptors_left_leaves_the_job_bare(tmp_path: Path) -> None:
    script = f"ulimit -n 6; exec {DRIVER} --session {tmp_path}/s -- sh -c 'echo out; exit 3'"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, b"out\n")
    assert len(own_lines(done.stderr)) == 1 and not list((tmp_path / "s").iterdir())


def variables(support: str, **env: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "INDUCTOP_SESSION")}
    folder = env.pop("FOLDER")
    done = bare(["env", "-0"], "--session", folder, "--inject", support, env={**kept, **env})
    return dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)


@pytest.mark.parametrize(
    ("old", "new"),
    [(None, "/s/site"), ("", "/s/site"), ("/a:/b", "/s/site:/a:/b"), ("/s/site", "/s/site"), ("/s/site:/a", "/s/site:/a"),
     ("/s/sites", "/s/site:/s/sites")],
)  # fmt: skip
def test_environment_of_the_job(tmp_path: Path, old: str | None, new: str) -> None:
    folder = str(tmp_path / "session")
    given = {} if old is None else {"PYTHONPATH": old}
    seen = variables("/s", FOLDER=folder, INDUCTOP_SESSION="another", **given)
    assert seen.pop("PYTHONPATH") == new and seen.pop("INDUCTOP_SESSION") == folder
    assert seen == {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "INDUCTOP_SESSION")}


def test_environment_without_room_for_ours(tmp_path: Path) -> None:
    """One variable may have 128 KiB: ours would be longer."""
    long = "/" + "x" * (128 * 1024 - len("PYTHONPATH=") - 2)
    env = {**os.environ, "PYTHONPATH": long}
    script = "echo ${#PYTHONPATH} ${INDUCTOP_SESSION-none}; exit 3"
    done = bare(["sh", "-c", script], "--session", str(tmp_path / "s"), "--inject", "/support", env=env)
    assert (done.returncode, done.stdout) == (3, f"{len(long)} none\n".encode())
    assert done.stderr == b"inductop: the environment has no room for our variables: the job runs without inductop\n"
