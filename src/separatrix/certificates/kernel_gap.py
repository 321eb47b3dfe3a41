"""How far a kernel machine is from the best there is, proved from the data alone.

    objective at (a, b)    1/2 N + sum_i c_i max(0, 1 - y_i (g_i + b))      from above
    lower bound            sum_i a_i - 1/2 N                                from below

with g_i = sum_j a_j y_j K(x_j, x_i) and N = sum_i a_i y_i g_i = |w|^2. The second bounds the first
for every machine if 0 <= a_i <= c_i, the balance sum_i y_i a_i is exactly zero, and the kernel is
positive. Where it is not (sigmoid, or values that show it), no bound exists and only this is
claimed: a stationary point, no pair of multipliers being out of order by more than `violation`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.canonical import sha256
from separatrix.certificates.duality_gap import data_of
from separatrix.certificates.kernel_bounds import Scored, most_out_of_order, objectives
from separatrix.certificates.kernel_claims import (
    WIDER,
    KernelClaim,
    least_eigenvalue,
    smallest_eigenvalue,
)
from separatrix.certificates.kernel_scores import KernelRowsInProof, Scores, kernel_scores
from separatrix.certificates.objective_bounds import NOTHING
from separatrix.certificates.separation import certificate_json
from separatrix.certificates.two_bounds import (
    SLACK,
    EachMachine,
    are_floats,
    costs_agree,
    costs_in_json,
    hexadecimal,
    stated,
)
from separatrix.problem.kernels import Kernel
from separatrix.problem.signed import as_matrix

__all__ = ["KernelGap", "KernelGaps", "prove_kernel_gap", "smallest_eigenvalue"]


@dataclass(frozen=True, eq=False)
class KernelGap(KernelClaim):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `multipliers` and `bias` are the machine, `costs` C times each row's weight. Class `positive` is
    set against class `negative`, or against all others where that is -1. `smallest` is the least
    eigenvalue of a sample of kernel values, as a share of the largest: NaN where theory makes it
    needless.
    """

    primal: float
    dual: float
    violation: float
    kernel: Kernel
    bias: float
    multipliers: np.ndarray
    costs: np.ndarray
    positive: int
    negative: int
    smallest: float
    curved: bool  # whether the solver met negative curvature
    data_sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]
    intercept: bool = True
    margins: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def is_convex(self) -> bool:
        """Whether the kernel is positive, or was not seen to be otherwise."""
        return super().is_convex and bool(self.kernel.is_positive or not self.curved)

    @property
    def holds(self) -> bool:
        """Whether there is a claim at all: both bounds, or a stationary point."""
        return math.isfinite(self.gap if self.is_convex else self.violation)

    def check(self, X: Any, y: Any) -> bool:
        """Prove the claim again from the data; other data are refused."""
        return _check_all((self,), X, y)

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        rows = np.flatnonzero(self.multipliers)
        claim = {
            "kernel": self._kernel_in_json(),
            "positive": self.positive,
            "negative": self.negative,
            "costs": costs_in_json(self.costs),
            "bias": float(self.bias).hex(),
            "rows": rows.tolist(),
            "multipliers": [value.hex() for value in self.multipliers[rows].tolist()],
            "curved": self.curved,
            "smallest": hexadecimal(self.smallest),
            "primal": hexadecimal(self.primal),
            "dual": hexadecimal(self.dual),
            "violation": hexadecimal(self.violation),
        }
        return certificate_json("kernel-gap", self, claim)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.is_convex:
            return (
                "the kernel is not positive, so only this is proved: no pair of multipliers is out "
                f"of order by more than {self.violation:.2g}; better machines may exist"
            )
        if not self.holds:
            return "not proved: one of the two bounds is not finite"
        return f"proved: no machine with this kernel {self._bounds_in_words()}"


@dataclass(frozen=True, eq=False)
class KernelGaps(EachMachine):
    """One certificate a machine, where there are several classes."""

    machines: tuple[KernelGap, ...]

    def check(self, X: Any, y: Any) -> bool:
        """Prove every machine's claim again."""
        k = len(np.unique(np.asarray(y)))
        pairs = [(machine.positive, machine.negative) for machine in self.machines]
        rest = [(i, -1) for i in range(k)]
        each = [(j, i) for i in range(k) for j in range(i + 1, k)]
        return pairs in (rest, each) and _check_all(self.machines, X, y)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not all(machine.is_convex for machine in self.machines):
            return str(next(m for m in self.machines if not m.is_convex))
        return (
            f"proved: no machine with this kernel lowers the objective of any of the "
            f"{len(self.machines)} machines by more than {self.gap:.2g} of it"
        )


def _check_all(machines: tuple[KernelGap, ...], X: Any, y: Any) -> bool:
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    X = as_matrix(X)
    first = machines[0]
    if not all(_fits(machine, first, X, codes, len(classes)) for machine in machines):
        return False
    if sha256(data_of(X, codes, len(classes), True)) != first.data_sha256:
        return False
    signs = [signs_of(codes, machine.positive, machine.negative) for machine in machines]
    shares = np.column_stack([s * m.multipliers for s, m in zip(signs, machines, strict=True)])
    rows = KernelRowsInProof(first.kernel, X)
    scores = kernel_scores(rows, shares)
    for k, machine in enumerate(machines):
        again = prove_kernel_gap(
            kernel=machine.kernel,
            signs=signs[k],
            costs=machine.costs,
            alpha=machine.multipliers,
            bias=machine.bias,
            scores=scores.of(k),
            smallest=least_eigenvalue(rows, machine.multipliers),
            curved=machine.curved,
            n_features=X.shape[1],
            wider=0.0,
        )
        if not machine.holds or (machine.is_convex and not again.is_convex):
            return False
        if machine.is_convex and not machine._is_found_again(again):
            return False
        if not again.violation <= machine.violation:
            return False
    return True


def _fits(machine: KernelGap, first: KernelGap, X: Any, codes: np.ndarray, n_classes: int) -> bool:
    """Whether the claim is one that can be made of such data."""
    n, d = X.shape
    k = len(machine.classes)
    named = 0 <= machine.positive < k and -1 <= machine.negative < k
    if not (named and k == n_classes and k >= 2 and machine.positive != machine.negative):
        return False
    if k == 2 and (machine.positive, machine.negative) not in ((1, -1), (1, 0)):
        return False
    left_out = np.zeros(n, dtype=bool)
    if machine.negative >= 0:
        left_out = (codes != machine.positive) & (codes != machine.negative)
    costs = machine.costs
    return (
        are_floats(machine.multipliers, costs)
        and (n, d) == (machine.n_rows, machine.n_features)
        and machine.multipliers.shape == costs.shape == (n,)
        and machine.kernel == first.kernel
        and machine.data_sha256 == first.data_sha256
        and (machine.kernel.name != "precomputed" or n == d)
        and 0.0 < machine.kernel.gamma < math.inf
        and bool((costs >= 0.0).all() and (costs > 0.0).any() and not costs[left_out].any())
        and costs_agree(costs)
        and isinstance(machine.bias, float)
        and math.isfinite(machine.bias)
    )


def signs_of(codes: np.ndarray, positive: int, negative: int) -> np.ndarray:
    """Return +1 for the positive class, -1 for the negative one (-1: every other), else 0."""
    if negative < 0:
        return np.where(codes == positive, 1.0, -1.0)
    return np.where(codes == positive, 1.0, np.where(codes == negative, -1.0, 0.0))


def prove_kernel_gap(
    *,
    kernel: Kernel,
    signs: np.ndarray,
    costs: np.ndarray,
    alpha: np.ndarray,
    bias: float,
    scores: Scores,
    n_features: int,
    smallest: float = math.nan,
    curved: bool = False,
    positive: int = 1,
    negative: int = -1,
    data_sha256: str = "",
    classes: tuple[str, ...] = ("0", "1"),
    wider: float = WIDER,
) -> KernelGap:
    """Compute both bounds from one column of scores, rounding outwards."""
    rows = Scored(signs, costs, alpha, scores.enclosed(1.0 + wider)[:, 0]).with_a_sign()
    above, below = objectives(rows, bias)
    if np.count_nonzero(alpha) > np.count_nonzero(rows.alpha):
        below = NOTHING  # a multiplier of a row that has no part in this
    primal, dual = stated(above, below, SLACK if wider else 0.0)
    violation = most_out_of_order(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        margins = signs * (scores.values[:, 0] + bias)  # to look at: no claim rests on them
    return KernelGap(
        primal=primal,
        dual=dual,
        violation=violation,
        kernel=kernel,
        bias=bias,
        multipliers=alpha,
        costs=costs,
        positive=positive,
        negative=negative,
        smallest=smallest,
        curved=curved,
        data_sha256=data_sha256,
        n_rows=len(alpha),
        n_features=n_features,
        classes=classes,
        margins=margins,
    )
