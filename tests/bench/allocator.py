"""What the counting allocator costs: a block taken and given back, with and without it, in turn in one process.

    allocator.py          the Python that runs it has the torch that is measured; needs a C++ compiler

Each line is the median over many short rounds of the difference between the two sides of a round, whose order changes; beside it the
side without. The bound of the project is 20 ns a pair. Exit 1 when it is missed, which says little on a loaded machine.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import figures

ROUNDS, BOUND_NS = 401, 20.0


def build(folder: str, torch_folder: Path) -> ctypes.CDLL:
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
    library = f"{folder}/allocator.so"
    command = [compiler, "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
    command += ["-isystem", str(torch_folder / "include"), f"-I{figures.ROOT}", str(figures.ROOT / "tests/bench/allocator.cc"), "-o", library]
    subprocess.run([*command, f"-L{torch_folder / 'lib'}", "-lc10", "-ltorch_cpu"], check=True)
    bench = ctypes.CDLL(library)
    bench.bench_pair.restype = bench.bench_read.restype = ctypes.c_double
    bench.bench_pair.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
    return bench


def in_turn(side: Callable[[bool], float]) -> tuple[float, float]:
    """Median without, and median of with less without."""
    without, more = [], []
    for number in range(ROUNDS):
        ns = {counts: side(counts) for counts in ((False, True) if number % 2 else (True, False))}
        without.append(ns[False])
        more.append(ns[True] - ns[False])
    return statistics.median(without), statistics.median(more)


def main() -> int:
    import torch

    torch.set_num_threads(1)
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        bench = build(folder, Path(torch.__file__).parent)
        assert bench.bench_start() == 0
        print(f"torch {torch.__version__}")
        for size in (64, 4096, 65536):
            without, more = in_turn(lambda counts, size=size: bench.bench_pair(counts, size, 2000))
            missed |= more > BOUND_NS
            if size == 64:
                figures.tell("A4", more, without)
            print(f"a block of {size:6d} bytes, taken and given back: {without:7.1f} ns, counted {more:+6.1f} ns   (bound {BOUND_NS:.0f})")

        def empty(counts: bool) -> float:
            bench.bench_use(counts)
            begin = time.perf_counter_ns()
            for _ in range(1000):
                torch.empty(16)
            return (time.perf_counter_ns() - begin) / 1000

        without, more = in_turn(empty)
        print(f"torch.empty(16):                             {without:7.1f} ns, counted {more:+6.1f} ns")
        print(f"reading at a step's end:                     {statistics.median(bench.bench_read(2000) for _ in range(ROUNDS)):7.1f} ns")
    return missed


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
