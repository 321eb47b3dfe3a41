"""Which training rows a function of a kernel puts on their own side, proved from the data alone.

    f(x) = sum_j s_j K(x_j, x) + b

Row i is right where y_i f(x_i) > 0 whatever the rounding of its score. Where the kernel is positive
semidefinite, the margins of hyperplanes in the coordinates [1, phi(x)] are bounded too: by that of
f from below, and, if every s_i has the sign of its class, by the length of a mean of signed rows
from above:

    min_i y_i f(x_i) / |(b, w)|   <=   largest margin   <=   |(sum_i s_i, w)| / sum_i |s_i|
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.certificates.about_data import Written
from separatrix.certificates.canonical import codes_of
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_claims import square_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.two_bounds import SLACK, are_floats
from separatrix.problem.kernels import Kernel

__all__ = ["KernelSeparation", "prove_kernel_separation"]

_WIDER = 3.0  # rounding bounds, so that another order of sums finds the claim true


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSeparation(Written):
    """At least `right` training rows are strictly on their own side: proved, rounding included.

    `shares` (one a row, with the sign of its class) and `bias` are the function. `lower` and
    `upper` bound the largest margin of any hyperplane; they are -inf and inf where nothing bounds
    it.
    """

    kind = "kernel-separation"

    kernel: Kernel
    shares: np.ndarray
    bias: float
    right: int = 0
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def holds(self) -> bool:
        """Whether every row is on its own side."""
        return self.right == self.n_rows

    def check(self, X: Any, y: Any) -> bool:
        """Prove the claim again from the data; other data are refused."""
        problem = self.problem(X, y)
        if problem is None or not self._is_sound():
            return False
        again = prove_kernel_separation(self, problem.X, codes_of(problem), wider=0.0)
        found = self.right <= again.right and self.lower <= again.lower
        return found and again.upper <= self.upper

    def _is_sound(self) -> bool:
        """Whether this is a claim, whatever the data."""
        return (
            are_floats(self.shares)
            and len(self.classes) == 2
            and self.shares.shape == (self.n_rows,)
            and bool(np.isfinite(self.shares).all())
            and isinstance(self.bias, float)
            and math.isfinite(self.bias)
            and self.kernel.is_sound
            and type(self.right) is int
            and (self.lower > 0.0 or self.lower == -math.inf)  # else there is no bound to claim
            and self.intercept is True
        )

    def claim(self) -> dict[str, Any]:
        """Return what is claimed, field by field."""
        rows = np.flatnonzero(self.shares)
        claim = {
            "kernel": self.kernel,
            "bias": self.bias,
            "rows": rows,
            "shares": self.shares[rows],
            "right": self.right,
        }
        bounds = {"lower": self.lower, "upper": self.upper}
        return claim | {name: bound for name, bound in bounds.items() if math.isfinite(bound)}

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.holds:
            return f"proved: at least {self.right} of {self.n_rows} rows are on their own side"
        said = f"proved: all {self.n_rows} rows lie strictly on their own side"
        if math.isfinite(self.upper):
            said += f"; the largest margin lies in [{self.lower:.9g}, {self.upper:.9g}]"
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
        square, slack = square_of(shares, found), SLACK if wider else 0.0
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
