# SPDX-License-Identifier: Apache-2.0
"""Who this process is: rank, world, and the group that must switch together."""

from __future__ import annotations

import os
import platform
import socket
import sys
from typing import Any, NamedTuple


class Rank(NamedTuple):
    group: str
    rank: int
    world: int
    local_rank: int | None
    restart: int | None


def _number(name: str) -> int | None:
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return None


def _start_time() -> str:
    with open("/proc/self/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[19]


def _distributed() -> tuple[int, int] | None:
    dist = sys.modules.get("torch.distributed")
    try:
        if dist is not None and dist.is_available() and dist.is_initialized():
            return dist.get_rank(), dist.get_world_size()
    except Exception:
        pass
    return None


def who() -> Rank:
    """Asked as late as possible: some launchers set the variables inside a process that already runs."""
    local, restart = _number("LOCAL_RANK"), _number("TORCHELASTIC_RESTART_COUNT")
    rank, world = _number("RANK"), _number("WORLD_SIZE")
    if rank is None or world is None:
        rank, world = _distributed() or (None, None)
    if rank is None or world is None or not 0 <= rank < world:
        return Rank(f"pid/{os.getpid()}/{_start_time()}", 0, 1, local, restart)
    run = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    if run in ("", "none"):
        run = f"{os.environ.get('MASTER_ADDR', 'none')}:{os.environ.get('MASTER_PORT', '0')}"
    role = os.environ.get("ROLE_NAME", "default")
    return Rank(f"{run}/{restart or 0}/{role}".replace("\n", " "), rank, world, local, restart)


def timeout_s() -> float | None:
    """The smallest time-out of this process's groups: who compiles longer than that alone ends the job."""
    dist = sys.modules.get("torch.distributed")
    found = []
    try:
        if dist is None or not dist.is_available() or not dist.is_initialized():
            return None
        for group in list(dist.distributed_c10d._world.pg_map):
            for device in group._device_types:
                found.append(group._get_backend(device).options._timeout.total_seconds())
    except Exception:
        pass
    return min(found, default=None)


def backend() -> str:
    """Of this process's collectives; empty: there are none."""
    if (_distributed() or (0, 1))[1] < 2:
        return ""
    try:
        name = str(sys.modules["torch.distributed"].get_backend())
        if name != "undefined":
            return name
        return "nccl" if sys.modules["torch"].cuda.is_initialized() else "gloo"  # torch chose one for each kind of device
    except Exception:
        return ""


def collectives(name: str, asked: str, missing: str) -> str | None:
    """Why nothing is told of those of this backend, or not yet; None: there are none, or NCCL's are told."""
    if not name:
        return None
    if "nccl" in name:
        return None if asked == "on" else "off: --collectives on counts and times NCCL's"
    if "gloo" not in name:
        return f"n/a: {name} tells nothing by itself"
    if asked == "off":
        return "off: --collectives auto counts and times gloo's"
    return f"n/a: gloo's are counted by the library that counts torch's memory: {missing}" if missing else "told once the library is there that counts torch's memory"


def facts(torch: Any) -> dict[str, Any]:
    """What a rank event says beside its group."""
    return {"timeout_s": timeout_s(), "host": socket.gethostname(), "pid": os.getpid(), "python": platform.python_version(), "torch": str(torch.__version__)}
