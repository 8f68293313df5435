# SPDX-License-Identifier: Apache-2.0
"""How long compilations took, beside the job's own stopwatch."""

from __future__ import annotations

import json

import pytest
from harness import run


def test_compile_times_are_those_of_an_outside_stopwatch() -> None:
    result = run("stopwatch", env={"STEPS": 10}, truth=False)
    seen = json.loads(next(line for line in result.out.splitlines() if line.startswith("seen ")).removeprefix("seen "))
    compiles = result.of("compile")
    assert len(compiles) == len(seen) == 10
    for told, outside in zip(compiles, seen, strict=True):
        assert told["ms"] <= outside, (told, outside)
        assert told["ms"] == pytest.approx(outside, rel=0.05, abs=15), (told, outside)  # a call has more to do: guards, its first kernels
        assert sum(told["phases"].values()) == pytest.approx(told["ms"], abs=0.01) and "rest" in told["phases"], told


def test_what_compiles_in_other_processes_belongs_to_the_rank_it_works_for() -> None:
    """A cold compilation beside a pool of torch's own workers on rank 0; rank 1 compiles in itself, and has a child that does not."""
    result = run("compilers", ranks=2, env={"STEPS": 5, "PACE": 100}, truth=False)
    told = result.of("compilers")
    assert {one["rank"] for one in told} == {0}, told
    assert {one["rank"] for one in result.of("compile")} == {0, 1}
    outside = float(next(line for line in result.out.splitlines() if line.startswith("compilers ")).split()[1])
    times = [one["cpu_ms"] for one in told]
    assert times == sorted(times) and 0 < outside < times[-1], (told, outside)  # the compilers', and the pool's, which has not ended
    assert all(0 <= one["rss"] <= one["rss_peak"] and (one["rss"] > 0) == (one["processes"] > 0) for one in told), told
    assert any(one["processes"] for one in told), told
    ranks = {one["rank"]: one.get("compilers") for one in result.of("summary")[0]["ranks"]}
    assert ranks == {0: {"cpu_ms": times[-1], "rss_peak": told[-1]["rss_peak"]}, 1: None}, ranks
