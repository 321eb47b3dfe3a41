"""The direct machine of many classes in the space of a kernel: one objective, and its dual.

    min over w_k, b_k   1/2 sum_k |w_k|^2 + sum_i c_i max_k (1[k != y_i] + g_ik + b_k - g_iy - b_y)

    max over m          sum_i sum_(k != y_i) m_ik  -  1/2 sum_k sum_ij a_ik a_jk K(x_i, x_j)
    subject to          m_ik >= 0,   sum_k m_ik = c_i,   sum_i a_ik = 0 for every k
    with                a_ik = c_i 1[k = y_i] - m_ik,   g_ik = w_k.phi(x_i)

It is that of `crammer_singer` with phi(x) for x. Neither phi nor w is ever built: for
w_k = sum_i a_ik phi(x_i) the scores are g_ik = sum_j a_jk K(x_j, x_i), and both objectives follow
from a and g alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.problem.crammer_singer import losses_of, shares_of

__all__ = ["KernelDirect"]


@dataclass(frozen=True, eq=False)
class KernelDirect:
    """Class numbers and costs of rows whose kernel values are at hand.

    >>> machine = KernelDirect(np.array([0, 1]), 2, np.ones(2))
    >>> masses = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> scores = np.array([[4.0, -2.0], [-2.0, 1.0]]) @ machine.shares(masses)
    >>> machine.dual(masses, scores)
    -0.0625
    """

    codes: np.ndarray
    n_classes: int
    costs: np.ndarray

    has_free_bias = True

    def shares(self, masses: np.ndarray) -> np.ndarray:
        """Return a, by which the rows make up the weights."""
        return shares_of(masses, self.codes)

    def dual(self, masses: np.ndarray, scores: np.ndarray) -> float:
        """Return the dual objective of masses that balance (not looked at)."""
        shares = self.shares(masses)
        gain = float(shares[np.arange(len(self.codes)), self.codes].sum())
        return gain - 0.5 * float(np.vdot(shares, scores))

    def primal(self, masses: np.ndarray, scores: np.ndarray, bias: np.ndarray) -> float:
        """Return the objective of the weights that the masses make up, with these biases."""
        used = self.costs > 0.0
        losses = losses_of(scores + bias, self.codes)[used]
        half = 0.5 * float(np.vdot(self.shares(masses), scores))
        return half + float(self.costs[used] @ losses)
