"""An upper bound on the margin of every hyperplane, from multipliers of few rows.

For any unit vector u and any b, with multipliers a_i >= 0,

    min_i y_i (u.x_i + b)  <=  sum_i a_i y_i (u.x_i + b) / sum_i a_i
                           <=  |sum_i a_i y_i x_i| / sum_i a_i ,

the second where sum_i a_i y_i = 0, or where there is no b. So with weights of sum 1 in each class,
half the distance of two points, one in each hull, bounds the margin. The sums are exact: each class
is divided by its own sum, in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.certificates.separation import root_up
from separatrix.problem.signed import SignedProblem

__all__ = ["margin_at_most"]


def margin_at_most(problem: SignedProblem, rows: Any, multipliers: Any) -> float | None:
    """Return a bound on the largest margin, rounded up; None where the multipliers prove nothing.

    >>> problem = SignedProblem(np.array([[0.0, 5.0], [3.0, 5.0]]), np.array([-1.0, 1.0]))
    >>> margin_at_most(problem, [0, 1], [1.0, 1.0])
    1.5
    """
    chosen = np.asarray(rows, dtype=np.int64)
    weights = np.asarray(multipliers, dtype=np.float64)
    if chosen.shape != weights.shape or not (np.isfinite(weights) & (weights >= 0.0)).all():
        return None
    if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= problem.n_samples:
        return None
    part = problem.X[chosen]
    part = part if isinstance(part, np.ndarray) else part.toarray()
    signs = problem.signs[chosen]
    groups = [signs > 0.0, signs < 0.0] if problem.fit_intercept else [np.ones_like(signs) > 0.0]
    total = [Fraction(0)] * part.shape[1]
    for group in groups:
        share = [Fraction(a) for a in weights[group].tolist()]
        whole = sum(share, Fraction(0))
        if whole == 0:
            return None
        for a, x, sign in zip(share, part[group].tolist(), signs[group].tolist(), strict=True):
            step = a / whole * int(sign)
            total = [t + step * Fraction(v) if v else t for t, v in zip(total, x, strict=True)]
    return root_up(sum((t * t for t in total), Fraction(0)) / len(groups) ** 2)
