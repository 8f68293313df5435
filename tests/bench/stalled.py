# SPDX-License-Identifier: Apache-2.0
"""What a stalled engine costs the job: two ranks train while the engine is stopped (SIGSTOP), and go on after it.

    stalled.py [--seconds 30]     prints step times before, while and after, what was dropped, and what the ranks hold in memory
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import sys
import time

import figures

sys.path.insert(0, str(figures.ROOT / "tests/end_to_end"))
from harness import Live  # noqa: E402

LINE = re.compile(r"^\[rank0\] step (\d+) ", re.M)


def pace_ms(live: Live, seconds: float) -> float:
    """Mean time of a step over so many seconds, as the job's own lines tell."""
    begin, first = time.monotonic(), len(LINE.findall(live.out))
    time.sleep(seconds)
    return 1e3 * (time.monotonic() - begin) / max(1, len(LINE.findall(live.out)) - first)


def rss_mb(pid: int) -> float:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    with Live("ddp", ranks=2, env={"STEPS": 10_000_000, "PACE": 5}) as live:
        live.wait_step(50)
        pids, engine = list(live.pids().values()), live.engine()
        before = pace_ms(live, seconds / 2)
        rss = [rss_mb(pid) for pid in pids]
        os.kill(engine, signal.SIGSTOP)
        stopped = pace_ms(live, seconds)
        grown = max(rss_mb(pid) - was for pid, was in zip(pids, rss, strict=True))
        os.kill(engine, signal.SIGCONT)
        after = pace_ms(live, seconds / 2)
        live.stop()
        result = live.finish()
    drops = result.of("summary")[0]["drops"]
    worst = statistics.quantiles([e["ms"] for e in result.of("step") if e["clean"]], n=1000)[-1]
    print(f"steps every {before:.2f} ms, while the engine is stopped {stopped:.2f} ms, then {after:.2f} ms; one of a thousand over {worst:.1f} ms")
    print(f"dropped and counted: {drops['steps']} steps, {drops['events']} events; a rank grew by {grown:.1f} MB")
    figures.tell("A5", 2 * stopped / (before + after))


if __name__ == "__main__":
    main()
