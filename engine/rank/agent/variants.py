# SPDX-License-Identifier: Apache-2.0
"""Variants: what settings mean for a unit. A variant is one backend object and one cache region per process, shared by all units."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from . import known, layout, verify
from .known import Refused
from .settings import Settings

CARRIED = ("guard_filter_fn", "guard_fail_fn", "recompile_limit", "shapes_spec", "dynamic_shapes", "error_on_graph_break")


@dataclass
class Author:
    """What the script asked for in one torch.compile call."""

    backend: Any
    inductor: bool = False
    named: str = ""
    explicit: dict[str, Any] = field(default_factory=dict)
    by_mode: dict[str, Any] = field(default_factory=dict)
    fullgraph: bool = False
    dynamic: bool | None = None
    region_name: str | None = None
    carried: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Spec:
    """One normalised set of arguments of torch.compile; equal ones share everything."""

    backend: str  # a name that torch knows, or the identity of an object of the script
    options: tuple[tuple[str, str], ...]
    fullgraph: bool
    dynamic: bool | None
    region_name: str | None = None
    verifies: bool = False
    values: dict[str, Any] = field(default_factory=dict, compare=False)
    made: Any = field(default=None, compare=False)


def spec(backend: Any, options: dict[str, Any], fullgraph: bool, dynamic: bool | None, region_name: str | None, verifies: bool = False) -> Spec:
    name = backend if isinstance(backend, str) else f"#{id(backend)}"
    if verifies and backend == "inductor":
        options = {**options, **verify.OPTIONS}
    pairs = tuple(sorted((k, repr(v)) for k, v in options.items()))
    return Spec(name, pairs, fullgraph, dynamic, region_name, verifies, dict(options), backend)


def of_author(author: Author) -> Spec:
    options = {**author.by_mode, **author.explicit}
    backend = "inductor" if author.inductor else author.backend
    return spec(backend, options, author.fullgraph, author.dynamic, author.region_name)


def _inductor_options(author: Author, wish: Settings, dynamic: bool | None) -> dict[str, Any]:
    """Options of the author with the wishes over them; `mode` replaces what the author's mode gave."""
    options = dict(author.explicit) if author.inductor else {}
    if "mode" in wish:
        options.update(known.mode_options(wish["mode"], dynamic))
    elif author.inductor:
        options = {**author.by_mode, **options}
    if "cudagraphs" in wish:
        options["triton.cudagraphs"] = wish["cudagraphs"] == "on"
    padding = wish.get("shape_padding")
    if padding is not None:
        options["shape_padding"] = padding != "off"
        if padding == "force" or "force_shape_pad" in options:
            options["force_shape_pad"] = padding == "force"
    for name, value in wish.items():
        if name.startswith("options."):
            key, typed = known.option(name[8:], value)
            options[key] = typed
    return options


def wanted(author: Author, wish: Settings) -> Spec:
    """The spec of a unit under settings; raises Refused."""
    dynamic = {"auto": None, "on": True, "off": False}[wish["dynamic"]] if "dynamic" in wish else author.dynamic
    fullgraph = wish["fullgraph"] == "on" if "fullgraph" in wish else author.fullgraph
    backend: Any = wish.get("backend")
    if backend is not None:
        known.check_backend(backend)
        if backend == author.named and not getattr(author.backend, "kwargs", None):
            backend = None  # the script's own
    if backend is None:
        backend = "inductor" if author.inductor else author.backend
    verifies = wish.get("verify") == "on"
    if verifies and "cudagraphs" in (backend, author.named if backend is author.backend else ""):
        raise Refused("verify=on runs on copies, and graphs that backend=cudagraphs records are bound to the memory that they saw")
    if backend == "inductor":
        return spec(backend, _inductor_options(author, wish, dynamic), fullgraph, dynamic, author.region_name, verifies)
    for name in wish:
        if name in ("mode", "cudagraphs", "shape_padding") or name.startswith("options."):
            named = backend if isinstance(backend, str) else author.named
            raise Refused(f"'{name}' is for inductor, and the backend is '{named}'")
    own = backend is author.backend
    return spec(backend, {**author.by_mode, **author.explicit} if own else {}, fullgraph, dynamic, None, verifies)


class Variant:
    """Per process: identity of the backend and of the cache region."""

    all: dict[Spec, Variant] = {}

    def __init__(self, wanted_spec: Spec):
        self.spec = wanted_spec
        self.backend = _backend(wanted_spec)
        regions = layout.insides.regions if layout.insides else None
        self.region = next(regions) if regions is not None else None
        self.history: Any = None
        self.owned: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.versions: weakref.WeakSet[Any] = weakref.WeakSet()  # guards of what was compiled: they name its place in torch's cache
        self.worked = False

    @classmethod
    def of(cls, wanted_spec: Spec) -> Variant:
        if wanted_spec not in cls.all:
            cls.all[wanted_spec] = cls(wanted_spec)
        return cls.all[wanted_spec]

    @classmethod
    def forget(cls) -> None:
        """torch dropped all it had compiled."""
        for variant in cls.all.values():
            variant.history, variant.worked = None, False
            variant.owned.clear()
            variant.versions.clear()


def holds_collectives(graph_module: Any) -> bool:
    for module in graph_module.modules():
        graph = getattr(module, "graph", None)
        for node in getattr(graph, "nodes", ()):
            if node.op == "call_function" and "c10d" in str(getattr(node.target, "namespace", node.target)):
                return True
    return False


def _refuse_collectives(graph_module: Any) -> None:
    if holds_collectives(graph_module):
        raise Refused("graph holds collectives")


_classes: tuple[type, type] | None = None


def backend_classes() -> tuple[type, type]:
    """Backends with an identity of their own: torch's compare by configuration, and a flip back has to hit its own entries."""
    global _classes
    if _classes is None:
        import torch

        class Own:
            spec: Spec

            def __eq__(self, other: object) -> bool:
                return self is other

            __hash__ = object.__hash__

            def __deepcopy__(self, memo: Any) -> Any:
                return self

            def __call__(self, model_: Any, inputs_: Any, **kwargs: Any) -> Any:
                _refuse_collectives(model_)
                if not self.spec.verifies:
                    return super().__call__(model_, inputs_, **kwargs)
                return verify.wrap(model_, lambda: super(Own, self).__call__(model_, inputs_, **kwargs), self.spec)

        class Inductor(Own, torch._TorchCompileInductorWrapper):
            pass

        class Other(Own, torch._TorchCompileWrapper):
            pass

        _classes = Inductor, Other
    return _classes


def _backend(wanted_spec: Spec) -> Any:
    inductor, other = backend_classes()
    try:
        if wanted_spec.backend == "inductor":
            made = inductor(None, dict(wanted_spec.values), wanted_spec.dynamic)
            if wanted_spec.region_name is not None:
                made.name = wanted_spec.region_name
        else:
            fn = getattr(wanted_spec.made, "compiler_fn", wanted_spec.made)
            made = other(fn, None, None, wanted_spec.dynamic)
            made.kwargs = dict(getattr(wanted_spec.made, "kwargs", {}))
        made.spec = wanted_spec
        return made
    except Exception as error:
        lines = str(error).splitlines()
        raise Refused(f"torch refuses it: {lines[0][:200] if lines else type(error).__name__}") from None
