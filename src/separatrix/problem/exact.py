"""Signed rows ``z_i = y_i [1, x_i]`` in exact integers.

A float64 is an integer times a power of two. Scaling a whole column by a power of two changes no
sign of a margin and no linear dependency between rows, so every exact question about the rows is a
question about integers: ``Integers`` holds them, ``times`` multiplies them by integer vectors of
any length, in matrix products of float64 that are exact because each limb is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

_NOTHING = np.iinfo(np.int64).max // 4
_MOST_LIMBS = 8


@dataclass(frozen=True)
class SignedRows:
    """A view of X (dense or CSR) and signs in {-1, +1}; the intercept, if any, is column 0."""

    X: Any
    signs: np.ndarray
    fit_intercept: bool = True

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def width(self) -> int:
        """How many coefficients there are, the intercept among them."""
        return int(self.X.shape[1]) + self.fit_intercept

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return not isinstance(self.X, np.ndarray)

    def take(self, rows: np.ndarray) -> SignedRows:
        """Return some of the rows, in the order given."""
        return SignedRows(self.X[rows], self.signs[rows], self.fit_intercept)

    def dense(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Write the signed rows out as an array."""
        X = self.X if rows is None else self.X[rows]
        signs = self.signs if rows is None else self.signs[rows]
        X = X.toarray() if self.is_sparse else X
        out = np.empty((X.shape[0], self.width))
        np.multiply(X, signs[:, None], out=out[:, int(self.fit_intercept) :])
        if self.fit_intercept:
            out[:, 0] = signs
        return out

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Multiply every signed row by w, in floats."""
        values = self.X @ w[int(self.fit_intercept) :]
        if self.fit_intercept:
            values = values + w[0]
        return np.asarray(values * self.signs)

    @cached_property
    def integers(self) -> Integers:
        """The same rows as integers, each column scaled by its own power of two."""
        return Integers.of(self)


def lowest_bits(values: np.ndarray) -> np.ndarray:
    """Return the exponent of the lowest set bit of every float (very large for 0)."""
    fraction, exponent = np.frexp(values)
    whole = (fraction * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    low = exponent.astype(np.int64) - 53 + np.frexp(lowest)[1] - 1
    return np.where(values == 0.0, _NOTHING, low)


def column_floor(X: Any) -> np.ndarray:
    """Return the exponent of the lowest bit set in each column (0 for an empty column).

    >>> column_floor(np.array([[0.5, 8.0], [3.0, 12.0]])).tolist()
    [-1, 2]
    """
    floor = np.full(X.shape[1], _NOTHING, dtype=np.int64)
    if isinstance(X, np.ndarray):
        step = max(1, 2_000_000 // max(1, X.shape[1]))
        for start in range(0, X.shape[0], step):
            floor = np.minimum(floor, lowest_bits(X[start : start + step]).min(axis=0))
    else:
        np.minimum.at(floor, X.indices, lowest_bits(X.data))
    floor[floor == _NOTHING] = 0
    return floor


def _python_integers(values: np.ndarray, floor: np.ndarray) -> list[list[int]]:
    """Return ``values / 2**floor`` as Python integers, row by row."""
    fraction, exponent = np.frexp(values)
    shift = np.where(values == 0.0, 0, exponent.astype(np.int64) - 53 - floor)
    if shift.max(initial=0) <= 9:  # 53 + 9 bits fit int64, and shifting down loses zeros only
        number = (fraction * 2.0**53).astype(np.int64)
        up, down = np.maximum(shift, 0), np.minimum(np.maximum(-shift, 0), 63)
        return ((number << up) >> down).tolist()
    number = (fraction * 2.0**53).astype(np.int64)
    return [
        [v << s if s >= 0 else v >> -s for v, s in zip(numbers, shifts, strict=True)]
        for numbers, shifts in zip(number.tolist(), shift.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class Integers:
    """Signed rows as integers: those of the data divided by ``2**exponents``, column by column."""

    rows: SignedRows
    exponents: np.ndarray

    @classmethod
    def of(cls, rows: SignedRows) -> Integers:
        """Choose the largest power of two that leaves every column in integers."""
        floor = column_floor(rows.X)
        return cls(rows, np.concatenate([[0], floor]) if rows.fit_intercept else floor)

    def part(self, rows: np.ndarray) -> Integers:
        """Return some of the rows, on the same scale."""
        return Integers(self.rows.take(rows), self.exponents)

    def lists(self, rows: np.ndarray) -> list[list[int]]:
        """Return some rows as lists of Python integers."""
        return _python_integers(self.rows.dense(rows), self.exponents)

    def total(self, chosen: np.ndarray) -> list[int]:
        """Sum some rows exactly."""
        part = self.part(chosen)
        bits = (52 - max(1, len(chosen)).bit_length()) // 2
        limbs = part._limbs(bits)
        if limbs is None:
            return [sum(column) for column in zip(*self.lists(chosen), strict=True)]
        signs = part.rows.signs
        features = [0] * int(self.rows.X.shape[1])
        for place, limb in enumerate(limbs):
            for j, value in enumerate((signs @ limb).tolist()):
                features[j] += int(value) << (bits * place)
        return [int(signs.sum()), *features] if self.rows.fit_intercept else features

    def _limbs(self, bits: int) -> list[Any] | None:
        """Split X into matrices of integers below ``2**bits``, lowest first; None if too many."""
        X = self.rows.X
        floor = self.exponents[int(self.rows.fit_intercept) :]
        values = X if isinstance(X, np.ndarray) else X.data
        floor = floor if isinstance(X, np.ndarray) else floor[X.indices]
        top = int((np.frexp(values)[1] - floor)[values != 0.0].max(initial=0))
        count = top // bits + 1
        if count > _MOST_LIMBS or int(np.abs(floor).max(initial=0)) > 900:
            return None
        limbs: list[Any] = []
        rest = np.ldexp(values, -floor)
        for place in range(count - 1, -1, -1):
            unit = 2.0 ** (bits * place)
            limb = np.rint(rest / unit)
            rest = rest - limb * unit
            limbs.append(limb if isinstance(X, np.ndarray) else _with_data(X, limb))
        return limbs[::-1]

    def times(self, vectors: list[list[int]]) -> Digits:
        """Multiply every row by integer vectors (one list a column), exactly."""
        width = len(self.exponents)
        bits = (52 - max(1, width).bit_length()) // 2
        left = self._limbs(bits)
        if left is None:
            matrix = np.array(vectors, dtype=object).reshape(len(vectors), width).T
            rows = np.array(self.lists(np.arange(len(self.rows))), dtype=object)
            return Digits.of_integers(rows.reshape(-1, width) @ matrix)
        right = balanced_limbs(vectors, bits)  # (limbs, vectors, width)
        first = int(self.rows.fit_intercept)
        signs = self.rows.signs[:, None]
        digits = np.zeros(
            (len(left) + len(right) + 2, len(self.rows), len(vectors)), dtype=np.int64
        )
        for j in range(len(right)):
            for i, limb in enumerate(left):
                digits[i + j] += (signs * (limb @ right[j][:, first:].T)).astype(np.int64)
            if first:
                digits[j] += (signs * right[j][:, 0]).astype(np.int64)
        return Digits(_carried(digits, bits), bits)


def _with_data(X: Any, data: np.ndarray) -> Any:
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def balanced_limbs(vectors: list[list[int]], bits: int) -> np.ndarray:
    """Write integers in base ``2**bits`` with digits from -half to half, as float64."""
    longest = max((abs(v).bit_length() for vector in vectors for v in vector), default=0)
    count = longest // bits + 2
    out = np.zeros((count, len(vectors), len(vectors[0]) if vectors else 0))
    half, base = 1 << (bits - 1), 1 << bits
    for i, vector in enumerate(vectors):
        for j, value in enumerate(vector):
            place = 0
            while value:
                low = ((value + half) & (base - 1)) - half
                out[place, i, j] = low
                value = (value - low) >> bits
                place += 1
    used = np.flatnonzero(out.any(axis=(1, 2)))
    return out[: (used[-1] + 1 if used.size else 1)]


def _carried(digits: np.ndarray, bits: int) -> np.ndarray:
    half, base = 1 << (bits - 1), 1 << bits
    for place in range(len(digits) - 1):
        low = ((digits[place] + half) & (base - 1)) - half
        digits[place + 1] += (digits[place] - low) >> bits
        digits[place] = low
    return digits


@dataclass(frozen=True)
class Digits:
    """A matrix of integers in balanced digits: the highest digit that is not 0 has the sign."""

    digits: np.ndarray
    bits: int

    @classmethod
    def of_integers(cls, values: np.ndarray) -> Digits:
        """Hold Python integers (in an object array) as they are: one digit of any length."""
        return cls(values[None], 0)

    def take(self, rows: np.ndarray) -> Digits:
        """Return some of the rows."""
        return Digits(self.digits[:, rows], self.bits)

    def signs(self) -> np.ndarray:
        """Return the sign of every entry."""
        if self.digits.dtype == object:
            return np.array(np.sign(self.digits[0].astype(object)), dtype=np.int64)
        sign = np.zeros(self.digits.shape[1:], dtype=np.int64)
        for digit in self.digits:  # lowest first, so that the highest has the last word
            sign = np.where(digit != 0, np.sign(digit), sign)
        return sign

    def floats(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (fraction, exponent) of each entry to about 50 bits; no overflow at any length."""
        if self.digits.dtype == object:
            return _long_floats(self.digits[0])
        top = np.zeros(self.digits.shape[1:])
        place = np.zeros(self.digits.shape[1:], dtype=np.int64)
        for at in range(len(self.digits) - 1, -1, -1):
            digit = self.digits[at]
            close = (top != 0.0) & (place - at <= 4)
            power = np.where(close, self.bits * (at - place), 0)
            top = np.where(close, top + np.ldexp(digit.astype(np.float64), power), top)
            start = (top == 0.0) & (digit != 0)
            top = np.where(start, digit, top)
            place = np.where(start, at, place)
        fraction, exponent = np.frexp(top)
        return fraction, exponent + self.bits * place


def _long_floats(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    fraction = np.zeros(values.shape)
    exponent = np.zeros(values.shape, dtype=np.int64)
    for at, value in np.ndenumerate(values):
        size = abs(value).bit_length()
        cut = max(0, size - 60)
        fraction[at], extra = np.frexp(float(abs(value) >> cut))
        fraction[at] = fraction[at] if value > 0 else -fraction[at]
        exponent[at] = cut + extra
    return fraction, exponent


# ---- decimals as they are written: 0.1 as one tenth, not as the float64 next to it


def _columns(X: Any) -> list[np.ndarray]:
    if isinstance(X, np.ndarray):
        return list(X.T)
    columns = X.tocsc()
    return [columns.data[a:b] for a, b in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)]


def decimal_places(X: Any) -> tuple[int, ...]:
    """Return how many digits after the point each column needs.

    >>> decimal_places(np.array([[0.1, 3.0], [0.25, 20.0]]))
    (2, 0)
    """
    places = []
    for column in _columns(X):
        shortest = (Decimal(repr(v)).normalize().as_tuple() for v in np.unique(column).tolist())
        places.append(max((-int(t.exponent) for t in shortest), default=0))
    return tuple(max(0, p) for p in places)


def times_powers_of_ten(X: Any, places: tuple[int, ...]) -> Any:
    """Return the decimals times ``10**places``, exactly; refuse what is too long for that.

    >>> times_powers_of_ten(np.array([[0.1], [0.25]]), (2,)).ravel().tolist()
    [10.0, 25.0]
    """
    if isinstance(X, np.ndarray):
        out = np.empty_like(X, dtype=np.float64)
        for j, (column, digits) in enumerate(zip(X.T, places, strict=True)):
            out[:, j] = _scaled(column, digits)
        return out
    columns = X.tocsc(copy=True)
    for j, digits in enumerate(places):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        columns.data[part] = _scaled(columns.data[part], digits)
    return columns.tocsr()


def _scaled(column: np.ndarray, places: int) -> np.ndarray:
    distinct, where = np.unique(column, return_inverse=True)
    numbers = [Decimal(repr(v)).scaleb(places) for v in distinct.tolist()]
    for value, number in zip(distinct.tolist(), numbers, strict=True):
        if number != number.to_integral_value() or abs(number) > 2**53:
            raise ValueError(
                f"{value!r} has too many digits to be read as a decimal. Decide on the stored "
                "floats instead (without decimal)."
            )
    return np.array([float(n) for n in numbers], dtype=np.float64)[where.reshape(column.shape)]
