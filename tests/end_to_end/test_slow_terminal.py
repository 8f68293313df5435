# SPDX-License-Identifier: Apache-2.0
"""Slow terminals, on a real pseudo terminal: keys that come byte by byte, ESC by itself, Alt keys; and a terminal that does not read
while a job trains. INDUCTOP_SILENCE: for how many seconds it does not read."""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import INDUCTOP, JOBS, ROOT, SESSIONS, environment, job_command, processes, read_events, wait_for

sys.path.insert(0, str(ROOT / "tests" / "screens"))
import tapes  # noqa: E402
from torture import Screen  # noqa: E402

SHOW = Path(INDUCTOP).parent / "show_terminal"
SILENCE_S = float(os.environ.get("INDUCTOP_SILENCE") or 4)
BOUND_S = 20.0
SIZE = (100, 30)

pytestmark = pytest.mark.skipif(not SHOW.exists(), reason="show_terminal was not built: libvterm is not there")


def env_of(folder: Path, **more: str) -> dict[str, str]:
    given = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
    env = environment({**given, **more})
    for name in ("NO_COLOR", "COLORFGBG"):
        env.pop(name, None)
    return env


class Looker(Screen):
    def __init__(self, words: list[str], env: dict[str, str], cwd: Path) -> None:
        super().__init__(words, env, cwd, SIZE)

    def close(self) -> None:
        self.end()


def until(screen: Screen, what: Callable[[str], object], bound_s: float = BOUND_S) -> str:
    end = time.monotonic() + bound_s
    while not what(shown := screen.shown()):
        screen.read(0.02)
        assert time.monotonic() < end and not screen.has_ended(), shown
    return shown


def settle(screen: Screen, quiet_s: float = 0.1) -> None:
    while screen.read(quiet_s):
        pass


# ---- keys


@pytest.fixture
def still(tmp_path: Path) -> Iterator[Screen]:
    """A tape that stands still: what changes on the screen comes from keys."""
    tape = tapes.healthy().write(tmp_path / "healthy.jsonl")
    screen = Screen([INDUCTOP, "replay", str(tape)], env_of(tmp_path), tmp_path, SIZE)
    try:
        until(screen, lambda shown: "F1 help" in shown)
        screen.write(b"p;23s\r")
        until(screen, lambda shown: "paused" in shown.splitlines()[0] and "step 1 " not in shown and "torch 2.13" in shown)
        settle(screen)
        yield screen
    finally:
        screen.end()


def row(shown: str) -> str:
    """The setting under the cursor."""
    return next((line.split()[1] for line in shown.splitlines() if line.startswith("\u25b8")), "")


def row_of(screen: Screen, name: str) -> int:
    return next(number for number, line in enumerate(screen.shown().splitlines(), 1) if f" {name} " in line[:20])


def is_help(shown: str) -> bool:
    return "Keys that hold" in shown


def slowly(screen: Screen, keys: bytes, gap_s: float) -> None:
    if not gap_s:
        screen.write(keys)
    for byte in keys if gap_s else b"":
        screen.write(bytes([byte]))
        end = time.monotonic() + gap_s
        while (left := end - time.monotonic()) > 0:
            screen.read(left)


@pytest.mark.parametrize("gap_ms", [0, 5, 20])
def test_each_key_is_the_right_one(still: Screen, gap_ms: int) -> None:
    """None of these may be taken for ESC, which would close the help, or for the letters in it."""

    def press(keys: bytes, what: Callable[[str], object]) -> None:
        slowly(still, keys, gap_ms / 1000)
        until(still, what)

    first = row(still.shown())
    press(b"\x1b[B", lambda shown: row(shown) not in ("", first))
    press(b"\x1bOA", lambda shown: row(shown) == first)
    press(b"\x1b[1;5B\x1b[B", lambda shown: row(shown) not in ("", first))
    press(b"\x1b[<0;6;%dM" % row_of(still, "mode"), lambda shown: row(shown).startswith("m"))
    press(b"\x1bOP", is_help)
    for keys in (b"\x1b[6~", b"\x1b[5~", b"\x1b[15~", b"\x1bd", b"\x1bq", b"\x1b1", b"\x1b[1;3A"):
        slowly(still, keys, gap_ms / 1000)
        settle(still)
        assert is_help(still.shown()), keys
    press(b"\x1b", lambda shown: not is_help(shown))
    assert "staged" not in still.shown()
    press(b"e", lambda shown: "KEY" in shown or "=" in shown.splitlines()[-2] or ":" in shown.splitlines()[-2])
    press(b"\x1b[200~max_autotune=\xe2\x82\xac\x1b[201~", lambda shown: "max_autotune=\u20ac" in shown)
    press(b"\x1b[D\x1b[D\x1b[3~x", lambda shown: "max_autotunex\u20ac" in shown)
    press(b"\x1b", lambda shown: "max_autotune" not in shown)


def test_rest_of_a_key_that_comes_too_late_is_not_typed(still: Screen) -> None:
    """`A` would apply what is staged."""
    still.write(b"d")
    until(still, lambda shown: "dynamic" in shown and "staged" in shown)
    before = still.shown()
    slowly(still, b"\x1b[A\x1b[A", 0.15)
    settle(still, 0.4)
    assert [line for line in still.shown().splitlines() if "staged" in line] == [line for line in before.splitlines() if "staged" in line]


def test_escape_acts_within_50_ms(still: Screen) -> None:
    """Measured from the byte to the picture. The best quarter counts: what other processes take is not ours."""
    took = []
    for _ in range(12):
        still.write(b"\x1bOP")
        until(still, is_help)
        settle(still)
        begin = time.monotonic()
        still.write(b"\x1b")
        assert still.read(BOUND_S)
        took.append(time.monotonic() - begin)
        until(still, lambda shown: not is_help(shown))
    assert sorted(took)[len(took) // 4] <= 0.050, [f"{1000 * t:.1f}" for t in took]


def test_first_picture_does_not_wait_for_the_refresh(tmp_path: Path) -> None:
    """A minute from picture to picture, and yet the first one with the job in it is there at once."""
    name, stop = f"first{os.getpid()}", tmp_path / "stop"
    env = env_of(tmp_path, STOP=str(stop))
    job = subprocess.Popen([INDUCTOP, "--headless", "--quiet", "--name", name, "--", sys.executable, str(ROOT / "tests/support/fake_ranks.py"),
                            "--ranks", "8"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # fmt: skip
    try:
        wait_for(lambda: (SESSIONS / name / "sock").exists(), BOUND_S)
        with contextlib.closing(Looker([INDUCTOP, "attach", name], env, tmp_path)) as screen:  # until all ranks are there
            until(screen, lambda shown: "ranks 8/8" in shown and "live" in shown.splitlines()[0])
        with contextlib.closing(Looker([INDUCTOP, "attach", name, "--refresh", "60000"], env, tmp_path)) as screen:
            until(screen, lambda shown: "ranks 8/8" in shown and "live" in shown.splitlines()[0])
    finally:
        stop.touch()
        assert job.wait(BOUND_S) == 0


# ---- a terminal that does not read


def steps_of(path: Path, since: int = 0) -> list[tuple[int, float, bool]]:
    return [(e["step"], e["t"], e["clean"]) for e in read_events(path) if e["kind"] == "step" and e["rank"] == 0 and e["step"] >= since]


def pace(steps: list[tuple[int, float, bool]]) -> float:
    """Seconds from one clean step to the next, in the middle."""
    return statistics.median(b[1] - a[1] for a, b in zip(steps, steps[1:], strict=False) if b[2])


def shown_step(shown: str) -> int:
    found = re.search(r"\u00b7 step (\d+)", shown.splitlines()[0])
    return int(found.group(1)) if found else -1


@pytest.mark.slow
def test_terminal_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    """It misses pictures, and nothing else happens: steps go on, a change is applied, and then it shows the newest."""
    told, stop, name = tmp_path / "events.jsonl", tmp_path / "stop", f"silent{os.getpid()}"
    env = env_of(tmp_path, STOP=str(stop), STEPS="100000", PACE="30", NOISE="60")
    words = [INDUCTOP, "--name", name, "--json", str(told), "--", *job_command("ddp", 2, None)]
    screen = Screen(words, env, JOBS, SIZE)
    with contextlib.ExitStack() as stack:
        stack.callback(screen.end)
        stack.callback(stop.touch)
        until(screen, lambda shown: shown_step(shown) > 40, 120)
        engine = [pid for pid, line, _ in processes() if f"engine-process {name} " in line]
        before = steps_of(told)[20:]

        begin, end = steps_of(told)[-1][0], time.monotonic() + SILENCE_S
        sender = subprocess.Popen([INDUCTOP, "send", name, "dynamic=on"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        answer = sender.communicate(timeout=60)[0]
        assert sender.returncode == 0 and "applied" in answer, answer
        wait_for(lambda: time.monotonic() >= end, SILENCE_S + 1)
        meanwhile = steps_of(told, begin)

        resumed = time.monotonic()
        until(screen, lambda shown: shown_step(shown) >= meanwhile[-1][0], 5)
        caught_up_s = time.monotonic() - resumed
        shown = screen.shown()
        assert "dynamic" in shown
        assert [step for step, _, _ in meanwhile] == list(range(begin, meanwhile[-1][0] + 1))
        assert pace(meanwhile) < 1.5 * pace(before), (pace(meanwhile), pace(before))
        assert engine == [pid for pid, line, _ in processes() if f"engine-process {name} " in line]
        print(f"silent for {SILENCE_S:g} s, caught up in {caught_up_s:.2f} s; step every {1000 * pace(before):.1f} ms, "
              f"meanwhile {1000 * pace(meanwhile):.1f} ms")  # fmt: skip
        stop.touch()
        end = time.monotonic() + 60
        while not screen.has_ended():
            screen.read(0.05)
            assert time.monotonic() < end
        assert screen.status == 0
