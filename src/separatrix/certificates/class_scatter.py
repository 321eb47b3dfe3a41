"""Means and scatter of classes, and symmetric matrices proved positive semidefinite, all enclosed.

Columns are divided by powers of two, which rounds nothing, and each row is moved by about the mean
of its class: what a class's rows then sum to is next to nothing, and products lose no digits to
means far from zero.

    D_i = x_i - r_k(i)          rounded once
    m_k = r_k + e_k,            e_k = sum s_i D_i / N_k; held is m_k less one of the rows
    S_k = sum s_i D_i D_i' - N_k e_k e_k'

Where Cholesky's decomposition of a matrix M of order k runs to its end, its least eigenvalue is
above -(k + 1) u tr M / (1 - 2 (k + 1) u), less 8 (k + 2)^2 least numbers for what vanished (Rump
2006, theorem 2.3); twice as many units serve libraries that multiply by inverses. So M is the
middle of an enclosed matrix, less the bound to be proved, that much, and the norm of the radii.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_sums import dot_error, row_sums
from separatrix.certificates.enclosure import Enclosure
from separatrix.problem.equilibrate import column_exponents, divided_exactly

MOST_COLUMNS = 400
_MOST_ENTRIES = 1 << 27
_SHARES = (0.9, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10)


def least_eigenvalue(matrix: Enclosure) -> float:
    """Return a bound below the least eigenvalue of every symmetric matrix within; 0 for none found.

    >>> one = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> least_eigenvalue(Enclosure.exact(one)), least_eigenvalue(Enclosure.exact(one - 2.0))
    (0.9, 0.0)
    """
    return next((share for share in _SHARES if _is_above(matrix, share)), 0.0)


def is_positive(matrix: Enclosure) -> bool:
    """Whether every symmetric matrix within the bounds is positive semidefinite, for certain.

    >>> one = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> is_positive(Enclosure.exact(one)), is_positive(Enclosure.exact(one - 2.0))
    (True, False)
    """
    with np.errstate(all="ignore"):
        diagonal = np.diag(matrix.middle)
        if not (matrix.is_finite and (diagonal > 0.0).all()):
            return False
        # Powers of two bring the diagonal near 1.
        powers = np.ldexp(1.0, -(np.frexp(diagonal)[1] // 2))
        return _is_above(matrix * powers * powers[:, None], 0.0)


def _is_above(matrix: Enclosure, bound: float) -> bool:
    middle, radius, size = matrix.middle, matrix.radius, float(len(matrix.low))
    diagonal = Enclosure.exact(np.diag(middle))
    # Only one half of the middle is looked at: the other must not be further off.
    off = Enclosure.exact(np.maximum(radius, radius.T)).square().sum().root()
    off = off + dot_error(2.0 * size + 2.0, diagonal.size().sum().high)
    off = off + dot_error((size + 2.0) ** 2, 0.0) + bound
    if not math.isfinite(off.high):
        return False
    shifted = middle.copy()
    np.fill_diagonal(shifted, (diagonal - off).low)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class ClassScatter:
    """Enclosed: the weight of each class, its mean and its scatter, in divided columns.

    Columns of one value are not among those `kept`: `flat` are these values. Means are less the
    `origin`, so that far from zero their differences keep their digits.
    """

    kept: np.ndarray
    flat: np.ndarray
    origin: np.ndarray
    exponents: np.ndarray
    masses: tuple[Enclosure, ...]
    means: tuple[Enclosure, ...]
    scatters: tuple[Enclosure, ...]

    def within(self) -> Enclosure:
        """Return the scatter within all classes together."""
        return total(self.scatters)

    def mass(self) -> Enclosure:
        """Return the weight of all rows."""
        return total(self.masses)

    def mean(self) -> Enclosure:
        """Return the mean of all rows, less the origin."""
        weighted = [mean * mass for mean, mass in zip(self.means, self.masses, strict=True)]
        return total(tuple(weighted)) / self.mass()

    def divided(self, W: np.ndarray) -> np.ndarray:
        """Return weight vectors (rows) for the divided columns; NaN where others have weights."""
        W = np.asarray(W, dtype=np.float64)
        with np.errstate(over="ignore"):
            found = np.ldexp(W[:, self.kept], self.exponents)
        return np.full_like(found, math.nan) if self.leaves_out(W) else found

    def leaves_out(self, W: np.ndarray) -> bool:
        """Whether a column of one value has a weight: nothing is known of such weights."""
        return bool(np.asarray(W)[:, ~self.kept].any())


def class_scatter(X: Any, codes: np.ndarray, s: np.ndarray, n_classes: int) -> ClassScatter | None:
    """Enclose means and scatters; None where they would take too long or lose their columns."""
    n, d = X.shape
    if not 0 < d <= MOST_COLUMNS or n * d > _MOST_ENTRIES:
        return None
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    kept = np.asarray((X[0] != X).any(axis=0))
    flat, X, power = X[0, ~kept], X[:, kept], math.frexp(float(s.max()))[1]
    exponents = column_exponents(X)
    with np.errstate(all="ignore"):
        rows, near = divided_exactly(X, exponents), np.ldexp(s, -power)
        if rows is None or not (np.ldexp(near, power) == s).all():
            return None
        origin, own = rows[np.argmax(near)], [codes == k for k in range(n_classes)]
        found = [_one_class(rows[each], near[each], origin) for each in own]
    parts = (tuple(each) for each in zip(*found, strict=True))
    return ClassScatter(kept, flat, origin, exponents, *parts)


def _one_class(
    rows: np.ndarray, s: np.ndarray, origin: np.ndarray
) -> tuple[Enclosure, Enclosure, Enclosure]:
    mass = Enclosure.exact(s).sum()
    about = np.asarray((s / s.sum()) @ rows)
    # A column of one value has that mean, and no scatter.
    about = np.where((rows == rows[0]).all(axis=0), rows[0], about)
    moved = rows - about
    # D is rounded once in both its places, and its product with s once more.
    rest = row_sums(moved, s, "each", rounded=1)
    products = row_sums(moved, moved * s[:, None], "each", rounded=3)
    left = rest / mass
    scatter = products - left[:, None] * left * mass
    return mass, left + (Enclosure.exact(about) - origin), scatter


def total(parts: tuple[Enclosure, ...]) -> Enclosure:
    """Return the sum of some enclosures."""
    return sum(parts[1:], parts[0])


def times(matrix: Enclosure, V: np.ndarray) -> Enclosure:
    """Enclose an enclosed matrix times columns that are known without error."""
    return row_sums(np.ascontiguousarray(V), matrix.T, "each").T


def quadratic_form(matrix: Enclosure, V: np.ndarray) -> Enclosure:
    """Enclose V'MV for an enclosed matrix M."""
    inner = times(matrix, V).T
    return times(Enclosure(*map(np.ascontiguousarray, (inner.low, inner.high))), V)
