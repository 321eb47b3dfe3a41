"""Sums of products over the rows and columns of data, enclosed: plainly, compensated, or exactly.

    products      sum_j x_ij w_jk + start_i       one number a row (and column of W)
    row_sums      sum_i a_ik x_ij                 one number a column (and column of A)

plain        k products added in any order, threads and fused operations included, err by at most
             1.001 (k + 2) u A + 8 (k + 1) 2^-1074, A the sum of the absolute products as computed
             (Higham 2002, section 3.1; k up to 2^40).
each         the same with A by itself for each column of W or A; plain takes the largest size of
             an entry for all of them, which costs one column and not all.
compensated  each product with its rounding error (Dekker 1971; underflow loses 5 least numbers at
             the most: Ogita, Rump, Oishi 2005). High parts relative to a power of two above
             (k + 2) max |product| add up exactly in any order (Rump, Ogita, Oishi 2008), and the
             rest with the plain bound.
exact        integers, rounded once to either side.

Factors may be enclosed: then the sums of their middles are widened by what their radii come to.
Data are dense or CSR without duplicates, float32 or float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosure import (
    LEAST,
    LEAST_NORMAL,
    UNIT,
    Enclosure,
    require_denormals,
    rounded,
)

__all__ = [
    "WAYS",
    "blocks",
    "dot_error",
    "dot_error_32",
    "products",
    "row_sums",
    "sums_both_ways",
    "ways_for",
]

WAYS = ("plain", "compensated", "exact")
_ENTRIES_AT_A_TIME = 1 << 17
_SPARSE_ENTRIES = 1 << 22
_ROWS_COMPENSATED = 4096
_MOST_COMPENSATED, _MOST_EXACT = 1 << 25, 20_000
_MOST_TERMS = 2.0**40
_MOST_TERMS_32, _UNIT_32, _LEAST_32 = 2.0**12, 2.0**-24, 2.0**-149


def ways_for(entries: int) -> tuple[str, ...]:
    """Return the ways to sum so many entries, each dearer and tighter than the last."""
    if entries <= _MOST_EXACT:
        return WAYS
    return WAYS[:2] if entries <= _MOST_COMPENSATED else WAYS[:1]


def dot_error(terms: Any, sizes: Any) -> Any:
    """Bound the error of a sum of so many products, from the computed sum of their sizes.

    >>> bool(dot_error(10.0, 1.0) > 11 * UNIT)
    True
    """
    if not np.all(terms < _MOST_TERMS):
        raise ValueError("a sum of more than 2^40 products is not bounded here")
    return (1.001 * (terms + 2.0) * UNIT) * sizes + 8.0 * (terms + 1.0) * LEAST


def dot_error_32(terms: float, sizes: Any) -> Any:
    """Bound the error of such a sum in float32; there is no bound beyond 2^12 products.

    >>> bool(dot_error_32(10.0, 1.0) > 11 * 2.0**-24), dot_error_32(1e5, 1.0)
    (True, inf)
    """
    if not terms <= _MOST_TERMS_32:
        return math.inf * (1.0 + sizes)
    return (1.001 * (terms + 2.0) * _UNIT_32) * sizes + 8.0 * (terms + 1.0) * _LEAST_32


def products(
    X: Any,
    W: Any,
    starts: tuple[Any, ...] = (),
    way: str = "plain",
    wide: float = 1.0,
    rounded: int = 0,
) -> Enclosure:
    """Enclose X W plus the starts, numbers or one a row, as one sum each."""
    return sums_both_ways(X, W, starts, None, way, wide, rounded)[0]


def row_sums(X: Any, A: Any, way: str = "plain", wide: float = 1.0, rounded: int = 0) -> Enclosure:
    """Enclose X' A: the sums of rows that the columns of A make."""
    return sums_both_ways(X, None, (), A, way, wide, rounded)[1]


def sums_both_ways(
    X: Any,
    W: Any,
    starts: tuple[Any, ...],
    A: Any,
    way: str = "plain",
    wide: float = 1.0,
    rounded: int = 0,
) -> tuple[Enclosure, Enclosure]:
    """Enclose X W plus the starts, and X' A, in one pass; either may be None.

    The error bound is made `wide` times as large: three times, and whoever adds up in another order
    finds an enclosure within this one. A may be sparse. In the plain ways the entries of X or those
    of A may have been `rounded` so many times, both together.
    """
    require_denormals()
    n, d = X.shape
    starts = tuple(np.broadcast_to(np.asarray(start, dtype=np.float64), n) for start in starts)
    (W, W_radius), (A, A_radius) = _apart(W), _apart(A)
    low, high = (np.empty((n, 0 if W is None else _tall(W).shape[1])) for _ in range(2))
    total: Enclosure | None = None
    size = _ENTRIES_AT_A_TIME if not sp.issparse(X) else _SPARSE_ENTRIES
    room = np.empty(0)
    by: Any = {"plain": _Plain, "each": _Each, "compensated": _Compensated, "exact": _Exact}[way]
    with np.errstate(all="ignore"):
        for rows, block in blocks(X, size, None if way in ("plain", "each") else _ROWS_COMPENSATED):
            if room.shape != block.shape and not sp.issparse(block):
                room = np.empty(block.shape)
            seen = by(block, wide, room, rounded)
            if W is not None:
                found = seen.products(_tall(W), tuple(start[rows] for start in starts))
                if W_radius is not None:
                    found = found + _doubt(abs(block), _tall(W_radius), rounded)
                low[rows], high[rows] = found.low, found.high
            if A is not None:
                part = _tall(A[rows].toarray() if sp.issparse(A) else A[rows])
                if total is None or part.any():
                    added = seen.row_sums(part)
                    total = added if total is None else total + added
                if A_radius is not None:
                    total = total + _doubt(abs(block).T, _tall(A_radius[rows]), rounded)
    one_w, one_a = W is not None and W.ndim == 1, A is not None and A.ndim == 1
    scores = Enclosure(low[:, 0], high[:, 0]) if one_w else Enclosure(low, high)
    if total is None:
        total = Enclosure.exact(np.zeros((d, 1 if A is None or one_a else A.shape[1])))
    return scores, total[:, 0] if one_a else total


def _apart(factors: Any) -> tuple[Any, Any]:
    """Return the middles of factors and their radii, None where all are exact."""
    if not isinstance(factors, Enclosure):
        return factors, None
    radius = factors.radius
    return factors.middle, radius if radius.any() else None


def _tall(factors: np.ndarray) -> np.ndarray:
    return factors[:, None] if factors.ndim == 1 else factors


def _doubt(sizes: Any, radius: np.ndarray, rounded: int) -> Enclosure:
    """Enclose what factors so far from their middles add: nothing, give or take."""
    far = np.asarray(sizes @ radius)
    most = Enclosure.around(far, dot_error(float(sizes.shape[1] + rounded), far)).high
    return Enclosure(-most, most)


class _Plain:
    """The plain sums of one block, its sizes made once.

    With several columns the largest size of each entry serves for all: a bound for one column costs
    as much as the sums of that column.
    """

    def __init__(self, block: Any, wide: float, room: np.ndarray, rounded: int) -> None:
        self.block, self.wide, self.rounded = block, wide, rounded
        if sp.issparse(block):
            negative = block.data.min(initial=0.0) < 0.0
            self.sizes = _with_data(block, abs(block.data)) if negative else block
        else:
            self.sizes = np.abs(block, out=room)

    def _terms(self) -> Any:
        if sp.issparse(self.block):
            return np.diff(self.block.indptr).astype(np.float64)[:, None]
        return float(self.block.shape[1])

    def products(self, W: np.ndarray, starts: tuple[np.ndarray, ...]) -> Enclosure:
        values, sizes = self.block @ W, self.sizes @ self._sizes_of(W)
        terms = self._terms() + len(starts) + self.rounded
        for start in starts:
            values += start[:, None]
            sizes += abs(start)[:, None]
        return Enclosure.around(values, self.wide * dot_error(terms, sizes))

    def row_sums(self, A: np.ndarray) -> Enclosure:
        factors = self._sizes_of(A)
        if self.rounded:  # a number that vanished is as good as a least normal one
            factors = factors + LEAST_NORMAL
        values, sizes = self.block.T @ A, self.sizes.T @ factors
        terms = float(np.count_nonzero(_Plain._sizes_of(self, A))) + self.rounded
        return Enclosure.around(values, self.wide * dot_error(terms, sizes))

    def _sizes_of(self, factors: np.ndarray) -> np.ndarray:
        """Return the largest size in every row, as one column."""
        if factors.shape[1] == 1:
            return abs(factors)
        return np.asarray(abs(factors).max(axis=1, initial=0.0)[:, None])


class _Each(_Plain):
    """The plain sums of one block with a bound for each column."""

    def _sizes_of(self, factors: np.ndarray) -> np.ndarray:
        return abs(factors)


class _Compensated:
    """The sums of one block with the rounding errors of its products and high parts."""

    def __init__(self, block: Any, wide: float, _room: np.ndarray, _rounded: int) -> None:
        self.block, self.wide = block, wide

    def products(self, W: np.ndarray, starts: tuple[np.ndarray, ...]) -> Enclosure:
        return _columns([self._one(w, starts, rows=True) for w in W.T])

    def row_sums(self, A: np.ndarray) -> Enclosure:
        return _columns([self._one(a, (), rows=False) for a in A.T])

    def _one(self, factor: np.ndarray, starts: tuple[np.ndarray, ...], rows: bool) -> Enclosure:
        """Sum along rows (or columns) the entries times the factor of their column (or row)."""
        block, sparse = self.block, sp.issparse(self.block)
        line: Any = None
        if sparse:
            values = block.data
            row_of = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
            factors = factor[block.indices if rows else row_of]
            line = row_of if rows else block.indices
        else:
            values, factors = block, factor if rows else factor[:, None]
        high, left = _two_products(values, factors)
        lines = block.shape[0] if rows else block.shape[1]
        terms = float(block.shape[1] if rows else block.shape[0]) + len(starts)
        if sparse:
            terms = min(terms, block.nnz + 1.0 + len(starts))
        if terms > _MOST_COMPENSATED:
            raise ValueError("a sum of more than 2^25 products is not compensated here")

        def along(parts: np.ndarray) -> np.ndarray:
            if sparse:
                return np.bincount(line, parts, minlength=lines)
            return np.asarray(parts.sum(axis=1 if rows else 0))

        def largest(parts: np.ndarray) -> np.ndarray:
            if not sparse:
                return np.asarray(parts.max(axis=1 if rows else 0, initial=0.0))
            most = np.zeros(lines)
            np.maximum.at(most, line, parts)
            return most

        most = largest(abs(high))
        for start in starts:
            most = np.maximum(most, abs(start))
        # A power of two above (terms + 2) times the largest term.
        step = np.ldexp(1.0, np.frexp((terms + 4.0) * most)[1])
        spread = step if line is None else step[line]
        spread = spread[:, None] if line is None and rows else spread
        upper = (spread + high) - spread
        rest = high - upper
        total, small = along(upper), along(rest) + along(left)
        sizes = along(abs(rest)) + along(abs(left))
        for start in starts:
            upper = (step + start) - step
            total += upper
            small += start - upper
            sizes += abs(start - upper)
        # The sums of high parts are exact; Dekker's errors lack five least numbers each.
        error = dot_error(2.0 * terms + 4.0, sizes) + 8.0 * (terms + 1.0) * LEAST
        return Enclosure.exact(total) + Enclosure.around(small, self.wide * error)


class _Exact:
    """The sums of one block in integers."""

    def __init__(self, block: Any, wide: float, _room: np.ndarray, _rounded: int) -> None:
        self.rows = block.toarray() if sp.issparse(block) else block

    def products(self, W: np.ndarray, starts: tuple[np.ndarray, ...]) -> Enclosure:
        begin = np.column_stack([*starts, np.zeros((len(self.rows), 0))])
        return _columns([_exact_sums(self.rows, w, begin) for w in W.T])

    def row_sums(self, A: np.ndarray) -> Enclosure:
        turned = self.rows.T
        none = np.zeros((len(turned), 0))
        return _columns([_exact_sums(turned, a, none) for a in A.T])


def _exact_sums(rows: np.ndarray, factor: np.ndarray, starts: np.ndarray) -> Enclosure:
    if not (np.isfinite(rows).all() and np.isfinite(factor).all() and np.isfinite(starts).all()):
        wide = np.full(len(rows), math.inf)
        return Enclosure(-wide, wide)
    factors = list(map(Fraction, factor.tolist()))
    sums = [
        sum((Fraction(x) * f for x, f in zip(row, factors, strict=True) if x != 0.0 and f != 0),
            start=sum(map(Fraction, begin), start=Fraction(0)))
        for row, begin in zip(rows.tolist(), starts.tolist(), strict=True)
    ]  # fmt: skip
    low, high = zip(*map(rounded, sums), strict=True) if sums else ((), ())
    return Enclosure(np.array(low, dtype=np.float64), np.array(high, dtype=np.float64))


def _with_data(block: Any, data: np.ndarray) -> Any:
    return sp.csr_array((data, block.indices, block.indptr), shape=block.shape)


def _columns(found: list[Enclosure]) -> Enclosure:
    rows = Enclosure.stacked(found)
    return Enclosure(rows.low.T, rows.high.T)


def _two_products(values: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return products and what their rounding left off: together they are exact (Dekker 1971)."""
    product = values * factor
    high, low = _halves(values)
    factor_high, factor_low = _halves(factor)
    left = high * factor_high - product
    left += high * factor_low
    left += low * factor_high
    left += low * factor_low
    return product, left


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split into 26 bits and the rest (Veltkamp)."""
    spread = values * (2.0**27 + 1.0)
    high = spread - (spread - values)
    return high, values - high


def blocks(X: Any, entries: int, most_rows: int | None = None) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows in float64."""
    n, d = X.shape
    most_rows = most_rows or max(n, 1)
    if not sp.issparse(X):
        step = min(most_rows, max(1, entries // max(d, 1)))
        for begin in range(0, n, step):
            rows = slice(begin, min(n, begin + step))
            yield rows, np.asarray(X[rows], dtype=np.float64)
        return
    entries = max(entries, 4 * d)
    if X.nnz <= entries and n <= most_rows and X.dtype == np.float64:
        yield slice(0, n), X
        return
    begin = 0
    while begin < n:
        # At least one row, and as many more as the entries allow.
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + entries, side="right")) - 1
        rows = slice(begin, min(n, begin + most_rows, max(end, begin + 1)))
        first, last = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
        starts = X.indptr[rows.start : rows.stop + 1] - first
        values = np.asarray(X.data[first:last], dtype=np.float64)
        shape = (rows.stop - rows.start, d)
        yield rows, sp.csr_array((values, X.indices[first:last], starts), shape=shape)
        begin = rows.stop
