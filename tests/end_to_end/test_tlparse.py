# SPDX-License-Identifier: Apache-2.0
"""The same run with TORCH_TRACE: what tlparse tells afterwards, inductop has told while it ran."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import INDUCTOP, run

COMPILE = re.compile(r"\d+/\d+")
BROKEN_AT = re.compile(r"Graph break in user code at (.*):(\d+)\n")


def tlparse() -> str:
    found = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")
    if found is None:
        pytest.skip("tlparse is not installed")
    return found


class Report:
    """What tlparse made of a trace: per compilation, over its attempts, the files of each kind."""

    def __init__(self, folder: Path):
        self.folder, self.texts = folder, {}
        directory = json.loads((folder / "compile_directory.json").read_text())
        for name, held in directory.items():
            if (found := COMPILE.search(name)) is not None:
                texts = self.texts.setdefault(found[0], {})
                for artifact in held["artifacts"]:
                    texts.setdefault(re.sub(r"_\d+\.\w+$", "", artifact["name"]), []).append((folder / artifact["url"]).read_text())

    def of(self, kind: str) -> list[tuple[str, str]]:
        return [(name, text) for name, texts in self.texts.items() for text in texts.get(kind, [])]


def reasons(text: str) -> list[str]:
    found = json.loads(text) if text.startswith("[") else [text]
    return [one.split("\nUser stack trace")[0].strip() for one in found]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Report, Path]:
    folder = tmp_path_factory.mktemp("trace")
    result = run("churn", "--record", str(folder / "tape"), "--at", "14:dynamic=on", env={"STEPS": 18, "TORCH_TRACE": folder / "logs"}, truth=False)
    (log,) = (folder / "logs").glob("*.log")
    made = subprocess.run([tlparse(), str(log), "-o", str(folder / "out"), "--no-browser"], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    return result, Report(folder / "out"), folder / "tape"


def test_every_compilation_and_why(both) -> None:
    result, report, _ = both
    ours = {e["id"]: e for e in result.of("compile") if e["trigger"] != "backward"}
    assert set(ours) == set(report.texts) and len(ours) >= 12
    theirs = {name: reasons(text) for name, text in report.of("recompile_reasons")}
    causes = {name: e["cause"] for name, e in ours.items() if e["trigger"] == "recompile"}
    assert set(causes) == set(theirs) and len(causes) >= 6
    for name, cause in causes.items():
        assert cause.split("\nUser stack trace")[0].strip() in theirs[name], (name, cause, theirs[name])
    backward = {e["id"] for e in result.of("compile", trigger="backward")}
    assert backward == {name for name, _ in report.of("bwd_compilation_metrics")}


def test_every_break(both) -> None:
    result, report, _ = both
    theirs: Counter[tuple[str, int]] = Counter()
    for name, text in report.of("dynamo_graph_break_reason"):
        place = BROKEN_AT.search(text)
        assert place is not None, (name, text)
        theirs[place[1], int(place[2])] += 1
    ours = {(e["file"], e["line"]): e for e in result.of("break")}
    counts: Counter[tuple[str, int]] = Counter()
    for (file, line, _, _), count in {(e["file"], e["line"], e["unit"], e["variant"]): e["count"] for e in result.of("break")}.items():
        counts[file, line] += count
    assert counts == theirs and len(counts) >= 4
    for _, text in report.of("dynamo_graph_break_reason"):
        place = BROKEN_AT.search(text)
        assert place is not None
        assert ours[place[1], int(place[2])]["class"] in text, (ours, text)


def test_it_is_told_while_the_job_runs(both) -> None:
    result, _, _ = both
    last = max(i for i, e in enumerate(result.events) if e["kind"] == "step")
    told = [i for i, e in enumerate(result.events) if e["kind"] in ("compile", "break")]
    assert told and max(told) < last


def test_the_screen_shows_them(both, tmp_path: Path) -> None:
    result, _, tape = both
    triggers = Counter(e["trigger"] for e in result.of("compile"))
    shown = Counter(re.findall(rf"^.{{8,12}} ({'|'.join(triggers)}) ", dump(tmp_path, tape, "3"), re.M))
    assert shown == triggers
    places = Counter(re.findall(r"^[ ▸](\S+:\d+) ", dump(tmp_path, tape, "4"), re.M))
    assert set(places) == {f"{Path(e['file']).name}:{e['line']}" for e in result.of("break")}


def dump(folder: Path, tape: Path, keys: str) -> str:
    shown = folder / "screen.txt"
    done = subprocess.run([INDUCTOP, "replay", str(tape), "--script", keys, "--size", "180x80", "--dump", str(shown)],
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return shown.read_text()
