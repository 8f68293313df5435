# SPDX-License-Identifier: Apache-2.0
"""The library through which torch's own figures of memory and gloo's collectives are read: found for the installed torch, or asked for from the engine, which builds it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from . import core, events

SOURCES = ("rank/bridge/bridge.cc", "rank/bridge/table.h", "wire/door.h")
HEADER = os.path.join("include", "c10", "core", "CPUAllocator.h")

_torch: Any = None  # None: nothing is to be done
_library = ""
missing = "it is off (--bridge auto)"  # why there is none; empty: it counts, or will
on_missing: Callable[[], None] = core.nothing


def _support() -> str:
    """Folder of what was installed beside the program: SUPPORT/agent/inductop_agent/bridge.py is this file."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _source(name: str) -> str:
    return os.path.join(_support(), "bridge", "engine", name)


def _folder() -> str:
    return os.path.dirname(os.path.abspath(_torch.__file__))


def _abi() -> int:
    return int(getattr(_torch._C, "_GLIBCXX_USE_CXX11_ABI", True))


def _c10() -> str:
    return os.path.join(_folder(), "lib", "libc10.so")


def _name() -> str:
    """One library for each torch and each state of our source: none is ever loaded into another torch."""
    key = hashlib.sha256(f"{_torch.__version__} {getattr(_torch.version, 'git_version', '')} {_abi()} {os.path.getsize(_c10())}".encode())
    with open(_c10(), "rb") as library:
        key.update(library.read(4096))  # with its build id
    for name in SOURCES:
        with open(_source(name), "rb") as source:
            key.update(source.read())
    return f"{str(_torch.__version__).replace('/', '_')}-{key.hexdigest()[:16]}.so"


def _find() -> str:
    """That of the package, else that of the cache, be it there or not."""
    name = _name()
    packaged = os.path.join(_support(), "bridge", name)
    if os.path.exists(packaged):
        return packaged
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "inductop", "bridge", name)


def _cannot_be_built() -> str | None:
    if not os.path.exists(os.path.join(_folder(), HEADER)):
        return "this torch has no header files"
    with open(_c10(), "rb") as library:
        if b"\0posix_memalign\0" not in library.read():
            return "torch's CPU allocator is not the system's malloc"
    return None


@core.shield()
def begin(torch: Any, start: dict[str, Any]) -> None:
    """At torch's import: a library that is there counts from the first tensor on. `start`: what stands in start.json."""
    global _torch, _library, missing
    if start.get("bridge") != "auto":
        return
    _torch, missing = torch, ""
    try:
        _library = _find()
        if os.path.exists(_library):
            _load(None)
    except ImportError:
        _torch, missing = None, "there is no core in this Python"
    except Exception as error:
        _missing(str(error))


def _load(since: int | None) -> None:
    """`since`: steps done, None at torch's import: then nothing is missing in what is counted."""
    global _torch
    if core.load().bridge(_library, str(_torch.__version__), _came):
        events.keep("bridge", 0, state="counting", library=_library, since=since)
        _torch = None


@core.shield()
def ask() -> None:
    """In a process that trains: whoever comes first has it built, and it counts once it is there."""
    if _torch is None:
        return
    try:
        reason = None if os.path.exists(_library) else _cannot_be_built()
        if reason:
            _missing(reason)
            return
        _load(core.load().count())
    except Exception as error:
        _missing(str(error))
        return
    if _torch is not None:
        events.keep("bridge", 0, state="wanted", library=_library, torch=_folder(), abi=_abi())


@core.shield()
def _came(count: int, fault: str | None) -> None:
    """Between two steps: the library that was waited for."""
    if fault is not None:
        _missing(fault)
    else:
        events.keep("bridge", 0, state="counting", library=_library, since=count)


def _missing(reason: str) -> None:
    global _torch, missing
    _torch, missing = None, reason
    on_missing()
    events.keep("bridge", 0, state="failed", library=_library or None, reason=reason)
    events.problem("memory", f"resident memory only, without torch's own figures: {reason}")
