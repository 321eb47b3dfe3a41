"""Rows proved to lie on the boundary of every halfspace that holds all rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import flint
import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.witness import Basis, independent_rows, primitive

__all__ = ["Tight", "Undecided", "opposite_duplicates"]

MOST_ENTRIES = 50_000_000


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


# ---- two identical points with opposite labels: the smallest witness there is


def opposite_duplicates(rows: SignedRows) -> tuple[int, int] | None:
    """Return the first two equal rows of X of opposite signs; None if none, or if X is large.

    >>> X = np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]])
    >>> opposite_duplicates(SignedRows(X, np.array([1.0, 1.0, -1.0])))
    (0, 2)
    """
    X = rows.X
    if (X.nnz if rows.is_sparse else X.size) > MOST_ENTRIES:
        return None
    hashes = _sparse_hashes(X) if rows.is_sparse else _dense_hashes(X)
    order = np.argsort(hashes, kind="stable")
    begins = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order[:1]] ^ np.uint64(1)))
    signs = rows.signs[order]
    low = np.minimum.reduceat(signs, begins)
    high = np.maximum.reduceat(signs, begins)
    ends = np.append(begins[1:], len(order))
    for group in np.flatnonzero(low != high)[:100].tolist():
        members = np.sort(order[begins[group] : ends[group]])
        first = int(members[0])
        other = members[rows.signs[members] != rows.signs[first]]
        pair = np.array([first, int(other[0])])
        a, b = rows.take(pair).dense()
        if np.array_equal(a, -b):
            return first, int(other[0])
    return None


@lru_cache(maxsize=4)
def _keys(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 2**63, size=count, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)


def _bits(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return bits ^ (bits >> np.uint64(29))


def _dense_hashes(X: np.ndarray) -> np.ndarray:
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for column, key in zip(X.T, _keys(X.shape[1]), strict=True):
        total += _bits(column) * key
    return total


def _sparse_hashes(X: Any) -> np.ndarray:
    """Sum over the stored entries; stored zeros have no bits and count for nothing."""
    terms = _bits(X.data) * _keys(X.shape[1])[X.indices]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
