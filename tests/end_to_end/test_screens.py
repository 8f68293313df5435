# SPDX-License-Identifier: Apache-2.0
"""Golden screens: `inductop replay TAPE --script KEYS --size --dump` against tests/screens/expected.

After a change that is meant: INDUCTOP_UPDATE_SCREENS=1 pytest tests/end_to_end/test_screens.py, and look at every difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "tests" / "screens"
INDUCTOP = os.environ.get("INDUCTOP") or str(ROOT / "build" / "inductop")
BREAK, KEYS = Path(INDUCTOP).parent / "break_panel", Path(INDUCTOP).parent / "print_keys"
UPDATE = bool(os.environ.get("INDUCTOP_UPDATE_SCREENS"))

sys.path.insert(0, str(SCREENS))
import tapes  # noqa: E402


@dataclass(frozen=True)
class Steps:
    name: str
    tape: str
    keys: str
    sizes: tuple[str, ...]


def read_steps(path: Path) -> Steps:
    fields = dict(line.split(":", 1) for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return Steps(path.stem, fields["tape"].strip(), fields["keys"].strip(), tuple(fields["sizes"].split()))


ALL = [read_steps(path) for path in sorted(SCREENS.glob("*.steps"))]
CASES = [(steps, size) for steps in ALL for size in steps.sizes]


@pytest.fixture(scope="session")
def tape_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return dict(tapes.write_all(tmp_path_factory.mktemp("tapes")))


def inductop(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "LC_ALL": "C.UTF-8"}
    for name in ("NO_COLOR", "COLORFGBG"):
        env.pop(name, None)
    return subprocess.run([INDUCTOP, *words], capture_output=True, text=True, timeout=60, env=env, cwd=ROOT)


def show(folder: Path, tape: Path, keys: str, size: str) -> str:
    size, _, kind = size.partition("-")
    dump = folder / ("screen.styles" if kind == "styles" else "screen.txt")
    options = ["--ascii"] if kind == "ascii" else []
    result = inductop(folder, "replay", str(tape), "--script", keys, "--size", size, "--dump", str(dump), *options)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    return dump.read_text()


@pytest.mark.parametrize(("steps", "size"), CASES, ids=[f"{steps.name}-{size}" for steps, size in CASES])
def test_screen(steps: Steps, size: str, tape_files: dict[str, Path], tmp_path: Path) -> None:
    shown = show(tmp_path, tape_files[steps.tape], steps.keys, size)
    expected = SCREENS / "expected" / f"{steps.name}.{size}.txt"
    if UPDATE:
        expected.write_text(shown)
    assert shown == expected.read_text()


def test_no_expected_screen_is_left_over() -> None:
    names = {f"{steps.name}.{size}.txt" for steps, size in CASES}
    assert {path.name for path in (SCREENS / "expected").glob("*.txt")} == names


def panels_seen(folder: Path, tape: Path, steps: Steps, size: str, panels: list[str]) -> set[str]:
    """Panels without which this golden screen is another one. Header and footer are on all of them."""
    expected = (SCREENS / "expected" / f"{steps.name}.{size}.txt").read_text()
    words = ["--script", steps.keys, "--size", size.partition("-")[0], "--dump", str(folder / "broken.txt")]
    seen = set()
    for panel in panels:
        env = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "LC_ALL": "C.UTF-8"}
        more = ["--ascii"] if size.endswith("-ascii") else []
        subprocess.run([BREAK, panel, str(tape), *words, *more], check=True, timeout=60, env=env, cwd=ROOT)
        if (folder / "broken.txt").read_text() != expected:
            seen.add(panel)
    return seen


@pytest.mark.skipif(not BREAK.exists(), reason="break_panel was not built")
def test_golden_screens_fail_when_a_panel_is_broken(tape_files: dict[str, Path], tmp_path: Path) -> None:
    panels = subprocess.run([BREAK], capture_output=True, text=True, check=True).stdout.split()
    noticed: set[str] = set()
    for steps, size in CASES:
        if size.endswith("-styles"):
            continue
        seen = panels_seen(tmp_path, tape_files[steps.tape], steps, size, panels)
        assert seen - {"header", "footer"}, f"{steps.name}.{size} passes whatever panel is broken"
        noticed |= seen
    assert noticed == set(panels)


@pytest.mark.skipif(not KEYS.exists(), reason="print_keys was not built")
def test_keys_of_the_readme_are_those_of_the_table() -> None:
    """After a change: put what print_keys prints into the README's section."""
    keys = subprocess.run([KEYS], capture_output=True, text=True, check=True).stdout
    assert keys in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("size", ["1x1", "2x2", "7x3", "20x5", "79x23", "300x100"])
def test_any_size_is_drawn(size: str, tape_files: dict[str, Path], tmp_path: Path) -> None:
    width, height = map(int, size.split("x"))
    lines = show(tmp_path, tape_files["storm"], "d Tab 3 @ F1 q 1", size).splitlines()
    assert len(lines) == height and all(len(line) <= width for line in lines)


def test_ascii_is_ascii(tape_files: dict[str, Path], tmp_path: Path) -> None:
    for keys in ("", "3", "@", "F1", "6"):
        assert show(tmp_path, tape_files["output"], keys, "120x40-ascii").isascii()


def test_script_that_is_wrong_names_the_word(tape_files: dict[str, Path], tmp_path: Path) -> None:
    result = inductop(tmp_path, "replay", str(tape_files["healthy"]), "--script", "d Nokey", "--dump", "-")
    assert result.returncode == 125 and "'Nokey'" in result.stderr


def test_tape_that_is_not_there(tmp_path: Path) -> None:
    result = inductop(tmp_path, "replay", "nothing.jsonl", "--dump", "-")
    assert result.returncode == 125 and "nothing.jsonl" in result.stderr


def test_screen_needs_a_terminal(tape_files: dict[str, Path], tmp_path: Path) -> None:
    result = subprocess.run([INDUCTOP, "replay", str(tape_files["healthy"])], capture_output=True, text=True, timeout=60,
                            stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
    assert result.returncode == 125 and "terminal" in result.stderr


def test_preset_is_saved_with_what_was_measured(tape_files: dict[str, Path], tmp_path: Path) -> None:
    shown = show(tmp_path, tape_files["healthy"], 'W "good" Enter', "80x24")
    saved = (tmp_path / "config" / "inductop" / "presets" / "good.yaml").read_text()
    assert "saved as" in shown
    for line in ("dynamic: on", "speedup: 1.34", "ranks: 2", "device: cpu", "step_ms: 31."):
        assert line in saved.replace("'", "").replace('"', "")
