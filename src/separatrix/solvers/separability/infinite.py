"""Which coefficients of a logistic regression without penalty run to infinity, and where to.

The likelihood keeps growing along every direction of the recession cone

    K = { w : z_i.w >= 0 for all i } .

Modulo directions that change no margin (columns that depend on columns to their left are dropped,
as R does) K spans the w that keep the tight rows at zero: a coefficient is finite exactly if it is
0 in all of that space. Otherwise it runs away. Its sign is fixed exactly if no w of K has the other
one, that is, if the rows with ``- sign e_j`` among them have no direction that leaves that row off
the boundary. Both answers are exact: a second direction, or Gordan's multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.ball_simplex import alternative
from separatrix.solvers.separability.facial_reduction import products, whole
from separatrix.solvers.separability.witness import (
    Basis,
    basis_of,
    independent_rows,
    primes,
    primitive,
)

__all__ = ["OPEN", "UNKNOWN", "infinite_coefficients", "row_space"]

OPEN, UNKNOWN = "open", "unknown"
WIDEST = 1200
MOST_CELLS = 1_000_000  # of the rows that are off, in integers
MOST_WORK = 200_000_000  # rows x columns x coefficients whose signs are searched for

Decide = Callable[[SignedRows], Any]


def row_space(rows: SignedRows, known: list[int], seed: int = 0) -> Basis:
    """Return a basis of the space all rows span, starting from rows known to be of use.

    Its pivots are the columns that do not depend on columns to their left.
    """
    integers = rows.integers
    rng = np.random.default_rng(seed)
    sample = rng.permutation(len(rows))[: 2 * rows.width]
    candidates = np.array([*known, *sample.tolist()], dtype=np.int64)
    lists = integers.lists(candidates)
    others, size = primes(), -1
    prime = next(others)
    while True:
        kept = independent_rows(lists, prime)
        basis = Basis([lists[i] for i in kept], rows.width, prime)
        outside = np.zeros(0, dtype=np.int64)
        if len(kept) not in (rows.width, len(rows)):  # else no space is larger
            vectors = basis.null_space()
            outside = np.flatnonzero(integers.times(vectors).signs().any(axis=1))
        if outside.size == 0 and basis.has_first_pivots():
            return basis
        if outside.size == 0 or len(kept) == size:
            prime = next(others)  # it divides what makes rows or columns independent
        size, lists = len(kept), basis.rows + integers.lists(outside[: 2 * rows.width])


def infinite_coefficients(
    rows: SignedRows,
    direction: list[Fraction] | None,
    tight_basis: list[int],
    overlapping: bool,
    decide: Decide,
) -> np.ndarray:
    """Return -inf, 0 or +inf for each coefficient, the intercept first.

    "open" stands where a coefficient runs away with either sign, "unknown" where its sign would
    take too long; an array with such words holds objects. NaN: not identifiable. All are NaN where
    there are too many columns to tell. `decide` decides separability of signed rows.
    """
    if rows.width > WIDEST:
        return np.full(rows.width, np.nan)
    space = row_space(rows, tight_basis)
    kept = space.pivots
    out = np.full(rows.width, np.nan)
    out[kept] = 0.0
    if overlapping:
        return out
    assert direction is not None, "classes that do not overlap have a direction"
    tight = [
        [row[j] for j in kept] for row in rows.integers.lists(np.array(tight_basis, dtype=int))
    ]
    moving = basis_of(tight, len(kept))[2]
    running = [p for p in range(len(kept)) if any(vector[p] for vector in moving)]
    reduced = _without_aliases(rows, direction, space)
    first = whole([reduced[j] for j in kept])
    signs = _signs(_Cone(rows, kept, moving, decide), first, running)
    if any(isinstance(sign, str) for sign in signs.values()):
        out = out.astype(object)
    for p, sign in signs.items():
        out[kept[p]] = sign
    return out


def _signs(cone: _Cone, first: list[int], running: list[int]) -> dict[int, Any]:
    """Return -inf, inf, "open" or "unknown" for each of the coefficients that run away."""
    found: dict[int, Any] = {p: OPEN for p in running if first[p] == 0}
    budget = MOST_WORK
    for p in running:
        if p in found:
            continue
        budget -= cone.work
        other = cone.direction_with(p, -1 if first[p] > 0 else 1) if budget >= 0 else None
        if other is None:
            found[p] = UNKNOWN
        elif not other:
            found[p] = np.inf if first[p] > 0 else -np.inf
        else:  # this direction may have the other sign elsewhere too
            flipped = (q for q in running if q not in found and first[q] * other[q] < 0)
            found |= dict.fromkeys(flipped, OPEN)
    return found


class _Cone:
    """The recession cone in the columns that are kept, up to a power of two for each column.

    Where rows are tight, w = sum_k u_k v_k over the vectors v that keep them tight, and the rows
    that remain are few: those are decided in u, as integers.
    """

    def __init__(
        self, rows: SignedRows, kept: list[int], moving: list[list[int]], decide: Decide
    ) -> None:
        self.rows, self.kept, self.moving, self.decide = rows, kept, moving, decide
        self.work = len(rows) * len(kept)
        self.lists: list[list[int]] | None = None
        if len(moving) < len(kept):
            full = _widened(moving, kept, rows.width)
            off = np.flatnonzero(rows.integers.times(full).signs().any(axis=1))
            if off.size * len(moving) <= MOST_CELLS:
                lists = [primitive(row) for row in products(rows.integers.lists(off), full)]
                self.lists = [list(row) for row in dict.fromkeys(map(tuple, lists))]
                self.work = len(self.lists) * len(moving)

    @cached_property
    def matrix(self) -> np.ndarray:
        """The signed rows in the columns that are kept."""
        return self.rows.dense()[:, self.kept]

    def direction_with(self, place: int, sign: int) -> list[int] | None:
        """Return a direction of the cone with this sign there, [] if none has; None: not found."""
        if self.lists is None:
            unit = np.zeros((1, len(self.kept)))
            unit[0, place] = sign
            return self._decided(np.vstack([self.matrix, unit]))
        lists = [*self.lists, [sign * vector[place] for vector in self.moving]]
        if max(abs(v) for row in lists for v in row) < 2**53:
            u = self._decided(np.array(lists, dtype=float))
        else:
            answer = alternative(lists)
            u = None if answer is None else answer.direction or []
        columns = [list(column) for column in zip(*self.moving, strict=True)]
        return products([u], columns)[0] if u else u

    def _decided(self, signed: np.ndarray) -> list[int] | None:
        """Return a direction that has the last row strictly on its side, [] if there is none."""
        claim = self.decide(SignedRows(signed, np.ones(len(signed)), False))
        if claim.kind == "undecided":
            return None
        if claim.direction is None:
            return []
        terms = zip(claim.direction, signed[-1].tolist(), strict=True)
        if sum((v * Fraction(x) for v, x in terms if x), Fraction(0)) <= 0:
            return []
        return whole(claim.direction)


def _widened(vectors: list[list[int]], kept: list[int], width: int) -> list[list[int]]:
    """Write vectors over the columns that are kept as vectors over all columns."""
    wide = [[0] * width for _ in vectors]
    for vector, target in zip(vectors, wide, strict=True):
        for value, j in zip(vector, kept, strict=True):
            target[j] = value
    return wide


def _without_aliases(rows: SignedRows, direction: list[Fraction], space: Basis) -> list[Fraction]:
    """Rewrite a direction, margins unchanged, so that dropped columns have coefficient 0."""
    exponents = rows.integers.exponents.tolist()
    w = [v * Fraction(2) ** e for v, e in zip(direction, exponents, strict=True)]
    return space.on_pivots(w)
