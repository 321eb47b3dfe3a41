"""Which rows a function of a kernel separates, and that none does, proved from the data alone.

`KernelSeparation` speaks of f(x) = sum_j s_j K(x, x_j) + b. Row i is right where y_i f(x_i) > 0
whatever the rounding of its score. Where the kernel is positive semidefinite, the margins of
hyperplanes in the coordinates [1, phi(x)] are bounded too, as docs/certificates.md states.

`KernelOverlap` names two points of the classes' hulls that are near each other in the kernel's
space. A hyperplane must lie between them, so no margin is above |w| / sum_i a_i. Where equal rows
of different classes cancel, w is zero without any rounding, and nothing separates them at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import is_balanced, rounded_sum
from separatrix.certificates.enclosed_functions import TRUSTED
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_gap import are_two_sides, square_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.two_bounds import SLACK, AboutData, Written, are_floats, are_rows
from separatrix.checker.exact import at_least, at_most
from separatrix.problem.canonical import codes_of, row_keys, signs_of
from separatrix.problem.kernels import Kernel

# Rounding bounds are made wider, so that another order of sums finds the claim true.
_WIDER, _WIDE = 3.0, 5.0


@dataclass(frozen=True, eq=False, kw_only=True)
class OfKernel(Written, AboutData):
    """A claim about the values of one kernel."""

    kernel: Kernel

    def check(self, X: Any, y: Any) -> bool:
        """Prove the claim again from the data; other data are refused."""
        problem, kernel = self.problem(X, y), self.kernel
        return (
            problem is not None
            and self.intercept is True
            and kernel.is_sound
            and (kernel.name != "precomputed" or self.n_rows == self.n_features)
            and self._is_sound()
            and self._is_found_again(problem.X, codes_of(problem))
        )

    def _is_sound(self) -> bool:
        """Whether this is a claim, whatever the data."""
        raise NotImplementedError

    def _is_found_again(self, X: Any, codes: np.ndarray) -> bool:
        """Whether the data prove the claim."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSeparation(OfKernel):
    """At least `right` training rows are strictly on their own side: proved, rounding included.

    `shares` (one a row, with the sign of its class) and `bias` are the function. `lower` and
    `upper` bound the largest margin of any hyperplane; they are -inf and inf where nothing bounds
    it.
    """

    kind = "kernel-separation"

    shares: np.ndarray
    bias: float
    right: int = 0
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def holds(self) -> bool:
        """Whether every row is on its own side."""
        return self.right == self.n_rows

    def _is_found_again(self, X: Any, codes: np.ndarray) -> bool:
        again = prove_kernel_separation(self, X, codes, wider=0.0)
        found = self.right <= again.right and self.lower <= again.lower
        return found and again.upper <= self.upper

    def _is_sound(self) -> bool:
        return (
            are_floats(self.shares)
            and len(self.classes) == 2
            and self.shares.shape == (self.n_rows,)
            and bool(np.isfinite(self.shares).all())
            and isinstance(self.bias, float)
            and math.isfinite(self.bias)
            and type(self.right) is int
            and (self.lower > 0.0 or self.lower == -math.inf)  # else there is no bound to claim
        )

    def _sentence(self) -> str:
        if not self.holds:
            return f"proved: at least {self.right} of {self.n_rows} rows are on their own side"
        said = f"proved: all {self.n_rows} rows lie strictly on their own side"
        if math.isfinite(self.upper):
            low, high = at_least(self.lower, 9), at_most(self.upper, 9)
            said += f"; the largest margin lies in [{low}, {high}]"
        return said


def prove_kernel_separation(
    claim: KernelSeparation, X: Any, codes: np.ndarray, wider: float = _WIDER
) -> KernelSeparation:
    """Return the claim with what is found: rows on their own side, and bounds on the margin."""
    signs, shares = np.where(codes == 1, 1.0, -1.0), claim.shares
    scores = kernel_scores(KernelRowsInProof(claim.kernel, X), shares[:, None])
    found = scores.enclosed(1.0 + wider)[:, 0]
    margins = (found + claim.bias).times_sign(signs)
    lower, upper = -math.inf, math.inf
    if claim.kernel.is_positive:
        square, slack = square_of(shares, found).at_least(0.0), SLACK if wider else 0.0
        least = Enclosure.exact(float(margins.low.min()))
        length = (square + Enclosure.exact(claim.bias).square()).root()
        if least.low > 0.0 and length.high < math.inf:
            lower = float((least / length.high).low) * (1.0 - slack)
        if shares.any() and (signs * shares >= 0.0).all():
            total = Enclosure.exact(shares).sum().square()
            mean = (square + total).root() / Enclosure.exact(abs(shares)).sum()
            upper = float(mean.high) * (1.0 + slack)
    right = int((margins.low > 0.0).sum())
    return replace(claim, right=right, lower=lower, upper=upper)


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelOverlap(OfKernel):
    """No hyperplane in the kernel's space has a margin above `margin`: proved, rounding included.

    `rows` have the multipliers `multipliers`, which sum to the same over class `positive` and over
    class `negative` (all others where that is -1). `margin` is 0 where equal rows of both classes
    cancel, and then nothing separates them. The longest row of either class is at least `length`
    long in the kernel's space: a margin means little that is a tiny share of it.
    """

    margin: float = math.inf
    length: float = 0.0
    rows: tuple[int, ...]
    multipliers: tuple[float, ...]
    positive: int = 1
    negative: int = -1

    kind = "kernel-overlap"

    @property
    def holds(self) -> bool:
        """Whether there is a claim at all."""
        return math.isfinite(self.margin)

    @property
    def shares(self) -> tuple[float, ...]:
        """The multipliers as shares of their class: two means that meet."""
        half = 0.5 * math.fsum(self.multipliers)
        return tuple(value / half for value in self.multipliers)

    @classmethod
    def proved(cls, X: Any, codes: np.ndarray, alpha: np.ndarray, **about: Any) -> KernelOverlap:
        """Return what the multipliers of all rows prove, every margin rounded outwards."""
        used = np.flatnonzero(alpha)
        claim = cls(
            rows=tuple(used.tolist()),
            multipliers=tuple(alpha[used].tolist()),
            n_rows=X.shape[0],
            n_features=X.shape[1],
            **about,
        )
        margin, length = claim._found(X, codes, _WIDE)
        return replace(claim, margin=margin * (1.0 + SLACK), length=length)

    def _is_found_again(self, X: Any, codes: np.ndarray) -> bool:
        margin, length = self._found(X, codes, 1.0)
        return margin <= self.margin and self.length <= length

    def _is_sound(self) -> bool:
        sides = are_two_sides(self.positive, self.negative, len(self.classes))
        return self.holds and sides and are_rows(self.rows, self.multipliers, self.n_rows)

    def _found(self, X: Any, codes: np.ndarray, wide: float) -> tuple[float, float]:
        """Return what no margin is above, and what the longest row is at least as long as."""
        signs, alpha = signs_of(codes, self.positive, self.negative), np.zeros(self.n_rows)
        alpha[list(self.rows)] = self.multipliers
        shares, used = signs * alpha, np.flatnonzero(alpha)
        positive = np.isfinite(alpha).all() and (alpha >= 0.0).all() and alpha.any()
        if not (positive and signs[used].all() and is_balanced(shares)):
            return math.inf, 0.0
        rows = KernelRowsInProof(self.kernel, X)
        length = _length(rows, X, np.flatnonzero(signs), wide)
        if _cancel(row_keys(X[used]), shares[used]):
            return 0.0, length
        if self.kernel.is_positive is False:  # without a space there are no hulls
            return math.inf, length
        square = square_of(shares, kernel_scores(rows, shares[:, None]).enclosed(wide)[:, 0])
        if square.high < 0.0:  # then the kernel has no space either
            return math.inf, length
        root = square.at_least(0.0).root()
        return float((root / Enclosure.exact(alpha).sum()).high), length

    def _sentence(self) -> str:
        if not self.holds:
            return "not proved: rounding leaves a margin possible"
        which = f"row {self.rows[0]}" if len(self.rows) == 1 else f"{len(self.rows)} rows"
        if self.margin == 0.0:
            return f"proved: equal rows of different classes ({which}) cancel, whatever the kernel"
        assuming = "" if self.kernel.is_positive else ", assuming that the kernel is positive"
        length = at_least(self.length, 2)
        return (
            f"proved by {which}{assuming}: no hyperplane in the kernel's space has a margin above "
            f"{at_most(self.margin, 2)}, where the longest row is {length} or longer"
        )


def _length(rows: KernelRowsInProof, X: Any, which: np.ndarray, wide: float) -> float:
    """Return what the longest of these rows is at least as long as; 0 where none is proved."""
    kernel = rows.kernel
    if kernel.name == "rbf":
        return 1.0
    with np.errstate(all="ignore"):
        longest = which[[np.argmax(kernel.diagonal(X)[which])]]
        square = rows.values(longest, rows.right(longest))[0, 0]
        wrong = TRUSTED * abs(square)
        if kernel.name != "callable":
            wrong = rows.bounds(longest)[0][longest[0]]
        least = float((Enclosure.exact(square) - wide * wrong).at_least(0.0).root().low)
    return least if math.isfinite(least) else 0.0


def _cancel(keys: list[bytes], shares: np.ndarray) -> bool:
    """Whether the shares of equal rows sum to zero, so that w is zero whatever the kernel."""
    groups: dict[bytes, list[float]] = defaultdict(list)
    for key, share in zip(keys, shares.tolist(), strict=True):
        groups[key].append(share)
    return all(rounded_sum(np.array(group)) == 0.0 for group in groups.values())
