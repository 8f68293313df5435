# SPDX-License-Identifier: Apache-2.0
"""What settings mean for everything that the job has: which unit shows what, which modules are compiled in place, and what cannot be."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from . import layout, regional, roots, units
from . import settings as text
from .known import Refused
from .settings import Settings
from .units import EAGER, WRITTEN, Unit
from .variants import Author, Spec, Variant, wanted

MOST_ENTRIES = 128

optimizers: Callable[[], Iterable[Any]] = tuple  # those that the job steps
stepped = False  # one of them has


class Wish:
    """What settings mean for everything that the job has now; kept as long as nothing is born, so it holds none of it."""

    def __init__(self) -> None:
        self.weak_units: weakref.WeakKeyDictionary[Unit, Any] = weakref.WeakKeyDictionary()  # WRITTEN, EAGER or Spec
        self.weak_modules: list[tuple[weakref.ref[Any], Spec]] = []  # to be compiled in place
        self.incomplete = False  # roots are not known yet
        self.births = units.births

    @property
    def units(self) -> list[tuple[Unit, Any]]:
        return list(self.weak_units.items())

    @property
    def modules(self) -> list[tuple[Any, Spec]]:
        return [(m, spec) for ref, spec in self.weak_modules if (m := ref()) is not None]

    def add(self, modules: Iterable[Any], spec: Spec) -> None:
        known = {id(m) for m, _ in self.modules} | {id(u.module()) for u, target in self.units if target is not EAGER}
        for module in modules:
            if id(module) not in known and not regional.compiled_by_script(module):
                known.add(id(module))
                self.weak_modules.append((weakref.ref(module), spec))


def _scope(unit: Unit, wish: Settings) -> str:
    return wish.get("scope", text.AS_WRITTEN)


def _spec(unit: Unit, wish: Settings) -> Any:
    spec = wanted(unit.author, {k: v for k, v in wish.items() if k != "scope"})
    return WRITTEN if spec == unit.author_spec else spec


def own_spec(wish: Settings) -> Spec:
    return wanted(Author("inductor", inductor=True), {k: v for k, v in wish.items() if k != "scope"})


def _runs_models(unit: Unit) -> bool:
    """May a compiled function run the job's models? A method of an optimizer and a loss do not."""
    is_step = unit.name.endswith(".step") and unit.module() is None
    return not is_step and unit.holds_parameters is not False


def _resolve_unit(unit: Unit, wish: Settings, out: Wish, tops: list[Any]) -> None:
    scope, module = _scope(unit, wish), unit.module()
    if scope == "eager":
        out.weak_units[unit] = EAGER
        return
    if scope == "regional":
        mine = regional.blocks(module) if module is not None else []
        if not mine and module is None and _runs_models(unit):
            mine = [b for top in tops for b in regional.blocks(top)]
        if mine:
            out.weak_units[unit] = EAGER
            out.add(mine, own_spec(wish))
            return
    out.weak_units[unit] = _spec(unit, wish)


def resolve(settings: Settings, only: Unit | None = None) -> Wish:
    """Raises Refused where something cannot be. With `only`, for one unit that was just born."""
    out = Wish()
    everyone = [u for u in units.all_units() if u.origin != "inductop"]
    scope = settings.get("scope")
    tops: list[Any] = []
    if scope in ("whole", "regional") and only is None:
        tops = roots.roots(optimizers())
        out.incomplete = not tops
    for unit in everyone if only is None else [only]:
        _resolve_unit(unit, text.of_unit(settings, unit.name, unit.index), out, tops)
    _inner_eager(out)
    if only is None:
        _resolve_roots(settings, out, tops, everyone)
    return out


def _inner_eager(out: Wish) -> None:
    """Units inside a unit that is eager by its own setting go eager with it."""
    modules = [m for u, t in out.units if t is EAGER and (m := u.module()) is not None]
    if not modules or len(modules) == len(out.units):
        return
    inside = {id(part) for m in modules for part in m.modules()}
    for unit, target in out.units:
        module = unit.module()
        if target is not EAGER and module is not None and id(module) in inside and not out.weak_modules:
            out.weak_units[unit] = EAGER


def _resolve_roots(settings: Settings, out: Wish, tops: list[Any], everyone: list[Unit]) -> None:
    scope = settings.get("scope")
    if scope not in ("whole", "regional"):
        return
    wish = text.of_unit({k: v for k, v in settings.items() if "/" not in k}, "", -1)
    bare = [top for top in tops if not any(_covers(u, top) for u in everyone)]
    if scope == "whole":
        out.add(bare, own_spec(wish))
        if not tops and not everyone and stepped:
            raise Refused("no model was found: nothing owns the parameters that the optimizer steps")
        return
    out.add((b for top in bare for b in regional.blocks(top)), own_spec(wish))
    if not out.weak_modules and not (out.incomplete and not everyone) and not _regional_by_script(everyone, tops):
        raise Refused("no repeated blocks: regional needs a ModuleList whose elements are of one class")


def _covers(unit: Unit, top: Any) -> bool:
    module = unit.module()
    return roots.covers(module, top) if module is not None else _runs_models(unit)


def _regional_by_script(everyone: list[Unit], tops: list[Any]) -> bool:
    parts = [m for u in everyone if (m := u.module()) is not None]
    return any(not roots.covers(m, top) for m in parts for top in tops) or (not tops and len(parts) > 1)


def _modules(out: Wish) -> Iterable[Any]:
    yield from (m for u, _ in out.units if (m := u.module()) is not None)
    yield from (m for m, _ in out.modules)


def check_alone(settings: Settings) -> None:
    """What can be said before there is any unit. Raises Refused."""
    for name, value in settings.items():
        if reason := text.refusal(name, value):
            raise Refused(reason)
    if layout.insides.switching == "observe-only":
        raise Refused(f"observe only: {layout.insides.reason}")
    own = {k: v for k, v in settings.items() if "/" not in k}
    for owner in {"", *text.owners(settings)}:
        own_spec({**own, **{k.rpartition("/")[2]: v for k, v in settings.items() if k.rpartition("/")[0] == owner}})


def check_something(settings: Settings, out: Wish) -> None:
    if settings and not out.units and settings.get("scope") not in ("whole", "regional", "eager"):
        raise Refused("n/a: the job compiles nothing (scope whole or regional does)")


def check_owners(settings: Settings) -> None:
    names = {n for u in units.all_units() for n in (u.name, str(u.index))}
    for owner in text.owners(settings):
        if owner not in names:
            known_names = sorted({u.name for u in units.all_units()})
            raise Refused(f"no unit '{owner}'{text.nearest(owner, known_names)} (units: {', '.join(known_names[:8]) or 'none yet'})")


def check_device(settings: Settings, out: Wish, at_birth: bool = False) -> None:
    """At birth a model may not be where it will compute yet: only a machine without CUDA is sure then."""
    bare = {name.rpartition("/")[2]: value for name, value in settings.items()}
    asks = bare.get("cudagraphs") == "on" or bare.get("backend") == "cudagraphs"
    if not asks and "shape_padding" not in bare:
        return
    kind = "cuda" if at_birth and roots.has_cuda() else roots.device(_modules(out), optimizers())
    if asks and kind != "cuda":
        raise Refused("n/a: no CUDA device")
    if "shape_padding" in bare and kind == "cpu":
        raise Refused("n/a: no effect on CPU")


def check_units(out: Wish) -> None:
    import torch

    inside = layout.insides
    changing = [(u.module(), u, t) for u, t in out.units if isinstance(t, Spec)] + [(m, None, s) for m, s in out.modules]
    if not changing:
        return
    if getattr(torch._dynamo.config, "compiled_autograd", False):
        raise Refused("graph holds collectives, or may: compiled autograd is on")
    for module, unit, _ in changing:
        if module is not None and roots.collectives(module):
            raise Refused("graph holds collectives")
        if unit is not None and "aotinductor" in unit.author.named:
            raise Refused(f"unit '{unit}' uses AOTInductor")
    new = [t for _, _, t in changing if t not in Variant.all or not Variant.all[t].worked]
    if new and any(len(inside.entries(code)) >= MOST_ENTRIES for code in inside.codes()):
        raise Refused(f"a function has {MOST_ENTRIES} compiled versions already")
