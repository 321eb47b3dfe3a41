"""What the certificates of kernel machines have in common: what a kernel is, and what is assumed.

Two bounds prove something only where the kernel is positive. Theory says so of some kernels; of the
others, values that show the contrary are looked for, and none having been found is an assumption.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.certificates.kernel_scores import KernelRowsInProof
from separatrix.certificates.two_bounds import TwoBounds
from separatrix.problem.kernels import Kernel

__all__ = ["WIDER", "KernelClaim", "least_eigenvalue", "smallest_eigenvalue"]

# Claims are this many rounding bounds wider than need be, so that another order of sums finds them
# true: what it computes is within one bound of the truth, and it adds one of its own.
WIDER = 3.0
_SAMPLE = 256
_NEGATIVE = -1e-8


class KernelClaim(TwoBounds):
    """Two bounds on the objective of machines with one kernel.

    `smallest` is the least eigenvalue of a sample of kernel values, as a share of the largest: NaN
    where theory makes it needless.
    """

    kernel: Kernel
    smallest: float

    @property
    def is_convex(self) -> bool:
        """Whether the kernel is positive, or was not seen to be otherwise."""
        return bool(self.kernel.is_positive) or not self.smallest < _NEGATIVE

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the proof takes for granted."""
        said = []
        if self.kernel.name in ("rbf", "sigmoid"):
            said.append("exp and tanh are right to eight units in the last place")
        if self.kernel.name == "callable":
            said.append("values of the kernel function are right to eight units in the last place")
        if not self.kernel.is_positive:
            said.append("the kernel is positive, which theory does not say and no value refuted")
        return tuple(said)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal, rounded up; inf where nothing bounds the best from below."""
        both = self.is_convex and math.isfinite(self.primal) and math.isfinite(self.dual)
        return super().gap if both else math.inf

    def _kernel_in_json(self) -> dict[str, Any]:
        """Return what `kernel_reading.kernel_from_json` reads."""
        return {
            "name": self.kernel.name,
            "gamma": float(self.kernel.gamma).hex(),
            "degree": self.kernel.degree,
            "coef0": float(self.kernel.coef0).hex(),
        }

    def _bounds_in_words(self) -> str:
        """Say what two bounds prove, and under which assumptions."""
        said = f" (assuming that {' and that '.join(self.assumptions)})" if self.assumptions else ""
        return (
            f"lowers the objective, {self.primal:.9g}, by more than {self.gap:.2g} of it "
            f"(the least is at least {self.dual:.9g}){said}"
        )


def least_eigenvalue(rows: KernelRowsInProof, carrying: np.ndarray) -> float:
    """Return the least eigenvalue of a sample of the rows that carry something, where it matters.

    `carrying` has one number a row, or one a row and machine; rows with zeros carry nothing.
    """
    if rows.kernel.is_positive:
        return math.nan
    return smallest_eigenvalue(rows, np.flatnonzero(carrying.reshape(rows.n, -1).any(axis=1)))


def smallest_eigenvalue(rows: KernelRowsInProof, support: np.ndarray) -> float:
    """Return the least eigenvalue of values among up to 256 rows, over the largest in size."""
    if len(support) == 0:
        return math.nan
    places = np.unique(np.linspace(0, len(support) - 1, _SAMPLE).astype(int))
    sample = support[places]
    values = rows.values(sample, rows.right(sample))
    if not np.isfinite(values).all():
        return math.nan
    spectrum = np.linalg.eigvalsh(0.5 * (values + values.T))
    largest = float(abs(spectrum).max())
    return float(spectrum[0]) / largest if largest > 0.0 else 0.0
