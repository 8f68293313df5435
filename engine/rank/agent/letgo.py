# SPDX-License-Identifier: Apache-2.0
"""Letting go of settings: what was compiled under them is freed, by the way that torch itself drops versions whose objects are gone.

Versions of other settings, and of what the script compiles, stay. A call that is under way keeps what it runs until it returns.
"""

from __future__ import annotations

from . import active, answers, layout, regional, switch, units, wish
from .known import Refused
from .settings import Settings
from .units import Unit
from .variants import Spec, Variant


def _specs(settings: Settings) -> set[Spec]:
    out = wish.resolve(settings)
    return {target for _, target in out.units if isinstance(target, Spec)} | {spec for _, spec in out.modules}


def _given(settings: Settings, current: Settings) -> list[Spec]:
    """What only these settings need. Raises Refused."""
    kept = _specs(current)
    found = [spec for spec in _specs(settings) - kept if spec in Variant.all and Variant.all[spec].versions]
    if not found:
        raise Refused("nothing is compiled under these settings alone")
    return found


def check(settings: Settings, current: Settings) -> None:
    if layout.insides is None or layout.insides.switching != "live":
        raise Refused("settings are not switched live here: their code cannot be told apart")
    _given(settings, current)


def _forget(unit: Unit, specs: list[Spec]) -> None:
    for spec in specs:
        if spec in unit.states and unit.now is not unit.states[spec]:
            del unit.states[spec]


def let_go(settings: Settings, current: Settings) -> dict[str, int]:
    """At a boundary. Returns what was freed."""
    try:
        specs = _given(settings, current)
    except Refused:
        specs = []  # what was there when it was asked is gone since
    variants = [Variant.all.pop(spec) for spec in specs]
    active.let_go(specs)
    functions = len({code for variant in variants for code in variant.owned})
    versions = sum(answers.drop(manager, "inductop let it go") for variant in variants for manager in list(variant.versions))
    for unit in [*units.all_units(), *(one.unit for one in regional.everything())]:
        _forget(unit, specs)
    switch.forget_checked()
    return {"versions": versions, "functions": functions}
