"""Proof that the classes overlap, or are quasi-separable, from positive multiples of rows.

If positive multiples of some rows sum to zero, every w that leaves no margin negative leaves theirs
at zero. For overlap that must reach all rows: through a common multiplier of the rows not named, or
because the named rows have full rank. For quasi-separation integer weights say which rows are off
the boundary, and the multiples reach all that are on it. Nothing here knows how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.separation import are_all, enclosed_margins
from separatrix.certificates.two_bounds import AboutData, Written, are_rows
from separatrix.problem.exact import times_powers_of_ten
from separatrix.problem.exact_sums import (
    column_sums,
    exact_margin_signs,
    modular_rank,
    sums_to_zero,
)
from separatrix.problem.signed import SignedProblem, as_matrix

Integers = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Partition(Written, AboutData):
    """Rows on the boundary of every halfspace that holds all rows, and rows off it, exactly.

    Positive `multipliers` pin rows to the boundary; integer `weights` (``[b, w_1, ..., w_d]``) put
    the other rows off it. No weights: kind ``"overlap"``. No multipliers: ``"separation"``, with
    weights too long for floats. Both: ``"quasi"``. With `decimals`, column j is read times
    ``10**decimals[j]``, as the decimals that are written.
    """

    kind: str
    weights: Integers = ()
    rows: Integers = ()
    multipliers: Integers = ()
    others: int = 0
    decimals: Integers = ()
    holds: bool = True

    def check(self, X: Any, y: Any) -> bool:
        """Prove the claim again from the data, whatever `holds` says; other data are refused."""
        X = as_matrix(X)
        if self.decimals:
            if len(self.decimals) != X.shape[1]:
                return False
            try:
                X = times_powers_of_ten(X, self.decimals)
            except ValueError:
                return False
        problem = self.problem(X, y)
        return isinstance(problem, SignedProblem) and proved_signs(problem, self) is not None

    @property
    def integers(self) -> Integers:
        """The weights, as a file calls them."""
        return self.weights

    def claim(self) -> dict[str, Any]:
        """Return what is claimed, field by field."""
        return {name: value for name, value in super().claim().items() if name != "weights"}

    def _sentence(self) -> str:
        if self.kind == "separation":
            return f"proved: all {self.n_rows} rows lie strictly on their own side (exact)"
        if self.kind == "overlap":
            return f"proved: the classes overlap ({len(self.rows)} rows of zero sum, exact)"
        return f"proved: quasi-separable ({len(self.rows)} rows of zero sum, weights, exact)"


def proved_signs(problem: SignedProblem, claim: Partition) -> np.ndarray | None:
    """Return the sign of every margin (0: on the boundary) if the claim holds, otherwise None."""
    signs = np.zeros(problem.n_samples, dtype=np.int64)
    if claim.kind not in ("overlap", "quasi", "separation"):
        return None
    if claim.kind != "overlap":
        if len(claim.weights) != problem.dimension or not are_all(int, claim.weights):
            return None
        signs = margin_signs(problem, claim.weights)
        if claim.kind == "separation":
            return signs if (signs > 0).all() else None
        if signs.min(initial=0) < 0 or not (signs > 0).any():
            return None
    return signs if _pinned(problem, claim, signs == 0) else None


def _pinned(problem: SignedProblem, claim: Partition, tight: np.ndarray) -> bool:
    """Whether the multipliers pin all tight rows to the boundary."""
    named, multipliers = list(claim.rows), claim.multipliers
    if not are_rows(named, multipliers, problem.n_samples) or not tight[named].all():
        return False
    if min(multipliers) <= 0 or claim.others < 0:
        return False
    part = SignedProblem(problem.X[named], problem.signs[named], claim.intercept)
    rest = tight.copy()
    rest[named] = False
    if claim.others and rest.any():
        outside = column_sums(problem.X[rest], problem.signs[rest])
        return sums_to_zero(part, multipliers, (outside, claim.others))
    width = problem.X.shape[1] + claim.intercept
    if rest.any() and (claim.kind == "quasi" or modular_rank(part.X, claim.intercept) < width):
        return False
    return sums_to_zero(part, multipliers)


def is_witness(problem: SignedProblem, rows: Integers, multipliers: Integers) -> bool:
    """Whether positive multiples of different rows of a problem sum to zero."""
    if not are_rows(rows, multipliers, problem.n_samples):
        return False
    own = list(rows)
    part = SignedProblem(problem.X[own], problem.signs[own], problem.fit_intercept)
    return proves_gordan(part, multipliers)


def proves_gordan(part: SignedProblem, multipliers: Integers) -> bool:
    """Whether the positive multiples of all rows of a problem sum to zero."""
    return min(multipliers, default=0) > 0 and sums_to_zero(part, multipliers)


def margin_signs(problem: SignedProblem, weights: Integers) -> np.ndarray:
    """Return the exact sign of every margin: enclosed ones where they leave no doubt, integers."""
    size = max(max((abs(w).bit_length() for w in weights), default=0) - 1, 0)
    floats = np.array([w / (1 << size) for w in weights])  # each is the nearest one
    margins = enclosed_margins(problem, Enclosure.around(floats[None], 0.0))
    out = (margins.low > 0.0).astype(np.int64) - (margins.high < 0.0)
    rows = np.flatnonzero(out == 0)
    if rows.size:
        out[rows] = exact_margin_signs(
            problem.X[rows], problem.signs[rows], weights, problem.fit_intercept
        )
    return out
