# SPDX-License-Identifier: Apache-2.0
"""Tapes for golden screens: what the engine would have told of jobs in which something is to be seen. The same bytes every time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]
GROUP = "run/0/default"
MB = 1024 * 1024
WRITTEN, DYNAMIC, REGIONAL, EAGER, OWN = 0, 1001, 1002, 1003, 1004
SETTINGS: dict[int, dict[str, str]] = {WRITTEN: {}, DYNAMIC: {"dynamic": "on"}, REGIONAL: {"scope": "regional"}, EAGER: {"scope": "eager"},
                                      OWN: {"dynamic": "on", "Discriminator/dynamic": "off"}}  # fmt: skip
LABELS = {WRITTEN: "as written", DYNAMIC: "dynamic=on", REGIONAL: "regional", EAGER: "eager", OWN: "dynamic=on Discriminator/dynamic=off"}
FRAME = "forward train.py:41"


class Noise:
    """Small and always the same."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def __call__(self, part: float) -> float:
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return 1 + part * (self.state / 2**32 - 0.5)


class Tape:
    def __init__(self, ranks: int, device: str = "cpu") -> None:
        self.ranks, self.events, self.noise = ranks, [], Noise(7)  # type: ignore[var-annotated]
        self.t = [2.0] * ranks
        self.step_number = [0] * ranks
        self.now = WRITTEN
        self.device = device
        self.peaks: dict[int, int] = {}  # MB of torch's CPU allocator in a step under a variant; empty: not counted
        self.add(0, "job", command=["torchrun", f"--nproc-per-node={ranks}", "train.py"], name="train", start="2026-01-01T00:00:00Z",
                 state="running")  # fmt: skip
        for rank in range(ranks):
            self.rank_state(rank, "hooked")
            self.add(2, "unit", rank, unit=0, name="Net", file="train.py", line=12, origin="script", target="Net")
            self.variant(rank, WRITTEN)

    def add(self, t: float, kind: str, rank: int | None = None, **fields: Any) -> None:
        event: Event = {"v": 1, "kind": kind, "t": round(t, 6)}
        if rank is not None:
            event["rank"] = rank
        self.events.append({**event, **fields})

    def rank_state(self, rank: int, state: str, **more: Any) -> None:
        self.add(self.t[rank], "rank", rank, world=self.ranks, local_rank=rank, group=GROUP, restart=0, host="node1", pid=4000 + rank,
                 python="3.11.7", torch="2.13.0+cpu", device=self.device, state=state, switching="live", **more)  # fmt: skip

    def variant(self, rank: int, variant: int) -> None:
        self.add(self.t[rank], "variant", rank, variant=variant, label=LABELS[variant], settings=SETTINGS[variant])

    def step(self, rank: int, ms: float, *why: str) -> None:
        number = self.step_number[rank]
        self.t[rank] += ms / 1000
        more: Event = {"ms": round(ms, 3)} if number else {}
        if why:
            more["why"] = list(why)
        forward, backward, optimizer = 0.35 * ms, 0.5 * ms, 0.08 * ms
        if self.device != "cpu":
            more |= {"device_bytes": (9000 + rank * 3) * MB, "device_peak": 11000 * MB}
        if self.peaks:
            more |= {"cpu_bytes": 100 * MB, "cpu_peak": (self.peaks[self.now] + rank) * MB, "allocs": 467,
                     "own_ms": 0.0012 if number % 40 else 0.25}  # fmt: skip
        self.add(self.t[rank], "step", rank, step=number, variant=self.now, clean=not why, data_ms=round(0.03 * ms, 3),
                 forward_ms=round(forward, 3), backward_ms=round(backward, 3), optimizer_ms=round(optimizer, 3),
                 rss=(612 - rank % 7) * MB + number * 4096, **more)  # fmt: skip
        self.step_number[rank] += 1

    def steps(self, count: int, ms: float, slow: dict[int, float] | None = None, only: list[int] | None = None) -> None:
        for _ in range(count):
            for rank in only if only is not None else range(self.ranks):
                self.step(rank, ms * self.noise(0.06) * (slow or {}).get(rank, 1))

    def compile(self, rank: int, ms: float, trigger: str, number: int = 0, **more: Any) -> None:
        phases = {"dynamo": 0.2 * ms, "aot": 0.25 * ms, "inductor": 0.35 * ms, "codegen": 0.1 * ms, "backend": 0.07 * ms, "rest": 0.03 * ms}
        self.add(self.t[rank] + ms / 1000, "compile", rank, unit=0, variant=self.now, id=f"0/{number}", frame=FRAME, trigger=trigger,
                 ms=round(ms, 3), phases={k: round(v, 3) for k, v in phases.items()}, cache={"fx_miss": 1},
                 graph={"nodes": 41, "inputs": 21, "guards": 231, "guard_us": 148}, **more)  # fmt: skip

    def first(self) -> None:
        for rank in range(self.ranks):
            self.compile(rank, 13400 * self.noise(0.05), "first")
            self.step(rank, 13900, "first", "compile")

    def recompile(self, was: int, now: int, number: int) -> None:
        for rank in range(self.ranks):
            self.compile(rank, 4100 * self.noise(0.05), "recompile", number,
                         cause=f"0/{number - 1}: tensor 'x' size mismatch at index 0. expected {was}, actual {now}",
                         cause_id="size", words=f"size of x[0]: {was}, now {now}", source="x[0]", expected=str(was), seen=str(now),
                         remedy="One dynamic version serves all sizes: dynamic=on. Or keep the size: drop_last=True, padding.",
                         file="/home/user/train.py", line=41,
                         limits={"entries": number + 1, "limit": 8, "total": number + 1, "accumulated": 256})  # fmt: skip
            self.step(rank, 4140, "compile")

    def switch(self, number: int, to: int, by: str = "viewer", compile_ms: float = 0) -> None:
        at, before = max(self.step_number) + 3, self.now
        told = {"id": number, "by": by, "from": SETTINGS[before], "to": SETTINGS[to], "variant": to}
        t = max(self.t)
        self.add(t, "switch", **told, status="proposed")
        for rank in range(self.ranks):
            self.add(t + 0.01, "switch", rank, **told, status="ready")
        self.add(t + 0.02, "switch", **told, status="committed", at=at)
        self.steps(3, 31.9)
        self.now = to
        for rank in range(self.ranks):
            self.variant(rank, to)
            if compile_ms:
                self.compile(rank, compile_ms, "variant", number)
            self.step(rank, 31.9 + compile_ms, *(("switch", "compile") if compile_ms else ("switch",)))
            self.add(self.t[rank], "switch", rank, **told, status="applied", at=at, ran={"Net": "variant"}, swap_ms=0.06,
                     lost_ms=round(compile_ms, 3))  # fmt: skip
        self.add(max(self.t), "switch", **told, status="applied", at=at)

    def speedup(self, variant: int, ratio: float, pairs: int = 16, half: float = 0.02, **more: Any) -> None:
        verdict = "tie" if abs(ratio - 1) < 0.008 else "faster" if ratio > 1 else "slower"
        for rank in range(self.ranks):
            self.add(max(self.t), "speedup", rank, variant=variant, ratio=ratio + 0.004 * rank, low=ratio - half + 0.004 * rank,
                     high=ratio + half + 0.004 * rank, pairs=pairs, verdict=verdict, **more)  # fmt: skip

    def write(self, path: Path) -> Path:
        ordered = sorted(self.events, key=lambda event: event["t"])
        path.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in ordered))
        return path


def healthy() -> Tape:
    tape = Tape(2)
    tape.first()
    tape.steps(100, 38.0)
    tape.speedup(WRITTEN, 1.13)
    tape.switch(1, REGIONAL, compile_ms=2900)
    tape.steps(80, 33.5)
    tape.speedup(REGIONAL, 1.29, pairs=12, half=0.04)
    tape.switch(2, DYNAMIC, compile_ms=13100)
    tape.steps(120, 31.9)
    tape.speedup(DYNAMIC, 1.34)
    return tape


def compared() -> Tape:
    """What runs was compared with eager, and with other settings: slower than one, no different from another."""
    tape = healthy()
    tape.speedup(DYNAMIC, 0.94, pairs=6, against=WRITTEN, within=0.085, phases={"forward": {"ratio": 0.91, "low": 0.88, "high": 0.93}})
    tape.steps(60, 31.9)
    tape.speedup(REGIONAL, 1.002, pairs=10, half=0.005, against=WRITTEN, within=0.0075)
    told = {"id": 9, "by": "baseline", "from": SETTINGS[DYNAMIC], "to": SETTINGS[DYNAMIC], "variant": DYNAMIC, "against": "regional"}
    for rank in range(2):
        tape.add(max(tape.t), "switch", rank, **told, status="ready")
    tape.add(max(tape.t), "switch", **told, status="committed", at=max(tape.step_number) + 2)
    tape.steps(20, 31.9)
    return tape


def storm() -> Tape:
    tape = Tape(2)
    tape.first()
    for epoch in range(6):
        tape.steps(40, 31.9)
        tape.recompile(32, 8 + epoch, epoch + 1)
    for rank in range(2):
        tape.add(tape.t[rank], "break", rank, unit=0, frame="forward", file="train.py", line=57, reason="Unsupported builtin: print()",
                 code="GB0059", count=3, effect="split", runs=2, remedy="Avoid calling builtin `print`.",
                 explanation="Dynamo does not know how to trace builtin operator `print`.", **{"class": "Unsupported builtin"})  # fmt: skip
        tape.add(tape.t[rank], "break", rank, unit=0, frame="forward", file="train.py", line=63, reason="Unsupported context manager",
                 code="GB0142", count=1, effect="eager", framework=True, inside="/usr/lib/python3/site-packages/lib/layers.py:12")  # fmt: skip
        tape.add(tape.t[rank], "break", rank, reason="split at a bucket of DDP, as intended", count=3, effect="ddp")
    tape.add(max(tape.t), "finding", text="recompiles on the last batch of every epoch, 24.6 s so far",
             action="drop_last=True, or dynamic on (d)", lost_s=24.6)  # fmt: skip
    tape.steps(20, 31.9)
    return tape


def straggler() -> Tape:
    tape = Tape(8, device="cuda")
    tape.first()
    tape.steps(60, 31.9, slow={5: 1.7, 2: 1.2})
    return tape


def collectives() -> Tape:
    """Rank 3 is late at every collective: the others wait for it."""
    tape = Tape(4, device="cuda")
    tape.first()
    for second in range(3):
        tape.steps(30, 31.9)
        for rank, ms in enumerate((5.2, 4.9, 5.1, 1.3)):
            timed: Event = {"timed": 240, "timed_ms": ms * 20} if second == 1 else {}
            of = {"count": 360, "bytes": 30 * 48 * MB, **timed}
            tape.add(tape.t[rank], "collective", rank, step=tape.step_number[rank] - 1, steps=30, host_ms=3.6, by={"AllReduce": of},
                     comms=2, ranks=4, captured=24, api=6, dropped=0, strange=0, **of)  # fmt: skip
    return tape


def lost() -> Tape:
    tape = Tape(4)
    tape.first()
    tape.steps(50, 31.9)
    tape.rank_state(2, "lost", reason="connection lost, the process is gone")
    tape.steps(2, 31.9, only=[0, 1, 3])
    tape.add(max(tape.t) + 1, "problem", 2, what="rank", text="rank 2 went away without an exit code",
             hint="Its log says why, or dmesg when the kernel killed it.")  # fmt: skip
    return tape


def stuck() -> Tape:
    """A change is under way and one rank has not answered, it compiles; the others wait."""
    tape = Tape(4)
    tape.first()
    tape.steps(50, 31.9)
    told = {"id": 1, "by": "viewer", "from": {}, "to": SETTINGS[DYNAMIC], "variant": DYNAMIC}
    t = max(tape.t)
    tape.add(t, "switch", **told, status="proposed")
    for rank in (0, 1, 3):
        tape.add(t + 0.01, "switch", rank, **told, status="ready")
    tape.add(t + 0.01, "compiling", 2, state="begin", id="0/1", unit=0, part="forward", variant=0)
    tape.add(t + 0.5, "compiling", 2, state="phase", phase="backend", id="0/1", unit=0, part="forward", variant=0)
    tape.steps(30, 31.9, only=[0, 1, 3])
    return tape


def alone() -> Tape:
    """One of eight ranks meets a new size and compiles for it, the others wait in a collective; what the engine finds then."""
    tape = Tape(8)
    tape.first()
    tape.steps(50, 31.9)
    t, why = max(tape.t), "size of x[0]: 32, now 8"
    tape.add(t + 0.01, "compiling", 3, state="begin", id="0/1", unit=0, part="forward", variant=0, words=why)
    tape.add(t + 1.02, "finding", 3, rule="waiting", subject=GROUP, text=f"rank 3 alone compiles Net, forward again since 1 s: {why}; 7 ranks wait",
             action="Only this rank met something new: give all ranks the same shapes, or a longer time-out for collectives",
             evidence="1 of 8 ranks compile, at step 50", lost_s=1.01)  # fmt: skip
    return tape


def failed() -> Tape:
    tape = Tape(2)
    tape.first()
    tape.steps(40, 31.9)
    told = {"id": 1, "by": "viewer", "from": {}, "to": {"fullgraph": "on"}, "variant": 77}
    t = max(tape.t)
    tape.add(t, "switch", **told, status="proposed")
    tape.add(t + 0.02, "switch", **told, status="committed", at=tape.step_number[0] + 2)
    tape.steps(3, 31.9)
    why = {"reason": "graph break: call to print()", "file": "train.py", "line": 57}
    for rank in range(2):
        tape.add(max(tape.t), "switch", rank, **told, status="failed", at=tape.step_number[0] - 1, **why)
    tape.add(max(tape.t), "switch", **told, status="failed", at=tape.step_number[0] - 1, **why)
    tape.steps(20, 31.9)
    return tape


def memory() -> Tape:
    """Torch's own figures: of rank 0 from the start on, of rank 1 since its library came; compiled needs less than eager. And compilers."""
    tape = Tape(2)
    for rank, since in enumerate(({}, {"since": 76})):
        tape.add(2, "bridge", rank, state="counting", library="/cache/bridge.so", **since)
    tape.peaks = {WRITTEN: 290, EAGER: 400, DYNAMIC: 300}
    tape.first()
    for rank in range(2):
        tape.add(tape.t[rank], "compilers", rank, cpu_ms=11400 + rank * 30, processes=3, rss=309 * MB, rss_peak=1064 * MB)
    tape.steps(40, 38.0)
    tape.switch(1, EAGER)
    tape.steps(20, 45.0)
    tape.switch(2, DYNAMIC, compile_ms=9100)
    tape.steps(40, 31.9)
    return tape


def many() -> Tape:
    tape = Tape(512)
    tape.first()
    tape.steps(12, 31.9, slow={41: 1.7, 138: 1.2, 235: 1.7, 500: 1.08})
    return tape


def output() -> Tape:
    tape = healthy()
    lines = ("[rank0] \x1b[32mepoch 3\x1b[0m loss 2.31", "[rank1] epoch 3 loss 2.29", "\x1b[2J\x1b]0;title\x07[rank0] caf\u00e9 \u6f22\u5b57")
    for number, line in enumerate(lines):
        tape.add(max(tape.t) + number / 100, "output", stream="stdout", text=line + "\n")
    return tape


def units() -> Tape:
    """Two models, compiled each by itself; one has a setting of its own."""
    tape = Tape(2)
    for rank in range(2):
        tape.add(2, "unit", rank, unit=1, name="Discriminator", file="train.py", line=14, origin="script", target="Discriminator")
    tape.first()
    tape.steps(30, 31.9)
    tape.switch(1, OWN, compile_ms=900)
    tape.steps(20, 31.9)
    return tape


def active() -> Tape:
    """Is it on: a whole of blocks that is, a unit that reached its limit, one that nobody calls."""
    tape = Tape(2)
    settings = {"cudagraphs": "n/a: no CUDA device", "shape_padding": "n/a: no effect on CPU", "autotune": "off"}
    limit = "recompile_limit was reached in forward train.py:41: what is new to it runs eager since step 9"
    bypassed = "its code was never entered, yet its parameters are trained"
    where = {"file": "train.py", "origin": "script"}
    for rank in range(2):
        tape.add(2, "unit", rank, unit=1, name="Block", line=30, target="Block", **where)
        tape.add(2, "unit", rank, unit=2, name="Block", line=30, target="Block", whole=1, **where)
        tape.add(2, "unit", rank, unit=3, name="Head", line=33, target="Head", **where)
    tape.first()
    tape.steps(20, 31.9)
    for rank in range(2):
        tape.add(max(tape.t), "active", rank, unit=0, name="Net", units=1, state="limit", why=limit, since=9, variant=WRITTEN, looked=12, calls=12,
                 compiled=7, entered=7, lookup_us=412.0, ran=WRITTEN, ids=["0/7"], skipped=0, limited=1, trouble=f"is compiled no further: {limit}",
                 frames=[{"frame": FRAME, "state": "limit", "why": "recompile_limit", "step": 9}], settings={**settings, "dynamic": "static"})  # fmt: skip
        tape.add(max(tape.t), "active", rank, unit=1, name="Block", units=2, state="on", since=1, variant=WRITTEN, looked=12, calls=24, compiled=24,
                 entered=24, ran=WRITTEN, ids=["1/0"], skipped=0, limited=0, frames=[{"frame": "forward train.py:22", "state": "compiled", "step": 0}],
                 settings={**settings, "dynamic": "symbolic: size 0 of x", "verify": "same: 1 graph, error 3e-07"})  # fmt: skip
        tape.add(max(tape.t), "active", rank, unit=3, name="Head", units=1, state="bypassed", why=bypassed, since=2, variant=WRITTEN, looked=12,
                 calls=0, compiled=0, entered=0, skipped=0, limited=0, trouble=f"is compiled for nothing: {bypassed}")  # fmt: skip
    tape.steps(10, 31.9)
    return tape


def empty() -> Tape:
    tape = Tape(0)
    return tape


TAPES: dict[str, Callable[[], Tape]] = {f.__name__: f for f in (healthy, compared, storm, straggler, collectives, lost, stuck, alone, failed, memory, many,
                                                                output, units, active, empty)}  # fmt: skip


def write_all(folder: Path) -> Iterator[tuple[str, Path]]:
    for name, make in TAPES.items():
        yield name, make().write(folder / f"{name}.jsonl")
