# SPDX-License-Identifier: Apache-2.0
"""Is it on, through the whole of it: ranks say it, the stream holds it, a person reads a line only where something is wrong."""

from __future__ import annotations

from typing import Any

from harness import Result, run, validate


def last(result: Result, rank: int) -> dict[str, Any]:
    validate(result.of("active"))
    return [e for e in result.of("active") if e["rank"] == rank][-1]


def test_both_ranks_of_a_clean_job_are_on() -> None:
    result = run("ddp", "--at", "20:dynamic=on", ranks=2, env={"STEPS": 40}, truth=False)
    key = next(e["variant"] for e in result.of("switch") if e["status"] == "applied")
    for rank in range(2):
        told = last(result, rank)
        assert told["state"] == "on" and told["compiled"] == told["calls"] > 0, told
        assert told["variant"] == told["ran"] == key and told["settings"]["cudagraphs"] == "off", told
        assert told["settings"]["dynamic"].startswith("symbolic: size 0 of "), told
    assert not any("trouble" in e for e in result.of("active"))


def test_what_is_compiled_and_not_called_is_said_for_each_rank() -> None:
    result = run("faults", ranks=2, env={"FAULT": "past", "STEPS": 40}, truth=False)
    for rank in range(2):
        told = last(result, rank)
        assert told["state"] == "bypassed" and told["name"], told
        lines = [line for line in result.err.splitlines() if f"rank {rank}: unit {told['unit']} {told['name']}: {told['trouble']}" in line]
        assert len(lines) == 1, result.err
