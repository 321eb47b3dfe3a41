"""Multinomial logistic regression: a weight vector a class, probabilities by softmax.

    min over w_k, b_k   r/2 sum_k |w_k|^2 + p/2 sum_k b_k^2
                        + sum_i c_i (log sum_k exp z_ik - z_iy),     z_ik = w_k.x_i + b_k

    max over q          sum_i c_i H(q_i) - 1/2 sum_k |u_k|^2 - 1/(2p) sum_k r_k^2
    subject to          q_i a distribution over the classes, and r_k = 0 for every k where p = 0
    with                a_ik = c_i (1[k = y_i] - q_ik),   u_k = sum_i a_ik x_i,   r_k = sum_i a_ik

H is the entropy. At the optimum q_i is the softmax of row i, w_k = u_k, and both objectives meet;
elsewhere, with q the softmax and every r_k = 0, they differ by 1/2 sum_k |w_k - u_k|^2, half the
squared length of the gradient.

The ridge r is 1 above. Maximum likelihood has r = 0: the dual then asks for every u_k = 0, and w is
determined up to one vector added to all w_k; those of sum zero are meant.

Two classes: at the optimum w_0 = -w_1, and with v = w_1 - w_0 the objective is half that of
two-class logistic regression at v with costs 2 c_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Without a ridge nothing keeps w small: a gap is that over w up to so many times as large as found.
REACH = 1e3


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    """Rows, their class numbers, what each costs, and what the biases cost (0: nothing).

    X is a NumPy array, a SciPy CSR array, or a tensor on some device.

    >>> problem = SoftmaxProblem(np.array([[1.0], [-1.0]]), np.array([0, 1]), 2, np.ones(2))
    >>> round(problem.primal(np.zeros((1, 2)), np.zeros(2)), 6)  # 2 log 2
    1.386294
    """

    X: Any
    codes: np.ndarray
    n_classes: int
    costs: np.ndarray
    fit_intercept: bool = True
    bias_penalty: float = 0.0
    ridge: float = 1.0  # 0: maximum likelihood

    @property
    def has_free_bias(self) -> bool:
        """Whether the biases are there and cost nothing."""
        return self.fit_intercept and self.bias_penalty == 0.0

    def primal(self, W: np.ndarray, bias: np.ndarray) -> float:
        """Return the objective at W (d x K) and the biases."""
        scores = np.asarray(self.X @ W) + bias
        top = scores.max(axis=1)
        losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
        losses -= scores[np.arange(len(self.codes)), self.codes]
        penalty = self.bias_penalty * float(bias @ bias) if self.fit_intercept else 0.0
        return 0.5 * (self.ridge * float(np.vdot(W, W)) + penalty) + float(self.costs @ losses)
