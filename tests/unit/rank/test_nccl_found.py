"""The plugin as NCCL finds it: by name, in the copy that the core has opened, with the environment as it was; what it counts goes to
the engine. NCCL is played by nccl_play.so of $INDUCTOP_BUILD (build by default).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from test_module import EVENT, LIB, ROOT, Engine, engine, script  # noqa: F401

PLAY = Path(os.environ.get("INDUCTOP_BUILD") or ROOT / "build") / "nccl_play.so"
PLUGIN = LIB / "libnccl-profiler-inductop.so"
if not PLAY.exists() or not PLUGIN.exists():
    pytest.skip(f"no {PLAY} or {PLUGIN}", allow_module_level=True)

PLAYER = f"""
import ctypes
nccl = ctypes.CDLL({str(PLAY)!r})
nccl.nccl_play_calls.argtypes = [ctypes.c_int, ctypes.c_uint64]
PLUGIN = {str(PLUGIN)!r}
"""


@pytest.fixture
def play(script, monkeypatch):  # noqa: F811
    monkeypatch.delenv("NCCL_PROFILER_PLUGIN", raising=False)
    return lambda text: script(PLAYER + "\n".join(line[8:] for line in text.splitlines()))


def collectives(conn) -> list[dict]:
    return [event for event in map(json.loads, conn.of(EVENT)) if event["kind"] == "collective"]


@pytest.mark.parametrize("version", range(1, 7))
def test_nccl_finds_the_copy_that_the_core_opened(engine: Engine, play, version: int) -> None:  # noqa: F811
    engine.listen()
    run = play(f"""
        before = dict(os.environ)
        core.collectives(PLUGIN)
        found = nccl.nccl_play_open({version})
        idle = nccl.nccl_play_mask(), nccl.nccl_play_calls(10, 1000)  # the core has not begun: nothing is wanted
        join()
        start()
        wait(lambda: core.stats()["connected"])
        end = time.monotonic() + 20
        while not word_is("seen") and time.monotonic() < end:
            assert nccl.nccl_play_calls(3, 1000) == 3
            core.step()
            time.sleep(0.002)
        nccl.nccl_play_close()
        core.stop()
        say(found=found, idle=idle, same=before == dict(os.environ))
    """)
    conn = engine.accept()
    conn.until(lambda: len(collectives(conn)) >= 2)
    (engine.dir / "seen").touch()
    conn.until(lambda: conn.ended)
    said = run.end()[-1]
    assert said == {"found": version, "idle": [0, 0], "same": True}
    for event in collectives(conn):
        assert event["count"] > 0 and event["steps"] > 0 and event["by"]["AllReduce"]["count"] == event["count"]
        assert event["bytes"] == 4000 * event["count"] and event["api"] == version and event["dropped"] == 0
        if version >= 4 and event.get("timed"):
            assert event["timed_ms"] == pytest.approx(event["timed"] * 0.000992, rel=0.02)  # in units of 16 ns
    second = collectives(conn)[1]
    assert second["count"] == pytest.approx(3 * second["steps"], abs=3)
    assert second["comms"] == 1 and second.get("ranks") == (2 if version >= 4 else None)


def test_a_plugin_that_the_environment_names_comes_first(engine: Engine, play) -> None:  # noqa: F811
    run = play("""
        core.collectives(PLUGIN)
        os.environ["NCCL_PROFILER_PLUGIN"] = "/nowhere/own.so"
        say(found=nccl.nccl_play_open(6))
    """)
    assert run.end() == [{"found": 0}]


def test_figures_survive_nccl_letting_the_plugin_go(engine: Engine, play) -> None:  # noqa: F811
    engine.listen()
    run = play("""
        core.collectives(PLUGIN)
        core.collectives(PLUGIN)
        join()
        start()
        wait(lambda: core.stats()["connected"])
        for _ in range(4):
            assert nccl.nccl_play_open(5) == 5 and nccl.nccl_play_calls(25, 10) == 25
            nccl.nccl_play_close()
        core.step()
        wait(lambda: word_is("seen"))
    """)
    conn = engine.accept()
    conn.until(lambda: collectives(conn))
    (engine.dir / "seen").touch()
    run.end()
    assert collectives(conn)[0]["count"] == 100 and collectives(conn)[0]["comms"] == 0


def test_a_forked_child_counts_nothing(engine: Engine, play) -> None:  # noqa: F811
    engine.listen()
    run = play("""
        core.collectives(PLUGIN)
        join()
        start()
        nccl.nccl_play_open(6)
        assert nccl.nccl_play_calls(2, 10) == 2
        child = os.fork()
        if child == 0:
            os._exit(7 + nccl.nccl_play_mask() + nccl.nccl_play_calls(5, 10))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        say(code=code, after=nccl.nccl_play_calls(2, 10))
    """)
    assert run.end() == [{"code": 7, "after": 2}]


def test_a_file_that_is_no_plugin_is_refused(engine: Engine, play) -> None:  # noqa: F811
    run = play("""
        for path in "/nowhere/x.so", core.__file__:
            try:
                core.collectives(path)
            except RuntimeError as error:
                say(error=str(error))
    """)
    first, second = run.end()
    assert "/nowhere/x.so" in first["error"] and "of another version" in second["error"]
