# SPDX-License-Identifier: Apache-2.0
"""What the first step after a flip costs: two ranks, four variants that all ran before, flip after flip.

    flip.py [--flips 100]     prints the median of (step after the flip - median step of that variant), and of the step after it

Steps are a few milliseconds long, on purpose: a flip costs the same in long ones. The bound is 2 % of a step or 0.5 ms, whichever is larger.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import figures

INDUCTOP = os.environ.get("INDUCTOP") or str(figures.ROOT / "build" / "inductop")
VARIANTS = {
    "whole": "scope=whole,options.epilogue_fusion=as-written",
    "regional": "scope=regional,options.epilogue_fusion=as-written",
    "eager": "scope=eager,options.epilogue_fusion=as-written",
    "nofuse": "scope=as-written,options.epilogue_fusion=false",
}
Plan = list[tuple[int, str]]


def make_plan(flips: int) -> tuple[Plan, int]:
    dice = random.Random(4)
    plan, step, name = [], 5, "whole"
    for _ in range(flips):
        name = dice.choice([v for v in VARIANTS if v != name])
        plan.append((step, name))
        step += dice.randint(4, 9)
    return plan, step + 5


def train(plan: Plan, steps: int) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        events = f"{folder}/events.jsonl"
        words = [word for at, name in plan for word in ("--at", f"{at}:{VARIANTS[name]}")]
        job = [sys.executable, "-m", "torch.distributed.run", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--no-python",
               "--nproc-per-node=2", sys.executable, str(figures.ROOT / "tests/jobs/ddp.py")]  # fmt: skip
        subprocess.run([INDUCTOP, "--headless", "--quiet", "--json", events, *words, "--", *job], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env={**os.environ, "STEPS": str(steps)})  # fmt: skip
        return [json.loads(line) for line in Path(events).read_text().splitlines()]


def costs(events: list[dict], plan: Plan, behind: int) -> list[float]:
    """Milliseconds above the variant's median of the step `behind` steps after each flip to a variant seen before, on all ranks."""
    steps: dict[int, dict[int, dict]] = defaultdict(dict)
    for e in events:
        if e["kind"] == "step":
            steps[e["rank"]][e["step"]] = e
    found = []
    for mine in steps.values():
        clean: dict[int, list[float]] = defaultdict(list)
        for e in mine.values():
            if e["clean"]:
                clean[e["variant"]].append(e["ms"])
        seen = {"whole"}
        for at, name in plan:
            if name in seen:
                e = mine[at + behind]
                found.append(e["ms"] - statistics.median(clean[e["variant"]]))
            seen.add(name)
    return found


def together(events: list[dict], plan: Plan) -> float:
    """Share of the flips that every rank applied at the step that was asked for, percent."""
    applied = Counter(e["at"] for e in events if e["kind"] == "switch" and e["status"] == "applied")
    steps = defaultdict(set)
    for e in events:
        if e["kind"] == "step":
            steps[e["step"]].add(e["variant"])
    return 100 * statistics.fmean(applied[at] == 2 and len(steps[at]) == 1 for at, _ in plan)


def first_visit_ms(events: list[dict], plan: Plan) -> float:
    """The dearest first step under a variant that had to be compiled."""
    firsts = {at for at, name in plan if name not in ("whole", "eager")}
    return max(e["ms"] for e in events if e["kind"] == "step" and e["step"] in firsts and "compile" in e.get("why", ()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flips", type=int, default=100)
    plan, steps = make_plan(parser.parse_args().flips)
    events = train(plan, steps)
    usual = statistics.median(e["ms"] for e in events if e["kind"] == "step" and e["clean"])
    print(f"usual step {usual:.2f} ms; bound {max(0.02 * usual, 0.5):.2f} ms")
    print(f"flips that all ranks made at their step: {together(events, plan):.1f} % of {len(plan)}")
    figures.tell("B1", together(events, plan))
    figures.tell("B2", max(0.0, statistics.median(costs(events, plan, 0))), first_visit_ms(events, plan))
    for behind in (0, 1):
        dear = costs(events, plan, behind)
        print(f"{'step after a flip' if not behind else 'the one behind it'}: median {statistics.median(dear):+.3f} ms over {len(dear)} flips")


if __name__ == "__main__":
    main()
