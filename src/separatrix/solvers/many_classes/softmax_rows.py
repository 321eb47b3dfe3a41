"""Passes over the rows of a multinomial model, a tile at a time, wherever the rows lie.

    gradient    sum_i c_i (p_i - e_y) (x_i - m)      and the losses; the probabilities p are kept
    curved      sum_i c_i (diag p_i - p_i p_i^T) (V^T (x_i - m) + v)  (x_i - m)
    spread      sum_i c_i h_i (x_i - m)(x_i - m)^T,  h_i = (1 - |p_i|^2) / K

m is the mean row, taken from products and not from the rows (from dense ones in `spread` alone), so
that sparse rows stay sparse and large columns hide behind a free bias. Rows may be NumPy's, SciPy's
CSR, or on a device (torch): the few functions used have the same names in both libraries. Products
are made in the type of the rows, and what is summed over tiles is summed in float64.

The whole system of a multinomial step, for few unknowns: solved at once, whatever its condition.

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

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._device import product_precision, torch_module
from separatrix.problem.many_classes import SoftmaxProblem
from separatrix.problem.signed import on_device

__all__ = [
    "SoftmaxRows",
    "Whitening",
    "exact_step",
    "is_small",
    "is_tiny",
    "most_columns",
]


_ENTRIES = 1 << 18  # of a tile of scores: what stays in a processor's cache
_DEVICE_ENTRIES = 1 << 27
# Probabilities of all rows are kept where they take no more; else they are made again.
_BYTES, _DEVICE_BYTES = 2 << 30, 24 << 30


class SoftmaxRows:
    """The rows as tiles, and the probabilities of the last gradient."""

    def __init__(
        self, problem: SoftmaxProblem, pool: Executor | None = None, precise: bool = False
    ) -> None:
        X = problem.X
        self.on_device = on_device(X)
        self.xp = torch_module() if self.on_device else np
        self.n, self.d = X.shape
        self.K = problem.n_classes
        self._map: Callable[..., Iterable[Any]] = map
        if pool is not None and not self.on_device:
            self._map = pool.map
        self._X = X
        single = X.dtype.itemsize == 4 and not precise
        self.dtype = self.xp.float32 if single else self.xp.float64
        self.is_single = single
        self.codes, self.costs = self.placed(problem.codes), self.placed(problem.costs, self.dtype)
        self.centre = self.zeros(self.d)
        if problem.has_free_bias:
            self.centre = X.once("mean row", self._mean) if self.on_device else self._mean()
        step = max(1, (_DEVICE_ENTRIES if self.on_device else _ENTRIES) // max(self.K, 1))
        self.tiles = [slice(at, min(self.n, at + step)) for at in range(0, self.n, step)]
        size = self.n * self.K * (4.0 if single else 8.0)
        self.keeps = size <= (_DEVICE_BYTES if self.on_device else _BYTES)
        self.kept: list[Any] = []
        self._at: Any = None  # weights and shift of the last gradient
        self.chosen: Any = None  # rows of the sample, their probabilities and costs

    # ---- arrays beside the rows

    def placed(self, array: Any, dtype: Any = None) -> Any:
        """Return an array beside the rows."""
        if not self.on_device:
            return np.asarray(array, dtype=dtype)
        return self.xp.asarray(array, dtype=dtype, device=self._X.device)

    def rows(self, tile: Any) -> Any:
        """Return some of the rows, in the type that products are made in."""
        rows = self._X[tile]
        if rows.dtype == self.dtype:
            return rows
        return rows.to(self.dtype) if self.on_device else rows.astype(self.dtype)

    def probabilities(self, tile: slice) -> Any:
        """Return the probabilities of a tile at the point of the last gradient."""
        if self.keeps:
            return self.kept[self.tiles.index(tile)]
        return self._softmax(self.rows(tile), *self._at)[0]

    def back(self, array: Any) -> np.ndarray:
        """Return an array in this machine's memory, as NumPy's."""
        return np.asarray(array.cpu().numpy() if self.on_device else array)

    def zeros(self, *shape: int) -> Any:
        """Return zeros in float64 beside the rows."""
        return self.placed(np.zeros(shape))

    def _mean(self) -> Any:
        if sp.issparse(self._X):
            return np.asarray(self._X.mean(axis=0), dtype=np.float64).ravel()
        total = self.zeros(self.d)
        step = max(1, _DEVICE_ENTRIES // max(self.d, 1))
        for at in range(0, self.n, step):
            part = self._X[slice(at, min(self.n, at + step))]
            total = total + self.xp.sum(part, axis=0, dtype=self.xp.float64)
        return total / self.n

    def _as(self, array: Any) -> Any:
        """Return an array in the type of the rows."""
        return array.to(self.dtype) if self.on_device else array.astype(self.dtype, copy=False)

    def in_double(self, array: Any) -> Any:
        """Return an array in float64."""
        return array.to(self.xp.float64) if self.on_device else array.astype(np.float64, copy=False)

    # ---- the passes

    def gradient(self, W: Any, bias: Any) -> tuple[float, Any, Any]:
        """Return the sum of costs times losses, the pull on W and that on the biases."""
        self._at = self._as(W), self._as(bias - self.centre @ W)
        self.kept = []  # let go of the old before the new are made
        with _precision(self, rough=False):
            done = list(self._map(lambda tile: self._slope(tile, *self._at), self.tiles))
        self.kept = [each[0] for each in done]
        loss, pull, excess = (sum(part[i] for part in done[1:]) + done[0][i] for i in (1, 2, 3))
        return float(loss), pull - self.xp.outer(self.centre, excess), excess

    @np.errstate(all="ignore")  # threads of a pool have their own state
    def _slope(self, tile: slice, W: Any, shift: Any) -> tuple[Any, Any, Any, Any]:
        xp, X, own, costs = self.xp, self.rows(tile), self.codes[tile], self.costs[tile]
        at = self._numbers(len(own))
        p, losses = self._softmax(X, W, shift, (at, own))
        losses = self.in_double(costs) * self.in_double(losses)
        residual = p * costs[:, None]
        residual[at, own] -= costs
        # float64 would be exact here and slow; sums of one tile err by little.
        excess = xp.sum(residual, axis=0, dtype=xp.float64)
        kept = p if self.keeps else None
        return kept, xp.sum(losses), self.in_double(X.T @ residual), excess

    def _softmax(self, X: Any, W: Any, shift: Any, own: Any = None) -> tuple[Any, Any]:
        """Return the probabilities of some rows and, given their own places, their losses."""
        xp = self.xp
        p = X @ W
        p += shift
        mine = None if own is None else p[own]
        top = xp.amax(p, axis=1)
        p -= top[:, None]
        xp.exp(p, out=p)
        whole = xp.sum(p, axis=1)
        p /= whole[:, None]
        return p, None if own is None else xp.log(whole) + (top - mine)

    def curved(self, V: Any, v: Any) -> tuple[Any, Any]:
        """Return the curvature times a direction, on the sample if there is one."""
        direction, shift = self._as(V), self._as(v - self.centre @ V)
        with _precision(self, rough=True):
            bent, pushes = self._over_curved(lambda X, p, c: self._bend(X, p, c, direction, shift))
        return bent - self.xp.outer(self.centre, pushes), pushes

    def _over_curved(self, work: Callable[..., tuple[Any, ...]]) -> Iterable[Any]:
        """Return the sums of what `work` makes of (rows, probabilities, costs): sample or all."""
        if self.chosen is not None:
            return work(*self.chosen)
        pieces = list(
            self._map(
                lambda tile: work(self.rows(tile), self.probabilities(tile), self.costs[tile]),
                self.tiles,
            )
        )
        return [sum(part[1:], start=part[0]) for part in zip(*pieces, strict=True)]

    def _bend(self, X: Any, p: Any, costs: Any, V: Any, shift: Any) -> tuple[Any, Any]:
        xp = self.xp
        moved = X @ V
        moved += shift
        moved *= p
        moved -= p * xp.sum(moved, axis=1)[:, None]
        moved *= costs[:, None]
        return self.in_double(X.T @ moved), xp.sum(moved, axis=0, dtype=xp.float64)

    def sample(self, numbers: np.ndarray | None) -> None:
        """Take curvatures from these rows alone (None: from all), each standing for several."""
        self.chosen = None
        if numbers is None:
            return
        X, costs = self.rows(numbers), self.costs[self.placed(numbers)]
        p, _ = self._softmax(X, *self._at)
        self.chosen = X, p, costs * (self.n / len(numbers))

    def spread(self, dense: bool) -> tuple[Any, Any]:
        """Return the weighted scatter of the rows (or its diagonal), and each class's curvature."""
        with _precision(self, rough=True):
            scatter, tilt, total, classes = self._over_curved(
                lambda X, p, c: self._scatter(X, p, c, dense)
            )
        if not sp.issparse(self._X):
            return scatter, classes  # made of centred rows
        m = self.centre
        if dense:
            crossed = self.xp.outer(m, tilt)
            scatter = scatter - crossed - crossed.T + total * self.xp.outer(m, m)
        else:
            scatter = scatter - m * (2.0 * tilt - total * m)
        return scatter, classes

    @np.errstate(all="ignore")  # threads of a pool have their own state
    def _scatter(self, X: Any, p: Any, costs: Any, dense: bool) -> tuple[Any, Any, Any, Any]:
        xp = self.xp
        curves = p * (1.0 - p)
        curves *= costs[:, None]
        h = xp.sum(curves, axis=1) / self.K
        if sp.issparse(X):
            weighted = sp.csr_array(X.multiply(h[:, None]))
            scatter = (X.T @ weighted).toarray() if dense else np.asarray(X.power(2).T @ h)
            tilt = np.asarray(X.T @ h)
        else:
            # Centred first: far from 0 what remains would be lost in the difference of large sums.
            X = X - self._as(self.centre)
            weighted = X * h[:, None]
            scatter = X.T @ weighted if dense else xp.sum(X * weighted, axis=0)
            tilt = xp.sum(weighted, axis=0)
        total = xp.sum(h, dtype=xp.float64)
        classes = xp.sum(curves, axis=0, dtype=xp.float64)
        return self.in_double(scatter), self.in_double(tilt), total, classes

    def lean(self, step: Any) -> Any:
        """Move the biases by so much, in the probabilities kept alone; return the new pull."""
        factors = self._as(self.xp.exp(step - step.max()))
        total = self.zeros(self.K)
        for tile, p in zip(self.tiles, self.kept, strict=True):
            p *= factors
            p /= self.xp.sum(p, axis=1)[:, None]
            total = total + self.xp.sum(
                p * self.costs[tile][:, None], axis=0, dtype=self.xp.float64
            )
        return total

    def balanced_curvature(self) -> Any:
        """Return sum_i c_i (diag p_i - p_i p_i^T): the curvature of the biases."""
        total = self.zeros(self.K, self.K)
        for tile in self.tiles:
            p = self.probabilities(tile)
            scaled = p * self.costs[tile][:, None]
            total = total - self.in_double(p.T @ scaled)
            total[self._numbers(self.K), self._numbers(self.K)] += self.xp.sum(
                scaled, axis=0, dtype=self.xp.float64
            )
        return total

    def _numbers(self, count: int) -> Any:
        return self.xp.arange(count, device=self._X.device) if self.on_device else np.arange(count)


def _precision(rows: SoftmaxRows, rough: bool) -> Any:
    """Return a block in which products keep all their digits, or, on a GPU, may be rough."""
    return product_precision(rough) if rows.on_device else nullcontext()


# ---- the whole system of a multinomial step, for few unknowns: solved whatever its condition


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
