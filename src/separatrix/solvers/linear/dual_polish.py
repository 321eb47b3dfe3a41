"""A dual point for a w that is nearly optimal: least squares on the rows of the margin.

    min over alpha_F   | w - sum_i alpha_i y_i x_i |^2
    subject to         0 <= alpha_F <= c,   and  sum_i y_i alpha_i = 0  where b is free

Rows clearly within the margin have alpha = c (squared hinge: 2 c (1 - margin)) and those clearly
beyond it 0; what is left, F, is fitted. An interior point multiplies the rounding of its margins by
weights that grow without bound, and Newton's method by high costs: so where the margin is very thin
their alpha is rough while their w is exact, and this makes up for it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from separatrix.problem.losses import SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray

__all__ = ["fitted_alphas"]

_BANDS = (1e-9, 1e-7, 1e-5, 1e-3)


def fitted_alphas(problem: MachineProblem, w: FloatArray) -> list[FloatArray]:
    """Return a candidate for each width of the band that counts as the margin."""
    margins = problem.rows.margins(w)
    most = 4 * len(w) + 200
    found: list[FloatArray] = []
    before = -1
    for band in _BANDS:
        free = np.flatnonzero((np.abs(margins - 1.0) <= band) & (problem.costs > 0.0))
        if before < len(free) <= most:
            found.append(_fitted(problem, w, margins, free, band))
        before = max(before, len(free))
    return found


@np.errstate(over="ignore", invalid="ignore")  # a proof decides what becomes of it
def _fitted(
    problem: MachineProblem, w: FloatArray, margins: FloatArray, free: np.ndarray, band: float
) -> FloatArray:
    signs, costs = problem.signs, problem.upper
    full = 2.0 * problem.costs * (1.0 - margins) if problem.loss == SQUARED_HINGE else costs
    alpha = np.zeros(len(signs)) if problem.is_hard else np.where(margins < 1.0 - band, full, 0.0)
    alpha[free] = 0.0
    if not len(free):
        return alpha
    rows = problem.X[free]
    rows = rows.toarray() if sp.issparse(rows) else rows
    centre = rows.mean(axis=0, dtype=np.float64) if problem.has_free_bias else 0.0
    share = signs * alpha
    target = w[1:] - (share @ problem.X - share.sum() * centre)
    columns = (signs[free, None] * (rows - centre)).T
    if problem.rows.fit_intercept:
        # The balance as one more equation; a heavy one, as it must hold to rounding.
        weight = 1.0 if problem.bias_penalty > 0.0 else float(np.abs(columns).max(initial=1.0))
        columns = np.vstack([columns, weight * signs[free]])
        bias = w[0] * problem.bias_penalty
        target = np.append(target, weight * (bias - share.sum()))
    size = float(np.abs(target).max(initial=0.0)) or 1.0
    upper = costs[free] / size
    # Costs that vanish beside the target leave no room between the two bounds.
    room = upper > 0.0
    if not room.any():
        return alpha
    free, upper, columns = free[room], upper[room], columns[:, room]
    from scipy.optimize import lsq_linear  # slow to load, and seldom needed

    fit = lsq_linear(columns, target / size, (0.0, upper), method="bvls", tol=1e-15, max_iter=200)
    alpha[free] = np.minimum(np.maximum(fit.x, 0.0) * size, costs[free])
    return alpha
