"""Means and scatter of classes, enclosed; and matrices proved positive semidefinite.

Columns are divided by powers of two, which rounds nothing, and each row is moved by about the mean
of its class: what a class's rows then sum to is next to nothing, and products lose no digits to
means far from zero.

    D_i = x_i - r_k(i)          rounded once
    m_k = r_k + e_k,            e_k = sum s_i D_i / N_k
    S_k = sum s_i D_i D_i' - N_k e_k e_k'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_sums import dot_error, row_sums, sums_both_ways
from separatrix.certificates.enclosure import Enclosure
from separatrix.problem.equilibrate import column_exponents, divided_columns

__all__ = ["MOST_COLUMNS", "ClassScatter", "class_scatter", "is_positive", "joined", "times"]

MOST_COLUMNS = 400
_MOST_ENTRIES = 1 << 27


@dataclass(frozen=True, eq=False)
class ClassScatter:
    """Enclosed: the weight of each class, its mean and its scatter, in divided columns.

    Columns of one value are not among those `kept`.
    """

    kept: np.ndarray
    exponents: np.ndarray
    masses: tuple[Enclosure, ...]
    means: tuple[Enclosure, ...]
    scatters: tuple[Enclosure, ...]

    def within(self) -> Enclosure:
        """Return the scatter within all classes together."""
        return joined(self.scatters)

    def mass(self) -> Enclosure:
        """Return the weight of all rows."""
        return joined(self.masses)

    def mean(self) -> Enclosure:
        """Return the mean of all rows."""
        weighted = [mean * mass for mean, mass in zip(self.means, self.masses, strict=True)]
        return joined(tuple(weighted)) / self.mass()

    def divided(self, W: np.ndarray) -> np.ndarray:
        """Return weight vectors (rows) for the divided columns; NaN where others have weights."""
        W = np.asarray(W, dtype=np.float64)
        with np.errstate(over="ignore"):
            found = np.ldexp(W[:, self.kept], self.exponents)
        return np.full_like(found, math.nan) if W[:, ~self.kept].any() else found


def class_scatter(X: Any, codes: np.ndarray, s: np.ndarray, n_classes: int) -> ClassScatter | None:
    """Enclose means and scatters; None where they would take too long or lose their columns."""
    n, d = X.shape
    if not 0 < d <= MOST_COLUMNS or n * d > _MOST_ENTRIES:
        return None
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    kept = np.asarray((X[0] != X).any(axis=0))
    X, power = X[:, kept], math.frexp(float(s.max()))[1]
    exponents = column_exponents(X)
    with np.errstate(all="ignore"):
        rows, near = divided_columns(X, exponents), np.ldexp(s, -power)
        same = (divided_columns(rows, -exponents) == X).all() and (np.ldexp(near, power) == s).all()
        if not same:
            return None
        found = [_one_class(rows[codes == k], near[codes == k]) for k in range(n_classes)]
    return ClassScatter(kept, exponents, *(tuple(each) for each in zip(*found, strict=True)))


def _one_class(rows: np.ndarray, s: np.ndarray) -> tuple[Enclosure, Enclosure, Enclosure]:
    mass = Enclosure.exact(s).sum()
    about = np.asarray((s / s.sum()) @ rows)
    # A column of one value has that mean, and no scatter.
    about = np.where((rows == rows[0]).all(axis=0), rows[0], about)
    moved = rows - about
    # D is rounded once in both its places, and its product with s once more.
    rest = sums_both_ways(moved, None, (), s, "each", rounded=1)[1]
    products = sums_both_ways(moved, None, (), moved * s[:, None], "each", rounded=3)[1]
    left = rest / mass
    scatter = products - left[:, None] * left * mass
    return mass, left + about, scatter


def joined(parts: tuple[Enclosure, ...]) -> Enclosure:
    """Return the sum of some enclosures."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def times(matrix: Enclosure, V: np.ndarray) -> Enclosure:
    """Enclose an enclosed matrix times columns that are known without error."""
    middle = matrix.middle
    width = (matrix - middle).size().high
    exact = row_sums(np.ascontiguousarray(middle.T), V, "each")
    more = row_sums(np.ascontiguousarray(width.T), abs(V), "each").high
    return exact + Enclosure.around(np.zeros_like(more), more)


def is_positive(matrix: Enclosure) -> bool:
    """Whether every symmetric matrix within the bounds is positive semidefinite, for certain.

    Its diagonal is brought near 1. Cholesky's decomposition of the middle, less the width of the
    bounds and four times Rump's (2006) constant times the trace, must exist.

    >>> one = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> is_positive(Enclosure.exact(one)), is_positive(Enclosure.exact(one - 2.0))
    (True, False)
    """
    with np.errstate(all="ignore"):
        middle = matrix.middle
        size = len(middle)
        diagonal = np.diag(middle)
        if not (matrix.is_finite and (diagonal > 0.0).all()):
            return False
        powers = np.ldexp(1.0, -(np.frexp(diagonal)[1] // 2))
        scaled = matrix * powers * powers[:, None]
        middle = np.tril(scaled.middle)
        middle = middle + np.tril(middle, -1).T
        width = (scaled - middle).size().high
        width = np.tril(width) + np.tril(width, -1).T
        off = max(float(Enclosure.exact(row).sum().high) for row in width)
        shift = Enclosure.exact(off) + dot_error(4.0 * size + 32.0, float(np.trace(middle)))
        try:
            np.linalg.cholesky(middle - float(shift.high) * np.eye(size))
        except np.linalg.LinAlgError:
            return False
    return True
