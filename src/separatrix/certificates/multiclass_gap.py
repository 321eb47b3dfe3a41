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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.canonical import sha256
from separatrix.certificates.class_multipliers import (
    Named,
    are_in_place,
    are_within_costs,
    balances,
    sparse_shares,
)
from separatrix.certificates.class_pass import ClassPass, class_pass
from separatrix.certificates.duality_gap import Violation, data_of
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.objective_bounds import NOTHING, half_square
from separatrix.certificates.separation import certificate_json
from separatrix.certificates.two_bounds import (
    SLACK,
    WIDE,
    are_floats,
    are_places,
    is_enough,
    stated,
)
from separatrix.certificates.weights_by_class import WeightsByClass, penalty_of_biases, primal_of
from separatrix.problem.signed import as_matrix

__all__ = ["MulticlassGap", "check_multiclass_gap"]

_VISIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class MulticlassGap(WeightsByClass):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `weights` has one row [b, w_1 ... w_d] a class. Multiplier t belongs to row ``rows[t]`` and the
    class number ``rivals[t]``; all others are zero. `costs` are C times each row's weight.
    """

    primal: float
    dual: float
    weights: np.ndarray
    rows: np.ndarray
    rivals: np.ndarray
    multipliers: np.ndarray
    costs: np.ndarray
    intercept: bool
    bias_penalty: float
    data_sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]
    violations: tuple[Violation, ...] = ()
    slack: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def margins(self) -> np.ndarray:
        """By how much each row's own class beats the others, at least; 1 stands for all above."""
        return 1.0 - self.slack

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        X = as_matrix(X)
        if not self._fits(X, len(classes)):
            return False
        if not self._is_about(lambda: sha256(data_of(X, codes, len(classes), self.intercept))):
            return False
        again = check_multiclass_gap(
            X=X,
            codes=codes,
            costs=self.costs,
            weights=self.weights,
            rows=self.rows,
            rivals=self.rivals,
            multipliers=self.multipliers,
            intercept=self.intercept,
            bias_penalty=self.bias_penalty,
            slack=0.0,
            claimed=self,
        )
        return self._is_found_again(again)

    def _fits(self, X: Any, n_classes: int) -> bool:
        """Whether the claim is one that can be made of such data."""
        named = self.rows.shape == self.rivals.shape == self.multipliers.shape
        named = named and are_places(self.rows, self.rivals) and are_floats(self.multipliers)
        return named and super()._fits(X, n_classes)

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        dual = {
            "rows": self.rows.tolist(),
            "rivals": self.rivals.tolist(),
            "multipliers": [value.hex() for value in self.multipliers.tolist()],
        }
        return certificate_json("multiclass-gap", self, self._in_json() | dual)


def check_multiclass_gap(
    *,
    X: Any,
    codes: np.ndarray,
    costs: np.ndarray,
    weights: np.ndarray,
    rows: np.ndarray,
    rivals: np.ndarray,
    multipliers: np.ndarray,
    intercept: bool = True,
    bias_penalty: float = 0.0,
    data_sha256: str = "",
    classes: tuple[str, ...] = (),
    slack: float = SLACK,
    wanted: float = 0.0,
    claimed: MulticlassGap | None = None,
) -> MulticlassGap:
    """Enclose both objectives from the data.

    One bound serves all classes first, and each has its own if the gap is then above the one
    `wanted`, or the bounds `claimed` are not found.
    """
    W = np.ascontiguousarray(weights[:, 1:].T, dtype=np.float64)
    bias = np.array(weights[:, 0]) if intercept else np.zeros(len(weights))
    penalty = bias_penalty if intercept else None
    named, K = Named(rows, rivals, multipliers), len(weights)
    feasible = are_in_place(named, codes, K) and are_within_costs(named, costs, K)
    named = named if feasible else Named.none()
    shares, balance = sparse_shares(named, codes, K), balances(named, codes, K)
    if penalty == 0.0 and any(balance):
        feasible = False
    for way in ("plain", "each"):
        seen = class_pass(X, codes, W, bias, shares, way, WIDE if slack else 1.0)
        above = primal_of(seen.short, costs, W, bias, penalty or 0.0)
        below = _dual(seen, named.multipliers, balance, penalty) if feasible else NOTHING
        if claimed is not None and claimed._needs_no_more(above, below):
            break
        if claimed is None and is_enough(above, below, wanted, slack, is_cheap=True):
            break
    primal, dual = stated(above, below, slack)
    return MulticlassGap(
        primal=primal,
        dual=dual,
        weights=np.asarray(weights),
        rows=rows,
        rivals=rivals,
        multipliers=multipliers,
        costs=costs,
        intercept=intercept,
        bias_penalty=bias_penalty,
        data_sha256=data_sha256,
        n_rows=X.shape[0],
        n_features=X.shape[1],
        classes=classes or tuple(str(k) for k in range(len(weights))),
        violations=tuple(_violations(seen, codes, costs, W, *named)),
        slack=np.maximum(seen.short.high, 0.0),
    )


def _dual(
    seen: ClassPass, multipliers: np.ndarray, balance: list[float], penalty: float | None
) -> Enclosure:
    value = Enclosure.exact(multipliers).sum() - half_square(seen.totals)
    if penalty:
        # Each is an exact sum rounded once.
        sums = Enclosure.around(np.array(balance), 0.0)
        value = value - penalty_of_biases(sums, penalty)
    return value


def _violations(
    seen: ClassPass,
    codes: np.ndarray,
    costs: np.ndarray,
    W: np.ndarray,
    rows: np.ndarray,
    rivals: np.ndarray,
    multipliers: np.ndarray,
) -> list[Violation]:
    """List how far the points are from the conditions that hold at the optimum."""
    with np.errstate(over="ignore", invalid="ignore"):
        highest = seen.slopes.max(axis=1, initial=-math.inf)
        used = multipliers > 0.0
        named = (highest[rows] - seen.slopes[rows, rivals])[used]
        left = costs - np.bincount(rows, multipliers, minlength=len(codes)) > 1e-12 * costs
        short = (highest - seen.slopes[np.arange(len(codes)), codes])[left]
        length = float(np.linalg.norm(W))
        away = float(np.linalg.norm(W - seen.totals.middle)) / length if length > 0.0 else 0.0
    found = []
    for kind, misses in (
        ("multiplier for a class that is not the nearest", named),
        ("multipliers below the cost, yet a margin below 1", short),
    ):
        largest = float(misses.max(initial=0.0))
        found.append(Violation(kind, int((misses > _VISIBLE).sum()), largest))
    found.append(Violation("weights that are not the sum of rows", int(away > _VISIBLE), away))
    return found
