"""Multinomial logistic regression with whole columns at zero, and its dual.

    min over W, b   l sum_j,k size_j(W) + r/2 |W|^2 + sum_i c_i (log sum_k exp z_ik - z_iy)
                    with  z_ik = sum_j x_ij W_jk + b_k

    max over q      sum_i c_i H(q_i)  -  sum_j,k max(0, size_j(U) - l)^2 / (2r)
    subject to      q_i a distribution over the classes, and sum_i a_ik = 0 where there is a bias
    with            a_ik = c_i (1[k = y_i] - q_ik),   U_jk = sum_i a_ik x_ij

size_j(W) is the root mean square of the K weights of column j, or of all weights of its group. The
first sum is then sum_g sqrt(K p_g) |W_g|, p_g the columns of group g: K p_g weights are zero
together. Where r = 0 every size_j(U) must be at most l. A dual point becomes feasible by a share t
of it: t a_ik belongs to the distribution t q_i + (1 - t) 1[k = y_i].

Two classes: at the optimum W_j0 = -W_j1, and with w = W_j1 - W_j0 and r = 0 the objective is that
of the lasso of two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.problem.signed import Known
from separatrix.problem.softmax import SoftmaxProblem
from separatrix.problem.sparse_penalty import share_within


@dataclass(frozen=True, eq=False)
class SparseSoftmaxProblem(SoftmaxProblem):
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
        if self.groups is None:
            return np.asarray(np.sqrt(squares))
        return np.asarray(np.sqrt(self.means(squares)))

    def means(self, values: np.ndarray) -> np.ndarray:
        """Return the mean over the group of every column."""
        if self.groups is None:
            return values
        counts = np.bincount(self.groups)
        return np.asarray((np.bincount(self.groups, values) / np.maximum(counts, 1))[self.groups])

    def penalty(self, W: np.ndarray) -> float:
        """Return what the weights (d x K) cost."""
        lasso = self.l1 * self.n_classes * float(self.sizes(W).sum())
        return lasso + 0.5 * self.ridge * float(np.vdot(W, W))

    def primal(self, W: np.ndarray, bias: np.ndarray) -> float:
        """Return the objective at W (d x K) and the biases."""
        lasso = self.l1 * self.n_classes * float(self.sizes(W).sum())
        return super().primal(W, bias) + lasso

    def feasible_share(self, U: np.ndarray) -> float:
        """Return the largest share, up to 1, of a dual point that the lasso's dual allows."""
        return share_within(self.l1, self.sizes(U))

    def excess(self, U: np.ndarray) -> float:
        """Return what the dual loses where a size is above l; there must be a ridge."""
        above = np.maximum(self.sizes(U) - self.l1, 0.0)
        return self.n_classes * float(above @ above) / (2.0 * self.ridge)

    def of_columns(self, numbers: np.ndarray) -> SparseSoftmaxProblem:
        """Return the penalty of some columns, whole groups of them; the rows stay what they are."""
        if self.groups is None:
            return self
        return replace(self, groups=np.unique(self.groups[numbers], return_inverse=True)[1])
