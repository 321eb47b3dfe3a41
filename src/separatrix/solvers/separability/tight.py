"""Rows proved to lie on the boundary of every halfspace that holds all rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np

from separatrix.solvers.separability.witness import Basis, independent_rows, primitive

__all__ = ["Tight", "Undecided"]


class Undecided(Exception):
    """No proof found; carries the bound reached, and a witness if strict separation is out."""

    def __init__(self, bound: float, witness: tuple[list[int], list[int]] | None = None) -> None:
        super().__init__(bound)
        self.bound, self.witness = bound, witness


@dataclass
class Tight:
    """Rows proved tight: positive multipliers with zero sum, and a basis of the space they span."""

    integers: Any
    width: int
    rows: list[int] = field(default_factory=list)
    multipliers: list[int] = field(default_factory=list)
    basis_rows: list[int] = field(default_factory=list)
    lists: list[list[int]] = field(default_factory=list)
    basis: Basis = field(init=False)

    def __post_init__(self) -> None:
        self.basis = Basis([], self.width)

    def add(self, rows: list[int], multipliers: list[int], basis: list[int] | None = None) -> None:
        """Add rows whose weighted sum lies in the span: correct the old multipliers, scaled up.

        ``basis`` names positions in ``rows`` that are a basis of them, if that is known.
        """
        lists = self.integers.lists(np.array(rows, dtype=np.int64))
        total = flint.fmpz_mat([multipliers]) * flint.fmpz_mat(lists)
        scale = self._absorb([int(v) for v in total.entries()])
        self.lists += lists
        self.multipliers += [m * scale for m in multipliers]
        self.rows += rows
        self.multipliers = primitive(self.multipliers)
        candidates = self.basis_rows + rows
        if basis is not None and not self.basis_rows:
            kept = basis
        else:
            kept = independent_rows(self.basis.rows + lists)
        self.basis_rows = [candidates[i] for i in kept]
        self.basis = Basis([(self.basis.rows + lists)[i] for i in kept], self.width)

    def _absorb(self, total: list[int]) -> int:
        """Change the multipliers so that their sum cancels ``total * scale``; return the scale."""
        solved = self.basis.combination([-t for t in total])
        if solved is None:
            raise Undecided(0.0)
        mu, scale = solved
        place = {row: i for i, row in enumerate(self.rows)}
        at = [place[row] for row in self.basis_rows]
        factor = 1
        for i, correction in zip(at, mu, strict=True):
            if correction < 0:
                factor = max(factor, -correction // self.multipliers[i] + 1)
        self.multipliers = [m * factor for m in self.multipliers]
        for i, correction in zip(at, mu, strict=True):
            self.multipliers[i] += correction
        return scale

    def cover(self, rows: np.ndarray) -> int:
        """Give all of these rows one common multiplier; return it."""
        outside = np.setdiff1d(rows, np.array(self.rows, dtype=np.int64))
        if outside.size == 0:
            return 0
        scale = self._absorb(self.integers.total(outside))
        reduced = primitive([scale, *self.multipliers])
        self.multipliers = reduced[1:]
        return reduced[0]
