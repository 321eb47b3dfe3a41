"""The whole system of a multinomial step, for few unknowns: solved at once, whatever its condition.

    sum_i c_i (diag p_i - p_i p_i^T) (x) [1, x_i - m][1, x_i - m]^T  +  penalties

Rounds of conjugate gradients grow with the condition, which a large C makes bad; this does not.
Adding one vector to all classes changes no probability: that direction the penalty alone holds, and
for biases and weights that cost nothing a share of the mean curvature does.

`Whitening` preconditions the rounds: the curvature of class k is nearly I + r_k S with S the
scatter of the rows, weighted by how undecided they are, and r_k the class's own share. With

    T^T (I + S) T = I ,     T^T T = diag(f)

its inverse is T diag(1 / (f + r_k (1 - f))) T^T for every class at once. Where the scatter is too
large to factor, its diagonal serves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.problem.softmax import SoftmaxProblem
from separatrix.solvers.many_classes.softmax_rows import SoftmaxRows

__all__ = ["Whitening", "exact_step", "is_small", "is_tiny", "most_columns"]

_MOST_UNKNOWN = 1200
_TINY_UNKNOWN, _TINY_WORK = 128, 4e6
_MOST_WORK = 2e10
_MOST_ENTRIES = 1 << 24
most_columns = 3000
_LEAST_SHARE = 1e-3
_SLIGHT = 1e-10  # of a column's scatter: what stands in for a ridge in the preconditioner
_RIDGES = (1e-14, 1e-10, 1e-7)  # for each column, beside a diagonal of 1


def is_small(reader: SoftmaxRows) -> bool:
    """Whether the system is small enough to be worth its making."""
    unknown = reader.K * (reader.d + 1)
    work = reader.n * float(unknown) ** 2
    small = unknown <= _MOST_UNKNOWN and work <= _MOST_WORK
    return small and reader.n * reader.d <= _MOST_ENTRIES


def is_tiny(reader: SoftmaxRows) -> bool:
    """Whether making and solving the system takes less time than a few rounds."""
    unknown = reader.K * (reader.d + 1)
    return unknown <= _TINY_UNKNOWN and reader.n * float(unknown) ** 2 <= _TINY_WORK


def exact_step(
    reader: SoftmaxRows,
    slope: Any,
    pull: Any,
    intercept: bool,
    penalty: float,
    ridge: float = 1.0,
    moves: np.ndarray | None = None,
) -> tuple[Any, Any]:
    """Return the Newton step in W and in the biases; columns that do not move have no curvature."""
    xp, d, K = reader.xp, reader.d, reader.K
    matrix = _assembled(reader)
    if moves is not None:
        kept = np.tile([1.0, *moves], K)
        matrix = matrix * kept * kept[:, None]
    places = np.arange(K * (d + 1)).reshape(K, d + 1)
    charged = np.full((K, d + 1), ridge)
    charged[:, 0] = penalty
    diagonal = reader.placed(places.ravel())
    matrix[diagonal, diagonal] += reader.placed(charged.ravel())
    for j in np.flatnonzero(charged[0] == 0.0).tolist():
        alike = reader.placed(places[:, j])
        share = xp.mean(xp.diagonal(matrix)[alike]) / K
        matrix[alike[:, None], alike[None, :]] += share
    right = -xp.concatenate([pull[None, :], slope]).T.reshape(-1)
    kept = reader.placed(places.ravel() if intercept else places[:, 1:].ravel())
    step = xp.zeros_like(right)
    found = _solved(xp, matrix[kept[:, None], kept[None, :]], right[kept])
    if bool(xp.isfinite(found).all()):  # no step is better than one that overflowed
        step[kept] = found
    table = step.reshape(K, d + 1)
    return table[:, 1:].T, table[:, 0]


def _assembled(reader: SoftmaxRows) -> Any:
    """Return the curvature of the losses, class after class, each with its bias first."""
    xp, d, K = reader.xp, reader.d, reader.K
    matrix = reader.zeros(K * (d + 1), K * (d + 1))
    for tile in reader.tiles:
        rows, p = reader.rows(tile), reader.probabilities(tile)
        if sp.issparse(rows):
            rows = rows.toarray()
        rows = reader.in_double(rows) - reader.centre
        rows = xp.concatenate([xp.ones_like(rows[:, :1]), rows], axis=1)
        p, costs = reader.in_double(p), reader.in_double(reader.costs[tile])
        for k in range(K):
            own = slice(k * (d + 1), (k + 1) * (d + 1))
            for j in range(k + 1):
                curves = costs * p[:, k] * (float(j == k) - p[:, j])
                part = (rows * curves[:, None]).T @ rows
                other = slice(j * (d + 1), (j + 1) * (d + 1))
                matrix[own, other] += part
                if j != k:
                    matrix[other, own] += part.T
    return matrix


def _solved(xp: Any, matrix: Any, right: Any) -> Any:
    """Solve a positive system, scaled to a diagonal of ones; a little more of it if need be."""
    sizes = xp.diagonal(matrix)
    scale = 1.0 / xp.sqrt(xp.where(sizes > 0.0, sizes, xp.ones_like(sizes)))
    matrix = matrix * scale[:, None] * scale[None, :]
    matrix[range(len(right)), range(len(right))] += 1.0 * (sizes <= 0.0)  # of a column of zeros
    more = 1e-15
    while more < 1.0:
        matrix[range(len(right)), range(len(right))] += more
        try:
            lower = xp.linalg.cholesky(matrix)
        except (RuntimeError, np.linalg.LinAlgError):
            more *= 100.0
            continue
        return scale * _twice(xp, lower, scale * right)
    return scale * scale * right


def _twice(xp: Any, lower: Any, right: Any) -> Any:
    if xp is np:
        from scipy.linalg import cho_solve

        return cho_solve((lower, True), right, check_finite=False)
    return xp.cholesky_solve(right[:, None], lower)[:, 0]


# ---- a preconditioner for the multinomial model: columns made round, each class at its own scale


class Whitening:
    """The preconditioner of one point."""

    def __init__(
        self, xp: Any, scatter: Any, classes: Any, masses: Any, problem: SoftmaxProblem
    ) -> None:
        mean = xp.mean(classes)
        shares = classes / xp.where(mean > 0.0, mean, xp.ones_like(mean))
        shares = xp.where(shares > _LEAST_SHARE, shares, xp.full_like(shares, _LEAST_SHARE))
        units = _units(xp, scatter, problem.ridge)
        scatter = scatter / units**2 if scatter.ndim == 1 else scatter / xp.outer(units, units)
        found = _factored(xp, scatter) if scatter.ndim == 2 else None
        if found is None:
            self.T = None
            scatter = scatter if scatter.ndim == 1 else xp.diagonal(scatter)
            scatter = xp.where(scatter > 0.0, scatter, xp.zeros_like(scatter))
            self.scale = 1.0 / (1.0 + scatter[:, None] * shares[None, :]) / units[:, None] ** 2
        else:
            self.T, kept = found[0] / units[:, None], found[1]
            self.scale = 1.0 / (kept[:, None] + (1.0 - kept)[:, None] * shares[None, :])
        # Where every row is decided nothing holds a bias: a share of the class's mass does.
        self.of_bias = 1.0 / (problem.bias_penalty + classes + _LEAST_SHARE * masses)

    def __call__(self, G: Any, g: Any) -> tuple[Any, Any]:
        """Return the preconditioned gradient."""
        if self.T is None:
            return self.scale * G, self.of_bias * g
        return self.T @ (self.scale * (self.T.T @ G)), self.of_bias * g


def _units(xp: Any, scatter: Any, ridge: float) -> Any:
    """Return what columns are multiplied by: without a ridge their scatter is far above 1 then."""
    sizes = scatter if scatter.ndim == 1 else xp.diagonal(scatter)
    ones = xp.ones_like(sizes)
    return ones if ridge else xp.sqrt(_SLIGHT * xp.where(sizes > 0.0, sizes, ones / _SLIGHT))


def _factored(xp: Any, scatter: Any) -> tuple[Any, Any] | None:
    """Return T and diag(f); None where rounding has left a matrix that cannot be factored."""
    d = len(scatter)
    where = {} if xp is np else {"device": scatter.device}
    eye = xp.eye(d, dtype=xp.float64, **where)
    roots = xp.sqrt(1.0 + xp.diagonal(scatter))
    scaled = (eye + scatter) / roots[:, None] / roots[None, :]
    lower = _root_of(xp, scaled, eye)
    if lower is None:
        return None
    # Rows of the inverse of L, divided by the scale of the columns: L^-1 D^-1.
    if xp is np:
        from scipy.linalg import solve_triangular

        inverse = solve_triangular(lower, np.diag(1.0 / roots), lower=True)
    else:
        inverse = xp.linalg.solve_triangular(lower, xp.diag(1.0 / roots), upper=False)
    kept, turned = xp.linalg.eigh(inverse @ inverse.T)
    zero, one = xp.zeros_like(kept), xp.ones_like(kept)
    kept = xp.where(kept > 0.0, kept, zero)
    return inverse.T @ turned, xp.where(kept < 1.0, kept, one)


def _root_of(xp: Any, scaled: Any, eye: Any) -> Any:
    """Return Cholesky's factor, of a matrix moved from singular by as little as will do."""
    if not bool(xp.isfinite(scaled).all()):
        return None
    for ridge in _RIDGES:
        try:
            lower = xp.linalg.cholesky(scaled + ridge * len(scaled) * eye)
        except xp.linalg.LinAlgError:
            continue
        if bool(xp.isfinite(lower).all()):
            return lower
    return None
