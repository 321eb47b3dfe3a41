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
import scipy.sparse as sp

from separatrix.certificates.canonical import sha256
from separatrix.certificates.class_pass import ClassPass, class_pass
from separatrix.certificates.data_pass import LEAST, UNIT
from separatrix.certificates.duality_gap import Violation, data_of
from separatrix.certificates.objective_bounds import sum_error, sum_from_above
from separatrix.certificates.separation import certificate_json
from separatrix.problem.signed import as_matrix

__all__ = ["MulticlassGap", "check_multiclass_gap"]

# Claims are stated this much wider than found, so that another machine's rounding finds them true.
_SLACK = 1e-12
_VISIBLE = 1e-6
_FEW_ENTRIES = 1 << 18


@dataclass(frozen=True, eq=False)
class MulticlassGap:
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
    def gap(self) -> float:
        """(primal - dual) / primal, rounded up: no better point is further below than this."""
        if self.primal == 0.0:
            return 0.0
        if not (math.isfinite(self.primal) and math.isfinite(self.dual)):
            return math.inf
        return max(0.0, math.nextafter((self.primal - self.dual) / self.primal, math.inf))

    @property
    def margins(self) -> np.ndarray:
        """By how much each row's own class beats the others, at least; 1 stands for all above."""
        return 1.0 - self.slack

    @property
    def holds(self) -> bool:
        """Whether both bounds are there at all."""
        return math.isfinite(self.gap)

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        X = as_matrix(X)
        if not self._fits(X, len(classes)):
            return False
        if sha256(data_of(X, codes, len(classes), self.intercept)) != self.data_sha256:
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
        )
        return self.holds and again.primal <= self.primal and again.dual >= self.dual

    def _fits(self, X: Any, n_classes: int) -> bool:
        """Whether the claim is one that can be made of such data."""
        n, d = X.shape
        return (
            n_classes == len(self.classes)
            and n_classes >= 2
            and (n, d) == (self.n_rows, self.n_features)
            and self.costs.shape == (n,)
            and self.weights.shape == (n_classes, d + 1)
            and self.rows.shape == self.rivals.shape == self.multipliers.shape
            and bool((self.costs >= 0.0).all() and np.isfinite(self.costs).all())
            and 0.0 <= self.bias_penalty < math.inf
        )

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        same = bool((self.costs == self.costs[0]).all())
        costs = self.costs[:1] if same else self.costs
        claim = {
            "costs": [value.hex() for value in costs.tolist()],
            "bias_penalty": float(self.bias_penalty).hex(),
            "weights": [[value.hex() for value in row] for row in self.weights.tolist()],
            "rows": self.rows.tolist(),
            "rivals": self.rivals.tolist(),
            "multipliers": [value.hex() for value in self.multipliers.tolist()],
            "primal": float(self.primal).hex(),
            "dual": float(self.dual).hex(),
        }
        return certificate_json("multiclass-gap", self, claim)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.holds:
            return "not proved: one of the two bounds is not finite"
        return (
            f"proved: no {len(self.classes)} weight vectors lower the objective, "
            f"{self.primal:.9g}, by more than {self.gap:.2g} of it (the least is at least "
            f"{self.dual:.9g})"
        )


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
    slack: float = _SLACK,
    wanted: float = 0.0,
) -> MulticlassGap:
    """Compute both bounds from the data, rounding outwards.

    Large sparse data are bounded by the lengths of rows first, and entry by entry if the gap is
    then above the one `wanted`.
    """
    W = np.ascontiguousarray(weights[:, 1:].T, dtype=np.float64)
    bias = np.array(weights[:, 0]) if intercept else np.zeros(len(weights))
    penalty = bias_penalty if intercept else None
    feasible = _is_feasible(codes, costs, rows, rivals, multipliers, len(weights))
    named = (rows, rivals, multipliers) if feasible else _none()
    shares, balance = _shares(codes, *named, len(weights))
    if penalty == 0.0 and any(balance):
        feasible = False
    small = getattr(X, "nnz", 0) <= _FEW_ENTRIES
    for by_column in (True,) if small else (False, True):
        # Whoever checks the claim may add up in another order, whose rounding it allows for.
        seen = class_pass(X, codes, W, bias, shares, by_column, 3.0 if slack else 1.0)
        primal = _primal_from_above(seen, costs, W, bias, penalty or 0.0)
        dual = _dual_from_below(seen, named[2], balance, penalty) if feasible else -math.inf
        if primal - dual <= (wanted - 2.0 * slack) * primal:
            break
    if math.isfinite(primal):
        primal, dual = primal * (1.0 + slack), dual - slack * primal
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
        slack=seen.short,
    )


def _none() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)


def _is_feasible(
    codes: np.ndarray,
    costs: np.ndarray,
    rows: np.ndarray,
    rivals: np.ndarray,
    multipliers: np.ndarray,
    n_classes: int,
) -> bool:
    """Whether every multiplier is one of a row and another class, and no row's exceed its cost."""
    if not (np.isfinite(multipliers).all() and (multipliers >= 0.0).all()):
        return False
    if len(rows) == 0:
        return True
    if not (rows.min() >= 0 and rows.max() < len(codes)):
        return False
    if not (rivals.min() >= 0 and rivals.max() < n_classes) or (codes[rows] == rivals).any():
        return False
    totals = np.bincount(rows, multipliers, minlength=len(codes))
    # Sums of at most n_classes numbers: what rounding leaves open is summed exactly.
    counts = np.bincount(rows, minlength=len(codes))
    if counts.max() >= n_classes:
        return False
    clear = totals * (1.0 + 2.0 * UNIT * (counts + 1.0)) <= costs
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(counts)
    values = multipliers[order]
    for row in np.flatnonzero(~clear & (counts > 0)):
        named = values[ends[row] - counts[row] : ends[row]]
        if math.fsum([*named.tolist(), -float(costs[row])]) > 0.0:
            return False
    return True


def _shares(
    codes: np.ndarray, rows: np.ndarray, rivals: np.ndarray, multipliers: np.ndarray, n_classes: int
) -> tuple[Any, list[float]]:
    """Return a_ik as a sparse matrix, and every r_k: the exact sum, rounded once."""
    places = np.concatenate([rows, rows]), np.concatenate([codes[rows], rivals])
    values = np.concatenate([multipliers, -multipliers])
    shares = sp.csr_array(sp.coo_array((values, places), shape=(len(codes), n_classes)))
    order = np.argsort(places[1], kind="stable")
    cuts = np.searchsorted(places[1][order], np.arange(1, n_classes))
    return shares, [math.fsum(part.tolist()) for part in np.split(values[order], cuts)]


def _primal_from_above(
    seen: ClassPass, costs: np.ndarray, W: np.ndarray, bias: np.ndarray, penalty: float
) -> float:
    used = costs > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.append((W * W).ravel(), penalty * bias * bias * (1.0 + 2.0 * UNIT))
        terms = costs[used] * seen.short[used]
        if not (np.isfinite(terms).all() and np.isfinite(squares).all()):
            return math.inf
        norm = 0.5 * sum_from_above(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST
        total = sum_from_above(terms) * (1.0 + 2.0 * UNIT) + len(terms) * LEAST
    return (norm + total) * (1.0 + 2.0 * UNIT)


def _dual_from_below(
    seen: ClassPass, multipliers: np.ndarray, balance: list[float], penalty: float | None
) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        outer = (abs(seen.totals) + seen.errors).ravel()
        squares = outer * outer
        if penalty:
            sizes = abs(np.array(balance)) * (1.0 + 2.0 * UNIT)
            squares = np.append(squares, sizes / penalty * sizes * (1.0 + 8.0 * UNIT) + LEAST)
        if not (np.isfinite(squares).all() and math.isfinite(seen.spread)):
            return -math.inf
        spent = 0.5 * sum_from_above(squares) * (1.0 + 8.0 * UNIT) + len(squares) * LEAST
        # The length of u is at most its computed length and the length of its error.
        spent += seen.spread * (math.sqrt(2.0 * spent) + seen.spread) * (1.0 + 8.0 * UNIT)
        gain = sum_from_above(multipliers) - sum_error(multipliers)
    value = gain - spent
    return value - 2.0 * UNIT * abs(value) - LEAST if math.isfinite(value) else -math.inf


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
        away = float(np.linalg.norm(W - seen.totals)) / length if length > 0.0 else 0.0
    found = []
    for kind, misses in (
        ("multiplier for a class that is not the nearest", named),
        ("multipliers below the cost, yet a margin below 1", short),
    ):
        largest = float(misses.max(initial=0.0))
        found.append(Violation(kind, int((misses > _VISIBLE).sum()), largest))
    found.append(Violation("weights that are not the sum of rows", int(away > _VISIBLE), away))
    return found
