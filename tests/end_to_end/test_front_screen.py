# SPDX-License-Identifier: Apache-2.0
"""The screen on a real pseudo terminal: a job started under it, left, attached to again, ended. libvterm (show_terminal) says what is
shown. No test here needs torch."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDUCTOP = os.environ.get("INDUCTOP") or str(ROOT / "build" / "inductop")
SHOW = Path(INDUCTOP).parent / "show_terminal"
BOUND_S = 20.0

pytestmark = pytest.mark.skipif(not SHOW.exists(), reason="show_terminal was not built: libvterm is not there")


class Terminal:
    def __init__(self, folder: Path, *words: str, size: tuple[int, int] = (100, 24)) -> None:
        self.size, self.bytes, self.is_open = size, b"", True
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "INDUCTOP_TMPDIR": str(folder),
                   "XDG_CONFIG_HOME": str(folder / "config")}  # fmt: skip
            for name in ("INDUCTOP_SESSION", "NO_COLOR", "COLORFGBG"):
                env.pop(name, None)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            os.execve(INDUCTOP, [INDUCTOP, *words], env)
        self.status: int | None = None

    def pump(self, bound_s: float = 0.02) -> None:
        ready, _, _ = select.select([self.fd], [], [], bound_s)
        if not ready:
            return
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.bytes += data
        self.is_open = bool(data)

    def shown(self) -> str:
        return subprocess.run([SHOW, f"{self.size[0]}x{self.size[1]}"], input=self.bytes, capture_output=True, check=True).stdout.decode()

    def until(self, what: str | Callable[[str], bool], bound_s: float = BOUND_S) -> str:
        end = time.monotonic() + bound_s
        while True:
            self.pump()
            shown = self.shown()
            if what in shown if isinstance(what, str) else what(shown):
                return shown
            assert time.monotonic() < end, f"not shown: {what}\n{shown}"

    def pump_until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + BOUND_S
        while not condition():
            self.pump()
            assert time.monotonic() < end, f"did not come\n{self.shown()}"

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def resize(self, width: int, height: int) -> None:
        self.size, self.bytes = (width, height), b""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def wait(self, options: int = 0) -> int:
        """Its wait status; whatever it writes is read meanwhile."""
        end = time.monotonic() + BOUND_S
        while self.status is None:
            self.pump()
            pid, status = os.waitpid(self.pid, os.WNOHANG | options)
            if pid and (options or not os.WIFSTOPPED(status)):
                if not os.WIFSTOPPED(status):
                    self.status = status
                return status
            assert time.monotonic() < end, f"has not ended\n{self.shown()}"
        return self.status

    def exit_code(self) -> int:
        code = os.waitstatus_to_exitcode(self.wait())
        while self.is_open:
            before = len(self.bytes)
            self.pump(0.2)
            if len(self.bytes) == before:
                break
        return code

    def is_given_back(self) -> bool:
        return self.bytes.rfind(b"\x1b[?1049l") >= self.bytes.rfind(b"\x1b[?1049h")

    def close(self) -> None:
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def end_what_is_left(folder: Path) -> None:
    """A test that failed half way leaves a job that lives on, as it should: all that has this folder in its environment."""
    want = f"INDUCTOP_TMPDIR={folder}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if want in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="is-", dir="/tmp"))  # sockets want short paths
    yield path
    end_what_is_left(path)
    shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def terminal(folder: Path, *words: str, **more: tuple[int, int]) -> Iterator[Terminal]:
    one = Terminal(folder, *words, **more)
    try:
        yield one
    finally:
        one.close()


def job(script: str, name: str = "job") -> tuple[str, ...]:
    return ("--name", name, "--", "sh", "-c", script)


WAITS = "echo ready; read line; echo got $line; exit 5"


def end_job(folder: Path, name: str = "job") -> None:
    """Lets a job go that waits for a line: attaches and types it."""
    with terminal(folder, "attach", name) as screen:
        screen.until("ready")
        screen.type("i")
        screen.until("^] back to the screen")
        screen.type("x\r")
        screen.until("ended, exit 5")
        screen.type("\x1d")
        screen.until("F1 help")
        screen.type("q")
        assert screen.exit_code() == 0


def test_exit_code_is_the_jobs_and_its_last_lines_stay(folder: Path) -> None:
    with terminal(folder, *job("echo first; echo second >&2; exit 7")) as screen:
        assert screen.exit_code() == 7
        assert screen.is_given_back()
        lines = screen.shown().splitlines()
        assert lines[:3] == ["first", "second", "inductop: no rank was seen"] and "inductop replay" in lines[4]


@pytest.mark.parametrize("turn", range(5))
def test_last_lines_stay_however_short_the_job(folder: Path, turn: int) -> None:
    with terminal(folder, *job("seq 5000; echo the end")) as screen:
        assert screen.exit_code() == 0
        assert "4999\n5000\nthe end\n" in screen.shown()


def test_signal_that_ended_the_job_ends_us(folder: Path) -> None:
    with terminal(folder, *job("kill -9 $$")) as screen:
        assert screen.exit_code() == -9


def test_command_that_is_not_there(folder: Path) -> None:
    with terminal(folder, "--", "no-such-command") as screen:
        assert screen.exit_code() == 127
        assert "no-such-command" in screen.shown()


def test_keys_reach_the_job_until_ctrl_bracket(folder: Path) -> None:
    with terminal(folder, *job(WAITS)) as screen:
        screen.until("ready")
        screen.type("i")
        screen.until("^] back to the screen")
        screen.type("qAd")
        screen.until("qAd")
        screen.type("\x1d")
        screen.until("F1 help")
        screen.type("i\r")
        assert screen.exit_code() == 5
        assert "got qAd" in screen.shown()


def test_leaving_asks_and_the_job_goes_on(folder: Path) -> None:
    with terminal(folder, *job(WAITS)) as screen:
        screen.until("ready")
        screen.type("q")
        screen.until("leave: the job goes on")
        screen.type("\x1b")
        screen.until(lambda shown: "leave: the job" not in shown)
        screen.type("q\r")
        assert screen.exit_code() == 0
        assert "inductop attach job" in screen.shown() and screen.is_given_back()
    end_job(folder)


def test_ctrl_c_asks_and_twice_interrupts(folder: Path) -> None:
    with terminal(folder, *job('trap "echo caught; exit 3" INT; echo ready; while :; do sleep 0.1; done')) as screen:
        screen.until("ready")
        screen.type("\x03")
        screen.until("interrupt the job")
        screen.type("\x03")
        assert screen.exit_code() == 3
        assert "caught" in screen.shown()


def test_ctrl_c_on_a_screen_that_came_later_asks_too(folder: Path) -> None:
    with terminal(folder, *job('trap "echo caught; exit 3" INT; echo ready; while :; do sleep 0.1; done')) as screen:
        screen.until("ready")
        with terminal(folder, "attach", "job") as later:
            later.until("ready")
            later.type("\x03")
            later.until("interrupt the job")
            later.type("\x1b")
            later.until(lambda shown: "interrupt the job" not in shown)
            later.type("\x03")
            later.until("interrupt the job")
            later.type("\x03")
            later.until("ended, exit 3")
            later.type("q")
            assert later.exit_code() == 0
            assert later.is_given_back() and "no rank was seen" in later.shown() and "'job' has ended" in later.shown()
        assert screen.exit_code() == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_to_the_front_pass_to_the_job(folder: Path, number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    with terminal(folder, *job(f'trap "echo caught; exit 9" {name}; echo ready; while :; do sleep 0.1; done')) as screen:
        screen.until("ready")
        os.kill(screen.pid, number)
        assert screen.exit_code() == 9


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_front_that_goes_leaves_the_job_alone(folder: Path, number: signal.Signals) -> None:
    with terminal(folder, *job(WAITS)) as screen:
        screen.until("ready")
        os.kill(screen.pid, number)
        assert screen.exit_code() == -number
    end_job(folder)


def engine_of(folder: Path) -> int | None:
    """The engine that serves `job` in this folder; None: there is none."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            environ = (path.parent / "environ").read_bytes()
            if words[1:3] == [b"engine-process", b"job"] and str(folder).encode() in environ:
                return int(path.parent.name)
    return None


def test_engine_that_is_killed_is_replaced_and_the_job_does_not_notice(folder: Path) -> None:
    with terminal(folder, *job(WAITS)) as screen:
        screen.until("ready")
        screen.until(lambda shown: "live" in shown.splitlines()[0])
        before = engine_of(folder)
        assert before
        os.kill(before, signal.SIGKILL)
        screen.until(lambda shown: engine_of(folder) not in (None, before) and "live" in shown.splitlines()[0])
        screen.type("i\r")
        assert screen.exit_code() == 5


def test_job_that_was_left_takes_a_new_engine(folder: Path) -> None:
    """Nobody looks, and its engine is killed: the next who attaches starts another one, and types to the job."""
    with terminal(folder, *job(WAITS)) as screen:
        screen.until(lambda shown: "ready" in shown and "live" in shown.splitlines()[0])
        screen.type("q\r")
        assert screen.exit_code() == 0
    before = engine_of(folder)
    assert before
    os.kill(before, signal.SIGKILL)
    end = time.monotonic() + BOUND_S
    while engine_of(folder) == before:
        assert time.monotonic() < end
        time.sleep(0.01)
    end_job(folder)


def test_front_waits_for_the_engine_whose_files_a_script_reads_next(folder: Path) -> None:
    events = folder / "events.jsonl"
    with terminal(folder, "--json", str(events), *job(WAITS)) as screen:
        screen.until(lambda shown: "ready" in shown and "live" in shown.splitlines()[0])
        engine = engine_of(folder)
        assert engine
        os.kill(engine, signal.SIGSTOP)
        screen.type("i\r")
        screen.pump_until(lambda: b"got" in screen.bytes[screen.bytes.rfind(b"\x1b[?1049l") :])
        end = time.monotonic() + 1
        while time.monotonic() < end:  # it does not end without it
            screen.pump()
            assert os.waitpid(screen.pid, os.WNOHANG) == (0, 0)
        os.kill(engine, signal.SIGCONT)
        assert os.waitstatus_to_exitcode(screen.wait()) == 5
        assert json.loads(events.read_text().splitlines()[-1])["kind"] == "summary"
        screen.exit_code()
        assert "inductop: no rank was seen" in screen.shown() and "has not ended" not in screen.shown()


def test_engine_that_does_not_end_holds_nobody_for_long(folder: Path) -> None:
    with terminal(folder, *job(WAITS)) as screen:
        screen.until(lambda shown: "ready" in shown and "live" in shown.splitlines()[0])
        engine = engine_of(folder)
        assert engine
        os.kill(engine, signal.SIGSTOP)
        screen.type("i\r")
        assert screen.exit_code() == 5
        assert "the engine has not ended" in screen.shown()
        os.kill(engine, signal.SIGKILL)


COUNTS = "echo ready; n=0; while [ ! -e stop ]; do n=$((n+1)); echo $n > count.new; mv count.new count; sleep 0.02; done; exit 4"


def counted(folder: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int((folder / "count").read_text())
    return 0


def wait_for_more(folder: Path, steps: int = 20) -> None:
    """The job goes on by so much."""
    begin, end = counted(folder), time.monotonic() + BOUND_S
    while counted(folder) < begin + steps:
        assert time.monotonic() < end, "the job stands still"
        time.sleep(0.02)


def test_screen_that_is_stopped_does_not_stop_the_job(folder: Path) -> None:
    with terminal(folder, *job(f"cd {folder}; {COUNTS}")) as screen:
        screen.until("ready")
        os.kill(screen.pid, signal.SIGSTOP)
        assert os.WIFSTOPPED(screen.wait(os.WUNTRACED))
        wait_for_more(folder)
        (folder / "stop").touch()
        end = time.monotonic() + BOUND_S
        while not list(folder.glob("*/job/exit")):
            assert time.monotonic() < end, "the job did not end"
            time.sleep(0.02)
        os.kill(screen.pid, signal.SIGCONT)
        assert screen.exit_code() == 4


def test_terminal_that_is_closed_leaves_the_job_alone(folder: Path) -> None:
    with terminal(folder, *job(f"cd {folder}; {COUNTS}")) as screen:
        screen.until("ready")
        os.close(screen.fd)
        screen.fd = os.open("/dev/null", os.O_RDWR)
        pid, status = os.waitpid(screen.pid, 0)
        screen.status = status
        assert os.waitstatus_to_exitcode(status) == -signal.SIGHUP
    wait_for_more(folder)
    with terminal(folder, "attach", "job") as later:
        later.until("ready")
        (folder / "stop").touch()
        later.until("ended, exit 4")
        later.type("q")
        assert later.exit_code() == 0


def keeper_of(pid: int) -> int:
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            stat = (path.parent / "stat").read_text()
            if path.read_text() == "inductop-keep\n" and int(stat[stat.rindex(")") + 2 :].split()[1]) == pid:
                return int(path.parent.name)
    raise AssertionError("no keeper")


def test_keeper_that_is_killed_is_followed_and_the_screen_goes_on(folder: Path) -> None:
    with terminal(folder, *job(f"cd {folder}; {COUNTS}")) as screen:
        screen.until("ready")
        os.kill(keeper_of(screen.pid), signal.SIGKILL)
        wait_for_more(folder)
        screen.type("d")
        screen.until("dynamic as written to on")
        (folder / "stop").touch()
        assert screen.exit_code() == 4


def test_program_that_asks_draws_over_itself_and_pages(folder: Path) -> None:
    """A question, a progress bar in colour and less, used through the output pane."""
    bar = "for i in 1 2 3; do printf '\\r\\033[32m%d of 3\\033[0m' $i; done; echo"
    script = f"printf 'name? '; read name; echo hello $name; {bar}; seq 500 > {folder}/text; LESS= less {folder}/text; echo the end; exit 6"
    with terminal(folder, *job(script)) as screen:
        screen.until("name?")
        screen.type("i")
        screen.until("^] back to the screen")
        screen.type("Ada\r")
        screen.until(f"{folder}/text"[-12:])
        screen.type("G")
        screen.until(lambda shown: "\n 500" in shown)
        screen.type("q")
        assert screen.exit_code() == 6
        shown = screen.shown()
        assert "hello Ada" in shown and "3 of 3\n" in shown and "1 of 3" not in shown and "the end" in shown


def test_ten_megabytes_are_complete_in_the_file(folder: Path) -> None:
    output = folder / "output.txt"
    script = "i=0; while [ $i -lt 20 ]; do seq 1 80000; i=$((i+1)); done; echo the end"
    with terminal(folder, "--output", str(output), *job(script)) as screen:
        assert screen.exit_code() == 0
        assert "80000\nthe end" in screen.shown()
    wanted = "".join(f"{n}\r\n" for n in range(1, 80001)) * 20 + "the end\r\n"
    assert len(wanted) > 10_000_000 and output.read_bytes() == wanted.encode()


def test_a_lone_escape_and_keys_of_a_slow_line(folder: Path) -> None:
    """A sequence whose bytes come one at a time is one key; an ESC alone is one, too, without another byte behind it."""
    with terminal(folder, *job(WAITS)) as screen:
        screen.until("ready")
        for byte in "\x1bOQ\x1bOP":  # F2 means nothing, F1 is the help
            screen.type(byte)
            screen.pump(0.01)
        screen.until("Keys that hold where you were")
        begin, before = time.monotonic(), len(screen.bytes)
        screen.type("\x1b")
        screen.pump_until(lambda: b"Output" in screen.bytes[before:])
        print(f"ESC acted within {1000 * (time.monotonic() - begin):.0f} ms")
        screen.until(lambda shown: "Keys that hold" not in shown)
        screen.type("i\r")
        assert screen.exit_code() == 5


def test_theme_and_columns_are_kept_for_the_next_screen(folder: Path) -> None:
    with terminal(folder, *job(WAITS)) as screen:
        screen.until("ready")
        screen.type("T")
        screen.until("theme light")
        screen.type("2C")
        screen.until("columns (none: all):")
        screen.type("\x15rank ms\r")
        screen.until(lambda shown: "recomp" not in shown)
        screen.type("q\r")
        assert screen.exit_code() == 0
    with terminal(folder, "attach", "job") as later:
        later.until("ready")
        later.type("T")
        later.until("theme high-contrast")
        later.type("2")
        later.until(lambda shown: "Rank" in shown.splitlines()[1] and "recomp" not in shown)
    assert (folder / "config/inductop/screen").read_text() == "columns.ranks rank ms\ntheme high-contrast\n"
    end_job(folder)


def test_what_is_copied_goes_to_the_terminals_clipboard(folder: Path) -> None:
    with terminal(folder, *job(WAITS)) as screen:
        screen.until("ready")
        screen.type("y")
        screen.until("to the clipboard: inductop -- sh -c")
        found = re.search(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", screen.bytes)
        assert found and base64.b64decode(found[1]).decode().startswith("inductop -- sh -c echo ready")
        screen.type("i\r")
        assert screen.exit_code() == 5


def test_ctrl_z_suspends_the_screen_only(folder: Path) -> None:
    with terminal(folder, *job("echo ready; n=0; while read line; do n=$((n+1)); echo line $n; done")) as screen:
        screen.until("ready")
        screen.type("\x1a")
        assert os.WIFSTOPPED(screen.wait(os.WUNTRACED))
        assert screen.is_given_back()
        os.kill(screen.pid, signal.SIGCONT)
        screen.type("i\r")
        screen.until("line 1")
        screen.type("\x04")
        assert screen.exit_code() == 0


def test_resize_redraws_and_tells_the_job(folder: Path) -> None:
    with terminal(folder, *job("echo ready; read x; stty size; exit 2")) as screen:
        screen.until("ready")
        screen.resize(60, 20)
        screen.until("F1 help")
        screen.type("i\r")
        assert screen.exit_code() == 2
        assert "17 59" in screen.shown()


def test_output_cannot_touch_our_terminal(folder: Path) -> None:
    evil = r"printf '\033[2J\033]0;evil\007\033[?1049l\033[31mred\033[0m plain\n'; echo ready; read x"
    with terminal(folder, *job(evil)) as screen:
        screen.until("ready")
        assert b"evil\x07" not in screen.bytes and not screen.is_given_back()
        assert "red plain" in screen.until("F1 help")
        screen.type("i\r")
        assert screen.exit_code() == 0


def test_a_key_is_answered_while_the_job_floods(folder: Path) -> None:
    with terminal(folder, *job("echo ready; while :; do echo flood flood flood flood; done")) as screen:
        screen.until("flood")
        screen.type("d")
        screen.until("dynamic as written to on")
        screen.type("\x03")
        screen.until("interrupt the job")
        screen.type("\x03")
        assert screen.exit_code() in (-2, 130)


def test_pipe_and_headless_have_no_screen(folder: Path) -> None:
    env = {**os.environ, "INDUCTOP_TMPDIR": str(folder)}
    done = subprocess.run([INDUCTOP, "--quiet", *job("echo out")], capture_output=True, text=True, env=env, timeout=BOUND_S)
    assert (done.returncode, done.stdout) == (0, "out\n")
    with terminal(folder, "--headless", "--quiet", *job("echo out")) as screen:
        assert screen.exit_code() == 0
        assert b"1049h" not in screen.bytes


def test_attach_without_a_job_says_so(folder: Path) -> None:
    with terminal(folder, "attach", "nobody") as screen:
        assert screen.exit_code() == 125
        assert "no job" in screen.shown()
