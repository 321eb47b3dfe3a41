"""The linear system of an interior point's step, factored once and solved with a few times.

    (diag(q) + V^T D V) x = right          V with a column of ones for the bias

Cholesky of the matrix scaled to a unit diagonal, with one refinement against the matrix itself.
Near the optimum the D of rows on the margin runs to infinity, and in the sum they drown q and the
other rows. Where the factor shows it and the rows are few, the triangle comes from a QR of the
stacked rows sqrt(D) V and sqrt(q), largest first, which squares nothing; the refinement then goes
through the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotrs

from separatrix.problem.signed import FloatArray
from separatrix.solvers.linear.scaled_rows import ScaledRows

__all__ = ["Factor", "factored"]

# Tried in turn where the matrix is not positive in floating point.
_ADDED = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)
# A pivot below this has lost a third of its digits and more.
_LOST = 1e-5
_SMALL = 2**20


@dataclass(frozen=True, eq=False)
class Factor:
    """An upper triangle R with R^T R = S P^T M P S, and what a refinement needs."""

    upper: FloatArray
    scale: FloatArray  # S, in the order of the columns of M
    order: np.ndarray  # P
    matrix: FloatArray | None  # M scaled, its upper triangle; None: ask the rows
    rows: ScaledRows
    weights: FloatArray
    quadratic: FloatArray
    has_bias: bool

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve, and refine once."""
        if self.matrix is not None:
            right = right * self.scale
            x = self._solve(right)
            x += self._solve(right - dsymv(1.0, self.matrix, x, lower=0))
            return np.asarray(x * self.scale)
        x = np.zeros(len(right))
        rest = right
        for _ in range(3):
            x = x + self._solve(rest * self.scale) * self.scale
            rest = right - self._times(x)
        return x

    def _solve(self, right: FloatArray) -> FloatArray:
        x = np.empty(len(right))
        x[self.order] = dpotrs(self.upper, right[self.order])[0]
        return x

    def _times(self, x: FloatArray) -> FloatArray:
        """Return M x through the rows."""
        bias = x[-1] if self.has_bias else 0.0
        shares = self.weights * (self.rows.dot(x[:-1]) + bias)
        last = shares.sum() if self.has_bias else x[-1]
        return np.append(self.rows.transposed_dot(shares), last) + self.quadratic * x


def factored(
    rows: ScaledRows, weights: FloatArray, quadratic: FloatArray, has_bias: bool
) -> Factor | None:
    """Factor the system; None where nothing finite comes of it."""
    matrix = rows.normal_matrix(weights)
    if not has_bias:
        # The last unknown is held at 0 by a one of its own.
        matrix[:, -1] = 0.0
        matrix[-1, -1] = 1.0
        quadratic = np.append(quadratic[:-1], 0.0)
    places = np.arange(len(matrix))
    matrix[places, places] += quadratic
    scale = 1.0 / np.sqrt(matrix[places, places])
    if not np.isfinite(scale).all():
        return None
    matrix *= scale
    matrix *= scale[:, None]
    rest = (rows, weights, quadratic, has_bias)
    for added in _ADDED:
        matrix[places, places] = 1.0 + added
        upper, failed = dpotrf(matrix, lower=0, clean=0)
        if not failed:
            break
    matrix[places, places] = 1.0
    if failed or np.diagonal(upper).min() < _LOST:
        if len(weights) * len(scale) <= _SMALL:
            return _by_rows(scale, *rest)
        if failed:
            return None
    return Factor(upper, scale, places, matrix, *rest)


def _by_rows(
    scale: FloatArray,
    rows: ScaledRows,
    weights: FloatArray,
    quadratic: FloatArray,
    has_bias: bool,
) -> Factor | None:
    n, d = len(weights), len(scale)
    stacked = np.zeros((n + d, d))
    order = np.argsort(-weights, kind="stable")
    ones = np.ones(n) if has_bias else np.zeros(n)
    stacked[:n] = np.column_stack([rows.dense(order), ones]) * np.sqrt(weights[order])[:, None]
    own = quadratic if has_bias else np.append(quadratic[:-1], 1.0)
    stacked[n:] = np.diag(np.sqrt(own))
    stacked *= scale
    if not np.isfinite(stacked).all():
        return None
    upper, pivots = qr(stacked, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    upper = upper[:d]
    if not np.abs(np.diagonal(upper)).min() > 0.0:
        return None
    return Factor(upper, scale, pivots, None, rows, weights, quadratic, has_bias)
