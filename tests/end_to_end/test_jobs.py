# SPDX-License-Identifier: Apache-2.0
"""Jobs as their authors write them: each trains to its end with its author's losses while its settings are switched under it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from harness import (
    Live,
    Result,
    adds_up,
    applied,
    author,
    author_begin,
    close,
    compiled,
    final_switches,
    graphs,
    has_option,
    is_dynamic,
    is_eager,
    last_line,
    run,
    same_step,
    same_truth,
)

NOFUSE = "options.epilogue_fusion=false"
# Away and back twice: other code, the author's own, eager, the author's own, other code again.
TOUR = ["--at", f"6:{NOFUSE}", "--at", "12:as-written", "--at", "18:scope=eager", "--at", "24:as-written", "--at", f"30:{NOFUSE}"]
PLAN = [6, 12, 18, 24, 30]
EAGER = range(18, 24)
OTHER = [*range(6, 12), *range(30, 36)]
STEPS = 36


def tour(job: str, ranks: int = 1, env: dict[str, Any] | None = None, rtol: float = 2e-3, plan: list[str] = TOUR) -> Result:
    """The job under the tour: every switch applied at its step, the losses and names of its author, the same on all ranks."""
    env = {"STEPS": STEPS, **(env or {})}
    if ranks == 1:
        author_begin(job, env=env)
    result = run(job, *plan, ranks=ranks, env=env)
    theirs = author(job, ranks, env=env)
    for rank in range(ranks):
        told = [(e["at"], e["status"]) for e in final_switches(result.events, rank)]
        assert told == [(int(word.split(":")[0]), "applied") for word in plan[1::2]], result.report()
        assert last_line(result.out, rank)["keys"] == last_line(theirs.out, rank)["keys"]
    close(result, theirs, rtol)
    same_step(result.events)
    same_truth(result.truth)
    adds_up(result.events)
    return result


def ran_as_planned(result: Result, eager: bool = True) -> None:
    """In every step of every rank what was asked for is what ran; visits after the first compile nothing."""
    for rank, lines in result.truth.items():
        for step in EAGER:
            assert is_eager(lines[step]) or not eager, f"rank {rank} step {step} is not eager: {lines[step]}"
        for step in OTHER:
            assert has_option(lines[step], "epilogue_fusion", False), f"rank {rank} step {step} ran other code: {lines[step]}"
        for step in (12, 24, 30):
            assert compiled(lines[step]) == 0, f"rank {rank} step {step} compiled again: {lines[step]}"


SIMPLE = ["plain", "function", "decorator", "module_compile", "accumulation", "fullgraph_written", "retain_graph", "compile_in_loop",
         "data_dependent_branch"]  # fmt: skip


@pytest.mark.parametrize("job", [pytest.param(j, marks=[] if j == "plain" else pytest.mark.slow) for j in SIMPLE])
def test_job(job: str) -> None:
    ran_as_planned(tour(job))


@pytest.mark.slow
@pytest.mark.parametrize("job", ["ddp", "ddp_inner", "ddp_accumulation", "ddp_regional", "ddp_fullgraph"])
def test_job_of_two_ranks(job: str) -> None:
    ran_as_planned(tour(job, ranks=2))


@pytest.mark.slow
def test_ddp_that_compiles_nothing_with_small_buckets_goes_on() -> None:
    """Torch itself cannot compile under this wrapper, as a whole or in parts: the switches fail, the job does not notice."""
    env = {"STEPS": 20}
    result = run("ddp_never_compiles", "--at", "5:scope=whole", "--at", "12:scope=regional", ranks=2, env=env)
    close(result, author("ddp_never_compiles", 2, env=env))
    same_step(result.events)
    same_truth(result.truth)
    assert [(e["at"], e["status"]) for e in final_switches(result.events)] == [(5, "failed"), (12, "failed")], result.report()
    assert all("bucket" in e["reason"].lower() for e in final_switches(result.events))
    assert all(is_eager(line) for lines in result.truth.values() for line in lines)


# ---- activation checkpointing


KINDS = ["checkpoint_nonreentrant", "checkpoint_reentrant"]


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["whole", "regional", "outer"])
@pytest.mark.parametrize("job", KINDS)
def test_checkpointing(job: str, scope: str) -> None:
    result = tour(job, env={"SCOPE": scope})
    ran_as_planned(result)
    for step in range(STEPS):
        kinds = {str(r["config"]) for r in result.truth[0][step]["ran"]}
        assert len(kinds) <= 1, f"step {step} mixes what runs: {kinds}"


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["whole", "regional"])
@pytest.mark.parametrize("job", KINDS)
def test_a_variant_that_fails_under_checkpointing(job: str, scope: str) -> None:
    """The forward of the failed call ran eager: so must its recomputation in backward."""
    env = {"SCOPE": scope, "BREAKS": 1, "STEPS": 20}
    result = run(job, "--at", "5:fullgraph=on", "--at", "12:fullgraph=on,dynamic=on", env=env)
    assert [(e["at"], e["status"]) for e in final_switches(result.events)] == [(5, "failed"), (12, "failed")], result.report()
    assert all(e["file"].endswith("checkpointed.py") and e["line"] for e in final_switches(result.events))
    close(result, author(job, env=env))
    assert result.truth[0][4]["ran"] == result.truth[0][8]["ran"] == result.truth[0][16]["ran"]


@pytest.mark.slow
@pytest.mark.parametrize("job", KINDS)
def test_a_variant_that_fails_under_checkpointing_with_dropout(job: str) -> None:
    env = {"BREAKS": 1, "DROPOUT": 0.2, "STEPS": 15, "SCOPE": "regional"}
    result = run(job, "--at", "5:fullgraph=on", "--at", "10:scope=eager", env=env)
    assert [e["status"] for e in final_switches(result.events)] == ["failed", "applied"], result.report()
    assert len(result.losses[0]) == 15


# ---- several optimizers, and steps inside backward


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint", [0, 1])
def test_a_gan_switches_between_whole_rounds(checkpoint: int) -> None:
    result = tour("gan", env={"CHECKPOINT": checkpoint}, rtol=1e-2)
    for step, line in enumerate(result.truth[0]):
        kinds = {str(r["config"]) for r in line["ran"]}
        assert len(kinds) <= 1, f"step {step} mixes what runs: {kinds}"
        named = {k for k in line["eager"] if k != "CheckpointedNet"}
        assert not (line["ran"] and named), f"step {step} mixes eager and compiled: {line}"
    ran_as_planned(result)
    assert len(result.of("step")) == STEPS


@pytest.mark.slow
def test_one_of_two_models_can_have_its_own_settings() -> None:
    result = run("gan", "--at", f"6:Discriminator/{NOFUSE}", "--at", "12:Net/scope=eager", env={"STEPS": 18})
    assert [e["at"] for e in applied(result.events)] == [6, 12], result.report()
    for line in result.truth[0][6:12]:
        assert {str(r["config"].get("epilogue_fusion")) for r in line["ran"]} == {"None", "False"}, line
    for line in result.truth[0][12:]:
        assert has_option(line, "epilogue_fusion", False) and line["eager"].get("Net") == 1, line
    close(result, author("gan", env={"STEPS": 18}), rtol=1e-2)


@pytest.mark.slow
def test_a_step_that_gradscaler_skips_joins_the_next() -> None:
    result = run("gradscaler", env={"STEPS": 30})
    skipped = int(re.search(r"skipped (\d+)", result.out)[1])
    steps = result.of("step")
    assert skipped == 4 and len(steps) == 30 - skipped, result.report()
    unclean = [e for e in steps if "skipped" in e.get("why", ())]
    assert len(unclean) == skipped and not any(e["clean"] for e in unclean)


@pytest.mark.slow
def test_switches_under_gradscaler_act_between_steps_that_were_made() -> None:
    result = tour("gradscaler")
    made = [step for step in range(STEPS + 6) if step % 7 != 5]
    turn = {at: made[at - 1] + 1 for at in PLAN}  # in rounds of the script's loop
    for first, end, check in ((6, 12, "other"), (12, 18, "own"), (18, 24, "eager"), (24, 30, "own")):
        for line in result.truth[0][turn[first] : turn[end]]:
            kind = "eager" if is_eager(line) else "other" if has_option(line, "epilogue_fusion", False) else "own"
            assert kind == check, (first, line)


@pytest.mark.slow
def test_an_optimizer_inside_backward_switches_between_calls() -> None:
    env = {"STEPS": 30}
    result = run("optimizer_in_backward", "--at", f"6:{NOFUSE}", "--at", "12:as-written", "--at", "18:scope=eager", env=env)
    done = final_switches(result.events)
    assert [e["status"] for e in done] == ["applied"] * 3, result.report()
    for step, line in enumerate(result.truth[0]):
        kinds = {str(r["config"]) for r in line["ran"]}
        assert len(kinds) + bool(line["eager"]) == 1, f"step {step} mixes what runs: {line}"
    lines = result.truth[0]
    assert any(has_option(line, "epilogue_fusion", False) for line in lines) and is_eager(lines[-1]), result.report()
    close(result, author("optimizer_in_backward", env=env))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["step", "function", "whole"])
def test_a_compiled_optimizer_step(how: str) -> None:
    result = tour("compiled_optimizer", env={"HOW": how}, rtol=1e-2)
    ran_as_planned(result)
    assert not [e for e in result.of("compile") if "inductop" in e.get("frame", "")]
    assert "inductop" not in result.job_err


# ---- what is compiled inside what, and what authors do to the compiler


@pytest.mark.slow
@pytest.mark.parametrize("breaks", [0, 1])
def test_nested_compile(breaks: int) -> None:
    ran_as_planned(tour("nested_compile", env={"BREAKS": breaks}))


@pytest.mark.slow
def test_batches_of_several_sizes() -> None:
    """Sizes seen by one set of settings teach nothing to another: each compiles its first size static."""
    env = {"STEPS": 45}
    result = run("dynamic_history", "--at", f"18:{NOFUSE}", "--at", "27:as-written", "--at", "36:dynamic=on", env=env)
    assert [e["at"] for e in applied(result.events)] == [18, 27, 36], result.report()
    close(result, author("dynamic_history", env=env), rtol=5e-3)
    lines = result.truth[0]
    assert [step for step, line in enumerate(lines) if compiled(line)][:2] == [0, 5]
    assert [step for step, line in enumerate(lines[:27]) if compiled(line) and step >= 18] == [18, 23], "its own history"
    assert not any(compiled(line) for line in lines[27:36]), "the author's history is kept"
    assert [step for step, line in enumerate(lines) if compiled(line) and step >= 36] == [36], "dynamic from the start"
    assert all(is_dynamic(line) for line in lines[36:])


@pytest.mark.slow
def test_evaluation_between_epochs() -> None:
    result = tour("eval_between_epochs")
    ran_as_planned(result)
    ours, theirs = (re.findall(r"^eval (\S+)", r.out, re.M) for r in (result, author("eval_between_epochs", env={"STEPS": STEPS})))
    assert [float(x) for x in ours] == pytest.approx([float(x) for x in theirs], rel=2e-3)
    assert len(result.of("step")) == STEPS


@pytest.mark.slow
def test_copies_of_the_compiled_model() -> None:
    result = tour("ema_deepcopy")
    ours, theirs = (re.findall(r"^ema (\S+) best (\S+)", r.out, re.M) for r in (result, author("ema_deepcopy", env={"STEPS": STEPS})))
    assert len(ours) == 3
    for a, b in zip(ours, theirs, strict=True):
        assert [float(x) for x in a] == pytest.approx([float(x) for x in b], rel=5e-3)
    lines = result.truth[0]
    assert is_eager(lines[19]), f"each copy is a unit of its own, and eager with the others: {lines[19]}"
    assert has_option(lines[9], "epilogue_fusion", False), f"copies take the settings in force: {lines[9]}"
    written, after = {"config": {}, "calls": 1}, {"config": {"epilogue_fusion": False}, "calls": 2}
    ran = [{"config": r["config"], "calls": r["calls"]} for r in lines[29]["ran"]]
    assert ran == [written, after], f"the model as written; both copies, called behind the boundary, under step 30's settings: {lines[29]}"


@pytest.mark.slow
def test_saving_the_compiled_model_while_a_variant_is_applied() -> None:
    result = tour("save_while_applied")
    theirs = author("save_while_applied", env={"STEPS": STEPS})
    for kind in ("save", "pickle", "deepcopy"):
        assert re.findall(rf"^{kind} same=(\w+)", result.out, re.M) == ["True"] * 3, result.report()
    ours, plain = (re.findall(r"^stream bytes=(\d+) foreign=(\w+) forking=(\d+)", r.out, re.M) for r in (result, theirs))
    for (size, foreign, forking), (plain_size, _, plain_forking) in zip(ours, plain, strict=True):
        assert foreign == "none"
        assert abs(int(size) - int(plain_size)) < 200 and abs(int(forking) - int(plain_forking)) < 200
    assert re.findall(r"^keys .*", result.out, re.M) == re.findall(r"^keys .*", theirs.out, re.M)


@pytest.mark.slow
def test_the_author_resets_the_compiler() -> None:
    result = tour("compiler_reset")
    lines = result.truth[0]
    for step in OTHER:
        assert has_option(lines[step], "epilogue_fusion", False), (step, lines[step])
    assert all(is_eager(lines[step]) for step in EAGER)
    ids = [e["id"] for e in result.of("compile")]
    assert len(ids) == len(set(ids)) and any(i.startswith("1:") for i in ids), ids


@pytest.mark.slow
@pytest.mark.parametrize("stance", ["fail_on_recompile", "eager_on_recompile", "force_eager"])
def test_the_authors_own_stance_is_left_alone(stance: str) -> None:
    env = {"STEPS": 30, "STANCE": stance}
    result = run("own_stance", "--at", f"6:{NOFUSE}", "--at", "8:as-written", "--at", "14:scope=eager", "--at", f"24:{NOFUSE}", env=env)
    done = [(e["at"], e["status"]) for e in final_switches(result.events)]
    assert done == [(6, "applied"), (8, "applied"), (14, "refused"), (24, "applied")], result.report()
    assert stance in final_switches(result.events)[2]["reason"]
    close(result, author("own_stance", env=env))


@pytest.mark.slow
def test_the_authors_guard_filter_goes_with_every_variant() -> None:
    result = tour("own_guard_filter")
    ran_as_planned(result)
    assert sum(compiled(line) for line in result.truth[0]) == 2, "one compilation for each set of settings"


@pytest.mark.slow
def test_the_authors_recompile_limit_counts_for_each_variant() -> None:
    """Three versions are allowed: with five values in turn, two of five steps are eager, in every variant alike."""
    env = {"STEPS": 40}
    result = run("own_limit", "--at", f"10:{NOFUSE}", "--at", "20:as-written", "--at", f"30:{NOFUSE}", env=env)
    assert [e["at"] for e in applied(result.events)] == [10, 20, 30], result.report()
    lines = result.truth[0]
    for first in (0, 10, 20, 30):
        eager = [is_eager(line) for line in lines[first + 5 : first + 10]]
        assert eager == [False, False, False, True, True], (first, lines[first : first + 10])
    assert sum(compiled(line) for line in lines) == 6
    for step in (*range(10, 20), *range(30, 40)):
        assert is_eager(lines[step]) or has_option(lines[step], "epilogue_fusion", False)
    close(result, author("own_limit", env=env))


@pytest.mark.slow
def test_a_sweep_leaves_nothing_behind() -> None:
    env = {"STEPS": 100}
    result = run("compile_in_loop", "--at", f"30:{NOFUSE}", "--at", "50:scope=eager", "--at", "70:as-written", env=env)
    assert [e["at"] for e in applied(result.events)] == [30, 50, 70], result.report()
    theirs = author("compile_in_loop", env=env)
    models = re.compile(r"models alive (\d+)")
    assert models.search(result.out)[1] == models.search(theirs.out)[1], "models are kept alive"
    close(result, theirs)
    assert all(has_option(line, "epilogue_fusion", False) for line in result.truth[0][30:50]), "units born later take what is in force"
    assert all(is_eager(line) for line in result.truth[0][50:70])


@pytest.mark.slow
def test_a_preset_sets_a_job() -> None:
    result = run("plain", "--preset", "regional", env={"STEPS": 8})
    assert all(graphs(line) == 3 for line in result.truth[0]), result.report()


@pytest.mark.slow
def test_the_baseline_measures_against_eager() -> None:
    with Live("plain", "--baseline", "on", env={"STEPS": 1000000}) as live:
        live.wait(lambda: [e for e in live.events if e["kind"] == "speedup" and "ratio" in e], what="a ratio")
        live.stop()
        result = live.finish()
    assert result.code == 0, result.report()
    told = [e for e in result.of("speedup") if "ratio" in e]
    assert told and all(e["low"] <= e["ratio"] <= e["high"] and e["pairs"] > 0 for e in told), told
    eager = {e["variant"] for e in result.of("variant") if e["settings"] == {"scope": "eager"}}
    steps = {e["step"]: e["variant"] for e in result.of("step")}
    for step, key in steps.items():
        assert is_eager(result.truth[0][step]) == (key in eager), f"step {step}: an eager block that was not eager, or the other way round"
    adds_up(result.events)
