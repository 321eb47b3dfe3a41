"""Least squares with weights that are not negative, and a free intercept.

    min over W >= 0, b    sum_i s_i |W x_i + b - t_i|^2  +  ridge |W|^2

Each output is a problem of its own. Lawson and Hanson's active set method (1974) finds which
weights are above 0, on the triangular factor of the rows with unit columns. Those weights are then
solved for without the bound, by the factorisations of `least_squares`, which lose fewer digits.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
from scipy.optimize import nnls

from separatrix.errors import DataError
from separatrix.problem.centred import CentredRows, centred_rows, column_slice
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.closed_forms.least_squares import (
    Solution,
    penalty_of_columns,
    solve_least_squares,
)

__all__ = ["solve_nonnegative"]

_MOST_COLUMNS = 4000
_MOST_ENTRIES = 1 << 26
_ROUNDS = 20


@np.errstate(over="ignore", invalid="ignore")
def solve_nonnegative(
    X: Matrix,
    T: FloatArray,
    weights: FloatArray,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-9,
) -> Solution:
    """Solve for every output (column of T).

    >>> X = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    >>> found = solve_nonnegative(X, 2.0 * X[:, :1] - X[:, 1:] + 1.0, np.ones(4))
    >>> found.W.round(9).tolist(), found.b.round(9).tolist()
    ([[1.8, 0.0]], [-0.2])
    """
    n, d = X.shape
    if d > _MOST_COLUMNS or n * d > _MOST_ENTRIES:
        raise DataError(
            f"LeastSquares: positive=True takes up to {_MOST_COLUMNS:,} columns and "
            f"{_MOST_ENTRIES:,} entries. Got {n:,} rows of {d:,} columns."
        )
    A = centred_rows(X, weights, fit_intercept)
    offset = (A.roots**2 @ T) / A.mass if fit_intercept else np.zeros(T.shape[1])
    factor, targets, norms = _triangle(A, A.roots[:, None] * (T - offset), ridge)
    W, b, iterations = np.zeros((T.shape[1], d)), np.zeros(T.shape[1]), 0
    for k in range(T.shape[1]):
        found = np.zeros(len(norms))
        if len(norms):
            found, _ = nnls(factor, targets[:, k], maxiter=30 * max(d, 10))
        coef = A.scatter(found / norms) if len(norms) else np.zeros(d)
        iterations += int((found > 0.0).sum())
        W[k], b[k] = _refined(
            X, T[:, k : k + 1], weights, ridge, fit_intercept, tol, np.flatnonzero(coef > 0.0)
        )
    return Solution(W, b, "active set (weights at least 0)", None, d, max(1, iterations), 2.0)


def _triangle(
    A: CentredRows, B: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R and Q'B of the rows with unit columns, those of the ridge below, and the lengths."""
    penalty = penalty_of_columns(A, ridge * np.exp2(-2.0 * A.weight_exponent))
    norms = np.sqrt(A.square_norms() + penalty)
    norms[norms == 0.0] = 1.0
    rows = A.rows
    if A.is_sparse:
        rows = A.roots[:, None] * (A.rows.toarray() - A.mean)
    whole = np.hstack([np.asarray(rows) / norms, B])
    if ridge > 0.0:
        below = np.zeros((len(norms), whole.shape[1]))
        below[:, : len(norms)] = np.diag(np.sqrt(penalty) / norms)
        whole = np.vstack([whole, below])
    if len(whole) > whole.shape[1]:
        whole = np.asarray(sl.qr(whole, mode="r", check_finite=False)[0])[: whole.shape[1]]
    return whole[:, : len(norms)], whole[:, len(norms) :], norms


def _refined(
    X: Matrix,
    t: FloatArray,
    weights: FloatArray,
    ridge: float,
    fit_intercept: bool,
    tol: float,
    used: np.ndarray,
) -> tuple[FloatArray, float]:
    """Solve for the weights above 0 alone; what turns negative by rounding is taken out again."""
    coef = np.zeros(X.shape[1])
    for _ in range(_ROUNDS):
        found = solve_least_squares(column_slice(X, used), t, weights, ridge, fit_intercept, tol)
        if not (found.W[0] < 0.0).any():
            break
        used = used[found.W[0] > 0.0]
    coef[used] = np.maximum(found.W[0], 0.0)
    return coef, float(found.b[0])
