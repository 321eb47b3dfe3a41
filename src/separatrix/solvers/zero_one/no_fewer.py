"""Witnesses that floats propose, made exact: ``sum lambda_i z_i = 0`` in integers.

Rows that span fewer dimensions than they could may cancel to the last bit, or miss by a rounding of
their decimals; floats cannot tell. Such proposals are made exact at once, and where that fails the
slow and exact decision on all rows in question takes over.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.decide import decide
from separatrix.solvers.separability.witness import exact_multipliers

__all__ = ["ExactWitnesses", "Witness"]

Witness = tuple[tuple[int, ...], tuple[int, ...]]


class ExactWitnesses:
    """Exact witnesses by their rows; `lengths` are those that float rows were divided by."""

    def __init__(self, points: np.ndarray, signs: np.ndarray, lengths: np.ndarray) -> None:
        self.rows = SignedRows(points, signs)
        self.lengths = lengths
        self.known: dict[tuple[int, ...], Witness | None] = {}
        self.guesses: dict[tuple[int, ...], np.ndarray] = {}
        self.separator: list[Fraction] | None = None

    def propose(self, rows: tuple[int, ...], weights: np.ndarray) -> None:
        """Remember multipliers of float rows of length one."""
        self.guesses.setdefault(rows, weights)

    def exact(self, rows: tuple[int, ...]) -> Witness | None:
        """Return integer multipliers of the rows, or None if there are none near those proposed."""
        if rows not in self.known:
            chosen = np.array(rows)
            # Shifting and scaling columns changes no multiplier: only the lengths of rows do.
            guess = self.guesses[rows] / self.lengths[chosen]
            part = self.rows.take(chosen)
            found = exact_multipliers(part.integers.lists(np.arange(len(rows))), guess)
            self.known[rows] = None if found is None else (rows, tuple(found.multipliers))
        return self.known[rows]

    def right_rows(self) -> np.ndarray:
        """Return which rows the separator has strictly on their own side, in fractions."""
        assert self.separator is not None
        slopes, intercept = self.separator[1:], self.separator[0]
        points = self.rows.X.tolist()
        scores = [
            intercept + sum(v * Fraction(x) for v, x in zip(slopes, point, strict=True))
            for point in points
        ]
        signs = self.rows.signs
        return np.array([score * int(s) > 0 for score, s in zip(scores, signs, strict=True)])

    def among(self, alive: np.ndarray) -> tuple[int, ...] | None:
        """Decide exactly whether the rows alive hold a witness; return its rows.

        If they are separable instead, `separator` holds the direction.
        """
        numbers = np.flatnonzero(alive)
        claim = decide(self.rows.take(numbers))
        self.separator = claim.direction if claim.kind == "separable" else None
        if claim.witness is None:
            return None
        pairs = sorted(zip(numbers[claim.witness[0]].tolist(), claim.witness[1], strict=True))
        rows = tuple(row for row, _ in pairs)
        self.known[rows] = (rows, tuple(m for _, m in pairs))
        return rows
