"""Passes over the rows of a multinomial model, a tile at a time, wherever the rows lie.

    gradient    sum_i c_i (p_i - e_y) (x_i - m)      and the losses; the probabilities p are kept
    curved      sum_i c_i (diag p_i - p_i p_i^T) (V^T (x_i - m) + v)  (x_i - m)
    spread      sum_i c_i h_i (x_i - m)(x_i - m)^T,  h_i = (1 - |p_i|^2) / K

m is the mean row, taken from products and not from the rows (from dense ones in `spread` alone), so
that sparse rows stay sparse and large columns hide behind a free bias. Rows may be NumPy's, SciPy's
CSR, or on a device (torch): the few functions used have the same names in both libraries. Products
are made in the type of the rows, and what is summed over tiles is summed in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._device import product_precision, torch_module
from separatrix.problem.signed import on_device
from separatrix.problem.softmax import SoftmaxProblem

__all__ = ["SoftmaxRows"]

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
