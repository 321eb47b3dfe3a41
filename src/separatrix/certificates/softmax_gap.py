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
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.canonical import sha256
from separatrix.certificates.data_pass import LEAST, UNIT, gamma
from separatrix.certificates.duality_gap import data_of
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.separation import certificate_json
from separatrix.certificates.softmax_pass import SoftmaxPass, softmax_pass
from separatrix.certificates.two_bounds import SLACK, stated
from separatrix.certificates.weights_by_class import (
    WeightsByClass,
    below,
    half_square,
    penalty_of_biases,
    primal_above,
    sum_error,
    sum_from_above,
)
from separatrix.problem.signed import as_matrix

__all__ = ["SoftmaxGap", "check_softmax_gap"]

_FEW = 1 << 24


@dataclass(frozen=True, eq=False)
class SoftmaxGap(WeightsByClass):
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

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        classes, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
        X = as_matrix(on_host(X))
        if not self._fits(X, len(classes)):
            return False
        if not self._is_about(lambda: sha256(data_of(X, codes, len(classes), self.intercept))):
            return False
        # By the lengths of rows first, which is cheaper; by columns if that does not find them.
        return any(
            self._is_found_again(
                check_softmax_gap(
                    X=X,
                    codes=codes,
                    costs=self.costs,
                    weights=self.weights,
                    intercept=self.intercept,
                    bias_penalty=self.bias_penalty,
                    slack=0.0,
                    wanted=wanted,
                )
            )
            for wanted in (self.gap, 0.0)
        )

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        return certificate_json("softmax-gap", self, self._in_json())


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
    slack: float = SLACK,
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
            seen = softmax_pass(X, codes, costs, W, bias, free, by_column, wide)
            primal = primal_above(seen.losses, costs, W, bias, bias_penalty if intercept else 0.0)
            if free:
                dual = _mended_dual(seen, codes, costs, wide)
            else:
                dual = _plain_dual(seen, costs, bias_penalty if intercept else None, wide)
            if primal - dual <= (wanted - 2.0 * slack) * primal:
                break
    dual = max(dual, 0.0)  # no loss is below 0
    primal, dual = stated(Enclosure.exact(primal), Enclosure.exact(dual), slack)
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


def _gain(seen: SoftmaxPass, costs: np.ndarray) -> float:
    """Return sum_i c_i H(q_i), from below."""
    terms = costs * seen.entropies
    if not np.isfinite(terms).all():
        return -math.inf
    terms = np.maximum(terms, 0.0)
    return sum_from_above(terms) - 2.0 * sum_error(terms)


def _plain_dual(seen: SoftmaxPass, costs: np.ndarray, penalty: float | None, wide: float) -> float:
    """Return the dual objective of softmax itself, from below: no bias, or one that costs."""
    spent = half_square(abs(seen.pulls) + wide * seen.errors, wide * seen.spread)
    if penalty:
        spent += penalty_of_biases(abs(seen.excess) + wide * seen.excess_errors, penalty)
    return below(_gain(seen, costs) - spent)


def _mended_dual(seen: SoftmaxPass, codes: np.ndarray, costs: np.ndarray, wide: float) -> float:
    """Return the dual objective of softmax with its sums mended, from below."""
    K, n = len(seen.excess), len(codes)
    masses = np.bincount(codes, costs, minlength=K)
    loose = gamma(n + 4.0)
    if not (np.isfinite(seen.excess_errors).all() and (masses > 0.0).all()):
        return -math.inf

    def with_share(errors: np.ndarray) -> float:
        lacking = np.maximum(errors - seen.excess, 0.0)
        share = float((lacking / (masses * (1.0 - 2.0 * loose) + lacking)).max(initial=0.0))
        share = min(1.0, share * (1.0 + 16.0 * UNIT) + LEAST)
        return _dual_with_share(seen, costs, wide, share, masses, loose)

    found = with_share(wide * seen.excess_errors)
    if wide == 1.0 or not math.isfinite(found):
        return found
    # Sums added up otherwise may be known better, and be mended by a smaller share. The dual is
    # concave in the share: between two of them it is not below the lower of both.
    return min(found, with_share(-wide * seen.excess_errors))


def _dual_with_share(
    seen: SoftmaxPass,
    costs: np.ndarray,
    wide: float,
    share: float,
    masses: np.ndarray,
    loose: float,
) -> float:
    """Return it where this share of every row's probabilities is given to the class means."""
    K, n = len(seen.excess), len(costs)
    mass = float(masses.sum())
    # t v_k, and how far it may be off: r_k and N_k are known to an error each.
    mix = (share * masses + (1.0 - share) * seen.excess) / mass
    mix_errors = 1.01 * (2.0 * loose * share * masses + wide * seen.excess_errors) / mass
    mix_errors += (16.0 * UNIT + 1.01 * loose) * abs(mix)
    total = (1.0 - share) * seen.pulls + share * seen.members.T - np.outer(seen.all_rows, mix)
    reach = seen.reach * (1.0 + loose)
    # Sums of rows are known to a share of their reach, which the small t and t v bring down.
    rough = gamma(n + 8.0) * reach * (math.sqrt(K) * share + float(np.linalg.norm(mix)))
    rough += float(np.linalg.norm(seen.all_rows)) * float(np.linalg.norm(mix_errors))
    rough += gamma(n + 8.0) * reach * float(np.linalg.norm(mix_errors))
    rough += 8.0 * UNIT * float(np.linalg.norm(seen.pulls))
    spent = half_square(abs(total) + wide * seen.errors, wide * (seen.spread + 1.01 * rough))
    return below((1.0 - share) * (1.0 - 4.0 * UNIT) * _gain(seen, costs) - spent)
