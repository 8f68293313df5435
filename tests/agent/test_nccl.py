# SPDX-License-Identifier: Apache-2.0
"""The plugin for NCCL is opened only where NCCL is used, and never beside one of the user's own."""

from __future__ import annotations

import os
import sys
from importlib import import_module, util
from pathlib import Path
from types import SimpleNamespace

import pytest

from .conftest import SOURCE

CUDA = SimpleNamespace(version=SimpleNamespace(cuda="13.0"))


class Opened(list):
    collectives = list.append


@pytest.fixture
def nccl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The agent's module without an agent: prepare() tells whether the plugin was opened."""
    spec = util.spec_from_file_location("agent_alone", SOURCE / "__init__.py", submodule_search_locations=[str(SOURCE)])
    assert spec and spec.loader
    monkeypatch.setitem(sys.modules, "agent_alone", util.module_from_spec(spec))
    module = import_module("agent_alone.nccl")
    opened = Opened()
    monkeypatch.setattr(module.core, "load", lambda: opened)
    monkeypatch.setattr(module, "CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "PLUGIN", __file__)  # stands for the plugin: only that it is there matters here
    for name in ("NCCL_PROFILER_PLUGIN", "NCCL_NET_PLUGIN", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)

    def prepare(torch: object = CUDA, **env: str) -> bool:
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            before, count = dict(os.environ), len(opened)
            done = module.prepare(torch)
            assert dict(os.environ) == before and len(opened) == count + done and opened[count:] in ([], [module.PLUGIN])
            return done

    yield SimpleNamespace(module=module, prepare=prepare, opened=opened)
    for name in [name for name in sys.modules if name.startswith("agent_alone")]:
        del sys.modules[name]


def test_opened_for_cuda_alone(nccl, monkeypatch):
    assert nccl.prepare()
    assert not nccl.prepare(SimpleNamespace(version=SimpleNamespace(cuda=None)))
    assert not nccl.prepare(SimpleNamespace(version=SimpleNamespace()))
    monkeypatch.setattr(nccl.module, "PLUGIN", "/nowhere/plugin.so")
    assert not nccl.prepare()


def test_a_python_without_the_core_goes_on(nccl, monkeypatch):
    def refuse():
        raise ImportError("free-threaded")

    monkeypatch.setattr(nccl.module.core, "load", refuse)
    assert not nccl.prepare()


@pytest.mark.parametrize("name", ["own", "none", "STATIC_PLUGIN", ""])
def test_a_plugin_that_is_named_is_left_alone(nccl, name):
    assert not nccl.prepare(NCCL_PROFILER_PLUGIN=name)


def test_a_plugin_that_the_loader_would_find_is_left_alone(nccl, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    assert nccl.prepare(LD_LIBRARY_PATH=str(own))
    (own / "libnccl-profiler.so").touch()
    assert not nccl.prepare(LD_LIBRARY_PATH=f":/nowhere:{own}")
    assert nccl.prepare(LD_LIBRARY_PATH="/nowhere") and nccl.prepare()
    (tmp_path / "cache").write_bytes(b"ld.so\0libnccl-profiler.so\0" + os.fsencode(own) + b"/libnccl-profiler.so\0x")
    assert not nccl.prepare()


def test_a_profiler_inside_a_net_plugin_is_left_alone(nccl, tmp_path):
    (tmp_path / "libnccl-net.so").write_bytes(b"x" * 9999)
    fast = tmp_path / "libnccl-net-fast.so"
    fast.write_bytes(b"x" * 9999 + b"ncclProfiler_v5" + b"x" * 99)
    assert nccl.prepare(LD_LIBRARY_PATH=str(tmp_path))
    assert not nccl.prepare(LD_LIBRARY_PATH=str(tmp_path), NCCL_NET_PLUGIN="fast")
    assert not nccl.prepare(NCCL_NET_PLUGIN=str(fast))
    assert nccl.prepare(NCCL_NET_PLUGIN="fast")  # it cannot be found: NCCL goes without
    (tmp_path / "libnccl-net.so").write_bytes(b"")
    assert nccl.prepare(LD_LIBRARY_PATH=str(tmp_path))


def test_opened_only_where_it_was_asked_for(nccl):
    for start in ({}, {"collectives": "off"}, {"collectives": "auto"}, {"collectives": True}):
        nccl.module.begin(CUDA, start)
        assert nccl.opened == []
    nccl.module.begin(CUDA, {"collectives": "on"})
    assert nccl.opened == [nccl.module.PLUGIN]


@pytest.mark.parametrize("backend, asked, missing, begins", [
    ("", "auto", "", None), ("nccl", "on", "gone", None), ("nccl", "auto", "", "off: --collectives on counts"),
    ("cpu:gloo,cuda:nccl", "off", "", "off: --collectives on"), ("gloo", "off", "", "off: --collectives auto counts and times gloo's"),
    ("gloo", "auto", "gone", "n/a: gloo's are counted by the library that counts torch's memory: gone"), ("gloo", "on", "", "told once"), ("mpi", "off", "", "n/a: mpi"),
])  # fmt: skip
def test_why_nothing_is_told_is_said(nccl, backend, asked, missing, begins):
    reason = import_module("agent_alone.rank").collectives(backend, asked, missing)
    assert reason is None if begins is None else reason.startswith(begins)
