# SPDX-License-Identifier: Apache-2.0
"""What the screen costs, beside htop on the same machine at the same time.

    screen.py [PART...]        first key cpu bytes many; all without words

Ranks that only talk (tests/support/fake_ranks.py) stand in for a job: 8 of them at 10 steps a second, 512 at 2. Terminals of 50 rows
and 200 columns that do nothing but read. Each line: our figure, the bound of the project, htop's figure. Exit 1 when a bound is
missed, which says little on a machine that does other things.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "screens"))
from torture import INDUCTOP, Screen  # noqa: E402

SIZE = (200, 50)
SHOW = Path(INDUCTOP).parent / "show_terminal"
HTOP = shutil.which("htop")
BOUND_S = 30.0
STARTS, START_S, KEYS, WATCH_S, MANY_WATCH_S = 15, 2.0, 400, 20.0, 15.0
CURSOR = "\u25b8".encode()
SYNCHRONISED = b"\x1b[?2026;2$y"  # the terminal's answer: a picture comes between two marks, so that pictures can be counted


class Figures:
    def __init__(self) -> None:
        self.missed = 0

    def line(self, what: str, ours: float, bound: float, unit: str, htop: float | None = None) -> None:
        """A bound of infinity: told only."""
        self.missed += ours > bound
        verdict = "" if bound == float("inf") else f"(bound {bound:.4g}{unit}{', MISSED' if ours > bound else ''})"
        beside = "" if htop is None else f"   htop {htop:.4g}{unit}"
        print(f"{what:58s} {ours:8.4g}{unit} {verdict:26s}{beside}", flush=True)


def environment(folder: Path) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS", "INDUCTOP_SESSION", "NO_COLOR", "COLORFGBG")}
    return {**env, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"),
            "INDUCTOP_TMPDIR": str(folder), "STOP": str(folder / "stop")}  # fmt: skip


class Job:
    """So many ranks under inductop, without a screen of its own."""

    def __init__(self, folder: Path, ranks: int, rate: float) -> None:
        self.folder, self.env = folder, environment(folder)
        self.process = subprocess.Popen(
            [INDUCTOP, "--headless", "--quiet", "--name", "job", "--", sys.executable, str(ROOT / "tests/support/fake_ranks.py"), "--ranks",
             str(ranks), "--rate", str(rate), "--lines", "2", "--events"],
            env=self.env, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip

    def engine(self) -> int:
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                if words[1:3] == [b"engine-process", b"job"] and str(self.folder).encode() in (path / "environ").read_bytes():
                    return int(path.name)
        return 0

    def attach(self, *options: str) -> Screen:
        return Screen([INDUCTOP, "attach", "job", *options], self.env, self.folder, SIZE)

    def htop(self) -> Screen:
        assert HTOP
        return Screen([HTOP, "-d", "10"], self.env, self.folder, SIZE)

    def end(self) -> None:
        (self.folder / "stop").touch()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(BOUND_S)
            return
        os.killpg(self.process.pid, signal.SIGKILL)


@contextlib.contextmanager
def job(ranks: int, rate: float) -> Iterator[Job]:
    folder = Path(tempfile.mkdtemp(prefix="ib-", dir="/tmp"))  # sockets want short paths
    one = Job(folder, ranks, rate)
    try:
        end = time.monotonic() + BOUND_S
        while not (folder / f"inductop-{os.getuid()}" / "job" / "sock").exists() and time.monotonic() < end:
            time.sleep(0.01)
        screen = one.attach()  # once all is there, the figures begin
        try:
            watch(screen, lambda: f"ranks {ranks}/{ranks}" in screen.shown() and "live" in screen.shown().splitlines()[0])
        finally:
            screen.end()
        yield one
    finally:
        one.end()
        shutil.rmtree(folder, ignore_errors=True)


def watch(screen: Screen, what: Callable[[], bool]) -> None:
    end = time.monotonic() + BOUND_S
    while not what():
        screen.read(0.05)
        if time.monotonic() > end or screen.has_ended():
            raise SystemExit(f"screen.py: not seen within {BOUND_S:g} s:\n{screen.shown()}")


def read_for(screens: list[Screen], seconds: float) -> list[list[tuple[float, bytes]]]:
    """What each was told meanwhile, with the time of each piece."""
    told: list[list[tuple[float, bytes]]] = [[] for _ in screens]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for screen, pieces in zip(screens, told, strict=True):
            screen.told.clear()
            if screen.read(0.002):
                pieces.append((time.monotonic(), bytes(screen.told)))
    return told


def cpu_s(pid: int) -> float:
    """What all threads of a process have run."""
    return sum(int((path / "schedstat").read_text().split()[0]) for path in Path(f"/proc/{pid}/task").iterdir()) / 1e9


# ---- the parts


def start_ms(make: Callable[[], Screen], is_full: Callable[[str], bool]) -> float:
    """From the start of the process to the last byte of the first picture that has all in it."""
    begin = time.monotonic()
    screen = make()
    pieces: list[float] = []
    ends: list[int] = []
    try:
        while time.monotonic() < begin + START_S:
            if screen.read(0.001):
                pieces.append(time.monotonic())
                ends.append(len(screen.told))
        for when, size in zip(pieces, ends, strict=True):
            whole, screen.told = screen.told, screen.told[:size]
            shown = screen.shown()
            screen.told = whole
            if is_full(shown):
                return (when - begin) * 1000
        raise SystemExit(f"screen.py: no full picture within {START_S:g} s:\n{screen.shown()}")
    finally:
        screen.end()


def is_ours_full(shown: str) -> bool:
    lines = shown.splitlines()
    return "ranks 8/8" in lines[0] and "live" in lines[0] and "F1 help" in lines[-1] and bool(re.search(r"^.?7 +\d+ ", shown, re.M))


def first(figures: Figures) -> None:
    with job(8, 10) as one:
        ours, theirs = [], []
        for _ in range(STARTS):
            ours.append(start_ms(one.attach, is_ours_full))
            if HTOP:
                theirs.append(start_ms(one.htop, lambda shown: "F10" in shown.splitlines()[-1] and "PID" in shown))
        for name, part, bound in (("best", min, float("inf")), ("median", statistics.median, 50.0)):
            figures.line(f"first full picture, 8 ranks, {name} of {STARTS}", part(ours), bound, " ms", part(theirs) if theirs else None)


def answers_ms(screen: Screen, mark: bytes) -> list[float]:
    """From a key to the first output that shows it. Keys come at any time, also while a picture is drawn anyway."""
    noise, took = random.Random(7), []
    for number in range(KEYS):
        end = time.monotonic() + noise.uniform(0.01, 0.06)
        while time.monotonic() < end:
            screen.read(0.002)
        screen.read(0)
        screen.told.clear()
        begin = time.monotonic()
        os.write(screen.master, b"\x1b[B" if number % 4 < 2 else b"\x1b[A")
        while mark not in screen.told:
            screen.read(0.05)
            if time.monotonic() > begin + BOUND_S:
                raise SystemExit(f"screen.py: a key is not answered:\n{screen.shown()}")
        took.append((time.monotonic() - begin) * 1000)
    return sorted(took)


def key(figures: Figures) -> None:
    with job(8, 10) as one:
        screen = one.attach()
        theirs: list[float] = []
        watch(screen, lambda: is_ours_full(screen.shown()))
        ours = answers_ms(screen, CURSOR)
        screen.end()
        if HTOP:
            screen = one.htop()
            watch(screen, lambda: "F10" in screen.shown())
            theirs = answers_ms(screen, b"\x1b[")
            screen.end()
        for name, part, bound in (("median", 0.5, float("inf")), ("p99", 0.99, 16.0)):
            place = int(KEYS * part)
            figures.line(f"key to picture with a live job, {name}", ours[place], bound, " ms", theirs[place] if theirs else None)


def measured(one: Job, refresh_ms: int, seconds: float, with_htop: bool) -> tuple[dict[str, float], list[int]]:
    """Seconds of processor a second of each, and the bytes of each of our pictures."""
    screens = {"ours": one.attach("--refresh", str(refresh_ms))}
    if with_htop and HTOP:
        screens["htop"] = one.htop()
    try:
        os.write(screens["ours"].master, SYNCHRONISED)
        read_for(list(screens.values()), 2)
        pids = {**{name: screen.process.pid for name, screen in screens.items()}, "engine": one.engine()}
        before, begin = {name: cpu_s(pid) for name, pid in pids.items()}, time.monotonic()
        told = read_for(list(screens.values()), seconds)
        spent = {name: (cpu_s(pid) - before[name]) / (time.monotonic() - begin) for name, pid in pids.items()}
        pictures = re.findall(rb"\x1b\[\?2026h(.*?)\x1b\[\?2026l", b"".join(piece for _, piece in told[0]), re.S)
        if "htop" in screens:
            spent["htop bytes"] = sum(len(piece) for _, piece in told[1]) / seconds
        return spent, [len(picture) for picture in pictures]
    finally:
        for screen in screens.values():
            screen.end()


def cpu(figures: Figures) -> None:
    with job(8, 10) as one:
        spent, _ = measured(one, 1000, WATCH_S, with_htop=True)
        theirs = 100 * spent["htop"] if "htop" in spent else None
        figures.line("processor, 8 ranks, a picture a second", 100 * spent["ours"], theirs or float("inf"), " %", theirs)
        figures.line("  its engine", 100 * spent["engine"], float("inf"), " %")


def bytes_(figures: Figures) -> None:
    with job(8, 10) as one:
        for refresh_ms in (100, 1000):
            spent, sizes = measured(one, refresh_ms, WATCH_S, with_htop=refresh_ms == 1000)
            if not sizes:
                raise SystemExit("screen.py: no picture was counted")
            figures.line(f"bytes a picture, every {refresh_ms} ms, median of {len(sizes)}", statistics.median(sizes), 1500, " B", spent.get("htop bytes"))
            figures.line("  processor", 100 * spent["ours"], float("inf"), " %")


def many(figures: Figures) -> None:
    with job(512, 2) as one:
        spent, sizes = measured(one, 500, MANY_WATCH_S, with_htop=False)
        figures.line("processor, 512 ranks at 2 Hz, a picture each 500 ms", 100 * spent["ours"], 5, " %")
        figures.line("  its engine", 100 * spent["engine"], float("inf"), " %")
        figures.line("  bytes a picture, median", statistics.median(sizes), float("inf"), " B")


PARTS: dict[str, Callable[[Figures], None]] = {"first": first, "key": key, "cpu": cpu, "bytes": bytes_, "many": many}


def main() -> int:
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        raise SystemExit(f"screen.py: no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if not SHOW.exists():
        raise SystemExit("screen.py: show_terminal was not built: libvterm is not there")
    if not HTOP:
        print("htop is not installed (apt-get install htop): our figures alone")
    figures = Figures()
    for name in wanted:
        PARTS[name](figures)
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
