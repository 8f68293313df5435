# SPDX-License-Identifier: Apache-2.0
"""Do two runs of one graph give the same? By torch's own rule for accuracy (torch/_dynamo/utils.py, same): all elements close, else the
error to a run in float64 at most 2 to 3 times eager's own plus a tenth of the tolerance; a cosine of at least 0.99, and lengths alike,
where there is none.

Unlike there each tensor is taken in units of its own root mean square, for most gradients are smaller than the tolerance; but never of
less than LEAST of that of all outputs or all gradients, for what should be zero is noise. Elements that are infinite, or nearly, on both
sides alike (masks) are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

TOLERANCE = {True: 1e-2, False: 1e-3}  # with gradients and without: torch's, of benchmarks/dynamo/huggingface.py
COSINE = 0.99
NORM = 0.03  # by which lengths may differ then: a cosine does not see that all is five per cent off
LEAST = {"outputs": 1e-6, "gradients": 1e-3}
HUGE = 1e30


class Figures:
    """What one run gave: names to tensors, and the loss."""

    def __init__(self) -> None:
        self.outputs: dict[str, Any] = {}
        self.gradients: dict[str, Any] = {}  # of `scale` times the loss
        self.written: dict[str, int] = {}  # outputs that are inputs written to, by place of the input
        self.loss: float | None = None
        self.scale = 1.0

    def norm(self) -> float | None:
        squares = [float(_plain(g).square().sum()) for g in self.gradients.values()]
        return math.sqrt(sum(squares)) / self.scale if squares else None


class Verdict:
    """Of one tensor. `error`: root mean square of the difference over that of eager's; infinite: `why`."""

    __slots__ = ("error", "rule", "same", "why")

    def __init__(self, error: float, rule: str, same: bool, why: str | None = None):
        self.error, self.rule, self.same, self.why = error, rule, same, why


def judge(expected: Figures, seen: Figures, exactly: Callable[[], Figures | None]) -> dict[str, Any] | None:
    """Fields of a verify event; None: there is nothing to compare. `exactly` gives the run in float64, and is asked once if it is needed."""
    verdicts: dict[str, Verdict] = {}
    exact: list[Figures | None] = []

    def truth(part: str, name: str) -> Any:
        if not exact:
            exact.append(exactly())
        return getattr(exact[0], part).get(name) if exact[0] is not None else None

    for part in ("outputs", "gradients"):
        if not all(one.same for one in verdicts.values()):
            break  # gradients of what is wrong are wrong
        ours, theirs = getattr(seen, part), getattr(expected, part)
        least = LEAST[part] * _common(theirs)
        for name in dict.fromkeys([*theirs, *ours]):
            if name not in ours or name not in theirs:
                verdicts[name] = Verdict(math.inf, "close", False, "is there in one of them only")
                continue
            verdicts[name] = _tensor(theirs[name], ours[name], TOLERANCE[bool(expected.gradients)], least, lambda p=part, n=name: truth(p, n))
    if not verdicts:
        return None
    name, worst = max(verdicts.items(), key=lambda item: (not item[1].same, item[1].error))
    if worst.same and expected.gradients and expected.norm() == 0:
        return {"verdict": "n/a", "why": "all its gradients are 0, in eager too"}
    fields = {
        "verdict": "same" if worst.same else "differs",
        "why": worst.why,
        "worst": name,
        "error": worst.error,
        "rule": next(r for r in ("cosine", "float64", "close") if any(one.rule == r for one in verdicts.values())),
        "loss": seen.loss,
        "eager_loss": expected.loss,
        "gradient": seen.norm(),
        "eager_gradient": expected.norm(),
    }
    return {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in fields.items()}


def _plain(tensor: Any) -> Any:
    import torch

    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).detach().double().reshape(-1)


def _rms(flat: Any) -> float:
    return float(flat.square().mean().sqrt()) if flat.numel() else 0.0


def _common(tensors: dict[str, Any]) -> float:
    """Root mean square of all, without what is infinite or nearly so."""
    flats = [_plain(one) for one in tensors.values()]
    flats = [flat[flat.abs() < HUGE] for flat in flats]
    count = sum(flat.numel() for flat in flats)
    return math.sqrt(sum(float(flat.square().sum()) for flat in flats) / count) if count else 0.0


def _tensor(expected: Any, seen: Any, tolerance: float, least: float, truth: Callable[[], Any]) -> Verdict:
    import torch

    if expected.shape != seen.shape or expected.dtype != seen.dtype:
        return Verdict(math.inf, "close", False, "is of another kind or size")
    a, b = _plain(expected), _plain(seen)
    kept = (a.abs() < HUGE) | (b.abs() < HUGE) | ((a != b) & ~(a.isnan() & b.isnan()))
    a, b = a[kept], b[kept]
    if not bool((a.isfinite() & b.isfinite()).all()):
        return Verdict(math.inf, "close", False, "has NaN or infinity where the other has none")
    scale = max(_rms(a), least) or 1.0
    a, b = a / scale, b / scale
    error = _rms(a - b)
    if torch.allclose(a, b, rtol=tolerance, atol=tolerance):
        return Verdict(error, "close", True)
    exact = truth()
    if exact is not None and exact.shape == expected.shape and bool((c := _plain(exact)[kept] / scale).isfinite().all()):
        times = 3.0 if expected.dtype in (torch.float16, torch.bfloat16) or a.numel() < 1000 else 2.0
        return Verdict(error, "float64", _rms(b - c) <= times * _rms(a - c) + tolerance / 10)
    cosine = torch.nn.functional.cosine_similarity(a, b, dim=0, eps=1e-12)
    return Verdict(error, "cosine", bool(cosine >= COSINE) and abs(_rms(b) - _rms(a)) <= NORM * _rms(a))
