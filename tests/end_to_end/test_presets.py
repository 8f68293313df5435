# SPDX-License-Identifier: Apache-2.0
"""`inductop preset` and what --preset, --set and --at refuse before the job starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDUCTOP = os.environ.get("INDUCTOP") or str(ROOT / "build" / "inductop")
SHIPPED = {"default", "reduce-overhead", "max-autotune", "regional", "dynamic-shapes", "debug-fullgraph", "eager"}
BROKEN = "name: fast\ndescription: x\n\nsettings:\n  mode: default\n  options:\n    max_autotun: true\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def inductop(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "XDG_CONFIG_HOME"} | {"HOME": str(folder.parent / "home")}
    command = [INDUCTOP, *words]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_shipped_presets_are_listed_and_sound(folder: Path):
    got = inductop(folder, "preset", "list")
    assert (got.returncode, got.stderr) == (0, "")
    rows = [line.split(None, 2) for line in got.stdout.splitlines()]
    assert {row[0] for row in rows} == SHIPPED
    assert {row[1] for row in rows} == {"shipped"}
    assert all(len(row[2]) > 20 for row in rows)
    checked = inductop(folder, "preset", "check", *sorted(SHIPPED))
    assert (checked.returncode, checked.stderr) == (0, "")
    assert len(checked.stdout.splitlines()) == len(SHIPPED)


def test_first_line_of_a_shipped_preset_says_when(folder: Path):
    for name in SHIPPED:
        shown = inductop(folder, "preset", "show", name).stdout.splitlines()
        assert shown[0].startswith("# /") and shown[0].endswith(f"presets/{name}.yaml")
        assert shown[1].startswith("# When: ")


def test_project_hides_user_hides_shipped(folder: Path):
    put(folder.parent / "home/.config/inductop/presets/default.yaml", "description: of the user\nsettings: {}\n")
    assert "user     of the user" in inductop(folder, "preset", "list").stdout
    put(folder / "presets/default.yaml", "description: of the project\nsettings: {}\n")
    listed = inductop(folder, "preset", "list").stdout
    assert "project  of the project" in listed and "of the user" not in listed
    assert inductop(folder, "preset", "show", "default").stdout.startswith("# presets/default.yaml\n")


def test_check_says_file_line_column_and_the_nearest_name(folder: Path):
    put(folder / "presets/fast.yaml", BROKEN)
    for name, where in (("fast", "'fast' from 'presets/fast.yaml'"), ("presets/fast.yaml", "'presets/fast.yaml'")):
        got = inductop(folder, "preset", "check", name)
        assert (got.returncode, got.stdout) == (1, "")
        assert got.stderr == (
            f"inductop: could not load preset {where}: line 7, column 5: setting 'options.max_autotun' is not known\n"
            "inductop: Did you mean 'options.max_autotune'?\n"
        )


def test_a_fault_does_not_hide_the_others(folder: Path):
    put(folder / "presets/fast.yaml", BROKEN)
    got = inductop(folder, "preset", "check", "fast", "eager", "nope")
    assert got.returncode == 1
    assert got.stdout == "eager: ok, eager\n"
    assert got.stderr.count("could not load preset") == 1 and "preset 'nope' is not known" in got.stderr
    listed = inductop(folder, "preset", "list")
    assert listed.returncode == 0
    assert "fault: could not load preset" in listed.stdout and "debug-fullgraph" in listed.stdout


def test_unknown_names_get_the_nearest(folder: Path):
    got = inductop(folder, "preset", "show", "regionl")
    assert (got.returncode, got.stdout) == (1, "")
    assert got.stderr == "inductop: preset 'regionl' is not known\ninductop: Did you mean 'regional'?\n"
    got = inductop(folder, "preset", "lst")
    assert got.returncode == 2
    assert "preset command 'lst' is not known" in got.stderr and "'list'" in got.stderr
    for words in ([], ["show"], ["show", "a", "b"], ["check"], ["list", "x"]):
        got = inductop(folder, "preset", *words)
        assert (got.returncode, got.stdout) == (2, "") and "usage: inductop preset list" in got.stderr


def test_control_characters_do_not_reach_the_terminal(folder: Path):
    put(folder / "presets/odd.yaml", 'settings: {mode: "a\\e[2J"}\n')
    put(folder / "presets/raw.yaml", "settings: {} # \x1b[2J\n")
    put(folder / "presets/c1.yaml", "settings: {} # \x85[2J\rx\n")
    for words in (["list"], ["check", "odd", "raw"], ["show", "c1"]):
        got = inductop(folder, "preset", *words)
        assert not [c for c in got.stdout + got.stderr if c != "\n" and not c.isprintable()]


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--preset", "defalt"], "preset 'defalt' is not known", "'default'"),
        (["--preset", "presets/fast.yaml"], "line 7, column 5: setting 'options.max_autotun'", "'options.max_autotune'"),
        (["--set", "mode=max-autotun"], "value 'max-autotun' of setting 'mode' is not known", "'max-autotune'"),
        (["--set", "cudagraph=on"], "setting 'cudagraph' is not known", "'cudagraphs'"),
        (["--set", "fullgraph=2"], "value '2' of setting 'fullgraph' is not one of off, on, as-written", ""),
        (["--set", "mode=default,options.x=1"], "setting 'mode' does not go together with 'options.*'", "as-written"),
        (["--preset", "default", "--set", "options.x=1"], "at step 0: setting 'mode' does not go together", ""),
        (["--set", "recompile_limit=64"], "cannot be switched while the job runs", "torch._dynamo.config"),
        (["--at", "x:mode=default"], "step 'x' is no whole number", "STEP:KEY=VALUE"),
        (["--at", "5:scope=regionl"], "value 'regionl' of setting 'scope'", "'regional'"),
        (["--baselin", "on"], "option '--baselin' is not known", "'--baseline'"),
    ],
)
def test_the_job_does_not_start_with_what_is_wrong(folder: Path, words: list[str], message: str, hint: str):
    put(folder / "presets/fast.yaml", BROKEN)
    started = folder / "started"
    got = inductop(folder, *words, "--", "touch", str(started))
    assert got.returncode == 125
    assert message in got.stderr and hint in got.stderr
    assert all(line.startswith("inductop: ") for line in got.stderr.splitlines())
    assert not started.exists()
