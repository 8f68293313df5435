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
