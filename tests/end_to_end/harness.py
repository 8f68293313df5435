# SPDX-License-Identifier: Apache-2.0
"""Runs jobs under inductop and looks at everything that can be seen of it: exit code, both streams, events, and the truth.

    result = run("ddp", "--at", "10:scope=eager", ranks=2)
    with Live("ddp", ranks=2) as live:
        live.wait_step(20)
        assert live.send("dynamic=on").code == 0

INDUCTOP names the program (build/inductop), PYTHON the interpreter of the jobs (.venv, else the one that runs the tests).
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
JOBS = ROOT / "tests" / "jobs"
INDUCTOP = os.environ.get("INDUCTOP") or str(ROOT / "build" / "inductop")
VENV = ROOT / ".venv" / "bin" / "python"
PYTHON = os.environ.get("PYTHON") or (str(VENV) if VENV.exists() else sys.executable)
SCHEMA = ROOT / "engine" / "wire" / "events.schema.json"
SESSIONS = Path(os.environ.get("INDUCTOP_TMPDIR") or "/tmp") / f"inductop-{os.getuid()}"
BOUND_S = 240.0
FINAL = ("applied", "failed", "refused", "aborted", "missed", "not reached")

LOG_STAMP = re.compile(r"^(\[rank\d+\]:)?([VDIWEC])\d{4} [\d:.]+ \d+ ", re.M)
numbers = itertools.count()
Event = dict[str, Any]


def wait_for(condition: Callable[[], Any], bound_s: float = BOUND_S, what: Callable[[], str] | str = "") -> Any:
    """The first true value of `condition`; an assertion fails when the bound is over."""
    end = time.monotonic() + bound_s
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {bound_s:g} s: {what() if callable(what) else what}")
        time.sleep(0.01)
    return value


def environment(extra: dict[str, Any] | None = None) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("INDUCTOP_SESSION", "TORCHELASTIC"))}
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "PYTHONPATH", "PYTEST_CURRENT_TEST", "COLUMNS", "LINES"):
        env.pop(name, None)
    env.setdefault("OMP_NUM_THREADS", "1")
    env.setdefault("TORCHINDUCTOR_CACHE_DIR", "/tmp/inductop-tests-cache")
    env.update({k: str(v) for k, v in (extra or {}).items()})
    return env


def job_path(job: str) -> str:
    return str(JOBS / f"{job}.py") if not job.endswith(".py") and "/" not in job else job


def job_command(job: str | list[str], ranks: int, launcher: list[str] | None, torchrun: Iterable[str] = ()) -> list[str]:
    if isinstance(job, list):
        return job
    if launcher is not None:
        return [*launcher, job_path(job)]
    if ranks == 1:
        return [PYTHON, job_path(job)]
    return [PYTHON, "-m", "torch.distributed.run", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--no-python",
            f"--nproc-per-node={ranks}", *torchrun, PYTHON, job_path(job)]  # fmt: skip


def read_events(path: Path) -> list[Event]:
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return [json.loads(line) for line in data.split(b"\n")[:-1] if line]


def read_truth(folder: Path) -> dict[int, list[dict[str, Any]]]:
    found = {}
    for file in sorted(folder.glob("truth.*")):
        found[int(file.suffix[1:])] = [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]
    return found


@dataclass
class Result:
    code: int
    out: str
    err: str
    events: list[Event] = field(default_factory=list)
    truth: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def job_err(self) -> str:
        """Standard error without our own lines, and without the times in lines of torch's log."""
        lines = "".join(line for line in self.err.splitlines(keepends=True) if not line.startswith("inductop:"))
        return LOG_STAMP.sub(r"\1\2 ", lines)

    def of(self, kind: str, **wanted: Any) -> list[Event]:
        return [e for e in self.events if e["kind"] == kind and all(e.get(k) == v for k, v in wanted.items())]

    @property
    def losses(self) -> dict[int, list[float]]:
        return losses(self.out)

    def report(self) -> str:
        told = [json.dumps(e) for e in self.events if e["kind"] not in ("step", "summary")]
        return "\n".join([f"exit code {self.code} after {self.seconds:.1f} s", *told[-60:], "-- stdout", self.out[-1500:],
                          "-- stderr", self.err[-6000:]])  # fmt: skip


def losses(out: str) -> dict[int, list[float]]:
    """Rank to the losses that it printed, step by step."""
    found: dict[int, list[float]] = defaultdict(list)
    for rank, loss in re.findall(r"^(?:\[rank(\d+)\] )?step \d+ loss (\S+?)\.*$", out, re.M):
        found[int(rank or 0)].append(float(loss))
    return dict(found)


def last_line(out: str, rank: int = 0) -> dict[str, str]:
    """The fields of the line with which a job ends."""
    for who, text in re.findall(r"^(?:\[rank(\d+)\] )?done (.*)$", out, re.M):
        if int(who or 0) == rank:
            return dict(part.split("=", 1) for part in text.split())
    raise AssertionError(f"no last line of rank {rank} in {out[-500:]!r}")


def run(job: str | list[str], *args: str, ranks: int = 1, launcher: list[str] | None = None, env: dict[str, Any] | None = None,
        timeout: float = BOUND_S, truth: bool = True, torchrun: Iterable[str] = (), cwd: str | Path = JOBS,
        check: int | None = 0) -> Result:  # fmt: skip
    """Runs a job under inductop to its end. `check`: the exit code that it must have, None for any."""
    with Live(job, *args, ranks=ranks, launcher=launcher, env=env, truth=truth, torchrun=torchrun, cwd=cwd) as live:
        result = live.finish(timeout)
    if check is not None:
        assert result.code == check, result.report()
    if result.events:
        validate(result.events)
    return result


def plain(job: str | list[str], ranks: int = 1, launcher: list[str] | None = None, env: dict[str, Any] | None = None,
          timeout: float = BOUND_S, cwd: str | Path = JOBS, torchrun: Iterable[str] = ()) -> Result:  # fmt: skip
    """The same without inductop."""
    begin = time.monotonic()
    done = subprocess.run(job_command(job, ranks, launcher, torchrun), env=environment(env), cwd=cwd, capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL, errors="replace")  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr, seconds=time.monotonic() - begin)


Key = tuple[Any, ...]
_authors: dict[Key, Result | tuple[subprocess.Popen[bytes], tempfile.TemporaryDirectory[str], float]] = {}


def _author_key(job: str, ranks: int, launcher: list[str] | None, env: dict[str, Any] | None) -> Key:
    return job, ranks, tuple(launcher or ()), tuple(sorted((k, str(v)) for k, v in (env or {}).items()))


def author_begin(job: str, ranks: int = 1, launcher: list[str] | None = None, env: dict[str, Any] | None = None) -> None:
    """Starts the author's run of the job beside what the test does, unless it is known already."""
    key = _author_key(job, ranks, launcher, env)
    if key in _authors:
        return
    folder = tempfile.TemporaryDirectory(prefix="inductop-author-")
    with open(f"{folder.name}/out", "wb") as out, open(f"{folder.name}/err", "wb") as err:
        process = subprocess.Popen(job_command(job, ranks, launcher), env=environment(env), cwd=JOBS, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err)  # fmt: skip
    _authors[key] = process, folder, time.monotonic()


def author(job: str, ranks: int = 1, launcher: list[str] | None = None, env: dict[str, Any] | None = None) -> Result:
    """The job as its author runs it, without inductop; kept for other tests of the session."""
    author_begin(job, ranks, launcher, env)
    key = _author_key(job, ranks, launcher, env)
    known = _authors[key]
    if not isinstance(known, Result):
        process, folder, begin = known
        code = process.wait(BOUND_S)
        with folder:
            texts = [Path(folder.name, name).read_text(errors="replace") for name in ("out", "err")]
        known = _authors[key] = Result(code, *texts, seconds=time.monotonic() - begin)
    assert known.code == 0, known.report()
    return known


# ---- the truth


def signature(line: dict[str, Any]) -> tuple[Any, ...]:
    """What ran in a step, comparable between ranks and steps (not the object's number: equal settings may be two objects)."""
    ran = sorted((r["backend"], json.dumps(r["config"], sort_keys=True), str(r["dynamic"]), r["calls"]) for r in line["ran"])
    merged: dict[tuple[Any, ...], int] = defaultdict(int)
    for *what, calls in ran:
        merged[tuple(what)] += calls
    return tuple(sorted((*what, calls) for what, calls in merged.items())), tuple(sorted(line["eager"].items()))


def graphs(line: dict[str, Any]) -> int:
    return sum(r["calls"] for r in line["ran"])


def compiled(line: dict[str, Any]) -> int:
    return sum(r["graphs"] for r in line["compiled"])


def is_eager(line: dict[str, Any]) -> bool:
    """Nothing compiled ran."""
    return not line["ran"]


def has_option(line: dict[str, Any], name: str, value: Any) -> bool:
    """Everything that ran was compiled with this option of inductor's."""
    return bool(line["ran"]) and all(r["config"].get(name) == value for r in line["ran"])


def is_dynamic(line: dict[str, Any]) -> bool:
    return bool(line["ran"]) and all(r["dynamic"] is True for r in line["ran"])


def same_truth(truth: dict[int, list[dict[str, Any]]]) -> None:
    """In no step did two ranks run different things."""
    assert truth, "no rank wrote the truth"
    for step, lines in enumerate(zip(*truth.values(), strict=False)):
        kinds = {signature(line) for line in lines}
        assert len(kinds) == 1, f"step {step}: ranks ran different things: {kinds}"


# ---- events


def switches(events: list[Event], **wanted: Any) -> list[Event]:
    return [e for e in events if e["kind"] == "switch" and all(e.get(k) == v for k, v in wanted.items())]


def final_switches(events: list[Event], rank: int | None = 0) -> list[Event]:
    """What became of each switch on one rank, in order; rank None: as the engine told it."""
    return [e for e in switches(events) if e.get("rank") == rank and e["status"] in FINAL and not e.get("again")]


def applied(events: list[Event], rank: int | None = 0) -> list[Event]:
    return [e for e in final_switches(events, rank) if e["status"] == "applied"]


def ranks_of(events: list[Event]) -> set[int]:
    return {e["rank"] for e in events if e["kind"] == "step"}


def by_step(events: list[Event]) -> dict[int, dict[int, Event]]:
    """Step to rank to step event."""
    found: dict[int, dict[int, Event]] = defaultdict(dict)
    for e in events:
        if e["kind"] == "step":
            found[e["step"]][e["rank"]] = e
    return dict(found)


def same_step(events: list[Event]) -> None:
    """All ranks had the same settings in force in every step, and each applied switch has one step on all ranks."""
    for step, ranks in sorted(by_step(events).items()):
        kinds = {e["variant"] for e in ranks.values()}
        assert len(kinds) == 1, f"step {step}: settings {kinds}"
    places: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    who: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for e in switches(events, status="applied"):
        if "rank" in e:
            places[e["by"], e["id"]].add(e["at"])
            who[e["by"], e["id"]].add(e["rank"])
    for key, steps in places.items():
        assert len(steps) == 1, f"switch {key} at {steps}"
        assert who[key] == ranks_of(events), f"switch {key} only on {who[key]}"


def first_step(switch: Event) -> int:
    return switch["at"]


def printed_schema() -> str:
    return subprocess.run([INDUCTOP, "--print-schema"], capture_output=True, text=True, check=True).stdout


@functools.cache
def _validator() -> Any:
    schema = json.loads(printed_schema())
    return jsonschema.validators.validator_for(schema)(schema)


def validate(events: Iterable[Event], every_step: bool = False) -> None:
    """Each event against the shipped schema; of the step events only each 20th unless asked, they are alike."""
    steps = 0
    for e in events:
        if e.get("kind") == "step" and not every_step:
            steps += 1
            if steps % 20 != 1:
                continue
        error = jsonschema.exceptions.best_match(_validator().iter_errors(e))
        assert error is None, f"{error.message} at {list(error.absolute_path)} in {json.dumps(e)[:600]}"


def adds_up(events: list[Event]) -> Event:
    """The summary against the events before it; returns it."""
    told = [e for e in events if e["kind"] == "summary"]
    assert len(told) == 1 and events[-1] is told[0], "one summary, at the end"
    summary = told[0]
    for row in summary["ranks"]:
        mine = [e for e in events if e.get("rank") == row["rank"]]
        steps = [e for e in mine if e["kind"] == "step"]
        if len({r["rank"] for r in summary["ranks"]}) == len(summary["ranks"]):
            assert row["steps"] == len(steps), (row["rank"], row["steps"], len(steps))
            for use in row["variants"]:
                _use_adds_up(use, mine)
    finals = {(e["by"], e["id"]) for e in switches(events) if e["status"] in FINAL and not e.get("again")}
    named = {(s["by"], s["id"]) for s in summary["switches"]}
    assert finals <= named, finals - named
    return summary


def _use_adds_up(use: Event, mine: list[Event]) -> None:
    key = use["variant"]
    steps = [e for e in mine if e["kind"] == "step" and e["variant"] == key]
    compiles = [e for e in mine if e["kind"] == "compile" and e["variant"] == key]
    clean = sorted(e["ms"] for e in steps if e["clean"] and "ms" in e)
    assert use["steps"] == len(steps), use
    assert use["clean"] == len(clean), use
    assert use["compiles"] == len(compiles), use
    assert use["recompiles"] == sum(e["trigger"] == "recompile" for e in compiles), use
    assert math.isclose(use["compile_s"], covered(compiles), rel_tol=0.01, abs_tol=0.01), (use, covered(compiles))
    if clean:
        middle = (clean[(len(clean) - 1) // 2] + clean[len(clean) // 2]) / 2
        assert math.isclose(use["median_ms"], middle, rel_tol=1e-3, abs_tol=1e-3), (use, middle)
    rss = [e["rss"] for e in steps if "rss" in e]
    assert use.get("peak_rss") == (max(rss) if rss else None), use
    peaks = [e["cpu_peak"] for e in steps if e["clean"] and "cpu_peak" in e]
    assert use.get("peak_cpu") == (max(peaks) if peaks else None), use


def covered(compiles: list[Event]) -> float:
    """Seconds that at least one compilation covers: one inside another counts once."""
    total, end = 0.0, -math.inf
    for begin, stop in sorted((e["t"] - e["ms"] / 1000, e["t"]) for e in compiles):
        total += max(0.0, stop - max(begin, end))
        end = max(end, stop)
    return total


def close(ours: Result, theirs: Result, rtol: float = 1e-3, skip: Iterable[int] = ()) -> None:
    """The losses of a run are those of its author's run within the noise of compilation."""
    assert set(ours.losses) == set(theirs.losses), ours.report()
    for rank, wanted in theirs.losses.items():
        got = ours.losses[rank]
        assert len(got) == len(wanted), (rank, len(got), len(wanted))
        for step, (a, b) in enumerate(zip(got, wanted, strict=True)):
            assert step in skip or math.isclose(a, b, rel_tol=rtol, abs_tol=1e-5), f"rank {rank} step {step}: loss {a}, without us {b}"


# ---- processes


def process_state(pid: int) -> str:
    """State letter of a process as in ps; X when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "X"
    return stat[stat.rindex(")") + 2]


def is_alive(pid: int) -> bool:
    return process_state(pid) not in "XZ"


def processes() -> Iterator[tuple[int, str, str]]:
    """pid, command line and environment of all that we may look into."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"), (
                    folder / "environ").read_bytes().decode(errors="replace")  # fmt: skip
            except OSError:
                continue


def left_behind(name: str) -> list[tuple[int, str]]:
    """Processes of a session that are still there: its own and those of its job."""
    mark = f"INDUCTOP_SESSION={SESSIONS / name}"
    return [(pid, line) for pid, line, env in processes()
            if pid != os.getpid() and (f"engine-process {name} " in line or mark in env.split("\0") or f"--name {name} " in line)]  # fmt: skip


@dataclass
class Answer:
    """What `inductop send` or `inductop compare` said."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return (self.out.strip().splitlines() or [""])[-1]


class Live:
    """A job under inductop that runs while the test looks and acts. Leaving the block ends everything that it started."""

    def __init__(self, job: str | list[str], *args: str, ranks: int = 1, launcher: list[str] | None = None,
                 env: dict[str, Any] | None = None, truth: bool = True, torchrun: Iterable[str] = (), cwd: str | Path = JOBS,
                 name: str | None = None, json_file: bool = True) -> None:  # fmt: skip
        self.ranks = ranks
        self.name = name or f"t{os.getpid()}-{next(numbers)}"
        self.session = SESSIONS / self.name
        self._folder = tempfile.TemporaryDirectory(prefix="inductop-test-")
        self.folder = Path(self._folder.name)
        self.json, self.stop_file = self.folder / "events.jsonl", self.folder / "stop"
        given = {"STOP": self.stop_file, **(env or {})}
        if truth:
            given["TRUTH"] = self.folder / "truth"
        ours = ["--json", str(self.json)] if json_file else []
        command = [INDUCTOP, "--headless", "--name", self.name, *ours, *args, "--", *job_command(job, ranks, launcher, torchrun)]
        self.begin = time.monotonic()
        self._offset, self._events = 0, []  # type: int, list[Event]
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            self.front = subprocess.Popen(command, env=environment(given), cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                          start_new_session=True)  # fmt: skip

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *args: Any) -> None:
        if self.front.poll() is None:
            self._kill_group()
        self.front.wait(20)
        for pid, _ in left_behind(self.name):
            self._signal(pid, signal.SIGKILL)
        self._folder.cleanup()

    def _kill_group(self) -> None:
        pids = [pid for pid, _ in left_behind(self.name)]
        for pid in [self.front.pid, *pids]:
            self._signal(pid, signal.SIGKILL)

    @staticmethod
    def _signal(pid: int, number: int) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    # what can be seen

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text(errors="replace")

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text(errors="replace")

    @property
    def events(self) -> list[Event]:
        """All so far; whole lines only."""
        try:
            with open(self.json, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return self._events
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        self._events += [json.loads(line) for line in data[:whole].split(b"\n") if line]
        return self._events

    def steps(self) -> dict[int, int]:
        """Rank to the highest step that was told."""
        found: dict[int, int] = {}
        for e in self.events:
            if e["kind"] == "step":
                found[e["rank"]] = max(found.get(e["rank"], -1), e["step"])
        return found

    def printed(self) -> int:
        """Lines of training on stdout so far: what the job did, whether or not anybody listens."""
        return self.out.count("step ")

    def pids(self) -> dict[int, int]:
        """Rank to pid of its training process, the newest one that is hooked."""
        found: dict[int, int] = {}
        for e in self.events:
            if e["kind"] == "rank" and e["state"] in ("hooked", "running"):
                found[e["rank"]] = e["pid"]
        return found

    def engine(self) -> int:
        """Pid of the engine that serves the session, 0 when there is none."""
        for pid, line, _ in processes():
            if f"engine-process {self.name} " in line and is_alive(pid):
                return pid
        return 0

    # what can be done

    def wait(self, condition: Callable[[], Any], bound_s: float = BOUND_S, what: str = "") -> Any:
        def or_over() -> Any:
            value = condition()
            if not value and self.front.poll() is not None and not (value := condition()):
                raise AssertionError(f"the job ended while waiting: {what}\n{self._now().report()}")
            return value

        return wait_for(or_over, bound_s, lambda: f"{what}\n{self._now().report()}")

    def wait_step(self, step: int, bound_s: float = BOUND_S) -> None:
        self.wait(lambda: len(s := self.steps()) >= self.ranks and min(s.values()) >= step, bound_s, f"step {step}")

    def wait_printed(self, lines: int, bound_s: float = BOUND_S) -> None:
        self.wait(lambda: self.printed() >= lines, bound_s, f"{lines} lines of training")

    def send(self, *change: str, timeout: float = BOUND_S) -> Answer:
        return self.answer(self.send_begin(*change), timeout)

    def compare(self, *other: str, timeout: float = BOUND_S) -> Answer:
        return self.answer(self._begin("compare", *other), timeout)

    def send_begin(self, *change: str) -> subprocess.Popen[str]:
        return self._begin("send", *change)

    def _begin(self, command: str, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen([INDUCTOP, command, self.name, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment())  # fmt: skip

    def answer(self, sender: subprocess.Popen[str], timeout: float = BOUND_S) -> Answer:
        try:
            out, err = sender.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            sender.kill()
            out, err = sender.communicate()
            raise AssertionError(f"inductop did not answer: {out!r} {err!r}\n{self._now().report()}") from None
        return Answer(sender.returncode, out, err)

    def signal(self, pid: int, number: int) -> None:
        self._signal(pid, number)

    def stop(self) -> None:
        """The job ends after its present step."""
        self.stop_file.touch()

    def _now(self, code: int | None = None) -> Result:
        return Result(-1 if code is None else code, self.out, self.err, list(self.events), read_truth(self.folder), time.monotonic() - self.begin)

    def finish(self, timeout: float = BOUND_S) -> Result:
        """Waits until the job and everything of inductop's has ended."""
        try:
            self.front.wait(max(1.0, timeout))
        except subprocess.TimeoutExpired:
            report = self._now().report()
            self._kill_group()
            raise AssertionError(f"not ended after {timeout:g} s\n{report}") from None
        wait_for(lambda: not self.engine(), 30, "the engine did not end after the job")
        return self._now(self.front.returncode)
