"""From what a solver holds to what it may claim: the best bias, a balanced alpha, margins of 1.

best_bias    min over b   sum_i c_i max(0, 1 - y_i (f_i + b))            f_i = w.x_i
evened       a near alpha in the box with sum_i y_i a_i = 0, to rounding
hard_claim   the multiple of w whose least margin is 1, after the b that centres the gap

The first two take NumPy arrays or tensors on a device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray

__all__ = ["best_bias", "evened", "hard_claim", "hinge_bias_interval", "with_bias"]

_FLAT = 1e-12
_FEW, _REACH = 1 << 12, 0.03


def hinge_bias_interval(
    scores: Any, signs: Any, costs: Any, near: float | None = None
) -> tuple[float, float]:
    """Return the ends of the interval of best biases; inf where nothing holds it (one class alone).

    The slope in b starts at minus the cost of all positive rows and grows by c_i where b passes
    y_i - f_i; the objective is least where the slope changes sign. Where a bias `near` the best is
    known (and all costs are finite), only what is about there is sorted.

    >>> hinge_bias_interval(np.array([-3.0, 3.0]), np.array([-1.0, 1.0]), np.ones(2))
    (-2.0, 2.0)
    """
    turns, steps, positive, used = signs - scores, costs, signs > 0.0, costs > 0.0
    if not bool(used.all()):
        turns, steps, positive = turns[used], steps[used], positive[used]
    is_host = isinstance(turns, np.ndarray)
    # Sums of costs are rounded: a slope this small is level ground.
    level, first = _FLAT * float(steps.sum()), -float(steps[positive].sum())
    if near is not None and len(turns) > _FEW:
        turns, steps, first = _about(near, turns, steps, first, level)
    order = turns.argsort(kind="stable") if is_host else turns.argsort(stable=True)
    turns = turns[order]
    slopes = steps[order].cumsum(0) + first
    low, high = int((slopes < -level).sum()), int((slopes <= level).sum())
    return (
        float(turns[min(low, len(turns) - 1)]) if bool(positive.any()) else -np.inf,
        float(turns[min(high, len(turns) - 1)]) if not bool(positive.all()) else np.inf,
    )


def _about(
    near: float, turns: Any, steps: Any, first: float, level: float
) -> tuple[Any, Any, float]:
    """Return the turns in an interval around `near` where the slope changes sign, and it before."""
    reach, least, most = _REACH, float(turns.min()), float(turns.max())
    while near - reach > least or near + reach < most:
        before, within = turns < near - reach, turns <= near + reach
        slope = first + float((steps * before).sum())
        if slope < -level and first + float((steps * within).sum()) > level:
            here = within & ~before
            return turns[here], steps[here], slope
        reach *= 4.0
    return turns, steps, first


def best_bias(scores: Any, signs: Any, costs: Any) -> float:
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


def evened(alpha: Any, signs: Any, costs: Any, xp: Any = np) -> Any:
    """Make the classes weigh the same; `xp` is the array module.

    The rows far from both ends of the box take the difference: their margin is nearly 1, and the
    dual value hardly changes. Where they have not the room, the heavier class is shrunk.
    """
    excess = float(signs @ alpha)
    room = xp.minimum(alpha, costs - alpha)
    total = float(room.sum())
    if abs(excess) < 0.5 * total:
        alpha = alpha - signs * room * (excess / total)
    plus = signs > 0.0
    heavy, light = float(alpha[plus].sum()), float(alpha[~plus].sum())
    if heavy == light:
        return alpha
    if heavy > light:
        return xp.where(plus, alpha * (light / heavy), alpha)
    return xp.where(plus, alpha, alpha * (heavy / light))


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
