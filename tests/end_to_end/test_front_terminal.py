"""At a terminal: keys, job control, pipelines and script loops in real shells, each compared with the plain command.

In a text for the shell, $J stands for the front, or for nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from front_tools import (
    COUNTER,
    END,
    PYTHON,
    ROOT,
    Counter,
    Runner,
    Terminal,
    compare,
    is_stopped,
    parent,
    shell,
    wait_until,
)

COUNT = shlex.join(COUNTER)
INTERRUPT, QUIT, SUSPEND, END_OF_FILE = "\x03", "\x1c", "\x1a", "\x04"
PROMPT = r"PROMPT> \Z"
LOOP = shlex.join([PYTHON, str(ROOT / "tests/support/say_continued.py")])
STATUS = ("echo st=$?\n", r"^st=\d+")


def statuses(out: str) -> list[str]:
    return re.findall(r"^st=\d+", out, re.M)


def in_shell(folder: Path, steps: list[tuple[str, str]], pick: Callable[[str], object] = statuses) -> object:
    """Types each text and waits for its pattern in what comes after; returns what `pick` finds in all of it."""

    def body(runner: Runner) -> object:
        with shell(runner) as terminal:
            for text, pattern in steps:
                terminal.until(pattern, terminal.press(text))
            return pick(terminal.out)

    return compare(folder, body)


def test_interrupt_ends_the_job(tmp_path: Path) -> None:
    steps = [("$J sh -c 'echo up; exec sleep 60'\n", "^up"), (INTERRUPT, PROMPT), STATUS]
    assert in_shell(tmp_path, steps) == ["st=130"]


def test_quit_key_ends_the_job(tmp_path: Path) -> None:
    steps = [("ulimit -c 0; $J sh -c 'echo up; exec sleep 60'\n", "^up"), (QUIT, PROMPT), STATUS]
    assert in_shell(tmp_path, steps) == ["st=131"]


def counted(runner: Runner, terminal: Terminal, text: str, keys: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Runs the counting job, types the keys, ends it through the front; returns counts and status."""
    job = int(terminal.until(r"ready \d+", terminal.send(text)).split()[1])
    for key, pattern in keys:
        terminal.until(pattern, terminal.press(key))
    mark = len(terminal.out)
    runner.end_counter(job)
    terminal.until("counts.*\n", mark)
    terminal.until(PROMPT, mark)
    terminal.until(r"^st=\d+", terminal.send("echo st=$?\n"))
    return re.findall("counts.*", terminal.out), statuses(terminal.out)


@pytest.mark.parametrize(
    ("keys", "counts"),
    [
        ([(INTERRUPT, "got SIGINT")], "counts SIGINT=1"),
        ([(INTERRUPT, "got SIGINT"), (INTERRUPT, "got SIGINT"), (INTERRUPT, "got SIGINT")], "counts SIGINT=3"),
        ([(QUIT, "got SIGQUIT")], "counts SIGQUIT=1"),
        ([(SUSPEND, "Stopped"), ("fg\n", "got SIGCONT")], "counts SIGCONT=1"),
        ([(SUSPEND, "Stopped"), ("fg\n", "got SIGCONT"), (SUSPEND, "Stopped"), ("fg\n", "got SIGCONT")], "counts SIGCONT=2"),
        ([(SUSPEND, "Stopped"), ("bg\n", "got SIGCONT"), ("fg\n", "count_signals.py\n"), (INTERRUPT, "got SIGINT")],
         "counts SIGCONT=1 SIGINT=1"),
    ],
)  # fmt: skip
def test_keys_arrive_once(tmp_path: Path, keys: list[tuple[str, str]], counts: str) -> None:
    def body(runner: Runner):
        with shell(runner) as terminal:
            return counted(runner, terminal, f"$J {COUNT}\n", keys)

    assert compare(tmp_path, body) == ([counts], ["st=0"])


def test_job_that_ignores_the_interrupt(tmp_path: Path) -> None:
    text = "$J sh -c \"trap '' INT; echo up; read x; echo d''one\"\n"
    steps = [(text, "^up"), (INTERRUPT, r"\^C"), ("\n", "^done"), STATUS]
    assert in_shell(tmp_path, steps) == ["st=0"]


def test_suspended_job_continues_and_is_interrupted(tmp_path: Path) -> None:
    steps = [(f"$J {LOOP}\n", "^up"), (SUSPEND, "Stopped"), ("fg\n", "on-again\n"), (SUSPEND, "Stopped"), ("fg\n", "on-again\n"),
             (INTERRUPT, PROMPT), STATUS]  # fmt: skip
    assert in_shell(tmp_path, steps) == ["st=130"]


@pytest.mark.parametrize("where", ["stopped", "background"])
@pytest.mark.parametrize("kill", ["kill", "kill -9", "kill -HUP", "kill -INT %1; kill -CONT"])
def test_suspended_job_is_killed(tmp_path: Path, where: str, kill: str) -> None:
    """What the shell says of it is not compared: it forgets to say anything now and then, of a plain job too."""

    def body(runner: Runner):
        with shell(runner) as terminal:
            terminal.until("^up", terminal.send(f"$J {LOOP}\n"))
            terminal.until("Stopped", terminal.press(SUSPEND))
            if where == "background":
                terminal.until("on-again\n", terminal.press("bg\n"))
            terminal.press(f"{kill} %1\n")
            return wait_until(lambda: [name for _, name in runner.processes()] == ["bash"])

    assert compare(tmp_path, body)


def test_background_job_comes_to_the_foreground(tmp_path: Path) -> None:
    def body(runner: Runner):
        with shell(runner) as terminal:
            keys = [("fg\n", "count_signals.py\n"), (INTERRUPT, "got SIGINT")]
            return counted(runner, terminal, f"$J {COUNT} &\n", keys)

    compare(tmp_path, body)


def test_background_job_that_reads_the_terminal_stops(tmp_path: Path) -> None:
    steps = [("set -b; $J sh -c 'read x; echo got-$x' &\n", "Stopped"), ("fg\n", "read x"), ("abc\n", "^got-abc"), STATUS]
    assert in_shell(tmp_path, steps) == ["st=0"]


def test_job_reads_the_terminal(tmp_path: Path) -> None:
    steps = [("$J sh -c 'echo up; read x </dev/tty; echo got-$x; exit 4'\n", "^up"), ("abc\n", "^got-abc"), STATUS]
    assert in_shell(tmp_path, steps) == ["st=4"]


def test_job_that_stops_itself_in_its_handler(tmp_path: Path) -> None:
    script = "import signal,os; signal.signal(20, lambda *a: os.kill(os.getpid(), 19)); print('re' + 'ady', flush=True); input(); print('e' + 'nd')"
    steps = [(f"$J {PYTHON} -c {shlex.quote(script)}\n", "^ready"), (SUSPEND, "Stopped"), ("fg\n", "input"), ("\n", "^end"), STATUS]
    assert in_shell(tmp_path, steps) == ["st=0"]


def test_job_into_a_pager(tmp_path: Path) -> None:
    steps = [("$J sh -c 'seq 1000; sleep 0.05' | less\n", r"^:|\n:|23\n"), ("q", PROMPT), STATUS]
    assert in_shell(tmp_path, steps) == ["st=0"]


def test_suspended_pipeline(tmp_path: Path) -> None:
    def body(runner: Runner):
        with shell(runner) as terminal:
            return counted(runner, terminal, f"$J {COUNT} | cat\n", [(SUSPEND, "Stopped"), ("fg\n", "got SIGCONT")])

    assert compare(tmp_path, body) == (["counts SIGCONT=1"], ["st=0"])


def test_terminal_through_a_pipe_to_the_job(tmp_path: Path) -> None:
    steps = [("cat | $J sh -c 'echo up >/dev/tty; exec cat'\n", "^up"), ("hello\n", r"hello\nhello"), (END_OF_FILE, PROMPT), STATUS]
    assert in_shell(tmp_path, steps) == ["st=0"]


def test_pipeline_is_interrupted_once(tmp_path: Path) -> None:
    steps = [(f"$J {COUNT} | sh -c \"trap '' INT; cat\"\n", "ready"), (INTERRUPT, "got SIGINT")]

    def body(runner: Runner):
        with shell(runner) as terminal:
            mark = terminal.send(steps[0][0])
            job = int(terminal.until(r"ready \d+", mark).split()[1])
            terminal.until("got SIGINT", terminal.press(INTERRUPT))
            runner.end_counter(job)
            return terminal.until("counts.*", mark)

    assert compare(tmp_path, body) == "counts SIGINT=1"


@pytest.mark.parametrize("name", ["bash", "dash"])
def test_interrupt_ends_a_script_with_a_loop(tmp_path: Path, name: str) -> None:
    script = tmp_path / "loop.sh"
    script.write_text("for i in 1 2 3; do $J sh -c 'echo run-$1; exec sleep 60' sh $i; done; echo after\n")
    steps = [(f"{name} {script}\n", "^run-1"), (INTERRUPT, PROMPT), STATUS]
    seen = in_shell(tmp_path, steps, lambda out: (statuses(out), re.findall(r"^(?:run-\d|after)", out, re.M)))
    assert seen == (["st=130"], ["run-1"])


def test_script_is_suspended_and_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text(f"$J {COUNT}; echo then; $J {COUNT}; echo after\n")

    def body(runner: Runner):
        with shell(runner) as terminal:
            job = int(terminal.until(r"ready \d+", terminal.send(f"bash {script}\n")).split()[1])
            terminal.until("Stopped", terminal.press(SUSPEND))
            mark = terminal.press("fg\n")
            terminal.until("got SIGCONT", mark)
            runner.end_counter(job)
            job = int(terminal.until(r"^then\n(inductop: .*\n)*ready \d+", mark).split()[-1])
            terminal.until("got SIGINT", terminal.press(INTERRUPT))
            runner.end_counter(job)
            terminal.until(PROMPT, mark)
            return re.findall("^counts.*|^after", terminal.out, re.M)

    compare(tmp_path, body)


def test_job_killed_is_reported_by_the_shell(tmp_path: Path) -> None:
    assert in_shell(tmp_path, [("$J sh -c 'kill -9 $$'\n", "Killed"), STATUS]) == ["st=137"]


def test_job_stopped_and_continued_from_elsewhere(tmp_path: Path) -> None:
    def body(runner: Runner):
        with shell(runner) as terminal:
            job = int(terminal.until(r"ready \d+", terminal.send(f"$J {COUNT} &\n")).split()[1])
            top = job if runner.is_plain else parent(job)
            os.kill(job, signal.SIGSTOP)
            assert wait_until(lambda: is_stopped(top))
            terminal.until("Stopped", terminal.send("jobs\n"))
            os.kill(job, signal.SIGCONT)
            terminal.until("got SIGCONT")
            assert wait_until(lambda: not is_stopped(top))
            os.kill(top, END)
            terminal.until("counts SIGCONT=1")
            return terminal.until(r"^st=\d+", terminal.send("wait; echo st=$?\n"))

    assert compare(tmp_path, body) == "st=0"


def test_shell_as_the_job_has_job_control(tmp_path: Path) -> None:
    steps = [("PS1='IN> ' $J bash --norc --noprofile -i\n", r"IN> \Z"), (f"{LOOP}\n", "^up"), (SUSPEND, "Stopped"),
             ("fg\n", "on-again\n"), (INTERRUPT, r"IN> \Z"), ("exit 9\n", PROMPT), STATUS]  # fmt: skip
    assert in_shell(tmp_path, steps) == ["st=9"]


def test_full_screen_job_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    steps = [("$J less /etc/passwd\n", "root"), ("q", PROMPT), ("stty -a | grep -o -- '-*icanon'\n", "^-?icanon")]
    assert in_shell(tmp_path, steps, lambda out: re.findall("^-?icanon", out, re.M)) == ["icanon"]


def test_kill_zero_in_the_job_of_a_script(tmp_path: Path) -> None:
    steps = [("bash -c '$J sh -c \"kill 0\"; echo after'\n", PROMPT), STATUS]
    in_shell(tmp_path, steps, lambda out: (statuses(out), re.findall("^after", out, re.M)))


def test_command_substitution_is_interrupted(tmp_path: Path) -> None:
    def body(runner: Runner):
        with shell(runner) as terminal:
            terminal.until("^up", terminal.send("x=$($J sh -c 'echo up >/dev/tty; exec sleep 60')\n"))
            terminal.until(PROMPT, terminal.send(INTERRUPT))  # the shell has the terminal itself
            return terminal.until(r"^st=\d+", terminal.send("echo st=$?\n"))

    assert compare(tmp_path, body) == "st=130"


def test_background_output_with_tostop_stops_only_the_job(tmp_path: Path) -> None:
    steps = [("set -b; stty tostop; $J sh -c 'echo from-behind' &\n", "Stopped"), ("fg\n", "^from-behind"), ("stty -tostop\n", PROMPT)]
    in_shell(tmp_path, steps, lambda out: len(re.findall("^from-behind", out, re.M)))


# ---- the front leads the session, as under ssh -t, xterm -e, docker run -t


def leading(folder: Path, command: list[str], drive: Callable[[Runner, Terminal], object]) -> object:
    def body(runner: Runner):
        terminal = Terminal([*runner.prefix(), *command], runner.env())
        try:
            return drive(runner, terminal)
        finally:
            terminal.close()
            runner.leftovers(2.0)
            terminal.process.wait()

    return compare(folder, body)


def test_session_leader_is_interrupted_once(tmp_path: Path) -> None:
    def drive(runner: Runner, terminal: Terminal):
        terminal.until("ready")
        terminal.until("got SIGINT", terminal.send(INTERRUPT))
        os.kill(terminal.process.pid, END)
        return terminal.until("counts.*"), terminal.wait()

    assert leading(tmp_path, COUNTER, drive) == ("counts SIGINT=1", 0)


def test_session_leader_cannot_be_suspended(tmp_path: Path) -> None:
    def drive(runner: Runner, terminal: Terminal):
        terminal.until("ready")
        terminal.until(r"\^Z", terminal.send(SUSPEND))
        terminal.until("got SIGINT", terminal.send(INTERRUPT))
        os.kill(terminal.process.pid, END)
        return terminal.until("counts.*"), terminal.wait()

    assert leading(tmp_path, COUNTER, drive) == ("counts SIGINT=1", 0)


def test_script_under_a_session_leader_cannot_be_suspended(tmp_path: Path) -> None:
    def drive(runner: Runner, terminal: Terminal):
        terminal.until("up")
        terminal.until(r"\^Z", terminal.send(SUSPEND))
        terminal.until("after", terminal.send("\n"))
        return terminal.wait()

    assert leading(tmp_path, ["sh", "-c", "sh -c 'echo up; read x'; echo after"], drive) == 0


def test_hang_up_of_the_terminal_reaches_the_job(tmp_path: Path) -> None:
    """The kernel tells the leader alone, and the group when the leader has ended."""

    def body(runner: Runner):
        log = tmp_path / f"log-{'plain' if runner.is_plain else 'front'}"
        terminal = Terminal([*runner.prefix(), *COUNTER, str(log)], runner.env())
        assert wait_until(lambda: log.exists() and "ready" in log.read_text())
        terminal.close()
        assert wait_until(lambda: "got SIGHUP" in log.read_text())
        assert wait_until(lambda: "got SIGCONT" in log.read_text())
        os.kill(terminal.process.pid, END)
        code = terminal.process.wait(20)
        return code, re.findall("counts.*", log.read_text())

    assert compare(tmp_path, body) == (0, ["counts SIGCONT=1 SIGHUP=1"])


def test_hang_up_ends_a_job(tmp_path: Path) -> None:
    def body(runner: Runner):
        terminal = Terminal([*runner.prefix(), "sh", "-c", "echo up; exec sleep 60"], runner.env())
        terminal.until("up")
        terminal.close()
        return terminal.process.wait(20)

    assert compare(tmp_path, body) == -signal.SIGHUP


def test_window_size_reaches_the_job(tmp_path: Path) -> None:
    def drive(runner: Runner, terminal: Terminal):
        import fcntl
        import struct
        import termios

        terminal.until("ready")
        fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        terminal.until("got SIGWINCH")
        os.kill(terminal.process.pid, END)
        return terminal.until("counts.*"), terminal.wait()

    assert leading(tmp_path, COUNTER, drive) == ("counts SIGWINCH=1", 0)


def test_counter_helper_counts_plainly(tmp_path: Path) -> None:
    counter = Counter(Runner(tmp_path, None))
    counter.process.send_signal(signal.SIGUSR1)
    counter.until("USR1")
    assert counter.finish() == (0, "counts SIGUSR1=1")
