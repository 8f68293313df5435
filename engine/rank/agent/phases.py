# SPDX-License-Identifier: Apache-2.0
"""Steps by phase: puts the core's stopwatch around the data loader's next batch and around the autograd engine (engine/rank/phases.h)."""

from __future__ import annotations

import sys
from typing import Any

from . import core

DATA, BACKWARD = 1, 4  # bits of enum step_valid (engine/wire/record.h)


@core.shield()
def watch(torch: Any) -> None:
    """Once, in a process that trains. Where torch has no such places the phases are missing."""
    timed = core.loaded().timed
    engine = getattr(torch.autograd, "_engine_run_backward", None)
    if engine is not None:
        torch.autograd._engine_run_backward = watched = timed(BACKWARD, engine)
        if getattr(torch.autograd.graph, "_engine_run_backward", None) is engine:
            torch.autograd.graph._engine_run_backward = watched  # whence torch puts it back after tracing a backward
    loader = sys.modules.get("torch.utils.data.dataloader")
    batches = getattr(loader, "_BaseDataLoaderIter", None)
    if batches is not None and "__next__" in vars(batches):
        batches.__next__ = timed(DATA, vars(batches)["__next__"])
