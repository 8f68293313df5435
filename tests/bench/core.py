"""What the rank core costs the training thread: nanoseconds a call from Python, the loop around it taken off.

    core.py [LIB]        LIB: the support folder, build/lib/inductop when not given

Prints one line a call: the best of many short rounds, since whatever else runs on the machine only adds to it. Bounds are those
of the project: a step and a mark cost 100 ns at most. Exit 1 when they are missed, which says little on a loaded machine.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path

import figures

ROUNDS, CALLS = 400, 2000  # a round ends before the ring of 4096 records is full
BOUND_NS = {"step()": 100.0, "mark(1, 2.0)": 100.0, "mark(1, -1.0)": 100.0}


def best_ns(statement: str, core: object, drain: Callable[[], None]) -> float:
    timer = timeit.Timer(statement, globals={"core": core, "step": core.step, "mark": core.mark, "dirty": core.dirty,
                                             "event": core.event, "count": core.count, "dumps": json.dumps, "abs": ctypes.CDLL(None).abs})  # fmt: skip
    best = float("inf")
    for _ in range(ROUNDS):
        drain()
        best = min(best, timer.timeit(CALLS) / CALLS * 1e9)
    return best


def main() -> int:
    lib = Path(sys.argv[1] if len(sys.argv) > 1 else figures.ROOT / "build/lib/inductop")
    sys.path.insert(0, str(lib / "agent/inductop_agent"))
    import _inductop as core

    with tempfile.TemporaryDirectory() as folder:
        reader = subprocess.Popen([sys.executable, __file__, "--read", f"{folder}/sock"], stdout=subprocess.PIPE)
        reader.stdout.readline()
        core.join(f"{folder}/page", "bench/0", 0, 1)
        core.start(f"{folder}/sock", b"{}")

        def drain() -> None:
            while core.stats()["steps_queued"] or core.stats()["queued"] or not core.stats()["connected"]:
                core.event(b"wake")  # the sender wakes up for an event at once

        empty = best_ns("pass", core, lambda: None)
        missed = False
        beside = {"abs(1)": " by ctypes", "dumps({'step': 1, 'ms': 2.5})": ""}
        told = {}
        for call in ("count()", "step()", "mark(1, 2.0)", "mark(1, -1.0)", "dirty(2)", "event(b'x' * 200)", *beside):
            told[call] = ns = best_ns(call, core, drain) - empty
            bound = BOUND_NS.get(call)
            missed |= bound is not None and ns > bound
            print(f"{call + beside.get(call, ''):30s} {ns:7.1f} ns" + (f"   (bound {bound:.0f})" if bound else ""))
        figures.tell("A2", told["mark(1, -1.0)"], told["dumps({'step': 1, 'ms': 2.5})"])
        stats = core.stats()
        print(f"dropped: {stats['steps_dropped']} steps, {stats['dropped']} events")
        core.stop()
        reader.terminate()
        reader.wait()
    return missed


def read(path: str) -> None:
    import socket

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    os.write(1, b"ready\n")
    conn, _ = listener.accept()
    while conn.recv(1 << 20):
        pass


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
    else:
        sys.exit(main())
