"""Rows with centred and scaled columns, which are never built.

    V = (X - 1 mean^T) / scale,     scale_j a power of two near the spread of column j

A solver that works with v_j = scale_j w_j meets columns of like size, whatever their units, and the
objective stays the user's: |w|^2 = sum_j v_j^2 / scale_j^2. Dense entries are centred one by one as
they are read, so an offset costs no digits. Sparse entries are left where they are, but for
columns without a single zero: those are centred in a copy of the values, and stay as sparse.
Everything is summed in float64, and nothing of the size of X is made.

The system of an interior point's step, (diag(q) + V^T D V) x = right, is solved by Cholesky of the
matrix scaled to a unit diagonal, with one refinement against the matrix itself. Near the optimum
the D of rows on the margin runs to infinity, and in the sum they drown q and the other rows. Where
the factor shows it and the rows are few, the triangle comes from a QR of the stacked rows sqrt(D) V
and sqrt(q), largest first, which squares nothing; the refinement then goes through the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from scipy.linalg.blas import dsymv, dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from separatrix._compiled import compiled
from separatrix.problem.rows import rows_of
from separatrix.problem.signed import FloatArray, Matrix, SignedProblem

_BLOCK = 1024
# Sparse columns are centred where their mean is so many times their spread.
_FAR_FROM_ZERO = 100.0
# Tried in turn where the matrix is not positive in floating point.
ADDED = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)
# A pivot below this has lost a third of its digits and more.
LOST = 1e-5
_SMALL = 2**20


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """The rows `chosen` of V, and what an interior point asks of them."""

    base: Any
    mean: FloatArray
    scale: FloatArray
    chosen: np.ndarray
    xp: ClassVar[Any] = np  # the array module

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.scale)

    def only(self, chosen: np.ndarray) -> ScaledRows:
        """Return other rows of the same matrix."""
        return replace(self, chosen=np.ascontiguousarray(chosen, dtype=np.int64))

    def dense(self, places: np.ndarray) -> FloatArray:
        """Return some of the chosen rows of V as an array."""
        part, base = self.chosen[places], self.base
        block = np.zeros((len(part), self.width + 1))
        if len(base) == 1:
            _fill_block(base.values, self.mean, part, np.ones(len(part)), block)
        else:
            for k, i in enumerate(part):
                stored = slice(int(base.starts[i]), int(base.starts[i + 1]))
                block[k, base.indices[stored]] = base.values[stored]
        return np.asarray(block[:, :-1] / self.scale)

    def dot(self, v: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return V v."""
        out = np.empty(len(self.chosen)) if out is None else out
        shrunk = v / self.scale
        if len(self.base) == 1:
            _dense_dots(self.base.values, self.mean, self.chosen, shrunk, out)
        else:
            base = self.base
            _sparse_dots(base.values, base.indices, base.starts, self.chosen, shrunk, out)
        return out

    def transposed_dot(self, shares: FloatArray) -> FloatArray:
        """Return V^T shares."""
        out = np.zeros(self.width)
        if len(self.base) == 1:
            _dense_adds(self.base.values, self.mean, self.chosen, shares, out)
        else:
            base = self.base
            _sparse_adds(base.values, base.indices, base.starts, self.chosen, shares, out)
        return out / self.scale

    def normal_matrix(self, diagonal: FloatArray) -> FloatArray:
        """Return the upper triangle of [V 1]^T diag(diagonal) [V 1], in an array of d + 1."""
        d = self.width
        matrix = np.zeros((d + 1, d + 1), order="F")
        if len(self.base) == 1:
            n = len(diagonal)
            buffer = np.empty((min(_BLOCK, max(1, n)), d + 1))
            for begin in range(0, n, _BLOCK):
                end = min(begin + _BLOCK, n)
                block, roots = buffer[: end - begin], np.sqrt(diagonal[begin:end])
                part = self.chosen[begin:end]
                _fill_block(self.base.values, self.mean, part, roots, block)
                matrix = dsyrk(1.0, block.T, beta=1.0, c=matrix, overwrite_c=1)
        else:
            base = self.base
            # The transpose of a Fortran array is one in C's order: its lower triangle is filled.
            lists = base.values, base.indices, base.starts, self.chosen, diagonal
            # Unsigned places spare a test for negative ones at every entry.
            _sparse_normal(*lists, np.empty(d + 1, np.uint64), np.empty(d + 1), matrix.T)
        matrix[:d] /= self.scale[:, None]
        matrix[:, :d] /= self.scale
        return matrix

    def factored(
        self, weights: FloatArray, quadratic: FloatArray, has_bias: bool, gap: float
    ) -> Factor | None:
        """Factor diag(q) + [V 1]^T D [V 1]; None where nothing finite comes of it.

        How wide the gap is matters on a device alone.
        """
        matrix = self.normal_matrix(weights)
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
        rest = (self, weights, quadratic, has_bias)
        for added in ADDED:
            matrix[places, places] = 1.0 + added
            upper, failed = dpotrf(matrix, lower=0, clean=0)
            if not failed:
                break
        matrix[places, places] = 1.0
        if failed or np.diagonal(upper).min() < LOST:
            if len(weights) * len(scale) <= _SMALL:
                return _by_rows(scale, *rest)
            if failed:
                return None
        return Factor(upper, scale, places, matrix, *rest)


def plain_rows(problem: SignedProblem) -> ScaledRows:
    """Return the rows as they are, for the same products."""
    d = problem.X.shape[1]
    everyone = np.arange(problem.n_samples)
    return ScaledRows(rows_of(problem).base, np.zeros(d), np.ones(d), everyone)


def scaled_rows(problem: SignedProblem, centre: bool) -> ScaledRows:
    """Measure the columns; `centre` only where a free bias takes up the shift."""
    plain, X = plain_rows(problem), problem.X
    n, d = X.shape
    mean, spread = np.zeros(d), np.zeros(d)
    if centre:
        mean = plain.transposed_dot(np.full(n, 1.0 / n))
    if sp.issparse(X):
        return _sparse_scaled(plain, X, mean)
    _dense_squares(plain.base.values, mean, spread)
    return replace(plain, mean=mean, scale=powers_of_two(np.sqrt(spread / n)))


def _sparse_scaled(plain: ScaledRows, X: Matrix, mean: FloatArray) -> ScaledRows:
    n, d = X.shape
    base, spread = plain.base, np.zeros(d)
    mean = np.where(np.bincount(X.indices, minlength=d) == n, mean, 0.0)
    _sparse_squares(base.values, base.indices, mean, spread)
    # Near zero, centring gains nothing and would copy the values.
    mean = np.where(np.abs(mean) > _FAR_FROM_ZERO * np.sqrt(spread / n), mean, 0.0)
    if mean.any():
        base = base._replace(values=X.data - mean[X.indices])
    _sparse_squares(base.values, base.indices, np.zeros(d), spread)
    return replace(plain, base=base, mean=mean, scale=powers_of_two(np.sqrt(spread / n)))


def powers_of_two(spread: FloatArray) -> FloatArray:
    """Round to powers of two, so that scaling rounds nothing; empty columns get 1."""
    usable = (spread > 0.0) & np.isfinite(spread)
    exponents = np.frexp(np.where(usable, spread, 0.5))[1]
    return np.ldexp(1.0, np.clip(exponents, -400, 400))


@compiled
def _dense_dots(values, mean, chosen, v, out):  # type: ignore[no-untyped-def]
    for k in range(chosen.shape[0]):
        row = values[chosen[k]]
        total = 0.0
        for j in range(v.shape[0]):
            total += (row[j] - mean[j]) * v[j]
        out[k] = total


@compiled
def _dense_adds(values, mean, chosen, shares, out):  # type: ignore[no-untyped-def]
    for k in range(chosen.shape[0]):
        share = shares[k]
        if share != 0.0:
            row = values[chosen[k]]
            for j in range(out.shape[0]):
                out[j] += share * (row[j] - mean[j])


@compiled
def _dense_squares(values, mean, out):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        for j in range(out.shape[0]):
            gap = values[i, j] - mean[j]
            out[j] += gap * gap


@compiled
def _fill_block(values, mean, chosen, roots, block):  # type: ignore[no-untyped-def]
    """Write the rows [x - mean, 1] times the root of their weight."""
    last = block.shape[1] - 1
    for k in range(chosen.shape[0]):
        row, root = values[chosen[k]], roots[k]
        for j in range(last):
            block[k, j] = (row[j] - mean[j]) * root
        block[k, last] = root


@compiled
def _sparse_dots(values, indices, starts, chosen, v, out):  # type: ignore[no-untyped-def]
    for k in range(chosen.shape[0]):
        i = chosen[k]
        total = 0.0
        for p in range(starts[i], starts[i + 1]):
            total += values[p] * v[indices[p]]
        out[k] = total


@compiled
def _sparse_adds(values, indices, starts, chosen, shares, out):  # type: ignore[no-untyped-def]
    for k in range(chosen.shape[0]):
        share, i = shares[k], chosen[k]
        if share != 0.0:
            for p in range(starts[i], starts[i + 1]):
                out[indices[p]] += share * values[p]


@compiled
def _sparse_squares(values, indices, mean, out):  # type: ignore[no-untyped-def]
    out[:] = 0.0
    for p in range(values.shape[0]):
        gap = values[p] - mean[indices[p]]
        out[indices[p]] += gap * gap


@compiled
def _sparse_normal(values, indices, starts, chosen, diagonal, places, entries, lower):  # type: ignore[no-untyped-def]
    """Add diagonal_k [x 1]^T [x 1] of every chosen row to the lower triangle (indices ascend).

    `places` and `entries` hold one row [x 1]: read once, used as often as it is long.
    """
    last = lower.shape[0] - 1
    for k in range(chosen.shape[0]):
        weight, i = diagonal[k], chosen[k]
        begin, many = starts[i], np.int64(starts[i + 1]) - np.int64(starts[i])
        for p in range(many):
            places[p] = indices[begin + p]
            entries[p] = values[begin + p]
        places[many] = last
        entries[many] = 1.0
        for p in range(many + 1):
            row, product = lower[places[p]], weight * entries[p]
            for q in range(p + 1):
                row[places[q]] += product * entries[q]


# ---- the linear system of an interior point's step, factored once and solved with a few times


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
