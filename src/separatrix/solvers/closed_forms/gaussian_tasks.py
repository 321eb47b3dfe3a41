"""Deciding between two Gaussian classes where priors are unknown.

A strategy compares the log-likelihood ratio r(x) = log p(x|1) - log p(x|0) with a threshold q:

    false alarm  a(q) = P(r > q | 0)  falls with q,      miss  b(q) = P(r <= q | 1)  rises

    minimax           min over q of  max( W(1,0) a + W(0,0)(1 - a),  W(0,1) b + W(1,1)(1 - b) )
    Neyman-Pearson    min of one error subject to  the other <= bound

Minimax is Bayes' rule for the priors under which Bayes' rule does worst; both lie where the two
conditional risks are equal. Neyman-Pearson lies where the bound is met exactly.

For one covariance C, r is Gaussian with variance D^2 = (m_1 - m_0)' C^-1 (m_1 - m_0) and mean
-D^2/2 or +D^2/2, so a(q) = Phi(-q/D - D/2) and b(q) = Phi(q/D - D/2). Else r is a quadratic
function, and its distribution is that of `quadratic_form`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from scipy.optimize import brentq
from scipy.special import ndtr

from separatrix.problem.signed import FloatArray
from separatrix.solvers.closed_forms.gaussian import Gaussians
from separatrix.solvers.closed_forms.quadratic_form import QuadraticForm

__all__ = [
    "RatioLaw",
    "bayes_threshold",
    "minimax_threshold",
    "neyman_pearson_threshold",
    "ratio_law",
]

_STEPS = 60
_NEGLIGIBLE = 1e-9
_FARTHEST = 1e200


@dataclass(frozen=True)
class RatioLaw:
    """The two errors as functions of the threshold, and a middle and a width to search from.

    Classes far apart leave many thresholds without an error to speak of: then the middle decides.
    """

    false_alarm: Callable[[float], float]
    miss: Callable[[float], float]
    middle: float
    width: float


def ratio_law(gaussians: Gaussians) -> RatioLaw:
    """Return the law of the log-likelihood ratio of two classes under each of them."""
    if gaussians.linear is not None:
        return _equal_covariances(gaussians)
    under = [_quadratic_under(gaussians, k) for k in (0, 1)]
    low, high = under
    spread = max(low.deviation + high.deviation, 2.0**-1000)
    return RatioLaw(
        lambda q: _settled(1.0 - low.at_most(q)),
        lambda q: _settled(high.at_most(q)),
        # As many deviations from either mean.
        (low.mean * high.deviation + high.mean * low.deviation) / spread,
        max(low.deviation, high.deviation, abs(high.mean - low.mean), 1e-12),
    )


def _settled(probability: float) -> float:
    """Return 0 for what the quadratic form does not tell from 0."""
    return probability if probability > _NEGLIGIBLE else 0.0


def _equal_covariances(gaussians: Gaussians) -> RatioLaw:
    W, _ = gaussians.linear  # type: ignore[misc]
    with np.errstate(over="ignore"):
        square = float((W[1] - W[0]) @ (gaussians.means[1] - gaussians.means[0]))
    D = math.sqrt(min(max(square, 0.0), _FARTHEST))
    if D == 0.0:  # the classes cannot be distinguished: r is 0 always
        return RatioLaw(lambda q: float(q < 0.0), lambda q: float(q >= 0.0), 0.0, 1.0)
    return RatioLaw(
        lambda q: float(ndtr(-q / D - 0.5 * D)), lambda q: float(ndtr(q / D - 0.5 * D)), 0.0, D
    )


def _quadratic_under(gaussians: Gaussians, k: int) -> QuadraticForm:
    """Write r(x) for x = m_k + L y, C_k = L L', as a quadratic function of y ~ N(0, I)."""
    C = [gaussians.covariance(j) for j in (0, 1)]
    L = np.linalg.cholesky(C[k])
    Q = np.zeros_like(L)
    linear: FloatArray = np.zeros(len(L))
    constant = float(gaussians.log_roots[0] - gaussians.log_roots[1])
    for j, sign in ((0, 1.0), (1, -1.0)):
        root = np.linalg.cholesky(C[j])
        spread = sl.solve_triangular(root, L, lower=True)
        away = sl.solve_triangular(root, gaussians.means[k] - gaussians.means[j], lower=True)
        Q += 0.5 * sign * (spread.T @ spread)
        linear += sign * (spread.T @ away)
        constant += 0.5 * sign * float(away @ away)
    return QuadraticForm(Q, linear, constant)


def _crossing(falling: Callable[[float], float], law: RatioLaw) -> float:
    """Return where a function that does not rise with q goes through 0."""
    low = high = law.middle
    width = law.width
    if falling(low) == 0.0:
        return low
    for _ in range(_STEPS):
        if falling(low) >= 0.0:
            break
        low, width = low - width, 2.0 * width
    width = law.width
    for _ in range(_STEPS):
        if falling(high) <= 0.0:
            break
        high, width = high + width, 2.0 * width
    if not falling(low) >= 0.0 >= falling(high):
        return low if falling(low) < 0.0 else high
    return float(brentq(falling, low, high, xtol=1e-12, rtol=1e-14, maxiter=500))


def bayes_threshold(priors: FloatArray, loss_threshold: float) -> float:
    """Return the threshold of Bayes' rule: log-odds of the losses less those of the priors."""
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    return float(loss_threshold + log_priors[0] - log_priors[1])


def minimax_threshold(law: RatioLaw, loss: FloatArray) -> float:
    """Return the threshold at which both classes lose the same on average."""

    def difference(q: float) -> float:
        a, b = law.false_alarm(q), law.miss(q)
        first = loss[1, 0] * a + loss[0, 0] * (1.0 - a)
        second = loss[0, 1] * b + loss[1, 1] * (1.0 - b)
        return float(first - second)

    return _crossing(difference, law)


def neyman_pearson_threshold(law: RatioLaw, bound: float, bounded: int) -> float:
    """Return the threshold at which the error on class `bounded` is the bound."""
    if bounded == 0:
        return _crossing(lambda q: law.false_alarm(q) - bound, law)
    return _crossing(lambda q: bound - law.miss(q), law)
