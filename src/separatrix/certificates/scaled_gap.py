"""A duality gap that speaks of columns divided by powers of two.

    min over w, b   1/2 sum_j (2^e_j w_j)^2 + sum_i c_i loss(y_i (w.x_i + b))

is the machine of the columns x_j / 2^e_j: a division without rounding, so what is proved of the
divided columns is proved of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGap, DualityGaps
from separatrix.certificates.json_form import certificate_json
from separatrix.problem.equilibrate import divided_columns, divides_exactly
from separatrix.problem.signed import as_matrix

__all__ = ["ScaledGap"]


@dataclass(frozen=True, eq=False)
class ScaledGap:
    """The gap of machines whose penalty is on the weights of the divided columns."""

    exponents: np.ndarray
    inner: DualityGap | DualityGaps

    @property
    def gap(self) -> float:
        """The largest relative gap of any machine, rounded up."""
        return self.inner.gap

    @property
    def holds(self) -> bool:
        """Whether both bounds are there at all."""
        return self.inner.holds

    @property
    def machines(self) -> tuple[DualityGap, ...]:
        """The certificates of the divided columns, one a machine."""
        if isinstance(self.inner, DualityGaps):
            return self.inner.machines
        return (self.inner,)

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the columns as given; other data are refused."""
        X = as_matrix(X)
        if X.shape[1] != len(self.exponents):
            return False
        # A quotient below the least normal number is rounded: it is no longer these data.
        exact = divides_exactly(X, self.exponents)
        return exact and self.inner.check(divided_columns(X, self.exponents), y)

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md.

        Its fingerprint is that of the divided columns, of which its machines speak.
        """
        claim = {
            "exponents": self.exponents,
            "machines": [machine.claim() for machine in self.machines],
        }
        return certificate_json("scaled-gap", self.machines[0], claim)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        return f"{self.inner}; each column divided by a power of two near its largest entry"
