"""Do the logs of a stress run add up?

    verify.py DIR...        one line a run, exit 1 on any fault
    verify.py --run STRESS [OPTIONS]    runs it in a fresh folder first
    verify.py --rules STRESS_WITHOUT [OPTIONS]    takes each rule out in turn: every run must show faults, but the first, which
                                                  has all rules

What must hold: an id is switched at one step or aborted, by all; steps grow with ids; every rank that was there at a step
switched at it; entries of a schedule lie at the same steps everywhere, up to the step of a newer id, which ends it on all ranks; a
rank comes with what is in force; no wait at a gate is longer than its bound.
"""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

BOUND_MS = 50.0  # GATE_WAIT_NS
SLACK_MS = 40.0  # a loaded machine wakes up late
DONE = 1  # AGREEMENT_DONE


@dataclass
class Life:
    """One process that was a rank."""

    name: str
    joined: int | None = None
    in_force: int = 0
    switches: list[tuple[int, int, int]] = field(default_factory=list)  # id, step, index
    voted: set[int] = field(default_factory=set)
    dropped: dict[int, int] = field(default_factory=dict)  # id of a schedule that was ended, step
    done: int = 0
    begun: int = 0
    status: int = 0
    left_ns: int = 0


@dataclass
class Logs:
    lives: list[Life] = field(default_factory=list)
    aborted: dict[int, list[str]] = field(default_factory=lambda: collections.defaultdict(list))
    asked_ns: dict[int, int] = field(default_factory=dict)
    waits_ms: list[float] = field(default_factory=list)
    engine: dict[int, tuple[int, int]] = field(default_factory=dict)  # id: result, step
    agreed_ms: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_stops(folder: Path) -> dict[int, list[tuple[int, int]]]:
    stops = collections.defaultdict(list)
    for line in (folder / "stops").read_text().splitlines():
        pid, begin, end = map(int, line.split())
        stops[pid].append((begin, end))
    return stops


def read_life(path: Path, stops: list[tuple[int, int]], logs: Logs) -> None:
    life = Life(path.name)
    for line in path.read_text().splitlines():
        kind, *rest = line.split()
        if kind == "E":
            logs.faults.append(f"{life.name}: {line}")
            continue
        n = [int(x) for x in rest]
        if kind == "J":
            life.joined, life.in_force = n
        elif kind == "S":
            life.switches.append((n[0], n[1], n[2]))
        elif kind == "V":
            life.voted.add(n[0])
            logs.asked_ns[n[0]] = min(n[1], logs.asked_ns.get(n[0], n[1]))
        elif kind == "L":
            life.left_ns = n[1]
        elif kind == "A":
            logs.aborted[n[0]].append(life.name)
        elif kind == "D":
            life.dropped[n[0]] = n[1]
        elif kind == "M":
            logs.faults.append(f"{life.name} missed {n[0]} at {n[1]}")
        elif kind == "W":
            begin, end = n[1], n[2]
            asleep = sum(max(0, min(end, y) - max(begin, x)) for x, y in stops)
            logs.waits_ms.append((end - begin - asleep) / 1e6)
        elif kind == "X":
            life.done, life.begun, life.status = n[0], n[1], n[2]
            life.left_ns = life.left_ns or n[3]
    if life.joined is not None:
        logs.lives.append(life)


def read_logs(folder: Path) -> Logs:
    logs = Logs()
    stops = read_stops(folder)
    for path in sorted(folder.glob("rank.*")):
        read_life(path, stops[int(path.name.rsplit(".", 1)[1])], logs)
    for line in (folder / "engine").read_text().splitlines():
        _, id, result, step, took = line.split()
        if int(id) in logs.engine:
            logs.faults.append(f"id {id} was given twice")
        logs.engine[int(id)] = (int(result), int(step))
        if int(result) == DONE:
            logs.agreed_ms.append(int(took) / 1e6)
    return logs


def steps_of_ids(logs: Logs) -> list[tuple[int, int]]:
    """The step of each id, from all who know it; faults when they disagree."""
    at: dict[int, dict[int, list[str]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    entries: dict[tuple[int, int], set[int]] = collections.defaultdict(set)
    for life in logs.lives:
        for id, step, index in life.switches:
            entries[id, index].add(step)
            if index == 0:
                at[id][step].append(life.name)
    for id, (result, step) in logs.engine.items():
        if result == DONE:
            at[id][step].append("engine")
    for id, steps in at.items():
        if len(steps) > 1:
            logs.faults.append(f"SPLIT: id {id} at {dict(steps)}")
        if id in logs.aborted:
            logs.faults.append(f"SPLIT: id {id} switched at {dict(steps)}, aborted by {logs.aborted[id]}")
        if id in logs.engine and logs.engine[id][0] != DONE:
            logs.faults.append(f"id {id} was switched, the engine says result {logs.engine[id][0]}")
    for (id, index), steps in entries.items():
        if len(steps) > 1:
            logs.faults.append(f"SPLIT: entry {index} of id {id} at {sorted(steps)}")
    order = sorted((id, min(steps)) for id, steps in at.items())
    check_drops(dict(order), logs)
    return order


def check_drops(at: dict[int, int], logs: Logs) -> None:
    """What ends a schedule is the switch of a newer id, at its step."""
    starts = {step: id for id, step in at.items()}
    for life in logs.lives:
        for id, step in life.dropped.items():
            if starts.get(step, 0) <= id:
                logs.faults.append(f"SPLIT: {life.name} ended the schedule of id {id} at {step}, where nothing newer begins")


def check_order(order: list[tuple[int, int]], logs: Logs) -> None:
    for (a, s), (b, t) in zip(order, order[1:], strict=False):
        if s >= t:
            logs.faults.append(f"ids {a} and {b} at steps {s} and {t}")


def check_life(life: Life, order: list[tuple[int, int]], applied: set[int], logs: Logs) -> None:
    at_birth = [id for id, step in order if step <= life.joined]
    if life.in_force != (at_birth[-1] if at_birth else 0):
        logs.faults.append(f"{life.name} came at {life.joined} with {life.in_force}, in force was {at_birth[-1:]}")

    def had_gone(id: int) -> bool:
        """It had left before anybody was asked, though it may have been ahead of the others."""
        return id not in life.voted and life.left_ns < logs.asked_ns.get(id, 0)

    must = [(id, step) for id, step in order if life.joined < step <= life.done and not had_gone(id)]
    did = [(id, step) for id, step, index in life.switches if index == 0 and step <= life.done]
    for id, step in sorted(set(must) ^ set(did)):
        kind = "SPLIT: " if id in applied else ""
        logs.faults.append(f"{kind}{life.name}, steps {life.joined} to {life.done}, differs at step {step}, id {id}")
    if any(step > life.begun for _, step, _ in life.switches):
        logs.faults.append(f"{life.name} switched behind its end")
    for id, step in did:
        for index, offset in ((1, 2), (2, 5)) if id % 8 == 0 else ():
            due = step + offset
            if due >= life.dropped.get(id, due + 1):
                continue
            if due <= life.done and (id, step + offset, index) not in life.switches:
                logs.faults.append(f"{life.name} left out entry {index} of id {id}, due at {step + offset}")
    if life.status not in (0, 9):
        logs.faults.append(f"{life.name} ended with status {life.status}")


def quantile(values: list[float], q: float) -> float:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))] if values else 0.0


def verify(folder: Path) -> bool:
    logs = read_logs(folder)
    order = steps_of_ids(logs)
    check_order(order, logs)
    applied = {id for life in logs.lives for id, _, _ in life.switches}
    for life in logs.lives:
        check_life(life, order, applied, logs)
    over = [wait for wait in logs.waits_ms if wait > BOUND_MS + SLACK_MS]
    if over:
        logs.faults.append(f"waits over the bound: {sorted(over)[-5:]} ms")
    switches = sum(len(life.switches) for life in logs.lives)
    splits = sum(fault.startswith("SPLIT") for fault in logs.faults)
    print(
        f"{len(order)} committed, {switches} switches in {len(logs.lives)} lives, {len(logs.aborted)} aborts met at a gate, "
        f"{len(logs.waits_ms)} waits (median {quantile(logs.waits_ms, 0.5):.2f} ms, longest {quantile(logs.waits_ms, 1):.1f} ms), "
        f"agreement median {quantile(logs.agreed_ms, 0.5):.2f} ms; {splits} splits, {len(logs.faults)} faults"
    )
    for fault in logs.faults[:8]:
        print("    FAULT:", fault)
    return not logs.faults and bool(order)


def run(command: list[str]) -> int:
    folder = Path(tempfile.mkdtemp(prefix="inductop-stress-"))
    code = subprocess.run([command[0], "-d", str(folder), *command[1:]]).returncode
    good = verify(folder) and code == 0
    if good:
        shutil.rmtree(folder)
    else:
        print(f"    the logs are in {folder}")
    return 0 if good else 1


def prove_rules(command: list[str]) -> int:
    needless = []
    for rule in ("none", "recheck", "settle", "swap", "votes", "abort", "ids", "join"):
        print(f"without {rule}:")
        os.environ["INDUCTOP_WITHOUT"] = rule
        if (run(command) == 0) != (rule == "none"):
            needless.append(rule)
    print(f"not as expected: {', '.join(needless) or 'none'}")
    return 1 if needless else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rules"]:
        sys.exit(prove_rules(sys.argv[2:]))
    if sys.argv[1:2] == ["--run"]:
        sys.exit(run(sys.argv[2:]))
    sys.exit(0 if all([verify(Path(folder)) for folder in sys.argv[1:]]) else 1)
