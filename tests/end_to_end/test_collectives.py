# SPDX-License-Identifier: Apache-2.0
"""Collectives from NCCL's interface and from gloo to JSON: counts, bytes, times, and the one who is late. NCCL is played, gloo is real."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from harness import INDUCTOP, ROOT, Live, plain

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


# Collectives of a step of the job, and bytes of each; the flag by which its ranks stop together is an AllReduce of 8 bytes more.
KNOWN = {"AllReduce": (4, None), "Broadcast": (1, 400), "AllGather": (1, 40), "Barrier": (1, 0)}


def test_gloos_are_told_as_they_are_and_who_is_late(tmp_path: Path) -> None:
    """Without being asked for, and from the library that counts torch's memory, which may have to be built first."""
    def told(rank: int) -> list:
        return [event for event in events if event["kind"] == "collective" and event["rank"] == rank]

    with Live("gloo_known", ranks=2, env={"STEPS": 100000, "LATE": 1}) as live:
        events = live.events
        live.wait(lambda: live.events and all(map(told, (0, 1))), what="collectives of both ranks")
        live.stop_file.touch()
        result = live.finish()
    assert result.code == 0, result.report()
    events = result.events
    assert not result.of("problem") and {event["backend"] for event in result.of("collective")} == {"gloo"}
    for rank in (0, 1):
        steps = sum(event["steps"] for event in told(rank))
        for name, (count, size) in KNOWN.items():
            of = [event["by"][name] for event in told(rank)]
            assert abs(sum(one["count"] for one in of) - count * steps) <= count, (name, steps, of)  # the last one may be in a step
            for one in of:
                flags = one["count"] - (one["bytes"] - 8 * one["count"]) // 3992  # of 8 bytes, not of 4000
                assert one["bytes"] == (one["count"] * size if size is not None else flags * 8 + (one["count"] - flags) * 4000)
                assert abs(one["timed"] - one["count"]) <= 2 and (size is not None or abs(3 * flags - (one["count"] - flags)) <= 3)
    tape = tmp_path / "tape.jsonl"  # as it was when they trained
    until = max(told(rank)[-1]["t"] for rank in (0, 1))
    tape.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events if event["t"] <= until))
    shown = tmp_path / "screen.txt"
    subprocess.run([INDUCTOP, "replay", str(tape), "--script", "2 Down", "--size", "140x40", "--dump", str(shown)], check=True, timeout=60)
    screen = shown.read_text()
    assert "collectives  7 a step, 12.2 KB, " in screen and "ms with waiting; by gloo" in screen and "waited for   up to " in screen, screen
