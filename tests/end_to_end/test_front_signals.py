"""A signal reaches the job once, whoever it was sent to; stopping, continuing and killing are as without the front."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from front_tools import (
    BOUND_S,
    COUNTER,
    END,
    Counter,
    Reader,
    Runner,
    compare,
    front_runner,
    is_stopped,
    wait_until,
)

ALONE = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGWINCH, signal.SIGCONT]


@pytest.mark.parametrize("number", ALONE)
def test_signal_for_the_front_alone_arrives_once(tmp_path: Path, number: signal.Signals) -> None:
    def body(runner: Runner):
        counter = Counter(runner)
        counter.process.send_signal(number)
        counter.until(number.name[3:])
        return counter.finish()

    assert compare(tmp_path, body) == (0, f"counts {number.name}=1")


def test_queued_signal_keeps_its_value(tmp_path: Path) -> None:
    script = "import signal as s, os; w = [s.SIGRTMIN + 1]; s.pthread_sigmask(0, w); os.write(1, b'up\\n'); print(s.sigwaitinfo(w).si_code)"

    def body(runner: Runner):
        process = runner.start(["python3", "-c", script], stdout=subprocess.PIPE)
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        subprocess.run(["kill", "-q", "7", "-s", "RTMIN+1", str(process.pid)], check=True)
        return process.communicate(timeout=20)[0]

    assert compare(tmp_path, body) == b"-1\n"


@pytest.mark.parametrize("kw", [{"start_new_session": True}, {"process_group": 0}], ids=["session", "group"])
class TestGroup:
    """The front leads the session, or only its group."""

    def test_signal_to_the_group_arrives_once(self, tmp_path: Path, kw: dict) -> None:
        def body(runner: Runner):
            counter = Counter(runner, **kw)
            os.killpg(counter.process.pid, signal.SIGTERM)
            counter.until("TERM")
            return counter.finish()

        assert compare(tmp_path, body) == (0, "counts SIGTERM=1")

    def test_both_ways_in_turn(self, tmp_path: Path, kw: dict) -> None:
        def body(runner: Runner):
            counter = Counter(runner, **kw)
            for send in (os.killpg, os.kill, os.kill, os.killpg):
                send(counter.process.pid, signal.SIGINT)
                counter.until("INT")
            return counter.finish()

        assert compare(tmp_path, body) == (0, "counts SIGINT=4")

    @pytest.mark.parametrize("ignored", [False, True])
    def test_killing_the_group_reaches_the_jobs_children(self, tmp_path: Path, kw: dict, ignored: bool) -> None:
        trap = "trap '' TERM; " if ignored else ""

        def body(runner: Runner):
            process = runner.start(["sh", "-c", trap + "sleep 60 & echo up; wait"], stdout=subprocess.PIPE, **kw)
            assert process.stdout
            assert process.stdout.readline() == b"up\n"
            os.killpg(process.pid, signal.SIGKILL if ignored else signal.SIGTERM)
            return process.wait(BOUND_S), runner.leftovers()

        assert compare(tmp_path, body) == (-9 if ignored else -15, [])


def test_forty_signals_group_and_single_in_turn(tmp_path: Path) -> None:
    counter = Counter(front_runner(tmp_path), process_group=0)
    for i in range(40):
        (os.killpg if i % 2 else os.kill)(counter.process.pid, signal.SIGUSR1)
        counter.until("USR1")
    assert counter.finish() == (0, "counts SIGUSR1=40")


def test_signals_right_at_the_start_are_not_lost(tmp_path: Path) -> None:
    """Killed by a signal at any moment of the start, the command ends by it, and nothing is left."""
    runner = front_runner(tmp_path)
    for i in range(60):
        process = runner.start(["sleep", "60"])
        wait_until(lambda end=i: len(runner.processes()) > end % 5 or process.poll() is not None, 0.2)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(BOUND_S) == -signal.SIGTERM
        assert runner.leftovers() == []


def test_group_signals_right_at_the_start(tmp_path: Path) -> None:
    runner = front_runner(tmp_path)
    for i in range(60):
        process = runner.start(["sleep", "60"], process_group=0)
        wait_until(lambda end=i: len(runner.processes()) > end % 5 or process.poll() is not None, 0.2)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(BOUND_S) == -signal.SIGINT
        assert runner.leftovers() == []


def test_signal_before_the_start_does_not_swallow_the_next(tmp_path: Path) -> None:
    """One that is pending when the front starts counts for the job and not against the next one."""
    counter_kw = {"preexec_fn": lambda: (signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]), os.kill(os.getpid(), signal.SIGUSR1))}

    def body(runner: Runner):
        counter = Counter(runner, restore_signals=False, **counter_kw)
        counter.until("USR1")
        counter.process.send_signal(signal.SIGUSR1)
        counter.until("USR1")
        return counter.finish()

    assert body(front_runner(tmp_path)) == (0, "counts SIGUSR1=2")


def test_every_process_killed_one_by_one(tmp_path: Path) -> None:
    """As a service manager or pkill -f does."""

    def body(runner: Runner):
        counter = Counter(runner)
        for pid, _ in runner.processes():
            if os.getsid(pid) != pid:  # the engine is not of the job's session
                os.kill(pid, signal.SIGTERM)
        counter.until("TERM")
        return counter.finish()

    assert compare(tmp_path, body) == (0, "counts SIGTERM=1")


def test_timeout(tmp_path: Path) -> None:
    """It sends its signal to the command and, right behind, to the group: to a quick job these are two, else one."""

    def body(runner: Runner):
        command = ["timeout", "--preserve-status", "2", *runner.prefix(), *COUNTER]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=runner.env())
        assert process.stdout
        reader = Reader(process.stdout.fileno())
        job = int(reader.until(r"ready \d+\n").split()[1])
        reader.until("got SIGTERM\n")
        os.kill(job if runner.is_plain else int(parent_of(job)), END)
        counts = re.findall("SIGTERM=[12]", reader.until("counts.*\n"))
        return process.wait(BOUND_S), len(counts)

    assert compare(tmp_path, body) == (0, 1)


def parent_of(pid: int) -> str:
    return re.findall(r"PPid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]


@pytest.mark.parametrize("options", [[], ["--foreground"], ["-s", "INT"], ["-k", "5"], ["-s", "KILL"]])
def test_timeout_of_a_job_that_gives_in(tmp_path: Path, options: list[str]) -> None:
    def body(runner: Runner):
        command = ["timeout", *options, "0.3", *runner.prefix(), "sleep", "60"]
        return subprocess.run(command, capture_output=True, env=runner.env(), timeout=60).returncode

    compare(tmp_path, body)


# ---- somebody is killed -9


def test_front_killed_gives_the_job_one_sigterm(tmp_path: Path) -> None:
    runner = front_runner(tmp_path)
    counter = Counter(runner)
    counter.process.kill()
    counter.until("TERM")
    assert counter.finish(by=counter.job) == (-9, "counts SIGTERM=1")
    assert runner.leftovers() == []


@pytest.mark.parametrize("whom", ["job", "group"])
def test_front_killed_while_the_job_is_stopped(tmp_path: Path, whom: str) -> None:
    """The SIGTERM is heard: who stands still cannot leave."""
    runner = front_runner(tmp_path)
    counter = Counter(runner, process_group=0)
    (os.kill if whom == "job" else os.killpg)(counter.job if whom == "job" else counter.process.pid, signal.SIGSTOP)
    assert wait_until(lambda: is_stopped(counter.job) and is_stopped(counter.process.pid))
    counter.process.kill()
    counter.until("TERM")
    assert "SIGTERM=1" in counter.finish(by=counter.job)[1]
    assert runner.leftovers() == []


def test_job_killed(tmp_path: Path) -> None:
    def body(runner: Runner):
        counter = Counter(runner)
        os.kill(counter.job, signal.SIGKILL)
        return counter.process.wait(BOUND_S)

    assert compare(tmp_path, body) == -9


def witness(runner: Runner) -> int:
    return next((pid for pid, name in runner.processes() if name == "inductop-wit"), 0)


@pytest.mark.parametrize("again", [1, 3])
def test_witness_killed_is_replaced(tmp_path: Path, again: int) -> None:
    runner = front_runner(tmp_path)
    counter = Counter(runner, process_group=0)
    for _ in range(again):
        old = wait_until(lambda: witness(runner))
        os.kill(old, signal.SIGKILL)
        assert wait_until(lambda was=old: witness(runner) not in (0, was))
    counter.process.send_signal(signal.SIGUSR1)
    counter.until("USR1")
    os.killpg(counter.process.pid, signal.SIGUSR2)
    counter.until("USR2")
    assert counter.finish() == (0, "counts SIGUSR1=1 SIGUSR2=1")
    assert runner.leftovers() == []


def test_stopped_witness_loses_no_signal(tmp_path: Path) -> None:
    runner = front_runner(tmp_path)
    counter = Counter(runner)
    pid = wait_until(lambda: witness(runner))
    os.kill(pid, signal.SIGSTOP)
    assert wait_until(lambda: is_stopped(pid))
    for _ in range(2):
        counter.process.send_signal(signal.SIGUSR1)
        counter.until("USR1")
    os.kill(pid, signal.SIGCONT)
    counter.process.send_signal(signal.SIGUSR2)
    counter.until("USR2")
    assert counter.finish() == (0, "counts SIGUSR1=2 SIGUSR2=1")
    assert runner.leftovers() == []


# ---- stop and continue without a shell


@pytest.mark.parametrize("to", ["front", "job", "group"])
@pytest.mark.parametrize("stop", [signal.SIGSTOP, signal.SIGTSTP])
def test_stop_and_continue(tmp_path: Path, to: str, stop: signal.Signals) -> None:
    def body(runner: Runner):
        counter = Counter(runner, process_group=0)
        front = counter.process.pid
        send = {
            "front": lambda number: os.kill(front, number),
            "job": lambda number: os.kill(counter.job, number),
            "group": lambda number: os.killpg(front, number),
        }[to]
        for _ in range(2):
            send(stop)
            assert wait_until(lambda: is_stopped(front))
            assert os.waitpid(front, os.WUNTRACED)[1] >> 8 == stop
            send(signal.SIGCONT)
            assert wait_until(lambda: not is_stopped(front) and not is_stopped(counter.job))
            counter.until("CONT")
        return counter.finish()

    assert compare(tmp_path, body) == (0, "counts SIGCONT=2")


def test_killed_while_stopped(tmp_path: Path) -> None:
    def body(runner: Runner):
        counter = Counter(runner, process_group=0)
        os.kill(counter.job, signal.SIGSTOP)
        assert wait_until(lambda: is_stopped(counter.process.pid))
        os.kill(counter.job, signal.SIGKILL)
        return counter.process.wait(BOUND_S)

    assert compare(tmp_path, body) == -9


def test_term_while_stopped_is_heard_after_the_continue(tmp_path: Path) -> None:
    def body(runner: Runner):
        counter = Counter(runner, process_group=0)
        os.killpg(counter.process.pid, signal.SIGSTOP)
        assert wait_until(lambda: is_stopped(counter.process.pid) and is_stopped(counter.job))
        counter.process.send_signal(signal.SIGTERM)
        os.killpg(counter.process.pid, signal.SIGCONT)
        counter.until("TERM")
        return counter.finish()

    assert compare(tmp_path, body) == (0, "counts SIGCONT=1 SIGTERM=1")


# ---- process 1 of a container


def in_container(runner: Runner, *command: str) -> tuple[int, str]:
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    done = subprocess.run([*unshare, *runner.prefix(), *command], capture_output=True, env=runner.env(), timeout=60)
    return done.returncode, done.stdout.decode()


@pytest.fixture
def container() -> None:
    if not shutil.which("unshare") or subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("cannot make a process namespace here")


@pytest.mark.usefixtures("container")
class TestProcessOne:
    def test_reaps_strangers(self, tmp_path: Path) -> None:
        script = "(true &); for n in $(seq 500); do ps -eo stat= | grep -q Z || break; done; ps -eo stat= | grep -c Z"
        assert in_container(front_runner(tmp_path), "sh", "-c", script)[1] == "0\n"

    def test_ends_with_the_code(self, tmp_path: Path) -> None:
        assert in_container(front_runner(tmp_path), "sh", "-c", "exit 9")[0] == 9

    def test_killed_job_is_128_and_the_signal(self, tmp_path: Path) -> None:
        assert in_container(front_runner(tmp_path), "sh", "-c", "kill -9 $$; exit 9")[0] == 137
        assert in_container(front_runner(tmp_path), "sh", "-c", "kill -15 $$; exit 9")[0] == 143

    def test_passes_signals_on(self, tmp_path: Path) -> None:
        script = "trap 'echo term; exit 5' TERM; kill -TERM 1; while :; do sleep 0.01; done"
        assert in_container(front_runner(tmp_path), "sh", "-c", script) == (5, "term\n")
