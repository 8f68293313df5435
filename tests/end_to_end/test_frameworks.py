# SPDX-License-Identifier: Apache-2.0
"""Accelerate, Fabric, FSDP2, Hugging Face Trainer and Lightning Trainer: units found, switches applied, eager truly eager."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from harness import (
    PYTHON,
    Result,
    adds_up,
    author,
    author_begin,
    close,
    compiled,
    final_switches,
    graphs,
    has_option,
    is_eager,
    last_line,
    run,
    same_step,
    same_truth,
)

pytestmark = pytest.mark.slow

NOFUSE = "options.epilogue_fusion=false"
PLAN = ["--at", f"6:{NOFUSE}", "--at", "11:as-written", "--at", "16:scope=eager", "--at", "21:as-written", "--at", f"26:{NOFUSE}"]
STEPS = 31
EAGER, OTHER, LATER = range(16, 21), [*range(6, 11), *range(26, 31)], (11, 21, 26)


def tour(job: str, ranks: int = 1, launcher: list[str] | None = None, env: dict[str, Any] | None = None, rtol: float = 2e-3) -> Result:
    env = {"STEPS": STEPS, **(env or {})}
    if ranks == 1:
        author_begin(job, launcher=launcher, env=env)
    result = run(job, *PLAN, ranks=ranks, launcher=launcher, env=env)
    theirs = author(job, ranks, launcher, env)
    assert result.of("unit"), result.report()
    for rank in range(ranks):
        done = [(e["at"], e["status"]) for e in final_switches(result.events, rank)]
        assert done == [(int(word.split(":")[0]), "applied") for word in PLAN[1::2]], result.report()
        assert last_line(result.out, rank)["keys"] == last_line(theirs.out, rank)["keys"]
        lines = result.truth[rank]
        assert len(lines) == STEPS
        for step in EAGER:
            assert is_eager(lines[step]) and lines[step]["eager"], f"rank {rank} step {step} is not eager: {lines[step]}"
        for step in OTHER:
            assert has_option(lines[step], "epilogue_fusion", False), f"rank {rank} step {step}: {lines[step]}"
        for step in LATER:
            assert not compiled(lines[step]), f"rank {rank} step {step} compiled again: {lines[step]}"
    close(result, theirs, rtol)
    same_step(result.events)
    same_truth(result.truth)
    adds_up(result.events)
    return result


ACCELERATE = [PYTHON, str(Path(PYTHON).with_name("accelerate"))]
FABRIC = [PYTHON, str(Path(PYTHON).with_name("fabric"))]


def origins(result: Result) -> set[str]:
    return {e["origin"] for e in result.of("unit")}


@pytest.mark.parametrize("job", ["accelerate_whole", "accelerate_regional"])
def test_accelerate_launch(job: str) -> None:
    pytest.importorskip("accelerate")
    launcher = [*ACCELERATE, "launch", "--cpu", "--num_processes=1", "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no"]
    result = tour(job, launcher=launcher)
    assert origins(result) <= {"accelerate", "inductop"} and "accelerate" in origins(result), result.of("unit")
    assert len(result.of("step")) == STEPS
    wanted = 2 if job == "accelerate_whole" else 8
    assert graphs(result.truth[0][3]) == graphs(result.truth[0][13]) == wanted


def test_accelerate_goes_from_whole_to_regional_and_back() -> None:
    pytest.importorskip("accelerate")
    env = {"STEPS": 20}
    result = run("accelerate_whole", "--at", "5:scope=regional", "--at", "10:as-written", "--at", "15:scope=regional", env=env)
    assert [e["status"] for e in final_switches(result.events)] == ["applied"] * 3, result.report()
    assert [graphs(result.truth[0][step]) for step in (4, 7, 12, 17)] == [2, 6, 2, 6]
    assert not any(compiled(result.truth[0][step]) for step in range(10, 20))
    close(result, author("accelerate_whole", env=env))


def test_fabric_ddp() -> None:
    pytest.importorskip("lightning")
    result = tour("fabric_ddp", ranks=2)
    assert origins(result) <= {"fabric", "script", "inductop"}, result.of("unit")


def test_fabric_run() -> None:
    pytest.importorskip("lightning")
    launcher = [*FABRIC, "run", "--accelerator=cpu", "--strategy=ddp", "--devices=2"]
    result = run("fabric_ddp", "--at", f"6:{NOFUSE}", "--at", "12:scope=eager", launcher=launcher, env={"STEPS": 18})
    for rank in (0, 1):
        assert [e["status"] for e in final_switches(result.events, rank)] == ["applied"] * 2, result.report()
        assert all(is_eager(line) for line in result.truth[rank][12:])
    same_step(result.events)
    same_truth(result.truth)


def test_fsdp2() -> None:
    result = tour("fsdp2", ranks=2)
    assert len({e["unit"] for e in result.of("unit", rank=0)}) >= 3


def test_the_whole_of_a_sharded_model() -> None:
    """Torch breaks the graph at each hook of a shard: as a whole it works, as a full graph it cannot, on both ranks alike."""
    env = {"STEPS": 20}
    result = run("fsdp2", "--at", "5:scope=whole", "--at", "10:fullgraph=on", "--at", "15:as-written", ranks=2, env=env)
    close(result, author("fsdp2", 2, env=env))
    same_step(result.events)
    same_truth(result.truth)
    for rank in (0, 1):
        assert [e["status"] for e in final_switches(result.events, rank)] == ["applied", "failed", "applied"], result.report()
    assert result.truth[0][4]["ran"] == result.truth[0][17]["ran"]


@pytest.mark.parametrize("env", [{}, {"CHECKPOINTS": 1, "ACCUMULATE": 2}], ids=["plain", "checkpoints"])
def test_hugging_face_trainer(env: dict[str, Any]) -> None:
    pytest.importorskip("transformers")
    result = tour("hf_trainer", env=env, rtol=1e-2)
    assert re.findall(r"^saved .*", result.out, re.M) == re.findall(r"^saved .*", author("hf_trainer", env={"STEPS": STEPS, **env}).out, re.M)
    assert len(result.of("step")) == STEPS


@pytest.mark.parametrize("inner", [0, 1])
def test_lightning_trainer(inner: int) -> None:
    pytest.importorskip("lightning")
    result = tour("lightning_trainer", env={"INNER": inner})
    assert len(result.of("step")) == STEPS
