"""Linear classifiers with sparse weights: the lasso and the elastic net, and their dual.

    min over w, b   l |w|_1 + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))

    max over a      sum_i  -c_i loss*(-a_i / c_i)  -  sum_j max(0, |u_j| - l)^2 / (2r)
                    with u = sum_i a_i y_i x_i,  and  sum_i y_i a_i = 0  where there is a bias

Where r = 0 (the lasso) every |u_j| must be at most l. A dual point that is balanced but not yet
feasible becomes so by division by max_j |u_j| / l.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray


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

    def primal(self, w: FloatArray, margins: FloatArray | None = None) -> float:
        """Return the objective at w = [b, w_1 ... w_d]."""
        return super().primal(w, margins) + self.l1 * float(abs(w[1:]).sum())

    def dual(self, alpha: FloatArray, u: FloatArray | None = None) -> float:
        """Return the dual objective of a balanced alpha, made feasible where it is not."""
        u = (self.signs * alpha) @ self.X if u is None else u
        if self.ridge == 0.0:
            return self.gain(self.feasible_share(u) * alpha)
        return self.gain(alpha) - self.excess(u)

    def feasible_share(self, u: FloatArray) -> float:
        """Return the largest share, up to 1, of alpha that the lasso's dual allows."""
        largest = float(abs(u).max(initial=0.0))
        return 1.0 if largest <= self.l1 else self.l1 / largest

    def excess(self, u: FloatArray) -> float:
        """Return what the dual loses where |u_j| is above l; there must be a ridge."""
        above = np.maximum(abs(u) - self.l1, 0.0)
        return float(above @ above) / (2.0 * self.ridge)
