"""The two objectives of a kernel machine, and its pairs out of order, with rounding bounded."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from separatrix.certificates.data_pass import LEAST, UNIT

__all__ = ["Scored", "most_out_of_order", "objectives", "rounded_sum", "square_from_above"]


class Scored(NamedTuple):
    """The rows of one machine: `scores` without the bias, and how far off each score may be."""

    signs: np.ndarray
    costs: np.ndarray
    alpha: np.ndarray
    scores: np.ndarray
    margins: np.ndarray
    off: np.ndarray

    def with_a_sign(self) -> Scored:
        """Leave out the rows of classes that the machine does not tell apart."""
        if self.signs.all():
            return self
        mine = np.flatnonzero(self.signs)
        return Scored(*(each[mine] for each in self))


def objectives(rows: Scored) -> tuple[float, float]:
    """Return a number the objective does not exceed, and one that no machine falls below."""
    signs, costs, alpha, g, margins, off = rows
    used = costs > 0.0
    feasible = (
        np.isfinite(alpha).all()
        and (alpha >= 0.0).all()
        and (alpha <= costs).all()
        and math.fsum((signs * alpha).tolist()) == 0.0  # rounded once: zero only if it is zero
    )
    if not (np.isfinite(g).all() and np.isfinite(off).all()):
        return math.inf, -math.inf
    a = alpha[alpha > 0.0]
    square = square_from_above(signs * np.maximum(alpha, 0.0), g, off)
    if not math.isfinite(square):
        return math.inf, -math.inf
    lower = (margins - off)[used]
    total = rounded_sum(a) * (1.0 - 4.0 * UNIT)
    if np.isinf(costs).any():
        least = min(1.0, float(lower.min()))
        primal = 0.5 * square / least**2 * (1.0 + 8.0 * UNIT) if least > 0.0 else math.inf
        dual = 0.5 * total * (total / square) if square > 0.0 else -math.inf
    else:
        short = costs[used] * np.maximum(0.0, 1.0 - lower)
        primal = (0.5 * square + rounded_sum(short) * (1.0 + 4.0 * UNIT)) * (1.0 + 4.0 * UNIT)
        dual = total - 0.5 * square
    dual -= 4.0 * UNIT * (abs(dual) + square)
    return primal, dual if feasible else -math.inf


def most_out_of_order(rows: Scored) -> float:
    """Return by how much a row that may fall stands above one that may grow, at the most."""
    signs, costs, alpha, g, _, off = rows
    f = g - signs
    above, below = alpha > 0.0, alpha < costs
    grows = np.where(signs > 0.0, below, above)
    falls = np.where(signs > 0.0, above, below)
    if not (grows.any() and falls.any()):
        return 0.0
    return max(0.0, float((f + off)[falls].max()) - float((f - off)[grows].min()))


def square_from_above(shares: np.ndarray, scores: np.ndarray, off: np.ndarray) -> float:
    """Return a number that |w|^2 = sum shares * scores does not exceed, scores being off by `off`.

    Products are rounded once each and so is every sum, by a unit of the absolute terms at the most;
    products below the least normal number lose a least number.
    """
    used = shares != 0.0
    a, g = shares[used], scores[used]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        parts = (
            rounded_sum(a * g),
            rounded_sum(abs(a) * off[used]) * (1.0 + 4.0 * UNIT),
            rounded_sum(abs(a * g)) * 4.0 * UNIT,
            4.0 * LEAST * len(a),
        )
        total = rounded_sum(np.array(parts))
    # A square is not below zero, whatever rounding says.
    return max(0.0, total * (1.0 + 4.0 * UNIT)) if math.isfinite(total) else math.inf


def rounded_sum(values: np.ndarray) -> float:
    """Return the sum, rounded once."""
    try:
        return math.fsum(values.tolist())
    except (OverflowError, ValueError):
        return math.inf
