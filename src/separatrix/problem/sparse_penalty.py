"""Linear classifiers with sparse weights: the lasso, the elastic net, groups, and their dual.

    min over w, b   l sum_j size_j(w) + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))

    max over a      sum_i  -c_i loss*(-a_i / c_i)  -  sum_j max(0, size_j(u) - l)^2 / (2r)
                    with u = sum_i a_i y_i x_i,  and  sum_i y_i a_i = 0  where there is a bias

size_j(w) = |w_j|; where columns have groups, the root mean square of the weights of its group. The
sum over j is then that of the group lasso, sum_g sqrt(p_g) |w_g|, p_g the columns of group g, and
a group is zero as a whole. Where r = 0 every size_j(u) must be at most l. A dual point that is
balanced but not yet feasible becomes so by division by max_j size_j(u) / l.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.many_classes import SoftmaxProblem
from separatrix.problem.signed import FloatArray, Known

LASSO = 1.0  # its l1_ratio


def penalty_words(l1_ratio: float) -> str:
    """Name the penalty; nothing for the ridge, which is the usual one.

    >>> penalty_words(0.0), penalty_words(1.0), penalty_words(0.5)
    ('', 'lasso', 'elastic net 0.5')
    """
    if not l1_ratio:
        return ""
    return "lasso" if l1_ratio == LASSO else f"elastic net {l1_ratio:g}"


class _Penalty:
    """What both problems share of a penalty on the sizes of columns."""

    l1: float
    groups: np.ndarray | None

    def sizes(self, values: FloatArray) -> FloatArray:
        """Return the size of every column, which the penalty charges."""
        raise NotImplementedError

    def feasible_share(self, u: FloatArray) -> float:
        """Return the largest share, up to 1, of a dual point that the lasso's dual allows.

        Sizes that overflowed leave nothing of the point.
        """
        largest = float(self.sizes(u).max(initial=0.0))
        if largest <= self.l1:
            return 1.0
        return self.l1 / largest if largest > self.l1 else 0.0

    def means(self, values: FloatArray) -> FloatArray:
        """Return the mean over the group of every column."""
        if self.groups is None:
            return values
        counts = np.bincount(self.groups)
        return np.asarray((np.bincount(self.groups, values) / np.maximum(counts, 1))[self.groups])

    def of_columns(self, numbers: np.ndarray) -> Any:
        """Return the penalty of some columns, whole groups of them; the rows stay what they are."""
        if self.groups is None:
            return self
        kept = np.unique(self.groups[numbers], return_inverse=True)[1]
        return replace(self, groups=kept)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class SparseProblem(_Penalty, MachineProblem):
    """Rows, signs, costs and loss as in `MachineProblem`, and what |w|_1 costs; b is free.

    >>> from separatrix.problem.losses import SQUARED_HINGE
    >>> from separatrix.problem.signed import SignedProblem
    >>> rows = SignedProblem(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]))
    >>> problem = SparseProblem(rows, np.ones(2), SQUARED_HINGE, ridge=0.0, l1=1.0)
    >>> problem.primal(np.array([0.0, 0.5]))
    0.75
    >>> [problem.feasible_share(np.array([size])) for size in (0.5, 4.0, np.nan)]
    [1.0, 0.25, 0.0]
    """

    l1: float = 1.0
    groups: np.ndarray | None = None  # the group of each column, numbered from 0; none: no groups

    def primal(self, w: FloatArray, margins: FloatArray | None = None) -> float:
        """Return the objective at w = [b, w_1 ... w_d]."""
        return super().primal(w, margins) + self.l1 * float(self.sizes(w[1:]).sum())

    def dual(self, alpha: FloatArray, u: FloatArray | None = None) -> float:
        """Return the dual objective of a balanced alpha, made feasible where it is not."""
        u = (self.signs * alpha) @ self.X if u is None else u
        if self.ridge == 0.0:
            return self.gain(self.feasible_share(u) * alpha)
        return self.gain(alpha) - self.excess(u)

    def sizes(self, values: FloatArray) -> FloatArray:
        """Return |v_j| of every column, or the root mean square over its group."""
        if self.groups is None:
            return abs(values)
        return np.sqrt(self.means(values * values))

    def excess(self, u: FloatArray) -> float:
        """Return what the dual loses where a size is above l; there must be a ridge."""
        with np.errstate(over="ignore"):  # then this point bounds nothing
            above = np.maximum(self.sizes(u) - self.l1, 0.0)
            return float(above @ above) / (2.0 * self.ridge)


# ---- all classes at once: whole columns at zero
#
#     min over W, b   l sum_j,k size_j(W) + r/2 |W|^2 + sum_i c_i (log sum_k exp z_ik - z_iy)
#                     with  z_ik = sum_j x_ij W_jk + b_k
#
#     max over q      sum_i c_i H(q_i)  -  sum_j,k max(0, size_j(U) - l)^2 / (2r)
#     subject to      q_i a distribution over the classes, and sum_i a_ik = 0 where there is a bias
#     with            a_ik = c_i (1[k = y_i] - q_ik),   U_jk = sum_i a_ik x_ij
#
# size_j(W) is the root mean square of the K weights of column j, or of all weights of its group.
# The first sum is then sum_g sqrt(K p_g) |W_g|, p_g the columns of group g: K p_g weights are zero
# together. Where r = 0 every size_j(U) must be at most l. A dual point becomes feasible by a share
# t of it: t a_ik belongs to the distribution t q_i + (1 - t) 1[k = y_i].
#
# Two classes: at the optimum W_j0 = -W_j1, and with w = W_j1 - W_j0 and r = 0 the objective is that
# of the lasso of two classes.


@dataclass(frozen=True, eq=False)
class SparseSoftmaxProblem(_Penalty, SoftmaxProblem):
    """Rows, class numbers and costs as in `SoftmaxProblem`, and what whole columns cost.

    >>> X, codes = np.array([[1.0], [-1.0]]), np.array([0, 1])
    >>> problem = SparseSoftmaxProblem(X, codes, 2, np.ones(2), ridge=0.0)
    >>> problem.sizes(np.array([[3.0, -3.0]])), problem.penalty(np.array([[3.0, -3.0]]))
    (array([3.]), 6.0)
    """

    l1: float = 1.0
    groups: np.ndarray | None = None  # the group of each column, numbered from 0; none: no groups
    known: Known | None = None  # what was computed from X alone

    def once(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` computes from X; where problems share X, that of the first of them."""
        return make() if self.known is None else self.known.get(name, make)

    def sizes(self, values: np.ndarray) -> np.ndarray:
        """Return the root mean square of the numbers of every column (d x K), or of its group."""
        squares = np.einsum("jk,jk->j", values, values) / self.n_classes
        return np.sqrt(self.means(squares))

    def _lasso(self, W: np.ndarray) -> float:
        return self.l1 * self.n_classes * float(self.sizes(W).sum())

    def penalty(self, W: np.ndarray) -> float:
        """Return what the weights (d x K) cost."""
        return self._lasso(W) + 0.5 * self.ridge * float(np.vdot(W, W))

    def primal(self, W: np.ndarray, bias: np.ndarray) -> float:
        """Return the objective at W (d x K) and the biases."""
        return super().primal(W, bias) + self._lasso(W)

    def excess(self, U: np.ndarray) -> float:
        """Return what the dual loses where a size is above l; there must be a ridge."""
        above = np.maximum(self.sizes(U) - self.l1, 0.0)
        return self.n_classes * float(above @ above) / (2.0 * self.ridge)
