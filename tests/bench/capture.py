# SPDX-License-Identifier: Apache-2.0
"""What watching costs a cold compilation: the instructions of the same compilations plain, under inductop, and with TORCH_TRACE.

    capture.py [--backend aot_eager]      needs valgrind and a C compiler

Counted, because times of equal compilations differ by more than what is looked for, on a machine of one's own too. One process imports
torch and compiles a forward; its forks are the sides, so that all begin in the same state of memory. Each compiles a network and its
backward, without any cache: the first of its process, and one more after a reset. Two sides are plain: how far they are apart is what the
measure itself is wrong by.

In it: three steps, so that what is told at their ends counts; all threads of the process, also the one that sends, for a second more; in
the first the beginning of our core. Not in it: the engine, which is another process, and the kernel's work for any side; of inductor the
C++ compiler. The network is small and torch has done part of what it does once in a process: in a job our share is smaller.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import figures

INDUCTOP = os.environ.get("INDUCTOP") or str(figures.ROOT / "build" / "inductop")
SIDES = ("plain", "plain again", "inductop", "TORCH_TRACE")
PLAIN_CODE = {"ATEN_CPU_CAPABILITY": "default", "TORCHINDUCTOR_CPP_MARCH": ""}  # of inductor: valgrind has no AVX-512
KINDS = ("first", "another")  # of its process


def begin_plain(folder: str, hook: Any) -> None:
    pass


def begin_inductop(folder: str, hook: Any) -> None:
    """As if torch had just been imported."""
    import torch

    hook.wake().on_torch(torch, hook.session)


def begin_trace(folder: str, hook: Any) -> None:
    from torch._logging import _internal

    os.environ[_internal.TRACE_ENV_VAR] = f"{folder}/trace"
    _internal.LOG_TRACE_HANDLER = None
    _internal._init_logs()


BEGIN: dict[str, Callable[[str, Any], None]] = {"inductop": begin_inductop, "TORCH_TRACE": begin_trace}


def network() -> Any:
    from torch import nn

    return nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)) for _ in range(2)))


def compilations(name: str, folder: str, backend: str) -> None:
    import torch

    counter = ctypes.CDLL(f"{folder}/counted.so")
    for kind in KINDS:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/cache-{SIDES.index(name)}-{kind}"
        torch._dynamo.reset()
        net, x = network(), torch.randn(4, 64)
        model, optimizer = torch.compile(net, backend=backend), torch.optim.SGD(net.parameters(), 0.1)
        gc.collect()
        counter.count_begin()
        for _ in range(3):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        time.sleep(1)
        counter.count_end(f"{name}/{kind}".encode())


def job(folder: str, backend: str) -> None:
    """Imports, compiles a forward and then is all sides, at the same time: what is counted does not depend on it."""
    hook = next(finder for finder in sys.meta_path if type(finder).__name__ == "_AfterImport")
    sys.meta_path.remove(hook)  # inductop waits for torch: it is not to be there but in its own side
    import torch
    import torch._dynamo

    torch.set_num_threads(1)
    with torch.no_grad():
        torch.compile(network(), backend=backend)(torch.randn(4, 64))
    torch._dynamo.utils.clear_compilation_metrics()  # of no side
    gc.freeze()
    sides = []
    for name in SIDES:
        if not (process := os.fork()):
            try:
                BEGIN.get(name, begin_plain)(folder, hook)
                compilations(name, folder, backend)
            except BaseException as error:
                print(f"{name}: {error!r}", file=sys.stderr, flush=True)
                os._exit(1)
            sys.stdout.flush()
            if name == "inductop":
                sys.modules["inductop_agent.wake"]._at_exit()  # what is left is told
            os._exit(0)
        sides.append(process)
    sys.exit(any(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in sides))


def counts(folder: Path) -> dict[str, dict[str, int]]:
    """By side and kind, from callgrind's files."""
    found: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for file in folder.glob("counted.out.*"):
        text = file.read_text()
        name, total = re.search(r"^desc: Trigger: Client Request: (.+)/(.+)$", text, re.M), re.search(r"^totals: (\d+)$", text, re.M)
        if name and total:
            found[name[1]][name[2]] = int(total[1])
    return found


def measure(folder: Path, backend: str) -> dict[str, dict[str, int]]:
    source = figures.ROOT / "tests/bench/counted.c"
    subprocess.run([shutil.which("cc") or "gcc", "-shared", "-fPIC", "-O2", str(source), "-o", str(folder / "counted.so")], check=True)
    front = [INDUCTOP, "--headless", "--quiet", "--json", str(folder / "events"), "--"]
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/counted.out.%p"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", **PLAIN_CODE}
    out = subprocess.run(
        [*front, *valgrind, sys.executable, __file__, "--job", str(folder), "--backend", backend], env=env, capture_output=True, text=True
    )
    if out.returncode:
        sys.exit(f"{out.stderr[-4000:]}\ninductop: the job that is measured ended with {out.returncode}")
    events = [json.loads(line) for line in (folder / "events").read_text().splitlines()]
    told = sum(event["kind"] == "compile" for event in events)
    assert told == 2 * len(KINDS), f"{told} compilations were told, not {2 * len(KINDS)}: inductop did not do its work"
    assert any((folder / "trace").iterdir()), "TORCH_TRACE wrote nothing"
    return counts(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backend", default="aot_eager")
    parser.add_argument("--job")
    args = parser.parse_args()
    if args.job:
        job(args.job, args.backend)
        return
    if not shutil.which("valgrind"):
        print("valgrind is not there: not measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), args.backend)
    print(f"forward and backward compiled, {args.backend}: millions of instructions, and over plain")
    for kind in KINDS:
        plain = found["plain"][kind]
        beside = (f"{side} {found[side][kind] / plain:.4f}" for side in SIDES[1:])
        print(f"  {kind:12s}{plain / 1e6:8.1f}   {',  '.join(beside)}")
    more = {side: 100 * (found[side]["first"] / found["plain"]["first"] - 1) for side in SIDES}
    figures.tell("A3", more["inductop"], more["TORCH_TRACE"])


if __name__ == "__main__":
    main()
