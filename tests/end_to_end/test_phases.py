# SPDX-License-Identifier: Apache-2.0
"""Where a step's time went, beside the job's own stopwatch; and nothing of ours in the job's tracebacks."""

from __future__ import annotations

import json

from harness import plain, run

PHASES = ("data", "forward", "backward", "optimizer")


def test_phases_are_those_of_the_jobs_own_stopwatch() -> None:
    result = run("phases", env={"STEPS": 25, "SAY": 1}, truth=False)
    seen = json.loads(next(line for line in result.out.splitlines() if line.startswith("seen ")).removeprefix("seen "))
    steps = [e for e in result.of("step") if e["step"] > 0]
    assert len(steps) == 24
    for name in PHASES:
        ours = sum(e[f"{name}_ms"] for e in steps) / len(steps)
        assert abs(ours - seen[name]) <= 0.05 * seen[name] + 0.3, (name, ours, seen[name])
    for e in steps:
        assert sum(e[f"{name}_ms"] for name in PHASES) <= e["ms"] + 1e-3


def test_phases_that_are_not_seen_are_missing_and_not_zero() -> None:
    result = run("plain", env={"STEPS": 8}, truth=False)
    steps = [e for e in result.of("step") if e["step"] > 0]
    assert steps and not any("data_ms" in e or "forward_ms" in e for e in steps)  # no data loader
    assert all(e["backward_ms"] > 0 and e["optimizer_ms"] > 0 for e in steps)


def test_a_backward_that_fails_shows_the_jobs_own_frames_only() -> None:
    ours = run("phases", env={"STEPS": 9, "RAISE": 5}, truth=False, check=1)
    theirs = plain("phases", env={"STEPS": 9, "RAISE": 5})
    assert ours.code == theirs.code == 1
    assert "a backward of the job's own that fails" in theirs.err
    assert ours.job_err == theirs.job_err and ours.out == theirs.out
