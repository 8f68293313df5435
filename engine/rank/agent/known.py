# SPDX-License-Identifier: Apache-2.0
"""What the installed torch knows: backends, modes, options and their types. Asked only when settings are proposed."""

from __future__ import annotations

import ast
import types
import typing
from typing import Any

from . import settings as text

FLAGS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


class Refused(Exception):
    """A setting that cannot act; its text is the reason."""


def modes() -> dict[str, dict[str, Any]]:
    from torch._inductor import list_mode_options

    return typing.cast(dict, list_mode_options())


def backends() -> list[str]:
    import torch._dynamo

    return sorted(torch._dynamo.list_backends(exclude_tags=()))


def mode_options(mode: str, dynamic: bool | None) -> dict[str, Any]:
    from torch._inductor import list_mode_options

    if mode not in modes():
        raise Refused(f"mode '{mode}' is not known{text.nearest(mode, modes())} (modes: {', '.join(modes())})")
    return dict(list_mode_options(mode, dynamic))


def check_backend(name: str) -> None:
    if name not in backends():
        raise Refused(f"backend '{name}' is not known{text.nearest(name, backends())}")


def option(name: str, value: str) -> tuple[str, Any]:
    """Name and typed value of one inductor option."""
    from torch._inductor import config

    name = name.replace("-", "_")
    known = config.get_config_copy()
    if name not in known:
        raise Refused(f"option '{name}' is not known{text.nearest(name, known)}")
    wanted = config.get_type(name)
    try:
        return name, _typed(value, wanted)
    except (ValueError, SyntaxError, LookupError):
        named = getattr(wanted, "__name__", None) or str(wanted)
        raise Refused(f"wrong type for 'options.{name}': '{value}' is not {named}") from None


def _typed(value: str, wanted: Any) -> Any:
    if isinstance(wanted, types.UnionType) or typing.get_origin(wanted) is typing.Union:
        kinds = typing.get_args(wanted)
        if type(None) in kinds and value.lower() in ("none", ""):
            return None
        for kind in sorted((k for k in kinds if k is not type(None)), key=lambda k: k is str):
            try:
                return _typed(value, kind)
            except (ValueError, SyntaxError, LookupError):
                continue
        raise ValueError(value)
    if wanted is bool:
        return FLAGS[value.lower()]
    if wanted in (int, float):
        return wanted(value)
    if wanted is str:
        return value
    if typing.get_origin(wanted) is typing.Literal:
        return next(v for v in typing.get_args(wanted) if str(v).lower() == value.lower())
    got = ast.literal_eval(value)
    kind = typing.get_origin(wanted) or wanted
    if isinstance(kind, type) and not isinstance(got, kind):
        raise ValueError(value)
    return got
