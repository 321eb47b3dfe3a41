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

from dataclasses import dataclass, replace

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray


def share_within(l1: float, sizes: FloatArray) -> float:
    """Return the largest share, up to 1, of a dual point whose sizes then are at most `l1`.

    Sizes that overflowed leave nothing of the point.

    >>> share_within(1.0, np.array([0.5, 4.0])), share_within(1.0, np.array([np.nan]))
    (0.25, 0.0)
    """
    largest = float(sizes.max(initial=0.0))
    if largest <= l1:
        return 1.0
    return l1 / largest if largest > l1 else 0.0


@dataclass(frozen=True, eq=False)
class SparseProblem(MachineProblem):
    """Rows, signs, costs and loss as in `MachineProblem`, and what |w|_1 costs; b is free.

    >>> from separatrix.problem.losses import SQUARED_HINGE
    >>> from separatrix.problem.signed import SignedProblem
    >>> rows = SignedProblem(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]))
    >>> problem = SparseProblem(rows, np.ones(2), SQUARED_HINGE, ridge=0.0, l1=1.0)
    >>> problem.primal(np.array([0.0, 0.5])), problem.feasible_share(np.array([4.0]))
    (0.75, 0.25)
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
        counts = np.bincount(self.groups)
        squares = np.bincount(self.groups, values * values)
        found: FloatArray = np.sqrt(squares / np.maximum(counts, 1))[self.groups]
        return found

    def of_columns(self, numbers: np.ndarray) -> SparseProblem:
        """Return the penalty of some columns, whole groups of them; the rows stay what they are."""
        if self.groups is None:
            return self
        return replace(self, groups=np.unique(self.groups[numbers], return_inverse=True)[1])

    def feasible_share(self, u: FloatArray) -> float:
        """Return the largest share, up to 1, of alpha that the lasso's dual allows."""
        return share_within(self.l1, self.sizes(u))

    def excess(self, u: FloatArray) -> float:
        """Return what the dual loses where a size is above l; there must be a ridge."""
        with np.errstate(over="ignore"):  # then this point bounds nothing
            above = np.maximum(self.sizes(u) - self.l1, 0.0)
            return float(above @ above) / (2.0 * self.ridge)
