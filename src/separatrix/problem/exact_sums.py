"""Exact margins, sums and ranks of stored rows: Python integers, and NumPy where it is exact.

Column j of the data is divided by ``2**floor[j]``, the largest power of two that leaves integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.problem.exact import column_floor
from separatrix.problem.signed import SignedProblem

# The first divides no short sum of powers of two; the others are for determinants that it divides.
_PRIMES = (1327217909, 2**31 - 19, 1109137969, 1118161483)
# Limbs of so many bits, and how many of them add up below 2^53: alone, or times 16 bits.
_LONG, _ROWS_AT_A_TIME = 26, 1 << 26
_SHORT, _TERMS = 18, 1 << 18
_MARGINS_AT_A_TIME = 1 << 13
_FEW = 1 << 10  # entries that Python's own integers sum sooner than limbs do


def exact_margin_signs(
    X: Any, signs: np.ndarray, weights: Sequence[int], intercept: bool
) -> np.ndarray:
    """Return the sign of every signed margin for integer weights ``[b, w_1, ..., w_d]``."""
    bias, out = weights[0] if intercept else 0, []
    for begin in range(0, X.shape[0], _MARGINS_AT_A_TIME):
        turned = X[begin : begin + _MARGINS_AT_A_TIME].T
        turned = sp.csr_array(turned) if sp.issparse(turned) else turned
        for inside, exponent in _weighted(turned, list(weights[1:])):
            total = (inside << max(exponent, 0)) + (bias << max(-exponent, 0))
            out.append((total > 0) - (total < 0))
    return np.array(out, dtype=np.int64) * signs.astype(np.int64)


def sums_to_zero(
    part: SignedProblem, multipliers: Sequence[int], rest: tuple[Any, int] | None = None
) -> bool:
    """Whether multiples of the signed rows, and ``rest`` (a sum and its multiplier), cancel.

    Multipliers that are no integers prove nothing: floats may vanish on the way.
    """
    sums, common = rest or ([0] * part.dimension, 0)
    if not all(type(m) is int for m in (*multipliers, common)):
        return False
    total = [int(s) * m for s, m in zip(part.signs.tolist(), multipliers, strict=True)]
    if part.fit_intercept and sum(total) + common * sums[0] != 0:
        return False
    columns = zip(_weighted(part.X, total), sums[1:], strict=True)
    return all(v * Fraction(2) ** e + common * outside == 0 for (v, e), outside in columns)


def _weighted(X: Any, weights: list[int]) -> list[tuple[int, int]]:
    """Return for each column ``sum_i weights_i x_ij`` as an integer and a power of two."""
    if not sp.issparse(X) and X.size <= _FEW:
        return [_dot(column, weights) for column in X.T.tolist()]
    floor, totals = column_floor(X), [0] * X.shape[1]
    for shift, whole in _limbs(X, floor, _SHORT):
        for begin in range(0, len(weights), _TERMS):
            rows = slice(begin, begin + _TERMS)
            sums = _in_limbs(whole[rows], weights[rows])
            totals = [total + (value << shift) for total, value in zip(totals, sums, strict=True)]
    return list(zip(totals, floor.tolist(), strict=True))


def _dot(values: list[float], weights: list[int]) -> tuple[int, int]:
    """Return a sum of products as an integer and a power of two.

    >>> _dot([0.5, 3.0], [4, 1])
    (10, -1)
    """
    ratios = [value.as_integer_ratio() for value in values]
    common = max((denominator for _, denominator in ratios), default=1)
    terms = (
        numerator * (common // denominator) * weight
        for (numerator, denominator), weight in zip(ratios, weights, strict=True)
        if numerator
    )
    return sum(terms), 1 - common.bit_length()


def _limbs(X: Any, floor: np.ndarray, bits: int) -> Iterator[tuple[int, Any]]:
    """Yield X in limbs, the highest first: x_ij is the sum of limb_ij 2^(floor_j + shift)."""
    values = np.asarray(X.data if sp.issparse(X) else X, dtype=np.float64)
    columns = floor[X.indices] if sp.issparse(X) else np.broadcast_to(floor, X.shape)
    top = int(np.where(values == 0.0, 0, np.frexp(values)[1] - columns).max(initial=0))
    for shift in range(max(top - 1, 0) // bits * bits, -1, -bits):
        # Both steps are exact: a limb is whole, and what is left has fewer bits than before.
        limb = np.trunc(np.ldexp(values, -columns - shift))
        if shift:
            values = values - np.ldexp(limb, columns + shift)
        yield shift, sp.csr_array((limb, X.indices, X.indptr), X.shape) if sp.issparse(X) else limb


def _in_limbs(whole: Any, weights: list[int]) -> list[int]:
    """Weigh rows of 18 bits: weights in limbs of 16 bits, so that 2^18 terms stay below 2^53."""
    length = max(1, (max(map(abs, weights), default=0).bit_length() + 15) // 16)
    text = b"".join(abs(w).to_bytes(2 * length, "little") for w in weights)
    limbs = np.frombuffer(text, dtype="<u2").reshape(len(weights), length).T
    signs = np.array([1.0 if w > 0 else -1.0 for w in weights])
    parts = [(limbs[k : k + 32] * signs) @ whole for k in range(0, length, 32)]
    sums = np.vstack(parts).astype(np.int64)
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
    if not sp.issparse(X) and X.size <= _FEW:
        whole = [int(sign) for sign in signs.tolist()]
        parts = [_dot(column, whole) for column in X.T.tolist()]
        return [Fraction(sum(whole)), *(Fraction(2) ** place * value for value, place in parts)]
    floor, totals = column_floor(X), [Fraction(0)] * X.shape[1]
    for shift, whole in _limbs(X, floor, _LONG):
        for begin in range(0, X.shape[0], _ROWS_AT_A_TIME):
            rows = slice(begin, begin + _ROWS_AT_A_TIME)
            for j, value in enumerate((signs[rows] @ whole[rows]).tolist()):
                totals[j] += int(value) * Fraction(2) ** (int(floor[j]) + shift)
    return [Fraction(int(signs.sum())), *totals]


def modular_rank(X: Any, intercept: bool) -> int:
    """Return the rank of the rows ``[1, x]`` modulo primes: never more than their rank."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if intercept:
        dense = np.column_stack([np.ones(len(dense)), dense])
    fraction, exponent = np.frexp(dense)
    number, found = (fraction * 2.0**53).astype(np.int64), 0
    for prime in _PRIMES:
        found = max(found, _rank(number, exponent - 53, prime))
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
