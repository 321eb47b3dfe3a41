"""How far a multinomial machine is from the best there is, proved from the data alone.

The objective at (w, b) bounds the optimum from above, and the dual objective at any probabilities
that fit bounds it from below (weak duality):

    primal   1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2 + sum_i c_i (log sum_k exp z_ik - z_iy),
             z_ik = w_k.x_i + b_k
    dual     sum_i c_i H(q_i) - 1/2 sum_k |u_k|^2 - 1/(2p) sum_k r_k^2
    with     a_ik = c_i (1[k = y_i] - q_ik),   u_k = sum_i a_ik x_i,   r_k = sum_i a_ik,

q_i being probabilities of the classes and H their entropy. Where the biases are free (p = 0) every
r_k must be 0. Nothing but the weights is needed to make such a q: softmax of the scores gives one,
and what its sums lack of r = 0 a small share t of one and the same distribution for all rows mends:

    q'_i = (1 - t) q_i + t v,   t v_k sum_i c_i = t N_k + (1 - t) r_k >= 0,   N_k = sum of c_i in k

Entropy is concave, so H(q'_i) >= (1 - t) H(q_i), and u'_k = (1 - t) u_k + t (sum of class k) -
t v_k (sum of all). So the certificate of a million rows and a thousand classes is the model itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.canonical import sha256
from separatrix.certificates.data_pass import LEAST, UNIT, gamma
from separatrix.certificates.duality_gap import data_of
from separatrix.certificates.objective_bounds import sum_error, sum_from_above
from separatrix.certificates.separation import certificate_json
from separatrix.certificates.softmax_pass import SoftmaxPass, softmax_pass
from separatrix.problem.signed import as_matrix

__all__ = ["SoftmaxGap", "check_softmax_gap"]

# Claims are stated this much wider than found, so that another machine's rounding finds them true.
_SLACK = 1e-12
_FEW = 1 << 24


@dataclass(frozen=True, eq=False)
class SoftmaxGap:
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `weights` has one row [b, w_1 ... w_d] a class; `costs` are C times each row's weight.
    """

    primal: float
    dual: float
    weights: np.ndarray
    costs: np.ndarray
    intercept: bool
    bias_penalty: float
    data_sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]

    @property
    def gap(self) -> float:
        """(primal - dual) / primal, rounded up: no better point is further below than this."""
        if self.primal == 0.0:
            return 0.0
        if not (math.isfinite(self.primal) and math.isfinite(self.dual)):
            return math.inf
        return max(0.0, math.nextafter((self.primal - self.dual) / self.primal, math.inf))

    @property
    def holds(self) -> bool:
        """Whether both bounds are there at all."""
        return math.isfinite(self.gap)

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        classes, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
        X = as_matrix(on_host(X))
        if not self._fits(X, len(classes)):
            return False
        if not self._is_about(lambda: sha256(data_of(X, codes, len(classes), self.intercept))):
            return False
        again = check_softmax_gap(
            X=X,
            codes=codes,
            costs=self.costs,
            weights=self.weights,
            intercept=self.intercept,
            bias_penalty=self.bias_penalty,
            slack=0.0,
            wanted=self.gap,
        )
        return self.holds and again.primal <= self.primal and again.dual >= self.dual

    def _is_about(self, fingerprint: Callable[[], str]) -> bool:
        """Whether data of this fingerprint are those the claim was made of."""
        return fingerprint() == self.data_sha256

    def _fits(self, X: Any, n_classes: int) -> bool:
        """Whether the claim is one that can be made of such data."""
        n, d = X.shape
        return (
            n_classes == len(self.classes)
            and n_classes >= 2
            and (n, d) == (self.n_rows, self.n_features)
            and self.costs.shape == (n,)
            and self.weights.shape == (n_classes, d + 1)
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
            "primal": float(self.primal).hex(),
            "dual": float(self.dual).hex(),
        }
        return certificate_json("softmax-gap", self, claim)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.holds:
            return "not proved: one of the two bounds is not finite"
        return (
            f"proved: no {len(self.classes)} weight vectors lower the objective, "
            f"{self.primal:.9g}, by more than {self.gap:.2g} of it (the least is at least "
            f"{self.dual:.9g})"
        )


def check_softmax_gap(
    *,
    X: Any,
    codes: np.ndarray,
    costs: np.ndarray,
    weights: np.ndarray,
    intercept: bool = True,
    bias_penalty: float = 0.0,
    data_sha256: str = "",
    classes: tuple[str, ...] = (),
    slack: float = _SLACK,
    wanted: float = 0.0,
) -> SoftmaxGap:
    """Compute both bounds from the data, rounding outwards.

    Large data are bounded by the lengths of rows first, and entry by entry if the gap is then above
    the one `wanted`.
    """
    W = np.ascontiguousarray(weights[:, 1:].T, dtype=np.float64)
    bias = np.array(weights[:, 0], dtype=np.float64) if intercept else np.zeros(len(weights))
    free = intercept and bias_penalty == 0.0
    wide = 3.0 if slack else 1.0  # whoever checks may add up in another order
    small = X.shape[0] * X.shape[1] * len(weights) <= _FEW
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        for by_column in (True,) if small else (False, True):
            seen = softmax_pass(X, codes, costs, W, bias, free, by_column)
            primal = _primal_from_above(seen, costs, W, bias, bias_penalty if intercept else 0.0)
            if free:
                dual = _mended_dual(seen, codes, costs, wide)
            else:
                dual = _plain_dual(seen, costs, bias_penalty if intercept else None, wide)
            if primal - dual <= (wanted - 2.0 * slack) * primal:
                break
    if math.isfinite(primal):
        primal, dual = primal * (1.0 + slack), dual - slack * primal
    return SoftmaxGap(
        primal=primal,
        dual=dual,
        weights=np.asarray(weights),
        costs=costs,
        intercept=intercept,
        bias_penalty=bias_penalty,
        data_sha256=data_sha256,
        n_rows=X.shape[0],
        n_features=X.shape[1],
        classes=classes or tuple(str(k) for k in range(len(weights))),
    )


def _primal_from_above(
    seen: SoftmaxPass, costs: np.ndarray, W: np.ndarray, bias: np.ndarray, penalty: float
) -> float:
    used = costs > 0.0
    squares = np.append((W * W).ravel(), penalty * bias * bias * (1.0 + 2.0 * UNIT))
    terms = costs[used] * seen.losses[used]
    if not (np.isfinite(terms).all() and np.isfinite(squares).all()):
        return math.inf
    norm = 0.5 * sum_from_above(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST
    total = sum_from_above(terms) * (1.0 + 2.0 * UNIT) + len(terms) * LEAST
    return (norm + total) * (1.0 + 2.0 * UNIT)


def _gain(seen: SoftmaxPass, costs: np.ndarray) -> float:
    """Return sum_i c_i H(q_i), from below."""
    terms = costs * seen.entropies
    if not np.isfinite(terms).all():
        return -math.inf
    terms = np.maximum(terms, 0.0)
    return sum_from_above(terms) - 2.0 * sum_error(terms)


def _half_square(sizes: np.ndarray, spread: float) -> float:
    """Return half the squared length of a vector of such sizes and an error so long, from above."""
    squares = sizes * sizes
    if not (np.isfinite(squares).all() and math.isfinite(spread)):
        return math.inf
    half = 0.5 * sum_from_above(squares.ravel()) * (1.0 + 8.0 * UNIT) + squares.size * LEAST
    return half + spread * (math.sqrt(2.0 * half) + spread) * (1.0 + 8.0 * UNIT)


def _plain_dual(seen: SoftmaxPass, costs: np.ndarray, penalty: float | None, wide: float) -> float:
    """Return the dual objective of softmax itself, from below: no bias, or one that costs."""
    spent = _half_square(abs(seen.pulls) + wide * seen.errors, wide * seen.spread)
    if penalty:
        sizes = abs(seen.excess) + wide * seen.excess_errors
        squares = sizes / penalty * sizes * (1.0 + 8.0 * UNIT)
        spent += 0.5 * sum_from_above(squares) + len(squares) * LEAST
    return _below(_gain(seen, costs) - spent)


def _mended_dual(seen: SoftmaxPass, codes: np.ndarray, costs: np.ndarray, wide: float) -> float:
    """Return the dual objective of softmax with its sums mended, from below."""
    K, n = len(seen.excess), len(codes)
    masses = np.bincount(codes, costs, minlength=K)
    loose = gamma(n + 4.0)
    mass = float(masses.sum())
    low = seen.excess - wide * seen.excess_errors
    lacking = np.maximum(-low, 0.0)
    if not (np.isfinite(lacking).all() and (masses > 0.0).all()):
        return -math.inf
    share = float((lacking / (masses * (1.0 - 2.0 * loose) + lacking)).max(initial=0.0))
    share = min(1.0, share * (1.0 + 16.0 * UNIT) + LEAST)
    # t v_k, and how far it may be off: r_k and N_k are known to an error each.
    mix = (share * masses + (1.0 - share) * seen.excess) / mass
    mix_errors = 1.01 * (2.0 * loose * share * masses + wide * seen.excess_errors) / mass
    mix_errors += 16.0 * UNIT * abs(mix)
    total = (1.0 - share) * seen.pulls + share * seen.members.T - np.outer(seen.all_rows, mix)
    reach = seen.reach * (1.0 + loose)
    # Sums of rows are known to a share of their reach, which the small t and t v bring down.
    rough = gamma(n + 8.0) * reach * (math.sqrt(K) * share + float(np.linalg.norm(mix)))
    rough += float(np.linalg.norm(seen.all_rows)) * float(np.linalg.norm(mix_errors))
    rough += gamma(n + 8.0) * reach * float(np.linalg.norm(mix_errors))
    rough += 8.0 * UNIT * float(np.linalg.norm(seen.pulls))
    spent = _half_square(abs(total) + wide * seen.errors, wide * (seen.spread + 1.01 * rough))
    return _below((1.0 - share) * (1.0 - 4.0 * UNIT) * _gain(seen, costs) - spent)


def _below(value: float) -> float:
    return value - 2.0 * UNIT * abs(value) - LEAST if math.isfinite(value) else -math.inf
