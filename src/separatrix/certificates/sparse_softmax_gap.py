"""How far a sparse multinomial model is from the optimum, and which columns are zero: both proved.

    primal(W, b)  =  l sum_g sqrt(K p_g) |W_g| + r/2 |W|^2 + sum_i c_i (log sum_k exp z_ik - z_iy)
    dual(q)       =  sum_i c_i H(q_i) - sum_g max(0, |U_g| - l sqrt(K p_g))^2 / (2r)

g is a column, or a group of p_g columns; U_jk = sum_i c_i (1[k = y_i] - q_ik) x_ij. Without a ridge
r every |U_g| must be at most l sqrt(K p_g). The dual point is softmax, of which the other classes
of every row get a `share`, with its sums mended as in `softmax_gap`. Where rounding still leaves a
|U_g| too large, a share t2 of the point is feasible, and has at least t2 of its entropy.

Two dual points whose values differ by less than the gap are near each other. With q_i* the best
point, sum_i c_i KL(q_i || q_i*) <= gap. Let o_i = 1 - q_iy be what the other classes have, and v_i
the largest p (1 - p) for p up to o_i and o_i*: at most 1/4, and less after a few rounds, for
|o_i - o_i*| <= sqrt(2 gap v_i / c_i). Then 4 v_i KL(q_i || q_i*) >= |q_i - q_i*|^2, so U_g* is
within sqrt(4 gap N_g) of U_g, with N_g the sum of c_i v_i x_ij^2 over rows and columns of g, about
the weighted mean of each column where b is free. Where U_g* cannot come to l sqrt(K p_g), all
weights of g are zero in every optimal W.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from separatrix.certificates.column_sizes import Sized
from separatrix.certificates.duality_gap import NOTHING, norm
from separatrix.certificates.enclosure import Enclosure, above, sum_of
from separatrix.certificates.multiclass_gap import WeightsByClass, losses_of
from separatrix.certificates.softmax_gap import SoftmaxGap, gain_of, mending
from separatrix.certificates.sparse_gap import Near, SparseClaim, root_means
from separatrix.certificates.two_bounds import Found


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseSoftmaxGap(SparseClaim, SoftmaxGap):
    """The least objective lies between `dual` and `primal`, and columns `zeros` are zero there.

    `l1` is the factor of sum_g sqrt(K p_g) |W_g| and `ridge` that of 1/2 |W|^2. A column in `zeros`
    has the weight 0 for every class in every optimal W, not only in this one. `groups` numbers the
    group of each column; it is empty where there are none.
    """

    kind = "sparse-softmax-gap"
    _one = "set"

    share: float = 1.0

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        WeightsByClass.require_sound(self)
        self._require_sparse()

    def _sentence(self) -> str:
        return WeightsByClass._sentence(self)

    def _found(self, X: Any, codes: np.ndarray, wide: float) -> Iterator[Found]:
        """Bound errors for all classes at once, which is cheaper, and then class by class."""
        costs, data, K = self.costs, Sized.of(X), float(len(self.weights))
        for by_column in (False, True):
            with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
                enclosed = self.one_pass(data.X, codes, by_column, wide, self.share, of_exact=True)
                losses = Enclosure(np.zeros(len(codes)), enclosed.losses)
                primal = losses_of(losses, costs) + self._spent()
                gain, sums, others = gain_of(enclosed, costs), enclosed.pulls, enclosed.others
                if self.intercept:
                    mended = mending(enclosed, codes, costs, wide)
                    if mended is None:
                        yield Found(primal, NOTHING)
                        continue
                    sums = mended.of(sums, enclosed.members, enclosed.all_rows)
                    gain, others = gain * mended.rest, above(others + mended.share.high)
                dual, sizes = self._dual(gain, self._sizes(sums))
            # A size is a root mean square over the classes.
            factor, none = Enclosure.exact(4.0) / K, np.zeros(len(codes))
            near = Near(data, sizes, dual.low, factor, (none, others))
            yield Found(primal, dual.at_least(0.0), partial(dict, near=near))  # no loss is below 0

    def _spent(self) -> Enclosure:
        """Enclose what the weights cost."""
        W = self._W
        if not W.any():
            return Enclosure.exact(0.0)
        lasso = self._sizes(Enclosure.exact(W)).sum() * len(self.weights) * self.l1
        return lasso + norm(W, 0.0, 0.0) * self.ridge if self.ridge else lasso

    def _sizes(self, values: Enclosure) -> Enclosure:
        """Enclose the root mean square of the numbers of every column (d x K), or of its group."""
        K = len(self.weights)
        numbers = np.array(self.groups or range(self.n_features), dtype=np.int64)
        squares = values.square()
        flat = Enclosure(squares.low.ravel(), squares.high.ravel())
        return root_means(flat, np.repeat(numbers, K))[::K]

    def _dual(self, gain: Enclosure, sizes: Enclosure) -> tuple[Enclosure, Enclosure]:
        """Enclose the dual objective; return the sizes of U of the point that is meant, too."""
        if self.ridge:
            excess = sum_of(Enclosure.square, (sizes - self.l1).at_least(0.0))
            spent = (excess * len(self.weights) / self.ridge).halved()
            return gain - spent, sizes
        largest = sizes.low.max(initial=0.0), sizes.high.max(initial=0.0)
        if largest[1] <= self.l1:
            return gain, sizes
        if not math.isfinite(largest[1]):
            return NOTHING, sizes
        share = (Enclosure.exact(self.l1) / Enclosure(*map(np.float64, largest))).at_most(1.0)
        return gain * share, sizes * share
