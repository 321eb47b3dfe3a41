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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.objective_bounds import NOTHING, half_square, penalty_of_biases
from separatrix.certificates.softmax_pass import SoftmaxPass, softmax_pass
from separatrix.certificates.two_bounds import Found
from separatrix.certificates.weights_by_class import WeightsByClass
from separatrix.problem.signed import as_matrix

__all__ = ["SoftmaxGap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxGap(WeightsByClass):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `weights` has one row [b, w_1 ... w_d] a class; `costs` are C times each row's weight.
    """

    kind = "softmax-gap"

    @staticmethod
    def _placed(X: Any) -> Any:
        return as_matrix(on_host(X))

    def _found(self, X: Any, codes: np.ndarray, wide: float) -> Iterator[Found]:
        """Bound errors for all classes at once, which is cheaper, and then class by class."""
        penalty, costs = self._penalty, self.costs
        for by_column in (False, True):
            with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
                enclosed = softmax_pass(
                    X, codes, costs, self._W, self._biases, penalty == 0.0, by_column, wide
                )
                primal = self._primal(Enclosure(np.zeros(len(codes)), enclosed.losses))
                if penalty == 0.0:
                    dual = _mended_dual(enclosed, codes, costs, wide)
                else:
                    dual = _plain_dual(enclosed, costs, penalty)
            yield Found(primal, dual.at_least(0.0))  # no loss is below 0


def _gain(enclosed: SoftmaxPass, costs: np.ndarray) -> Enclosure:
    """Bound sum_i c_i H(q_i) from below; no entropy is below 0."""
    entropies = np.where(np.isnan(enclosed.entropies), 0.0, np.maximum(enclosed.entropies, 0.0))
    return sum_of(lambda h, c: h * c, Enclosure.exact(entropies), costs)


def _plain_dual(enclosed: SoftmaxPass, costs: np.ndarray, penalty: float | None) -> Enclosure:
    """Enclose the dual objective of softmax itself: no bias, or one that costs."""
    value = _gain(enclosed, costs) - half_square(enclosed.pulls)
    return value - penalty_of_biases(enclosed.excess, penalty) if penalty else value


def _mended_dual(
    enclosed: SoftmaxPass, codes: np.ndarray, costs: np.ndarray, wide: float
) -> Enclosure:
    """Enclose the dual objective of softmax with its sums mended."""
    K, excess = len(enclosed.excess.low), enclosed.excess
    masses = Enclosure.stacked([Enclosure.exact(costs[codes == k]).sum() for k in range(K)])  # N_k
    if not (excess.is_finite and (masses.low > 0.0).all()):
        return NOTHING
    # t N_k + (1 - t) r_k >= 0 for every k, whatever r_k is within its enclosure.
    lacking = (-excess).at_least(0.0)
    shares = lacking / (masses + lacking)
    share = Enclosure.exact(min(1.0, float(shares.high.max())))
    if wide != 1.0:
        # Sums added up otherwise may be known better, and be mended by a smaller share.
        share = Enclosure(np.minimum(share.low, max(0.0, float(shares.low.max()))), share.high)
    return _dual_with_share(enclosed, costs, share, masses)


def _dual_with_share(
    enclosed: SoftmaxPass, costs: np.ndarray, share: Enclosure, masses: Enclosure
) -> Enclosure:
    """Enclose it where this share of every row's probabilities is given to the class means."""
    rest = 1.0 - share
    mix = (masses * share + enclosed.excess * rest) / masses.sum()  # t v_k

    def squares(pulls: Enclosure, members: Enclosure, rows: Enclosure) -> Enclosure:
        return (pulls * rest + members * share - rows[:, None] * mix).square()

    spent = sum_of(squares, enclosed.pulls, enclosed.members, enclosed.all_rows).halved()
    return _gain(enclosed, costs) * rest - spent
