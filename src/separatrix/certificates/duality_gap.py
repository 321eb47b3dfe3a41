"""How far a machine is from the best there is, proved from the data alone.

The objective at (w, b) bounds the optimum from above, the dual objective at any feasible alpha
bounds it from below (weak duality). Both are computed here with their rounding bounded, so the
optimum lies between `dual` and `primal`, whoever proposed the points and however.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.canonical import Problem, sha256
from separatrix.certificates.data_pass import Pass, one_pass
from separatrix.certificates.enclosed_sums import ways_for
from separatrix.certificates.objective_bounds import (
    box_around,
    dual_objective,
    primal_objective,
    start_of,
)
from separatrix.certificates.separation import certificate_json
from separatrix.certificates.two_bounds import (
    SLACK,
    WIDE,
    EachMachine,
    TwoBounds,
    are_floats,
    costs_agree,
    costs_in_json,
    hexadecimal,
    is_enough,
    stated,
)
from separatrix.problem.device_rows import on_device
from separatrix.problem.multiclass import KeslerProblem
from separatrix.problem.signed import SignedProblem, as_matrix

__all__ = ["LOSSES", "DualityGap", "DualityGaps", "Violation", "check_duality_gap"]

_VISIBLE = 1e-6
LOSSES = ("hinge", "squared_hinge", "logistic")
# A multiplier this close to its cost is at its cost: the exact balance moved it by rounding.
_AT_COST = 1.0 - 1e-12
# So few entries on a device are proved by the processor, as any others are.
_FEW_THERE = 1 << 21
# Without a penalty nothing keeps w small: how many times larger than found it may be.
_REACH = 1e3


@dataclass(frozen=True)
class Violation:
    """One kind of optimality condition: how many rows miss it visibly, and the most any does."""

    kind: str
    rows: int
    largest: float


@dataclass(frozen=True, eq=False)
class DualityGap(TwoBounds):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `weights` are [b, w_1 ... w_d], `multipliers` the dual point, `costs` C times each row's weight.
    `ridge` is 1, or 0 where |w|^2 is not charged for (maximum likelihood); then `dual` bounds all w
    whose coefficients are up to 1000 times those found, or 1000 over the column's mean size.
    Where there are more than two classes, class number `positive` is set against all others.
    """

    primal: float
    dual: float
    loss: str
    weights: np.ndarray
    multipliers: np.ndarray
    costs: np.ndarray
    intercept: bool
    bias_penalty: float
    ridge: float
    positive: int
    data_sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]
    violations: tuple[Violation, ...] = ()
    margins: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        if hasattr(X, "stored"):
            from separatrix.certificates.blockwise_gap import check_again

            return check_again(self, X)
        classes, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
        X = as_matrix(X)
        if not self._fits(X, len(classes)):
            return False
        if not self._is_about(lambda: sha256(data_of(X, codes, len(classes), self.intercept))):
            return False
        signs = np.where(codes == self.positive, 1.0, -1.0)
        again = check_duality_gap(
            X=X,
            signs=signs,
            costs=self.costs,
            loss=self.loss,
            weights=self.weights,
            alpha=self.multipliers,
            intercept=self.intercept,
            bias_penalty=self.bias_penalty,
            ridge=self.ridge,
            slack=0.0,
            claimed=self,
        )
        return self._is_found_again(again)

    def _fits(self, X: Any, n_classes: int) -> bool:
        """Whether the claim is one that can be made of such data."""
        n, d = X.shape
        return (
            are_floats(self.weights, self.multipliers, self.costs)
            and n_classes == len(self.classes)
            and n_classes >= 2
            and (self.positive == 1 if n_classes == 2 else 0 <= self.positive < n_classes)
            and (n, d) == (self.n_rows, self.n_features)
            and self.multipliers.shape == self.costs.shape == (n,)
            and self.weights.shape == (d + 1,)
            and bool((self.costs >= 0.0).all() and (self.costs > 0.0).any())
            and costs_agree(self.costs)
            and (self.loss != "logistic" or bool(np.isfinite(self.costs).all()))
            and self.loss in LOSSES
            and self.ridge in (0.0, 1.0)
            and 0.0 <= self.bias_penalty < math.inf
        )

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        rows = np.flatnonzero(self.multipliers)
        claim = {
            "loss": self.loss,
            "positive": self.positive,
            "costs": costs_in_json(self.costs),
            "bias_penalty": float(self.bias_penalty).hex(),
            "ridge": float(self.ridge).hex(),
            "weights": [value.hex() for value in self.weights.tolist()],
            "rows": rows.tolist(),
            "multipliers": [value.hex() for value in self.multipliers[rows].tolist()],
            "primal": hexadecimal(self.primal),
            "dual": hexadecimal(self.dual),
        }
        return certificate_json("duality-gap", self, claim)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.holds:
            return "not proved: one of the two bounds is not finite"
        which = "hyperplane" if self.ridge else f"hyperplane up to {_REACH:.0f} times as steep"
        return (
            f"proved: no {which} lowers the objective, {self.primal:.9g}, by more than "
            f"{self.gap:.2g} of it (the least is at least {self.dual:.9g})"
        )


@dataclass(frozen=True, eq=False)
class DualityGaps(EachMachine):
    """One certificate a machine, where each class is set against all others."""

    machines: tuple[DualityGap, ...]

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove every machine's bounds again."""
        classes = X.classes if hasattr(X, "stored") else np.unique(np.asarray(on_host(y)))
        n_classes = len(classes)
        numbers = [machine.positive for machine in self.machines]
        return numbers == list(range(n_classes)) and all(
            machine.check(X, y) for machine in self.machines
        )

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        return (
            f"proved: no hyperplane lowers the objective of any of the {len(self.machines)} "
            f"machines by more than {self.gap:.2g} of it"
        )


def data_of(X: Any, codes: np.ndarray, n_classes: int, intercept: bool) -> Problem:
    """Return the data a certificate speaks of, for its fingerprint."""
    if n_classes > 2:
        return KeslerProblem(X, codes, n_classes, intercept)
    return SignedProblem(X, np.where(codes == 1, 1.0, -1.0), intercept)


def check_duality_gap(
    *,
    X: Any,
    signs: np.ndarray,
    costs: np.ndarray,
    loss: str,
    weights: np.ndarray,
    alpha: np.ndarray,
    intercept: bool = True,
    bias_penalty: float = 0.0,
    ridge: float = 1.0,
    positive: int = 1,
    data_sha256: str = "",
    classes: tuple[str, ...] = ("0", "1"),
    slack: float = SLACK,
    wanted: float = 0.0,
    claimed: DualityGap | None = None,
) -> DualityGap:
    """Enclose both objectives from the data.

    The ways to sum are tried from the cheapest on, until the gap is the one `wanted`, or bounds
    `claimed` are found again or refuted.
    """
    if on_device(X) and X.size <= _FEW_THERE:
        X = as_matrix(X.to_host())
    w, bias = np.asarray(weights[1:]), float(weights[0]) if intercept else 0.0
    penalty = bias_penalty if intercept else None
    box = None if ridge else box_around(X, w, alpha, _REACH)
    start, wide = start_of(loss, costs), WIDE if slack else 1.0
    entries = X.shape[0] * X.shape[1] if not hasattr(X, "nnz") else X.nnz
    ways = ways_for(entries) if not on_device(X) else ("plain",)
    for way in ways:
        seen = one_pass(X, signs, w, bias, alpha, start, way, wide)
        above = primal_objective(seen, costs, loss, w, bias, penalty or 0.0, ridge)
        below = dual_objective(seen, costs, loss, signs, alpha, penalty, box)
        if claimed is not None and claimed._needs_no_more(above, below):
            break
        if claimed is None and is_enough(above, below, wanted, slack, "exact" in ways):
            break
    primal, dual = stated(above, below, slack)
    return DualityGap(
        primal=primal,
        dual=dual,
        loss=loss,
        weights=np.asarray(weights),
        multipliers=alpha,
        costs=costs,
        intercept=intercept,
        bias_penalty=bias_penalty,
        ridge=ridge,
        positive=positive,
        data_sha256=data_sha256,
        n_rows=X.shape[0],
        n_features=X.shape[1],
        classes=classes,
        violations=tuple(_violations(seen, costs, loss, w, alpha, ridge)),
        margins=seen.margins,
    )


def _violations(
    seen: Pass, costs: np.ndarray, loss: str, w: np.ndarray, alpha: np.ndarray, ridge: float
) -> list[Violation]:
    """List how far the points are from the conditions that hold at the optimum."""
    used = costs > 0.0
    a, c, m = alpha[used], costs[used], seen.margins[used]
    found: list[Violation] = []

    def add(kind: str, misses: np.ndarray) -> None:
        largest = float(misses.max(initial=0.0))
        found.append(Violation(kind, int((misses > _VISIBLE).sum()), largest))

    with np.errstate(over="ignore", invalid="ignore"):
        if loss == "hinge" or np.isinf(c).any():
            idle, bound = a == 0.0, a >= _AT_COST * c
            add("no multiplier, yet a margin below 1", (1.0 - m)[idle])
            add("multiplier at its cost, yet a margin above 1", (m - 1.0)[bound])
            add("multiplier between, yet a margin that is not 1", abs(m - 1.0)[~idle & ~bound])
        elif loss == "squared_hinge":
            add("multiplier that is not the loss's slope", abs(a / c - 2.0 * np.maximum(0, 1 - m)))
        else:
            add("multiplier that is not the loss's slope", abs(a / c - 0.5 * (1 - np.tanh(m / 2))))
        length = float(np.linalg.norm(w))
        off = ridge * w - seen.total.middle
        away = float(np.linalg.norm(off)) / length if length > 0.0 else 0.0
    found.append(Violation("weights that are not the sum of rows", int(away > _VISIBLE), away))
    return found
