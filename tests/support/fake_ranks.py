# SPDX-License-Identifier: Apache-2.0
"""A job whose ranks only talk: any number of them, in one process, without torch. Runs under inductop like any other.

    fake_ranks.py [--ranks N] [--rate HZ] [--lines HZ] [--events] [--hard] [--stuck]

Each rank takes HZ steps a second and says so in the engine's own language (engine/wire); their figures differ a little. --lines: so
many lines of output a second. --events: now and then a compilation, a graph break, a finding. --hard: interrupts, quits and stops
from the terminal are ignored, so that keys alone do not end it. --stuck: after a while of steps they all compile, since long ago,
and end some seconds later. Ends by itself when the file STOP of the environment is there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import struct
import sys
import time
from typing import Any

HELLO, EVENT, STEPS, BEAT, STATE = 1, 2, 3, 5, 6
STEP = struct.Struct("<12Q6I")
BEAT_RECORD = struct.Struct("<7Q4I")
HAS_PHASES, HAS_RSS = 15, 32
BEAT_S, STUCK_S, MB = 0.1, 3, 1 << 20
LINES = ("\033[32mepoch %d\033[0m loss 2.31", "\r step %d  42%%|####      |", "plain line %d", "caf\u00e9 \u6f22\u5b57 \U0001f680 %d", "\033[2Jcleared %d")


class Rank:
    def __init__(self, path: str, rank: int, world: int) -> None:
        self.rank, self.world, self.steps, self.last_ns = rank, world, 0, 0
        self.socket = socket.socket(socket.AF_UNIX)
        while self.socket.connect_ex(path):
            time.sleep(0.01)
        self.group = f"fake/0/{os.getpid()}"
        self.frame(HELLO, json.dumps({"v": 1, "role": "rank", "pid": os.getpid(), "group": self.group, "slot": rank}).encode())
        self.say("hooked")
        self.tell(STATE, "unit", unit=0, name="Net", file="train.py", line=12, origin="script", target="Net")
        self.tell(STATE, "variant", variant=0, label="as written", settings={})

    def say(self, state: str) -> None:
        self.tell(STATE, "rank", local_world=self.world, group=self.group, restart=0, host="node1", pid=os.getpid(),
                  python="3.11.7", torch="2.13.0+cpu", device="cpu", state=state, switching="live")  # fmt: skip

    def frame(self, kind: int, payload: bytes) -> None:
        try:
            self.socket.sendall(struct.pack("<IB", len(payload), kind) + payload)
        except OSError:
            pass  # the engine is gone: as with real ranks that is no matter to the job

    def tell(self, how: int, kind: str, **fields: Any) -> None:
        self.frame(how, json.dumps({"v": 1, "kind": kind, "ns": time.monotonic_ns(), "rank": self.rank, **fields}).encode())

    def step(self, now: int, noise: random.Random) -> None:
        took = now - self.last_ns if self.last_ns else 0
        took = int(took * noise.uniform(0.97, 1.03) * (1 + (self.rank % 7 == 5) * 0.4))
        phases = [took * part // 100 for part in (3, 35, 50, 8)]
        self.frame(STEPS, STEP.pack(self.steps, now, took, *phases, (600 + self.rank % 9) * MB + self.steps * 4096, 0, 0, 0, 0,
                                    0, 0, HAS_PHASES | HAS_RSS, 0 if self.steps else 1, self.steps, 0))  # fmt: skip
        self.steps, self.last_ns = self.steps + 1, now

    def beat(self, now: int) -> None:
        self.frame(BEAT, BEAT_RECORD.pack(now, self.steps, self.last_ns, 600 * MB, 700 * MB, 0, 0, 0, 0, 0, os.getpid()))

    def happen(self, noise: random.Random) -> None:
        ms, what = noise.uniform(50, 9000), noise.randrange(3)
        if what == 0:
            self.tell(EVENT, "compile", unit=0, variant=0, id=f"0/{self.steps}", frame="forward train.py:41",
                      trigger="recompile", ms=ms, phases={"dynamo": ms / 2, "inductor": ms / 2}, cache={"fx_miss": 1},
                      cause=f"0/0: tensor 'x' size mismatch at index 0. expected {noise.randrange(9)}, actual 8")  # fmt: skip
        elif what == 1:
            self.tell(EVENT, "break", unit=0, frame="forward", file="train.py", line=noise.randrange(90),
                      reason="Unsupported builtin: print()", code="GB0059", count=1)  # fmt: skip
        else:
            self.tell(EVENT, "finding", text="recompiles, 24.6 s so far", action="dynamic on (d)", lost_s=24.6)


def run(ranks: list[Rank], given: argparse.Namespace) -> None:
    noise, begin, lines = random.Random(7), time.monotonic(), 0
    beats = steps = 0
    stop = os.environ.get("STOP", "")
    if given.stuck:
        for rank in ranks:
            rank.tell(EVENT, "compile", unit=0, variant=0, id="0/0", frame="forward train.py:41", trigger="first", ms=2000)
    while not (stop and os.path.exists(stop)):
        now, spent = time.monotonic_ns(), time.monotonic() - begin
        if given.stuck and spent > STUCK_S:
            break
        if steps < spent * given.rate:
            steps = int(spent * given.rate) + 1
            for rank in ranks:
                rank.step(now, noise)
            if given.events and noise.random() < 0.2:
                noise.choice(ranks).happen(noise)
        if beats < spent / BEAT_S:
            beats = int(spent / BEAT_S) + 1
            for rank in ranks:
                rank.beat(now)
        while lines < spent * given.lines:
            lines += 1
            sys.stdout.write(noise.choice(LINES) % lines + "\n")
            sys.stdout.flush()
        time.sleep(max(0.001, min(BEAT_S, 1 / given.rate) / 4))
    if given.stuck:
        compile_for_ever(ranks)
    for rank in ranks:
        rank.say("finished")


def compile_for_ever(ranks: list[Rank]) -> None:
    """They began before they were there at all: it has taken long."""
    for rank in ranks:
        rank.tell(EVENT, "compiling", state="begin", id="0/1", unit=0, part="forward", variant=0, ns=time.monotonic_ns() - 90 * 10**9)
    time.sleep(STUCK_S)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--lines", type=float, default=0)
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--stuck", action="store_true")
    given = parser.parse_args()
    if given.hard:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU, signal.SIGTTIN):
            signal.signal(number, signal.SIG_IGN)
    path = os.environ["INDUCTOP_SESSION"] + "/sock"
    ranks = [Rank(path, number, given.ranks) for number in range(given.ranks)]
    print("ready", flush=True)
    run(ranks, given)


if __name__ == "__main__":
    main()
