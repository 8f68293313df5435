"""Tools of the tests of the keeper with a pty: a front on a terminal, viewers of the job's terminal, and both beside the plain command.

The driver in tests/support stands in for the program. INDUCTOP_BUILD is the build folder, `build` by default.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from front_tools import BOUND_S, BUILD, Runner, Terminal, wait_until

DRIVER = BUILD / "pty_driver"
KEEPER, LEADER, FRONT = "inductop-keep", "inductop-lead", "pty_driver"
QUIT_KEY = signal.SIGRTMIN + 6


class PtyRunner(Runner):
    """Starts commands plainly or under a front with a pty; every session is a new one."""

    sessions = 0

    def prefix(self, *options: str) -> list[str]:
        if self.is_plain:
            return []
        self.sessions += 1
        self.session = self.folder / f"s{self.sessions}"
        return [str(DRIVER), "--session", str(self.session), *options, "--"]

    def pid(self, name: str) -> int:
        """The one process of that name; waits for it."""
        found = wait_until(lambda: [pid for pid, its in self.processes() if its == name])
        assert found and len(found) == 1, f"{name}: {self.processes()}"
        return found[0]

    def output(self) -> bytes:
        assert self.session
        before = self.session / "output.1"
        return (before.read_bytes() if before.exists() else b"") + (self.session / "output").read_bytes()

    def text(self) -> str:
        return self.output().decode(errors="replace").replace("\r", "")

    def wait_exit(self) -> str:
        assert self.session
        exit_file = self.session / "exit"
        assert wait_until(exit_file.exists)
        return exit_file.read_text()


class Viewer:
    """One that looks at a job's terminal. Everything that comes is kept; nothing is read but in until() and pump()."""

    def __init__(self, session: Path, *, charge: bool = True, receive_bytes: int = 0) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)

        def connect() -> bool:
            with contextlib.suppress(OSError):
                self.socket.connect(str(session / "tty"))
                return True
            return False

        assert wait_until(connect), f"no terminal to look at in {session}"
        self.pending = b""
        self.raw = b""
        self.skipped = 0
        self.job = 0
        self.charge: list[bool] = []
        self.states: list[int] = []
        self.unsaved: list[tuple[int, int]] = []
        self.unread = 0
        self.over: tuple[int, int] | None = None
        self.is_ended = False
        if charge:
            self.take_charge()

    @property
    def text(self) -> str:
        return self.raw.decode(errors="replace").replace("\r", "")

    @property
    def position(self) -> int:
        return len(self.raw) + self.skipped

    def send(self, kind: bytes, payload: bytes) -> None:
        self.socket.sendall(struct.pack("<I", len(payload)) + kind + payload)

    def take_charge(self) -> None:
        self.send(b"C", b"")
        self.until(lambda: self.charge and self.charge[-1])

    def keys(self, text: str | bytes) -> None:
        self.send(b"I", text.encode() if isinstance(text, str) else text)

    def window(self, rows: int, columns: int) -> None:
        self.send(b"W", struct.pack("=HH", rows, columns))

    def signal(self, number: int) -> None:
        self.send(b"S", bytes([number]))

    def signal_job(self, number: int) -> None:
        self.send(b"J", bytes([number]))

    def _take(self, kind: bytes, payload: bytes) -> None:
        if kind == b"O":
            self.raw += payload
        elif kind == b"D":
            self.skipped += struct.unpack("=Q", payload)[0]
        elif kind == b"H":
            version, self.job = struct.unpack("=Ii", payload)
            assert version == 1
        elif kind == b"C":
            self.charge.append(payload != b"\0")
        elif kind == b"T":
            self.states.append(struct.unpack("=i", payload)[0])
        elif kind == b"N":
            self.unsaved.append(struct.unpack("=Qi", payload))
        elif kind == b"K":
            self.unread = struct.unpack("=Q", payload)[0]
        elif kind == b"X":
            self.over = struct.unpack("=iB", payload)
        else:
            raise AssertionError(f"frame {kind!r}")

    def pump(self, bound_s: float) -> None:
        """Takes in what comes next."""
        if not select.select([self.socket], [], [], bound_s)[0]:
            return
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b""
        self.is_ended = not data
        self.pending += data
        while len(self.pending) >= 5:
            size = struct.unpack("<I", self.pending[:4])[0]
            if len(self.pending) < 5 + size:
                break
            kind, payload = self.pending[4:5], self.pending[5 : 5 + size]
            self.pending = self.pending[5 + size :]
            self._take(kind, payload)

    def until(self, what: str | Callable[[], Any], mark: int = 0, bound_s: float = BOUND_S) -> Any:
        """Reads until a pattern stands in the output behind `mark`, or a condition holds."""
        end = time.monotonic() + bound_s
        while True:
            if callable(what):
                if found := what():
                    return found
            elif match := re.search(what, self.text[mark:], re.M):
                return match.group()
            left = end - time.monotonic()
            if left <= 0 or self.is_ended:
                raise AssertionError(f"{what!r} did not come; got {self.text[-500:]!r}, over: {self.over}, ended: {self.is_ended}")
            self.pump(min(left, 0.2))

    def type(self, text: str, answer: str) -> str:
        """Types and waits for the answer behind it."""
        mark = len(self.text)
        self.keys(text)
        return self.until(answer, mark)

    def read_to_end(self) -> None:
        self.until(lambda: self.is_ended)

    def close(self) -> None:
        self.socket.close()


class Job:
    """A job under a front with a pty, the front on a terminal of its own."""

    def __init__(self, folder: Path, command: list[str], *options: str, env: dict[str, str] | None = None) -> None:
        self.runner = PtyRunner(folder, [])
        self.terminal = Terminal([*self.runner.prefix(*options), *command], self.runner.env(**(env or {})))
        self.front = self.terminal.process

    @property
    def session(self) -> Path:
        assert self.runner.session
        return self.runner.session

    def viewer(self, **kw: Any) -> Viewer:
        return Viewer(self.session, **kw)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.runner.pid(name), number)

    def wait(self) -> int:
        return self.terminal.wait()

    def names(self) -> list[str]:
        return sorted(name for _, name in self.runner.processes())


@contextlib.contextmanager
def job(folder: Path, command: list[str], *options: str, **kw: Any) -> Iterator[Job]:
    """Whatever is left at the end is ended, and nothing may be."""
    one = Job(folder, command, *options, **kw)
    try:
        yield one
        one.wait()
        assert one.runner.leftovers() == []
    finally:
        one.runner.leftovers(0.0)
        one.terminal.close()
        one.front.wait()


def in_terminal(runner: PtyRunner, command: list[str]) -> tuple[int, str, str]:
    """Runs a command on a terminal: exit code, what the terminal showed, what the job wrote to its own."""
    plain = runner.is_plain
    terminal = Terminal([*runner.prefix(), *command], runner.env())
    try:
        code = terminal.wait()
        return code, terminal.out, terminal.out if plain else runner.text()
    finally:
        terminal.close()


def compare(folder: Path, body: Callable[[PtyRunner], Any]) -> Any:
    """What `body` sees under the front must be what it sees plainly, with nothing left behind in either."""
    seen = {}
    for name, prefix in (("plain", None), ("front", [])):
        runner = PtyRunner(folder, prefix)
        try:
            seen[name] = body(runner)
            assert runner.leftovers() == [], f"left behind by {name}"
        finally:
            runner.leftovers(0.0)
    assert seen["front"] == seen["plain"]
    return seen["front"]


def same(folder: Path, command: list[str]) -> tuple[int, str]:
    """Exit code and output are as without the front, and the front's own terminal shows nothing."""

    def body(runner: PtyRunner) -> tuple[int, str]:
        code, shown, written = in_terminal(runner, command)
        if not runner.is_plain:
            assert shown == ""
        return code, written

    return compare(folder, body)


def same_in_shell(folder: Path, script: str) -> list[str]:
    """A line for bash in which $J stands for the front, or for nothing: all lines of both terminals, sorted."""

    def body(runner: PtyRunner) -> list[str]:
        words = shlex.join(runner.prefix())
        terminal = Terminal(["bash", "-c", script], runner.env(J=words))
        try:
            terminal.wait()
            own = "" if runner.is_plain or not (runner.session / "output").exists() else runner.text()
            return sorted((terminal.out + own).split("\n"))
        finally:
            terminal.close()

    return compare(folder, body)
