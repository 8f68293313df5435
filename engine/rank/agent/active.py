# SPDX-License-Identifier: Apache-2.0
"""Is compiled code in effect: what was seen of each unit and of each setting, told when it changes.

Units that one line of the script compiles with one name are one here: blocks of a model, or what a framework compiles again. Whether a
unit was called is known from its first call on. A step now and then is looked at: the calls of units in it, and torch's own look-ups of
compiled code (1 us each), tell what ran; between such steps nothing of it is there. Compilations tell the rest.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from . import core, effects, events, layout, roots, units
from .effects import Under
from .units import Unit

NEVER = 64  # steps after which what was not called is told as never called
IDLE = 4  # looks without a call after which a unit is not called any more
LONGEST = 256  # steps between two looks
SETTLED = 10  # steps after a flip
MOST_CALLS = 4096  # in one look: a step without an end is not looked at for ever
MOST = 512  # units that are followed, of one whole and wholes
FRAMEWORKS = ("accelerate", "fabric", "lightning", "transformers")
TROUBLES = {  # the worst first, and how a sentence about it begins
    "never called": "is compiled and was ",
    "bypassed": "is compiled for nothing: ",
    "dropped": "is not compiled: ",
    "rebound": "is not compiled any more: ",
    "eager": "is compiled but runs eager: ",
    "limit": "is compiled no further: ",
}

wake_boundary: Callable[[], None] = core.nothing
thread: Callable[[], int | None] = core.nothing  # the one that trains
settings_now: Callable[[], int] = int  # key of the settings in force
begun: Callable[[str], Any] = core.nothing  # what compiles.py knows of a compile id
optimizers: Callable[[], list[Any]] = list
is_by_call: Callable[[], bool] = bool  # the boundary is the beginning of a compiled call
is_measuring: Callable[[], bool] = bool  # steps are compared just now: none is looked at
wake_after: Callable[[int], None] = core.nothing  # that many steps
_wholes: dict[int, Whole] = {}  # by index of the unit
_by_place: dict[Any, Whole] = {}
_window: Window | None = None
_flip = 0  # step since which the settings in force are
_next = 0  # step at whose beginning the next look begins, 0: none
_pause = 1
_changed = False
_converted = 0  # conversions that gave code
_facts: OrderedDict[str, effects.Facts] = OrderedDict()  # by compile id: seen while it was compiled
_traced: dict[Any, int] = {}  # code that was compiled as part of another unit's: index of that unit


class Member:
    """One unit of a whole."""

    __slots__ = ("index", "unit", "module", "code", "born", "called", "copied", "trained")

    def __init__(self, unit: Unit, count: int):
        self.index, self.unit, self.module = unit.index, weakref.ref(unit), unit.module
        self.code, self.born, self.copied = _place(_code(unit)), count, unit.copied
        self.called: int | None = None
        self.trained = False  # its parameters were

    def is_gone(self) -> bool:
        unit = self.unit()
        return unit is None or unit.context() is None or not unit.alive()


OURS = (__file__, layout.__file__)


class Looks:
    """Sums over the steps that were looked at under one set of settings."""

    def __init__(self, variant: int):
        self.variant, self.steps, self.calls, self.compiled, self.entered, self.missed = variant, 0, 0, 0, 0, 0
        self.idle, self.ids, self.ran = 0, [], None
        self.lookup_ns: int | None = None  # of all calls in a step, in the step where it was least


class Whole:
    def __init__(self, unit: Unit):
        self.index, self.name, self.origin = unit.index, unit.name, unit.origin
        self.where = f" at {os.path.basename(unit.file)}:{unit.line}" if unit.file else ""
        self.members: dict[int, Member] = {}
        self.unders: dict[Any, Under] = {}  # by spec
        self.looks = Looks(0)
        self.state, self.since, self.told, self.again = "", 0, None, ""
        self.flip = _flip  # the one that it was judged under

    def live(self) -> list[Unit]:
        return [u for m in self.members.values() if (u := m.unit()) is not None and u.context() is not None]

    def under(self) -> Under:
        """Of the settings that it shows now."""
        return next((self.unders[spec] for u in self.live() if (spec := getattr(u.now, "spec", u.now)) in self.unders), Under())


def _code(unit: Unit) -> Any:
    """Of the function that the unit runs."""
    module = unit.module()
    if module is not None:
        return getattr(type(module).forward, "__code__", None)
    for wrapper in unit.alive():
        return getattr(getattr(wrapper, "_torchdynamo_orig_callable", None), "__code__", None)
    return None


def _place(code: Any) -> tuple[str, int, str] | None:
    return None if code is None else (code.co_filename, code.co_firstlineno, code.co_name)


def _count() -> int:
    return core.loaded().count() if core.loaded() is not None else 0


# Units.


@core.shield()
def born(unit: Unit) -> None:
    """A unit was named: listens to its first call."""
    if unit.index in _wholes and not unit.known or len(_wholes) >= MOST:
        return
    whole = _wholes[unit.index] = _whole(unit)
    member = whole.members[unit.index] = Member(unit, _count())

    def first_call(called: Unit) -> None:
        called.unlisten(first_call)
        member.called = _count()
        changed()

    unit.listen(first_call)
    if _window is not None:
        _window.add(unit)
    changed()


def _whole(unit: Unit) -> Whole:
    if unit.index in _wholes:
        return _wholes[unit.index]
    place = (unit.origin, unit.file, unit.line, unit.name)
    found = _by_place.get(place) or _compiled_again(unit)
    if found is None:
        found = Whole(unit)
    _by_place[place] = found
    return found


def _compiled_again(unit: Unit) -> Whole | None:
    """What the script had compiled, and the framework now compiles anew in its own wrapping."""
    module = unit.module()
    if module is None or unit.origin not in FRAMEWORKS:
        return None
    for whole in dict.fromkeys(_wholes.values()):
        for member in whole.members.values():
            inner = member.module()
            if member.called is None and whole.origin not in FRAMEWORKS and inner is not None and roots.covers(module, inner):
                whole.again = f"compiled again by {unit.origin}"
                del whole.members[member.index]
                return whole
    return None


def about(unit: Unit) -> dict[str, Any]:
    """What a unit event says beside its name: of which whole it is, and in which order things were wrapped."""
    whole = _wholes.get(unit.index)
    return {"whole": whole.index if whole is not None and whole.index != unit.index else None, "wraps": _wraps(unit.module())}


def _wraps(module: Any) -> list[str] | None:
    """Class names from the outermost to the innermost, of modules whose only child is what they wrap."""
    names: list[str] = []
    while module is not None and len(names) < 8:
        names.append(type(module).__name__)
        children = module.__dict__.get("_modules", {})
        only = next(iter(children), None) if len(children) == 1 else None
        module = children[only] if only in ("module", "_orig_mod", "_forward_module", "_fsdp_wrapped_module") else None
    return names if len(names) > 1 else None


# Compilations.


def _facts_of(name: str) -> effects.Facts:
    facts = _facts.setdefault(name, effects.Facts())
    while len(_facts) > MOST:
        _facts.popitem(last=False)
    return facts


def converted(name: str) -> None:
    """In torch's call-back at the end of a conversion, on the thread that compiled."""
    global _converted
    output = effects.output_of_conversion()
    if output is None:
        return
    _converted += 1
    _facts_of(name).dims = effects.symbolic(output)
    begin = begun(name)
    if begin is not None and begin.index is not None:
        for code in effects.traced(output)[1:]:
            if len(_traced) < 16 * MOST:
                _traced.setdefault(_place(code), begin.index)


def verified(index: int | None, graph: int, spec: Any, found: dict[str, Any]) -> None:
    """A graph was compared with eager."""
    whole = _wholes.get(-1 if index is None else index)
    if whole is not None:
        whole.unders.setdefault(spec, Under()).verified[graph] = found
        changed()


def padded(name: str, is_padded: bool, shapes: str) -> None:
    """Inductor decided on one product of matrices."""
    _facts_of(name).pads[shapes] = is_padded


def compiled(record: Any, index: int | None, spec: Any, name: str, frame: str | None, hit: str | None) -> None:
    """A record of torch's of one compilation."""
    whole = _wholes.get(-1 if index is None else index)
    if whole is None:
        return
    whole.unders.setdefault(spec, Under()).take(record, _facts.pop(name, None), frame, hit, _count())
    changed()


def forget() -> None:
    """torch dropped all it had compiled."""
    _traced.clear()
    _facts.clear()
    for whole in _wholes.values():
        whole.unders.clear()
        whole.looks = Looks(settings_now())


def let_go(specs: list[Any]) -> None:
    """What was compiled under these is gone."""
    for whole in _wholes.values():
        for spec in specs:
            whole.unders.pop(spec, None)


# Looks.


class Call:
    """One call of a unit in a step that is looked at."""

    __slots__ = ("unit", "found", "missed", "before", "begun", "lookup_ns")

    def __init__(self, unit: Unit):
        self.unit, self.found, self.missed, self.before = unit, 0, 0, _converted
        self.lookup_ns: int | None = None  # from `begun` to torch's answer; None: something else ran before it
        self.begun = 0

    def looked_up(self, found: bool, now: int) -> None:
        if found and not self.found + self.missed and _is_called_by_torch():
            self.lookup_ns = now - self.begun
        self.found += found
        self.missed += not found


def _is_called_by_torch() -> bool:
    """What was looked up is what the unit runs, and not code that its own, or a module's hook, has come to."""
    frame: Any = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename in OURS or frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl")):
        frame = frame.f_back
    return frame is not None and units.is_entry(frame.f_code)


class Window:
    """One step that is looked at."""

    def __init__(self, variant: int):
        self.variant, self.left, self.is_over = variant, MOST_CALLS, False
        self.stack: list[Call] = []
        self.calls: dict[Whole, list[int]] = {}  # calls, those that ran compiled code, frames entered, look-ups that found none
        self.lookups: dict[Whole, list[int]] = {}  # ns, of those calls where it is known
        self.units: list[weakref.ref[Unit]] = []
        self.hook = lambda unit: self.at_call(unit)  # no bound method, for which looks at a single call would wait
        for unit in units.all_units():
            self.add(unit)
        self.stop = layout.insides.listen_to_lookups(self.looked_up)

    def add(self, unit: Unit) -> None:
        if len(self.units) % 256 == 255:
            self.units = [ref for ref in self.units if ref() is not None]
        if unit.index in _wholes and self.left > 0 and len(self.units) < MOST_CALLS:
            self.calls.setdefault(_wholes[unit.index], [0, 0, 0, 0])
            self.units.append(weakref.ref(unit))
            unit.listen(self.hook, first=True)  # who listens to look-ups since before the call leaves last

    def looked_up(self, found: bool) -> None:
        now = time.perf_counter_ns()
        if self.stack and threading.get_ident() == thread():
            self.stack[-1].looked_up(found, now)

    def at_call(self, unit: Unit) -> Callable[[], None] | None:
        """Listener of units."""
        if threading.get_ident() != thread():
            return None
        self.left -= 1
        if self.left <= 0:
            self.unlisten()
            return None
        call = Call(unit)
        self.stack.append(call)

        def left() -> None:
            while self.stack and (last := self.stack.pop()) is not call:
                self.count(last)
            self.count(call)
            if self.is_over and not self.stack:
                self.stop()

        call.begun = time.perf_counter_ns()
        return left

    def count(self, call: Call) -> None:
        sums, made = self.calls.get(_wholes.get(call.unit.index)), _converted - call.before
        if sums is not None and not self.is_over:
            for place, more in enumerate((1, int(call.found + made > 0), call.found + made, max(call.missed - made, 0))):
                sums[place] += more
            if call.lookup_ns is not None:
                self.lookups.setdefault(_wholes[call.unit.index], []).append(call.lookup_ns)

    def close(self) -> None:
        """The step is over. A call that is still going on, of a compiled optimizer, counts as it is, and who listens inside leaves first;
        one with which the next step begins does not count."""
        for call in () if is_by_call() else self.stack:
            self.count(call)
        self.is_over = True
        self.unlisten()
        if not self.stack:
            self.stop()

    def unlisten(self) -> None:
        for ref in self.units:
            if (unit := ref()) is not None:
                unit.unlisten(self.hook)
        self.units = []


@core.shield()
def boundary(count: int) -> None:
    """Between two steps: what the step that ended showed is judged, and another one may be looked at."""
    global _changed, _window
    if _window is not None:
        window, _window = _window, None
        window.close()
        _take(window)
        _changed = True
    is_due = bool(_wholes) and 0 < _next <= count
    is_blind = is_due and layout.insides.hook_lookups is None  # a torch that tells nobody of its look-ups: judged by what else is known
    if is_blind:
        _look_after(count)
    if _changed or is_blind:
        _changed = False
        for whole in list(dict.fromkeys(_wholes.values())):
            _judge(whole, count)
    if not is_due or is_blind:
        return
    if is_measuring():
        wake_after(count + 16)
    elif _can_look():
        _window = Window(settings_now())
        wake_boundary()
        _look_after(count)


def _look_after(count: int) -> None:
    """The next look comes after a pause, each twice as long as the one before."""
    global _next, _pause
    _next, _pause = count + 1 + _pause, min(2 * _pause, LONGEST)
    wake_after(_next)


def _can_look() -> bool:
    """Not within a call in which somebody listens to look-ups, who would leave before us: a boundary inside a compiled optimizer."""
    if is_by_call() or not units.on_stack() or not layout.insides.is_listened_to():
        return True
    wake_boundary()
    return False


@core.shield()
def flipped() -> None:
    """Other settings are in force: looked at when they have been for some steps, so that who flips often pays nothing for it."""
    global _flip, _next, _pause
    _flip = _count()
    _next, _pause = max(_flip, 1) + SETTLED, 1
    wake_after(_next)


@core.shield()
def changed() -> None:
    """Something may be otherwise than before: the next steps are looked at."""
    global _changed, _next, _pause
    _changed, _next, _pause = True, max(_count(), 1), 1
    wake_boundary()


def _take(window: Window) -> None:
    codes = _codes(window)
    for whole, (calls, compiled_, entered, missed) in window.calls.items():
        looks = whole.looks
        if looks.variant != window.variant:
            looks = whole.looks = Looks(window.variant)
        looks.steps, looks.idle = looks.steps + 1, 0 if calls else looks.idle + 1
        looks.calls, looks.compiled = looks.calls + calls, looks.compiled + compiled_
        looks.entered, looks.missed = looks.entered + entered, looks.missed + missed
        if entered:
            looks.ids, looks.ran = _ran(whole, codes)
        if len(lookups := window.lookups.get(whole, [])) == calls > 0:
            looks.lookup_ns = min(sum(lookups), looks.lookup_ns or sum(lookups))


def _codes(window: Window) -> dict[Any, list[Any]]:
    codes: dict[Any, list[Any]] = {}
    if any(sums[2] for sums in window.calls.values()):
        for code in layout.insides.codes():
            codes.setdefault(_place(code), []).append(code)
    return codes


def _ran(whole: Whole, codes: dict[Any, list[Any]]) -> tuple[list[str], int | None]:
    """Compile ids of what ran last in each code of it, the one in front, and the settings that they were compiled under."""
    inside, ids = layout.insides, []
    region = next((getattr(u.context(), "_isolate_recompiles_id", None) for u in whole.live()), None)
    region = None if region is None or region < 0 or inside.region_entries is None else region
    for place in list(whole.under().places)[:64]:
        for code in codes.get(place, ()):
            found = inside.entries(code) if region is None else inside.region_entries(code, region)
            if found:
                ids.append(effects.named(found[0].compile_id))
    variants = {known.variant for one in ids if (known := begun(one)) is not None}
    return ids, variants.pop() if len(variants) == 1 else None


# Judging.


def _judge(whole: Whole, count: int) -> None:
    variant = settings_now()
    for index, member in list(whole.members.items()):
        if member.is_gone() and (whole.origin == "inductop" or (member.called is not None and len(whole.members) > 1) or _heir(whole, member)):
            del whole.members[index]  # it had its time
    if not whole.members:
        if whole.told is not None and whole.state != "gone":
            whole.state, whole.since = "gone", count
            _tell(whole, "another one has taken its place", variant, count)
        return
    if whole.looks.variant != variant:
        whole.looks = Looks(variant)
    state, why = _state(whole, count)
    if state != whole.state:
        whole.state, whole.since = state, count if whole.flip == _flip else _flip
    whole.flip = _flip
    _tell(whole, why, variant, count)


def _state(whole: Whole, count: int) -> tuple[str, str | None]:
    apart = [_uncalled(whole, member, count) for member in whole.members.values() if member.called is None]
    worst = min(apart, key=lambda one: [*TROUBLES, one[0]].index(one[0]), default=None)
    if worst is not None and len(apart) == len(whole.members):
        return worst
    if (last := next((m for m in whole.members.values() if m.called is not None and m.is_gone()), None)) is not None:
        return _after_its_end(whole, last)
    state, why = _of_calls(whole)
    if worst is not None and worst[0] in TROUBLES and state not in TROUBLES:
        same = sum(one[0] == worst[0] for one in apart)
        return worst[0], f"{same} of {len(whole.members)}: {worst[1]}"
    return state, why


def _uncalled(whole: Whole, member: Member, count: int) -> tuple[str, str | None]:
    unit, age = member.unit(), count - member.born
    if member.is_gone():
        return "dropped", f"what torch.compile gave{whole.where} was dropped before it was called"
    if unit is not None and unit.is_eager:
        return "off", "the settings want it eager"
    if (part := _part_of(whole, member)) is not None:
        return "part", f"its code is compiled as part of {part.name} (unit {part.index})"
    if (heir := _heir(whole, member)) is not None and any(m.called is not None for m in heir.members.values()):
        return "part", f"what it compiles is run by {heir.name} (unit {heir.index})"
    if whole.origin == "inductop":
        return "waiting", "not called yet"
    if member.copied:
        return "waiting", "a copy of a compiled module, not called yet"
    member.trained |= age >= 2 and effects.is_trained(member.module())
    if member.trained:
        return "bypassed", "its code was never entered, yet its parameters are trained: the module itself or another method of it is called"
    if age >= NEVER:
        return "never called", f"never called in {age} steps"
    return "waiting", "not called yet"


def _heir(whole: Whole, member: Member) -> Whole | None:
    """Another whole that compiles what this one does."""
    module = member.module()
    for other in dict.fromkeys(_wholes.values()) if module is not None else ():
        if other is not whole and any(m is not None and roots.covers(m, module) for m in (unit.module() for unit in other.live())):
            return other
    return None


def _after_its_end(whole: Whole, member: Member) -> tuple[str, str]:
    member.trained = whole.state in ("gone", "rebound") and (member.trained or effects.is_trained(member.module()))
    gone = f"what torch.compile gave{whole.where} is gone"
    return ("rebound", f"{gone}, and its parameters are trained without it") if member.trained else ("gone", gone)


def _part_of(whole: Whole, member: Member) -> Whole | None:
    """The unit in whose frames the code of this one was compiled."""
    other = _wholes.get(_traced.get(member.code, -1)) if member.code is not None else None
    return other if other is not whole else None


def _of_calls(whole: Whole) -> tuple[str, str | None]:
    alive, looks, under = whole.live(), whole.looks, whole.under()
    if alive and all(u.is_eager for u in alive):
        return "off", "the settings want it eager"
    if (stance := layout.insides.stance()) != "default":
        return "off", f"the job's own stance is {stance}"
    if (limit := under.first("limit")) is not None:
        old = "what was compiled before still runs where it fits" if looks.compiled or not looks.calls else "nothing that was compiled fits any more"
        return "limit", f"{limit['why']} was reached in {limit['frame']}: what is new to it runs eager since step {limit['step']}; {old}"
    if looks.idle >= IDLE:
        return "idle", f"not called in the last {looks.idle} steps that were looked at"
    skipped = under.first("skipped")
    if not looks.calls:
        return ("on", None) if under.first("compiled") else ("waiting", "not looked at yet")
    if not looks.compiled or under.frames and under.number("empty") == len(under.frames):
        return "eager", _why_eager(whole, under)
    if looks.compiled < looks.calls or looks.missed:
        return "partly", f"{looks.compiled} of {looks.calls} calls ran compiled code" + (f"; {skipped['frame']}: {skipped['why']}" if skipped else "")
    if skipped:
        return "partly", f"{skipped['frame']} runs eager: {skipped['why']}"
    return "on", None


def _why_eager(whole: Whole, under: Under) -> str:
    if (skipped := under.first("skipped")) is not None:
        return f"{skipped['frame']}: {skipped['why']}"
    if under.first("empty") is not None:
        return "there is no tensor operation in it"
    code = next((c for u in whole.live() if (c := _code(u)) is not None), None)
    return effects.skip_rule(code) or "torch compiled nothing of it and does not say why"


def _trouble(whole: Whole, why: str | None, found: dict[str, str]) -> str | None:
    """What a person should know, as a sentence about the unit."""
    looks, graphs = whole.looks, found.get("cudagraphs", "")
    if whole.state in TROUBLES:
        return f"{TROUBLES[whole.state]}{why}"
    if whole.state == "partly" and looks.compiled < looks.calls:
        return f"runs partly eager: {why}"
    return f"asks for CUDA graphs and gets none: {graphs.partition(': ')[2]}" if graphs.startswith("skipped") else None


def _tell(whole: Whole, why: str | None, variant: int, count: int) -> None:
    looks, under = whole.looks, whole.under()
    unit = next(iter(whole.live()), None)
    called = any(m.called is not None for m in whole.members.values())
    found = effects.settings(unit, under, looks.steps, optimizers()) if unit is not None and called and whole.state != "off" else {}
    state = f"{whole.state}: {why}" if whole.state in ("limit", "part", *TROUBLES) else whole.state
    share = None if not looks.calls else looks.compiled * 20 // looks.calls
    told = (state, share, looks.ran, variant, len(whole.members), [(f["frame"], f["state"]) for f in under.worst()], found, looks.steps.bit_length())
    if told == whole.told:
        return
    whole.told = told
    lookup_us = None if looks.lookup_ns is None else round(looks.lookup_ns / 1e3, 1)
    seen = {"looked": looks.steps, "calls": looks.calls, "compiled": looks.compiled, "entered": looks.entered, "lookup_us": lookup_us}
    events.keep(
        "active",
        whole.index,
        unit=whole.index,
        name=whole.name,
        units=len(whole.members),
        state=whole.state,
        why=why or (whole.again or None),
        since=whole.since,
        variant=variant,
        ran=looks.ran,
        ids=looks.ids[:16] or None,
        skipped=under.number("skipped"),
        limited=under.number("limit"),
        frames=under.worst() or None,
        settings=found or None,
        trouble=_trouble(whole, why, found),
        **(seen if looks.steps and whole.state != "off" else {}),
    )


@core.shield()
def finished() -> None:
    """The job ends: what was not called now never will be."""
    global NEVER
    if core.loaded() is None or not _wholes:
        return
    NEVER = min(NEVER, 2)
    if _window is not None:
        _window.close()
    for whole in dict.fromkeys(_wholes.values()):
        if whole.told is None or any(m.called is None for m in whole.members.values()):
            _judge(whole, _count())
