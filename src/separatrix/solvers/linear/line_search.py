"""The best step along a direction, from numbers that are known for every row: no pass over X.

    min over t    first t + 1/2 second t^2 + sum_i c_i loss(m_i + t g_i)

m are the margins, g what a step of 1 adds to them; `first` and `second` come from the penalty.
Newton's method in one variable inside a bracket. For the squared hinge the slope is piecewise
linear in t, so that Newton's steps end on the very minimum; for the logistic loss the bracket
keeps them from leaping where the curvature is gone.
"""

from __future__ import annotations

import math

from separatrix._compiled import compiled
from separatrix.problem.losses import LOGISTIC

__all__ = ["best_step"]

_ROUNDS = 200


@compiled
def best_step(loss, margins, gains, costs, first, second, guess, enough):  # type: ignore[no-untyped-def]
    """Return the t where the slope is at most `enough`, and the slope there.

    >>> import numpy as np
    >>> m, g, c = np.array([0.0, 0.0]), np.array([1.0, -1.0]), np.array([3.0, 1.0])
    >>> t, slope = best_step(LOGISTIC, m, g, c, 0.0, 0.0, 1.0, 1e-12)
    >>> round(float(t), 9) == round(math.log(3.0), 9)
    True
    """
    low, high = -math.inf, math.inf
    t = guess
    best, least = 0.0, math.inf
    for _ in range(_ROUNDS):
        slope, bend = slope_at(loss, margins, gains, costs, t)
        slope += first + second * t
        bend += second
        if abs(slope) < least:
            best, least = t, abs(slope)
        if not abs(slope) > enough:
            break
        if slope < 0.0:
            low = t
        else:
            high = t
        following = t - slope / bend if bend > 0.0 else math.inf
        # Where the curvature is gone Newton leaps; from afar a few doublings come back sooner.
        reach = 8.0 * (1.0 + abs(t))
        following = min(max(following, t - reach), t + reach)
        if slope > 0.0 and bend <= 0.0:
            following = t - reach
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == t or not (low < following < high):
            break
        t = following
    return best, least


@compiled
def slope_at(loss, margins, gains, costs, t):  # type: ignore[no-untyped-def]
    """Return the first and the second derivative of the sum of losses at the step t."""
    slope = 0.0
    bend = 0.0
    if loss == LOGISTIC:
        for i in range(margins.shape[0]):
            cost = costs[i]
            if cost > 0.0 and gains[i] != 0.0:
                m = margins[i] + t * gains[i]
                small = math.exp(-abs(m))
                part = small / (1.0 + small)
                rate = part if m > 0.0 else 1.0 / (1.0 + small)
                pull = cost * gains[i]
                slope -= pull * rate
                bend += pull * gains[i] * part / (1.0 + small)
        return slope, bend
    for i in range(margins.shape[0]):
        short = 1.0 - (margins[i] + t * gains[i])
        if short > 0.0:
            pull = 2.0 * costs[i] * gains[i]
            slope -= pull * short
            bend += pull * gains[i]
    return slope, bend
