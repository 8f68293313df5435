# SPDX-License-Identifier: Apache-2.0
"""Jobs with one planted fault each: it is found, first; and jobs in order, where nothing is."""

from __future__ import annotations

import pytest
from harness import Result, adds_up, run

FAULTS = {
    "data": (1, "data", r"waits for data: compile settings can give", 150),
    "sizes": (1, "recompiles", "recompiled", 60),
    "limit": (1, "limit", "it runs eager", 60),
    "number": (1, "recompiles", "recompiled", 60),
    "off": (1, "off", "nothing is compiled", 80),
    "past": (1, "off", "is compiled by the script and never called that way", 80),
    "waiting": (2, "waiting", "rank 1 compiles DistributedDataParallel, forward since 1", 40),
    "straggler": (2, "straggler", "rank 1 is the slow one", 150),
}
FOLLOWS = {"limit": {"recompiles"}, "number": {"limit"}}  # one leads to the other


def faulty(fault: str, ranks: int, steps: int) -> Result:
    return run("faults", ranks=ranks, env={"FAULT": fault, "STEPS": steps}, truth=False)


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_found(fault: str) -> None:
    ranks, rule, words, steps = FAULTS[fault]
    result = faulty(fault, ranks, steps)
    found = result.of("finding")
    mine = next((e for e in found if e["rule"] == rule), None)
    assert mine is not None, (found, result.err)
    assert words in mine["text"] and mine["action"] and mine["evidence"], mine
    assert {e["rule"] for e in found} - {rule} == FOLLOWS.get(fault, set()), found
    told = adds_up(result.events)["findings"]
    assert [t["rule"] for t in told][:1] == ["recompiles" if fault == "limit" else rule]  # what cost most comes first
    assert f"{mine['text']}. {mine['action']}" in result.err  # and a person sees it


@pytest.mark.parametrize(("job", "ranks", "steps"), [("faults", 1, 150), ("faults", 2, 100), ("plain", 1, 120), ("eval_between_epochs", 1, 80),
                                                     ("accumulation", 1, 80)])  # fmt: skip
def test_job_in_order_has_no_finding(job: str, ranks: int, steps: int) -> None:
    result = run(job, ranks=ranks, env={"STEPS": steps}, truth=False)
    assert not result.of("finding"), result.of("finding")
    assert "findings" not in adds_up(result.events)
