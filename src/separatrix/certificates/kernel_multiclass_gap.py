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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.canonical import sha256
from separatrix.certificates.class_multipliers import (
    Named,
    are_in_place,
    are_within_costs,
    balances,
    cancelling,
    shares_of,
)
from separatrix.certificates.class_pass import shortfalls
from separatrix.certificates.duality_gap import data_of
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_bounds import square_of
from separatrix.certificates.kernel_claims import WIDER, KernelClaim, least_eigenvalue
from separatrix.certificates.kernel_scores import KernelRowsInProof, Scores, kernel_scores
from separatrix.certificates.objective_bounds import NOTHING
from separatrix.certificates.separation import certificate_json
from separatrix.certificates.two_bounds import (
    SLACK,
    are_floats,
    are_places,
    costs_in_json,
    hexadecimal,
    stated,
)
from separatrix.certificates.weights_by_class import losses_of
from separatrix.problem.kernels import Kernel
from separatrix.problem.signed import as_matrix

__all__ = ["KernelMulticlassGap", "prove_kernel_multiclass_gap", "shares_of"]

# Two computations of one eigenvalue differ by far less.
_SAME = 1e-8


@dataclass(frozen=True, eq=False)
class KernelMulticlassGap(KernelClaim):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    Multiplier t belongs to row ``rows[t]`` and the class number ``rivals[t]``; all others are zero.
    They and `biases`, one a class, are the machine. `costs` are C times each row's weight.
    `margins` say by how much each row's own class beats the best other, as computed.
    """

    primal: float
    dual: float
    kernel: Kernel
    biases: np.ndarray
    rows: np.ndarray
    rivals: np.ndarray
    multipliers: np.ndarray
    costs: np.ndarray
    smallest: float
    data_sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]
    intercept: bool = True
    margins: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        X = as_matrix(X)
        named, K = Named(self.rows, self.rivals, self.multipliers), len(classes)
        if not (self._fits(X, K) and are_in_place(named, codes, K)):
            return False
        if not self._is_about(lambda: sha256(data_of(X, codes, K, True))):
            return False
        rows = KernelRowsInProof(self.kernel, X)
        shares = shares_of(codes, *named, K)
        again = prove_kernel_multiclass_gap(
            kernel=self.kernel,
            codes=codes,
            costs=self.costs,
            rows=self.rows,
            rivals=self.rivals,
            multipliers=self.multipliers,
            biases=self.biases,
            scores=kernel_scores(rows, shares),
            n_features=X.shape[1],
            smallest=least_eigenvalue(rows, shares),
            wider=0.0,
        )
        same = abs(again.smallest - self.smallest) <= _SAME
        if not (same or (math.isnan(again.smallest) and math.isnan(self.smallest))):
            return False
        return again.is_convex and self._is_found_again(again)

    def _fits(self, X: Any, n_classes: int) -> bool:
        """Whether the claim is one that can be made of such data."""
        n, d = X.shape
        given, costs = self.kernel.name == "precomputed", self.costs
        return (
            are_floats(self.biases, self.multipliers, costs)
            and are_places(self.rows, self.rivals)
            and n_classes == len(self.classes)
            and n_classes >= 2
            and (n, d) == (self.n_rows, self.n_features)
            and (not given or (n == d and not sp.issparse(X)))
            and 0.0 < self.kernel.gamma < math.inf
            and self.biases.shape == (n_classes,)
            and bool(np.isfinite(self.biases).all())
            and costs.shape == (n,)
            and bool((costs >= 0.0).all() and (costs > 0.0).any() and np.isfinite(costs).all())
            and self.intercept is True
        )

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        claim = {
            "kernel": self._kernel_in_json(),
            "costs": costs_in_json(self.costs),
            "biases": [value.hex() for value in self.biases.tolist()],
            "rows": self.rows.tolist(),
            "rivals": self.rivals.tolist(),
            "multipliers": [value.hex() for value in self.multipliers.tolist()],
            "smallest": hexadecimal(self.smallest),
            "primal": hexadecimal(self.primal),
            "dual": hexadecimal(self.dual),
        }
        return certificate_json("kernel-multiclass-gap", self, claim)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.is_convex:
            return "not proved: the kernel is not positive, and better machines may exist"
        if not self.holds:
            return "not proved: one of the two bounds is not finite"
        many = f"{len(self.classes)} weight vectors"
        return f"proved: no machine of {many} with this kernel {self._bounds_in_words()}"


def prove_kernel_multiclass_gap(
    *,
    kernel: Kernel,
    codes: np.ndarray,
    costs: np.ndarray,
    rows: np.ndarray,
    rivals: np.ndarray,
    multipliers: np.ndarray,
    biases: np.ndarray,
    scores: Scores,
    n_features: int,
    smallest: float = math.nan,
    data_sha256: str = "",
    classes: tuple[str, ...] = (),
    wider: float = WIDER,
) -> KernelMulticlassGap:
    """Compute both bounds, rounding outwards, from the scores of the shares (`shares_of`), n x K.

    `smallest` is that of `least_eigenvalue` for the same shares.
    """
    named, K = Named(rows, rivals, multipliers), len(biases)
    above, below = Enclosure(0.0, math.inf), NOTHING
    if are_in_place(named, codes, K):
        shares, found = shares_of(codes, *named, K), scores.enclosed(1.0 + wider)
        square = sum(
            (square_of(shares[:, k], found[:, k]) for k in range(K)), start=Enclosure.exact(0.0)
        )
        above = square.halved() + losses_of(shortfalls(found + biases, codes), costs)
        if _is_feasible(named, codes, costs, shares):
            below = Enclosure.exact(multipliers).sum() - square.halved()
    primal, dual = stated(above, below, SLACK if wider else 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        margins = _margins(scores.values + biases, codes)  # to look at: no claim rests on them
    return KernelMulticlassGap(
        primal=primal,
        dual=dual,
        kernel=kernel,
        biases=biases,
        rows=rows,
        rivals=rivals,
        multipliers=multipliers,
        costs=costs,
        smallest=math.nan if kernel.is_positive else smallest,
        data_sha256=data_sha256,
        n_rows=len(codes),
        n_features=n_features,
        classes=classes or tuple(str(k) for k in range(K)),
        margins=margins,
    )


def _is_feasible(named: Named, codes: np.ndarray, costs: np.ndarray, shares: np.ndarray) -> bool:
    """Whether the multipliers are a dual point, and the shares theirs to the last bit."""
    K = shares.shape[1]
    places = named.rows * K + named.rivals
    return (
        len(np.unique(places)) == len(places)  # a sum of two for one class would be rounded
        and are_within_costs(named, costs, K)
        and not any(balances(named, codes, K))
        and bool(cancelling(shares).all())
    )


def _margins(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much each row's own value is above the best other."""
    own = np.arange(len(codes)), codes
    others = values.copy()
    others[own] = -math.inf
    return np.asarray(values[own] - others.max(axis=1))
