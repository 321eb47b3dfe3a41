"""How far points are from the conditions that hold at the optimum (Karush, Kuhn, Tucker).

In plain float64, for those who look at them: no claim rests on these numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_VISIBLE = 1e-6
# A multiplier this close to its cost is at its cost: the exact balance moved it by rounding.
_NEAR = 1e-12


@dataclass(frozen=True)
class Violation:
    """One kind of optimality condition: how many rows miss it visibly, and the most any does."""

    kind: str
    rows: int
    largest: float

    @classmethod
    def of(cls, kind: str, misses: np.ndarray) -> Violation:
        """Count the misses that are visible."""
        return cls(kind, int((misses > _VISIBLE).sum()), float(misses.max(initial=0.0)))


def violations(
    loss: str,
    costs: np.ndarray,
    alpha: np.ndarray,
    margins: np.ndarray,
    w: np.ndarray,
    ridge: float,
    total: np.ndarray,
) -> tuple[Violation, ...]:
    """List them for two classes: `total` is the sum of rows that the multipliers alpha make."""
    used = costs > 0.0
    a, c, m = alpha[used], costs[used], margins[used]
    found: list[Violation] = []
    with np.errstate(over="ignore", invalid="ignore"):
        if loss == "hinge" or np.isinf(c).any():
            idle, bound = a == 0.0, a >= (1.0 - _NEAR) * c
            between = abs(m - 1.0)[~idle & ~bound]
            found += [
                Violation.of("no multiplier, yet a margin below 1", (1.0 - m)[idle]),
                Violation.of("multiplier at its cost, yet a margin above 1", (m - 1.0)[bound]),
                Violation.of("multiplier between, yet a margin that is not 1", between),
            ]
        else:
            square = loss == "squared_hinge"
            slope = 2.0 * np.maximum(0.0, 1.0 - m) if square else 0.5 * (1.0 - np.tanh(m / 2.0))
            off = abs(a / c - slope)
            found.append(Violation.of("multiplier that is not the loss's slope", off))
        found.append(_off_the_sum(w, ridge, total))
    return tuple(found)


def violations_by_class(
    costs: np.ndarray,
    rows: np.ndarray,
    rivals: np.ndarray,
    multipliers: np.ndarray,
    slopes: np.ndarray,
    codes: np.ndarray,
    W: np.ndarray,
    totals: np.ndarray,
) -> tuple[Violation, ...]:
    """List them for many classes at once; `slopes` are 1[k != y] + score_k."""
    with np.errstate(over="ignore", invalid="ignore"):
        highest = slopes.max(axis=1, initial=-math.inf)
        farther = (highest[rows] - slopes[rows, rivals])[multipliers > 0.0]
        spent = np.bincount(rows, multipliers, minlength=len(codes))
        left = costs - spent > _NEAR * costs
        short = (highest - slopes[np.arange(len(codes)), codes])[left]
        return (
            Violation.of("multiplier for a class that is not the nearest", farther),
            Violation.of("multipliers below the cost, yet a margin below 1", short),
            _off_the_sum(W, 1.0, totals),
        )


def _off_the_sum(w: np.ndarray, ridge: float, total: np.ndarray) -> Violation:
    """Say how far weights are from the sum of rows that multipliers make, as a share of both."""
    length = float(np.linalg.norm(w))
    away = float(np.linalg.norm(ridge * w - total)) / length if length > 0.0 else 0.0
    return Violation.of("weights that are not the sum of rows", np.array([away]))
