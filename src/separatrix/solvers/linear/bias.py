"""The best bias for given weights: an interval, mostly a point.

    min over b   sum_i c_i max(0, 1 - y_i (f_i + b))            f_i = w.x_i

The objective is convex and piecewise linear in b. Its slope starts at minus the cost of all
positive rows and grows by c_i where b passes y_i - f_i; it is least where the slope changes sign.
"""

from __future__ import annotations

import numpy as np

__all__ = ["hinge_bias_interval"]

_FLAT = 1e-12


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
