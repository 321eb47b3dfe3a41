"""The two objectives of a kernel machine, and its pairs out of order, with rounding bounded.

`g` are the scores of all rows without the bias, `off` how far each score may be off.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.certificates.data_pass import UNIT

__all__ = ["most_out_of_order", "objectives"]


def objectives(
    signs: np.ndarray,
    costs: np.ndarray,
    alpha: np.ndarray,
    g: np.ndarray,
    margins: np.ndarray,
    off: np.ndarray,
) -> tuple[float, float]:
    """Return a number the objective does not exceed, and one that no machine falls below."""
    used = costs > 0.0
    feasible = (
        np.isfinite(alpha).all()
        and (alpha >= 0.0).all()
        and (alpha <= costs).all()
        and not alpha[signs == 0.0].any()
        and math.fsum((signs * alpha).tolist()) == 0.0  # rounded once: zero only if it is zero
    )
    if not (np.isfinite(g).all() and np.isfinite(off).all()):
        return math.inf, -math.inf
    a = alpha[alpha > 0.0]
    square = _sum((signs * alpha * g)[alpha > 0.0]) + _sum((alpha * off)[alpha > 0.0])
    square = max(0.0, square + 4.0 * UNIT * _sum((alpha * abs(g))[alpha > 0.0]))
    lower = (margins - off)[used]
    total = _sum(a) * (1.0 - 4.0 * UNIT)
    if np.isinf(costs).any():
        least = min(1.0, float(lower.min()))
        primal = 0.5 * square / least**2 * (1.0 + 8.0 * UNIT) if least > 0.0 else math.inf
        dual = 0.5 * total * (total / square) if square > 0.0 else -math.inf
    else:
        short = costs[used] * np.maximum(0.0, 1.0 - lower)
        primal = (0.5 * square + _sum(short) * (1.0 + 4.0 * UNIT)) * (1.0 + 4.0 * UNIT)
        dual = total - 0.5 * square
    dual -= 4.0 * UNIT * (abs(dual) + square)
    return primal, dual if feasible else -math.inf


def most_out_of_order(
    signs: np.ndarray, costs: np.ndarray, alpha: np.ndarray, g: np.ndarray, off: np.ndarray
) -> float:
    """Return by how much a row that may fall stands above one that may grow, at the most."""
    f = g - signs
    above, below = alpha > 0.0, alpha < costs
    grows = np.where(signs > 0.0, below, above & (signs < 0.0))
    falls = np.where(signs > 0.0, above, below & (signs < 0.0))
    if not (grows.any() and falls.any()):
        return 0.0
    return max(0.0, float((f + off)[falls].max()) - float((f - off)[grows].min()))


def _sum(values: np.ndarray) -> float:
    """Return the sum, rounded once."""
    try:
        return math.fsum(values.tolist())
    except (OverflowError, ValueError):
        return math.inf
