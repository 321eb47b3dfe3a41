"""The kernel machine: the machine with the hinge in the space of a kernel.

    min over w, b   1/2 |w|^2 + sum_i c_i max(0, 1 - y_i (w.phi(x_i) + b))

    max over a      sum_i a_i - 1/2 sum_ij a_i y_i a_j y_j K(x_i, x_j)
    subject to      0 <= a_i <= c_i,   sum_i y_i a_i = 0

with phi(x).phi(z) = K(x, z): neither phi nor w is ever built. In the optimum
w = sum_i a_i y_i phi(x_i). With g_i = sum_j a_j y_j K(x_j, x_i) and f = g - y, the margin of row i
is y_i (g_i + b) and both objectives follow from f alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["KernelMachine"]


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """Signs and costs of the rows `members` of the data whose kernel values are at hand.

    `members` are ascending numbers of rows; one-vs-one machines have some of them, others all.
    """

    signs: np.ndarray
    costs: np.ndarray
    members: np.ndarray

    @property
    def is_hard(self) -> bool:
        """Whether every row that counts must have a margin of 1."""
        return bool(np.isinf(self.costs).any())

    def square(self, alpha: np.ndarray, f: np.ndarray) -> float:
        """Return |w|^2."""
        return max(0.0, float((self.signs * alpha) @ f + alpha.sum()))

    def dual(self, alpha: np.ndarray, f: np.ndarray) -> float:
        """Return the dual objective."""
        if not self.is_hard:
            return float(alpha.sum()) - 0.5 * self.square(alpha, f)
        # Without costs to bound it, alpha may be stretched to where the dual is largest.
        square, total = self.square(alpha, f), float(alpha.sum())
        return 0.5 * total * (total / square) if square > 0.0 else 0.0

    def primal(self, alpha: np.ndarray, f: np.ndarray, bias: float) -> float:
        """Return the objective of w and the bias."""
        used = self.costs > 0.0
        short = np.maximum(0.0, -self.signs * (f + bias))[used]
        if self.is_hard:
            least = 1.0 - float(short.max(initial=0.0))
            return 0.5 * self.square(alpha, f) / least**2 if least > 0.0 else np.inf
        return 0.5 * self.square(alpha, f) + float(self.costs[used] @ short)
