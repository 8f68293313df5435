# SPDX-License-Identifier: Apache-2.0
"""Jobs with one planted fault each: it is found, first; and jobs in order, where nothing is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import PYTHON, ROOT, Result, adds_up, run

PLAY = Path(os.environ.get("INDUCTOP_BUILD") or ROOT / "build") / "nccl_play.so"
FAKE = str(ROOT / "tests" / "support" / "fake_ranks.py")


@dataclass
class Fault:
    """`rule` finds it, in these `words`; what else is found `follows` from it."""

    rule: str
    words: str
    steps: int = 60
    ranks: int = 1
    follows: set[str] = field(default_factory=set)
    first: str | None = None  # what cost most, when that is not the rule's own
    job: str | list[str] = "faults"
    args: tuple[str, ...] = ()
    env: dict[str, object] = field(default_factory=dict)


FAULTS = {
    "data": Fault("data", "waits for data: compile settings can give", 150),
    "sizes": Fault("recompiles", "times, "),
    "limit": Fault("limit", "it runs eager", follows={"recompiles"}, first="recompiles"),
    "number": Fault("recompiles", "recompiled", follows={"limit"}),
    "off": Fault("off", "nothing is compiled", 80),
    "past": Fault("off", "is compiled for nothing: its code was never entered, yet its parameters are trained", 80),
    "straggler": Fault("straggler", "rank 1 is the slow one", 150, ranks=2),
    "waiting": Fault("waiting", "rank 1 alone compiles DistributedDataParallel, forward again since 1 s: size of", 40, ranks=2,
                     follows={"alone"}, first="alone"),
    "alone": Fault("alone", "rank 1 alone recompiled", ranks=2, follows={"waiting"}),
    "leak": Fault("memory", "a step, without end: a leak?", 250),
    "breaks": Fault("breaks", "the graph breaks at faults.py:", 120),
    "guards": Fault("guards", "guards take ", 200),
    "optimizer": Fault("optimizer", "of the step comes after the backward, until the optimizer is through: compiling the model can give", 100),
    "dear": Fault("recompiles", "recompiled once, 1"),
    "back": Fault("recompiles", "recompiled 2 times", 55),
    "slower": Fault("slower", "is slower than eager", 2000, args=("--baseline", "on")),
    "numbers": Fault("numbers", "computes something else compiled than eager: the output is 10 % off", 30, args=("--set", "verify=on")),
    "skew": Fault("skew", "rank 1 is waited for", 5000, ranks=2, follows={"off"}, job="nccl_played", args=("--collectives", "on"),
                  env={"NCCL_PLAY": PLAY, "PACE": 5}),
    "stuck": Fault("stuck", "rank 0 compiles Net, forward since", job=[PYTHON, FAKE, "--ranks", "1", "--stuck"]),
}  # fmt: skip


def faulty(name: str) -> Result:
    fault = FAULTS[name]
    return run(fault.job, *fault.args, ranks=fault.ranks, env={"FAULT": name, "STEPS": fault.steps, **fault.env}, truth=False)


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_found(name: str) -> None:
    fault = FAULTS[name]
    result = faulty(name)
    found = result.of("finding")
    mine = next((e for e in found if e["rule"] == fault.rule), None)
    assert mine is not None, (found, result.err)
    assert fault.words in mine["text"] and mine["action"] and mine["evidence"], mine
    assert {e["rule"] for e in found} - {fault.rule} <= fault.follows, found
    told = adds_up(result.events)["findings"]
    assert told[0]["rule"] == (fault.first or fault.rule), told  # what cost most comes first
    assert f"{mine['text']}. {mine['action']}" in result.err  # and a person sees it


def test_a_rank_alone_with_a_new_shape_is_told_within_a_refresh() -> None:
    """Real ranks over gloo. It is known to be alone when the others have stood still for a second, or for three of their steps."""
    result = faulty("alone")
    alarm = next(e for e in result.of("finding") if e["rule"] == "waiting")
    begin = [e for e in result.of("compiling", rank=1, state="begin") if e["t"] < alarm["t"]][-1]
    ended = next(e for e in result.of("compiling", rank=1, state="end") if e["t"] > begin["t"])
    assert alarm["rank"] == 1 and f"rank 1 alone compiles DistributedDataParallel, forward again since 1 s: {begin['words']}" in alarm["text"]
    assert "size of" in begin["words"] and begin["words"].endswith(": 8, now 9"), begin
    assert alarm["text"].endswith("; 1 rank waits")
    others = [e for e in result.of("step", rank=0, clean=True) if e["t"] < begin["t"]]
    patience = max(1.0, 3 * max(e["ms"] for e in others[-20:]) / 1e3)
    assert begin["t"] + 1 <= alarm["t"] <= begin["t"] + patience + 0.25 < ended["t"], (begin, alarm, ended)
    after = [e for e in result.of("finding", rule="alone", rank=1) if e["text"].endswith(f"{begin['words']}; 1 rank did not")]
    assert len(after) == 1, result.of("finding")
    assert all(e["collectives"].startswith("told once") for e in result.of("rank", state="hooked"))


@pytest.mark.parametrize(("job", "ranks", "steps"), [("faults", 1, 150), ("faults", 2, 100), ("plain", 1, 120), ("eval_between_epochs", 1, 80),
                                                     ("accumulation", 1, 80)])  # fmt: skip
def test_job_in_order_has_no_finding(job: str, ranks: int, steps: int) -> None:
    result = run(job, ranks=ranks, env={"STEPS": steps}, truth=False)
    assert not result.of("finding"), result.of("finding")
    assert "findings" not in adds_up(result.events)
