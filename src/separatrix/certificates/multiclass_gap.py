"""How far the direct machine of many classes is from the best there is, proved from the data alone.

The objective at (w, b) bounds the optimum from above, and the dual objective at any feasible
multipliers from below (weak duality):

    primal   1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2
             + sum_i c_i max_k (1[k != y_i] + (w_k.x_i + b_k) - (w_y.x_i + b_y))
    dual     sum of all multipliers - 1/2 sum_k |u_k|^2 - 1/(2p) sum_k r_k^2

A multiplier m_ik >= 0 of row i and a class k that is not its own moves x_i from w_k to the row's
own w_y: u_k and r_k sum +x_i and +1 over the multipliers of the rows of class k, and -x_i and -1
over those named k. No row's multipliers exceed c_i together, and where the biases are free (p = 0)
every r_k is zero, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from separatrix.certificates.class_multipliers import (
    Named,
    NamedMultipliers,
    are_feasible,
    balances,
    sparse_shares,
)
from separatrix.certificates.duality_gap import Violation, off_the_sum, visible
from separatrix.certificates.enclosed_sums import sums_both_ways
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.objective_bounds import NOTHING, half_square, penalty_of_biases
from separatrix.certificates.two_bounds import Found
from separatrix.certificates.weights_by_class import WeightsByClass, shortfalls

__all__ = ["ClassPass", "MulticlassGap", "class_pass"]


@dataclass(frozen=True, eq=False)
class ClassPass:
    """By how much each row falls short, and the totals."""

    short: Enclosure  # max_k (1[k != y] + score_k - score_y), n
    slopes: np.ndarray  # 1[k != y] + score_k, n x K, about: no claim rests on them
    totals: Enclosure  # d x K


def class_pass(
    X: Any,
    codes: np.ndarray,
    W: np.ndarray,
    bias: np.ndarray,
    shares: Any,
    way: str = "plain",
    wide: float = 1.0,
) -> ClassPass:
    """Enclose what W (d x K), the biases and the shares a (n x K, sparse) come to on the data.

    A share in a row's own class is a sum of up to K multipliers, and rounded as often.
    """
    scores, totals = sums_both_ways(X, W, (), shares, way, wide, rounded=W.shape[1])
    scores = scores + bias
    slopes = scores.middle + 1.0
    slopes[np.arange(len(codes)), codes] -= 1.0
    return ClassPass(shortfalls(scores, codes), slopes, totals)


@dataclass(frozen=True, eq=False, kw_only=True)
class MulticlassGap(NamedMultipliers, WeightsByClass):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `weights` has one row [b, w_1 ... w_d] a class. Multiplier t belongs to row ``rows[t]`` and the
    class number ``rivals[t]``; all others are zero. `costs` are C times each row's weight.
    """

    kind = "multiclass-gap"

    violations: tuple[Violation, ...] = ()
    slack: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def margins(self) -> np.ndarray:
        """By how much each row's own class beats the others, at least; 1 stands for all above."""
        return 1.0 - self.slack

    def _found(self, X: Any, codes: np.ndarray, wide: float) -> Iterator[Found]:
        """One bound serves all classes first; then each has its own."""
        K, named = len(self.weights), self._named
        feasible = are_feasible(named, codes, self.costs, K)
        named = named if feasible else Named.none()
        shares, balance = sparse_shares(named, codes, K), balances(named, codes, K)
        feasible = feasible and not (self._penalty == 0.0 and any(balance))
        spent = Enclosure.exact(0.0)
        if self._penalty:  # each balance is an exact sum rounded once
            spent = penalty_of_biases(Enclosure.around(np.array(balance), 0.0), self._penalty)
        gain = Enclosure.exact(named.multipliers).sum()
        for way in ("plain", "each"):
            enclosed = class_pass(X, codes, self._W, self._biases, shares, way, wide)
            dual = gain - half_square(enclosed.totals) - spent if feasible else NOTHING
            yield Found(
                self._primal(enclosed.short), dual, partial(self._shown, enclosed, codes, named)
            )

    def _shown(self, enclosed: ClassPass, codes: np.ndarray, named: Named) -> dict[str, Any]:
        found = _violations(self, enclosed, codes, named)
        return {"violations": found, "slack": np.maximum(enclosed.short.high, 0.0)}


def _violations(
    claim: MulticlassGap, enclosed: ClassPass, codes: np.ndarray, named: Named
) -> tuple[Violation, ...]:
    """List how far the points are from the conditions that hold at the optimum."""
    rows, rivals, multipliers = named
    with np.errstate(over="ignore", invalid="ignore"):
        highest = enclosed.slopes.max(axis=1, initial=-math.inf)
        farther = (highest[rows] - enclosed.slopes[rows, rivals])[multipliers > 0.0]
        spent = np.bincount(rows, multipliers, minlength=len(codes))
        left = claim.costs - spent > 1e-12 * claim.costs
        short = (highest - enclosed.slopes[np.arange(len(codes)), codes])[left]
        return (
            visible("multiplier for a class that is not the nearest", farther),
            visible("multipliers below the cost, yet a margin below 1", short),
            off_the_sum(claim._W, 1.0, enclosed.totals.middle),
        )
