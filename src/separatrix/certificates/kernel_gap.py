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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.certificates.canonical import data_of, sha256
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_claims import KernelClaim, least_eigenvalue, square_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, Scores, kernel_scores
from separatrix.certificates.objective_bounds import (
    NOTHING,
    hard_margin,
    is_balanced,
    is_feasible,
    losses,
    most,
    start_of,
)
from separatrix.certificates.two_bounds import EachMachine, Found, are_floats, require
from separatrix.problem.signed import as_matrix

__all__ = ["KernelGap", "KernelGaps", "signs_of"]


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelGap(KernelClaim):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `multipliers` and `bias` are the model, `costs` C times each row's weight. Class `positive` is
    set against class `negative`, or against all others where that is -1.
    """

    kind = "kernel-gap"

    violation: float = math.nan
    bias: float
    multipliers: np.ndarray
    positive: int = 1
    negative: int = -1
    curved: bool = False  # whether the solver met negative curvature

    @property
    def is_convex(self) -> bool:
        """Whether the kernel is positive, or was not seen to be otherwise."""
        return super().is_convex and bool(self.kernel.is_positive or not self.curved)

    @property
    def holds(self) -> bool:
        """Whether there is a claim at all: both bounds, or a stationary point."""
        return math.isfinite(self.gap if self.is_convex else self.violation)

    @property
    def _may_be_hard(self) -> bool:
        return True

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove the claim again from the data; other data are refused."""
        return _check_all((self,), X, y)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        K, positive, negative = len(self.classes), self.positive, self.negative
        named = 0 <= positive < K and -1 <= negative < K and positive != negative
        require(
            named and (K > 2 or (positive, negative) in ((1, -1), (1, 0))),
            "positive and negative must number two classes, of two the second being positive",
        )
        require(
            are_floats(self.multipliers) and self.multipliers.shape == (self.n_rows,),
            "there must be a multiplier for each row",
        )
        require(isinstance(self.bias, float) and math.isfinite(self.bias), "bias must be finite")

    def _found(self, scores: Scores, signs: np.ndarray, wide: float) -> Iterator[Found]:
        """Enclose both objectives from one column of scores, without the bias."""
        mine = slice(None) if signs.all() else np.flatnonzero(signs)
        y, c, a, g = signs[mine], self.costs[mine], self.multipliers[mine], scores.enclosed(wide)
        g = g[:, 0][mine]
        start = start_of("hinge", c)
        half, total = square_of(y * a, g).halved(), Enclosure.exact(a).sum()
        # start - y (g + b): the slack, or a margin with its sign turned.
        short = (g + self.bias - start * y).times_sign(-y)
        if start:
            primal, dual = half + losses("hinge", short, c), total - half
        else:  # no cost limits a: the best multiple of it bounds as well
            primal = hard_margin(half, most(short[c > 0.0]))
            dual = (total / half * total).halved().halved()
        is_all = np.count_nonzero(self.multipliers) == np.count_nonzero(a)
        if not (is_all and is_feasible("hinge", c, a) and is_balanced(y * a)):
            dual = NOTHING

        def shown() -> dict[str, Any]:
            with np.errstate(over="ignore", invalid="ignore"):
                margins = signs * (scores.values[:, 0] + self.bias)
            return {"violation": _most_out_of_order(y, c, a, g), "margins": margins}

        yield Found(primal, dual, shown)

    def _is_proved(self, scores: Scores, signs: np.ndarray, smallest: float) -> bool:
        """Whether the claim is found again: both bounds, or a feasible point that is stationary."""
        found = next(self._found(scores, signs, 1.0))
        return (
            self.holds
            and found.is_feasible
            and not self.costs[signs == 0.0].any()
            and self._is_of_spectrum(smallest)
            and (self._is_within(found) or not self.is_convex)
            and bool(found.shown()["violation"] <= self.violation)
        )

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.is_convex:
            return (
                "the kernel is not positive, so only this is proved: no pair of multipliers is out "
                f"of order by more than {self.violation:.2g}; better machines may exist"
            )
        return self._in_words("machine with this kernel lowers")


@dataclass(frozen=True, eq=False)
class KernelGaps(EachMachine):
    """One certificate a machine, where there are several classes."""

    _what: ClassVar[str] = "machine with this kernel"

    def check(self, X: Any, y: Any) -> bool:
        """Prove every machine's claim again."""
        k = len(np.unique(np.asarray(y)))
        pairs = [(machine.positive, machine.negative) for machine in self.machines]
        rest = [(i, -1) for i in range(k)]
        each = [(j, i) for i in range(k) for j in range(i + 1, k)]
        return pairs in (rest, each) and _check_all(self.machines, X, y)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        bent = [machine for machine in self.machines if not machine.is_convex]
        return str(bent[0]) if bent else super().__str__()


def _check_all(machines: tuple[KernelGap, ...], X: Any, y: Any) -> bool:
    """Prove machines of one kernel again, with one pass over its values."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    X, K, first = as_matrix(X), len(classes), machines[0]
    if any((m.kernel, m.data_sha256) != (first.kernel, first.data_sha256) for m in machines):
        return False
    name = sha256(data_of(X, codes, K, True))
    if not all(machine._is_about(X.shape, K, lambda: name) for machine in machines):
        return False
    signs = [signs_of(codes, machine.positive, machine.negative) for machine in machines]
    shares = np.column_stack([s * m.multipliers for s, m in zip(signs, machines, strict=True)])
    rows = KernelRowsInProof(first.kernel, X)
    together = kernel_scores(rows, shares)

    def is_proved(k: int, scores: Scores) -> bool:
        smallest = least_eigenvalue(rows, machines[k].multipliers)
        return machines[k]._is_proved(scores, signs[k], smallest)

    # One bound on rounding serves all models at once; alone, each has a tighter one.
    return all(
        is_proved(k, together.of(k))
        or (len(machines) > 1 and is_proved(k, kernel_scores(rows, shares[:, [k]])))
        for k in range(len(machines))
    )


def signs_of(codes: np.ndarray, positive: int, negative: int) -> np.ndarray:
    """Return +1 for the positive class, -1 for the negative one (-1: every other), else 0."""
    if negative < 0:
        return np.where(codes == positive, 1.0, -1.0)
    return np.where(codes == positive, 1.0, np.where(codes == negative, -1.0, 0.0))


def _most_out_of_order(
    signs: np.ndarray, costs: np.ndarray, alpha: np.ndarray, scores: Enclosure
) -> float:
    """Return by how much a row that may fall stands above one that may grow, at the most."""
    if not np.isfinite(alpha).all():
        return math.inf
    above, below = alpha > 0.0, alpha < costs
    grows = np.where(signs > 0.0, below, above)
    falls = np.where(signs > 0.0, above, below)
    if not (grows.any() and falls.any()):
        return 0.0
    away = scores - signs
    apart = Enclosure.exact(away.high[falls].max()) - away.low[grows].min()
    return max(0.0, float(apart.high))
