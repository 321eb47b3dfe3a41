"""Which coefficients of a logistic regression without penalty run to infinity, and where to.

The likelihood keeps growing along every direction that leaves no margin negative. Modulo directions
that change no margin at all (columns that depend on columns to their left are dropped, as R does)
these span the w that keep the tight rows at zero: a coefficient is finite exactly if it is 0 in all
of that space. The sign is that of one direction that puts every row off that can be put off.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.witness import Basis, independent_rows

__all__ = ["WIDEST", "infinite_coefficients", "row_space"]

WIDEST = 1200


def row_space(rows: SignedRows, known: list[int], seed: int = 0) -> Basis:
    """Return a basis of the space all rows span, starting from rows known to be of use."""
    integers = rows.integers
    rng = np.random.default_rng(seed)
    sample = rng.permutation(len(rows))[: 2 * rows.width]
    candidates = np.array([*known, *sample.tolist()], dtype=np.int64)
    lists = integers.lists(candidates)
    while True:
        kept = independent_rows(lists)
        basis = Basis([lists[i] for i in kept], rows.width)
        vectors = basis.null_space()
        if not vectors:
            return basis
        outside = np.flatnonzero(integers.times(vectors).signs().any(axis=1))
        if outside.size == 0:
            return basis
        lists = basis.rows + integers.lists(outside[: 2 * rows.width])


def infinite_coefficients(
    rows: SignedRows, direction: list[Fraction] | None, tight_basis: list[int], overlapping: bool
) -> np.ndarray:
    """Return -inf, 0 or +inf for each coefficient, the intercept first; NaN: not identifiable.

    All NaN where there are too many columns to tell.
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
    tight = [tight[i] for i in independent_rows(tight)]
    moving = Basis(tight, len(kept)).null_space()
    reduced = _without_aliases(rows, direction, space)
    for place, j in enumerate(kept):
        along = [vector for vector in moving if vector[place]]
        if along:
            sign = reduced[j] or _toward(rows, along[0], kept) * along[0][place]
            out[j] = np.inf if sign > 0 else -np.inf
    return out


def _without_aliases(rows: SignedRows, direction: list[Fraction], space: Basis) -> list[Fraction]:
    """Rewrite a direction, margins unchanged, so that dropped columns have coefficient 0."""
    exponents = rows.integers.exponents.tolist()
    w = [v * Fraction(2) ** e for v, e in zip(direction, exponents, strict=True)]
    dropped = [j for j in range(rows.width) if j not in set(space.pivots)]
    for j, vector in zip(dropped, space.null_space(), strict=True):
        factor = w[j] / vector[j]
        if factor:
            w = [a - factor * b for a, b in zip(w, vector, strict=True)]
    return w


def _toward(rows: SignedRows, vector: list[int], kept: list[int]) -> int:
    """Return the sign in which a direction raises the sum of all margins."""
    total = rows.integers.total(np.arange(len(rows)))
    change = sum(v * total[j] for v, j in zip(vector, kept, strict=True))
    return 1 if change >= 0 else -1
