# SPDX-License-Identifier: Apache-2.0
"""What inductop costs a training step: the same job with and without it, in turn.

    step_ratio.py [--pairs 100] [--block 20]     prints ratios of step times, with their 95 % intervals, and the work of the hook alone

Processes, plain ones and one under inductop, take turns block by block in random order, so that all see the same machine; while one
runs the others wait. Each block gives its median step time, each pair a log ratio; the interval is that of their trimmed mean. Two equal
processes differ by some tenths of a percent for as long as they live (where their memory lies); what inductop does in a step is told
apart from that by taking its hook out and in again within one process, in turn.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import figures


def job(go: str, done: str, block: int) -> None:
    """Runs a block of steps for every line that comes, answers with their times in nanoseconds."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU()) for _ in range(12)])
    model = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(160, 256), torch.randn(160, 256)

    def step() -> int:
        begin = time.perf_counter_ns()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter_ns() - begin

    from torch.optim.optimizer import _global_optimizer_post_hooks as hooks

    for _ in range(30):
        step()
    with open(go) as asks, open(done, "w", buffering=1) as answers:
        for ask in asks:
            if ask.strip() == "hook":
                answers.write(f"{hook_ns(optimizer)}\n")
                continue
            if ask.strip() == "profiled":
                with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
                    answers.write(" ".join(str(step()) for _ in range(block)) + "\n")
                continue
            kept = dict(hooks)
            if ask.strip() == "unhooked":
                hooks.clear()
            step()
            answers.write(" ".join(str(step()) for _ in range(block)) + "\n")
            hooks.update(kept)


def hook_ns(optimizer) -> float:
    """Median cost of one call of the global post hooks, which is all that runs of us in a step with nothing pending."""
    from torch.optim import optimizer as module

    hooks = list(module._global_optimizer_post_hooks.values())
    times = []
    for _ in range(20):
        begin = time.perf_counter_ns()
        for _ in range(1000):
            for hook in hooks:
                hook(optimizer, (), {})
        times.append((time.perf_counter_ns() - begin) / 1000)
    return statistics.median(times)


class Side:
    def __init__(self, folder: Path, name: str, front: list[str], block: int) -> None:
        self.go, self.done = str(folder / f"{name}.go"), str(folder / f"{name}.done")
        os.mkfifo(self.go)
        os.mkfifo(self.done)
        command = [*front, sys.executable, __file__, "--job", self.go, self.done, "--block", str(block)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.asks = open(self.go, "w", buffering=1)  # noqa: SIM115
        self.answers = open(self.done)  # noqa: SIM115

    def ask(self, what: str) -> list[float]:
        self.asks.write(what + "\n")
        return [float(word) for word in self.answers.readline().split()]

    def end(self) -> None:
        self.asks.close()
        self.answers.close()
        self.process.wait(timeout=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--block", type=int, default=20)
    parser.add_argument("--job", nargs=2)
    args = parser.parse_args()
    if args.job:
        job(*args.job, args.block)
        return
    program = os.environ.get("INDUCTOP", str(figures.ROOT / "build" / "inductop"))
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        sides = {
            "plain": Side(Path(folder), "plain", [], args.block),
            "inductop": Side(Path(folder), "inductop", [program, "--quiet", "--json", os.devnull, "--"], args.block),
            "again": Side(Path(folder), "again", [], args.block),
        }
        logs, same, inside, plain_ms = [], [], [], []
        rng = random.Random(1)
        blocks = [("plain", "block"), ("inductop", "block"), ("inductop", "unhooked"), ("again", "block")]
        for _ in range(args.pairs):
            order = list(blocks)
            rng.shuffle(order)
            ms = {block: statistics.median(sides[block[0]].ask(block[1])) / 1e6 for block in order}
            logs.append(math.log(ms["inductop", "block"] / ms["plain", "block"]))
            same.append(math.log(ms["again", "block"] / ms["plain", "block"]))
            inside.append(math.log(ms["inductop", "block"] / ms["inductop", "unhooked"]))
            plain_ms.append(ms["plain", "block"])
        hook = sides["inductop"].ask("hook")[0]
        profiled = [statistics.median(sides["again"].ask("profiled")) / 1e6 - statistics.median(sides["again"].ask("block")) / 1e6 for _ in range(9)]
        for side in sides.values():
            side.end()
    ratio, low, high = figures.interval(inside)
    print(f"step with our hook over step without:  {ratio:.4f} (95 %: {low:.4f} to {high:.4f}), in one process, {args.pairs} pairs")
    ratio, low, high = figures.interval(logs)
    print(f"step with inductop over step without: {ratio:.4f} (95 %: {low:.4f} to {high:.4f}), {args.pairs} pairs, step {statistics.median(plain_ms):.1f} ms")
    ratio, low, high = figures.interval(same)
    print(f"step without over step without:       {ratio:.4f} (95 %: {low:.4f} to {high:.4f}): what two equal processes differ by")
    print(f"work of the hook in one step, nothing pending: {hook:.0f} ns")
    print(f"torch.profiler around the same step: {statistics.median(profiled):.2f} ms more")
    figures.tell("A1", hook / 1e3, 1e3 * statistics.median(profiled))


if __name__ == "__main__":
    main()
