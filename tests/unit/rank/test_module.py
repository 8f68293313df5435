"""The extension module `_inductop` from Python, against a small engine: what a training process can rely on.

Each test runs a script in a fresh interpreter (there is one core a process) with the module on its path. No torch needed.
The module is looked for in $INDUCTOP_LIB, then in build/lib/inductop.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIB = Path(os.environ.get("INDUCTOP_LIB") or ROOT / "build/lib/inductop") / "agent/inductop_agent"
WHY_OWN = 1 << 9
BOUND = 20.0  # seconds; every wait has a condition and this bound

HELLO, EVENT, STEPS, COMMAND, BEAT, STATE, VOTE, PREPARE, ABANDON = range(1, 10)
STEP = struct.Struct("<12Q6I")
BEAT_RECORD = struct.Struct("<7Q4I")
GROUP_HEAD, SLOT_LOOK = 128, 8
WHY_FIRST, WHY_SWITCH, WHY_PREPARE, WHY_WAITED = 1, 4, 128, 256

PRELUDE = """
import json, os, signal, sys, threading, time
sys.path.insert(0, os.environ["CORE_LIB"])
import _inductop as core
DIR = os.environ["CORE_DIR"]
def join(key="run/0/x", rank=0, world=1):
    return core.join(DIR + "/page", key, rank, world)
def start(hello=b'{"v":1}'):
    return core.start(DIR + "/sock", hello)
def wait(condition, bound=20.0):
    end = time.monotonic() + bound
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)
def say(**what):
    print(json.dumps(what), flush=True)
def word_is(text):
    return os.path.exists(DIR + "/" + text)
"""

if not (LIB / "_inductop.abi3.so").exists():
    pytest.skip(f"no rank core in {LIB}", allow_module_level=True)


class Connection:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.bytes = b""
        self.frames: list[tuple[int, bytes]] = []
        self.ended = False
        self.bad = False
        sock.settimeout(0.05)

    def read(self) -> None:
        try:
            data = self.sock.recv(1 << 20)
        except TimeoutError:
            return
        except ConnectionResetError:
            data = b""
        self.ended = self.ended or not data
        self.bytes += data
        while len(self.bytes) >= 5:
            size, kind = struct.unpack_from("<IB", self.bytes)
            if len(self.bytes) < 5 + size:
                break
            self.frames.append((kind, self.bytes[5 : 5 + size]))
            self.bytes = self.bytes[5 + size :]

    def of(self, kind: int) -> list[bytes]:
        return [payload for k, payload in self.frames if k == kind]

    def steps(self) -> list[dict[str, int]]:
        names = "step end dur data forward backward optimizer rss cpu cpu_peak device device_peak variant own valid why seq allocs"
        found = []
        for payload in self.of(STEPS):
            assert len(payload) % STEP.size == 0
            found += [dict(zip(names.split(), row, strict=True)) for row in STEP.iter_unpack(payload)]
        return found

    def send(self, kind: int, payload: bytes) -> None:
        self.sock.setblocking(True)
        self.sock.sendall(struct.pack("<IB", len(payload), kind) + payload)
        self.sock.settimeout(0.05)

    def prepare(self, id: int, payload: bytes = b"{}") -> None:
        self.send(PREPARE, struct.pack("<II", id, 0) + payload)

    def until(self, condition) -> None:
        end = time.monotonic() + BOUND
        while not condition():
            assert time.monotonic() < end, f"waited too long, had {[(k, len(p)) for k, p in self.frames][-8:]}"
            self.read()


class Engine:
    """Listens where the rank core connects to."""

    def __init__(self, directory: Path) -> None:
        self.dir = directory
        self.listener: socket.socket | None = None

    def listen(self) -> None:
        path = self.dir / "sock"
        path.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(8)
        self.listener.settimeout(BOUND)

    def accept(self) -> Connection:
        assert self.listener
        return Connection(self.listener.accept()[0])

    def close(self) -> None:
        if self.listener:
            self.listener.close()
            self.listener = None


@pytest.fixture
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(tmp_path_factory.mktemp("e"))
    yield engine
    engine.close()


class Script:
    def __init__(self, engine: Engine, text: str) -> None:
        env = dict(os.environ, CORE_LIB=str(LIB), CORE_DIR=str(engine.dir))
        self.proc = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(text)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
            env=env,
        )

    def line(self) -> dict:
        text = self.proc.stdout.readline()
        assert text, self.proc.stderr.read()
        return json.loads(text)

    def go_on(self) -> None:
        self.proc.stdin.write("\n")
        self.proc.stdin.flush()

    def end(self, code: int = 0) -> list[dict]:
        out, err = self.proc.communicate(timeout=BOUND)
        assert (self.proc.returncode, err) == (code, "")
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def script(engine: Engine) -> Iterator:
    started: list[Script] = []

    def start(text: str) -> Script:
        started.append(Script(engine, text))
        return started[-1]

    yield start
    for each in started:
        if each.proc.poll() is None:
            each.proc.kill()
        each.proc.communicate()


def test_hello_states_events_and_steps_arrive_in_this_order(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        place = join()
        core.event(b'{"kind":"problem"}')
        core.state("rank", 0, b'{"kind":"rank","state":"hooked"}')
        core.state("rank", 0, b'{"kind":"rank","state":"running"}')
        assert start(b'{"role":"rank"}') and not start()
        core.variant(77)
        counts = [core.step() for _ in range(5)]
        assert counts == [1, 2, 3, 4, 5] and core.count() == 5
        say(place=place)
    """)
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    place = run.end()[0]["place"]
    assert place["step"] == 0 and place["slot"] == 0 and place["gen"] == 1 and len(place["nonce"]) == 16
    assert conn.frames[0] == (HELLO, b'{"role":"rank"}')
    assert conn.of(STATE) == [b'{"kind":"rank","state":"hooked"}', b'{"kind":"rank","state":"running"}']
    assert conn.of(EVENT) == [b'{"kind":"problem"}']
    steps = conn.steps()
    assert [s["step"] for s in steps] == [0, 1, 2, 3, 4]
    assert [s["seq"] for s in steps] == [0, 1, 2, 3, 4]
    assert [s["why"] for s in steps] == [WHY_FIRST, 0, 0, 0, 0]
    assert steps[0]["dur"] == 0 and all(s["dur"] > 0 for s in steps[1:])
    assert steps[4]["end"] - steps[0]["end"] == sum(s["dur"] for s in steps)
    assert {s["variant"] for s in steps} == {77}
    assert all(s["rss"] > 1 << 20 and s["valid"] == 32 for s in steps)


def test_beats_come_while_the_interpreter_is_busy_in_c(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join(); start()
        core.step()
        wait(lambda: core.stats()["connected"])
        say(ready=1)
        end = time.monotonic() + 0.7
        data = list(range(300000))
        while time.monotonic() < end:
            sorted(data, key=None, reverse=True)
        say(beats=core.stats()["beats"])
    """)
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    beats = [BEAT_RECORD.unpack(b) for b in conn.of(BEAT)]
    assert len(beats) >= 4
    assert beats[-1][1] == 1 and beats[-1][10] == run.proc.pid and beats[-1][3] > 1 << 20
    run.end()


def test_what_is_queued_at_the_end_arrives(engine: Engine, script) -> None:
    engine.listen()
    for how in ("pass", "sys.exit(0)", "core.stop(); core.stop()"):
        run = script(f"""
            join(); start()
            wait(lambda: core.stats()["connected"])
            for i in range(1000):
                core.step()
                core.event(b'{{"i":%d}}' % i)
            {how}
        """)
        conn = engine.accept()
        conn.until(lambda conn=conn: conn.ended)
        run.end()
        assert [s["step"] for s in conn.steps()] == list(range(1000))
        assert len(conn.of(EVENT)) == 1000


def test_nobody_listens_and_nothing_waits(engine: Engine, script) -> None:
    run = script("""
        join(); start()
        begun = time.monotonic()
        for i in range(20000):
            core.step()
        for i in range(3000):
            core.event(b'x' * 1000)
        stats = core.stats()
        took = time.monotonic() - begun
        wait(lambda: core.stats()["queued"] <= (1 << 20) // 4 * 3 and core.stats()["steps_queued"] <= 4096 // 4 * 3)
        begun = time.monotonic()
        core.stop()
        say(took=took, stop=time.monotonic() - begun, **core.stats())
    """)
    said = run.end()[0]
    assert said["took"] < 5 and said["stop"] < 1
    assert said["steps"] == 20000
    assert said["steps_dropped"] + said["steps_queued"] == 20000
    assert said["dropped"] > 1500 and said["connected"] == 0


def test_engine_that_comes_late_gets_the_newest(engine: Engine, script) -> None:
    run = script("""
        join(); start()
        core.state("rank", 0, b'state')
        for i in range(6000):
            core.step()
        say(ready=1)
        sys.stdin.readline()
        wait(lambda: core.stats()["steps_queued"] == 0 and core.stats()["connected"])
        core.step()
    """)
    assert run.line() == {"ready": 1}
    engine.listen()
    run.go_on()
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    run.end()
    steps = conn.steps()
    assert conn.of(STATE) == [b"state"]
    assert steps[-1]["step"] == 6000 and steps[-1]["seq"] == 6000
    assert BEAT_RECORD.unpack(conn.of(BEAT)[-1])[5] == 6001 - len(steps)  # counted


def test_reconnects_and_says_everything_again(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join(); start()
        core.state("rank", 0, b'the rank')
        core.state("unit", 3, b'a unit')
        say(ready=1)
        while not word_is("end"):
            core.step()
            time.sleep(0.001)
    """)
    run.line()
    seen: list[int] = []
    for _ in range(3):
        conn = engine.accept()
        conn.until(lambda conn=conn: len(conn.steps()) > 20)
        assert conn.frames[0] == (HELLO, b'{"v":1}')
        assert conn.of(STATE) == [b"the rank", b"a unit"]
        conn.sock.close()
        seen += [s["seq"] for s in conn.steps()]
    assert seen == sorted(seen)
    conn = engine.accept()
    (engine.dir / "end").touch()
    conn.until(lambda: conn.ended)
    run.end()


def test_stopped_engine_costs_nothing_and_gets_whole_frames_later(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join(); start()
        wait(lambda: core.stats()["connected"])
        begun = time.monotonic()
        for i in range(4000):
            core.event(b'%06d' % i + b'y' * 1000)
            core.step()
        say(took=time.monotonic() - begun)
        sys.stdin.readline()
    """)
    conn = engine.accept()
    assert run.line()["took"] < 5
    run.go_on()
    conn.until(lambda: conn.ended)
    run.end()
    events = conn.of(EVENT)
    assert all(len(e) == 1006 for e in events)
    assert [e[:6] for e in events] == sorted(e[:6] for e in events)
    assert conn.bytes == b""


def test_connection_that_dies_in_the_middle_of_a_frame_is_taken_up_with_a_hello(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join(); start()
        wait(lambda: core.stats()["connected"])
        for i in range(700):
            core.event(b'%06d' % i + b'y' * 1000)
        wait(lambda: core.stats()["queued"] > 100000)
        say(ready=1)
        wait(lambda: core.stats()["connects"] == 2 and core.stats()["queued"] == 0)
    """)
    first = engine.accept()
    run.line()
    first.until(lambda: len(first.of(EVENT)) > 5)
    first.sock.close()
    second = engine.accept()
    second.until(lambda: second.ended)
    run.end()
    assert second.frames[0][0] == HELLO
    numbers = [int(e[:6]) for e in second.of(EVENT)]
    assert all(len(e) == 1006 for e in second.of(EVENT)) and second.bytes == b""
    assert numbers == list(range(numbers[0], 700))  # what the first had taken is its own loss


def test_engine_that_does_not_read_holds_up_the_end_for_a_moment_only(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join(); start()
        wait(lambda: core.stats()["connected"])
        for i in range(2000):
            core.event(b'y' * 1000)
        begun = time.monotonic()
        core.stop()
        say(took=time.monotonic() - begun)
    """)
    conn = engine.accept()
    assert 0.15 < run.end()[0]["took"] < 2
    conn.sock.close()


def test_last_state_wins_although_the_buffer_was_full(engine: Engine, script) -> None:
    run = script("""
        join(); start()
        for i in range(3000):
            core.state("rank", 0, b'%06d' % i + b'z' * 1000)
        say(ready=1)
        sys.stdin.readline()
        wait(lambda: core.stats()["connected"] and core.stats()["queued"] == 0)
    """)
    run.line()
    engine.listen()
    run.go_on()
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    run.end()
    assert [s[:6] for s in conn.of(STATE)] == sorted(s[:6] for s in conn.of(STATE))
    assert conn.of(STATE)[-1][:6] == b"002999"


def write_page(engine: Engine, group: int, offset: int, word: int) -> None:
    """Writes a word of a group, as an engine would by a swap, and wakes nobody. Offsets as in engine/wire/page.h."""
    with open(engine.dir / "page", "r+b") as page:
        page.seek(64 + group * (GROUP_HEAD + 64 * 64) + offset)
        page.write(struct.pack("<Q", word))


def pack(step: int, id: int, low: int) -> int:
    return step << 24 | id << 2 | low


AGENT = """
    seen = []
    def prepare(id, payload):
        seen.append(["prepare", id, payload[:20].decode()])
        return None if payload != b"bad" else "cannot be"
    def apply(id, count, index):
        seen.append(["apply", id, count, index])
        return NEXT.get((id, index), 0)
    def outcome(id, count, status):
        seen.append(["outcome", id, count, status])
    def plan(count):
        seen.append(["plan", count])
        return PLAN.get(count, 0)
    NEXT, PLAN = {}, {}
    core.callbacks(prepare, apply, outcome, plan)
"""


def agent(text: str) -> str:
    return textwrap.dedent(AGENT) + textwrap.dedent(text)


def test_proposal_is_prepared_voted_for_and_forgotten_when_aborted(engine: Engine, script) -> None:
    engine.listen()
    run = script(agent("""
        say(place=join())
        start()
        while not word_is("end"):
            core.step()
            time.sleep(0.001)
        core.step()
        say(seen=seen)
    """))
    run.line()
    conn = engine.accept()
    conn.until(lambda: conn.of(HELLO))
    conn.prepare(5, b'{"by":"viewer"}')
    conn.until(lambda: len(conn.of(VOTE)) == 1)
    assert conn.of(VOTE)[0] == struct.pack("<II", 5, 1)
    conn.prepare(6, b"bad")
    conn.until(lambda: len(conn.of(VOTE)) == 2)
    assert conn.of(VOTE)[1] == struct.pack("<II", 6, 0) + b"cannot be"
    conn.prepare(7, b"x" * (64 << 10))
    conn.until(lambda: len(conn.of(VOTE)) == 3)
    assert conn.of(VOTE)[2] == struct.pack("<II", 7, 1)
    conn.prepare(8, b"x" * (200 << 10))
    conn.until(lambda: len(conn.of(VOTE)) == 4)
    assert conn.of(VOTE)[3][:8] == struct.pack("<II", 8, 0)
    conn.send(77, b"unknown type")
    conn.send(COMMAND, b"{}")
    conn.prepare(9)
    conn.until(lambda: len(conn.of(VOTE)) == 5)
    (engine.dir / "end").touch()
    conn.until(lambda: conn.ended)
    seen = run.end()[0]["seen"]
    assert [s[:2] for s in seen] == [["prepare", 5], ["prepare", 6], ["prepare", 7], ["prepare", 9]]
    assert sum(1 for s in conn.steps() if s["why"] & WHY_PREPARE) == 4


def test_raising_call_backs_refuse_and_are_counted(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        def prepare(id, payload):
            raise ValueError("no such mode")
        core.callbacks(prepare, None, None, lambda count: 1 / 0)
        join(); start()
        core.plan_next(3)
        while core.count() < 3 or not word_is("end"):
            core.step()
            time.sleep(0.001)
        say(faults=core.stats()["faults"])
    """)
    conn = engine.accept()
    conn.until(lambda: conn.of(HELLO))
    conn.prepare(5)
    conn.until(lambda: len(conn.of(VOTE)) == 1)
    assert conn.of(VOTE)[0] == struct.pack("<II", 5, 0) + b"ValueError('no such mode')"
    (engine.dir / "end").touch()
    conn.until(lambda: conn.ended)
    assert run.end() == [{"faults": 2}]


def test_users_interrupt_in_a_call_back_is_the_users(engine: Engine, script) -> None:
    run = script("""
        def plan(count):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
            return 0
        core.callbacks(None, None, None, plan)
        core.plan_next(2)
        core.step()
        try:
            core.step()
        except KeyboardInterrupt:
            say(interrupted=core.count(), next=core.step(), faults=core.stats()["faults"])
    """)
    assert run.end() == [{"interrupted": 2, "next": 3, "faults": 0}]


def test_wait_at_the_gate_lets_other_threads_run_and_ends(engine: Engine, script) -> None:
    engine.listen()
    run = script(agent("""
        place = join()
        say(place=place)
        start()
        while not word_is("voted"):
            core.step()
            time.sleep(0.001)
        ticks, end = [0], [False]
        def tick():
            while not end[0]:
                ticks[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        say(count=core.count())
        sys.stdin.readline()
        before, begun = ticks[0], time.monotonic()
        core.step()
        took, during = time.monotonic() - begun, ticks[0] - before
        core.step()
        end[0] = True
        thread.join()
        say(took=took, ticks=during, seen=seen)
    """))
    group = run.line()["place"]["group_index"]
    conn = engine.accept()
    conn.until(lambda: conn.of(HELLO))
    conn.prepare(5)
    conn.until(lambda: conn.of(VOTE))
    (engine.dir / "voted").touch()
    count = run.line()["count"]
    write_page(engine, group, 0, pack(0, 5, 1))
    write_page(engine, group, GROUP_HEAD + SLOT_LOOK, pack(count + 1, 5, 2))
    run.go_on()
    said = run.line()
    assert 0.045 < said["took"] < 2 and said["ticks"] > 3
    assert said["seen"][-1] == ["outcome", 5, count + 1, "aborted"]
    conn.until(lambda: conn.ended)
    assert [s["step"] for s in conn.steps() if s["why"] & WHY_WAITED] == [count + 1]
    run.end()


def test_plan_acts_at_its_steps_and_marks_the_next_step(engine: Engine, script) -> None:
    engine.listen()
    run = script(agent("""
        join(); start()
        PLAN.update({3: 7})
        core.plan_next(3)
        for _ in range(10):
            core.step()
        say(seen=seen)
    """))
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    assert run.end() == [{"seen": [["plan", 3], ["plan", 7]]}]
    assert [s["step"] for s in conn.steps() if s["why"] & WHY_SWITCH] == [3, 7]


def test_readings_and_dirty_bits_go_into_the_step_in_progress(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join(); start()
        core.step()
        core.mark(1, 500.0); core.mark(1, 250.0); core.mark(16, 42)
        time.sleep(0.002)
        core.mark(2, -1.0)
        threading.Thread(target=core.dirty, args=(2,)).start()
        wait(lambda: threading.active_count() == 1)
        core.step(32)
        begun = time.monotonic_ns()
        core.step()
        time.sleep(0.002)
        core.step(0, begun)
        core.step(0, time.monotonic_ns())
        core.step()
        core.step(0, time.monotonic_ns() + 10**12)
        core.step()
        for bad in (0, 3, 32, 1 << 20):
            try:
                core.mark(bad, 1.0)
            except ValueError:
                continue
            say(accepted=bad)
    """)
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    assert run.end() == []
    steps = conn.steps()
    assert steps[1]["data"] == 750 and steps[1]["own"] == 42 and steps[1]["forward"] >= 2_000_000
    assert steps[1]["valid"] & 31 == 19 and steps[2]["valid"] & 31 == 0
    assert steps[1]["why"] == 2 | 32 and steps[2]["why"] == 0 and steps[2]["own"] == 0
    assert steps[2]["valid"] & 16 == steps[3]["valid"] & 16 == 0
    assert steps[4]["own"] >= 2_000_000 and steps[4]["why"] == WHY_OWN, steps[4]  # that of the boundary before it
    assert 0 < steps[5]["own"] < 2_000_000 and steps[7]["own"] == 0, steps  # it cannot have begun later


def test_timed_callables_are_the_phases_and_leave_no_trace(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        import gc, traceback
        join(); start()
        core.step()

        class Batches:
            def __next__(self):
                time.sleep(0.002)
                return self
        def backward(x, fail=False):
            "doc"
            time.sleep(0.003)
            if fail:
                raise ValueError("theirs")
            return x
        plain = backward
        Batches.__next__ = core.timed(1, Batches.__next__)
        backward = core.timed(4, backward)
        one = Batches()
        say(same=[next(one) is one, one.__next__() is one, backward(7) == 7, backward(x=8) == 8, backward.__name__ == "backward",
                  backward.__doc__ == "doc", backward.__wrapped__ is plain, callable(backward)])
        core.step()
        threading.Thread(target=backward, args=(1,)).start()
        wait(lambda: threading.active_count() == 1)
        core.step()
        try:
            backward(1, fail=True)
        except ValueError as error:
            say(frames=[f.name for f in traceback.extract_tb(error.__traceback__)])
        core.step()
        heard = []
        def listen(result, args, kwargs):
            heard.append([result, list(args), kwargs])
            raise OSError("ours, and forgotten")
        faults = core.stats()["faults"]
        say(listened=[core.timed(0, plain, listen)(3), core.timed(0, plain, listen)(x=4)], heard=heard, faults=core.stats()["faults"] - faults)
        try:
            core.timed(0, plain, listen)(1, fail=True)
        except ValueError as error:
            say(frames=[f.name for f in traceback.extract_tb(error.__traceback__)][-1], heard=len(heard))
        for bad in ((2, plain), (1, 3), (1,), (), (0, plain), (1, plain, 3)):
            try:
                core.timed(*bad)
            except (ValueError, TypeError):
                continue
            say(accepted=len(bad))
        before = sys.getrefcount(one), sys.getrefcount(plain)
        for _ in range(1000):
            next(one) if False else one.__next__, backward.__name__
        gc.collect()
        say(leaked=[sys.getrefcount(one) - before[0], sys.getrefcount(plain) - before[1]])
    """)
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    said = run.end()
    assert said[0] == {"same": [True] * 8}
    assert said[1]["frames"][-1] == "backward" and len(said[1]["frames"]) == 2
    assert said[2] == {"listened": [3, 4], "heard": [[3, [3], None], [4, [], {"x": 4}]], "faults": 2}
    assert said[3] == {"frames": "backward", "heard": 2}
    assert said[4:] == [{"leaked": [0, 0]}]
    steps = conn.steps()
    assert steps[1]["data"] >= 4_000_000 and steps[1]["backward"] >= 6_000_000 and steps[1]["valid"] & 15 == 15
    assert steps[2]["valid"] & 15 == 0  # another thread's
    assert steps[3]["backward"] >= 3_000_000


def test_forked_child_is_inert_and_the_parents_stream_is_whole(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join(); start()
        wait(lambda: core.stats()["connected"])
        for _ in range(10):
            core.step()
        child = os.fork()
        if child == 0:
            for _ in range(500):
                core.step()
            assert core.stats()["forked"] == 1 and core.count() == 510
            assert core.event(b"child") is False and core.state("x", 0, b"child") is False
            core.stop()
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        for _ in range(10):
            core.step()
        say(forked=core.stats()["forked"])
    """)
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    assert run.end() == [{"forked": 0}]
    assert [s["step"] for s in conn.steps()] == list(range(20))
    assert conn.of(EVENT) == [] and conn.of(STATE) == []


def test_fork_finds_no_thread_of_ours_and_the_sender_comes_back(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        import warnings
        warnings.simplefilter("error")
        join(); start()
        wait(lambda: core.stats()["connected"])
        threads = lambda: len(os.listdir("/proc/self/task"))
        before, during = threads(), []
        os.register_at_fork(after_in_parent=lambda: during.append(threads()))
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            core.event(b"between")
        beats = core.stats()["beats"]
        wait(lambda: core.stats()["beats"] > beats)
        child = os.fork()
        if child == 0:
            os._exit(0)
        wait(lambda: threads() == 2)
        say(before=before, during=during, after=threads(), connects=core.stats()["connects"])
    """)
    conn = engine.accept()
    conn.until(lambda: conn.ended)
    assert run.end() == [{"before": 2, "during": [1] * 21, "after": 2, "connects": 1}]
    assert conn.of(EVENT) == [b"between"] * 20


def test_forked_child_that_joins_begins_anew(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        join("run/0/x", 0, 2); start(b"parent")
        core.step()
        wait(lambda: core.stats()["connected"])
        child = os.fork()
        if child == 0:
            place = join("run/0/x", 1, 2)
            start(b"child")
            wait(lambda: core.stats()["connected"])
            core.event(b"from the child")
            core.step()
            say(place=place, forked=core.stats()["forked"])
            sys.exit(0)
        os.waitpid(child, 0)
    """)
    parent = engine.accept()
    child = engine.accept()
    for conn in (parent, child):
        conn.until(lambda conn=conn: conn.ended)
    said = run.end()[0]
    assert said["place"]["slot"] == 1 and said["forked"] == 0
    assert parent.frames[0] == (HELLO, b"parent") and child.frames[0] == (HELLO, b"child")
    assert parent.of(EVENT) == [] and child.of(EVENT) == [b"from the child"]


def test_seat_of_a_living_rank_is_refused_with_the_reason(engine: Engine, script) -> None:
    first = script("""
        say(place=join("run/0/x", 0, 2))
        sys.stdin.readline()
    """)
    first.line()
    second = script("""
        try:
            join("run/0/x", 0, 2)
        except RuntimeError as error:
            say(error=str(error))
        say(place=join("run/0/x", 1, 2))
    """)
    said = second.end()
    assert said[0]["error"] == f"rank 0 of group 'run/0/x' is taken by process {first.proc.pid}"
    assert said[1]["place"]["slot"] == 1
    first.go_on()
    first.end()
    third = script('say(place=join("run/0/x", 0, 2))')
    assert third.end()[0]["place"]["gen"] == 2


def test_wrong_arguments_are_errors_of_the_caller_only(engine: Engine, script) -> None:
    run = script("""
        for call in (
            lambda: core.join("/nowhere/page", "k", 0, 1),
            lambda: core.join(),
            lambda: core.start(DIR + "/" + "x" * 200, b""),
            lambda: core.event("text"),
            lambda: core.event(b"x" * ((64 << 10) + 1)),
            lambda: core.callbacks(1, None, None, None),
            lambda: core.variant(-1),
        ):
            try:
                call()
            except Exception as error:
                say(kind=type(error).__name__, text=str(error))
        say(step=core.step("x"), faults=core.stats()["faults"])
        say(event=core.event(b"x" * (64 << 10)))
    """)
    said = run.end()
    assert [s.get("kind") for s in said[:7]] == [
        "OSError", "TypeError", "OSError", "TypeError", "ValueError", "TypeError", "OverflowError"]  # fmt: skip
    assert said[7] == {"step": 1, "faults": 1}
    assert said[8] == {"event": True}


def test_step_from_a_call_back_or_another_thread_does_not_nest(engine: Engine, script) -> None:
    run = script("""
        inner = []
        core.callbacks(None, None, None, lambda count: inner.append(core.step()) or 0)
        core.plan_next(1)
        say(outer=core.step(), inner=inner, count=core.count(), faults=core.stats()["faults"])
    """)
    assert run.end() == [{"outer": 1, "inner": [1], "count": 1, "faults": 1}]


def test_signals_go_to_the_jobs_threads(engine: Engine, script) -> None:
    engine.listen()
    run = script("""
        got = []
        signal.signal(signal.SIGUSR1, lambda *a: got.append(threading.current_thread() is threading.main_thread()))
        join(); start()
        wait(lambda: core.stats()["connected"])
        names = {open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")}
        masks = [line.split()[1] for t in os.listdir("/proc/self/task")
                 if open(f"/proc/self/task/{t}/comm").read().strip() == "inductop"
                 for line in open(f"/proc/self/task/{t}/status") if line.startswith("SigBlk")]
        os.kill(os.getpid(), signal.SIGUSR1)
        wait(lambda: got)
        say(got=got, named="inductop" in names, mask=masks[0])
    """)
    engine.accept()
    said = run.end()[0]
    assert said["got"] == [True] and said["named"]
    assert int(said["mask"], 16) & 1 << signal.SIGTERM - 1 and int(said["mask"], 16) & 1 << signal.SIGUSR1 - 1


def test_interpreter_within_is_refused(engine: Engine, script) -> None:
    run = script("""
        try:
            import _xxsubinterpreters as inter
        except ImportError:
            import _interpreters as inter  # since 3.13; it gives the error back
        one = inter.create()
        try:
            fault = inter.run_string(one, "import sys; sys.path.insert(0, %r); import _inductop" % os.environ["CORE_LIB"])
        except Exception as error:
            fault = error
        say(error=str(getattr(fault, "msg", fault)))
    """)
    error = run.end()[0]["error"]
    assert "main interpreter" in error or "does not support loading in subinterpreters" in error


def test_only_the_stable_abi_is_used() -> None:
    """One file serves every Python: that it loads in 3.10 is seen there, that its symbols stay is said by Python's own list."""
    stable = pytest.importorskip("test.test_stable_abi_ctypes", reason="this Python comes without the list of its stable symbols", exc_type=ImportError)
    listed = subprocess.run(["nm", "-D", "--undefined-only", str(LIB / "_inductop.abi3.so")], capture_output=True, text=True, check=True).stdout
    used = {name for line in listed.splitlines() if (name := line.split()[-1]).startswith(("Py", "_Py"))}
    assert "PyErr_SetString" in used and used <= set(stable.SYMBOL_NAMES), used - set(stable.SYMBOL_NAMES)


def test_tables_name_what_the_wire_has(script) -> None:
    run = script("print(core.tables())")
    tables = run.end()[0]
    assert tables["version"] == 1
    assert tables["why"]["switch"] == WHY_SWITCH and tables["frames"]["PREPARE"] == PREPARE
    assert tables["kinds"]["switch"]["fields"]["status"]["type"] == "choice"
    assert tables["kinds"]["switch"]["fields"]["status"]["required"] is True
    assert tables["sizes"] == {"step": STEP.size, "beat": BEAT_RECORD.size}
