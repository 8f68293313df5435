"""Under a front with a pty a command ends as it does plainly, and writes what it writes plainly."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from front_tools import BUILD, PYTHON, Terminal, wait_until
from pty_tools import DRIVER, PtyRunner, Viewer, compare, job, same, same_in_shell


def test_output_and_exit_code(tmp_path: Path) -> None:
    assert same(tmp_path, ["sh", "-c", "echo hi"]) == (0, "hi\n")


@pytest.mark.parametrize("code", [1, 3, 126, 127, 255])
def test_exit_code_is_passed_on(tmp_path: Path, code: int) -> None:
    assert same(tmp_path, ["sh", "-c", f"echo out; echo err >&2; exit {code}"]) == (code, "out\nerr\n")


@pytest.mark.parametrize("number", ["INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "ALRM", "TERM", "USR1", "RTMIN"])
def test_ends_by_the_jobs_signal(tmp_path: Path, number: str) -> None:
    script = f"import os, signal; print('x' * 200000, flush=True); os.kill(os.getpid(), signal.SIG{number})"
    setup = "" if number in ("KILL", "RTMIN") else f"import signal; signal.signal(signal.SIG{number}, signal.SIG_DFL); "
    code, out = same(tmp_path, [PYTHON, "-c", setup + script])
    assert code == -getattr(signal, f"SIG{number}")
    assert len(out) == 200001


def test_no_core_of_the_front(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "ulimit -c 0; kill -ABRT $$"]) as one:
        assert os.WCOREDUMP(-one.wait()) == 0
        assert one.runner.wait_exit() == "signal 6\n"


def test_exit_file(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "exit 7"]) as one:
        assert one.wait() == 7
        assert (one.session / "exit").read_text() == "exit 7\n"
        assert not (one.session / "exit.tmp").exists()


def test_modes_and_size_are_those_of_the_users_terminal(tmp_path: Path) -> None:
    lines = same_in_shell(tmp_path, "stty rows 31 cols 101 intr ^P -echo; $J sh -c 'stty -a; tty >/dev/null && echo it-is'")
    text = "\n".join(lines)
    assert "it-is" in lines
    assert "rows 31; columns 101" in text
    assert "intr = ^P" in text
    assert "-echo " in text


def test_job_opens_the_terminal(tmp_path: Path) -> None:
    assert same(tmp_path, ["sh", "-c", "echo to-tty >/dev/tty; exit 2"]) == (2, "to-tty\n")


def test_job_leads_its_group_in_the_foreground(tmp_path: Path) -> None:
    script = "import os; print(os.getpgrp() == os.getpid(), os.tcgetpgrp(0) == os.getpid())"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        one.wait()
        assert one.runner.text() == "True True\n"


def test_descriptors_of_the_job(tmp_path: Path) -> None:
    assert same(tmp_path, ["sh", "-c", "ls /proc/self/fd"])[1].split() == ["0", "1", "2", "3"]


def test_other_descriptors_are_handed_down(tmp_path: Path) -> None:
    script = "$J sh -c 'cat <&7; echo to-8 >&8; ls /proc/self/fd' 7<<<from-7 8>$F; cat $F"
    lines = same_in_shell(tmp_path, f"F={shlex.quote(str(tmp_path / 'f'))}; {script}")
    assert "from-7" in lines and "to-8" in lines


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- 2>&-"])
def test_closed_descriptors_stay_closed(tmp_path: Path, closed: str) -> None:
    show = "import os, sys; fds = [fd for fd in range(3) if os.path.exists(f'/proc/self/fd/{fd}')]; open(sys.argv[1], 'w').write(f'{fds}')"
    words = shlex.join([PYTHON, "-c", show, str(tmp_path / "out")])
    assert "st=0" in same_in_shell(tmp_path, f"$J {words} {closed}; echo st=$?; cat {tmp_path}/out")


def test_mask_is_handed_down(tmp_path: Path) -> None:
    show = "import signal; print(sorted(signal.pthread_sigmask(0, [])))"
    block = "import os, signal, sys; signal.pthread_sigmask(0, [signal.SIGUSR1, signal.SIGHUP]); os.execvp(sys.argv[1], sys.argv[1:])"

    def body(runner: PtyRunner) -> str:
        terminal = Terminal([PYTHON, "-c", block, *runner.prefix(), PYTHON, "-c", show], runner.env())
        terminal.wait()
        terminal.close()
        return terminal.out if runner.is_plain else runner.text()

    assert "SIGUSR1" in compare(tmp_path, body)


def test_ignored_signals_are_handed_down(tmp_path: Path) -> None:
    script = "trap '' HUP USR2 CHLD; $J sh -c 'grep SigIgn /proc/self/status; kill -HUP $$; echo alive; exit 3'; echo st=$?"
    lines = same_in_shell(tmp_path, script)
    assert "alive" in lines and "st=3" in lines


def test_nohup(tmp_path: Path) -> None:
    script = "nohup $J sh -c 'grep SigIgn /proc/self/status; exit 3' 2>/dev/null; echo st=$?; cat nohup.out; rm nohup.out"
    lines = same_in_shell(tmp_path, f"cd {tmp_path}; {script}")
    assert "st=3" in lines
    assert int(next(line for line in lines if "SigIgn" in line).split()[1], 16) & 1


@pytest.mark.parametrize(
    ("script", "want"),
    [
        ("$J sh -c 'echo o; echo e >&2; [ -t 1 ] && echo t1; [ -t 2 ] || echo n2; exit 3' 2>$F; echo st=$?; cat $F", "n2"),
        ("$J sh -c 'cat; [ -t 0 ] || echo n0; [ -t 1 ] && echo t1; exit 3' </dev/null; echo st=$?", "n0"),
        ("echo in | $J sh -c 'cat; exit 3'; echo st=$?", "in"),
        ("$J sh -c 'echo o; [ -t 0 ] && echo t0; exit 3' | cat; echo st=${PIPESTATUS[0]}", "t0"),
        ("yes | $J head -c 4; echo st=${PIPESTATUS[*]}", "st=141 0"),
        ("$J sh -c 'echo late >/dev/tty; exit 3' </dev/null >$F 2>&1; echo st=$?", "late"),
        ("$J sh -c 'exec >$F 2>&1 <&1; echo elsewhere; exit 3'; echo st=$?; cat $F", "elsewhere"),
    ],
)
def test_redirections(tmp_path: Path, script: str, want: str) -> None:
    assert want in same_in_shell(tmp_path, f"export F={shlex.quote(str(tmp_path / 'f'))}; {script}")


@pytest.mark.parametrize(
    "script",
    [
        "{ yes; echo $? >$SEEN; } 2>/dev/null | $J sh -c 'exec <&-; read x </dev/tty'",
        "mkfifo $SEEN-; { cat <$SEEN-; echo end >$SEEN; } & $J sh -c 'exec 7>&-; read x </dev/tty' 7>$SEEN-",
    ],
    ids=["writer", "reader"],
)
def test_who_shares_a_pipe_sees_the_job_let_go(tmp_path: Path, script: str) -> None:
    """None of our processes keeps the job's pipes open: the writer gets SIGPIPE, the reader its end, while the job runs on."""
    seen = tmp_path / "seen"
    runner = PtyRunner(tmp_path, [])
    env = runner.env(J=shlex.join(runner.prefix()), SEEN=str(seen))
    terminal = Terminal(["bash", "-c", script], env)
    try:
        viewer = Viewer(runner.session)
        assert wait_until(seen.exists)
        viewer.keys("\n")
        terminal.wait()
        assert runner.leftovers() == []
    finally:
        runner.leftovers(0.0)
        terminal.close()


def test_much_output(tmp_path: Path) -> None:
    script = "import sys\nfor i in range(50): sys.stdout.write(('%07d ' % i) * 131072)\nsys.exit(5)"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        assert one.wait() == 5
        assert one.runner.output() == b"".join(b"%07d " % i * 131072 for i in range(50))


def test_short_jobs_lose_no_last_bytes(tmp_path: Path) -> None:
    for _ in range(60):
        with job(tmp_path, ["sh", "-c", "printf '%04000d' 7; printf END"]) as one:
            assert one.wait() == 0
            assert (one.session / "exit").read_text() == "exit 0\n"
            assert one.runner.output().endswith(b"7END")
            assert len(one.runner.output()) == 4003


@pytest.mark.parametrize(
    ("command", "code", "line"),
    [
        (["no-such-command"], 127, "inductop: command 'no-such-command' not found"),
        (["/etc/passwd"], 126, "inductop: could not run '/etc/passwd': Permission denied"),
    ],
)
def test_command_that_cannot_be_run(tmp_path: Path, command: list[str], code: int, line: str) -> None:
    with job(tmp_path, command) as one:
        assert one.wait() == code
        assert one.terminal.out == line + "\n"
        assert one.runner.wait_exit() == f"exit {code}\n"


def test_script_without_a_first_line(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo no first line; exit 6\n")
    script.chmod(0o755)
    assert "st=6" in same_in_shell(tmp_path, f"$J {script}; echo st=$?")


def test_without_a_terminal_it_runs_headless(tmp_path: Path) -> None:
    """The place of the socket is taken: the front says so and goes on without a screen."""
    session = tmp_path / "s1"
    (session / "tty" / "taken").mkdir(parents=True)
    with job(tmp_path, ["sh", "-c", "tty >/dev/null && echo on-a-terminal; exit 9"]) as one:
        assert one.wait() == 9
        assert re.fullmatch("inductop: could not set up the job's terminal in its session: .*: no screen\non-a-terminal\n", one.terminal.out)
        assert one.runner.wait_exit() == "exit 9\n"
        assert sorted(path.name for path in session.iterdir()) == ["exit", "tty"]


@pytest.mark.parametrize("limit", range(4, 28))
def test_with_too_few_descriptors_the_job_runs_all_the_same(tmp_path: Path, limit: int) -> None:
    """Whatever cannot be opened, and where: on a terminal of its own, headless, or without inductop."""
    runner = PtyRunner(tmp_path, [])
    terminal = Terminal(["bash", "-c", f"ulimit -n {limit}; exec $J sh -c 'exit 9'"], runner.env(J=shlex.join(runner.prefix())))
    assert terminal.wait() == 9
    terminal.close()
    assert runner.leftovers() == []


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("$D --has-terminal", 0),
        ("$D --has-terminal </dev/null 2>/dev/null", 0),
        ("$D --has-terminal | cat; (exit ${PIPESTATUS[0]})", 1),
        ("$D --has-terminal >/dev/null", 1),
        ("set -m; $D --has-terminal & wait $!", 1),
        ("setsid -w $D --has-terminal", 1),
    ],
)
def test_where_a_screen_makes_sense(script: str, answer: int) -> None:
    terminal = Terminal(["bash", "-c", script + "; echo st=$?"], {**os.environ, "D": str(DRIVER)})
    terminal.until(f"^st={answer}")
    terminal.wait()
    terminal.close()


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -TERM $$", 143)])
def test_as_the_first_process_of_a_container(tmp_path: Path, command: str, code: int) -> None:
    container = ["unshare", "-pf", "--mount-proc", "--kill-child"]
    if subprocess.run([*container, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces of processes here")
    runner = PtyRunner(tmp_path, [])
    terminal = Terminal([*container, *runner.prefix(), "sh", "-c", f"setsid true & echo hi; {command}"], runner.env())
    assert terminal.wait() == code
    terminal.close()
    assert runner.text() == "hi\n"
    assert runner.leftovers() == []


def test_driver_is_built() -> None:
    assert DRIVER.exists(), f"build {BUILD} first"
