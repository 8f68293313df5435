"""Tools of the front's tests: run a command plainly and under the front, and compare what anybody could notice.

FRONT holds the words that end before `--` (for example `build/inductop --headless --quiet`); without it the driver in tests/support stands
in for the program. INDUCTOP_BUILD is the build folder, `build` by default.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("INDUCTOP_BUILD", ROOT / "build"))
DRIVER = BUILD / "front_driver"
FRONT = shlex.split(os.environ.get("FRONT", ""))
PYTHON = sys.executable
COUNTER = [PYTHON, str(ROOT / "tests/support/count_signals.py")]
END = signal.SIGRTMIN + 5
BOUND_S = 20.0

numbers = itertools.count()


def wait_until(condition: Callable[[], Any], bound_s: float = BOUND_S) -> Any:
    """The first true value of `condition`, or its last one when the bound is over."""
    end = time.monotonic() + bound_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.005)
    return value


def state(pid: int) -> str:
    """State letter of a process as in ps, `X` when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "X"
    return stat[stat.rindex(")") + 2]


def is_stopped(pid: int) -> bool:
    return state(pid) in "Tt"


def parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[1])


def own_lines(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines(keepends=True) if line.startswith(b"inductop:")]


def without_own_lines(data: bytes) -> bytes:
    return b"".join(line for line in data.splitlines(keepends=True) if not line.startswith(b"inductop:"))


class Runner:
    """Starts commands, plainly or under the front, and knows their processes by a variable in their environment."""

    def __init__(self, folder: Path, prefix: list[str] | None) -> None:
        self.folder, self.given, self.mark = folder, prefix, ""
        self.session: Path | None = None

    @property
    def is_plain(self) -> bool:
        return self.given is None

    def prefix(self, *options: str) -> list[str]:
        """Words in front of a command; each call is a session of its own."""
        if self.given is None:
            return []
        if self.given:
            return [*self.given, "--"]
        self.session = self.folder / f"session-{next(numbers)}"
        return [str(DRIVER), "--session", str(self.session), *options, "--"]

    def words(self, *options: str) -> str:
        return shlex.join(self.prefix(*options))

    def env(self, **more: str) -> dict[str, str]:
        self.mark = f"{os.getpid()}-{next(numbers)}"
        inherited = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS")}  # readline leaves its window's there
        return {**inherited, "FRONT_TEST_MARK": self.mark, **more}

    def start(self, command: list[str], *, options: tuple[str, ...] = (), **kw: Any) -> subprocess.Popen[bytes]:
        kw.setdefault("env", self.env())
        return subprocess.Popen([*self.prefix(*options), *command], **kw)

    def run(
        self, command: list[str], data: bytes = b"", *, options: tuple[str, ...] = (), **kw: Any
    ) -> tuple[int, bytes, bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.start(command, options=options, **{**pipes, **kw})
        out, err = process.communicate(data, timeout=60)
        return process.returncode, out, without_own_lines(err)

    def processes(self) -> list[tuple[int, str]]:
        """All that carry the mark but zombies: (pid, name)."""
        found = []
        want = f"FRONT_TEST_MARK={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                if want in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((int(entry.name), (entry / "comm").read_text().strip()))
        return sorted(found)

    def leftovers(self, bound_s: float = 5.0) -> list[str]:
        """Names of what is still there after the bound; ends them."""
        wait_until(lambda: not self.processes(), bound_s)
        left = self.processes()
        for pid, _ in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return [name for _, name in left]

    def exit_file(self) -> str:
        assert self.session
        return (self.session / "exit").read_text()

    def end_counter(self, job: int, front: int | None = None) -> None:
        """Ends the counting job, through the front if there is one: what the front had to pass on before has arrived by then."""
        target = front if front is not None else job if self.is_plain else parent(job)
        os.kill(target, END)


class Reader:
    """Reads a descriptor up to patterns; what comes behind one is kept for the next."""

    def __init__(self, fd: int) -> None:
        self.fd, self.data = fd, ""

    def until(self, pattern: str, bound_s: float = BOUND_S) -> str:
        """What came up to the end of the pattern."""
        end = time.monotonic() + bound_s
        while not (match := re.search(pattern, self.data)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"{pattern!r} did not come within {bound_s} s; got {self.data!r}")
            piece = os.read(self.fd, 65536)
            if not piece:
                raise AssertionError(f"{pattern!r} did not come before the end; got {self.data!r}")
            self.data += piece.decode(errors="replace")
        text, self.data = self.data[: match.end()], self.data[match.end() :]
        return text


def read_until(fd: int, pattern: str) -> str:
    return Reader(fd).until(pattern)


def has_pending_signals(pid: int) -> bool:
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        no_matter = 1 << (signal.SIGCONT - 1)
        return any(int(mask, 16) & ~no_matter for mask in re.findall(r"(?:Sig|Shd)Pnd:\s+(\w+)", status))
    return False


class Counter:
    """The counting job, running: `job` is its pid, `process` what we started."""

    def __init__(self, runner: Runner, **kw: Any) -> None:
        self.runner = runner
        self.process = runner.start(COUNTER, stdout=subprocess.PIPE, **kw)
        assert self.process.stdout
        self.reader = Reader(self.process.stdout.fileno())
        self.job = int(self.reader.until(r"ready \d+\n").split()[1])

    def until(self, *names: str) -> None:
        """Waits for the signals; then nobody of ours has one left to look at (two of a kind that wait are one, to any process)."""
        for name in names:
            self.reader.until(f"got SIG{name}\n")
        assert wait_until(lambda: not any(has_pending_signals(pid) for pid, _ in self.runner.processes()))

    def finish(self, by: int | None = None) -> tuple[int, str]:
        """Exit code and counts. `by`: who gets the ending signal, the started process unless given."""
        os.kill(self.process.pid if by is None else by, END)
        counts = re.findall(r"counts.*", self.reader.until(r"counts.*\n"))[0]
        code = self.process.wait(BOUND_S)
        assert self.process.stdout
        self.process.stdout.close()
        return code, counts


class Terminal:
    """A process in a session of its own with a new terminal that we hold the other end of."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))

        def lead() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, preexec_fn=lead, env=env)
        os.close(slave)
        self.out, self.typed = "", 0

    def _read(self, bound_s: float) -> bool:
        if self.master < 0 or not select.select([self.master], [], [], bound_s)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.out += data.decode(errors="replace").replace("\r", "")
        return bool(data)

    def send(self, text: str) -> int:
        """Types; returns the place in `out` behind which the answer will stand."""
        mark = len(self.out)
        if text.endswith("\n"):
            self.typed = mark
        os.write(self.master, text.encode())
        return mark

    def press(self, text: str) -> int:
        """Types a key that makes a signal only when a job has the terminal, a command of the shell only at its prompt."""
        if text in ("\x03", "\x1a", "\x1c"):
            assert wait_until(lambda: os.tcgetpgrp(self.master) != self.process.pid)
        elif re.match(r"(echo st|fg|bg|kill|jobs|stty|wait|exit)\b", text):
            self.until("(PROMPT|IN)> ", self.typed)
        return self.send(text)

    def until(self, pattern: str, mark: int = 0, bound_s: float = BOUND_S) -> str:
        end = time.monotonic() + bound_s
        while not (match := re.search(pattern, self.out[mark:], re.M)):
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"{pattern!r} did not come within {bound_s} s; got {self.out!r}")
            if not self._read(min(left, 0.1)) and self.process.poll() is not None and not self._read(0):
                raise AssertionError(f"{pattern!r} did not come before the end; got {self.out!r}")
        return match.group()

    def wait(self, bound_s: float = BOUND_S) -> int:
        end = time.monotonic() + bound_s
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.02)
        while self._read(0):
            pass
        return self.process.wait(0.1)

    def close(self) -> None:
        if self.master >= 0:
            os.close(self.master)
        self.master = -1


@contextlib.contextmanager
def shell(runner: Runner, argv: tuple[str, ...] = ("bash", "--norc", "--noprofile", "-i"), **env: str) -> Iterator[Terminal]:
    """An interactive shell with $J in front of jobs; whatever is left at the end is ended."""
    inputrc = runner.folder / "inputrc"
    inputrc.write_text("set enable-bracketed-paste off\n")
    given = {"PS1": "PROMPT> ", "J": runner.words(), "LESS": "", "HISTFILE": "/dev/null", "INPUTRC": str(inputrc)}
    terminal = Terminal(list(argv), runner.env(**given, **env))
    try:
        terminal.until("PROMPT> ")
        yield terminal
    finally:
        terminal.close()
        runner.leftovers(0.0)
        terminal.process.wait()


def front_runner(folder: Path) -> Runner:
    return Runner(folder, FRONT)


def compare(folder: Path, body: Callable[[Runner], Any]) -> Any:
    """What `body` sees under the front must be what it sees plainly, with nothing left behind in either."""
    seen = {}
    for name, prefix in (("plain", None), ("front", FRONT)):
        runner = Runner(folder, prefix)
        try:
            seen[name] = body(runner)
        except BaseException:
            runner.leftovers(0.0)
            raise
        assert runner.leftovers() == [], f"left behind by {name}"
    assert seen["front"] == seen["plain"]
    return seen["front"]
