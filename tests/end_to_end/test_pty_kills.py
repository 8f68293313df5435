"""Keeper, leader, front, viewers killed, stopped, hung up: what becomes of the job, its output and its status."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import signal
import socket
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from front_tools import BOUND_S, COUNTER, END, PYTHON, Reader, Terminal, is_stopped, parent, state, wait_until
from pty_tools import DRIVER, FRONT, KEEPER, LEADER, QUIT_KEY, Job, PtyRunner, Viewer, job

# Writes a line for each one that it reads; ends at the end of its input.
LINES = [PYTHON, "-c", "import sys\nprint('up', flush=True)\nfor n, _ in enumerate(sys.stdin): print('line', n, flush=True)\nsys.exit(4)"]
SUSPEND, END_OF_FILE = "\x1a", "\x04"


def lines(viewer: Viewer, first: int, last: int) -> None:
    viewer.until("up")
    for n in range(first, last):
        viewer.keys("\n")
        viewer.until(f"line {n}\n")


def let_go(fifo: Path) -> None:
    """A line for who reads the fifo; never waits for one."""
    fd = os.open(fifo, os.O_RDWR)
    os.write(fd, b"\n")
    wait_until(lambda: struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0] == 0)
    os.close(fd)


def whole(last: int) -> str:
    return "up\n" + "".join(f"\nline {n}\n" for n in range(last))


# ---- the keeper


def test_keeper_killed(tmp_path: Path) -> None:
    """The leader goes on: output complete, viewers come again and find all, the front gets the status."""
    with job(tmp_path, LINES) as one:
        viewer = one.viewer()
        lines(viewer, 0, 10)
        one.kill(KEEPER)
        viewer.read_to_end()
        again = one.viewer()
        again.until("line 9\n")
        lines(again, 10, 20)
        again.keys(END_OF_FILE)
        assert one.wait() == 4
        assert one.runner.wait_exit() == "exit 4\n"
        assert one.runner.text() == whole(20)
        again.read_to_end()
        assert again.text == whole(20)
        assert again.over == (4 << 8, 0)
        assert not (one.session / "tty").exists()


def test_keeper_killed_while_much_is_written(tmp_path: Path) -> None:
    """Nothing is missing but what a keeper had in its hand: one read of the terminal."""
    mib = 20
    script = f"input()\nfor i in range({mib}): print(('%07d ' % i) * 131072, end='', flush=True)"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        one.viewer().keys("\n")
        output = one.session / "output"
        assert wait_until(lambda: output.stat().st_size > 1 << 20)
        one.kill(KEEPER)
        assert one.wait() == 0
        want = b"\r\n" + b"".join(b"%07d " % i * 131072 for i in range(mib))
        got = one.runner.output()
        assert len(want) - 8192 <= len(got) <= len(want) + 8192
        assert got[-100:] == want[-100:]


def test_signals_pass_when_the_keeper_was_killed(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        one.viewer().until("ready")
        one.kill(KEEPER)
        viewer = one.viewer()
        viewer.until("ready")
        one.front.send_signal(signal.SIGTERM)
        viewer.until("got SIGTERM")
        viewer.keys("\x03")
        viewer.until("got SIGINT")
        viewer.keys(SUSPEND)
        viewer.until(lambda: viewer.states and os.WIFSTOPPED(viewer.states[-1]))
        viewer.signal(signal.SIGCONT)
        viewer.until("got SIGCONT")
        os.kill(viewer.job, END)
        viewer.until("counts SIGCONT=1 SIGINT=1 SIGTERM=1")
        assert one.wait() == 0


def test_keeper_killed_right_at_the_start(tmp_path: Path) -> None:
    """Whenever that is: the job runs once, under the leader or headless, nothing is left, and the front ends as it ends."""
    for i in range(40):
        one = Job(tmp_path, ["sh", "-c", "echo run >>$RUNS; read x; exit 4"], env={"RUNS": str(tmp_path / f"runs{i}")})
        wait_until(lambda one=one, i=i: len(one.runner.processes()) > i % 4, 1.0)
        for pid, name in one.runner.processes():
            with contextlib.suppress(OSError):
                if name in (KEEPER, FRONT) and parent(pid) == one.front.pid:
                    os.kill(pid, signal.SIGKILL)

        def is_over(one: Job = one) -> bool:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as keys:
                keys.connect(str(one.session / "tty"))
                keys.sendall(struct.pack("<I", 0) + b"C" + struct.pack("<I", 1) + b"I\n")
            one.terminal.send("\n")
            return one.front.poll() is not None

        assert wait_until(is_over), one.runner.processes()
        assert one.wait() == 4
        assert (tmp_path / f"runs{i}").read_text() == "run\n"
        assert one.runner.leftovers() == []
        one.terminal.close()


def test_keeper_killed_behind_the_jobs_end(tmp_path: Path) -> None:
    """What the job left behind still writes: the leader goes on saving."""
    os.mkfifo(tmp_path / "fifo")
    with job(tmp_path, ["sh", "-c", f"(read x <{tmp_path}/fifo; echo late) & echo end; exit 7"]) as one:
        assert one.wait() == 7
        one.kill(KEEPER)
        viewer = one.viewer()
        viewer.until(lambda: viewer.over)
        assert viewer.over == (7 << 8, 0)
        let_go(tmp_path / "fifo")
        viewer.read_to_end()
        assert viewer.text == one.runner.text() == "end\nlate\n"
        assert one.runner.wait_exit() == "exit 7\n"


def test_view_goes_on_without_a_seam(tmp_path: Path) -> None:
    """The viewer in C connects again and shows no byte twice."""
    with job(tmp_path, LINES) as one:
        one.viewer(charge=False).until("up")
        keeper = one.runner.pid(KEEPER)
        view = subprocess.Popen([DRIVER, "--view", one.session], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert view.stdin and view.stdout
        shown = Reader(view.stdout.fileno())
        text = shown.until("up\r\n")
        for n in range(10):
            if n == 5:  # what is on its way to a keeper that is killed is lost with it
                os.kill(keeper, signal.SIGKILL)
                assert wait_until(lambda: state(keeper) in "ZX")
            view.stdin.write(b"\n")
            view.stdin.flush()
            text += shown.until(f"line {n}\r\n")
        view.stdin.write(END_OF_FILE.encode())
        view.stdin.close()
        assert view.wait(BOUND_S) == 4
        text += view.stdout.read().decode()
        assert text.replace("\r", "") == whole(10)
        view.stdout.close()


@pytest.mark.parametrize("name", [KEEPER, LEADER])
def test_stopped_and_continued(tmp_path: Path, name: str) -> None:
    with job(tmp_path, LINES) as one:
        viewer = one.viewer()
        lines(viewer, 0, 3)
        pid = one.runner.pid(name)
        os.kill(pid, signal.SIGSTOP)
        assert wait_until(lambda: is_stopped(pid))
        viewer.keys("\n\n\n")
        os.kill(pid, signal.SIGCONT)
        viewer.until("line 5\n")
        viewer.keys(END_OF_FILE)
        assert one.wait() == 4
        assert one.runner.text().count("line") == 6


# ---- the leader


def test_leader_killed(tmp_path: Path) -> None:
    """The kernel hangs the job up; how it ended is told all the same, where the kernel tells."""
    with job(tmp_path, ["sh", "-c", "echo up; exec sleep 60"]) as one:
        viewer = one.viewer()
        viewer.until("up")
        one.kill(LEADER)
        assert one.wait() == -signal.SIGHUP
        assert one.runner.wait_exit() == "signal 1\n"
        viewer.read_to_end()
        assert viewer.over == (signal.SIGHUP, 0)


def test_leader_killed_and_the_job_bears_it(tmp_path: Path) -> None:
    """The front stays until the job has ended, and its output is saved."""
    script = "trap '' HUP; echo up; read x <fifo; echo late; exit 6"
    os.mkfifo(tmp_path / "fifo")
    with job(tmp_path, ["sh", "-c", f"cd {tmp_path}; {script}"]) as one:
        viewer = one.viewer()
        viewer.until("up")
        one.kill(LEADER)
        assert one.front.poll() is None
        let_go(tmp_path / "fifo")
        code = one.wait()
        assert code in (6, -signal.SIGHUP)  # before Linux 6.15 nobody can know
        assert one.runner.wait_exit() == ("exit 6\n" if code == 6 else "signal 1\n")
        assert one.runner.text() == "up\nlate\n"


def test_keeper_and_leader_killed(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "echo up; exec sleep 60"]) as one:
        one.viewer().until("up")
        keeper, leader = one.runner.pid(KEEPER), one.runner.pid(LEADER)
        os.kill(leader, signal.SIGSTOP)
        os.kill(keeper, signal.SIGKILL)
        os.kill(leader, signal.SIGKILL)
        assert one.wait() == 125
        assert one.terminal.out.startswith("inductop: the processes that kept the job were killed")
        assert not (one.session / "exit").exists()


# ---- the front


@pytest.mark.parametrize("how", ["killed", "quit", "hang-up", "terminal closed"])
def test_job_lives_on_without_the_front(tmp_path: Path, how: str) -> None:
    with job(tmp_path, LINES) as one:
        viewer = one.viewer()
        lines(viewer, 0, 3)
        if how == "terminal closed":
            one.terminal.close()
        else:
            one.front.send_signal({"killed": signal.SIGKILL, "quit": QUIT_KEY, "hang-up": signal.SIGHUP}[how])
        code = one.front.wait(BOUND_S)
        assert code == {"killed": -9, "quit": 0, "hang-up": -1, "terminal closed": -1}[how]
        viewer.close()
        again = one.viewer()
        again.until("line 2\n")
        lines(again, 3, 6)
        again.keys(END_OF_FILE)
        again.read_to_end()
        assert again.over == (4 << 8, 0)
        assert one.runner.wait_exit() == "exit 4\n"
        assert one.runner.text() == whole(6)


def test_no_hang_up_for_the_job_when_the_users_terminal_goes(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        viewer.until("ready")
        one.terminal.close()
        one.front.wait(BOUND_S)
        os.kill(viewer.job, END)
        viewer.until("counts \n")


def test_stopped_front_holds_nothing_up(tmp_path: Path) -> None:
    """It is told more than there is room for; the end is not lost among it."""
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        viewer.until("ready")
        os.kill(one.front.pid, signal.SIGSTOP)
        assert wait_until(lambda: is_stopped(one.front.pid))
        for n in range(300):
            viewer.signal(signal.SIGSTOP)
            viewer.until(lambda: viewer.states and os.WIFSTOPPED(viewer.states[-1]))
            viewer.signal(signal.SIGCONT)
            viewer.until(lambda want=n + 1: viewer.text.count("got SIGCONT") == want)
            viewer.until(lambda: os.WIFCONTINUED(viewer.states[-1]))
        os.kill(viewer.job, END)
        assert one.runner.wait_exit() == "exit 0\n"
        os.kill(one.front.pid, signal.SIGCONT)
        assert one.wait() == 0


def test_front_ends_with_the_job_and_so_does_its_keeper(tmp_path: Path) -> None:
    """Who waits for the front finds nothing left, not even a zombie of ours."""
    for _ in range(20):
        with job(tmp_path, ["true"]) as one:
            keeper = one.runner.processes()
            assert one.wait() == 0
            assert wait_until(lambda seen=keeper: all(state(pid) == "X" for pid, _ in seen))


# ---- what the job leaves behind


def test_background_child_outlives_the_job(tmp_path: Path) -> None:
    """The front ends at once; late output is saved; then everything is gone."""
    os.mkfifo(tmp_path / "fifo")
    with job(tmp_path, ["sh", "-c", f"(read x <{tmp_path}/fifo; echo late) & echo end; exit 7"]) as one:
        assert one.wait() == 7
        assert one.runner.text() == "end\n"
        assert one.names() == [KEEPER, LEADER, "sh"]
        let_go(tmp_path / "fifo")
        assert wait_until(lambda: not one.names())
        assert one.runner.text() == "end\nlate\n"


def test_background_child_without_the_terminal(tmp_path: Path) -> None:
    """It is not hung up, and nobody waits for it."""
    with job(tmp_path, ["sh", "-c", "sleep 60 >/dev/null 2>&1 </dev/null & exit 7"]) as one:
        assert one.wait() == 7
        assert wait_until(lambda: one.names() == ["sleep"])
        one.kill("sleep")


def test_daemons(tmp_path: Path) -> None:
    """Sessions of their own: the keeper stays while one has the terminal open."""
    script = "setsid sleep 60 & setsid sleep 61 >/dev/null 2>&1 </dev/null & sleep 0; while ! pgrep -s 0 sleep >/dev/null; do break; done; exit 7"
    with job(tmp_path, ["sh", "-c", script]) as one:
        assert one.wait() == 7
        assert wait_until(lambda: one.names() == [KEEPER, LEADER, "sleep", "sleep"])
        for pid, name in one.runner.processes():
            if name == "sleep" and b"60" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: one.names() == ["sleep"])
        one.kill("sleep")


def test_background_child_that_floods_the_terminal(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "yes & sleep 0; exit 7"]) as one:
        assert one.wait() == 7
        assert one.runner.wait_exit() == "exit 7\n"
        one.kill("yes")


def test_background_child_is_not_in_the_foreground(tmp_path: Path) -> None:
    """As under a shell it cannot read the terminal any more."""
    os.mkfifo(tmp_path / "fifo")
    script = f"trap '' TTIN; (read x <{tmp_path}/fifo; read x </dev/tty; echo read-$?) & exit 7"
    with job(tmp_path, ["sh", "-c", script]) as one:
        assert one.wait() == 7
        viewer = one.viewer()
        let_go(tmp_path / "fifo")
        viewer.until("read-[1-9]")
        viewer.read_to_end()


# ---- the engine


def engine_of(one: Job) -> int:
    return one.runner.pid("exe")


def test_engine_is_the_keepers_child_and_has_nothing_of_the_users(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "read x; exit 4"], "--engine", "report") as one:
        report = one.session / "report"
        assert wait_until(report.exists)
        fds = dict(line.split(maxsplit=2)[1:] for line in report.read_text().splitlines())
        assert sorted(fds) == ["0", "1", "2"]
        assert fds["0"] == fds["1"] == "/dev/null"
        assert fds["2"].startswith("pipe:")
        engine = engine_of(one)
        assert parent(engine) == one.runner.pid(KEEPER)
        assert os.getsid(engine) == engine
        one.viewer().keys("\n")
        assert one.wait() == 4


def test_engine_gets_what_is_kept_for_it(tmp_path: Path) -> None:
    runner = PtyRunner(tmp_path, [])
    words = shlex.join(runner.prefix("--engine", "report", "--keep", "9"))
    script = f"exec {words} sh -c '[ -e /proc/self/fd/9 ] || echo no-9; read x' 9>{tmp_path}/json"
    terminal = Terminal(["bash", "-c", script], runner.env())
    assert runner.session
    report = runner.session / "report"
    assert wait_until(report.exists)
    assert f"fd 9 {tmp_path}/json\n" in report.read_text()
    viewer = Viewer(runner.session)
    viewer.until("no-9")
    viewer.keys("\n")
    assert terminal.wait() == 0
    assert runner.leftovers() == []
    terminal.close()


def test_front_learns_the_engines_end_and_may_wait_for_it(tmp_path: Path) -> None:
    with job(tmp_path, ["true"], "--engine", "late") as one:
        assert one.wait() == 0
        assert (one.session / "late").read_text() == "the last line\n"


def test_engine_lives_on_without_the_front(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "read x"], "--engine", "late") as one:
        viewer = one.viewer()
        one.front.send_signal(QUIT_KEY)
        assert one.front.wait(BOUND_S) == 0
        viewer.keys("\n")
        assert wait_until((one.session / "late").exists)


@pytest.mark.parametrize("behaviour", ["quiet", "dies"])
def test_engines_end_is_no_matter_to_the_job(tmp_path: Path, behaviour: str) -> None:
    with job(tmp_path, LINES, "--engine", behaviour) as one:
        viewer = one.viewer()
        lines(viewer, 0, 2)
        if behaviour == "quiet":
            os.kill(engine_of(one), signal.SIGKILL)
        assert wait_until(lambda: "exe" not in one.names())
        lines(viewer, 2, 4)
        viewer.keys(END_OF_FILE)
        assert one.wait() == 4
        assert one.terminal.out == ""


def test_engine_that_cannot_be_started(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "echo up; exit 4"], "--engine", "fails") as one:
        assert one.wait() == 4
        assert one.terminal.out == "inductop: could not start the engine: it was told to fail: the job runs without inductop\n"
        assert one.runner.text() == "up\n"


def test_engine_outlives_a_killed_keeper(tmp_path: Path) -> None:
    with job(tmp_path, LINES, "--engine", "late") as one:
        one.viewer().until("up")
        one.kill(KEEPER)
        viewer = one.viewer()
        lines(viewer, 0, 2)
        viewer.keys(END_OF_FILE)
        assert one.wait() == 4
        assert wait_until((one.session / "late").exists)
