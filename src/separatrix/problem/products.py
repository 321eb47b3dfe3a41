"""Products with all rows of X, and with none of X copied: the passes of the smooth solvers.

    scores      X v
    combined    X^T r, by the sign of r
    tilted      X^T r and X^T d
    moments     X^T r by sign,  X^T d,  and the sum of d_i x_ij^2 of every column
    curved      X^T D X v, and X v on the way

Each reads X once. The last does so too, where two products would read it twice: a row is still in
the nearest cache when its score is known. Sums are float64 whatever the type of X.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled, inlined
from separatrix.problem.rows import DenseRows, SparseRows

Rows = DenseRows | SparseRows

# Rows of what `moments` returns.
PLUS, MINUS, TILT, SPREAD = range(4)


def scores(rows: Rows, v: np.ndarray) -> np.ndarray:
    """Return X v.

    >>> scores(DenseRows(np.array([[1.0, 2.0], [0.0, 3.0]])), np.array([1.0, 1.0]))
    array([3., 3.])
    """
    return _dense_scores(*rows, v) if isinstance(rows, DenseRows) else _sparse_scores(*rows, v)


def combined(rows: Rows, shares: np.ndarray, width: int) -> np.ndarray:
    """Return X^T shares in two rows: from the positive shares, and from the negative ones."""
    if isinstance(rows, DenseRows):
        return _dense_combined(*rows, shares)
    return np.ascontiguousarray(_sparse_combined(*rows, shares, width).T)


def tilted(rows: Rows, shares: np.ndarray, curvatures: np.ndarray, width: int) -> np.ndarray:
    """Return X^T shares and X^T curvatures: half the time of `moments` on wide sparse rows."""
    if isinstance(rows, DenseRows):
        return _dense_tilted(*rows, shares, curvatures)
    return np.ascontiguousarray(_sparse_tilted(*rows, shares, curvatures, width).T)


def moments(rows: Rows, shares: np.ndarray, curvatures: np.ndarray, width: int) -> np.ndarray:
    """Return what `combined` does, then X^T curvatures and the sums of curvature x^2."""
    if isinstance(rows, DenseRows):
        return _dense_moments(*rows, shares, curvatures)
    return np.ascontiguousarray(_sparse_moments(*rows, shares, curvatures, width).T)


def curved(
    rows: Rows, curvatures: np.ndarray, v: np.ndarray, offset: float, products: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return X^T D p and the sum of D p, where p = X v - offset is written to `products`."""
    if isinstance(rows, DenseRows):
        return _dense_curved(*rows, curvatures, v, offset, products)
    return _sparse_curved(*rows, curvatures, v, offset, products)


@compiled
def _dense_scores(values, v):  # type: ignore[no-untyped-def]
    n, width = values.shape
    result = np.empty(n)
    for i in range(n):
        total = 0.0
        for j in range(width):
            total += values[i, j] * v[j]
        result[i] = total
    return result


@compiled
def _sparse_scores(values, indices, starts, v):  # type: ignore[no-untyped-def]
    n = starts.shape[0] - 1
    result = np.empty(n)
    for i in range(n):
        result[i] = sparse_score(values, indices, starts[i], starts[i + 1], v)
    return result


@inlined
def sparse_score(values, indices, k, end, v):  # type: ignore[no-untyped-def]
    """Return the product of entries k to end with v.

    Four sums at a time: one sum would wait for each of its additions.
    """
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    while k + 4 <= end:
        first += values[k] * v[indices[k]]
        second += values[k + 1] * v[indices[k + 1]]
        third += values[k + 2] * v[indices[k + 2]]
        fourth += values[k + 3] * v[indices[k + 3]]
        k += 4
    while k < end:
        first += values[k] * v[indices[k]]
        k += 1
    return (first + second) + (third + fourth)


@compiled
def _dense_combined(values, shares):  # type: ignore[no-untyped-def]
    n, width = values.shape
    table = np.zeros((2, width))
    for i in range(n):
        share = shares[i]
        if share != 0.0:
            side = 0 if share > 0.0 else 1
            for j in range(width):
                table[side, j] += share * values[i, j]
    return table


@compiled
def _sparse_combined(values, indices, starts, shares, width):  # type: ignore[no-untyped-def]
    # The places of a column lie side by side, in one line of the cache.
    table = np.zeros((width, 2))
    for i in range(starts.shape[0] - 1):
        share = shares[i]
        if share != 0.0:
            side = 0 if share > 0.0 else 1
            for k in range(starts[i], starts[i + 1]):
                table[indices[k], side] += share * values[k]
    return table


@compiled
def _dense_tilted(values, shares, curvatures):  # type: ignore[no-untyped-def]
    n, width = values.shape
    table = np.zeros((2, width))
    for i in range(n):
        share, bend = shares[i], curvatures[i]
        if share != 0.0 or bend != 0.0:
            for j in range(width):
                table[0, j] += share * values[i, j]
                table[1, j] += bend * values[i, j]
    return table


@compiled
def _sparse_tilted(values, indices, starts, shares, curvatures, width):  # type: ignore[no-untyped-def]
    table = np.zeros((width, 2))
    for i in range(starts.shape[0] - 1):
        share, bend = shares[i], curvatures[i]
        if share != 0.0 or bend != 0.0:
            for k in range(starts[i], starts[i + 1]):
                j = indices[k]
                table[j, 0] += share * values[k]
                table[j, 1] += bend * values[k]
    return table


@compiled
def _dense_moments(values, shares, curvatures):  # type: ignore[no-untyped-def]
    n, width = values.shape
    table = np.zeros((4, width))
    for i in range(n):
        share, bend = shares[i], curvatures[i]
        if share != 0.0 or bend != 0.0:
            side = 0 if share > 0.0 else 1
            for j in range(width):
                value = np.float64(values[i, j])
                table[side, j] += share * value
                table[2, j] += bend * value
                table[3, j] += bend * value * value
    return table


@compiled
def _sparse_moments(values, indices, starts, shares, curvatures, width):  # type: ignore[no-untyped-def]
    table = np.zeros((width, 4))
    for i in range(starts.shape[0] - 1):
        share, bend = shares[i], curvatures[i]
        if share != 0.0 or bend != 0.0:
            side = 0 if share > 0.0 else 1
            for k in range(starts[i], starts[i + 1]):
                j = indices[k]
                value = np.float64(values[k])
                table[j, side] += share * value
                table[j, 2] += bend * value
                table[j, 3] += bend * value * value
    return table


@compiled
def _dense_curved(values, curvatures, v, offset, products):  # type: ignore[no-untyped-def]
    n, width = values.shape
    result = np.zeros(width)
    sum_of_pushes = 0.0
    for i in range(n):
        total = -offset
        for j in range(width):
            total += values[i, j] * v[j]
        products[i] = total
        push = curvatures[i] * total
        if push != 0.0:
            sum_of_pushes += push
            for j in range(width):
                result[j] += push * values[i, j]
    return result, sum_of_pushes


@compiled
def _sparse_curved(values, indices, starts, curvatures, v, offset, products):  # type: ignore[no-untyped-def]
    result = np.zeros(v.shape[0])
    sum_of_pushes = 0.0
    for i in range(starts.shape[0] - 1):
        total = sparse_score(values, indices, starts[i], starts[i + 1], v) - offset
        products[i] = total
        push = curvatures[i] * total
        if push != 0.0:
            sum_of_pushes += push
            for k in range(starts[i], starts[i + 1]):
                result[indices[k]] += push * values[k]
    return result, sum_of_pushes
