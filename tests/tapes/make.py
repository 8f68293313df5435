# SPDX-License-Identifier: Apache-2.0
"""Makes tapes: those of jobs that cannot be had at will, and copies of real ones without the places they were recorded in.

    make.py FOLDER [NAME...]           straggler rank_lost compile_stuck ranks_512 (all but the last, which is large)
    make.py --check FOLDER             are those there what would be made?
    make.py --clean TAPE OUT ROOT      ROOT and home folders become /home/user/project; host names become node0

The same every time. Recorded with real jobs, by
    healthy        inductop --baseline auto --at 40:dynamic=on --at 260:dynamic=as-written,scope=regional -- torchrun
                   --nproc-per-node=2 demo/train.py --steps 500
    storm          SIZES=8,7,6,5,9,10,11,12,13,14 STEPS=120 inductop --set dynamic=off -- python tests/jobs/dynamic_history.py
    switch_failed  inductop send fullgraph=on, while inductop -- python tests/jobs/break_in_loop.py runs
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MB = 1 << 20
TORCH = "2.13.0+cpu"


class Tape:
    """Lines in the order of their time, as the engine tells them."""

    def __init__(self, name: str, ranks: int, group: str = "0/0/default") -> None:
        self.random = random.Random(name)
        self.events: list[dict[str, Any]] = []
        self.ranks, self.group, self.name = ranks, group, name
        self.job(0.004, "running")

    def tell(self, kind: str, t: float, **fields: Any) -> None:
        self.events.append({"v": 1, "kind": kind, "t": round(t, 6), **fields})

    def job(self, t: float, state: str, **fields: Any) -> None:
        command = ["torchrun", f"--nproc-per-node={self.ranks}", "train.py"]
        self.tell(
            "job", t, command=command, name=self.name, start="2026-01-05T09:00:00Z", state=state, **fields
        )

    def rank(self, t: float, rank: int, state: str, **fields: Any) -> None:
        self.tell("rank", t, rank=rank, local_rank=rank % 8, world=self.ranks, group=self.group, host=f"node{rank // 8}",
                  pid=4000 + rank, python="3.12.3", torch=TORCH, state=state, switching="live", device="cpu", **fields)  # fmt: skip

    def begin(self, t: float) -> None:
        for rank in range(self.ranks):
            self.rank(t + rank * 0.003, rank, "hooked")
            self.tell("unit", t + rank * 0.003, rank=rank, unit=0, name="Net", file="/home/user/project/train.py", line=41,
                      origin="script", target="Net")  # fmt: skip
            self.tell("variant", t + rank * 0.003, rank=rank, variant=0, label="as written", settings={})

    def compile(
        self, t: float, rank: int, ms: float, trigger: str = "first", variant: int = 0, **fields: Any
    ) -> None:
        phases = {"dynamo": 0.2 * ms, "aot": 0.3 * ms, "inductor": 0.25 * ms, "codegen": 0.15 * ms, "backend": 0.05 * ms,
                  "rest": 0.05 * ms}  # fmt: skip
        fields.setdefault("id", "0/0")
        self.tell("compile", t, rank=rank, unit=0, variant=variant, frame="forward train.py:52", trigger=trigger, ms=round(ms, 3),
                  phases={k: round(v, 3) for k, v in phases.items()}, cache={"fx_miss": 1},
                  graph={"nodes": 61, "inputs": 24, "guards": 118, "breaks": 0}, **fields)  # fmt: skip

    def step(
        self,
        t: float,
        rank: int,
        number: int,
        ms: float,
        variant: int = 0,
        why: tuple[str, ...] = (),
        **fields: Any,
    ) -> None:
        times = {} if number == 0 else {"ms": round(ms, 6), "data_ms": round(0.04 * ms, 6)}
        more = {"why": list(why)} if why else {}
        rss = (600 + 6 * rank % 40) * MB + number // 20 * 4096
        self.tell(
            "step",
            t,
            rank=rank,
            step=number,
            **times,
            **fields,
            variant=variant,
            clean=not why,
            **more,
            rss=rss,
        )

    def noisy(self, ms: float, share: float = 0.02) -> float:
        return ms * math.exp(self.random.gauss(0, share))

    def text(self) -> str:
        self.events.sort(key=lambda e: e["t"])
        return "".join(json.dumps(e, separators=(",", ":")) + "\n" for e in self.events)


def straggler() -> Tape:
    """Eight ranks; from step 60 on number 5 takes a third longer."""
    tape = Tape("straggler", 8)
    tape.begin(3.0)
    for rank in range(8):
        t = 3.2
        for number in range(110):
            ms = tape.noisy(30) * (1.35 if rank == 5 and number >= 60 else 1)
            if number == 0:
                tape.compile(t + 7.1, rank, tape.noisy(7000))
                t += 7.1
            t += ms / 1e3
            why = ("first", "compile") if number == 0 else ()
            tape.step(t, rank, number, ms, why=why, forward_ms=round(0.4 * ms, 6), backward_ms=round(0.45 * ms, 6),
                      optimizer_ms=round(0.1 * ms, 6))  # fmt: skip
    tape.tell("finding", 12.5, text="rank 5 is 1.35 times as slow as the others since step 60", action="Look at its host: node0.",
              evidence="median 40.5 ms, others 30.0 ms")  # fmt: skip
    return tape


def rank_lost() -> Tape:
    """Four ranks; number 3 is killed, the others end with an error, the job with it."""
    tape = Tape("rank_lost", 4)
    tape.begin(2.0)
    for rank in range(4):
        t = 6.0
        tape.compile(t, rank, tape.noisy(3800))
        for number in range(120 if rank < 3 else 118):
            ms = tape.noisy(50)
            t = 6.0 + number * 0.05 + 0.001 * rank
            tape.step(t, rank, number, ms, why=("first", "compile") if number == 0 else ())
    tape.rank(12.2, 3, "lost", reason="the process ended without a word: killed?")
    for rank in range(3):
        tape.rank(
            42.0 + 0.01 * rank, rank, "exited", reason="RuntimeError: connection closed by peer", exit=1
        )
    tape.job(43.0, "ended", exit=1)
    return tape


def compile_stuck() -> Tape:
    """Two ranks agree on max-autotune at step 41; the first compiles and waits, the second never comes back."""
    variant, settings = 263554677, {"mode": "max-autotune"}
    tape = Tape("compile_stuck", 2)
    tape.begin(2.0)
    for rank in range(2):
        tape.compile(5.0, rank, tape.noisy(2900))
        for number in range(41):
            tape.step(
                5.1 + number * 0.04,
                rank,
                number,
                tape.noisy(40),
                why=("first", "compile") if number == 0 else (),
            )
    common = {"id": 1, "by": "viewer"}
    asked = {**common, "from": {}, "to": settings, "variant": variant}
    tape.tell("switch", 6.52, **asked, status="proposed", tag="screen-1")
    for rank in range(2):
        tape.tell("switch", 6.56 + 0.01 * rank, rank=rank, **common, status="ready")
    tape.tell("switch", 6.58, **asked, status="committed", at=41, tag="screen-1")
    tape.tell("variant", 6.75, rank=0, variant=variant, label="max-autotune", settings=settings)
    tape.compile(21.4, 0, 14600, "variant", variant, id="0/1")
    tape.tell("problem", 96.0, what="compile", text="rank 1 compiles since 89 s; the same frame took 14.6 s on rank 0", rank=1,
              hint="It may wait for a lock of the compile cache that another job holds.")  # fmt: skip
    return tape


def ranks_512() -> Tape:
    """512 ranks on 64 nodes; one is slow, one recompiles alone, one whole node is lost."""
    tape = Tape("ranks_512", 512)
    tape.begin(4.0)
    for rank in range(512):
        tape.compile(13.0 + tape.random.random(), rank, tape.noisy(8200))
        for number in range(24):
            t, ms = 14.2 + number * 0.5 + 0.0002 * rank, tape.noisy(500 if rank != 77 else 640, 0.01)
            if rank // 8 == 40 and number > 18:
                continue
            tape.step(t, rank, number, ms, why=("first", "compile") if number == 0 else ())
    for i in range(4):
        tape.compile(17.0 + 2 * i, 300, 3100, "recompile", id=f"0/{i + 1}",
                     cause=f"0/0: tensor 'x' size mismatch at index 0. expected 64, actual {60 - i}")  # fmt: skip
    for rank in range(320, 328):
        tape.rank(24.4, rank, "lost", reason="the process ended without a word: killed?")
    tape.tell("finding", 25.0, text="rank 300 alone recompiles, 12.4 s so far", action="Its batches differ in size: drop_last=True.",
              lost_s=12.4)  # fmt: skip
    return tape


MAKERS: dict[str, Callable[[], Tape]] = {
    f.__name__: f for f in (straggler, rank_lost, compile_stuck, ranks_512)
}


def clean(tape: Path, out: Path, root: str) -> None:
    """Takes out what tells where it was recorded."""
    lines = []
    for line in tape.read_text().splitlines():
        event = json.loads(line)
        if "host" in event:
            event["host"] = "node0"
        text = json.dumps(event, separators=(",", ":")).replace(root, "/home/user/project")
        lines.append(re.sub(r'/[^"\s]*/lib/python', "/home/user/venv/lib/python", text))
    out.write_text("\n".join(lines) + "\n")


def main() -> int:
    if len(sys.argv) == 5 and sys.argv[1] == "--clean":
        clean(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
        return 0
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    small = [name for name in MAKERS if name != "ranks_512"]
    if sys.argv[1] == "--check":
        other = [n for n in small if (Path(sys.argv[2]) / f"{n}.jsonl").read_text() != MAKERS[n]().text()]
        print(f"not what make.py makes: {', '.join(other)}" if other else "the tapes are what make.py makes")
        return 1 if other else 0
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or small:
        (folder / f"{name}.jsonl").write_text(MAKERS[name]().text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
