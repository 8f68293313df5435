# SPDX-License-Identifier: Apache-2.0
"""How soon a step that was slowed by a recompile is told with its cause: a job whose shapes change again and again.

    attribution.py [--steps 40]     prints how many slow steps were told as such, and how long after their end
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import figures

sys.path.insert(0, str(figures.ROOT / "tests/end_to_end"))
from harness import Live  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        with Live("churn", env={"STEPS": steps, "PACE": 20, "TORCH_TRACE": f"{folder}/trace"}, truth=False) as live:
            begin, seen, causes = time.monotonic(), 0, []
            live.wait(lambda: live.events, what="events")
            start = json.loads((live.session / "start.json").read_text())["start_ns"] / 1e9  # of the events' times
            while live.front.poll() is None:
                events = live.events
                for event in events[seen:]:
                    if event["kind"] == "compile" and event["trigger"] == "recompile":
                        causes.append((event, time.monotonic()))
                seen = len(events)
                time.sleep(0.002)
            result = live.finish()
            took = time.monotonic() - begin
            (log,) = Path(folder, "trace").glob("*.log")
            parse = time.monotonic()
            tool = Path(sys.executable).parent / "tlparse"
            parsed = tool.exists() and subprocess.run([tool, log, "-o", f"{folder}/out", "--no-browser"], capture_output=True).returncode == 0
            parse = time.monotonic() - parse
    step_of = {e["step"]: e for e in result.of("step")}
    usual = statistics.median(e["ms"] for e in step_of.values() if e["clean"])
    slow = [e for e in step_of.values() if e.get("ms", 0) > 3 * usual]
    marked = [e for e in slow if "compile" in e["why"]]
    ends = [next(e["t"] for e in step_of.values() if e["t"] >= event["t"]) for event, _ in causes]
    delays = [1e3 * (seen_at - start - end) for (_, seen_at), end in zip(causes, ends, strict=True)]
    print(f"{len(slow)} steps of {len(step_of)} took more than three times the usual {usual:.1f} ms, {len(marked)} of them are marked as compiling")
    print(f"{len(causes)} recompiles, {sum('cause' in e for e, _ in causes)} with a cause; told {statistics.median(delays):.1f} ms after the step's end "
          f"(the slowest {max(delays):.1f} ms)")  # fmt: skip
    if parsed:
        print(f"tlparse of the same run: after its {took:.1f} s, and {parse:.1f} s more")
    figures.tell("G2", max(0.0, statistics.median(delays)), 1e3 * (took / 2 + parse) if parsed else None)


if __name__ == "__main__":
    main()
