"""From a float guess to exact integer multipliers: ``sum_i lambda_i z_i = 0`` with lambda > 0.

Rows come as lists of integers. The rank is fixed first, modulo a prime (a lower bound, and the
basis it finds is independent over the rationals too); then the multipliers outside the basis are
rounded and those on the basis are solved for, exactly. Solving before fixing the rank would prove
nothing about the columns the basis misses, so the sum is verified on every column at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import gcd, lcm
from typing import Any

import flint
import numpy as np

from separatrix.solvers.separability.dixon import DigitSolver

__all__ = ["Basis", "exact_multipliers", "independent_rows", "primitive"]

PRIME = 2**61 - 1
SHORT_PRIME = 2**31 - 19  # three times as fast, for matrices where that is seconds
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


def _modular(rows: Lists) -> Any:
    prime = PRIME if len(rows) * len(rows[0]) < LARGE else SHORT_PRIME
    return flint.nmod_mat(flint.fmpz_mat(rows), prime)


def independent_rows(rows: Lists) -> list[int]:
    """Return the first rows, in the order given, that are independent (modulo the prime)."""
    if not rows or not rows[0]:
        return []
    return _pivots(*_modular(rows).transpose().rref())


def primitive(values: list[int]) -> list[int]:
    """Divide integers by their greatest common divisor."""
    common = reduce(gcd, values, 0)
    return [v // common for v in values] if common > 1 else values


@dataclass(frozen=True)
class Basis:
    """Independent integer rows, with pivot columns on which they form a regular matrix."""

    rows: Lists
    width: int

    @cached_property
    def pivots(self) -> list[int]:
        """Columns on which the rows are independent."""
        if len(self.rows) == self.width:
            return list(range(self.width))
        return _pivots(*_modular(self.rows).rref()) if self.rows else []

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
