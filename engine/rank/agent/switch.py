# SPDX-License-Identifier: Apache-2.0
"""The switch: from settings to what each unit shows, and back when a variant fails. Runs on the training thread between steps."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from . import active, core, events, guard, layout, regional, roots, stance, units, wish
from . import settings as text
from .evidence import Trial
from .known import Refused
from .settings import Settings
from .units import Unit
from .variants import Spec, Variant
from .wish import Wish

current: Settings = {}  # in force
good: Settings = {}  # in force before, and known to work
trial: Trial | None = None  # applied at the last boundary, evidence still out
last: Trial | None = None  # the one before, which held
wake_boundary: Callable[[], None] = core.nothing  # the next boundary has something to do
step_ns: Callable[[], int] = int  # how long the step that ends took
by_call = False  # the boundary is the beginning of a compiled call
_untold: list[tuple[Trial, dict[str, Any]]] = []  # held, to be told behind the count
failures: deque[tuple[int, int]] = deque(maxlen=64)  # id and settings of what has failed
_used: set[int] = set()
_checked: dict[int, Wish] = {}  # settings to what they mean, as long as nothing is born
_newcomers = False  # optimizers that were not there when settings were applied


def check(settings: Settings, before: Settings | None = None) -> Wish:
    """All that can be said before anything is applied; builds the variants. Raises Refused."""
    for name, value in settings.items():
        if reason := text.refusal(name, value):
            raise Refused(reason)
    if before is not None and (reason := text.contradiction(before, settings)):
        raise Refused(reason)
    inside = _inside()
    if inside.switching == "observe-only":
        raise Refused(f"observe only: {inside.reason}")
    if (own := inside.stance()) != "default" and not stance.ours():
        raise Refused(f"the job's own stance is '{own}'")
    if inside.switching == "stance":
        stance.check(settings)
        return Wish()
    known = _checked.get(text.key(settings))
    if known is not None and known.births == units.births and not _newcomers:
        return known
    if known is not None or len(_checked) > 64:
        _checked.clear()  # it would keep what is gone
    out = wish.resolve(settings)
    wish.check_owners(settings)
    wish.check_something(settings, out)
    wish.check_device(settings, out)
    wish.check_units(out)
    for unit, target in out.units:
        if isinstance(target, Spec):
            unit.state(target, failed)
    for module, spec in out.modules:
        regional.of(module).unit.state(spec, failed)
    out.births = units.births
    _checked[text.key(settings)] = out
    return out


def forget_checked() -> None:
    _checked.clear()


def _inside() -> Any:
    """torch's insides; imports torch._dynamo in a job that has not (a second, told by the step's flag)."""
    if layout.insides is None:
        import torch._dynamo  # noqa: F401  (our import hook does the rest)
    if layout.insides is None:
        raise Refused("torch._dynamo could not be watched")
    if not layout.insides.judged and layout.insides.switching == "live":
        _judge_now(layout.insides)
    return layout.insides


def _judge_now(inside: Any) -> None:
    def probe(x: Any) -> Any:
        return x

    try:
        context = inside.optimize(backend="eager")
        units.foreign.add(context)
        wrapper = context(probe)
    except Exception as error:
        inside.judged = True
        inside.fall_back("observe-only", f"torch.compile does not work here: {error}"[:200])
        return
    if not hasattr(context, "callback"):
        inside.judged = True
        inside.fall_back("observe-only", "torch.compile is switched off here")
        return
    inside.judge(context, wrapper)


# Applying.


def _place(unit: Unit, target: Any, busy: list[Unit]) -> None:
    if isinstance(target, Spec):
        target = unit.state(target, failed)
    if unit in busy:
        unit.show_at_next_call(target)
    elif unit.now is not target or (isinstance(target, units.State) and target.guard.dead) or unit.deferred is not None:
        unit.show(target)


def _swap(out: Wish) -> list[Unit]:
    """Everything shows what it shall; returns the units concerned."""
    layout.insides.answers.leave()
    busy = [] if by_call else units.on_stack()
    ours = [(regional.of(module), spec) for module, spec in out.modules]
    specs = {t for _, t in out.units if isinstance(t, Spec)} | {s for _, s in ours}
    if any(s.fullgraph and not (s in Variant.all and Variant.all[s].worked) for s in specs):
        layout.insides.look_again()
    for one in regional.everything():
        if not any(one is mine for mine, _ in ours):
            one.remove()
    for unit, target in out.units:
        _place(unit, target, busy)
    for one, spec in ours:
        _place(one.unit, spec, busy)
        one.install()
    return [u for u, _ in out.units] + [one.unit for one, _ in ours]


def use(settings: Settings) -> None:
    """Tells the core, and a viewer once, which settings are in force."""
    number = text.key(settings)
    if core.loaded() is not None:
        core.loaded().variant(number)
    if number not in _used:
        _used.add(number)
        events.keep("variant", number, variant=number, label=text.label(settings), settings=settings)


Asked = tuple[int, str, Settings]  # place or id, by whom, settings as they would be after it


def apply(settings: Settings, identity: int, by: str, count: int) -> str | None:
    """At a boundary, after settle. Returns the reason when it is refused; what came of it is told one step later."""
    return apply_all([(identity, by, settings)], count)


def apply_all(asked: list[Asked], count: int) -> str | None:
    """As apply, for several changes at one step: the last one's settings are shown, and all are told of."""
    global current, good, trial
    before, (identity, by, settings) = dict(current), asked[-1]
    began = time.perf_counter_ns()
    try:
        out = check(settings)
        began = time.perf_counter_ns()
        if layout.insides.switching == "stance":
            concerned: list[Unit] = []
            stance.apply(settings, failed)
        else:
            concerned = _swap(out)
    except Refused as refused:
        _tell_all(asked, before, "refused", count, reason=str(refused))
        return str(refused)
    except Exception as error:
        core.trouble("apply", error)
        _back_to(good)
        _tell_all(asked, before, "failed", count, reason=f"agent: {type(error).__name__}: {error}"[:300])
        return "agent failed"
    if trial is not None and not trial.over:
        _tell_all(trial.asked, trial.before, "aborted", trial.at, reason="another change came before it was seen to run")
    took = (time.perf_counter_ns() - began) / 1e6
    current = dict(settings)
    use(current)
    core.dirty(core.WHY["SWITCH"])
    if by != "baseline":
        active.flipped()
    trial = Trial(identity, by, before, current, count, concerned)
    trial.asked = asked
    trial.swap_ms, trial.step_before_ns = took, step_ns()
    wake_boundary()
    return None


def begin(asked: list[Asked]) -> None:
    """Step 0: in force before anything is called. Units take it when they are born."""
    global current, trial
    identity, by, settings = asked[-1]
    before, current = current, dict(settings)
    trial = Trial(identity, by, before, current, 0, [])
    trial.asked = asked
    trial.waits = settings.get("scope") in ("whole", "regional")
    wake_boundary()


@core.shield()
def fell_back() -> None:
    """The first unit showed that torch's insides differ: what is in force from the start goes the other way, or is refused."""
    global current, trial
    if not current or trial is None:
        return
    try:
        check(current)
        stance.apply(current, failed)
        trial.waits = False
    except Refused as refused:
        was, trial, current = trial, None, {}
        use(current)
        _tell_all(was.asked, was.before, "refused", 0, reason=str(refused))


def failed(unit: Any, failure: guard.Failure) -> None:
    """A variant of ours failed in a call: the rest of the step runs eager, the boundary puts the old settings back."""
    global good, trial
    core.dirty(core.WHY["FAILED"])
    if trial is None and last is not None:  # it had worked until now
        good = dict(last.before) if last.before != current else {}
        trial = Trial(last.identity, last.by, good, dict(current), last.at, [])
    if trial is not None:
        trial.fail(unit, failure)
    wake_boundary()


def conclude() -> None:
    """At the end of the first step under new settings: what ran is looked up and told."""
    global good, last, trial
    if trial is None or trial.over or trial.waits:
        return
    verdict = trial.conclude()
    fields: dict[str, Any] = {"ran": trial.ran(), **trial.more}
    if trial.swap_ms is not None:
        fields["swap_ms"] = round(trial.swap_ms, 4)
    if trial.step_before_ns and step_ns():
        fields["lost_ms"] = round((step_ns() - trial.step_before_ns) / 1e6, 3)
    if verdict is None:
        good, last, trial = dict(trial.to), trial, None
        if last.is_told:
            _untold.append((last, fields))
        return
    fields.update(reason=verdict.reason, file=verdict.file, line=verdict.line)
    _tell_all(trial.asked, trial.before, "failed", trial.at, **fields)
    failures.append((trial.identity, text.key(trial.to)))
    trial.over = True


def tell_applied() -> None:
    """Behind the count: the first step under new settings is not held up by the telling of it."""
    untold, _untold[:] = _untold[:], []
    for one, fields in untold:
        _tell_all(one.asked, one.before, "applied", one.at, **fields)


def settle() -> None:
    """After a failure, at the boundary: the last good settings are in force again."""
    global trial
    if trial is not None and trial.over:
        trial = None
        _back_to(good)


def _back_to(settings: Settings) -> None:
    global current
    try:
        out = wish.resolve(settings)
        for unit, target in out.units:
            if isinstance(target, Spec):
                unit.state(target, failed)
    except Exception as error:
        core.trouble("put back", error)
        settings, out = {}, wish.resolve({})
    if layout.insides.switching == "stance":
        stance.apply(settings, failed)
    else:
        _swap(out)
    current = dict(settings)
    use(current)
    core.dirty(core.WHY["SWITCH"])
    active.flipped()


def tell(identity: int, by: str, before: Settings, to: Settings, status: str, at: int | None, **fields: Any) -> None:
    events.tell("switch", id=identity, by=by, to=to, variant=text.key(to), status=status, at=at, **{"from": before}, **fields)


def _tell_all(asked: list[Asked], before: Settings, status: str, at: int, **fields: Any) -> None:
    for identity, by, to in asked:
        tell(identity, by, before, to, status, at, **fields)
        before = to


# Units that come later.


@core.shield()
def born(unit: Unit) -> None:
    """A unit was made: it takes the settings in force at once, before its first call."""
    if unit.origin == "inductop":
        _announce(unit)
        return
    if current and layout.insides.switching == "live":
        try:
            out = wish.resolve(current, only=unit)
            wish.check_device(current, out, at_birth=True)
            wish.check_units(out)
            busy = [] if by_call else units.on_stack()
            for one, target in out.units:
                _place(one, target, busy)
            for module, spec in out.modules:
                mine = regional.of(module)
                _place(mine.unit, spec, busy)
                mine.install()
            if trial is not None:
                trial.add([unit] + [regional.of(m).unit for m, _ in out.modules])
        except Refused as refused:
            _refused_at_birth(unit, str(refused))
    _announce(unit)


def _refused_at_birth(unit: Unit, reason: str) -> None:
    """At step 0 nothing has run yet, and the whole change is refused; later only this unit stays as the script wants it."""
    global trial
    if trial is not None and trial.at == 0 and not trial.frames and trial.failure is None:
        refused, trial = trial, None
        _back_to(refused.before)
        _tell_all(refused.asked, refused.before, "refused", 0, reason=reason)
    else:
        events.problem("settings", f"unit '{unit}' stays as written: {reason}")


def _announce(unit: Unit) -> None:
    if unit.known:
        return
    facts = {"name": unit.name, "file": unit.file, "line": unit.line, "origin": unit.origin, "target": unit.target}
    events.keep("unit", unit.index, unit=unit.index, **facts, **active.about(unit))


def newcomer() -> None:
    """An optimizer is seen for the first time: models may have come that have to be compiled in place."""
    global _newcomers
    wish.stepped = _newcomers = True
    roots.forget()
    _checked.clear()
    wake_boundary()


@core.shield()
def refresh(count: int) -> None:
    """At the boundary: settings in force reach models that were not known when they were applied."""
    global _newcomers
    if not _newcomers:
        return
    _newcomers = False
    waits = trial is not None and trial.waits
    if current.get("scope") in ("whole", "regional") and _inside().switching == "live":
        try:
            out = check(current)
        except Refused as refused:
            _refused_late(str(refused), count)
            return
        if waits or any(not regional.of(m).installed() for m, _ in out.modules):
            concerned = _swap(out)
            core.dirty(core.WHY["SWITCH"])
            use(current)
            if trial is not None:
                trial.at = count if waits else trial.at
                trial.add(concerned)
                trial.waits = False
                wake_boundary()


def _refused_late(reason: str, count: int) -> None:
    global trial
    if trial is not None and trial.waits:
        refused, trial = trial, None
        _back_to(refused.before)
        _tell_all(refused.asked, refused.before, "refused", count, reason=reason)
    else:
        events.problem("settings", reason)


units.born = born
units.fell_back = fell_back
