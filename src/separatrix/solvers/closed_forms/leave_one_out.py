"""The leave-one-out error of ridge regression for many ridges at the price of one decomposition.

    e_i(ridge) = (t_i - f(x_i)) / (1 - l_i),    l_i = [1, x_i] (M + ridge I_0)^-1 [1, x_i]'

is the error on row i of the model that has not seen it (M the weighted second moments, I_0
without the intercept). A row of weight k is k copies of which one is left out, and a row of
weight below 1 is left out whole: l_i is multiplied by min(1, s_i). With A = U diag(sigma) V' the
leverages and fits of all ridges follow from U alone. Where l_i = 1 the row is fitted by itself
alone, and the error is inf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from separatrix.errors import DataError
from separatrix.problem.centred import CentredRows, centred_rows
from separatrix.problem.signed import FloatArray, Matrix

__all__ = ["leave_one_out"]

_LARGEST = 6000
_ROWS_AT_A_TIME = 4096
_ALONE = 1e-9
_COARSE = 1e-9


@dataclass(frozen=True)
class LeaveOneOut:
    """For each ridge: the mean squared error, and the outputs on rows left out."""

    errors: FloatArray
    outputs: list[np.ndarray]


# What overflows is not finite in the end, and the proof says so.
@np.errstate(over="ignore", invalid="ignore")
def leave_one_out(
    X: Matrix, T: FloatArray, weights: FloatArray, ridges: FloatArray, fit_intercept: bool
) -> LeaveOneOut:
    """Compute the error of every ridge.

    >>> X, t = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [5.0]])
    >>> found = leave_one_out(X, t, np.ones(3), np.array([0.0]), True)
    >>> found.outputs[0].round(9).tolist()  # lines through the other two points
    [[-1.0], [1.666666667], [3.0]]
    """
    A = centred_rows(X, weights, fit_intercept)
    offset = (A.roots**2 @ T) / A.mass if fit_intercept else np.zeros(T.shape[1])
    top = A.top
    least = float(np.ldexp(float(min(ridges)), -2 * (top + A.weight_exponent)))
    U, sigma = _left_vectors(A, top, least)
    rotated = U.T @ (A.roots[:, None] * (T - offset))
    own = A.roots**2 / A.mass if fit_intercept else np.zeros(len(T))
    with np.errstate(over="ignore"):
        copies = np.minimum(1.0, 1.0 / weights)[:, None]  # the share of its weight a copy has
    errors, outputs = [], []
    for ridge in ridges:
        penalty = np.ldexp(float(ridge), -2 * (top + A.weight_exponent))
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.where(sigma > 0.0, sigma**2 / (sigma**2 + penalty), 0.0)
        fitted = (U @ (kept[:, None] * rotated)) / A.roots[:, None] + offset
        leverage = copies * (own + (U**2) @ kept)[:, None]
        left = np.where(1.0 - leverage > _ALONE, 1.0 - leverage, np.nan)
        out = T - (T - fitted) / left
        outputs.append(out)
        square = ((T - out) ** 2).sum(axis=1)
        mean = float(weights @ np.where(np.isnan(square), np.inf, square) / weights.sum())
        errors.append(mean)
    return LeaveOneOut(np.array(errors), outputs)


def _left_vectors(A: CentredRows, top: int, least: float) -> tuple[FloatArray, FloatArray]:
    """Return U and sigma of A in the units of the columns as given, divided by 2^top."""
    with np.errstate(under="ignore"):
        scale = np.exp2((A.exponents - top).astype(np.float64))
    if A.shape[1] == 0:
        return np.zeros((A.shape[0], 0)), np.zeros(0)
    if not A.is_sparse:
        rows = A.rows * scale
        if 2 * A.shape[0] <= A.shape[1]:
            squares, U = sl.eigh(rows @ rows.T)
            if least > _COARSE * squares[-1]:  # all that squaring loses is far below the ridge
                return U, np.sqrt(np.maximum(squares, 0.0))
        U, sigma, _ = sl.svd(rows, full_matrices=False, check_finite=False)
        sigma[sigma <= max(A.shape) * 2.0**-52 * sigma[0]] = 0.0
        return U, sigma
    if min(A.shape) > _LARGEST:
        raise DataError(
            f"leave-one-out errors need a decomposition, and {A.shape[0]:,} x {A.shape[1]:,} "
            "sparse data are too large for it. Give one ridge, or choose it by cross-validation."
        )
    if A.shape[0] <= A.shape[1]:
        squares, U = sl.eigh(_scaled_outer(A, scale))
    else:
        squares, V = sl.eigh(scale[:, None] * A.gram() * scale)
        U = np.empty((A.shape[0], A.shape[1]))
        for begin in range(0, A.shape[0], _ROWS_AT_A_TIME):
            rows = slice(begin, begin + _ROWS_AT_A_TIME)
            part = A.rows[rows] @ (scale[:, None] * V) - A.mean @ (scale[:, None] * V)
            U[rows] = A.roots[rows, None] * part
    good = squares > max(A.shape) * 2.0**-52 * squares[-1]
    sigma, U = np.sqrt(squares[good]), U[:, good]
    return (U if A.shape[0] <= A.shape[1] else U / sigma), sigma


def _scaled_outer(A: CentredRows, scale: FloatArray) -> FloatArray:
    scaled = A.rows.multiply(scale[None, :]).tocsr()
    return CentredRows(
        scaled,
        A.mean * scale,
        A.roots,
        A.exponents,
        A.kept,
        A.n_columns,
        A.weight_exponent,
        A.fit_intercept,
    ).outer_gram()
