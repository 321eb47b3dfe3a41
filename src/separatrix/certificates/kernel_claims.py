"""What the certificates of kernel machines have in common: what a kernel is, and what is assumed.

Two bounds prove something only where the kernel is positive. Theory says so of some kernels; of the
others, values that show the contrary are looked for, and none having been found is an assumption.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.kernel_scores import KernelRowsInProof
from separatrix.certificates.two_bounds import TwoBounds, require
from separatrix.problem.kernels import MOST_DEGREE, Kernel

__all__ = ["KernelClaim", "least_eigenvalue", "smallest_eigenvalue", "square_of"]

_SAMPLE = 256
_NEGATIVE = -1e-8
_SAME = 1e-9  # two computations of one eigenvalue differ by far less


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelClaim(TwoBounds):
    """Two bounds on the objective of models with one kernel.

    `smallest` is the least eigenvalue of a sample of kernel values, as a share of the largest: NaN
    where theory makes it needless. `margins` are as computed, for those who look at them.
    """

    _wide: ClassVar[float] = 4.0  # rows that float32 settles are summed in another order

    kernel: Kernel
    smallest: float = math.nan
    margins: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        kernel = self.kernel
        require(0 <= kernel.degree <= MOST_DEGREE, f"degree must lie between 0 and {MOST_DEGREE}")
        require(
            0.0 < kernel.gamma < math.inf and math.isfinite(kernel.coef0),
            "gamma must be above 0, and coef0 finite",
        )
        require(
            kernel.name != "precomputed" or self.n_rows == self.n_features,
            "a precomputed kernel needs as many columns as rows",
        )
        require(self.intercept is True, "the biases of kernel models are free")
        require(
            not kernel.is_positive or math.isnan(self.smallest),
            "smallest must be nan: theory says that this kernel is positive",
        )

    @property
    def is_convex(self) -> bool:
        """Whether the kernel is positive, or was not seen to be otherwise."""
        return bool(self.kernel.is_positive) or not self.smallest < _NEGATIVE

    def _is_of_spectrum(self, smallest: float) -> bool:
        """Whether the eigenvalue claimed is the one found again, or there is none."""
        none = math.isnan(smallest) and math.isnan(self.smallest)
        return none or (abs(smallest - self.smallest) <= _SAME)

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

    def _in_words(self, what: str, assuming: str = "") -> str:
        """Say what two bounds prove, and under which assumptions."""
        if self.assumptions:
            assuming = f" (assuming that {' and that '.join(self.assumptions)})"
        return super()._in_words(what, assuming)


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


def square_of(shares: np.ndarray, scores: Enclosure) -> Enclosure:
    """Enclose |w|^2 = sum shares * scores: never below zero, whatever rounding says."""
    used = np.flatnonzero(shares)
    return sum_of(lambda g, s: g * s, scores[used], shares[used]).at_least(0.0)
