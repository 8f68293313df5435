# SPDX-License-Identifier: Apache-2.0
"""The stream of events: every line valid against the shipped schema, and the summary adds up with what was told before it."""

from __future__ import annotations

import json
import subprocess

import pytest
from harness import (
    INDUCTOP,
    JOBS,
    PYTHON,
    SCHEMA,
    SESSIONS,
    Live,
    adds_up,
    author,
    environment,
    printed_schema,
    read_events,
    run,
    switches,
    validate,
)

PLAN = ["--at", "5:scope=eager", "--at", "10:as-written", "--at", "15:options.epilogue_fusion=false", "--at", "20:fullgraph=on"]


def test_the_shipped_schema_is_the_printed_one() -> None:
    assert json.loads(SCHEMA.read_text()) == json.loads(printed_schema())


@pytest.mark.parametrize(("job", "ranks"), [("dynamic_history", 1), pytest.param("ddp", 2, marks=pytest.mark.slow)])
def test_every_line_is_valid_and_the_summary_adds_up(job: str, ranks: int) -> None:
    result = run(job, *PLAN, ranks=ranks, env={"STEPS": 30})
    validate(result.events, every_step=True)
    summary = adds_up(result.events)
    assert {row["rank"] for row in summary["ranks"]} == set(range(ranks))
    assert all(row["steps"] == 30 and not any(row["drops"].values()) for row in summary["ranks"])
    assert [s["at"] for s in summary["switches"]] == [5, 10, 15, 20]
    assert result.events[-1]["kind"] == "summary" and result.of("job")[-1]["exit"] == 0
    for rank in range(ranks):
        steps = [e["step"] for e in result.of("step", rank=rank)]
        assert steps == list(range(30))


def test_times_are_seconds_since_the_start() -> None:
    result = run("never_compiles", env={"STEPS": 20})
    assert all(0 <= e["t"] <= result.seconds for e in result.events)
    steps = result.of("step")
    assert [e["t"] for e in steps] == sorted(e["t"] for e in steps)
    for before, after in zip(steps, steps[1:], strict=False):
        assert after["ms"] == pytest.approx(1000 * (after["t"] - before["t"]), abs=0.01)


def test_json_to_stdout_leaves_the_jobs_lines_whole() -> None:
    done = subprocess.run([INDUCTOP, "--headless", "--json", "-", "--", PYTHON, str(JOBS / "never_compiles.py")], capture_output=True,
                          text=True, env=environment({"STEPS": 10}), stdin=subprocess.DEVNULL, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    validate(events, every_step=True)
    assert sum(line.startswith("step ") for line in lines) == 10
    adds_up(events)


def test_the_tape_says_the_same_as_the_json() -> None:
    with Live("never_compiles", "--at", "5:scope=eager", env={"STEPS": 10}) as live:
        record = live.folder / "record.jsonl"
        result = live.finish()
        tape = read_events(SESSIONS / live.name / "tape.jsonl")
        assert not record.exists()
    assert tape == result.events


def test_record_names_the_tape(tmp_path) -> None:
    tape = tmp_path / "tape.jsonl"
    result = run("never_compiles", "--record", str(tape), env={"STEPS": 10})
    assert read_events(tape) == result.events


@pytest.mark.parametrize("where", ["json", "record"])
def test_a_file_that_cannot_be_written_starts_no_job(where: str) -> None:
    result = run("never_compiles", f"--{where}", "/nowhere/at/all", check=None, timeout=30)
    assert result.code == 125 and result.out == "" and "/nowhere/at/all" in result.err, result.report()


def test_readable_lines_and_the_table_come_by_themselves() -> None:
    result = run("plain", "--at", "5:scope=eager", env={"STEPS": 10})
    ours = [line for line in result.err.splitlines() if line.startswith("inductop:")]
    assert any("switch" in line and "applied at step 5" in line for line in ours), ours
    assert any("eager" in line and "scope" not in line for line in ours), ours
    assert result.job_err == author("plain", env={"STEPS": 10}).job_err


def test_quiet_says_nothing() -> None:
    result = run("never_compiles", "--quiet", env={"STEPS": 5})
    assert result.err == "" and result.events


def test_readonly_only_watches() -> None:
    with Live("plain", "--readonly", env={"STEPS": 1000000, "PACE": 5}) as live:
        live.wait_step(3)
        answer = live.send("scope=eager")
        assert answer.code != 0 and "readonly" in (answer.out + answer.err).replace("-", "").replace(" ", ""), answer
        live.stop()
        result = live.finish()
    assert result.code == 0
    assert not switches(result.events, status="applied")
    refused = run("plain", "--readonly", "--set", "scope=eager", check=None, timeout=30)
    assert refused.code == 125 and refused.out == ""
