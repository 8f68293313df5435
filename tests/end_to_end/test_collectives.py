# SPDX-License-Identifier: Apache-2.0
"""Collectives from NCCL's interface to JSON: counts, bytes, times, and the one who is late. NCCL is played."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness import ROOT, Live, plain

PLAY = Path(os.environ.get("INDUCTOP_BUILD") or ROOT / "build") / "nccl_play.so"
if not PLAY.exists():
    pytest.skip(f"no {PLAY}", allow_module_level=True)
ENV = {"NCCL_PLAY": PLAY, "STEPS": 100000, "PACE": 5}


def test_collectives_of_two_ranks_are_told_with_times() -> None:
    with Live("nccl_played", "--collectives", "on", ranks=2, env=ENV) as live:

        def timed() -> dict[int, list]:
            found: dict[int, list] = {0: [], 1: []}
            for event in live.events:
                if event["kind"] == "collective" and event.get("timed", 0) > 100:
                    found[event["rank"]].append(event)
            return found

        live.wait(lambda: all(timed().values()), what="times of both ranks")
        live.stop_file.touch()
        result = live.finish()
    assert result.code == 0, result.report()
    told = [event for event in result.events if event["kind"] == "collective"]
    for event in told:
        assert event["bytes"] == 4000 * event["count"] and event["api"] == 6 and event["comms"] <= 1
        assert abs(event["count"] - 12 * event["steps"]) <= 24, event
    each = {rank: events[0]["timed_ms"] / events[0]["timed"] for rank, events in timed().items()}
    assert each == {0: pytest.approx(0.16), 1: pytest.approx(0.016)}
    assert not [event for event in result.events if event["kind"] == "problem"]


def test_nothing_is_in_nccl_unless_it_was_asked_for() -> None:
    with Live("nccl_played", env={**ENV, "STEPS": 300}) as live:
        result = live.finish()
    assert result.code == 0, result.report()
    assert not [event for event in result.events if event["kind"] in ("collective", "problem")]


def test_a_plugin_of_the_users_own_is_not_touched() -> None:
    with Live("nccl_played", "--collectives", "on", env={**ENV, "STEPS": 300, "NCCL_PROFILER_PLUGIN": "own"}) as live:
        result = live.finish()
    assert result.code == 0, result.report()
    assert not [event for event in result.events if event["kind"] in ("collective", "problem")]


def test_the_job_trains_as_without_us() -> None:
    env = {**ENV, "STEPS": 30, "PACE": 0}
    alone = plain("nccl_played", env=env)
    with Live("nccl_played", "--collectives", "on", env=env) as live:
        result = live.finish()
    assert (result.code, result.out) == (alone.code, alone.out) and alone.code == 0, result.report()
