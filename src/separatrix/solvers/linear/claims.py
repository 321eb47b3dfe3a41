"""From what a solver holds to what it may claim: the best bias, a balanced alpha, margins of 1.

best_bias    min over b   sum_i c_i max(0, 1 - y_i (f_i + b))
balanced     a near alpha in the box with sum_i y_i a_i = 0, to rounding
hard_claim   the multiple of w whose least margin is 1, after the b that centres the gap
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray

__all__ = ["balanced", "best_bias", "hard_claim", "hinge_bias_interval", "with_bias"]

_FLAT = 1e-12


# ---- the best bias for given weights: an interval, mostly a point


def hinge_bias_interval(
    scores: np.ndarray, signs: np.ndarray, costs: np.ndarray
) -> tuple[float, float]:
    """Return the ends of the interval of best biases; inf where nothing holds it (one class alone).

    >>> hinge_bias_interval(np.array([-3.0, 3.0]), np.array([-1.0, 1.0]), np.ones(2))
    (-2.0, 2.0)
    """
    used = np.flatnonzero(costs > 0.0)
    turns, steps = (signs - scores)[used], costs[used]
    order = np.argsort(turns, kind="stable")
    turns = turns[order]
    slopes = np.cumsum(steps[order]) - float(steps[signs[used] > 0.0].sum())
    # Sums of costs are rounded: a slope this small is level ground.
    level = _FLAT * float(steps.sum())
    low = int(np.searchsorted(slopes, -level, side="left"))
    high = int(np.searchsorted(slopes, level, side="right"))
    positive = bool((signs[used] > 0.0).any())
    negative = bool((signs[used] < 0.0).any())
    return (
        float(turns[min(low, len(turns) - 1)]) if positive else -np.inf,
        float(turns[min(high, len(turns) - 1)]) if negative else np.inf,
    )


def best_bias(scores: FloatArray, signs: FloatArray, costs: FloatArray) -> float:
    """Return the middle of the biases of least total hinge loss.

    >>> best_bias(np.array([2.0, -1.0]), np.array([1.0, -1.0]), np.ones(2))
    -0.5
    """
    if not (costs > 0.0).any():
        return 0.0
    ends = [end for end in hinge_bias_interval(scores, signs, costs) if np.isfinite(end)]
    return sum(ends) / len(ends)


def with_bias(w: FloatArray, bias: float) -> FloatArray:
    """Return w with another bias."""
    w = w.copy()
    w[0] = bias
    return w


def balanced(problem: MachineProblem, alpha: FloatArray) -> FloatArray:
    """Make the classes weigh the same, where b is free.

    The rows far from both ends of the box take the difference: their margin is nearly 1, and the
    dual value hardly changes. Where they have not the room, the heavier class is shrunk.
    """
    if not problem.has_free_bias:
        return alpha
    signs = problem.signs
    excess = float(signs @ alpha)
    room = np.minimum(alpha, problem.costs - alpha)
    total = float(room.sum())
    if abs(excess) < 0.5 * total:
        alpha = alpha - signs * room * (excess / total)
    plus = signs > 0.0
    heavy, light = float(alpha[plus].sum()), float(alpha[~plus].sum())
    if heavy == light:
        return alpha
    if heavy > light:
        return np.where(plus, alpha * (light / heavy), alpha)
    return np.where(plus, alpha, alpha * (heavy / light))


def hard_claim(problem: MachineProblem, w: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the multiple of w with margins of at least 1; w itself where no multiple has them."""
    used = problem.costs > 0.0
    signs, scores = problem.signs[used], scores[used]
    w = w.copy()
    if not len(signs):
        return w
    if problem.has_free_bias:
        plus, minus = scores[signs > 0.0], scores[signs < 0.0]
        if not len(plus) or not len(minus):
            return with_bias(np.zeros_like(w), float(signs[0]))
        w[0] = -0.5 * (plus.min() + minus.max())
    least = float(problem.rows.margins(w)[used].min())
    if not least > 0.0:
        return w
    for extra in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        grown = w * ((1.0 + extra) / least)
        if float(problem.rows.margins(grown)[used].min()) >= 1.0:
            return grown
    return grown
