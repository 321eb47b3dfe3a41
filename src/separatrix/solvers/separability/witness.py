"""From a float guess to exact integer multipliers: ``sum_i lambda_i z_i = 0`` with lambda > 0.

Rows come as lists of integers. The rank is fixed first, modulo a prime (a lower bound, and the
basis it finds is independent over the rationals too); then the multipliers outside the basis are
rounded and those on the basis are solved for, exactly. Solving before fixing the rank would prove
nothing about the columns the basis misses, so the sum is verified on every column at the end.

Regular systems of integers solved exactly, digit by digit.

    find x with  A x = right,   A regular, its entries short integers

Dixon (1982): with C the inverse of A modulo a prime p, ``digit = C residual mod p`` and
``residual = (residual - A digit) / p`` give x in base p; enough digits determine the fractions x
is made of. Every step is a product of a matrix and a vector in float64, exact because p is short.
A fraction that is right modulo a power of p, and so short that both sides stay below that power,
is right: so it is tried early, and taken if it is short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import count
from math import gcd, isqrt, lcm
from typing import Any

import flint
import numpy as np

__all__ = [
    "Basis",
    "DigitSolver",
    "basis_of",
    "exact_multipliers",
    "independent_rows",
    "inverse_modulo",
    "primes",
    "primitive",
    "vanish",
]


# Next to 2^61 and 2^31 over the golden ratio: they divide no short sum of powers of two.
PRIME = 1425089352415399837
SHORT_PRIME = 1327217909  # three times as fast, for matrices where that is seconds
LARGE = 40_000  # entries
BITS = 40
DIGITS_FROM = 100  # rows; fewer are solved as fast by flint
FEW = 8

Lists = list[list[int]]


def _pivots(reduced: Any, rank: int) -> list[int]:
    """Read the pivot columns off a reduced row echelon form."""
    found, row = [], 0
    for column in range(reduced.ncols()):
        if row < rank and reduced[row, column] != 0:
            found.append(column)
            row += 1
    return found


def primes() -> Iterator[int]:
    """Yield 0, which stands for the primes above, then others: only 0 is a multiple of all."""
    yield 0
    yield from (p for p in count(PRIME + 2, 2) if flint.fmpz(p).is_prime())


def _modular(rows: Lists, prime: int) -> Any:
    prime = prime or (PRIME if len(rows) * len(rows[0]) < LARGE else SHORT_PRIME)
    return flint.nmod_mat(flint.fmpz_mat(rows), prime)


def independent_rows(rows: Lists, prime: int = 0) -> list[int]:
    """Return the first rows, in the order given, that are independent (modulo a prime)."""
    if not rows or not rows[0]:
        return []
    return _pivots(*_modular(rows, prime).transpose().rref())


def primitive(values: list[int]) -> list[int]:
    """Divide integers by their greatest common divisor."""
    common = reduce(gcd, values, 0)
    return [v // common for v in values] if common > 1 else values


@dataclass(frozen=True)
class Basis:
    """Independent integer rows, with pivot columns on which they form a regular matrix."""

    rows: Lists
    width: int
    prime: int = 0

    @cached_property
    def pivots(self) -> list[int]:
        """Columns on which the rows are independent: the first, unless the prime hides some."""
        if len(self.rows) == self.width:
            return list(range(self.width))
        return _pivots(*_modular(self.rows, self.prime).rref()) if self.rows else []

    def has_first_pivots(self) -> bool:
        """Whether every other column depends on pivots to its left, exactly."""
        early = [j for j in range(max(self.pivots, default=0)) if j not in set(self.pivots)]
        if not early:
            return True
        found, _ = self._solved([[row[j] for row in self.rows] for j in early], transposed=False)
        return not any(
            value and at > j
            for j, column in zip(early, found, strict=True)
            for at, value in zip(self.pivots, column, strict=True)
        )

    @cached_property
    def _square_rows(self) -> Lists:
        return [[row[j] for j in self.pivots] for row in self.rows]

    @cached_property
    def _square(self) -> Any:
        return flint.fmpz_mat(self._square_rows)

    @cached_property
    def _digits(self) -> DigitSolver | None:
        return DigitSolver.of(self._square_rows) if len(self.rows) >= DIGITS_FROM else None

    def _solved(self, right: Lists, transposed: bool) -> tuple[Lists, int]:
        """Solve the square system, or its transpose, for each right side; one denominator."""
        if len(right) <= FEW and self._digits is not None:
            solver = self._digits.transposed() if transposed else self._digits
            found = [part for part in map(solver.solve, right) if part is not None]
            if len(found) == len(right):
                common = lcm(*(denominator for _, denominator in found))
                return [[v * (common // d) for v in x] for x, d in found], common
        square = self._square.transpose() if transposed else self._square
        solution, denominator = square.solve(flint.fmpz_mat(right).transpose()).numer_denom()
        return [[int(v) for v in column] for column in solution.transpose().tolist()], int(
            denominator
        )

    def combination(self, target: list[int]) -> tuple[list[int], int] | None:
        """Solve ``sum_b mu_b row_b = target * D``: integers mu and D > 0, or None."""
        if not self.rows:
            return ([], 1) if not any(target) else None
        (mu,), scale = self._solved([[target[j] for j in self.pivots]], transposed=True)
        return (mu, scale) if self._holds(mu, scale, target) else None

    def _holds(self, mu: list[int], scale: int, target: list[int]) -> bool:
        pivots = set(self.pivots)
        rest = [j for j in range(self.width) if j not in pivots]
        if not rest:
            return True
        part = flint.fmpz_mat([[row[j] for j in rest] for row in self.rows])
        sums = flint.fmpz_mat([mu]) * part
        return all(int(s) == scale * target[j] for s, j in zip(sums.entries(), rest, strict=True))

    def on_pivots(self, w: list[Fraction]) -> list[Fraction]:
        """Return the vector that is 0 beyond the pivots and has w's product with every row.

        >>> Basis([[1, 2, 0], [0, 1, 1]], 3).on_pivots([Fraction(1), Fraction(1), Fraction(1)])
        [Fraction(-1, 1), Fraction(2, 1), Fraction(0, 1)]
        """
        moved = [Fraction(0)] * self.width
        if not self.rows:
            return moved
        common = lcm(*(v.denominator for v in w))
        right = flint.fmpz_mat(self.rows) * flint.fmpz_mat([[int(v * common)] for v in w])
        (found,), denominator = self._solved([[int(v) for v in right.entries()]], transposed=False)
        for j, value in zip(self.pivots, found, strict=True):
            moved[j] = Fraction(value, denominator * common)
        return moved

    def null_space(self) -> Lists:
        """Return integer vectors that span all w with ``row.w = 0`` for every row of the basis."""
        pivots = self.pivots
        free = [j for j in range(self.width) if j not in set(pivots)]
        if not self.rows or not free:
            return [[int(i == j) for i in range(self.width)] for j in free]
        columns, denominator = self._solved(
            [[row[j] for row in self.rows] for j in free], transposed=False
        )
        vectors = []
        for j, column in zip(free, columns, strict=True):
            vector = [0] * self.width
            vector[j] = denominator
            for at, value in zip(pivots, column, strict=True):
                vector[at] = -value
            vectors.append(primitive(vector))
        return vectors


def vanish(rows: Lists, vectors: Lists) -> bool:
    """Whether the product of every row with every vector is 0."""
    if not rows or not vectors:
        return True
    return not any((flint.fmpz_mat(rows) * flint.fmpz_mat(vectors).transpose()).entries())


def basis_of(rows: Lists, width: int) -> tuple[list[int], Basis, Lists]:
    """Return which rows are a basis, that basis and its null space: no prime hides a row."""
    for prime in primes():
        kept = independent_rows(rows, prime)
        basis = Basis([rows[i] for i in kept], width, prime)
        vectors = basis.null_space()
        if vanish(rows, vectors):
            return kept, basis, vectors
    raise AssertionError("no number is a multiple of every prime")


def rounded(guess: np.ndarray, shift: np.ndarray | None = None) -> list[int]:
    """Round positive floats times ``2**shift`` to integers that keep 40 relative bits each."""
    fraction, exponent = np.frexp(guess)
    exponent = exponent.astype(np.int64) + (0 if shift is None else shift)
    low = int(exponent.min()) - BITS
    digits = np.maximum(1, np.rint(fraction * 2.0**BITS)).astype(np.int64)
    return [
        int(d) << int(e)
        for d, e in zip(digits.tolist(), (exponent - BITS - low).tolist(), strict=True)
    ]


@dataclass(frozen=True)
class Exact:
    """Positive integer multipliers with zero sum, and which of the rows are a basis."""

    multipliers: list[int]
    basis: list[int]


def exact_multipliers(
    rows: Lists, guess: np.ndarray, shift: np.ndarray | None = None
) -> Exact | None:
    """Turn guessed multipliers ``guess * 2**shift`` of integer rows into exact positive ones.

    Rows listed first are preferred for the basis. None where a basis multiplier comes out <= 0.

    >>> exact_multipliers([[1, 0], [-3, 0]], np.array([3.0, 1.0]))
    Exact(multipliers=[3, 1], basis=[0])
    """
    chosen = independent_rows(rows)
    basis = Basis([rows[i] for i in chosen], len(rows[0]))
    inside = set(chosen)
    others = [i for i in range(len(rows)) if i not in inside]
    if not others:
        return None
    weights = rounded(guess, shift)
    weights = primitive([weights[i] for i in others])
    outside = flint.fmpz_mat([weights]) * flint.fmpz_mat([rows[i] for i in others])
    solved = basis.combination([-int(v) for v in outside.entries()])
    if solved is None or any(mu <= 0 for mu in solved[0]):
        return None
    mu, scale = solved
    multipliers = [0] * len(rows)
    for i, weight in zip(others, weights, strict=True):
        multipliers[i] = weight * scale
    for i, value in zip(chosen, mu, strict=True):
        multipliers[i] = value
    return Exact(primitive(multipliers), chosen)


# ---- regular systems of integers solved exactly, digit by digit


DIGIT_PRIME = 2**20 - 3
PRIME_BITS = 19.99
PANEL = 32
WIDEST = 8000  # width * PRIME**2 must stay below 2**53
TRIES = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


def _reduced(values: np.ndarray) -> np.ndarray:
    """Reduce integers in float64 (below 2**52) modulo the prime, to 0 .. PRIME - 1."""
    values = values - DIGIT_PRIME * np.floor(values * (1.0 / DIGIT_PRIME))
    values[values < 0.0] += DIGIT_PRIME
    values[values >= DIGIT_PRIME] -= DIGIT_PRIME
    return values


def inverse_modulo(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse modulo the prime, or None where there is none.

    >>> inverse_modulo(np.array([[2.0, 1.0], [1.0, 1.0]])).astype(int).tolist()
    [[1, 1048572], [1048572, 2]]
    """
    n = len(matrix)
    table = np.concatenate([_reduced(matrix), np.eye(n)], axis=1)
    for begin in range(0, n, PANEL):
        end = min(begin + PANEL, n)
        if not _eliminate(table, begin, end):
            return None
    for begin in range(PANEL * ((n - 1) // PANEL), -1, -PANEL):
        end = min(begin + PANEL, n)
        _substitute(table, begin, end)
        above = table[:begin, begin:end].copy()
        table[:begin, n:] = _reduced(table[:begin, n:] - above @ table[begin:end, n:])
    return np.ascontiguousarray(table[:, n:])


def _eliminate(table: np.ndarray, begin: int, end: int) -> bool:
    """Triangulate one panel of columns, and update everything to its right."""
    for k in range(begin, end):
        nonzero = np.flatnonzero(table[k:, k])
        if nonzero.size == 0:
            return False
        if nonzero[0]:
            table[[k, k + nonzero[0]]] = table[[k + nonzero[0], k]]
        factors = _reduced(table[k + 1 :, k] * pow(int(table[k, k]), -1, DIGIT_PRIME))
        table[k + 1 :, k + 1 : end] = _reduced(
            table[k + 1 :, k + 1 : end] - factors[:, None] * table[k, k + 1 : end]
        )
        table[k + 1 :, k] = factors
    for k in range(begin + 1, end):
        table[k, end:] = _reduced(table[k, end:] - table[k, begin:k] @ table[begin:k, end:])
    below = table[end:, begin:end] @ table[begin:end, end:]
    table[end:, end:] = _reduced(table[end:, end:] - below)
    return True


def _substitute(table: np.ndarray, begin: int, end: int) -> None:
    n = len(table)
    for k in range(end - 1, begin - 1, -1):
        rest = table[k, k + 1 : end] @ table[k + 1 : end, n:]
        factor = pow(int(table[k, k]), -1, DIGIT_PRIME)
        table[k, n:] = _reduced(_reduced(table[k, n:] - rest) * factor)


class DigitSolver:
    """A regular matrix of short integers, ready to be solved with many right sides."""

    def __init__(self, matrix: np.ndarray, inverse: np.ndarray) -> None:
        self.matrix, self.inverse = matrix, inverse
        norms = np.sqrt((matrix * matrix).sum(axis=0))
        self.bits = float(np.log2(np.maximum(norms, 1.0)).sum())

    @classmethod
    def of(cls, rows: list[list[int]]) -> DigitSolver | None:
        """Prepare a matrix; None where its entries are too long, or the prime divides it."""
        n = len(rows)
        largest = max((abs(v) for row in rows for v in row), default=0)
        if n > WIDEST or n * largest * DIGIT_PRIME >= 2**52:
            return None
        matrix = np.array(rows, dtype=np.float64)
        inverse = inverse_modulo(matrix)
        return None if inverse is None else cls(matrix, inverse)

    def transposed(self) -> DigitSolver:
        """Return the solver of the transposed matrix."""
        return DigitSolver(
            np.ascontiguousarray(self.matrix.T), np.ascontiguousarray(self.inverse.T)
        )

    def solve(self, right: list[int]) -> tuple[list[int], int] | None:
        """Return integers and a denominator > 0 with ``A numerators = denominator * right``.

        >>> DigitSolver.of([[2, 1], [0, 3]]).solve([1, 1])
        ([1, 1], 3)
        """
        if not any(right):
            return [0] * len(right), 1
        longest = max(map(abs, right)).bit_length()
        # Cramer: the determinant, and a determinant with one column exchanged for the right side.
        needed = 2.0 * self.bits + longest + np.log2(len(right)) + 4.0
        digits: list[np.ndarray] = []
        state = _start(right)
        for part in TRIES:
            count = int(part * needed / PRIME_BITS) + 2
            while len(digits) < count:
                digits.append(self._digit(state))
            table, modulus = np.array(digits), DIGIT_PRIME ** len(digits)
            # Two entries tell whether the digits suffice, nearly always; all of them decide.
            if _fractions(_numbers(table[:, :2]), modulus, longest) is None:
                continue
            found = _fractions(_numbers(table), modulus, longest)
            if found is not None and self._is_short(*found, longest, modulus):
                return found
        return None

    def _digit(self, state: list[Any]) -> np.ndarray:
        residual, rest = state
        digit = _reduced(self.inverse @ _reduced(residual))
        residual = (residual - self.matrix @ digit) / DIGIT_PRIME
        state[0] = residual + rest.pop(0) if rest else residual
        return digit

    def _is_short(
        self, numerators: list[int], denominator: int, longest: int, modulus: int
    ) -> bool:
        """Whether both sides are so short that equal modulo ``modulus`` means equal."""
        size = int(np.abs(self.matrix).sum(axis=1).max()) * max(map(abs, numerators))
        return size + (denominator << longest) < modulus


def _start(right: list[int]) -> list[Any]:
    """Return the lowest digits of the right side, and the others in order."""
    places: list[np.ndarray] = []
    while any(right) or not places:
        places.append(np.array([v % DIGIT_PRIME for v in right], dtype=np.float64))
        right = [
            v // DIGIT_PRIME if v >= 0 else -(-v // DIGIT_PRIME) - (-v % DIGIT_PRIME != 0)
            for v in right
        ]
        if set(right) <= {0, -1}:  # what is left of negative numbers
            places.append(np.array(right, dtype=np.float64))
            break
    return [places[0], places[1:]]


def _numbers(digits: np.ndarray) -> list[int]:
    """Return the integers whose digits in base PRIME are the columns, lowest first."""
    if len(digits) % 3:
        digits = np.concatenate([digits, np.zeros((3 - len(digits) % 3, digits.shape[1]))])
    whole = digits.astype(np.int64)
    parts: np.ndarray = whole[0::3] + DIGIT_PRIME * (whole[1::3] + DIGIT_PRIME * whole[2::3])
    level, base = parts.astype(object), DIGIT_PRIME**3
    while len(level) > 1:
        if len(level) % 2:
            level = np.concatenate([level, np.zeros((1, level.shape[1]), dtype=object)])
        level, base = level[0::2] + level[1::2] * base, base * base
    return [int(v) for v in level[0]]


def _fractions(values: list[int], modulus: int, longest: int) -> tuple[list[int], int] | None:
    """Write numbers modulo ``modulus`` as short integers over one short denominator."""
    most = isqrt(modulus >> 2 + longest)  # of the denominator; numerators may be longer by right
    limit, denominator = most << longest, 1
    numerators: list[int] = []
    base = flint.fmpz(modulus)  # whose long division is the faster one
    for value in values:
        part = _balanced(int(flint.fmpz(value) * denominator % base), modulus)
        if abs(part) > limit:
            found = _fraction(part % modulus, modulus, limit)
            if found is None or found[1] * denominator > most:
                return None
            part, factor = found
            numerators = [v * factor for v in numerators]
            denominator *= factor
        numerators.append(part)
    return numerators, denominator


def _balanced(value: int, modulus: int) -> int:
    return value - modulus if 2 * value > modulus else value


def _fraction(value: int, modulus: int, limit: int) -> tuple[int, int] | None:
    """Return (a, b), b > 0, with ``a = b value`` modulo ``modulus`` and ``|a| <= limit``."""
    before, now = (flint.fmpz(modulus), flint.fmpz(0)), (flint.fmpz(value), flint.fmpz(1))
    while now[0] > limit:
        quotient = before[0] // now[0]
        before, now = now, (before[0] - quotient * now[0], before[1] - quotient * now[1])
    sign = 1 if now[1] > 0 else -1
    return (sign * int(now[0]), sign * int(now[1])) if now[1] else None
