"""Sums of products over the rows and columns of data, enclosed.

    products      sum_j x_ij w_jk + start_i       one number a row (and column of W)
    row_sums      sum_i a_ik x_ij                 one number a column (and column of A)
    stacked_products   A_k B_k                    of stacks of small matrices

There are several ways to sum, each with a proved error bound:

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

Factors may be enclosed: then the sums of their middles are widened by what their radii come to.
Data are dense or CSR without duplicates, float32 or float64; dense ones may lie on a device.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_functions import FUNCTION_ERROR
from separatrix.certificates.enclosure import (
    LEAST,
    LEAST_NORMAL,
    UNIT,
    Enclosure,
    require_denormals,
    rounded,
)
from separatrix.problem.device_rows import blocks, with_data
from separatrix.problem.signed import on_device

WAYS = ("plain", "compensated", "exact")
# A claim is this many times as wide as what was found, so that sums in another order find it too.
ROOM = 2.0
_ENTRIES_AT_A_TIME, _SPARSE_ENTRIES, _ROWS_COMPENSATED = 1 << 17, 1 << 22, 4096
_MOST_EXACT, _MOST_COMPENSATED = 20_000, 1 << 25  # entries
_GOOD_MEASURE = 2.0
_MOST_TERMS = 2.0**40
_MOST_TERMS_32, _UNIT_32, _LEAST_32 = 2.0**12, 2.0**-24, 2.0**-149


def dot_error(terms: Any, sizes: Any) -> Any:
    """Bound the error of a sum of so many products, from the computed sum of their sizes.

    >>> bool(dot_error(10.0, 1.0) > 11 * UNIT)
    True
    """
    if not (terms if isinstance(terms, float) else np.max(terms)) < _MOST_TERMS:
        raise ValueError("a sum of more than 2^40 products is not bounded here")
    return dot_share(terms) * sizes + 8.0 * (terms + 1.0) * LEAST


def dot_share(terms: Any) -> Any:
    """Bound the same as a share of the sum of sizes, which may itself have been computed.

    What underflows is left to `enclosure.safely`.

    >>> 11 * UNIT < dot_share(10.0) < 13 * UNIT
    True
    """
    return 1.001 * (terms + 2.0) * UNIT


def function_terms(terms: float) -> float:
    """Return how many terms a sum of so many has that are computed functions times a number.

    The error of a function is that of so many more terms.

    >>> function_terms(10.0)
    138.0
    """
    return terms + 2.0 * FUNCTION_ERROR / UNIT


def dot_error_32(terms: float, sizes: Any) -> Any:
    """Bound the error of such a sum in float32; there is no bound beyond 2^12 products.

    >>> bool(dot_error_32(10.0, 1.0) > 11 * 2.0**-24), dot_error_32(1e5, 1.0)
    (True, inf)
    """
    if not terms <= _MOST_TERMS_32:
        return math.inf * (1.0 + sizes)
    return (1.001 * (terms + 2.0) * _UNIT_32) * sizes + 8.0 * (terms + 1.0) * _LEAST_32


class _Plain:
    """The plain sums of one block, its sizes made once.

    With several columns the largest size of each entry serves for all, unless `each` has its own: a
    bound for one column costs as much as the sums of that column.
    """

    def __init__(self, block: Any, wide: float, room: np.ndarray, rounded: int, each: bool) -> None:
        self.block, self.wide, self.rounded, self.each = block, wide, rounded, each
        if sp.issparse(block):
            positive = block.data.min(initial=0.0) >= 0.0
            self.sizes = block if positive else with_data(block, abs(block.data))
            self.terms = np.diff(block.indptr).astype(np.float64)[:, None]
        else:
            self.sizes = block.abs() if _is_tensor(block) else _sizes(block, room)
            self.terms = float(block.shape[1])

    def products(self, W: np.ndarray, starts: tuple[np.ndarray, ...]) -> Enclosure:
        factors = abs(W) if self.each else _largest(W)
        values, sizes = _product(self.block, W), _product(self.sizes, factors)
        terms = self.terms + len(starts) + self.rounded
        for start in starts:
            values += start[:, None]
            sizes += abs(start)[:, None]
        return Enclosure.around(values, self.wide * dot_error(terms, sizes))

    def row_sums(self, A: np.ndarray) -> Enclosure:
        largest = _largest(A)
        factors = abs(A) if self.each else largest
        if self.rounded:  # a number that vanished is as good as a least normal one
            factors = factors + LEAST_NORMAL
        values = _product(self.block.T, A)
        is_positive = A.shape[1] == 1 and bool((A >= 0.0).all())
        if self.sizes is self.block and is_positive and not self.rounded:
            sizes = values  # the same products, added in the same order
        else:
            sizes = _product(self.sizes.T, factors)
        terms = float(np.count_nonzero(largest)) + self.rounded
        return Enclosure.around(values, self.wide * dot_error(terms, sizes))


def _product(block: Any, factors: np.ndarray) -> Any:
    """Return a product in this computer's memory, wherever the block is."""
    return on_host(block @ block.new_tensor(factors)) if _is_tensor(block) else block @ factors


def _is_tensor(block: Any) -> bool:
    return hasattr(block, "new_tensor")


def _sizes(block: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return the sizes of entries, in this room; the block itself where none is below zero."""
    return block if block.min(initial=0.0) >= 0.0 else np.abs(block, out=room)


def _largest(factors: np.ndarray) -> np.ndarray:
    """Return the largest size in every row, as one column."""
    if factors.shape[1] == 1:
        return abs(factors)
    return np.asarray(abs(factors).max(axis=1, initial=0.0)[:, None])


class _Tight:
    """The sums of one block, column by column, in a dear way: `one` column of factors at a time."""

    def __init__(self, block: Any, wide: float, one: Any) -> None:
        self.block, self.wide, self.one = block, wide, one

    @property
    def sizes(self) -> Any:
        """The sizes of the entries."""
        return abs(self.block)

    def products(self, W: np.ndarray, starts: tuple[np.ndarray, ...]) -> Enclosure:
        return Enclosure.stacked([self.one(self.block, w, starts, self.wide) for w in W.T]).T

    def row_sums(self, A: np.ndarray) -> Enclosure:
        turned = self.block.T
        turned = sp.csr_array(turned) if sp.issparse(turned) else turned
        return _Tight(turned, self.wide, self.one).products(A, ())


def _compensated(block: Any, factor: np.ndarray, starts: Any, wide: float) -> Enclosure:
    """Sum along rows with the rounding errors of products and high parts."""
    terms = float(block.shape[1]) + len(starts)
    line: Any = None
    if sp.issparse(block):
        line = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        terms = min(terms, block.nnz + 1.0 + len(starts))
        high, left = _two_products(block.data, factor[block.indices])
        most = np.zeros(block.shape[0])
        np.maximum.at(most, line, abs(high))
    else:
        high, left = _two_products(block, factor)
        most = np.asarray(abs(high).max(axis=1, initial=0.0))

    def along(parts: np.ndarray) -> np.ndarray:
        if line is None:
            return np.asarray(parts.sum(axis=1))
        # Of no entries at all NumPy counts in whole numbers.
        return np.bincount(line, parts, minlength=len(most)).astype(np.float64, copy=False)

    for start in starts:
        most = np.maximum(most, abs(start))
    # A power of two above (terms + 2) times the largest term; where there is none, no bound. Nor is
    # there one for so many terms that their high parts may not add up exactly.
    above = (terms + 4.0) * most if terms <= _MOST_COMPENSATED else np.full_like(most, math.inf)
    step = np.where(above < math.inf, np.ldexp(1.0, np.frexp(above)[1]), math.inf)
    spread = step[:, None] if line is None else step[line]
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
    return Enclosure.exact(total) + Enclosure.around(small, wide * error)


def _two_products(values: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return products and what their rounding left off: together they are exact (Dekker 1971)."""
    product = values * factor
    # 26 bits and the rest (Veltkamp).
    spreads = [(v, v * (2.0**27 + 1.0)) for v in (values, factor)]
    high, factor_high = (spread - (spread - v) for v, spread in spreads)
    low, factor_low = values - high, factor - factor_high
    left = high * factor_high - product
    left += high * factor_low
    left += low * factor_high
    left += low * factor_low
    return product, left


def _exact(block: Any, factor: np.ndarray, starts: Any, _: float) -> Enclosure:
    """Sum along rows in integers, and round to either side; only entries that are not 0 count."""
    rows = sp.csr_array(block)
    low, high = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    if not all(np.isfinite(part).all() for part in (rows.data, factor, *starts)):
        return Enclosure(low - math.inf, high + math.inf)
    used, entries = np.unique(rows.indices), rows.data.tolist()
    factors = dict(zip(used.tolist(), map(Fraction, factor[used].tolist()), strict=True))
    factor_of = [factors[j] for j in rows.indices.tolist()]
    for i, (begin, end) in enumerate(pairwise(rows.indptr.tolist())):
        terms = [Fraction(start[i]) for start in starts]
        terms += [Fraction(entries[k]) * factor_of[k] for k in range(begin, end) if factor_of[k]]
        if terms:
            low[i], high[i] = rounded(sum(terms, Fraction(0)))
    return Enclosure(low, high)


def ways_for(entries: int) -> tuple[str, ...]:
    """Return the ways to sum so many entries, each dearer and tighter than the last."""
    if entries <= _MOST_EXACT:
        return WAYS
    return WAYS[:2] if entries <= _MOST_COMPENSATED else WAYS[:1]


def products(X: Any, W: Any, starts: tuple[Any, ...] = (), **how: Any) -> Enclosure:
    """Enclose X W plus the starts, numbers or one a row, as one sum each."""
    return sums_both_ways(X, W, starts, None, **how)[0]


def row_sums(X: Any, A: Any, way: str = "plain", **how: Any) -> Enclosure:
    """Enclose X' A: the sums of rows that the columns of A make."""
    return sums_both_ways(X, None, (), A, way, **how)[1]


def stacked_products(A: np.ndarray, B: Any) -> Enclosure:
    """Enclose A_k B_k for every pair of matrices of two stacks; B may be enclosed.

    >>> turned = stacked_products(np.array([[[0.1, 0.3]]]), np.array([[[0.2], [0.7]]]))
    >>> bool(turned.contains(0.23).all())
    True
    """
    require_denormals()
    (B, radius), terms = _apart(B), float(A.shape[-1])
    sizes = abs(A)
    with np.errstate(all="ignore"):
        found = Enclosure.around(A @ B, dot_error(terms, sizes @ abs(B)))
        return found if radius is None else found + _doubt(sizes, radius, 0)


def computed_products(
    X: np.ndarray, W: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return X W plus a number for each row, as computed, and bounds on the errors.

    >>> values, errors = computed_products(np.array([[0.1]]), np.array([[0.3]]), np.zeros(1))
    >>> bool(abs(Fraction(values[0, 0]) - Fraction(0.1) * Fraction(0.3)) <= errors[0, 0])
    True
    """
    sizes = abs(X) @ abs(W)
    sizes += abs(start)[:, None]
    values = X @ W
    values += start[:, None]
    return values, dot_error(float(X.shape[1]) + 1.0, sizes)


def sums_both_ways(
    X: Any, W: Any, starts: Any, A: Any, way: str = "plain", wide: float = 1.0, rounded: int = 0
) -> tuple[Enclosure, Enclosure]:
    """Enclose X W plus the starts, and X' A, in one pass; either may be None.

    The error bound is made `wide` times as large: three times, and whoever adds up in another order
    finds an enclosure within this one. A may be sparse, or a function that makes the factors of
    some rows of their numbers and what X W is there. In the plain ways the entries of X or those
    of A may have been `rounded` so many times, both together.

    The plain bound holds for every order of float64 operations that round as IEEE 754 says, fused
    or not, as those of CUDA devices do; there it is doubled for good measure.
    """
    require_denormals()
    n, d = X.shape
    if way == "plain" and not rounded and _is_one_piece(X, W, A):
        return _sums_of_one_piece(X, W, starts, A, wide)
    starts = tuple(np.broadcast_to(np.asarray(start, dtype=np.float64), n) for start in starts)
    W, W_radius = _apart(W)
    low, high = (np.empty((n, 0 if W is None else _tall(W).shape[1])) for _ in range(2))
    total: Enclosure | None = None
    size = _ENTRIES_AT_A_TIME if not sp.issparse(X) else _SPARSE_ENTRIES
    room, wide = np.empty(0), wide * (_GOOD_MEASURE if on_device(X) else 1.0)
    tight = {"compensated": _compensated, "exact": _exact}.get(way)
    with np.errstate(all="ignore"):
        for rows, block in blocks(X, size, _ROWS_COMPENSATED if tight else None):
            if room.shape != block.shape and isinstance(block, np.ndarray):
                room = np.empty(block.shape)
            sums: Any = _Tight(block, wide, tight)
            if tight is None:
                sums = _Plain(block, wide, room, rounded, way == "each")
            if W is not None:
                found = sums.products(_tall(W), tuple(start[rows] for start in starts))
                if W_radius is not None:
                    found = found + _doubt(sums.sizes, _tall(W_radius), rounded)
                low[rows], high[rows] = found.low, found.high
            if A is not None:
                part, radius = _apart(A(rows, found) if callable(A) else A[rows])
                part = _tall(part.toarray() if sp.issparse(part) else part)
                if total is None or part.any():
                    added = sums.row_sums(part)
                    total = added if total is None else total + added
                if radius is not None:
                    total = total + _doubt(sums.sizes.T, _tall(radius), rounded)
    one_w, one_a = W is not None and W.ndim == 1, len(getattr(A, "shape", ())) == 1
    scores = Enclosure(low[:, 0], high[:, 0]) if one_w else Enclosure(low, high)
    if total is None:
        total = Enclosure.exact(np.zeros((d, A.shape[1] if A is not None and not one_a else 1)))
    return scores, total[:, 0] if one_a else total


def _is_one_piece(X: Any, W: Any, A: Any) -> bool:
    """Whether the entries are few, and one exact column of factors is given for either sum."""
    few = isinstance(X, np.ndarray) and X.dtype == np.float64 and X.size <= _ENTRIES_AT_A_TIME
    return few and all(isinstance(given, np.ndarray) and given.ndim == 1 for given in (W, A))


def _sums_of_one_piece(
    X: np.ndarray, w: np.ndarray, starts: Any, a: np.ndarray, wide: float
) -> tuple[Enclosure, Enclosure]:
    """Enclose both sums as in a block, with nothing put together afterwards."""
    starts = tuple(np.asarray(start, dtype=np.float64) for start in starts)
    starts = tuple(start if start.ndim else np.full(len(X), start) for start in starts)
    with np.errstate(all="ignore"):
        sums = _Plain(X, wide, np.empty(X.shape), 0, False)
        scores, total = sums.products(w[:, None], starts), sums.row_sums(a[:, None])
    return scores[:, 0], total[:, 0]


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
    most = Enclosure.around(far, dot_error(float(sizes.shape[-1] + rounded), far)).high
    return Enclosure(-most, most)
