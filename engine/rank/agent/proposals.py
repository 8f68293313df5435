# SPDX-License-Identifier: Apache-2.0
"""What the core asks at boundaries: prepare a proposal, apply an entry of it, forget it, act on the start file."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import core, headroom, letgo, plan, switch
from . import settings as text
from .known import Refused


class Proposal(NamedTuple):
    by: str
    schedule: list[tuple[int, text.Settings]]
    forget: text.Settings | None  # settings whose compiled code is let go when it begins
    device_bytes: int  # that must be free on the device; 0: any


_prepared: dict[int, Proposal] = {}
running = 0  # a schedule that has begun and has more entries


def _read(payload: bytes) -> Proposal:
    data = json.loads(payload)
    sets = [text.merge({}, dict(one)) for one in data["sets"]]
    schedule = [(int(offset), sets[place]) for offset, place in data["schedule"]]
    if not schedule or schedule[0][0] != 0:
        raise Refused("a schedule begins with offset 0")
    forget = data.get("forget")
    return Proposal(
        by=str(data.get("by", "viewer")),
        schedule=schedule,
        forget=forget and text.merge({}, dict(forget)),
        device_bytes=int(data.get("device_bytes", 0)),
    )


def prepare(identity: int, payload: bytes) -> str | None:
    """Builds every variant of the proposal; compiles nothing. None: ready; text: why not."""
    try:
        core.dirty(core.WHY["PREPARE"])
        switch.settle()
        proposal = _read(payload)
        if reason := headroom.objection(proposal.device_bytes):
            return reason
        for settings in {text.key(s): s for _, s in proposal.schedule}.values():
            switch.check(settings, switch.current)
        if proposal.forget:
            letgo.check(proposal.forget, proposal.schedule[0][1])
        for other in [i for i in _prepared if i != running]:
            del _prepared[other]
        _prepared[identity] = proposal
        return None
    except Refused as refused:
        return str(refused)
    except Exception as error:
        core.trouble("prepare", error)
        return f"agent: {type(error).__name__}: {error}"[:300]


def apply(identity: int, count: int, index: int) -> int:
    """Entry `index` now. Returns the count at which the next one acts, 0: none."""
    global running
    try:
        switch.settle()
        proposal = _prepared.get(identity)
        if proposal is None or not 0 <= index < len(proposal.schedule):
            return 0
        offset, settings = proposal.schedule[index]
        has_more = index + 1 < len(proposal.schedule)
        if index and (identity, text.key(settings)) in switch.failures:
            switch.tell(identity, proposal.by, switch.current, settings, "failed", count, reason="it failed before in this schedule")
        elif switch.apply(settings, identity, proposal.by, count) is None:
            switch.trial.is_told = index == 0 or not has_more  # those between would be hundreds: each step tells what it ran under
            if index == 0 and proposal.forget:
                switch.trial.more.update(forgot=text.key(proposal.forget), freed=letgo.let_go(proposal.forget, settings))
        running = identity if has_more else 0
        if has_more:
            return count + proposal.schedule[index + 1][0] - offset
        return 0
    except Exception as error:
        core.trouble("apply", error)
        return 0


def outcome(identity: int, count: int, status: str) -> None:
    try:
        proposal = _prepared.pop(identity, None)
        if proposal is not None and status == "missed":
            switch.tell(identity, proposal.by, switch.current, proposal.schedule[0][1], "missed", count)
    except Exception as error:
        core.trouble("outcome", error)


def act_on_plan(count: int) -> int:
    try:
        switch.settle()
        return plan.act(count)
    except Exception as error:
        core.trouble("plan", error)
        return plan.next_after(count)


def register(extension: Any) -> None:
    extension.callbacks(prepare, apply, outcome, act_on_plan)
