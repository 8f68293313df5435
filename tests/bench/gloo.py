# SPDX-License-Identifier: Apache-2.0
"""What counting gloo's collectives costs a step: the demo under DistributedDataParallel, counted and not, in turn.

    gloo.py [--pairs 200] [--block 8]      prints the ratio of step times with its 95 % interval, and what it costs an operator

One rank, which has the collectives and their threads as several have, without waiting for others. The listener is taken out of torch
and put in again, in random order. Times are the processor's, of all threads: a loaded machine changes them little.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import figures


def build(folder: str) -> str:
    import torch

    torch_folder = Path(torch.__file__).parent
    library = f"{folder}/bridge.so"
    command = [os.environ.get("CXX") or "c++", "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-w"]
    command += ["-isystem", str(torch_folder / "include"), f"-I{figures.ROOT}", str(figures.ROOT / "engine/rank/bridge/bridge.cc"), "-o", library]
    subprocess.run([*command, f"-L{torch_folder / 'lib'}", "-lc10", "-ltorch_cpu"], check=True)
    return library


def listen(library: str) -> Callable[[bool], None]:
    """What is returned takes the listener out of torch and in."""
    enter = ctypes.CDLL(library).inductop_bridge
    enter.restype = ctypes.POINTER(ctypes.c_void_p * 7)  # abi and size, torch, cpu_count, cpu_read, device_read, fault, gloo
    door = ctypes.cast(ctypes.CFUNCTYPE(ctypes.c_void_p)(enter(1).contents[6])(), ctypes.POINTER(ctypes.c_void_p * 5)).contents
    watch = ctypes.CFUNCTYPE(None, ctypes.c_uint)(door[3])  # version, backend, has_both, watch, read
    return lambda on: watch(3 if on else 1)


def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", figures.ROOT / "engine/cli/demo/train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def operator_ns() -> float:
    import torch

    tensor = torch.zeros(8)
    begin = time.process_time_ns()
    for _ in range(2000):
        tensor.add_(1)
    return (time.process_time_ns() - begin) / 2000


def measure(args: argparse.Namespace, library: str) -> None:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    turn, train = listen(library), demo()
    model = torch.nn.parallel.DistributedDataParallel(train.Model(64, 2, 4, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
    text = train.sentences(4, 32, torch.Generator().manual_seed(0))

    def step() -> int:
        begin = time.process_time_ns()
        train.F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.process_time_ns() - begin

    rng = random.Random(1)
    logs, times, operators = [], [], []
    for pair in range(args.pairs + 2):
        first = rng.random() < 0.5
        ns: dict[bool, list[float]] = {True: [], False: []}
        each: dict[bool, list[float]] = {True: [], False: []}
        for on in (first, not first, not first, first):
            turn(on)
            step()
            each[on].append(operator_ns())
            ns[on].append(statistics.median(step() for _ in range(args.block)))
        if pair >= 2:
            logs.append(math.log(sum(ns[True]) / sum(ns[False])))
            times.append(sum(ns[False]) / 2e6)
            operators.append((sum(each[True]) - sum(each[False])) / 2)
    ratio, low, high = figures.interval(logs)
    print(f"step with gloo counted over step without: {ratio:.4f} (95 %: {low:.4f} to {high:.4f}), {args.pairs} pairs, step {statistics.median(times):.1f} ms")
    print(f"as it is counted, one second out of ten:  {1 + (ratio - 1) / 10:.4f} (95 %: {1 + (low - 1) / 10:.4f} to {1 + (high - 1) / 10:.4f})")
    print(f"an operator, more than without: {statistics.median(operators):.1f} ns")
    torch.distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--block", type=int, default=8)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        measure(args, build(folder))


if __name__ == "__main__":
    main()
