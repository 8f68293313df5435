# SPDX-License-Identifier: Apache-2.0
"""The profiler plugin for NCCL: opened before NCCL looks for one, unless the user has one of his own.

NCCL asks the loader for libnccl-profiler.so, and the loader answers with what this process has opened under that name. So the environment
stays as it is, children see nothing, and a plugin that NCCL_PROFILER_PLUGIN or nccl.conf names is found before ours by NCCL itself.
"""

from __future__ import annotations

import mmap
import os
import re
from typing import Any

from . import core

PLUGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libnccl-profiler-inductop.so")
CACHE = "/etc/ld.so.cache"


def _found(name: str) -> list[str]:
    """Where the loader would find a library of this name, as far as that can be told without loading it."""
    places = [os.path.join(folder, name) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    try:
        with open(CACHE, "rb") as cache:
            pattern = rb"\0(/[^\0]*/" + re.escape(name.encode()) + rb")\0"
            places += [os.fsdecode(path) for path in re.findall(pattern, cache.read())]
    except OSError:
        pass
    return [place for place in places if os.path.isfile(place)]


def _profiles(path: str) -> bool:
    """The library brings a profiler along, which NCCL takes when it finds no other."""
    try:
        with open(path, "rb") as library, mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return text.find(b"ncclProfiler_v") >= 0
    except (OSError, ValueError):
        return False


def _net_plugins() -> list[str]:
    name = os.environ.get("NCCL_NET_PLUGIN")
    if not name:
        return _found("libnccl-net.so")
    return [name] if "/" in name else _found(name) + _found(f"libnccl-net-{name}.so")


def own() -> str | None:
    """The user's own plugin, or None."""
    named = os.environ.get("NCCL_PROFILER_PLUGIN")
    if named is not None:
        return named
    return next((path for path in _found("libnccl-profiler.so") + [p for p in _net_plugins() if _profiles(p)]), None)


asked = ""


@core.shield()
def begin(torch: Any, start: dict[str, Any]) -> None:
    """Only where it was asked for (--collectives on): it runs inside of NCCL. `start`: what stands in start.json."""
    global asked
    asked = start.get("collectives", "off")
    if asked == "on":
        prepare(torch)


@core.shield(fallback=False)
def prepare(torch: Any) -> bool:
    """Called when torch has been imported. True: NCCL will find ours, which wants nothing until the core is started."""
    if getattr(torch.version, "cuda", None) is None or not os.path.exists(PLUGIN) or own() is not None:
        return False
    try:
        extension = core.load()
    except ImportError:  # told when this process wakes
        return False
    extension.collectives(PLUGIN)
    return True
