"""Regularised linear classifiers: one objective, and its dual. Also with a kernel and the hinge.

    min over w, b   r/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))

    max over a      sum_i  -c_i loss*(-a_i / c_i)  -  |u|^2 / (2r)  -  (sum_i y_i a_i)^2 / (2p)
                    with u = sum_i a_i y_i x_i,  and  sum_i y_i a_i = 0  where p = 0

c_i = C s_i is the cost of row i (s_i its weight), loss* the conjugate of the loss, p = 0 the free
bias of this library, p = 1 the penalised one of LIBLINEAR. A row of cost 0 is not there: its a_i is
0. Cost inf asks for a margin of at least 1 (the hard margin). Every dual a bounds every (w, b) from
below; at the optimum they meet, and r w = u. The ridge r is 1, but 0 for maximum likelihood
(logistic regression at C = inf), where the costs are the weights and the dual asks for u = 0.

What is computed here is plain float64: for a solver to see how far it is. What is claimed is
recomputed, with its rounding bounded, by `certificates.duality_gap`, which does not come here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.problem.signed import FloatArray, Matrix, SignedProblem


@dataclass(frozen=True, eq=False)
class MachineProblem:
    """Rows, signs, the cost of each row, the loss, and what b costs.

    >>> rows = SignedProblem(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]))
    >>> problem = MachineProblem(rows, np.ones(2), HINGE)
    >>> float(problem.primal(np.array([0.0, 0.5])))
    0.625
    >>> float(problem.dual(np.array([0.25, 0.25])))
    0.21875
    """

    rows: SignedProblem
    costs: FloatArray
    loss: int
    bias_penalty: float = 0.0
    ridge: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", np.ascontiguousarray(self.costs, dtype=np.float64))

    @property
    def X(self) -> Matrix:
        """The rows x_i."""
        return self.rows.X

    @property
    def signs(self) -> FloatArray:
        """The signs y_i."""
        return self.rows.signs

    @property
    def has_free_bias(self) -> bool:
        """Whether b is there and costs nothing, so that the dual must balance."""
        return self.rows.fit_intercept and self.bias_penalty == 0.0

    @cached_property
    def is_hard(self) -> bool:
        """Whether every row that counts must have a margin of 1."""
        return bool(np.isinf(self.costs).any())

    @cached_property
    def used(self) -> np.ndarray | slice:
        """The rows that count, as an index: a slice where that is all of them."""
        used = self.costs > 0.0
        return slice(None) if bool(used.all()) else used

    @property
    def upper(self) -> FloatArray:
        """The largest value of each multiplier."""
        if self.loss != SQUARED_HINGE:
            return self.costs
        return np.where(self.costs > 0.0, np.inf, 0.0)

    def primal(self, w: FloatArray, margins: FloatArray | None = None) -> float:
        """Return the objective at w = [b, w_1 ... w_d]; inf where a hard margin is missed."""
        margins = self.rows.margins(w) if margins is None else margins
        used = self.used
        if self.is_hard:
            loss = 0.0 if (margins[used] >= 1.0).all() else np.inf
        else:
            loss = float(self.costs[used] @ loss_values(self.loss, margins[used]))
        bias = self.bias_penalty * w[0] ** 2 if self.rows.fit_intercept else 0.0
        return float(0.5 * (self.ridge * (w[1:] @ w[1:]) + bias) + loss)

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is no bound
    def dual(self, alpha: FloatArray, u: FloatArray | None = None) -> float:
        """Return the dual objective; `alpha` must be feasible (its balance is not looked at).

        Without a ridge that includes u = 0, which is not looked at either.
        """
        share = self.signs * alpha
        u = share @ self.X if u is None else u
        penalty = 0.5 * float(u @ u) / self.ridge if self.ridge > 0.0 else 0.0
        if self.rows.fit_intercept and self.bias_penalty > 0.0:
            balance = float(share.sum())
            penalty += balance * balance / (2.0 * self.bias_penalty)
        return self.gain(alpha) - penalty

    def gain(self, alpha: FloatArray) -> float:
        """Return the first sum of the dual."""
        if self.loss == HINGE or self.is_hard:
            return float(alpha.sum())
        a, c = alpha[self.used], self.costs[self.used]
        if self.loss == SQUARED_HINGE:
            return float((a - a * (a / (4.0 * c))).sum())
        p = np.minimum(a / c, 1.0)
        from scipy.special import xlog1py, xlogy  # needed for the logistic loss alone

        return float(-(c * (xlogy(p, p) + xlog1py(1.0 - p, -p))).sum())


def loss_values(loss: int, margins: FloatArray) -> FloatArray:
    """Return the loss of every margin.

    >>> loss_values(SQUARED_HINGE, np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """
    if loss == LOGISTIC:
        return np.logaddexp(0.0, -margins)
    short = np.maximum(0.0, 1.0 - margins)
    return short if loss == HINGE else short * short


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """The hinge with phi(x) for x, where phi(x).phi(z) = K(x, z); neither phi nor w is ever built.

    With g_i = sum_j a_j y_j K(x_j, x_i) and f = g - y, the margin of row i is y_i (g_i + b), and
    both objectives follow from f alone. `members` are the numbers of the rows, ascending: one class
    against another has some of them, one against all others has all.
    """

    signs: np.ndarray
    costs: np.ndarray
    members: np.ndarray

    @property
    def is_hard(self) -> bool:
        """Whether every row that counts must have a margin of 1."""
        return bool(np.isinf(self.costs).any())

    def square(self, alpha: np.ndarray, f: np.ndarray) -> float:
        """Return |w|^2; of values that overflow infinity, or 0 where they are no numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
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
