# SPDX-License-Identifier: Apache-2.0
"""`inductop compare`: what runs against other settings, in turns, while the job trains."""

from __future__ import annotations

from harness import Live, adds_up, is_eager, same_truth

FOREVER = {"STEPS": 10**7}


def test_what_runs_is_compared_with_what_is_named() -> None:
    with Live("slow_eager", env=FOREVER) as live:
        live.wait_step(20)
        compiles = len([e for e in live.events if e["kind"] == "compile"])
        answer = live.compare("eager")
        assert answer.code == 0 and answer.out.startswith("rank 0: ") and "over eager" in answer.out and "faster" in answer.out, answer
        assert "6 pairs" in answer.out, "so large a difference is sure at the first look"
        assert len([e for e in live.events if e["kind"] == "compile"]) == compiles, "nothing is compiled that nobody asked for"
        answer = live.compare("regional")  # a preset
        assert answer.code == 0 and "over regional" in answer.out and "faster" in answer.out, answer
        assert live.send("scope=eager").code == 0
        answer = live.compare("as-written")
        assert answer.code == 0 and "slower" in answer.out, answer
        answer = live.compare("scope=eager")
        assert answer.code == 1 and "nothing to compare" in answer.err, answer
        answer = live.compare("no-such-preset")
        assert answer.code == 1 and "no-such-preset" in answer.err, answer
        assert live.compare("scope=sideways").code == 1
        live.stop()
        result = live.finish()
    assert result.code == 0, result.report()
    told = result.of("speedup")
    names = {e["variant"]: e["settings"] for e in result.of("variant")}
    eager, regional = {"scope": "eager"}, {"mode": "default", "scope": "regional"}
    assert [(names.get(e["variant"], {}), e.get("against") and names[e["against"]], e["verdict"]) for e in told[:2]] == [
        ({}, None, "faster"),
        ({}, regional, "faster"),
    ]
    assert (names[told[2]["variant"]], told[2]["against"], told[2]["verdict"]) == (eager, 0, "slower")
    for e in told:
        assert e["low"] <= e["ratio"] <= e["high"] and e["pairs"] >= 6 and e["within"] > 0 and e["ranks"] == 1, e
        assert all(p["low"] <= p["ratio"] <= p["high"] for p in e["phases"].values()) and "backward" in e["phases"], e
    assert told[0]["break_even"] > 0 and "break_even" not in told[2]
    for e in result.of("step"):
        assert is_eager(result.truth[0][e["step"]]) == (names.get(e["variant"]) == eager), e
    adds_up(result.events)


def test_two_ranks_are_compared_together_and_only_together() -> None:
    with Live("slow_eager", ranks=2, env=FOREVER) as live:
        live.wait_step(20)
        answer = live.compare("eager")
        assert answer.code == 0 and sorted(line[:8] for line in answer.out.splitlines()) == ["rank 0: ", "rank 1: "], answer
        live.stop()
        result = live.finish()
    assert result.code == 0, result.report()
    assert {(e["rank"], e["verdict"], e["ranks"]) for e in result.of("speedup")} == {(0, "faster", 2), (1, "faster", 2)}
    same_truth(result.truth)


def test_nothing_is_compared_while_a_rank_is_missing() -> None:
    """A job of two ranks of which one was never started: an agreement of all cannot be had, and it says so at once."""
    with Live("plain", env={**FOREVER, "RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 2}) as live:
        live.wait(lambda: live.steps().get(0, 0) >= 20, what="steps")
        answer = live.compare("eager")
        assert answer.code == 1 and "only 1 of 2 ranks are here" in answer.err, answer
        live.stop()
        result = live.finish()
    assert result.code == 0 and result.of("speedup") == [], result.report()
