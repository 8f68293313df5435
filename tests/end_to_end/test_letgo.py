# SPDX-License-Identifier: Apache-2.0
"""What was compiled under settings that are not wanted any more is let go of: on all ranks at one step, and nothing else with it."""

from __future__ import annotations

from harness import Live, Result

OTHER = "options.epilogue_fusion=false"
KEY = {"options.epilogue_fusion": "false"}


def compiles(result: Result, first: int, last: int) -> list[object]:
    times = {(e["rank"], e["step"]): e["t"] for e in result.of("step")}
    return [e for e in result.of("compile") if times[e["rank"], first] < e["t"] < times[e["rank"], last]]


def test_two_ranks_let_go_and_compile_anew_when_wanted_again() -> None:
    with Live("ddp", ranks=2, env={"STEPS": 100000, "PACE": 20}) as live:
        live.wait_step(5)
        refused = live.send("--forget", OTHER)
        assert refused.code == 1 and "nothing ran under these settings" in refused.out, refused
        assert live.send(OTHER).code == 0
        refused = live.send("--forget", OTHER)
        assert refused.code == 1 and "these settings are in force" in refused.out, refused
        assert live.send("as-written").code == 0
        gone = live.send("--forget", OTHER)
        assert gone.code == 0 and "lets go of " in gone.out and " on each rank" in gone.out, gone
        again = live.send("--forget", OTHER)
        assert again.code == 1, again
        assert live.send(OTHER).code == 0
        live.stop_file.touch()
        result = live.finish()
    assert result.code == 0, result.report()
    ranks = [e for e in result.of("switch", status="applied") if "freed" in e and "rank" in e]
    assert {e["rank"] for e in ranks} == {0, 1} and len({e["at"] for e in ranks}) == 1, ranks
    (engine,) = [e for e in result.of("switch", status="applied") if "freed" in e and "rank" not in e]
    variant = next(e["variant"] for e in result.of("variant") if e["settings"] == KEY)
    assert engine["forgot"] == variant and engine["to"] == {} and engine["freed"] == ranks[0]["freed"]
    assert engine["freed"]["versions"] >= 1
    at = ranks[0]["at"]
    later = min(e["at"] for e in result.of("switch", status="applied", variant=variant) if e["at"] > at)
    assert not compiles(result, at - 1, later - 1)  # what is in force was not touched
    assert {e["rank"] for e in compiles(result, later - 1, max(e["step"] for e in result.of("step", rank=0)))} == {0, 1}
    assert not result.of("problem")
