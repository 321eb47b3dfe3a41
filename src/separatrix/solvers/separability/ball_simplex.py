"""Gordan's alternative by the simplex method in balls: for entries of very different sizes.

    find  lambda >= 0,  sum_i lambda_i = 1,  sum_i lambda_i q_i = 0      (a witness)
    or    u  with  q_i.u > 0  for all i                                  (a separator)

Integers of thousands of bits make an exact tableau slow, and floats cannot hold them. Balls (a
midpoint and a radius, exponents without limit: Arb) are fast and know their own error: a sign is
used only where the ball leaves no doubt, otherwise the run starts again with more digits or gives
up. What comes out is made exact and verified in integers. Nearly all ratios tie; the largest pivot
among them keeps the balls small (bits needed: a tenth), but might cycle, so its pivots are counted;
the last attempt breaks ties lexicographically by the columns of the artificials, which cannot.

`alternative` is the last resort for near-ties, Gordan's alternative in integers:

    find  lambda >= 0,  sum_i lambda_i = 1,  sum_i lambda_i q_i = 0      (a witness)
    or    u  with  q_i.u > 0  for all i                                  (a separator)

Phase one on a full tableau over one common denominator (Edmonds 1967). The steepest column enters;
after a run of pivots that move nothing, Bland's rule takes over, so that it cannot cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from separatrix.solvers.separability.witness import exact_multipliers, primitive

__all__ = ["LONG", "alternative", "alternative_in_balls"]

LONG = 200  # bits of an integer beyond which balls are tried before the exact tableau
ATTEMPTS = ((2048, True), (16384, True), (16384, False))  # bits, and whether by large pivots
MOST_PIVOTS = 20  # for each column of the data
# A search ends by its work and not by the clock, so that every machine gives the same answer. The
# unit is an entry of the tableau in one pivot: of few bits in integers, of 2048 bits in balls. The
# limit is about 2 s of integers, and 20 s of balls.
MOST_WORK = 5e6

Lists = list[list[int]]


class _InDoubtError(ArithmeticError):
    """A ball holds numbers of both signs, or the work is used up."""


def alternative_in_balls(rows: Lists) -> Alternative | None:
    """Decide which holds for integer rows; None where digits or work do not suffice.

    >>> alternative_in_balls([[1 << 900, 1], [-(1 << 900), 1], [0, -1]]).multipliers
    [1, 1, 2]
    >>> alternative_in_balls([[1 << 900, 1], [-1, 1 << 900]]).direction is not None
    True
    """
    before, left = flint.ctx.prec, MOST_WORK
    try:
        for precision, stable in ATTEMPTS:
            flint.ctx.prec = precision
            tableau = _Tableau(rows, stable, left)
            found = _attempt(rows, tableau)
            left = tableau.left
            if found is not None:
                return found
    finally:
        flint.ctx.prec = before
    return None


def _attempt(rows: Lists, tableau: _Tableau) -> Alternative | None:
    try:
        basis, direction = tableau.run()
    except _InDoubtError:
        return None
    if direction is None:
        return _witness(rows, [i for i in basis if i < len(rows)])
    whole = _whole(direction)
    margins = flint.fmpz_mat(rows) * flint.fmpz_mat([[v] for v in whole])
    return Alternative(None, whole) if all(m > 0 for m in margins.entries()) else None


def _witness(rows: Lists, chosen: list[int]) -> Alternative | None:
    """Solve for the multipliers of the final basis exactly."""
    exact = exact_multipliers([rows[i] for i in chosen], np.ones(len(chosen)))
    if exact is None:
        return None
    multipliers = [0] * len(rows)
    for i, value in zip(chosen, exact.multipliers, strict=True):
        multipliers[i] = value
    return Alternative(multipliers, None)


def _whole(values: list[Any]) -> list[int]:
    """Write the midpoints of balls as integers, up to a common power of two."""
    pairs = [tuple(int(v) for v in value.mid().man_exp()) for value in values]
    low = min((exponent for mantissa, exponent in pairs if mantissa), default=0)
    return primitive([m << e - low if m else 0 for m, e in pairs])


def _sign(value: Any) -> int:
    if value > 0:
        return 1
    if value < 0:
        return -1
    if value.is_zero():
        return 0
    raise _InDoubtError


class _Tableau:
    """The full tableau: a column for each row of the data, each artificial, and the right side."""

    def __init__(self, rows: Lists, stable: bool, left: float) -> None:
        self.count, self.height = len(rows), len(rows[0]) + 1
        columns = [[*row, 1] for row in rows]
        units = [[int(i == j) for i in range(self.height)] for j in range(self.height)]
        columns += [*units, units[-1]]
        self.table = flint.arb_mat(flint.fmpz_mat(columns).transpose())
        self.basis = list(range(self.count, self.count + self.height))
        self.stable, self.left = stable, left  # of the work
        self.sizes = [max(abs(v) for v in column).bit_length() for column in columns[: self.count]]

    def run(self) -> tuple[list[int], list[Any] | None]:
        """Pivot to the end; return the basis, and a direction if the rows can be separated."""
        right = self.count + self.height
        for _ in range(MOST_PIVOTS * self.height):
            self.left -= self.table.nrows() * self.table.ncols() * flint.ctx.prec / 2048.0
            if self.left < 0.0:
                raise _InDoubtError
            if not any(self._right_side(i) for i, j in enumerate(self.basis) if j >= self.count):
                return self._positive(), None
            artificial = flint.arb_mat([[-int(j >= self.count) for j in self.basis]])
            costs = (artificial * self.table).entries()
            entering = self._entering(costs)
            if entering is None:
                return self.basis, costs[self.count : self.count + self.height - 1]
            self._pivot(self._leaving(entering, right), entering)
        raise _InDoubtError

    def _right_side(self, i: int) -> int:
        return _sign(self.table[i, self.count + self.height])

    def _positive(self) -> list[int]:
        return [j for i, j in enumerate(self.basis) if self._right_side(i) > 0]

    def _entering(self, costs: list[Any]) -> int | None:
        """Return the column of the most negative cost in proportion to its own size."""
        inside = set(self.basis)
        best, least = None, 0.0
        for j in range(self.count):
            if j in inside:
                continue
            if _sign(costs[j]) < 0:
                size = _exponent(costs[j]) - self.sizes[j]
                if best is None or size > least:
                    best, least = j, size
        return best

    def _leaving(self, entering: int, right: int) -> int:
        """Return the row of the least ratio; among ties the largest pivot, or lexicographically."""
        rows = [i for i in range(self.height) if _sign(self.table[i, entering]) > 0]
        columns = [right] if self.stable else [right, *range(self.count, right)]
        for column in columns:
            if len(rows) <= 1:
                break
            ratios = [self.table[i, column] / self.table[i, entering] for i in rows]
            rows = _least(rows, ratios, lambda a, b: _sign(a - b))
        if not rows:
            raise _InDoubtError
        return max(rows, key=lambda i: self._relative(i, entering))

    def _relative(self, i: int, entering: int) -> int:
        """Return how large an entry is beside the largest of its row, in bits."""
        row = (_exponent(self.table[i, j]) for j in range(self.count + self.height))
        return _exponent(self.table[i, entering]) - max(row)

    def _pivot(self, leaving: int, entering: int) -> None:
        table, pivot = self.table, self.table[leaving, entering]
        wide, tall = table.ncols(), table.nrows()
        row = [table[leaving, j] / pivot for j in range(wide)]
        row[entering] = flint.arb(1)
        column = [table[i, entering] for i in range(tall)]
        column[leaving] = flint.arb(0)
        table = table - flint.arb_mat([[c] for c in column]) * flint.arb_mat([row])
        for j in range(wide):
            table[leaving, j] = row[j]
        for i in range(tall):
            table[i, entering] = int(i == leaving)
        self.table = table
        self.basis[leaving] = entering


def _least(rows: list[int], ratios: list[Any], compare: Callable[[Any, Any], int]) -> list[int]:
    kept, best = [rows[0]], ratios[0]
    for i, ratio in zip(rows[1:], ratios[1:], strict=True):
        order = compare(ratio, best)
        if order < 0:
            kept, best = [i], ratio
        elif order == 0:
            kept.append(i)
    return kept


def _exponent(value: Any) -> int:
    mantissa, exponent = value.mid().man_exp()
    return int(exponent) + int(mantissa).bit_length() if mantissa else -(10**9)


# ---- gordan's alternative by the simplex method in integers: the last resort for near-ties


@dataclass(frozen=True)
class Alternative:
    """Exactly one of the two: multipliers (one a row, some 0) or a separating direction."""

    multipliers: list[int] | None
    direction: list[int] | None


def alternative(rows: Lists, most_work: float = MOST_WORK) -> Alternative | None:
    """Decide which holds for integer rows; None where that takes more work.

    >>> alternative([[1], [-2]]).multipliers
    [2, 1]
    >>> alternative([[1, 5], [-1, 1]]).direction is not None
    True
    """
    count, width = len(rows), len(rows[0])
    height = width + 1
    table = np.zeros((height + 1, count + height + 1), dtype=object)
    for i, row in enumerate(rows):
        table[:width, i] = row
        table[width, i] = 1
    for i in range(height):
        table[i, count + i] = 1
    table[width, -1] = 1
    table[-1, :count] = -table[:height, :count].sum(axis=0)
    table[-1, -1] = -1
    basis = list(range(count, count + height))
    scale, still, left = 1, 0, most_work
    while left > 0.0:
        if table[-1, -1] == 0:
            return Alternative(_read_multipliers(table, basis, count), None)
        entering = _entering(table[-1, :count], steepest=still < 20 * height)
        if entering is None:
            direction = [int(table[-1, count + i]) - scale for i in range(width)]
            return Alternative(None, primitive(direction))
        leaving = _leaving_row(table, basis, entering)
        still = still + 1 if table[leaving, -1] == 0 else 0
        scale = _pivot(table, leaving, entering, scale)
        basis[leaving] = entering
        left -= table.size * (1.0 + (scale.bit_length() / 256.0) ** 1.75)
    return None


def _entering(costs: np.ndarray, steepest: bool) -> int | None:
    if steepest:
        best = int(np.argmin(costs))
        return best if costs[best] < 0 else None
    return next((j for j, cost in enumerate(costs) if cost < 0), None)


def _leaving_row(table: np.ndarray, basis: list[int], entering: int) -> int:
    """Return the row with the least ratio; among equals, the one whose variable comes first."""
    best = -1
    for i in range(len(basis)):
        if table[i, entering] <= 0:
            continue
        if best < 0:
            best = i
            continue
        left = table[i, -1] * table[best, entering]
        right = table[best, -1] * table[i, entering]
        if left < right or (left == right and basis[i] < basis[best]):
            best = i
    return best


def _pivot(table: np.ndarray, at: int, entering: int, scale: int) -> int:
    """Pivot in integers: every entry stays a determinant, so the divisions are exact."""
    pivot = table[at, entering]
    row = table[at].copy()
    column = table[:, entering].copy()
    table *= pivot
    table -= np.outer(column, row)
    table //= scale
    table[at] = row
    return int(pivot)


def _read_multipliers(table: np.ndarray, basis: list[int], count: int) -> list[int]:
    multipliers = [0] * count
    for i, variable in enumerate(basis):
        if variable < count:
            multipliers[variable] = int(table[i, -1])
    return primitive(multipliers)
