"""The exact optimum on a face of the box: what a solver leaves of the last digits.

    min over w, b   1/2 |w|^2 - sum over bound rows c_i y_i (w.x_i + b)
    subject to      y_i (w.x_i + b) = 1   on the free rows

Once it is known which rows have all they may, which have nothing and which are between, the rest is
linear algebra: the free rows lie on the margin, and w is the sum of rows. The answer is taken if
its multipliers lie in their bounds and if it is no worse; then it is the optimum to rounding.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from separatrix.problem.machine import MachineProblem

__all__ = ["on_this_face"]

_MOST_FREE = 1_000
_MOST_PRODUCTS = 20_000_000  # some milliseconds


def on_this_face(
    problem: MachineProblem, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (w, alpha) of the optimum with the same free rows; None if there is none."""
    upper, signs = problem.upper, problem.signs
    free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
    if not 0 < len(free) <= _MOST_FREE or len(free) ** 2 * problem.X.shape[1] > _MOST_PRODUCTS:
        return None
    fixed = alpha.copy()
    fixed[free] = 0.0
    share = signs * fixed
    sums = np.asarray(share @ problem.X)
    rows = problem.X[free]
    rows = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64) * signs[free, None]
    found = _solved(problem, rows, signs[free], sums, float(share.sum()))
    if found is None:
        return None
    inside, bias = found
    slack = 1e-9 * float(upper[free].min() if np.isfinite(upper[free]).all() else inside.max())
    if (inside < -slack).any() or (inside > upper[free] + slack).any():
        return None
    fixed[free] = np.minimum(np.maximum(inside, 0.0), upper[free])
    return np.concatenate([[bias], sums + inside @ rows]), fixed


def _solved(
    problem: MachineProblem, rows: np.ndarray, signs: np.ndarray, sums: np.ndarray, balance: float
) -> tuple[np.ndarray, float] | None:
    """Solve for the free multipliers and the bias: margins of 1, and the balance."""
    n = len(signs)
    penalty, intercept = problem.bias_penalty, problem.rows.fit_intercept
    matrix, right = rows @ rows.T, 1.0 - rows @ sums
    if intercept and penalty > 0.0:
        matrix = matrix + np.outer(signs, signs) / penalty
        right = right - signs * balance / penalty
    if problem.has_free_bias:
        # The bias is one more unknown, of the size of the others, and the balance one more row.
        size = float(np.sqrt(np.trace(matrix) / n)) or 1.0
        border = size * signs[:, None]
        matrix = np.block([[matrix, border], [border.T, np.zeros((1, 1))]])
        right = np.append(right, -size * balance)
    scale = 1.0 / np.sqrt(np.maximum(np.abs(matrix).max(axis=1), np.finfo(float).tiny))
    try:
        solution = scale * scipy.linalg.lstsq(matrix * np.outer(scale, scale), scale * right)[0]
    except (np.linalg.LinAlgError, ValueError):
        return None
    inside = solution[:n]
    if problem.has_free_bias:
        return inside, size * float(solution[n])
    bias = (balance + float(signs @ inside)) / penalty if intercept else 0.0
    return inside, bias
