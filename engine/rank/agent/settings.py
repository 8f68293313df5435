# SPDX-License-Identifier: Apache-2.0
"""Settings as text: a flat dict of key to value, both text. An absent key is "as written by the script"."""

from __future__ import annotations

import difflib
import functools
import json
import os
from collections.abc import Iterable

Settings = dict[str, str]

AS_WRITTEN = "as-written"
LIVE = ("scope", "backend", "mode", "fullgraph", "dynamic", "cudagraphs", "shape_padding", "verify")
CHOICES = {
    "scope": ("whole", "regional", "eager"),
    "fullgraph": ("off", "on"),
    "dynamic": ("auto", "on", "off"),
    "cudagraphs": ("off", "on"),
    "shape_padding": ("on", "off", "force"),
    "verify": ("off", "on"),
}
_table: dict[str, dict] | None = None


def table() -> dict[str, dict]:
    """The rows of settings.json by key; empty when the file is missing or of another shape."""
    global _table
    if _table is None:
        _table = {}
        try:
            with open(os.path.join(os.path.dirname(__file__), "settings.json"), encoding="utf-8") as file:
                _table = {row["key"]: row for row in json.load(file)["settings"]}
        except (OSError, ValueError, LookupError, TypeError):
            pass
    return _table


def key(settings: Settings) -> int:
    """Number of a set of settings: 0 when empty, else FNV-1a 32 over its sorted lines, top bit cleared, never 0."""
    return _key(frozenset(settings.items())) if settings else 0


@functools.lru_cache(256)
def _key(pairs: frozenset[tuple[str, str]]) -> int:
    number = 0x811C9DC5
    for byte in b"".join(sorted(f"{name}={value}\n".encode() for name, value in pairs)):
        number = ((number ^ byte) * 0x01000193) & 0xFFFFFFFF
    return (number & 0x7FFFFFFF) or 1


def label(settings: Settings) -> str:
    """Short and readable: values in the order of the table, options by their own name."""
    order = {name: place for place, name in enumerate(table() or LIVE)}
    words = []
    for name in sorted(settings, key=lambda n: (order.get(n.rpartition("/")[2], len(order)), n)):
        value = settings[name]
        alone = table()[name].get("label") == "value" if name in table() else name in ("scope", "mode")
        words.append(value if alone else f"{name.replace('options.', '', 1)}={value}")
    return " ".join(words) or "as written"


def merge(settings: Settings, change: Settings) -> Settings:
    """`settings` after a change: "as-written" as a value removes its key, as a key without a value removes all."""
    merged = {} if change.get(AS_WRITTEN) == "" else dict(settings)
    for name, value in change.items():
        if value == AS_WRITTEN:
            merged.pop(name, None)
        elif name != AS_WRITTEN:
            merged[name] = value
    return merged


def of_unit(settings: Settings, name: str, index: int) -> Settings:
    """What holds for one unit: settings for all, then those given for it by name, then by index."""
    own = {k: v for k, v in settings.items() if "/" not in k}
    for owner in (name, str(index)):
        own.update((k.rpartition("/")[2], v) for k, v in settings.items() if k.rpartition("/")[0] == owner)
    return own


def owners(settings: Settings) -> set[str]:
    """Units that are named in keys."""
    return {name.rpartition("/")[0] for name in settings if "/" in name}


def nearest(word: str, known: Iterable[str]) -> str:
    """ (nearest: a, b), for the end of a refusal; empty when nothing is near."""
    names = list(known)
    near = difflib.get_close_matches(word, names, 3, 0.6) or [n for n in names if n.rpartition(".")[2] == word][:3]
    return f" (nearest: {', '.join(near)})" if near else ""


def refusal(name: str, value: str) -> str | None:
    """Why a pair cannot be a setting, as far as that can be told without torch; None when it can."""
    bare = name.rpartition("/")[2]
    if not isinstance(value, str):
        return f"value of '{name}' is no text"
    if bare.startswith("options.") and len(bare) > 8:
        return None
    if bare not in LIVE:
        row = table().get(bare)
        if row is not None and row.get("effect") != "live":
            return f"setting '{bare}' cannot be switched live: it takes effect at the {row.get('effect', 'restart')}"
        known = dict.fromkeys([*LIVE, *(k for k in table() if "*" not in k)])
        return f"setting '{bare}' is not known{nearest(bare, known)}"
    if bare in CHOICES and value not in CHOICES[bare]:
        return f"'{value}' is no value of '{bare}' (values: {AS_WRITTEN}, {', '.join(CHOICES[bare])})"
    return None


def contradiction(before: Settings, after: Settings) -> str | None:
    """torch takes mode or options, never both: nor does one change."""
    fresh = {name.rpartition("/") for name in after if after[name] != before.get(name)}
    for owner in {parts[0] for parts in fresh}:
        keys = [parts[2] for parts in fresh if parts[0] == owner]
        options = sorted(k for k in keys if k.startswith("options."))
        if "mode" in keys and options:
            return f"either mode or options can be given, not both at the same time (mode and {options[0]})"
    return None
