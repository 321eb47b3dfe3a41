"""Basis functions: what a row becomes before a hyperplane is sought.

    monomials       x_1^p_1 ... x_d^p_d  of degree 1 to g, by degree and then in dictionary order
    radial basis    exp(-|x - c_k|^2 / (2 width^2))   around centres c_k
    sigmoids        tanh(slope x.c_k + offset)
    random cosines  sqrt(2/D) cos(u_k.x + t_k),  u_k normal with variance 2 gamma, t_k in [0, 2 pi):
                    their products have exp(-gamma |x - z|^2) for mean (Rahimi and Recht 2007)
    Nystrom         K(x, S) V L^(-1/2)  for rows S and  K(S, S) = V L V^T: products equal the kernel
                    on S, and elsewhere its best approximation from S

Monomials form a tree: that of columns (j_1 <= ... <= j_g) hangs from (j_1 ... j_(g-1)). Its number
is the first child of the parent plus j_g - j_(g-1) (less one where no factor may come twice).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix._sparse import sparse as sp


def monomial_count(d: int, degree: int, interaction_only: bool = False) -> int:
    """Return how many monomials of degree 1 to `degree` there are in d columns.

    >>> monomial_count(3, 2), monomial_count(3, 2, interaction_only=True)
    (9, 6)
    """
    if interaction_only:
        return sum(math.comb(d, g) for g in range(1, degree + 1))
    return math.comb(d + degree, degree) - 1


class MonomialTree(NamedTuple):
    """Monomials of every degree but the highest: where their children begin, and their last column.

    `starts[g]` is the number of the first monomial of degree g + 1; monomials count from 0.
    """

    first_child: np.ndarray
    last: np.ndarray
    starts: np.ndarray
    repeats: int  # 1 where a factor may come again


def tree_of(d: int, degree: int, interaction_only: bool) -> MonomialTree:
    """Lay the tree out for d columns.

    >>> tree_of(2, 2, False).first_child.tolist()
    [2, 4]
    """
    repeats = 0 if interaction_only else 1
    last, children, starts = np.arange(d, dtype=np.int64), [], [0]
    lasts, end = [], d
    for _ in range(1, degree):
        starts.append(end)
        counts = d - last - 1 + repeats
        children.append(end + np.cumsum(counts) - counts)
        lasts.append(last)
        end += int(counts.sum())
        if len(lasts) < degree - 1:
            begins = np.repeat(last + 1 - repeats, counts)
            ends = np.cumsum(counts)
            last = (
                begins + np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
            )
    empty = np.zeros(0, dtype=np.int64)
    return MonomialTree(
        np.concatenate([empty, *children]),
        np.concatenate([empty, *lasts]),
        np.array([*starts, end], dtype=np.int64),
        repeats,
    )


def monomials(X: Any, tree: MonomialTree, degree: int, bias: bool) -> Any:
    """Return all monomials of the rows, dense or CSR as X is; with `bias` ones come first.

    The columns of a sparse row are sorted, and none is there twice, or more would be written than
    there is room for.
    """
    n, d = X.shape
    columns = int(tree.starts[-1]) + bias
    if not sp.issparse(X):
        lifted = np.empty((n, columns))
        if bias:
            lifted[:, 0] = 1.0
        lifted[:, bias : bias + d] = X
        fill_dense(lifted, bias, d, tree.first_child, tree.last, tree.repeats)
        return lifted
    lengths = np.diff(X.indptr)
    totals = np.full(n, int(bias), dtype=np.int64)
    for r in np.unique(lengths):
        totals[lengths == r] += monomial_count(int(r), degree, tree.repeats == 0)
    starts = np.concatenate([[0], np.cumsum(totals)])
    kind = np.int32 if max(columns, int(starts[-1])) < 2**31 else np.int64
    values, indices = np.empty(starts[-1]), np.empty(starts[-1], dtype=kind)
    given = X.data.astype(np.float64, copy=False), X.indices, X.indptr
    branches = tree.first_child, tree.last, tree.repeats
    fill_sparse(*given, int(bias), degree, *branches, starts, values, indices)
    return sp.csr_array((values, indices, starts.astype(kind)), shape=(n, columns))


@compiled
def fill_dense(lifted, bias, d, first_child, last, repeats):  # type: ignore[no-untyped-def]
    """Give every child its parent's column times its own last one."""
    for i in range(lifted.shape[0]):
        row = lifted[i, bias:]
        for parent in range(first_child.shape[0]):
            child, value = first_child[parent], row[parent]
            begin = last[parent] + 1 - repeats
            for j in range(begin, d):
                row[child + j - begin] = value * row[j]


@compiled
def fill_sparse(  # type: ignore[no-untyped-def]
    data, columns, pointers, bias, degree, first_child, last, repeats, starts, values, indices
):
    """Walk down the tree along the stored entries of every row."""
    for i in range(pointers.shape[0] - 1):
        begin, end = pointers[i], pointers[i + 1]
        at = starts[i]
        if bias:
            values[at], indices[at] = 1.0, 0
            at += 1
        level = at
        for k in range(begin, end):
            values[at], indices[at] = data[k], columns[k] + bias
            at += 1
        for _ in range(1, degree):
            level_end = at
            k = begin
            for parent in range(level, level_end):
                number = indices[parent] - bias
                # Stored columns from the parent's last one on: found again for every parent.
                k = begin
                while k < end and columns[k] < last[number] + 1 - repeats:
                    k += 1
                shift = first_child[number] - (last[number] + 1 - repeats) + bias
                for m in range(k, end):
                    values[at] = values[parent] * data[m]
                    indices[at] = shift + columns[m]
                    at += 1
            level = level_end


# ---- centres


def scale_of(X: Any) -> float:
    """Return 1 / (d var(X)), over all entries: a gamma for rows of any size; 1 if all are equal.

    >>> scale_of(np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    n, d = X.shape
    if n * d == 0:
        return 1.0
    if sp.issparse(X):
        mean = float(X.sum()) / (n * d)
        variance = float((X.data * X.data).sum()) / (n * d) - mean * mean
    else:
        variance = float(X.var())
    return 1.0 / (d * variance) if variance > 0.0 else 1.0


def squared_distances(X: Any, centres: np.ndarray) -> np.ndarray:
    """Return every |x_i - c_k|^2, none below zero."""
    if sp.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        # Around the centres' mean the terms are of the size of their difference.
        middle = centres.mean(axis=0)
        X, centres = X - middle, centres - middle
        squares = np.einsum("ij,ij->i", X, X)
    distances = np.asarray(X @ centres.T)
    distances *= -2.0
    distances += squares[:, None]
    distances += np.einsum("ij,ij->i", centres, centres)
    return np.maximum(distances, 0.0, out=distances)


def radial(X: Any, centres: np.ndarray, width: float) -> np.ndarray:
    """Return exp(-|x_i - c_k|^2 / (2 width^2)).

    >>> radial(np.array([[1.0], [3.0]]), np.array([[1.0]]), 2.0).round(4).tolist()
    [[1.0], [0.6065]]
    """
    distances = squared_distances(X, centres)
    distances *= -0.5 / width**2
    return np.asarray(np.exp(distances, out=distances))


def sigmoids(X: Any, centres: np.ndarray, slope: float, offset: float) -> np.ndarray:
    """Return tanh(slope x_i.c_k + offset).

    >>> sigmoids(np.array([[2.0]]), np.array([[0.5]]), 1.0, -1.0).tolist()
    [[0.0]]
    """
    products = np.asarray(X @ centres.T)
    products *= slope
    products += offset
    return np.asarray(np.tanh(products, out=products))


def cosines(X: Any, directions: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return sqrt(2/D) cos(u_k.x_i + t_k), the directions u being columns."""
    angles = np.asarray(X @ directions)
    angles += offsets
    np.cos(angles, out=angles)
    angles *= math.sqrt(2.0 / directions.shape[1])
    return angles
