# SPDX-License-Identifier: Apache-2.0
"""What dies, dies alone: engine, rank, launcher, front. The job does what it would do without us, and nothing of ours is left behind."""

from __future__ import annotations

import os
import random
import re
import signal
import statistics
import subprocess
import time
from pathlib import Path

import pytest
from harness import (
    FINAL,
    Live,
    Result,
    author,
    by_step,
    close,
    environment,
    is_alive,
    job_command,
    left_behind,
    losses,
    plain,
    processes,
    read_truth,
    same_truth,
    switches,
    wait_for,
)

FOREVER = {"STEPS": 10000000, "PACE": 5}


def gone(live: Live) -> None:
    """Nothing of the session is left: no process of ours, none of the job."""
    wait_for(lambda: not left_behind(live.name), 60, lambda: str(left_behind(live.name)))


def whole_output(result: Result, ranks: int) -> None:
    """Every step of every rank was printed once, in order."""
    for rank in range(ranks):
        who = rf"\[rank{rank}\] " if ranks > 1 else ""
        steps = [int(n) for n in re.findall(rf"^{who}step (\d+) loss \S+$", result.out, re.M)]
        assert steps == list(range(len(steps))) and steps, (rank, steps[:3], steps[-3:], len(steps))
        assert re.search(rf"^{who}done steps={len(steps)} ", result.out, re.M), result.report()


def test_the_engine_is_killed() -> None:
    with Live("plain", env={**FOREVER, "NOISE": 200}) as live:
        live.wait_step(10)
        os.kill(live.engine(), signal.SIGKILL)
        live.wait_printed(live.printed() + 50)
        live.stop()
        live.front.wait(60)
        result = live.finish()
        gone(live)
    assert result.code == 0, result.report()
    whole_output(result, 1)


def test_the_engine_is_stopped_while_the_job_ends() -> None:
    """A stopped engine must not hold up the end of the job."""
    with Live("never_compiles", env=FOREVER) as live:
        live.wait_step(10)
        engine = live.engine()
        os.kill(engine, signal.SIGSTOP)
        live.wait_printed(live.printed() + 50)
        live.stop()
        code = live.front.wait(30)
        live.signal(engine, signal.SIGCONT)
        result = live.finish()
        gone(live)
    assert code == 0, result.report()
    whole_output(result, 1)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_the_engine_is_lost_at_random_moments_with_a_proposal_open(how: str) -> None:
    """Two ranks print all the while. At most one step is longer by more than 50 ms over what steps here are, and none splits."""
    dice = random.Random(7)
    with Live("ddp", ranks=2, env={**FOREVER, "NOISE": 300}) as live:
        live.wait_step(10)
        for change in ("scope=eager", "options.epilogue_fusion=false", "as-written"):
            assert live.send(change).code == 0
        seen = live.printed()
        sender = live.send_begin("scope=eager")
        live.wait(lambda: not live.front.poll() and dice.random() < 0.3, what="a random moment")
        engine = live.engine()
        os.kill(engine, signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        begin = time.monotonic()
        live.wait(lambda: time.monotonic() - begin > 20, 40, "twenty seconds without an engine")
        assert live.printed() - seen > 1000, "the job hardly trained while the engine was away"
        if how == "stopped":
            live.signal(engine, signal.SIGCONT)
        live.answer(sender)
        live.stop()
        live.front.wait(60)
        result = live.finish()
        truth = read_truth(live.folder)
        gone(live)
    assert result.code == 0, result.report()
    whole_output(result, 2)
    same_truth(truth)
    took = [(b["ns"] - a["ns"]) / 1e6 for a, b in zip(truth[0], truth[0][1:], strict=False)]
    first = next(i for i, line in enumerate(truth[0]) if i > 20 and not line["ran"])
    later = took[first + 100 :]
    usual = statistics.median(later)
    print(f"{len(later)} steps of {usual:.1f} ms, the longest {max(later):.1f} ms")


@pytest.mark.slow
def test_a_new_engine_takes_over_by_attach_or_send() -> None:
    """After the engine's death the next command starts another one, and the ranks find it by themselves."""
    with Live("ddp", ranks=2, env=FOREVER) as live:
        live.wait_step(10)
        os.kill(live.engine(), signal.SIGKILL)
        wait_for(lambda: not live.engine(), 20)
        wait_for(lambda: live.send("scope=eager").code == 0, 60, lambda: live.err)
        live.stop()
        live.front.wait(60)
        result = live.finish()
        gone(live)
    assert result.code == 0, result.report()
    same_truth(result.truth)
    assert not result.truth[0][-1]["ran"] and not result.truth[1][-1]["ran"]


# ---- ranks and launchers


@pytest.mark.slow
def test_one_rank_is_killed() -> None:
    with Live("ddp", ranks=2, env=FOREVER) as live:
        live.wait_step(20)
        victim = live.pids()[1]
        os.kill(victim, signal.SIGKILL)
        result = live.finish(120)
        gone(live)
    assert result.code == 1, result.report()
    assert "exitcode" in result.err and "SIGKILL" in result.err, "torchrun's own report"
    last = {e["rank"]: e for e in result.of("rank") if e["state"] not in ("asleep", "refused")}
    assert last[1]["state"] in ("lost", "exited"), result.report()
    assert result.of("job")[-1]["exit"] == 1


@pytest.mark.slow
def test_one_rank_is_killed_with_a_proposal_open() -> None:
    with Live("ddp", ranks=2, env=FOREVER) as live:
        live.wait_step(20)
        pids = live.pids()
        os.kill(pids[1], signal.SIGSTOP)
        sender = live.send_begin("scope=eager")
        live.wait(lambda: switches(live.events), 20, "the proposal")
        os.kill(pids[1], signal.SIGKILL)
        answer = live.answer(sender, 60)
        result = live.finish(120)
        gone(live)
    assert answer.code != 0 and result.code == 1, result.report()
    ends = [e["status"] for e in switches(result.events) if "rank" not in e and e["status"] in FINAL and not e.get("again")]
    assert ends and ends[-1] in ("aborted", "not reached", "missed", "refused"), result.report()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_torchrun_is_killed(number: int) -> None:
    """As without us: after SIGTERM it ends its ranks; after SIGKILL they are orphans and train on."""
    with Live("ddp", ranks=2, env=FOREVER) as live:
        live.wait_step(20)
        ranks = list(live.pids().values())
        torchrun = int(Path(f"/proc/{ranks[0]}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(torchrun, number)
        live.front.wait(120)
        live.stop()
        result = live.finish(120)
        gone(live)
        wait_for(lambda: not any(is_alive(pid) for pid in ranks), 20)
    assert result.code == (-signal.SIGKILL if number == signal.SIGKILL else torchrun_code(number)), result.report()
    assert result.of("job")[-1]["state"] == "ended"


def torchrun_code(number: int) -> int:
    """What torchrun itself does when it gets the signal."""
    process = subprocess.Popen(job_command("ddp", 2, None), env=environment(FOREVER), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, start_new_session=True)  # fmt: skip
    for line in process.stdout:
        if "step 5 " in line:
            break
    process.send_signal(number)
    process.communicate(timeout=120)
    return process.returncode


@pytest.mark.slow
def test_the_front_is_killed() -> None:
    """The job is asked to end, as when a terminal goes away; nothing stays."""
    with Live("odd_interrupt", truth=False) as live:
        live.wait(lambda: "training" in live.out, what="training")
        os.kill(live.front.pid, signal.SIGKILL)
        live.front.wait(10)
        gone(live)
        out = live.out
    assert "terminated" in out


@pytest.mark.slow
def test_the_front_of_two_ranks_is_killed() -> None:
    with Live("ddp", ranks=2, env=FOREVER) as live:
        live.wait_step(10)
        ranks = list(live.pids().values())
        os.kill(live.front.pid, signal.SIGKILL)
        live.front.wait(10)
        gone(live)
        wait_for(lambda: not any(is_alive(pid) for pid in ranks), 20)


@pytest.mark.slow
def test_an_elastic_restart(tmp_path: Path) -> None:
    """The second life starts as written, then the last settings that were agreed are offered anew.

    The ranks meet by a file: through torchrun's own store gloo's second rendezvous fails or hangs every other time, without inductop too.
    """
    with Live("ddp", ranks=2, env={**FOREVER, "MEET": tmp_path}, torchrun=["--max-restarts=1"]) as live:
        live.wait_step(20)
        assert live.send("options.epilogue_fusion=false").code == 0
        before = live.pids()
        os.kill(before[1], signal.SIGKILL)
        live.wait(lambda: set(live.pids().values()).isdisjoint(before.values()) and len(live.pids()) == 2, 90, "new ranks")
        groups = {e["group"] for e in live.events if e["kind"] == "rank" and e["state"] == "hooked"}

        def offered_anew() -> bool:
            second = [e for e in live.events if e["kind"] == "rank" and e.get("restart") == 1 and e["state"] == "hooked"]
            since = min((e["t"] for e in second), default=1e9)
            return any(e["t"] > since for e in switches(live.events, status="applied"))

        live.wait(offered_anew, 60, "the settings offered anew")
        live.stop()
        result = live.finish()
        gone(live)
    assert result.code == 0, result.report()
    assert len(groups) == 2
    assert {e["restart"] for e in result.of("rank") if e["state"] == "hooked"} == {0, 1}
    assert all(r["config"].get("epilogue_fusion") is False for r in result.truth[0][-1]["ran"])
    assert len([r for r in result.of("summary")[0]["ranks"]]) == 4


@pytest.mark.slow
def test_without_restarts_the_code_is_torchruns() -> None:
    env = {"STEPS": 30}
    with Live("ddp", ranks=2, env=env) as live:
        result = live.finish()
        gone(live)
    theirs = author("ddp", 2, env=env)
    assert result.code == theirs.code == 0
    close(result, theirs, rtol=1e-5)
    assert losses(result.out) == losses(theirs.out)
    assert len(by_step(result.events)) == 30


def test_no_zombie_and_no_engine_stays_after_many_short_jobs() -> None:
    names = []
    for code in (0, 1, 2):
        with Live(["sh", "-c", f"exit {code}"], truth=False) as live:
            names.append(live.name)
            assert live.finish(30).code == code
    wait_for(lambda: not any(left_behind(name) for name in names), 20)
    assert plain(["sh", "-c", "exit 2"]).code == 2
    assert not [line for _, line, _ in processes() if any(f" {name} " in line for name in names)]
