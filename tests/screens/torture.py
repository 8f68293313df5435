# SPDX-License-Identifier: Apache-2.0
"""Throws at the screen what no person would type, on a real pseudo terminal, and looks whether it bears it.

    torture.py [--seed N] [--events N] [--term NAME] [--what replay|live] [--keep]

Keys, mouse reports, pastes, sequences that are cut, bytes of no meaning, sizes from 1x1 to 300x80, a terminal that does not read,
stops. A person's way out (q, ^C, ^Z) is among it: a screen that was left is opened again. Every exit must be a clean one, leave the
terminal as it was, and a change of size must be answered within a bound. Under the address sanitizer leaks are failures too.

The seed is printed; the same one makes the same events again. The environment names the program (INDUCTOP) and, if it shall not be
one that only talks, the job (INDUCTOP_TORTURE_JOB: a command that says ready when it bears an interrupt and ends when the file STOP
is there).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import random
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INDUCTOP = os.environ.get("INDUCTOP") or str(ROOT / "build" / "inductop")
TERMS = ("xterm-256color", "xterm", "screen", "tmux", "linux", "dumb")
BOUND_S = float(os.environ.get("INDUCTOP_TORTURE_BOUND") or 60)
KEPT = 400  # events that are told when something fails
PIECES = 24  # events in one piece, at most
PROBE_EVERY = 400

sys.path.insert(0, str(ROOT / "tests" / "screens"))
import tapes  # noqa: E402

# ---- what is thrown

WORDS = (b"ms > 40", b"state = lost | rank = 2", b"max_autotune=on", b"triton.cudagraphs=off", b"good", b"../../evil", b"412", b"12.5s",
         b"epoch", b"((((", b"!!!", b"dynamic=on", b"mode=", b"options.", "\u6f22\u5b57 caf\u00e9 \U0001f680".encode(), b"x" * 300)  # fmt: skip
SEQUENCES = [b"\x1b[" + final for final in (b"A", b"B", b"C", b"D", b"H", b"F", b"Z", b"I", b"O", b"P")]
SEQUENCES += [b"\x1b[%d~" % number for number in (*range(1, 35), 200, 201, 999999999)]
SEQUENCES += [b"\x1bO" + final for final in (b"A", b"B", b"P", b"Q", b"R", b"S", b"H", b"F", b"M")]
SEQUENCES += [b"\x1b[[" + final for final in (b"A", b"B", b"C", b"D", b"E")]
SEQUENCES += [b"\x1b[1;%d%s" % (m, f) for m in (2, 3, 5, 6, 99) for f in (b"A", b"D", b"F")]
SEQUENCES += [b"\x1b[65;5u", b"\x1b[27;5;106~", b"\x1b[27u", b"\x1b[1114112u", b"\x1b[?1A", b"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17m"]
ANSWERS = [b"\x1b[?2026;2$y", b"\x1b[?2026;0$y", b"\x1b[?1;2R", b"\x1b[24;80R", b"\x1b[?62;4c", b"\x1b]11;rgb:0/0/0\x07", b"\x1bP1$r0m\x1b\\",
           b"\x1b_x\x1b\\", b"\x1b]" + b"y" * 200, b"\x1b[I", b"\x1b[O", b"\x1b[?997;1n"]  # fmt: skip
BOUND_KEYS = b"mfdcsoAubP@zpeiWxw123456!?hTkjgGnN/<>IUFyqQ;,.+-Z\t\r\x0c\x7f\x1b\x01\x05\x15\x17 "
TO_JOB = b"\x1d"
LEAVING = (b"q", b"\x03", b"\x1a", b"q\r", b"\x03\x03", b"i\x03\x1a\x1c\x1d")

Event = tuple[str, bytes | tuple[int, int] | float | int]


def key(noise: random.Random) -> bytes:
    return bytes([noise.choice(BOUND_KEYS)]) if noise.random() < 0.7 else bytes([noise.randrange(0x20, 0x7F)])


def sequence(noise: random.Random) -> bytes:
    one = noise.choice(SEQUENCES)
    return b"\x1b" + one if noise.random() < 0.1 else one


def alt(noise: random.Random) -> bytes:
    return b"\x1b" + key(noise)


def mouse(noise: random.Random) -> bytes:
    button, end = noise.choice((0, 1, 2, 3, 32, 35, 64, 65, 66, 128, 255)), noise.choice(b"Mm")
    x, y = (noise.choice((0, 1, noise.randrange(1, 300), 65535, 2**31, 2**40)) for _ in range(2))
    kind = noise.random()
    if kind < 0.8:
        return b"\x1b[<%d;%d;%d%c" % (button, x % 300 if kind < 0.6 else x, y % 80 if kind < 0.6 else y, end)
    if kind < 0.9:
        return b"\x1b[M" + bytes(noise.randrange(256) for _ in range(3))
    return b"\x1b[%d;%d;%dM" % (button, x, y)


def paste(noise: random.Random) -> bytes:
    text = noise.choice((noise.choice(WORDS), noise.randbytes(noise.randrange(200)), b"line\r\n" * noise.randrange(40), b"A\x1b[2J\x1b]0;x\x07q\x03"))
    if noise.random() < 0.01:
        text = b"long " * 20000
    return b"\x1b[200~" + text + (b"\x1b[201~" if noise.random() < 0.97 else b"\x1b[20")


def cut(noise: random.Random) -> bytes:
    whole = noise.choice((sequence, mouse, paste, lambda n: n.choice(ANSWERS)))(noise)
    return whole[: noise.randrange(1, min(len(whole), 60) + 1)]


def field(noise: random.Random) -> bytes:
    """Opens a line that takes text and fills it."""
    return noise.choice(b"/eW;".decode()).encode() + noise.choice(WORDS) + noise.choice((b"\r", b"\t", b"\x1b", b"\t\r", b""))


def letters(noise: random.Random) -> bytes:
    return chr(noise.choice((noise.randrange(0xA0, 0x2000), noise.randrange(0x3000, 0xD7FF), noise.randrange(0x10000, 0x10FFFF)))).encode()


# name, how often, what
BYTES: tuple[tuple[str, int, Callable[[random.Random], bytes]], ...] = (
    ("key", 420, key),
    ("sequence", 120, sequence),
    ("alt", 30, alt),
    ("mouse", 120, mouse),
    ("paste", 20, paste),
    ("cut", 60, cut),
    ("answer", 20, lambda noise: noise.choice(ANSWERS)),
    ("field", 50, field),
    ("letter", 30, letters),
    ("bytes", 30, lambda noise: noise.randbytes(noise.randrange(1, 24))),
    ("control", 30, lambda noise: bytes([noise.choice([c for c in range(32) if c not in (3, 17, 19, 26, 28)])])),
    ("to screen", 30, lambda noise: TO_JOB),
    ("leave", 1, lambda noise: noise.choice(LEAVING)),
)  # fmt: skip
SIZES = ((1, 1), (2, 2), (300, 80), (80, 24), (1, 80), (300, 1), (19, 4), (120, 40))


def size(noise: random.Random) -> tuple[int, int]:
    return noise.choice(SIZES) if noise.random() < 0.4 else (noise.randrange(1, 301), noise.randrange(1, 81))


def events(seed: int, count: int) -> Iterator[Event]:
    """The same for the same seed."""
    noise = random.Random(seed)
    kinds, weights = [name for name, _, _ in BYTES], [often for _, often, _ in BYTES]
    makers = {name: make for name, _, make in BYTES}
    for _ in range(count):
        chance = noise.random()
        if chance < 0.03:
            yield "size", size(noise)
        elif chance < 0.0315:
            yield "silence", noise.choice((0.06, 0.35))
        elif chance < 0.032:
            yield "unread", noise.choice((0.05, 0.3))
        elif chance < 0.0325:
            yield "signal", noise.choice((signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH))
        else:
            name = noise.choices(kinds, weights)[0]
            yield name, makers[name](noise)


# ---- the terminal

MODES = {"alternate screen": 1049, "mouse": 1000, "reports of the mouse": 1006, "pastes": 2004, "held pictures": 2026, "cursor keys": 1}


def left_on(told: bytes) -> list[str]:
    """What a terminal that was told this would still have on that it had not before."""
    state: dict[int, bool] = {}
    for numbers, end in re.findall(rb"\x1b\[\?([\d;]+)([hl])", told):
        for number in numbers.split(b";"):
            state[int(number or 0)] = end == b"h"
    found = [name for name, number in MODES.items() if state.get(number)]
    if not state.get(25, True):
        found.append("hidden cursor")
    colours = re.findall(rb"\x1b\[([\d;]*)m", told)
    if colours and colours[-1].split(b";")[-1] not in (b"", b"0", b"10", b"49"):
        found.append(f"colours {colours[-1]!r}")
    return found


class Failure(Exception):
    pass


class Screen:
    """The program on a terminal whose other end is held here."""

    def __init__(self, words: list[str], env: dict[str, str], cwd: Path, size: tuple[int, int]) -> None:
        self.master, self.slave = pty.openpty()
        os.set_blocking(self.master, False)
        self.before = termios.tcgetattr(self.slave)
        # Between screens the line is a shell's. There a ^S would hold up what the program says when it leaves, until somebody types
        # ^Q; and a ^Z take away its last bytes before anybody has read them. It is so with any program.
        self.before[0] &= ~termios.IXON
        self.before[3] |= termios.NOFLSH
        termios.tcsetattr(self.slave, termios.TCSANOW, self.before)
        self.told, self.count, self.status = bytearray(), 0, None  # type: bytearray, int, int | None
        self.words, self.size = words, size
        self.resize(size)

        def lead() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(words, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env, cwd=cwd, preexec_fn=lead)

    def resize(self, size: tuple[int, int]) -> None:
        self.size = size
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def read(self, bound_s: float) -> int:
        """Reads what is there, waits at most so long for the first byte. Keeps what a later look needs: the last megabytes."""
        got = 0
        while select.select([self.master], [], [], 0 if got else bound_s)[0]:
            with contextlib.suppress(OSError):
                if data := os.read(self.master, 65536):
                    self.told += data
                    got += len(data)
                    continue
            break
        self.count += got
        if len(self.told) > 8 << 20:
            raise Failure("told more than 8 MiB without a moment to look")
        return got

    def look(self) -> None:
        """Condenses what was told: the modes that are on, as the shortest bytes that say so."""
        modes = {}
        for match in re.finditer(rb"\x1b\[\?([\d;]+)([hl])", self.told):
            modes[match.group(1)] = match.group(0)
        cut_off = self.told.rfind(b"\x1b")
        tail = bytes(self.told[cut_off:]) if cut_off >= 0 and len(self.told) - cut_off < 32 else b""
        colours = re.findall(rb"\x1b\[[\d;]*m", self.told)
        self.told = bytearray(b"".join(modes.values()) + b"".join(colours[-1:]) + tail)

    def write(self, data: bytes) -> None:
        """As a terminal does: what the program does not take now, it takes later, or, after a bound, it hangs."""
        end = time.monotonic() + BOUND_S
        while data and not self.has_ended():
            _, ready, _ = select.select([], [self.master], [], 0.05)
            if ready:
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(self.master, data) :]
                    end = time.monotonic() + BOUND_S  # thousands of keys, each of which filters a table: slow is not stuck
            self.read(0)
            self.go_on()
            if time.monotonic() > end:
                raise Failure(f"does not take keys for {BOUND_S:g} s")

    def take_all(self) -> None:
        """Waits until the program has read what was typed."""
        end, before = time.monotonic() + BOUND_S, -1
        while (left := self.unread()) and not self.has_ended():
            if left != before:
                end, before = time.monotonic() + BOUND_S, left
            self.read(0.05)
            self.go_on()
            if time.monotonic() > end:
                raise Failure(f"does not read {left} bytes for {BOUND_S:g} s")

    def unread(self) -> int:
        return struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, b"    "))[0]

    def has_ended(self) -> bool:
        if self.status is None:
            pid, status = os.waitpid(self.process.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                self.process.returncode = self.status
        return self.status is not None

    def is_stopped(self) -> bool:
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
            return stat[stat.rindex(")") + 2] == "T"
        return False

    def go_on(self) -> None:
        """Looks after a screen that has suspended itself, as the shell would, and continues it."""
        if not self.is_stopped():
            return
        self.read(0.05)
        self.expect_sane("while it is suspended")
        os.kill(self.process.pid, signal.SIGCONT)

    def expect_sane(self, when: str) -> None:
        wrong = left_on(bytes(self.told))
        if termios.tcgetattr(self.slave) != self.before:
            wrong.append("modes of the line")
        if wrong:
            raise Failure(f"the terminal is not as before {when}: {', '.join(wrong)}; last told {bytes(self.told[-300:])!r}")

    def probe(self) -> None:
        """A new size must be answered with a picture."""
        width, height = self.size
        before, end = self.count, time.monotonic() + BOUND_S
        self.resize((width % 300 + 1, height))
        while self.count == before and not self.has_ended():
            self.read(0.05)
            self.go_on()
            if time.monotonic() > end:
                raise Failure(f"does not answer a new size within {BOUND_S:g} s")
        self.read(0.01)
        while self.is_line() and not self.has_ended():
            self.read(0.01)
            self.go_on()
            if time.monotonic() > end:
                raise Failure("shows a picture, but keys come line by line")
        self.look()

    def is_line(self) -> bool:
        return bool(termios.tcgetattr(self.slave)[3] & termios.ICANON)

    def shown(self) -> str:
        """What a terminal shows that was told all this: libvterm says so, if it was there when the tests were built."""
        show = Path(INDUCTOP).parent / "show_terminal"
        if not show.exists():
            return repr(bytes(self.told[-2000:]))
        size = f"{self.size[0]}x{self.size[1]}"
        return subprocess.run([show, size], input=bytes(self.told), capture_output=True, check=True).stdout.decode(errors="replace")

    def picture(self) -> str:
        self.resize((100, 30))
        self.told.clear()
        end = time.monotonic() + 1
        while time.monotonic() < end:
            self.read(0.1)
        return self.shown()

    def end(self) -> None:
        for action in (lambda: self.process.kill(), lambda: os.close(self.master), lambda: os.close(self.slave)):
            with contextlib.suppress(OSError):
                action()
        if self.status is None:
            self.process.wait()


# ---- the run


class Torture:
    def __init__(self, seed: int, count: int, term: str, what: str) -> None:
        self.seed, self.count, self.term, self.what = seed, count, term, what
        self.folder = Path(tempfile.mkdtemp(prefix="it-", dir="/tmp"))  # sockets want short paths
        self.cwd = self.folder / "cwd"
        self.reports = self.folder / "reports"
        for folder in (self.cwd, self.reports, self.folder / "config"):
            folder.mkdir()
        self.done: list[Event] = []
        self.session = self.folder / f"inductop-{os.getuid()}" / "job"
        self.screens, self.is_begun = 0, False
        self.tape = next(path for name, path in tapes.write_all(self.cwd) if name == "output")

    def env(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS", "INDUCTOP_SESSION", "NO_COLOR", "COLORFGBG")}
        log = f"log_path={self.reports}/report:detect_leaks=1:exitcode=99"
        return {**env, "TERM": self.term, "LC_ALL": "C.UTF-8", "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config"),
                "INDUCTOP_TMPDIR": str(self.folder), "STOP": str(self.folder / "stop"), "ASAN_OPTIONS": log,
                "UBSAN_OPTIONS": f"{log}:print_stacktrace=1:halt_on_error=1"}  # fmt: skip

    def words(self) -> list[str]:
        if self.what == "replay":
            return [INDUCTOP, "replay", str(self.tape)]
        if self.screens:
            return [INDUCTOP, "attach", "job"]
        job = os.environ.get("INDUCTOP_TORTURE_JOB")
        command = shlex.split(job) if job else [sys.executable, str(ROOT / "tests/support/fake_ranks.py"), "--events", "--lines", "30", "--hard"]
        return [INDUCTOP, "--name", "job", "--", *command]

    def open(self, size: tuple[int, int]) -> Screen:
        screen = Screen(self.words(), self.env(), self.cwd, size)
        self.screens += 1
        end = time.monotonic() + BOUND_S
        while (not screen.read(0.05) or not self.is_ready(screen)) and not screen.has_ended():
            if time.monotonic() > end:
                raise Failure("shows nothing")
        return screen

    def is_ready(self, screen: Screen) -> bool:
        """A job of ours must have begun before it bears an interrupt."""
        if self.what == "replay" or self.is_begun:
            return True
        output = self.session / "output"
        self.is_begun = b"ready" in screen.told if self.term == "dumb" else output.exists() and b"ready" in output.read_bytes()
        return self.is_begun

    def check_end(self, screen: Screen) -> None:
        """One that has ended has done so because it was asked to."""
        screen.read(0.05)
        found = sorted(self.reports.iterdir())
        if found:
            raise Failure(f"the sanitizer says:\n{found[0].read_text()[:6000]}")
        # A ^C that comes when the terminal is the shell's again, and we are not yet gone, is as it is with any program.
        if screen.status not in (0, -signal.SIGINT, -signal.SIGQUIT):
            raise Failure(f"ended with {screen.status}: {bytes(screen.told[-600:])!r}")
        screen.expect_sane("after the end")

    def throw(self, screen: Screen, piece: list[Event]) -> None:
        data = b""
        for name, what in piece:
            if isinstance(what, bytes):
                data += what
                continue
            screen.write(data)
            data = b""
            if name == "size":
                screen.resize(what)  # type: ignore[arg-type]
            elif name == "silence":
                time.sleep(what)  # type: ignore[arg-type]
            elif name == "unread":
                end = time.monotonic() + what  # type: ignore[operator]
                while time.monotonic() < end:
                    time.sleep(0.01)
            elif not screen.has_ended():
                os.kill(screen.process.pid, what)  # type: ignore[arg-type]
        screen.write(data)
        screen.read(0.002)
        screen.go_on()

    def run(self) -> None:
        noise, source = random.Random(self.seed + 1), events(self.seed, self.count)
        screen, since = self.open((80, 24)), 0
        try:
            while piece := [event for event, _ in zip(source, range(noise.randrange(1, PIECES)), strict=False)]:
                self.done = [*self.done, *piece][-KEPT:]
                self.throw(screen, piece)
                since += len(piece)
                if since >= PROBE_EVERY and not screen.has_ended():
                    screen.probe()
                    since = 0
                if screen.has_ended():
                    self.check_end(screen)
                    last = screen.size
                    screen.end()
                    screen = self.open(last)
            self.leave(screen)
        finally:
            screen.end()

    def leave(self, screen: Screen) -> None:
        """Out of whatever is open: a paste ends by itself, fields and dialogs by ESC, keys to the job by ^]."""
        screen.take_all()
        screen.probe()
        screen.write(b"\x1b[201~")
        end, pause = time.monotonic() + BOUND_S, 0.1
        while not screen.has_ended():
            pause *= 1.5  # ESC and q that are read together are Alt-q: on a busy machine more lies between them
            for keys in (TO_JOB, b"\x1b", b"\x1b", b"q", b"\r"):
                screen.write(keys)
                wait = time.monotonic() + pause
                while time.monotonic() < wait and not screen.has_ended():
                    screen.read(0.05)
                    screen.go_on()
            if time.monotonic() > end:
                raise Failure(f"cannot be left; keys come {'line by line' if screen.is_line() else 'at once'}:\n{screen.picture()}")
        self.check_end(screen)

    def finish_job(self) -> None:
        """The job was not harmed: it ends when it is told to, by itself."""
        if self.what != "live":
            return
        exit_file = self.session / "exit"
        if exit_file.exists():
            raise Failure(f"the job has ended: {exit_file.read_text()}")
        (self.folder / "stop").touch()
        end = time.monotonic() + BOUND_S
        while not exit_file.exists():
            time.sleep(0.02)
            if time.monotonic() > end:
                raise Failure("the job does not end")
        if exit_file.read_text() != "exit 0\n":
            raise Failure(f"the job ended with {exit_file.read_text()!r}")
        while self.processes():
            time.sleep(0.02)
            if time.monotonic() > end:
                raise Failure(f"left behind: {self.processes()}")
        found = sorted(self.reports.iterdir())
        if found:
            raise Failure(f"the sanitizer says:\n{found[0].read_text()[:6000]}")

    def processes(self) -> dict[int, str]:
        mark, found = f"INDUCTOP_TMPDIR={self.folder}".encode(), {}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return found

    def strays(self) -> list[str]:
        """Files at places where the screen has no business."""
        allowed = re.compile(rf"(cwd/inductop-\d+\.txt|cwd/\w+\.jsonl|config/inductop/presets/[\w.-]+|config/inductop/screen|inductop-{os.getuid()}/job/.*|stop)$")
        found = (str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if not path.is_dir())
        return [path for path in found if not allowed.match(path)]

    def close(self) -> None:
        (self.folder / "stop").touch()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def dumb(torture: Torture) -> None:
    """No screen on such a terminal: a tape says so, a job runs on it plainly, and nothing but text comes."""
    screen = torture.open((80, 24))
    try:
        if torture.what == "replay":
            while not screen.has_ended():
                screen.read(0.05)
            screen.read(0.05)
            if screen.status != 125 or b"no screen" not in screen.told:
                raise Failure(f"ended with {screen.status}: {bytes(screen.told)!r}")
        else:
            for name, what in events(torture.seed, torture.count):
                torture.done = [*torture.done, (name, what)][-KEPT:]
                if screen.has_ended():
                    raise Failure(f"ended with {screen.status}: {bytes(screen.told[-600:])!r}")
                if name == "size":
                    screen.resize(what)  # type: ignore[arg-type]
                elif isinstance(what, bytes):
                    with contextlib.suppress(BlockingIOError):  # nobody reads them: the line's buffer is soon full
                        os.write(screen.master, what.replace(b"\x13", b""))
                screen.read(0)
                screen.told = screen.told[-4096:]
                screen.go_on()
            (torture.folder / "stop").touch()
            end = time.monotonic() + BOUND_S
            while not screen.has_ended():
                screen.read(0.05)
                screen.go_on()
                if time.monotonic() > end:
                    raise Failure("does not end after its job")
            if screen.status != 0:
                raise Failure(f"ended with {screen.status}: {bytes(screen.told[-600:])!r}")
        if termios.tcgetattr(screen.slave) != screen.before:
            raise Failure("the modes of the line are not as before")
    finally:
        screen.end()


def torture(seed: int, count: int, term: str, what: str, keep: bool = False) -> str:
    """Raises Failure with all that is needed to see it again; returns what was done."""
    again = f"tests/screens/torture.py --seed {seed} --events {count} --term {term} --what {what}"
    one, begin = Torture(seed, count, term, what), time.monotonic()
    try:
        if term == "dumb":
            dumb(one)
        else:
            one.run()
            one.finish_job()
        if stray := one.strays():
            raise Failure(f"files at places of others: {stray}")
    except Failure as failure:
        last = "\n".join(f"  {name} {what!r:.200}" for name, what in one.done[-40:])
        raise Failure(f"{failure}\n{again}\nscreens {one.screens}, the last events:\n{last}") from None
    finally:
        if keep:
            print(f"kept {one.folder}")
        else:
            one.close()
    return f"{again}: {one.screens} screens, {time.monotonic() - begin:.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--term", choices=TERMS, default=TERMS[0])
    parser.add_argument("--what", choices=("replay", "live"), default="replay")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    try:
        print(torture(given.seed, given.events, given.term, given.what, given.keep))
    except Failure as failure:
        print(f"torture: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
