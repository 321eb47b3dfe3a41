"""Signed rows ``z_i = y_i [1, x_i]`` in exact integers.

A float64 is an integer times a power of two. Scaling a whole column by a power of two changes no
sign of a margin and no linear dependency between rows, so every exact question about the rows is a
question about integers: ``Integers`` holds them, ``times`` multiplies them by integer vectors of
any length, in matrix products of float64 that are exact because each limb is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["Digits", "Integers", "SignedRows", "balanced_limbs", "lowest_bits"]

_NOTHING = np.iinfo(np.int64).max // 4


@dataclass(frozen=True)
class SignedRows:
    """A view of X (dense or CSR) and signs in {-1, +1}; column 0 is the intercept if there is one."""

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


def _column_floor(X: Any) -> np.ndarray:
    """Return the exponent of the lowest bit set in each column (0 for an empty column)."""
    floor = np.full(X.shape[1], _NOTHING, dtype=np.int64)
    if isinstance(X, np.ndarray):
        step = max(1, 2_000_000 // max(1, X.shape[1]))
        for start in range(0, X.shape[0], step):
            floor = np.minimum(floor, lowest_bits(X[start : start + step]).min(axis=0))
    else:
        np.minimum.at(floor, X.indices, lowest_bits(X.data))
    floor[floor == _NOTHING] = 0
    return floor


def _as_whole(values: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Return ``values / 2**floor`` as int64, or as Python integers where int64 is too short."""
    fraction, exponent = np.frexp(values)
    if values.size == 0 or int((exponent - floor)[values != 0.0].max(initial=0)) <= 62:
        with np.errstate(over="ignore"):
            half = floor // 2  # in two steps: one power of two may be out of range
            return np.ldexp(np.ldexp(values, -half), half - floor).astype(np.int64)
    whole = (fraction * 2.0**53).astype(np.int64)
    shift = exponent.astype(np.int64) - 53 - floor
    out = np.empty(values.shape, dtype=object)
    flat = out.reshape(-1)
    for place, (number, by) in enumerate(zip(whole.ravel().tolist(), shift.ravel().tolist(), strict=True)):
        flat[place] = number << by if by >= 0 else number >> -by
    return out


@dataclass(frozen=True)
class Integers:
    """Signed rows as integers: entry (i, j) of the data is ``whole[i, j] * 2**exponents[j]``."""

    whole: Any
    exponents: np.ndarray

    @classmethod
    def of(cls, rows: SignedRows) -> Integers:
        """Turn signed rows into integers."""
        floor = _column_floor(rows.X)
        if not rows.is_sparse:
            whole = _as_whole(rows.X, np.broadcast_to(floor, rows.X.shape))
            signs = rows.signs.astype(np.int64)
            if whole.dtype == object:
                signs = signs.astype(object)
            whole = whole * signs[:, None]
            if rows.fit_intercept:
                whole = np.column_stack([signs, whole])
        else:
            from scipy import sparse

            X = rows.X
            data = _as_whole(X.data, floor[X.indices])
            if data.dtype == object:
                dense = SignedRows(X.toarray(), rows.signs, rows.fit_intercept)
                return cls.of(dense)
            signs = np.repeat(rows.signs.astype(np.int64), np.diff(X.indptr))
            whole = sparse.csr_array((data * signs, X.indices, X.indptr), shape=X.shape)
            if rows.fit_intercept:
                first = sparse.csr_array(rows.signs.astype(np.int64)[:, None])
                whole = sparse.csr_array(sparse.hstack([first, whole]))
        exponents = np.concatenate([[0], floor]) if rows.fit_intercept else floor
        return cls(whole, exponents)

    def lists(self, rows: np.ndarray) -> list[list[int]]:
        """Return some rows as lists of Python integers."""
        part = self.whole[rows]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        return part.tolist()

    def total(self, multiplier_rows: np.ndarray) -> list[int]:
        """Sum some rows exactly."""
        part = self.whole[multiplier_rows]
        if not isinstance(part, np.ndarray):
            part = part.toarray() if part.nnz == 0 else part
        if getattr(part, "dtype", None) == object:
            return [int(v) for v in part.sum(axis=0)]
        high = part // (1 << 31) if isinstance(part, np.ndarray) else part.copy()
        if isinstance(part, np.ndarray):
            low = part - high * (1 << 31)
            tops, bottoms = high.sum(axis=0), low.sum(axis=0)
        else:
            high.data = part.data // (1 << 31)
            low = part.copy()
            low.data = part.data - high.data * (1 << 31)
            tops = np.asarray(high.sum(axis=0)).ravel()
            bottoms = np.asarray(low.sum(axis=0)).ravel()
        return [(t << 31) + b for t, b in zip(tops.tolist(), bottoms.tolist(), strict=True)]

    def times(self, vectors: list[list[int]]) -> Digits:
        """Multiply every row by integer vectors (one list a column), exactly."""
        width = self.whole.shape[1]
        if getattr(self.whole, "dtype", None) == object:
            matrix = np.array(vectors, dtype=object).reshape(len(vectors), width).T
            return Digits.of_integers(self.whole @ matrix)
        bits = (52 - max(1, width).bit_length()) // 2
        right = balanced_limbs(vectors, bits)  # (limbs, vectors, width)
        left = _split(self.whole, bits)
        shape = (self.whole.shape[0], len(vectors))
        digits = np.zeros((len(left) + len(right) + 2, *shape), dtype=np.int64)
        for i, a in enumerate(left):
            for j in range(len(right)):
                digits[i + j] += np.asarray(a @ right[j].T).astype(np.int64)
        return Digits(_carried(digits, bits), bits)


def _split(whole: Any, bits: int) -> list[Any]:
    """Split an int64 matrix into float64 matrices of short limbs, lowest first."""
    values = whole if isinstance(whole, np.ndarray) else whole.data
    limbs = []
    while values.any() or not limbs:
        low = ((values + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))
        values = (values - low) >> bits
        if isinstance(whole, np.ndarray):
            limbs.append(low.astype(np.float64))
        else:
            part = whole.astype(np.float64)
            part.data = low.astype(np.float64)
            limbs.append(part)
    return limbs


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
            top = np.where(close, top + np.ldexp(digit.astype(np.float64), (self.bits * (at - place))), top)
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
