# SPDX-License-Identifier: Apache-2.0
"""Settings switched while a job trains: at planned steps and by proposals, on one rank and on two."""

from __future__ import annotations

import json
import random
import signal
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
from harness import (
    FINAL,
    JOBS,
    Live,
    Result,
    adds_up,
    applied,
    author,
    by_step,
    close,
    compiled,
    final_switches,
    graphs,
    has_option,
    is_dynamic,
    is_eager,
    run,
    same_step,
    same_truth,
    switches,
)

VARIANTS = {
    "whole": "scope=whole,options.epilogue_fusion=as-written",
    "regional": "scope=regional,options.epilogue_fusion=as-written",
    "eager": "scope=eager,options.epilogue_fusion=as-written",
    "nofuse": "scope=as-written,options.epilogue_fusion=false",
}


def looks_like(name: str, line: dict[str, Any], whole: int, blocks: int) -> bool:
    """Does what ran in a step look like this variant of the job?"""
    return {
        "whole": graphs(line) == whole and not is_eager(line) and not has_option(line, "epilogue_fusion", False),
        "regional": graphs(line) == blocks and not has_option(line, "epilogue_fusion", False),
        "eager": is_eager(line) and bool(line["eager"]),
        "nofuse": graphs(line) == whole and has_option(line, "epilogue_fusion", False),
    }[name]


@pytest.fixture(scope="module")
def forty() -> tuple[Result, list[tuple[int, str]]]:
    """Two ranks, forty switches among four variants, three to seven steps apart."""
    dice = random.Random(4)
    plan, step, name = [], 5, "whole"
    for _ in range(40):
        name = dice.choice([v for v in VARIANTS if v != name])
        plan.append((step, name))
        step += dice.randint(3, 7)
    words = [word for at, name in plan for word in ("--at", f"{at}:{VARIANTS[name]}")]
    return run("ddp", *words, ranks=2, env={"STEPS": step + 5}), plan


@pytest.mark.slow
def test_forty_planned_switches_act_at_their_step_on_both_ranks(forty: tuple[Result, list[tuple[int, str]]]) -> None:
    result, plan = forty
    for rank in (0, 1):
        assert [e["at"] for e in applied(result.events, rank)] == [at for at, _ in plan], result.report()
        assert {e["status"] for e in final_switches(result.events, rank)} == {"applied"}
    same_step(result.events)
    same_truth(result.truth)
    adds_up(result.events)


@pytest.mark.slow
def test_what_ran_is_what_was_asked_for(forty: tuple[Result, list[tuple[int, str]]]) -> None:
    result, plan = forty
    ends = [at for at, _ in plan[1:]] + [len(result.truth[0])]
    for (at, name), end in zip(plan, ends, strict=True):
        for rank, lines in result.truth.items():
            for step in range(at, end):
                assert looks_like(name, lines[step], whole=1, blocks=3), (rank, step, name, lines[step])


@pytest.mark.slow
def test_later_visits_compile_nothing(forty: tuple[Result, list[tuple[int, str]]]) -> None:
    result, plan = forty
    first = {name: min(at for at, n in plan if n == name) for name in VARIANTS}
    allowed = {0, *first.values()}
    for rank, lines in result.truth.items():
        for step, line in enumerate(lines):
            assert compiled(line) == 0 or step in allowed, (rank, step, line)
    steps = by_step(result.events)
    for step, ranks in steps.items():
        for rank, e in ranks.items():
            assert "compile" not in e.get("why", ()) or step in allowed, (rank, e)


@pytest.mark.slow
def test_the_step_after_a_flip_is_a_normal_one(forty: tuple[Result, list[tuple[int, str]]]) -> None:
    result, plan = forty
    steps, costs, lost, seen = by_step(result.events), [], [], {"whole"}
    for at, name in plan:
        if name in seen:
            for rank in (0, 1):
                key = steps[at][rank]["variant"]
                normal = statistics.median(e[rank]["ms"] for e in steps.values() if e[rank]["variant"] == key and e[rank]["clean"])
                costs.append(steps[at][rank]["ms"] / normal - 1)
                lost.append(steps[at][rank]["ms"] - normal)
        seen.add(name)
    print(f"median cost of {len(costs)} flips: {statistics.median(lost):.3f} ms, {100 * statistics.median(costs):.1f} % of a step")
    assert statistics.median(costs) < 0.5


@pytest.mark.slow
def test_forty_switches_leave_the_losses_alone(forty: tuple[Result, list[tuple[int, str]]]) -> None:
    result, _ = forty
    close(result, author("ddp", 2, env={"STEPS": len(result.truth[0])}), rtol=5e-3)


def test_what_may_compile_longer_than_the_others_wait_is_refused() -> None:
    """Ranks wait 6 s in a collective, a graph takes 2.5 s to compile: more than a third is too near. Who insists gets it."""
    with Live("ddp_inner", ranks=2, env={"STEPS": 10**7, "PACE": 5, "TIMEOUT_S": 6, "COMPILE_S": 2.5}) as live:
        live.wait_step(5)
        assert {e["timeout_s"] for e in live.events if e["kind"] == "rank" and e["state"] == "hooked"} == {6.0}
        live.wait(lambda: len([e for e in live.events if e["kind"] == "compile"]) >= 2, what="both ranks' compilations")
        answer = live.send("dynamic=on")
        assert answer.code == 1 and "give up after 6 s" in answer.err + answer.out and "--force" in answer.err + answer.out
        step = min(live.steps().values())
        live.wait_step(step + 5)
        answer = live.send("--force", "dynamic=on")
        assert answer.code == 0, answer
        assert live.send("dynamic=as-written").code == 0  # was seen to run: costs nothing, needs no force
        assert live.send("dynamic=on").code == 0
        live.stop()
        result = live.finish()
    assert result.code == 0, result.report()
    assert [e["status"] for e in final_switches(result.events)] == ["applied"] * 3
    assert [e["status"] for e in final_switches(result.events, None)].count("refused") == 1
    same_step(result.events)


def test_set_acts_before_the_first_step() -> None:
    result = run("plain", "--set", "options.epilogue_fusion=false", env={"STEPS": 6})
    assert all(has_option(line, "epilogue_fusion", False) for line in result.truth[0]), result.report()
    assert [(e["by"], e["at"]) for e in applied(result.events)] == [("set", 0)]
    assert len({e["variant"] for e in result.of("step")}) == 1 and result.of("step")[0]["variant"] != 0


def test_set_eager_compiles_nothing() -> None:
    result = run("plain", "--set", "scope=eager", env={"STEPS": 6})
    assert all(is_eager(line) and not compiled(line) for line in result.truth[0]), result.report()


def test_planned_changes_are_merged_and_taken_back() -> None:
    plan = ["--at", "5:options.epilogue_fusion=false", "--at", "10:dynamic=on", "--at", "15:options.epilogue_fusion=as-written",
            "--at", "20:as-written"]  # fmt: skip
    result = run("plain", *plan, env={"STEPS": 25})
    lines = result.truth[0]
    assert [e["at"] for e in applied(result.events)] == [5, 10, 15, 20], result.report()
    assert all(has_option(line, "epilogue_fusion", False) and not is_dynamic(line) for line in lines[5:10])
    assert all(has_option(line, "epilogue_fusion", False) and is_dynamic(line) for line in lines[10:15])
    assert all(not has_option(line, "epilogue_fusion", False) and is_dynamic(line) for line in lines[15:20])
    assert all(line["ran"] == lines[4]["ran"] for line in lines[20:25])
    tos = [e["to"] for e in applied(result.events)]
    assert tos == [{"options.epilogue_fusion": "false"}, {"options.epilogue_fusion": "false", "dynamic": "on"}, {"dynamic": "on"}, {}]


def test_a_unit_can_have_its_own_settings() -> None:
    result = run("decorator", "--at", "5:smoothed/scope=eager", "--at", "10:0/options.epilogue_fusion=false", env={"STEPS": 15})
    lines = result.truth[0]
    assert [e["at"] for e in applied(result.events)] == [5, 10], result.report()
    assert all(graphs(line) == 2 for line in lines[:5])
    assert all(graphs(line) == 1 for line in lines[5:])
    assert all(has_option(line, "epilogue_fusion", False) for line in lines[10:])


@pytest.mark.parametrize("mode", ["max-autotune-no-cudagraphs", "default"])
def test_mode(mode: str) -> None:
    result = run("plain", "--at", f"5:mode={mode}", "--at", "8:as-written", env={"STEPS": 12})
    assert [e["at"] for e in applied(result.events)] == [5, 8], result.report()
    tuned = mode.startswith("max")
    assert all(has_option(line, "max_autotune", True) == tuned for line in result.truth[0][5:8])


@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
def test_backend(backend: str) -> None:
    result = run("plain", "--at", f"5:backend={backend}", "--at", "8:as-written", "--at", f"10:backend={backend}", env={"STEPS": 14})
    lines = result.truth[0]
    assert [e["at"] for e in applied(result.events)] == [5, 8, 10], result.report()
    for step in (5, 6, 7, 10, 11, 12, 13):
        assert lines[step]["ran"] and all(r["backend"] == backend for r in lines[step]["ran"]), (step, lines[step], result.report())
    assert not any(compiled(line) for line in lines[8:])


@pytest.mark.parametrize("scope", ["whole", "regional"])
def test_a_job_that_compiles_nothing_is_compiled_from_outside(scope: str) -> None:
    result = run("never_compiles", "--at", f"5:scope={scope}", "--at", "10:as-written", "--at", f"15:scope={scope}", env={"STEPS": 20})
    lines, wanted = result.truth[0], {"whole": 1, "regional": 3}[scope]
    assert [e["at"] for e in applied(result.events)] == [5, 10, 15], result.report()
    assert all(is_eager(line) for line in [*lines[:5], *lines[10:15]])
    assert all(graphs(line) == wanted for line in [*lines[5:10], *lines[15:]]), result.report()
    assert not any(compiled(line) for line in lines[6:])
    close(result, author("never_compiles", env={"STEPS": 20}))
    assert "keys=" + result.out.rsplit("keys=", 1)[1] == "keys=" + author("never_compiles", env={"STEPS": 20}).out.rsplit("keys=", 1)[1]


def test_a_switch_in_inference_acts_between_calls() -> None:
    result = run("inference", "--at", "5:scope=eager", "--at", "10:as-written", "--at", "15:options.epilogue_fusion=false",
                 env={"STEPS": 20})  # fmt: skip
    lines = result.truth[0]
    assert [e["status"] for e in final_switches(result.events)] == ["applied"] * 3, result.report()
    for e, check in zip(applied(result.events), (is_eager, lambda x: not is_eager(x), lambda x: has_option(x, "epilogue_fusion", False)),
                        strict=True):  # fmt: skip
        assert check(lines[e["at"]]), (e, result.report())
        assert not check(lines[e["at"] - 1]), (e, result.report())
    close(result, author("inference", env={"STEPS": 20}))


# ---- what cannot be


def failures(result: Result, rank: int = 0) -> list[dict[str, Any]]:
    return [e for e in final_switches(result.events, rank) if e["status"] == "failed"]


@pytest.mark.parametrize("job", ["break_in_loop", "data_dependent_branch"])
def test_fullgraph_fails_with_the_users_line_each_time(job: str) -> None:
    plan = ["--at", "5:fullgraph=on", "--at", "12:fullgraph=on", "--at", "20:fullgraph=on,options.epilogue_fusion=false"]
    result = run(job, *plan, env={"STEPS": 30})
    failed = failures(result)
    assert [e["at"] for e in failed] == [5, 12, 20], result.report()
    for e in failed:
        lines = (JOBS / f"{job}.py").read_text().splitlines()
        assert e["reason"] and Path(e["file"]).name == f"{job}.py" and 0 < e["line"] <= len(lines), e
        assert "graph_break" in lines[e["line"] - 1] or "if x.abs()" in lines[e["line"] - 1], e
    close(result, author(job, env={"STEPS": 30}))
    before = [line["ran"] for line in result.truth[0]]
    assert before[4] == before[7] == before[15] == before[25], result.report()
    assert {e["variant"] for e in result.of("step") if e["step"] in (6, 13, 21, 29)} == {0}


@pytest.mark.slow
def test_fullgraph_over_a_ddp_wrapper_fails_on_both_ranks() -> None:
    result = run("ddp_fullgraph", "--at", "5:fullgraph=on", "--at", "12:fullgraph=on", ranks=2, env={"STEPS": 20})
    for rank in (0, 1):
        failed = failures(result, rank)
        assert [e["at"] for e in failed] == [5, 12], result.report()
        assert all(e["reason"] and e["file"] and e["line"] for e in failed), failed
    same_step(result.events)
    same_truth(result.truth)
    close(result, author("ddp_fullgraph", 2, env={"STEPS": 20}))


def test_a_variant_whose_backward_alone_fails() -> None:
    bad = "options.epilogue_fusion=false"
    result = run("bad_backward", "--at", f"5:{bad}", "--at", f"12:{bad}", "--at", "18:dynamic=on", env={"STEPS": 25})
    assert [e["at"] for e in failures(result)] == [5, 12], result.report()
    assert all("own pass" in e["reason"] for e in failures(result)), failures(result)
    assert [e["at"] for e in applied(result.events)] == [18], result.report()
    close(result, author("bad_backward", env={"STEPS": 25}))


@pytest.mark.parametrize(("change", "named"), [
    ("options.epilog_fusion=false", "epilogue_fusion"),
    ("options.epilogue_fusion=perhaps", "epilogue_fusion"),
    ("backend=inductr", "inductor"),
    ("mode=max-autotun", "max-autotune"),
    ("fulgraph=on", "fullgraph"),
    ("dynamic=maybe", "dynamic"),
    ("mode=default,options.epilogue_fusion=false", "mode"),
    ("cudagraphs=on", "CUDA"),
    ("shape_padding=force", "CPU"),
    ("Nett/dynamic=on", "Net"),
])  # fmt: skip
def test_what_cannot_be_is_refused_with_the_nearest_name(running: Live, change: str, named: str) -> None:
    answer = running.send(change)
    assert answer.code != 0, answer
    assert named in answer.out + answer.err, answer
    assert not any(e["status"] in ("committed", "applied") for e in switches(running.events)), switches(running.events)


@pytest.fixture(scope="module")
def running() -> Any:
    with Live("plain", env={"STEPS": 1000000, "PACE": 5}) as live:
        live.wait_step(5)
        yield live
        live.stop()
        assert live.finish().code == 0


@pytest.mark.parametrize("word", ["--set", "--at"])
@pytest.mark.parametrize("change", ["fulgraph=on", "dynamic=maybe", "backend=inductr", "mode=default,options.epilogue_fusion=false", "dynamic"])
def test_nonsense_on_the_command_line_starts_no_job(word: str, change: str) -> None:
    result = run("plain", word, change if word == "--set" else f"5:{change}", check=None, timeout=30)
    assert result.code == 125 and result.out == "" and "inductop: " in result.err, result.report()


@pytest.mark.parametrize("change", ["options.nobodys_option=1", "backend=nobodys", "cudagraphs=on"])
def test_what_only_torch_knows_is_refused_at_its_step(change: str) -> None:
    result = run("plain", "--at", f"3:{change}", "--at", "6:scope=eager", env={"STEPS": 10})
    told = [(e["at"], e["status"]) for e in final_switches(result.events)]
    assert told == [(3, "refused"), (6, "applied")], result.report()
    close(result, author("plain", env={"STEPS": 10}))


# ---- live


def test_a_proposal_is_applied_on_both_ranks_at_one_step() -> None:
    with Live("ddp", ranks=2, env={"STEPS": 1000000, "PACE": 5}) as live:
        live.wait_step(5)
        for change in ("scope=eager", "as-written", "options.epilogue_fusion=false", "scope=regional", "as-written"):
            answer = live.send(change)
            assert answer.code == 0 and "applied" in answer.last, (answer, live.err)
        live.stop()
        result = live.finish()
    assert result.code == 0, result.report()
    same_step(result.events)
    same_truth(result.truth)
    assert len(applied(result.events, 0)) == 5
    adds_up(result.events)


@pytest.mark.slow
def test_ranks_that_count_differently_are_refused() -> None:
    with Live("ranks_differ", ranks=2, env={"STEPS": 1000000, "PACE": 5}) as live:
        live.wait_step(100)
        live.wait(lambda: abs(live.steps()[1] - live.steps()[0]) > 70, what="steps apart")
        answer = live.send("scope=eager")
        assert answer.code != 0 and "step" in answer.out + answer.err, answer
        live.stop()
        result = live.finish()
    assert result.code == 0, result.report()
    assert not applied(result.events, 0) and not applied(result.events, 1)
    same_truth(result.truth)


def test_a_proposal_to_a_job_that_ends_is_not_left_open() -> None:
    with Live("plain", env={"STEPS": 1000000, "PACE": 5}) as live:
        live.wait_step(5)
        senders = []
        for i in range(6):
            senders.append(live.send_begin(f"scope={'eager' if i % 2 else 'whole'}"))
            if i == 3:
                live.stop()
        answers = [live.answer(s, 60) for s in senders]
        result = live.finish()
    assert result.code == 0, result.report()
    assert all(a.code != 0 or "applied" in a.last for a in answers), answers


def proposals(live: Live, count: int, dice: random.Random) -> list[Any]:
    """Proposals at random moments, some while another is on its way, some while a rank is stopped for a second."""
    changes = ["scope=eager", "scope=regional", "scope=whole", "as-written", "options.epilogue_fusion=false", "dynamic=on",
               "options.epilogue_fusion=as-written", "scope=as-written"]  # fmt: skip
    open_ones, answers = [], []
    for i in range(count):
        stopped = i % 40 == 20 and live.pids()
        if stopped:
            live.signal(live.pids()[i // 40 % 2], signal.SIGSTOP)
            begin = time.monotonic()
        open_ones.append(live.send_begin(dice.choice(changes)))
        if stopped:
            live.wait(lambda begin=begin: time.monotonic() - begin > 1, 5, "one second")
            for pid in live.pids().values():
                live.signal(pid, signal.SIGCONT)
        if len(open_ones) > dice.randint(0, 2):
            answers += [live.answer(s) for s in open_ones]
            open_ones = []
    return answers + [live.answer(s) for s in open_ones]


@pytest.mark.slow
def test_two_hundred_proposals_never_split() -> None:
    dice = random.Random(200)
    with Live("ddp_accumulation", ranks=2, env={"STEPS": 10000000, "PACE": 2}) as live:
        live.wait(lambda: len(live.pids()) == 2, what="both ranks")
        answers = proposals(live, 200, dice)
        live.stop()
        result = live.finish()
    assert result.code == 0, result.report()
    same_step(result.events)
    same_truth(result.truth)
    ends = [e for e in switches(result.events) if "rank" not in e and e["status"] in FINAL and not e.get("again")]
    counts = {status: sum(e["status"] == status for e in ends) for status in FINAL}
    print(json.dumps(counts), {a.code for a in answers})
    assert len(ends) == len(answers) == 200, counts
    assert {e["status"] for e in ends} <= {"applied", "aborted"}, [e for e in ends if e["status"] not in ("applied", "aborted")]
    assert counts["applied"] >= 150, counts
    on_ranks = {(e["id"], e["rank"]) for e in switches(result.events, status="applied") if "rank" in e}
    for e in ends:
        assert {(e["id"], r) in on_ranks for r in (0, 1)} == {e["status"] == "applied"}, e
