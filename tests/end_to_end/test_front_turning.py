# SPDX-License-Identifier: Apache-2.0
"""What a person does on the screen of a job that really trains: turn settings, see what came of it, keep them, leave, come back, end
the job. Needs torch."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from test_front_screen import BOUND_S, ROOT, SHOW, Terminal, folder, terminal  # noqa: F401

pytest.importorskip("torch")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SHOW.exists(), reason="show_terminal was not built: libvterm is not there")]

PYTHON = os.environ.get("PYTHON") or "python3"
COMPILE_S = 240.0  # a compile on a busy machine


def job(name: str) -> tuple[str, ...]:
    return ("--name", "job", "--", PYTHON, str(ROOT / "tests" / "jobs" / f"{name}.py"))


def until(screen: Terminal, pattern: str, bound_s: float = COMPILE_S) -> str:
    return screen.until(lambda shown: bool(re.search(pattern, shown)), bound_s)


def test_a_person_turns_measures_saves_leaves_comes_back_and_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("STEPS", "1000000")
    monkeypatch.setenv("PACE", "5")
    with terminal(folder, *job("plain"), size=(120, 36)) as screen:
        until(screen, r"· step \d{3,} ·")  # enough of them to compare with
        screen.type("d")
        screen.until("1 staged: dynamic as written to on")
        screen.type("o")
        screen.until("2 staged")
        screen.type("A")
        until(screen, "dynamic as written to on, scope as written to regional: applied")
        until(screen, r"a step [\d.]+ ms, before [\d.]+ ms")
        screen.type("b")
        until(screen, r"regional dynamic=on +\d\.\d\d .*( pairs|tie within)")
        screen.type("B")
        until(screen, r" over as written +\d\.\d\d .*( pairs|tie within)")
        screen.type("W")
        screen.until("as preset:")
        screen.type("mine\r")
        screen.until("saved as")
        saved = (folder / "config/inductop/presets/mine.yaml").read_text()
        assert "regional" in saved and "speedup" in saved
        screen.type("q")
        screen.until("leave: the job goes on")
        screen.type("\r")
        assert screen.exit_code() == 0
        left = screen.shown()
        assert "inductop: regional dynamic=on" in left and "'inductop attach job' comes back" in left
    with terminal(folder, "attach", size=(120, 36)) as later:
        until(later, r"· step \d+ ·", BOUND_S)
        later.type("u")
        until(later, "scope regional to as written: applied")
        later.type("\x03")
        later.until("interrupt the job")
        later.type("\x03")
        later.until("ended by signal 2")
        later.type("q")
        assert later.exit_code() == 0
        assert "job 'job' has ended" in later.shown() and "viewer" in later.shown()


def test_a_unit_is_turned_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("STEPS", "1000000")
    monkeypatch.setenv("PACE", "5")
    with terminal(folder, *job("gan"), size=(120, 36)) as screen:
        until(screen, r"· step \d+ ·")
        screen.until("Enter sets it alone")
        screen.type("\x1b[F")
        screen.type("\r")
        screen.until("Only for Discriminator")
        screen.type("o")
        screen.until("Discriminator/scope as written to regional")
        screen.type("o")
        screen.until("Discriminator/scope as written to eager")
        screen.type("A")
        until(screen, "Discriminator/scope as written to eager: applied")
        screen.type("\x1b")
        until(screen, "Discriminator +scope=eager")
        assert re.search("eager: Discriminator", screen.shown()) and re.search("as written: Net", screen.shown())
        screen.type("\x03")
        screen.until("interrupt the job")
        screen.type("\x03")
        assert screen.exit_code() == -2


def test_what_is_not_wanted_any_more_is_let_go_after_a_question(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("STEPS", "1000000")
    monkeypatch.setenv("PACE", "5")
    with terminal(folder, *job("plain"), size=(120, 36)) as screen:
        until(screen, r"· step \d+ ·")
        screen.type("L")
        screen.until("nothing to let go of: no other settings have compiled anything")
        screen.type("d")
        screen.type("A")
        until(screen, "dynamic as written to on: applied")
        screen.type("u")
        until(screen, "dynamic on to as written: applied")
        screen.type("d")
        screen.until("used before: compiles nothing")
        screen.type("L")
        until(screen, r"dynamic=on: frees \d+ compilations?; wanted again, it compiles")
        screen.type("\r")  # keep all
        screen.until(lambda shown: "keep all" not in shown)
        screen.type("L")
        screen.until("keep all")
        screen.type("\t")
        screen.type("\r")
        until(screen, "let go of what was compiled under dynamic=on, applied at")
        screen.until("new here, compiles")
        screen.type("L")
        screen.until("nothing to let go of")
