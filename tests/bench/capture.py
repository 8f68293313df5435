# SPDX-License-Identifier: Apache-2.0
"""What watching costs a cold compilation: the same job plain, under inductop, and with TORCH_TRACE, in turn, each with a fresh cache folder.

    capture.py [--rounds 8] [--backend aot_eager]     prints ratios of the first step's time (forward and backward are compiled in it), with
                                                      95 % intervals

With inductor most of that time is the C++ compiler's, which differs from run to run by more than what is looked for; so the backend is
aot_eager, by which the same is traced, decided and told: its ratios are upper bounds for inductor's. With --backend inductor the C++
header that it compiles once for all is there beforehand.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import figures

INDUCTOP = os.environ.get("INDUCTOP") or str(figures.ROOT / "build" / "inductop")
SIDES = ("plain", "inductop", "TORCH_TRACE")


def job(what: str, backend: str) -> None:
    """The first training step of a small transformer; prints what it took, in seconds. "other": of something else, for what is shared."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True) for _ in range(4)]
    net = nn.Sequential(*blocks, nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8)) if what == "own" else nn.Linear(64, 1)
    model, optimizer = torch.compile(net, backend=backend), torch.optim.SGD(net.parameters(), 0.1)
    x = torch.randn(4, 16, 64)
    begin = time.perf_counter()
    model(x).square().mean().backward()
    optimizer.step()
    print("took", time.perf_counter() - begin, flush=True)


def run(side: str, template: Path, backend: str, what: str = "own") -> float:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache" if what == "own" else template
        if what == "own":
            shutil.copytree(template, cache)
        env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--job", what, "--backend", backend]
        if side == "inductop":
            command = [INDUCTOP, "--headless", "--quiet", "--json", os.devnull, "--", *command]
        if side == "TORCH_TRACE":
            env["TORCH_TRACE"] = f"{folder}/trace"
        out = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
        return float(next(line for line in out.splitlines() if line.startswith("took ")).split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--backend", default="aot_eager")
    parser.add_argument("--job")
    args = parser.parse_args()
    if args.job:
        job(args.job, args.backend)
        return
    took: dict[str, list[float]] = {side: [] for side in SIDES}
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as template:
        run("plain", Path(template), args.backend, "other")
        for _ in range(args.rounds):
            for side in rng.sample(SIDES, len(SIDES)):
                took[side].append(run(side, Path(template), args.backend))
    print(f"a cold first step, {args.backend}, plain: {statistics.median(took['plain']):.2f} s, {args.rounds} rounds")
    more = {}
    for side in SIDES[1:]:
        ratio, low, high = figures.interval([math.log(b / a) for a, b in zip(took["plain"], took[side], strict=True)])
        more[side] = ratio - 1
        print(f"{side + ' over plain':24s} {ratio:.4f} (95 %: {low:.4f} to {high:.4f})")
    figures.tell("A3", 100 * more["inductop"], 100 * more["TORCH_TRACE"])


if __name__ == "__main__":
    main()
