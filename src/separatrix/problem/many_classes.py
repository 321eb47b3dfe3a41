"""Support vector machines of many classes at once (Crammer and Singer 2001), and their dual.

    min over w_k, b_k   1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2
                        + sum_i c_i max_k (1[k != y_i] + (w_k.x_i + b_k) - (w_y.x_i + b_y))

    max over m          sum_i sum_(k != y_i) m_ik  -  1/2 sum_k |u_k|^2  -  1/(2p) sum_k r_k^2
    subject to          m_ik >= 0,   sum_k m_ik = c_i,   and  r_k = 0 for every k where p = 0
    with                a_ik = c_i 1[k = y_i] - m_ik,   u_k = sum_i a_ik x_i,   r_k = sum_i a_ik

The dual variables of row i ("masses") sum to its cost c_i = C s_i. They lie on its own class where
it beats all others by 1, and otherwise on the classes that come too near. Every dual point bounds
every (w, b) from below; at the optimum they meet, and w_k = u_k.

Two classes: at the optimum w_0 = -w_1, and with v = w_1 - w_0 the objective is half that of two
classes at v with costs 2 c_i (and a bias b = b_1 - b_0 that costs the same p).

Multinomial logistic regression: a weight vector a class, probabilities by softmax.

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

from separatrix.problem.signed import FloatArray, KeslerProblem, Matrix, as_matrix


@dataclass(frozen=True, eq=False)
class DirectProblem:
    """Rows, their class numbers, what each costs, and what the biases cost (0: nothing).

    >>> problem = DirectProblem(np.array([[2.0], [-1.0]]), np.array([0, 1]), 2, np.ones(2))
    >>> problem.primal(np.array([[0.25, -0.25]]), np.zeros(2))
    0.5625
    >>> problem.dual(np.array([[0.75, 0.25], [0.25, 0.75]]))
    -0.0625
    """

    X: Matrix
    codes: np.ndarray
    n_classes: int
    costs: FloatArray
    fit_intercept: bool = True
    bias_penalty: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", as_matrix(self.X))
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes, dtype=np.int64))
        object.__setattr__(self, "costs", np.ascontiguousarray(self.costs, dtype=np.float64))

    @property
    def rows(self) -> KeslerProblem:
        """The same rows and classes as one signed problem."""
        return KeslerProblem(self.X, self.codes, self.n_classes, self.fit_intercept)

    @property
    def has_free_bias(self) -> bool:
        """Whether the biases are there and cost nothing, so that the masses must balance."""
        return self.fit_intercept and self.bias_penalty == 0.0

    def primal(self, W: FloatArray, bias: FloatArray) -> float:
        """Return the objective at W (d x K) and the biases."""
        penalty = self.bias_penalty * float(bias @ bias) if self.fit_intercept else 0.0
        losses = losses_of(np.asarray(self.X @ W) + bias, self.codes)
        used = self.costs > 0.0
        return 0.5 * (float(np.vdot(W, W)) + penalty) + float(self.costs[used] @ losses[used])

    def shares(self, masses: FloatArray) -> FloatArray:
        """Return a, by which the rows make up the weights: W = X^T a."""
        return shares_of(masses, self.codes)

    def dual(self, masses: FloatArray) -> float:
        """Return the dual objective; the masses must be feasible (not looked at)."""
        shares = self.shares(masses)
        u = np.asarray(self.X.T @ shares)
        value = float(shares[np.arange(len(self.codes)), self.codes].sum())
        value -= 0.5 * float(np.vdot(u, u))
        if self.fit_intercept and self.bias_penalty > 0.0:
            balance = shares.sum(axis=0)
            value -= float(balance @ balance) / (2.0 * self.bias_penalty)
        return value


def shares_of(masses: FloatArray, codes: np.ndarray) -> FloatArray:
    """Return a_ik: what lies off a row's own class counts for that one and against the others.

    >>> shares_of(np.array([[0.5, 0.25, 0.25]]), np.array([0])).tolist()
    [[0.5, -0.25, -0.25]]
    """
    shares = -masses
    own = np.arange(len(codes)), codes
    shares[own] = 0.0
    # Summed over the others, not taken from the cost: then a row adds up to zero exactly.
    shares[own] = -shares.sum(axis=1)
    return shares


def losses_of(scores: FloatArray, codes: np.ndarray) -> FloatArray:
    """Return by how much each row falls short of a margin of 1 to the nearest other class.

    >>> losses_of(np.array([[2.0, 0.5, 1.5]]), np.array([0])).tolist()
    [0.5]
    """
    own = np.arange(len(codes)), codes
    mine = scores[own]
    raised = scores + 1.0
    raised[own] = mine
    return np.asarray(raised.max(axis=1) - mine)


@dataclass(frozen=True, eq=False)
class KernelDirect:
    """The same problem with phi(x) for x, where phi(x).phi(z) = K(x, z): phi is never built.

    For w_k = sum_i a_ik phi(x_i) the scores are g_ik = sum_j a_jk K(x_j, x_i), and both objectives
    follow from a and g alone.

    >>> problem = KernelDirect(np.array([0, 1]), 2, np.ones(2))
    >>> masses = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> scores = np.array([[4.0, -2.0], [-2.0, 1.0]]) @ problem.shares(masses)
    >>> problem.dual(masses, scores)
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


# ---- multinomial logistic regression: a weight vector a class, probabilities by softmax


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
