"""One interface over rows for the compiled loops, whatever the storage and the number of classes.

    row_count(rows)              how many signed rows z_r there are
    margin(rows, r, w)           w.z_r
    push(rows, r, step, w)       w += step * z_r
    square_norm(rows, r)         z_r.z_r
    count_errors(rows, w, stop)  samples with a margin that is not positive, or `stop` if so many
    least_margin(rows, w)        the row of least margin, the first of equals
    approach(rows, r)            asks memory for z_r, which will be read soon

Below it, `dot`, `add`, `square` and `fetch` do the same for the plain rows x_i of a dense array or
a CSR matrix. The choice between storages is made while compiling (see `_compiled.by_kind`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import by_kind, compiled, prefetch
from separatrix._sparse import sparse as sp
from separatrix.problem.signed import KeslerProblem, SignedProblem

# Entries on a line of the cache, and how many of a row are fetched: memory brings the rest itself.
_LINE, _FETCHED = 8, 64


class DenseRows(NamedTuple):
    """Rows of a C-ordered array."""

    values: np.ndarray


class SparseRows(NamedTuple):
    """Rows of a CSR matrix. Unsigned indices spare a test for negative ones at every entry."""

    values: np.ndarray
    indices: np.ndarray
    starts: np.ndarray


class SignedRows(NamedTuple):
    """Two classes: z_i = y_i [bias, x_i]."""

    base: Any
    signs: np.ndarray
    bias: float


class KeslerRows(NamedTuple):
    """Many classes: [bias, x_i] in the block of its class, minus that in the block of another."""

    base: Any
    codes: np.ndarray
    n_classes: int
    bias: float


def rows_of(problem: SignedProblem | KeslerProblem) -> SignedRows | KeslerRows:
    """Lay a problem out for the loops, without copying its data."""
    base = base_rows(problem.X)
    bias = float(problem.fit_intercept)
    if isinstance(problem, KeslerProblem):
        return KeslerRows(base, _read_only(problem.codes), problem.n_classes, bias)
    return SignedRows(base, _read_only(problem.signs), bias)


def base_rows(X: Any) -> DenseRows | SparseRows:
    """Lay the plain rows of a matrix out for the loops, without copying."""
    if not sp.issparse(X):
        return DenseRows(_read_only(X))
    return SparseRows(
        _read_only(X.data), _read_only(_unsigned(X.indices)), _read_only(_unsigned(X.indptr))
    )


def _unsigned(indices: np.ndarray) -> np.ndarray:
    return indices.view(np.uint32 if indices.dtype.itemsize == 4 else np.uint64)


def _read_only(values: np.ndarray) -> np.ndarray:
    """Give every input the same writability, so that each loop is compiled once."""
    view = values.view()
    view.flags.writeable = False
    return view


# ---- plain rows x_i


def _dense_dot(rows, i, v):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(rows.values.shape[1]):
        total += rows.values[i, j] * v[j]
    return total


def _sparse_dot(rows, i, v):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + 1]):
        total += rows.values[k] * v[rows.indices[k]]
    return total


def _dense_add(rows, i, step, v):  # type: ignore[no-untyped-def]
    for j in range(rows.values.shape[1]):
        v[j] += step * rows.values[i, j]


def _sparse_add(rows, i, step, v):  # type: ignore[no-untyped-def]
    for k in range(rows.starts[i], rows.starts[i + 1]):
        v[rows.indices[k]] += step * rows.values[k]


def _dense_square(rows, i):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(rows.values.shape[1]):
        value = np.float64(rows.values[i, j])
        total += value * value
    return total


def _sparse_square(rows, i):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + 1]):
        value = np.float64(rows.values[k])
        total += value * value
    return total


def _dense_expect(rows, i):  # type: ignore[no-untyped-def]
    pass


def _sparse_expect(rows, i):  # type: ignore[no-untyped-def]
    prefetch(rows.starts, i)


def _dense_fetch(rows, i):  # type: ignore[no-untyped-def]
    begin = i * rows.values.shape[1]
    for k in range(begin, begin + min(rows.values.shape[1], _FETCHED), _LINE):
        prefetch(rows.values, k)


def _sparse_fetch(rows, i):  # type: ignore[no-untyped-def]
    begin, end = rows.starts[i], rows.starts[i + 1]
    end = min(end, begin + np.uint64(_FETCHED))
    for k in range(begin, end, _LINE):
        prefetch(rows.values, k)
    for k in range(begin, end, 2 * _LINE):
        prefetch(rows.indices, k)


dot = by_kind({DenseRows: _dense_dot, SparseRows: _sparse_dot}, in_order=(SparseRows,))
add = by_kind({DenseRows: _dense_add, SparseRows: _sparse_add})
square = by_kind({DenseRows: _dense_square, SparseRows: _sparse_square})
# Of a row that is used later: `expect` fetches where it begins, `fetch` its numbers after that.
expect = by_kind({DenseRows: _dense_expect, SparseRows: _sparse_expect})
fetch = by_kind({DenseRows: _dense_fetch, SparseRows: _sparse_fetch})


# ---- signed rows z_r of two classes


def _signed_count(rows):  # type: ignore[no-untyped-def]
    return rows.signs.shape[0]


def _signed_margin(rows, r, w):  # type: ignore[no-untyped-def]
    return rows.signs[r] * (rows.bias * w[0] + dot(rows.base, r, w[1:]))


def _signed_push(rows, r, step, w):  # type: ignore[no-untyped-def]
    signed_step = step * rows.signs[r]
    w[0] += signed_step * rows.bias
    add(rows.base, r, signed_step, w[1:])


def _signed_square_norm(rows, r):  # type: ignore[no-untyped-def]
    return rows.bias * rows.bias + square(rows.base, r)


def _signed_approach(rows, r):  # type: ignore[no-untyped-def]
    fetch(rows.base, r)


def _signed_count_errors(rows, w, stop):  # type: ignore[no-untyped-def]
    errors = 0
    for r in range(rows.signs.shape[0]):
        if not _signed_margin_of(rows, r, w) > 0.0:
            errors += 1
            if errors >= stop:
                break
    return errors


# ---- signed rows z_r of many classes, by Kesler


def _kesler_sample(rows, r):  # type: ignore[no-untyped-def]
    sample = r // (rows.n_classes - 1)
    own = rows.codes[sample]
    other = r - sample * (rows.n_classes - 1)
    if other >= own:
        other += 1
    return sample, own, other


def _kesler_count(rows):  # type: ignore[no-untyped-def]
    return rows.codes.shape[0] * (rows.n_classes - 1)


def _kesler_margin(rows, r, w):  # type: ignore[no-untyped-def]
    sample, own, other = kesler_sample(rows, r)
    length = w.shape[0] // rows.n_classes
    mine = w[own * length : (own + 1) * length]
    rival = w[other * length : (other + 1) * length]
    mine_score = rows.bias * mine[0] + dot(rows.base, sample, mine[1:])
    return mine_score - (rows.bias * rival[0] + dot(rows.base, sample, rival[1:]))


def _kesler_push(rows, r, step, w):  # type: ignore[no-untyped-def]
    sample, own, other = kesler_sample(rows, r)
    length = w.shape[0] // rows.n_classes
    mine = w[own * length : (own + 1) * length]
    rival = w[other * length : (other + 1) * length]
    mine[0] += step * rows.bias
    rival[0] -= step * rows.bias
    add(rows.base, sample, step, mine[1:])
    add(rows.base, sample, -step, rival[1:])


def _kesler_square_norm(rows, r):  # type: ignore[no-untyped-def]
    sample = r // (rows.n_classes - 1)
    return 2.0 * (rows.bias * rows.bias + square(rows.base, sample))


def _kesler_approach(rows, r):  # type: ignore[no-untyped-def]
    fetch(rows.base, r // (rows.n_classes - 1))


def _kesler_count_errors(rows, w, stop):  # type: ignore[no-untyped-def]
    errors = 0
    rivals = rows.n_classes - 1
    for sample in range(rows.codes.shape[0]):
        for r in range(sample * rivals, (sample + 1) * rivals):
            if not _kesler_margin_of(rows, r, w) > 0.0:
                errors += 1
                break
        if errors >= stop:
            break
    return errors


kesler_sample = by_kind({KeslerRows: _kesler_sample})
_signed_margin_of = by_kind({SignedRows: _signed_margin})
_kesler_margin_of = by_kind({KeslerRows: _kesler_margin})

row_count = by_kind({SignedRows: _signed_count, KeslerRows: _kesler_count})
margin = by_kind({SignedRows: _signed_margin, KeslerRows: _kesler_margin})
push = by_kind({SignedRows: _signed_push, KeslerRows: _kesler_push})
square_norm = by_kind({SignedRows: _signed_square_norm, KeslerRows: _kesler_square_norm})
approach = by_kind({SignedRows: _signed_approach, KeslerRows: _kesler_approach})
_count_errors = by_kind({SignedRows: _signed_count_errors, KeslerRows: _kesler_count_errors})


@compiled
def count_errors(rows, w, stop):  # type: ignore[no-untyped-def]
    """Count the samples that w does not put strictly on their side; give up at `stop` of them."""
    return _count_errors(rows, w, stop)


@compiled
def least_margin(rows, w):  # type: ignore[no-untyped-def]
    """Return the row of least margin and that margin; NaN counts as least."""
    worst = 0
    least = margin(rows, 0, w)
    for r in range(1, row_count(rows)):
        value = margin(rows, r, w)
        if value < least or (np.isnan(value) and not np.isnan(least)):
            worst = r
            least = value
    return worst, least


@compiled
def square_norms(rows):  # type: ignore[no-untyped-def]
    """Return every z_r.z_r."""
    squares = np.empty(row_count(rows))
    for r in range(squares.shape[0]):
        squares[r] = square_norm(rows, r)
    return squares
