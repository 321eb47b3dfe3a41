"""The ways to sum the products of one block of rows, each with a proved error bound.

plain        k products added in any order, threads and fused operations included, err by at most
             1.001 (k + 2) u A + 8 (k + 1) 2^-1074, A the sum of the absolute products as computed
             (Higham 2002, section 3.1; k up to 2^40).
each         the same with A by itself for each column of factors; plain takes the largest size of
             an entry for all of them, which costs one column and not all.
compensated  each product with its rounding error (Dekker 1971; underflow loses 5 least numbers at
             the most: Ogita, Rump, Oishi 2005). High parts relative to a power of two above
             (k + 2) max |product| add up exactly in any order (Rump, Ogita, Oishi 2008), and the
             rest with the plain bound.
exact        integers, rounded once to either side.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosure import LEAST, LEAST_NORMAL, UNIT, Enclosure, rounded

__all__ = ["MOST_COMPENSATED", "Compensated", "Each", "Exact", "Plain", "dot_error", "dot_error_32"]

MOST_COMPENSATED = 1 << 25
_MOST_TERMS = 2.0**40
_MOST_TERMS_32, _UNIT_32, _LEAST_32 = 2.0**12, 2.0**-24, 2.0**-149


def dot_error(terms: Any, sizes: Any) -> Any:
    """Bound the error of a sum of so many products, from the computed sum of their sizes.

    >>> bool(dot_error(10.0, 1.0) > 11 * UNIT)
    True
    """
    if not (terms if isinstance(terms, float) else np.max(terms)) < _MOST_TERMS:
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


class Plain:
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
        """Enclose the rows times W, plus the starts."""
        values, sizes = self.block @ W, self.sizes @ self._sizes_of(W)
        terms = self._terms() + len(starts) + self.rounded
        for start in starts:
            values += start[:, None]
            sizes += abs(start)[:, None]
        return Enclosure.around(values, self.wide * dot_error(terms, sizes))

    def row_sums(self, A: np.ndarray) -> Enclosure:
        """Enclose the sums of rows that A makes."""
        factors = self._sizes_of(A)
        if self.rounded:  # a number that vanished is as good as a least normal one
            factors = factors + LEAST_NORMAL
        values, sizes = self.block.T @ A, self.sizes.T @ factors
        terms = float(np.count_nonzero(Plain._sizes_of(self, A))) + self.rounded
        return Enclosure.around(values, self.wide * dot_error(terms, sizes))

    def _sizes_of(self, factors: np.ndarray) -> np.ndarray:
        """Return the largest size in every row, as one column."""
        if factors.shape[1] == 1:
            return abs(factors)
        return np.asarray(abs(factors).max(axis=1, initial=0.0)[:, None])


class Each(Plain):
    """The plain sums of one block with a bound for each column."""

    def _sizes_of(self, factors: np.ndarray) -> np.ndarray:
        return abs(factors)


class Compensated:
    """The sums of one block with the rounding errors of its products and high parts."""

    def __init__(self, block: Any, wide: float, _room: np.ndarray, _rounded: int) -> None:
        self.block, self.wide = block, wide

    def products(self, W: np.ndarray, starts: tuple[np.ndarray, ...]) -> Enclosure:
        """Enclose the rows times W, plus the starts."""
        return _columns([self._one(w, starts, rows=True) for w in W.T])

    def row_sums(self, A: np.ndarray) -> Enclosure:
        """Enclose the sums of rows that A makes."""
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
        if terms > MOST_COMPENSATED:
            raise ValueError("a sum of more than 2^25 products is not compensated here")

        def along(parts: np.ndarray) -> np.ndarray:
            if sparse:
                # Of no entries at all NumPy counts in whole numbers.
                return np.bincount(line, parts, minlength=lines).astype(np.float64, copy=False)
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


class Exact:
    """The sums of one block in integers."""

    def __init__(self, block: Any, wide: float, _room: np.ndarray, _rounded: int) -> None:
        self.rows = block.toarray() if sp.issparse(block) else block

    def products(self, W: np.ndarray, starts: tuple[np.ndarray, ...]) -> Enclosure:
        """Enclose the rows times W, plus the starts."""
        rows, ones = np.column_stack([self.rows, *starts]), np.ones(len(starts))
        return _columns([_exact_sums(rows, np.append(w, ones)) for w in W.T])

    def row_sums(self, A: np.ndarray) -> Enclosure:
        """Enclose the sums of rows that A makes."""
        return _columns([_exact_sums(self.rows.T, a) for a in A.T])


def _exact_sums(rows: np.ndarray, factor: np.ndarray) -> Enclosure:
    if not (np.isfinite(rows).all() and np.isfinite(factor).all()):
        wide = np.full(len(rows), math.inf)
        return Enclosure(-wide, wide)
    factors, none = list(map(Fraction, factor.tolist())), Fraction(0)
    sums = [
        sum((Fraction(x) * f for x, f in zip(row, factors, strict=True) if x and f), none)
        for row in rows.tolist()
    ]
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
