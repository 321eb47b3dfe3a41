"""The best biases of the hinge for given weights, by sorting on the device.

    min over b   sum_i c_i max(0, 1 - y_i (f_i + b))            f_i = w.x_i

As `solvers.bias`: the slope in b grows by c_i where b passes y_i - f_i, and the objective is least
where it changes sign. Every row here has a cost.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["bias_interval", "middle_bias"]

_FLAT = 1e-12


def bias_interval(scores: Any, signs: Any, costs: Any) -> tuple[float, float]:
    """Return the ends of the interval of best biases; inf where nothing holds it."""
    turns, order = (signs - scores).sort(stable=True)
    positive = signs > 0.0
    slopes = costs[order].cumsum(dim=0) - costs[positive].sum()
    # Sums of costs are rounded: a slope this small is level ground.
    level = _FLAT * float(costs.sum())
    last = len(turns) - 1
    low = min(int((slopes < -level).sum()), last)
    high = min(int((slopes <= level).sum()), last)
    return (
        float(turns[low]) if bool(positive.any()) else -math.inf,
        float(turns[high]) if not bool(positive.all()) else math.inf,
    )


def middle_bias(scores: Any, signs: Any, costs: Any) -> float:
    """Return the middle of the best biases."""
    ends = [end for end in bias_interval(scores, signs, costs) if math.isfinite(end)]
    return sum(ends) / len(ends)
