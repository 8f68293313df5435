# SPDX-License-Identifier: Apache-2.0
"""The fall-back where torch's insides differ: the public torch.compiler.set_stance. All units at once; mode, options, backend, eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import layout
from .guard import Failure, explain
from .known import Refused
from .settings import Settings
from .variants import Author, Spec, Variant, wanted

_ours: Any = None  # torch's stance object after we set it; None: not ours
_forced: dict[Spec, Any] = {}


def _now() -> Any:
    return getattr(layout.insides.eval_frame, "_stance", True)


def ours() -> bool:
    return _ours is not None and _ours is _now()


def check(settings: Settings) -> None:
    for name, value in settings.items():
        bare = name.rpartition("/")[2]
        if name != bare:
            raise Refused("settings for one unit cannot be switched here: all units switch at once")
        if bare in ("dynamic", "fullgraph") or (bare == "scope" and value == "regional"):
            raise Refused(f"'{bare}' cannot be switched through torch.compiler.set_stance")
    if settings.get("scope") != "eager":
        _spec(settings)


def _spec(settings: Settings) -> Spec | None:
    wish = {k: v for k, v in settings.items() if k != "scope"}
    return wanted(Author("inductor", inductor=True), wish) if wish else None


def _backend(spec: Spec, failed: Callable[[Any, Failure], None]) -> Any:
    if spec not in _forced:
        real = Variant.of(spec).backend

        def forced(model: Any, inputs: Any, **kwargs: Any) -> Any:
            try:
                return real(model, inputs, **kwargs)
            except Exception as error:
                failed(None, explain(error, None, None))
                return model.forward

        _forced[spec] = forced
    return _forced[spec]


def apply(settings: Settings, failed: Callable[[Any, Failure], None]) -> None:
    """Raises Refused inside a compiled region."""
    global _ours
    import torch

    spec = None if settings.get("scope") == "eager" else _spec(settings)
    try:
        if settings.get("scope") == "eager":
            torch.compiler.set_stance("force_eager")
        elif spec is not None:
            torch.compiler.set_stance("default", force_backend=_backend(spec, failed))
        elif _ours is not None:
            torch.compiler.set_stance("default")
    except RuntimeError as error:
        raise Refused(f"torch refuses it: {error}") from None
    _ours = _now() if settings.get("scope") == "eager" or spec is not None else None
