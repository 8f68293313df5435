# SPDX-License-Identifier: Apache-2.0
"""From asleep to hooked. Called by sitecustomize after torch and torch._dynamo were executed; everything else follows from that."""

from __future__ import annotations

import atexit
import json
import os
import sys
import sysconfig
from typing import Any

from . import (
    active,
    boundary,
    bridge,
    capture,
    compiles,
    core,
    effects,
    events,
    layout,
    nccl,
    phases,
    plan,
    proposals,
    rank,
    roots,
    switch,
    units,
    verify,
    wish,
)
from . import settings as text

OLDEST = (2, 2)

state = "asleep"
_session = ""
_torch: Any = None
_dynamo_seen = False
_facts: dict[str, Any] = {}


def _is_helper() -> bool:
    """Processes that import torch for somebody else."""
    main = sys.argv[0].replace(os.sep, "/") if sys.argv else ""
    if main.endswith("torch/_inductor/compile_worker/__main__.py"):
        return True
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None


def _version(torch: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in str(torch.__version__).split("+")[0].split(".")[:2] if part.isdigit())


@core.shield(fallback={})
def _read_start(session: str) -> dict[str, Any]:
    with open(os.path.join(session, "start.json"), encoding="utf-8") as file:
        return json.load(file)


@core.shield()
def on_torch(torch: Any, session: str) -> None:
    global _session, _torch
    if _torch is not None:
        return
    _torch, _session = torch, session
    if _is_helper() or not os.path.isdir(session):
        return
    if _version(torch) < OLDEST:
        _refuse(f"torch {torch.__version__} is too old: {'.'.join(map(str, OLDEST))} is needed")
        return
    start = _read_start(session)
    nccl.begin(torch, start)
    plan.take(start)
    boundary.first = _wake
    boundary.before_count, boundary.after_count = _before_count, _after_count
    boundary.new_optimizer = switch.newcomer
    switch.step_ns = boundary.step_ns
    wish.optimizers, switch.wake_boundary = boundary.optimizers, boundary.wake
    compiles.wake_boundary = active.wake_boundary = boundary.wake
    active.thread, active.optimizers, active.wake_after = (lambda: boundary.thread), boundary.optimizers, boundary.wake_after
    active.is_measuring, active.is_by_call = lambda: proposals.running != 0, lambda: switch.by_call
    verify.told = active.verified
    active.settings_now = lambda: text.key(switch.current)
    boundary.watch(torch)
    os.register_at_fork(after_in_child=_in_child)
    bridge.begin(torch, start)
    if "torch._dynamo" in sys.modules:
        on_dynamo(sys.modules["torch._dynamo"], session)


@core.shield()
def on_dynamo(dynamo: Any, session: str) -> None:
    global _dynamo_seen
    if _torch is None or _dynamo_seen or boundary.first is not _wake:
        return
    _dynamo_seen = True
    layout.look(dynamo)
    capture.watch(dynamo)
    units.born = _born
    compiles.first_compile = _first_compile
    compiles.watch(dynamo)
    boundary.watch_dynamo(dynamo)
    if not plan.begun:
        plan.begin()


@core.shield()
def on_padding(pad_mm: Any, session: str) -> None:
    if _dynamo_seen:
        effects.watch_padding(pad_mm, active.padded)


def _born(unit: Any) -> None:
    active.born(unit)
    switch.born(unit)
    boundary.listen_to(unit)


def _first_compile() -> None:
    """Something compiled is called: no launcher does that."""
    if state == "asleep" and not boundary.inert:
        _wake()


@core.shield(fallback=False)
def _wake() -> bool:
    """This process trains: joins its group and starts the core. False: it stays asleep, or is refused."""
    global state
    if state != "asleep" or _is_helper():
        return False
    state = "refused"
    if sysconfig.get_config_var("Py_GIL_DISABLED") and not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    me = rank.who()
    extension = core.load()
    events.rank = me.rank
    _facts.update(rank=me.rank, world=me.world, local_rank=me.local_rank, group=me.group, restart=me.restart, **rank.facts(_torch))
    backend = rank.backend()
    place = extension.join(os.path.join(_session, "page"), me.group, me.rank, me.world)
    hello = {"v": 1, "role": "rank", "pid": os.getpid(), "group": me.group, "group_index": place["group_index"]}
    hello.update(slot=place["slot"], gen=place["gen"], nonce=str(place["nonce"]))
    proposals.register(extension)
    extension.start(os.path.join(_session, "sock"), json.dumps(hello).encode())
    state = "hooked"
    if "gloo" in backend and "nccl" not in backend and nccl.asked != "off":
        extension.gloo()
    bridge.ask()
    _facts["collectives"] = rank.collectives(backend, nccl.asked, bridge.missing)
    bridge.on_missing = lambda: _no_bridge(backend)
    events.open_gate()
    boundary.started(extension.step)
    phases.watch(_torch)
    boundary.wake()
    extension.plan_next(plan.next_after(0))
    tell_rank()
    switch.use({} if switch.trial is not None and switch.trial.waits and not switch.trial.units else switch.current)
    atexit.register(_at_exit)
    return True


def _no_bridge(backend: str) -> None:
    _facts["collectives"] = rank.collectives(backend, nccl.asked, bridge.missing)
    tell_rank()


def tell_rank() -> None:
    inside = layout.insides
    switching = inside.switching if inside is not None else "live"
    modules = [m for u in units.all_units() if (m := u.module()) is not None]
    device = roots.device(modules, boundary.optimizers())
    reason = inside.reason if inside is not None and inside.reason else boundary.overdue()
    events.keep("rank", 0, **{**_facts, "state": state, "switching": switching, "device": device, "reason": reason})


def _refuse(reason: str) -> None:
    """Known before anything is watched: told once if the core can be started at all."""
    global state
    if _wake():
        state = "refused"
        _facts["reason"] = reason
        events.keep("rank", 0, **{**_facts, "state": state, "reason": reason})


_told_switching = ""
_rehearsed = False


@core.shield()
def _before_count() -> None:
    if _dynamo_seen:
        compiles.poll()
    switch.conclude()


@core.shield()
def _after_count(count: int) -> None:
    global _rehearsed, _told_switching
    switch.tell_applied()
    switch.settle()
    if not plan.begun:
        plan.begin_late(count)
    switch.refresh(count)
    if not _rehearsed:
        _rehearsed = True
        plan.rehearse()
    active.boundary(count)
    now = layout.insides.switching if layout.insides is not None else "live"
    if now != _told_switching:
        _told_switching = now
        tell_rank()


def _in_child() -> None:
    """A fork of a rank is none: its core does nothing, and nor do we."""
    if state != "asleep":
        boundary.inert = True
        boundary.started(int)


@core.shield()
def _at_exit() -> None:
    global state
    if boundary.inert:
        return
    if _dynamo_seen:
        compiles.poll()
    switch.tell_applied()
    active.finished()
    state = "finished"
    plan.unreached(core.loaded().count())
    tell_rank()
    core.loaded().stop()
