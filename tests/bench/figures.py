# SPDX-License-Identifier: Apache-2.0
"""The goals: what each bench measured of them, beside what it is measured against.

    figures.py FILE      prints the figures that the benches of one run left in FILE, a line each
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Goal(NamedTuple):
    what: str
    unit: str
    anchor: str  # what it is measured against
    value: float | None = None  # of the anchor; None: measured in the same run
    more_is_better: bool = False


GOALS = {
    "A1": Goal("inductop's work in a step of 10 ms", "us", "torch.profiler around the same step, in the same run"),
    "A2": Goal("one hook record from Python", "ns", "json.dumps of a small record, in the same process"),
    "A3": Goal("instructions for watching a cold compilation, more than plain", "%", "TORCH_TRACE, in the same run"),
    "A4": Goal("counting a pair of allocations of torch's", "ns", "the pair itself, 64 bytes, in the same run"),
    "A5": Goal("steps while the engine is stopped, over those before", "x", "a writer that blocks: no step at all", math.inf),
    "B1": Goal("flips on one step on all ranks", "%", "all", 100.0, True),
    "B2": Goal("a step lost to a flip to what was compiled", "ms", "the first visit, which compiles, in the same run"),
    "C3": Goal("wrong verdicts, both sides the same", "%", "5 % of them are meant to be", 5.0),
    "G2": Goal("a step slowed by a recompile told with its cause, after its end", "ms", "tlparse: after the run, in the same run"),
    "H1": Goal("95 % intervals that hold the truth, both sides the same", "%", "95 % of them are meant to", 95.0, True),
}


def interval(logs: list[float]) -> tuple[float, float, float]:
    """Ratio from log ratios: 20 % trimmed mean and its 95 % interval (Yuen), as engine/data/stats.c has it."""
    values, cut = sorted(logs), int(len(logs) * 0.2)
    inner = values[cut : len(values) - cut]
    winsorised = [inner[0]] * cut + inner + [inner[-1]] * cut
    error = statistics.stdev(winsorised) / ((1 - 2 * cut / len(values)) * math.sqrt(len(values)))
    t = 1.96 + 2.4 / max(1, len(inner) - 1)
    middle = statistics.fmean(inner)
    return math.exp(middle), math.exp(middle - t * error), math.exp(middle + t * error)


def tell(goal: str, ours: float, anchor: float | None = None) -> None:
    """Leaves a figure for the table at the end of the run."""
    if path := os.environ.get("INDUCTOP_FIGURES"):
        with open(path, "a") as file:
            print(json.dumps([goal, ours, anchor]), file=file)


def main() -> None:
    told = {goal: (ours, anchor) for goal, ours, anchor in map(json.loads, Path(sys.argv[1]).read_text().splitlines())}
    for goal, row in GOALS.items():
        if goal not in told:
            print(f"{goal}  {row.what}: not measured")
            continue
        ours, anchor = told[goal]
        anchor = row.value if anchor is None else anchor
        ratio = anchor and (ours / anchor if row.more_is_better else anchor / ours if ours else math.inf)
        beside = "" if anchor is None or math.isinf(anchor) else f"{anchor:.4g} {row.unit}, {ratio:.3g} x: "
        print(f"{goal}  {row.what}: {ours:.4g} {row.unit}   beside {beside}{row.anchor}")


if __name__ == "__main__":
    main()
