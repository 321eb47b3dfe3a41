"""Exact margins, sums and ranks of stored rows: Python integers, and NumPy where it is exact.

Column j of the data is divided by ``2**floor[j]``, the largest power of two that leaves integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix import checker
from separatrix._sparse import sparse as sp

__all__ = ["column_floor", "column_sums", "exact_margin_signs", "modular_rank", "sums_to_zero"]

_PRIMES = (2**31 - 1, 2**31 - 19)
_LIMB = 26
_LONG = 200  # bits of a multiplier beyond which limbs pay
_SMALL, _SHORT = 2.0**16, 30
_ROWS_AT_A_TIME = 1 << 26


def _values(X: Any) -> np.ndarray:
    return np.asarray(X.data if sp.issparse(X) else X, dtype=np.float64)


def _spread(floor: np.ndarray, X: Any) -> np.ndarray:
    """Give every stored value its column's floor."""
    return floor[X.indices] if sp.issparse(X) else np.broadcast_to(floor, X.shape)


def column_floor(X: Any) -> np.ndarray:
    """Return for each column the exponent of its lowest bit (0 where it is all zeros).

    >>> column_floor(np.array([[0.5, 8.0], [3.0, 12.0]])).tolist()
    [-1, 2]
    """
    values = _values(X)
    number, exponent = _mantissas(values)
    low = exponent + np.frexp((number & -number).astype(np.float64))[1] - 1
    low = np.where(values == 0.0, 10_000, low)
    floor = np.full(X.shape[1], 10_000, dtype=np.int64)
    if sp.issparse(X):
        np.minimum.at(floor, X.indices, low)
    else:
        floor = low.min(axis=0, initial=10_000)
    return np.where(floor == 10_000, 0, floor)


def _mantissas(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    fraction, exponent = np.frexp(values)
    return (fraction * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53


def _integers(X: Any, floor: np.ndarray) -> list[int]:
    """Return all stored values as Python integers, in storage order."""
    values = _values(X)
    number, exponent = _mantissas(values)
    shift = np.where(values == 0.0, 0, exponent - _spread(floor, X)).ravel()
    flat = number.ravel()
    if shift.max(initial=0) <= 9:
        up, down = np.maximum(shift, 0), np.minimum(np.maximum(-shift, 0), 62)
        return ((flat << up) >> down).tolist()
    pairs = zip(flat.tolist(), shift.tolist(), strict=True)
    return [v << s if s >= 0 else v >> -s for v, s in pairs]


def exact_margin_signs(
    X: Any, signs: np.ndarray, weights: Sequence[int], intercept: bool
) -> np.ndarray:
    """Return the sign of every signed margin for integer weights ``[b, w_1, ..., w_d]``."""
    floor = column_floor(X)
    lowest = min(0, int(floor.min(initial=0)))
    scaled = [w << int(f) - lowest for w, f in zip(weights[1:], floor, strict=True)]
    bias = (weights[0] << -lowest) if intercept else 0
    largest = float(np.abs(_values(X)).max(initial=0.0))
    if lowest == 0 and largest < _SMALL and _fits_int64(int(largest), X.shape[1]):
        return _small_margin_signs(X, scaled, floor, bias) * signs.astype(np.int64)
    values = _integers(X, floor)
    out = np.empty(X.shape[0], dtype=np.int64)
    columns = X.indices.tolist() if sp.issparse(X) else None
    starts = X.indptr.tolist() if sp.issparse(X) else range(0, X.size + 1, max(1, X.shape[1]))
    for i in range(X.shape[0]):
        begin, end = (starts[i], starts[i + 1]) if X.shape[1] else (0, 0)
        at = scaled if columns is None else [scaled[j] for j in columns[begin:end]]
        total = bias + sum(map(int.__mul__, at, values[begin:end]))
        out[i] = (total > 0) - (total < 0)
    return out * signs.astype(np.int64)


def _fits_int64(largest: int, columns: int) -> bool:
    """Whether a row of such whole numbers times one limb of the weights sums without a wrap."""
    return columns * largest << _SHORT < 2**63


def _small_margin_signs(X: Any, scaled: list[int], floor: np.ndarray, bias: int) -> np.ndarray:
    """Signs where X holds short integers: weights in limbs of 30 bits, sums exact in int64."""
    whole = X.astype(np.int64)
    column = floor.astype(np.int64)
    if sp.issparse(whole):
        whole.data >>= column[whole.indices]
    else:
        whole = whole >> column
    longest = max((abs(w).bit_length() for w in [bias, *scaled]), default=0)
    totals = [0] * X.shape[0]
    for shift in range(0, longest + 1, _SHORT):
        limb = [(abs(w) >> shift & (1 << _SHORT) - 1) * (1 if w > 0 else -1) for w in scaled]
        part = (whole @ np.array(limb, dtype=np.int64)).tolist()
        totals = [total + (value << shift) for total, value in zip(totals, part, strict=True)]
    return np.array([(t + bias > 0) - (t + bias < 0) for t in totals], dtype=np.int64)


def sums_to_zero(
    X: Any,
    signs: np.ndarray,
    multipliers: Sequence[int],
    intercept: bool,
    rest: tuple[list[int], int],
) -> bool:
    """Whether multiples of the signed rows, and ``rest`` (a sum and its multiplier), cancel."""
    total = [int(s) * m for s, m in zip(signs.tolist(), multipliers, strict=True)]
    sums, common = rest
    if intercept and sum(total) + common * sums[0] != 0:
        return False
    for (inside, exponent), outside in zip(_weighted(X, total), sums[1:], strict=True):
        if inside * Fraction(2) ** exponent + common * outside != 0:
            return False
    return True


def _weighted(X: Any, weights: list[int]) -> Iterator[tuple[int, int]]:
    """Yield for each column ``sum_i weights_i x_ij`` as an integer and a power of two."""
    floor = column_floor(X)
    values = _values(X)
    with np.errstate(over="ignore"):  # infinity is too long, like other long integers
        whole = np.ldexp(values, -_spread(floor, X))
    size = float(np.abs(whole).max(initial=0.0))
    if max(map(abs, weights)).bit_length() > _LONG and len(weights) * size < 2.0**36:
        totals = _in_limbs(_with_values(X, whole), weights)
        yield from zip(totals, floor.tolist(), strict=True)
        return
    columns = sp.csr_array(X).T.tocsr()  # row j holds column j
    begin = columns.indptr.tolist()
    rows, entries = columns.indices.tolist(), columns.data.tolist()
    for j in range(X.shape[1]):
        part = slice(begin[j], begin[j + 1])
        numbers, exponent = checker.integers([1.0, *entries[part]])
        inside = sum(weights[i] * v for i, v in zip(rows[part], numbers[1:], strict=True))
        yield inside, exponent


def _with_values(X: Any, values: np.ndarray) -> Any:
    return sp.csr_array((values, X.indices, X.indptr), X.shape) if sp.issparse(X) else values


def _in_limbs(whole: Any, weights: list[int]) -> list[int]:
    """Weigh rows of short integers: weights in limbs of 16 bits, so that float64 sums are exact."""
    length = (max(map(abs, weights)).bit_length() + 15) // 16
    text = b"".join(abs(w).to_bytes(2 * length, "little") for w in weights)
    limbs = np.frombuffer(text, dtype="<u2").reshape(len(weights), length).T.astype(np.float64)
    signs = np.array([1.0 if w > 0 else -1.0 for w in weights])
    sums = ((limbs * signs) @ whole).astype(np.int64)
    carry = np.zeros(whole.shape[1], dtype=np.int64)
    for place in range(length):
        carry += sums[place]
        sums[place] = carry & 0xFFFF
        carry >>= 16
    digits = np.ascontiguousarray(sums.T).astype("<u2")
    low = [int.from_bytes(column.tobytes(), "little") for column in digits]
    return [v + (c << 16 * length) for v, c in zip(low, carry.tolist(), strict=True)]


def column_sums(X: Any, signs: np.ndarray) -> list[Fraction]:
    """Return the exact sum of the signed rows ``y [1, x]``."""
    floor = column_floor(X)
    values = np.where(_values(X) == 0.0, 0.0, _values(X))
    top = int(np.where(values == 0.0, 0, np.frexp(values)[1] - _spread(floor, X)).max(initial=0))
    totals = [Fraction(0)] * X.shape[1]
    for shift in range(top // _LIMB * _LIMB, -1, -_LIMB):
        # Both steps are exact: a limb has 26 bits, and what is left has fewer bits than before.
        unit = _spread(floor, X) + shift
        limb = np.rint(np.ldexp(values, -unit))
        values = values - np.ldexp(limb, unit)
        whole = _with_values(X, limb)
        for begin in range(0, X.shape[0], _ROWS_AT_A_TIME):
            rows = slice(begin, begin + _ROWS_AT_A_TIME)  # so many limbs add up below 2^53
            for j, value in enumerate((signs[rows] @ whole[rows]).tolist()):
                totals[j] += int(value) * Fraction(2) ** (int(floor[j]) + shift)
    return [Fraction(int(signs.sum())), *totals]


def modular_rank(X: Any, intercept: bool) -> int:
    """Return the rank of the rows ``[1, x]`` modulo a prime: never more than their rank."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if intercept:
        dense = np.column_stack([np.ones(len(dense)), dense])
    number, exponent = _mantissas(dense)
    found = 0
    for prime in _PRIMES:  # the second is for the rare matrix that the first divides
        found = max(found, _rank(number, exponent, prime))
        if found == min(dense.shape):
            break
    return found


def _rank(number: np.ndarray, exponent: np.ndarray, prime: int) -> int:
    powers, where = np.unique(exponent, return_inverse=True)
    table = np.array([pow(2, int(e), prime) for e in powers], dtype=np.int64)
    left = number % prime * table[where.reshape(number.shape)] % prime
    found = 0
    for column in range(left.shape[1]):
        rows = np.flatnonzero(left[found:, column]) + found
        if rows.size == 0:
            continue
        left[[found, rows[0]]] = left[[rows[0], found]]
        left[found] = left[found] * pow(int(left[found, column]), -1, prime) % prime
        below = left[found + 1 :]
        below -= below[:, [column]] * left[found] % prime
        below %= prime
        found += 1
    return found
