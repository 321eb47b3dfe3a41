"""How far the direct machine with a kernel is from the best there is, proved from the data alone.

One weight vector a class in the kernel's space, all found at once, the biases free:

    objective at (w, b)   1/2 sum_k |w_k|^2
                          + sum_i c_i max_k (1[k != y_i] + g_ik + b_k - g_iy - b_y)     from above
    lower bound           sum of all multipliers - 1/2 sum_k |w_k|^2                    from below

with w_k = sum_i a_ik phi(x_i) for the shares a of the multipliers (`class_multipliers`), scores
g = K a and |w_k|^2 = sum_i a_ik g_ik. The second bounds the first for every machine if the
multipliers are not negative, no row's exceed c_i together, every class's balance is exactly zero,
and the kernel is positive. No share may be a rounded number: the multipliers of a row must have a
sum that float64 holds, so that w is one and the same in both lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.class_multipliers import (
    NamedMultipliers,
    are_feasible,
    balances,
    cancelling,
    shares_of,
)
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_claims import KernelClaim, least_eigenvalue, square_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, Scores, kernel_scores
from separatrix.certificates.objective_bounds import NOTHING
from separatrix.certificates.two_bounds import Found, are_floats, require
from separatrix.certificates.weights_by_class import losses_of, shortfalls

__all__ = ["KernelMulticlassGap", "shares_of"]


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelMulticlassGap(NamedMultipliers, KernelClaim):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    Multiplier t belongs to row ``rows[t]`` and the class number ``rivals[t]``; all others are zero.
    They and `biases`, one a class, are the model. `costs` are C times each row's weight.
    `margins` say by how much each row's own class beats the best other, as computed.
    """

    kind = "kernel-multiclass-gap"

    biases: np.ndarray

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        require(
            are_floats(self.biases)
            and self.biases.shape == (len(self.classes),)
            and np.isfinite(self.biases).all(),
            "biases must be finite numbers, one for each class",
        )

    def _is_found_again(self, X: Any, codes: np.ndarray) -> bool:
        if self.kernel.name == "precomputed" and sp.issparse(X):
            return False
        rows = KernelRowsInProof(self.kernel, X)
        shares = shares_of(codes, *self._named, len(self.classes))
        known = self._is_of_spectrum(least_eigenvalue(rows, shares)) and self.is_convex
        return known and super()._is_found_again(kernel_scores(rows, shares), codes)

    def _found(self, scores: Scores, codes: np.ndarray, wide: float) -> Iterator[Found]:
        """Enclose both objectives from the scores of the shares (`shares_of`), n x K."""
        named, K = self._named, len(self.biases)
        primal, dual = Enclosure(0.0, math.inf), NOTHING
        if are_feasible(named, codes, self.costs, K):
            shares, found = shares_of(codes, *named, K), scores.enclosed(wide)
            square = sum(
                (square_of(shares[:, k], found[:, k]) for k in range(K)), start=Enclosure.exact(0.0)
            )
            short = shortfalls(found + self.biases, codes)
            primal = square.halved() + losses_of(short, self.costs)
            # No share may be a rounded number: w is then one and the same in both lines.
            if not any(balances(named, codes, K)) and cancelling(shares).all():
                dual = Enclosure.exact(self.multipliers).sum() - square.halved()

        def shown() -> dict[str, Any]:
            with np.errstate(over="ignore", invalid="ignore"):
                return {"margins": _margins(scores.values + self.biases, codes)}

        yield Found(primal, dual, shown)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.is_convex:
            return "not proved: the kernel is not positive, and better machines may exist"
        many = f"{len(self.classes)} weight vectors"
        return self._in_words(f"machine of {many} with this kernel lowers")


def _margins(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much each row's own value is above the best other."""
    own = np.arange(len(codes)), codes
    others = values.copy()
    others[own] = -math.inf
    return np.asarray(values[own] - others.max(axis=1))
