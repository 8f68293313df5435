# SPDX-License-Identifier: Apache-2.0
"""Runs small jobs in processes of their own, under the agent as it would be installed, with a core in Python (or the real one)."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "engine" / "rank" / "agent"
CACHE = os.environ.get("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), "inductop-tests-cache"))

LOG_STAMP = re.compile(r"^W\d{4} [\d:.]+ \d+ ", re.M)  # time and process of a line of torch's log


def torch_has(file: str, word: str) -> bool:
    """Does the installed torch have `word` in one of its files? For what only some versions can do; torch is not imported here."""
    found = Path(importlib.util.find_spec("torch").origin).parent / file
    return found.exists() and word in found.read_text()


# How often compiled code is looked up can be listened to since 2.8.
needs_lookups = pytest.mark.skipif(not torch_has("_dynamo/types.py", "DynamoGuardCompleteHook"), reason="this torch tells nobody of its look-ups (2.8 and later do)")


class Result:
    def __init__(self, done: subprocess.CompletedProcess[str], session: Path):
        self.code, self.out, self.session = done.returncode, done.stdout, session
        self.err = LOG_STAMP.sub("W ", done.stderr)
        self.lines: list[dict[str, Any]] = []
        for file in sorted(session.glob("events.*.jsonl")):
            self.lines += [json.loads(line) for line in file.read_text().splitlines()]
        self.events = [line["event"] for line in self.lines if "event" in line]
        self.records = [line["record"] for line in self.lines if "record" in line]
        self.votes = {line["vote"]: line["reason"] for line in self.lines if "vote" in line}

    def of(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        return [e for e in self.events if e["kind"] == kind and all(e.get(k) == v for k, v in fields.items())]

    def switches(self) -> list[tuple[Any, ...]]:
        return [(e["id"], e["status"], e.get("at")) for e in self.of("switch")]

    def said(self, word: str) -> list[Any]:
        """What the job printed as JSON after `word`."""
        return [json.loads(line[len(word) + 1 :]) for line in self.out.splitlines() if line.startswith(word + " ")]

    @property
    def faults(self) -> list[str]:
        return [f"{e['what']}: {e['text']}" for e in self.of("problem")]


def support_folder(at: Path) -> Path:
    """As installed: site/ and agent/inductop_agent/, here as links."""
    package = at / "agent" / "inductop_agent"
    package.mkdir(parents=True)
    (at / "site").mkdir()
    (at / "site" / "sitecustomize.py").symlink_to(SOURCE / "site" / "sitecustomize.py")
    for file in SOURCE.glob("*.py"):
        (package / file.name).symlink_to(file)
    (package / "_inductop.py").symlink_to(HERE / "fake_core.py")
    sources = at / "bridge" / "engine"
    for name in ("rank/bridge/bridge.cc", "rank/bridge/table.h", "wire/door.h"):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).symlink_to(SOURCE.parent.parent / name)
    return at


@pytest.fixture(scope="session")
def support(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return support_folder(tmp_path_factory.mktemp("support"))


@pytest.fixture
def job(tmp_path: Path, support: Path):
    """job(script, plan=[...], args=[...], env={...}, bare=False, start={...}) -> Result"""
    count = 0

    def run(script: str, plan: Any = (), args: Any = (), env: Any = None, bare: bool = False, timeout: float = 300, start: Any = None) -> Result:
        nonlocal count
        count += 1
        session = tmp_path / f"session{count}"
        session.mkdir()
        (session / "start.json").write_text(json.dumps({"v": 1, "name": "t", "start_ns": 0, "plan": list(plan), **(start or {})}))
        file = tmp_path / f"job{count}.py"
        file.write_text(textwrap.dedent(script))
        environment = dict(os.environ, OMP_NUM_THREADS="1", TORCHINDUCTOR_CACHE_DIR=CACHE, PYTHONDONTWRITEBYTECODE="1")
        if not bare:
            environment["INDUCTOP_SESSION"] = str(session)
        path = [] if bare else [str(support / "site")]
        environment["PYTHONPATH"] = os.pathsep.join([*path, str(HERE)])
        environment.update(env or {})
        command = [sys.executable, *args, str(file)] if not callable(args) else args(file)
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=timeout)
        return Result(done, session)

    return run
