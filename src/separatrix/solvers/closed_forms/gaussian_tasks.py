"""Deciding between two Gaussian classes where priors are unknown.

A strategy compares the log-likelihood ratio r(x) = log p(x|1) - log p(x|0) with a threshold q:

    false alarm  a(q) = P(r > q | 0)  falls with q,      miss  b(q) = P(r <= q | 1)  rises

    minimax           min over q of  max( W(1,0) a + W(0,0)(1 - a),  W(0,1) b + W(1,1)(1 - b) )
    Neyman-Pearson    min of one error subject to  the other <= bound

Minimax is Bayes' rule for the priors under which Bayes' rule does worst; both lie where the two
conditional risks are equal. Neyman-Pearson lies where the bound is met exactly.

For one covariance C, r is Gaussian with variance D^2 = (m_1 - m_0)' C^-1 (m_1 - m_0) and mean
-D^2/2 or +D^2/2, so a(q) = Phi(-q/D - D/2) and b(q) = Phi(q/D - D/2). Else r is a quadratic
function, and its distribution is that of a `QuadraticForm`.

The distribution of a quadratic function of a Gaussian vector,

    P( sum_i a_i (z_i + c_i)^2  +  s z_0  +  t  <=  x ),     z_0, z_1, ... independent N(0, 1),

comes from its characteristic function (Gil-Pelaez, 1951; Imhof, 1961) by the midpoint rule (Davies,
1973). It errs by about 1e-8 for squares of like size, and by up to 1e-3 at the edge of one that
outweighs all others ten thousand times. One square alone is done by the normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as sl
from scipy.optimize import brentq
from scipy.special import ndtr

from separatrix.problem.signed import FloatArray
from separatrix.solvers.closed_forms.gaussian import Gaussians

__all__ = [
    "QuadraticForm", "bayes_threshold", "minimax_threshold", "neyman_pearson_threshold",
    "ratio_law",
]  # fmt: skip

_STEPS = 60
_NEGLIGIBLE = 1e-9
_FARTHEST = 1e200
_FLAT = 1e-12
# In standard deviations: beyond 40 lies less than e^-20, and sums of this spacing repeat after 80.
_FAR, _SPACING, _POINTS = 40.0, 2.0 * np.pi / 80.0, 100_000
_VANISHED = -32.0  # the logarithm of a term too small to count


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


# ---- the distribution of a quadratic function of a Gaussian vector


class QuadraticForm:
    """The law of ``y'Q y + l.y + t`` for y ~ N(0, I).

    >>> form = QuadraticForm(np.eye(2), np.zeros(2), 0.0)  # chi-squared with 2 degrees
    >>> round(form.at_most(2.0), 6), round(float(1 - np.exp(-1.0)), 6)
    (0.632121, 0.632121)
    """

    def __init__(self, Q: FloatArray, linear: FloatArray, constant: float) -> None:
        values, vectors = np.linalg.eigh(0.5 * (Q + Q.T))
        slopes = vectors.T @ linear
        # A square whose centre lies far beyond the rows is a straight line to them.
        curved = np.abs(values) > _FLAT * (np.abs(values).max(initial=0.0) + np.abs(slopes))
        self.scales = values[curved]
        self.centres = 0.5 * slopes[curved] / self.scales
        self.spread = float(np.sqrt((slopes[~curved] ** 2).sum()))
        self.shift = float(constant - (self.scales * self.centres**2).sum())

    @property
    def mean(self) -> float:
        """The expected value."""
        return float(self.shift + (self.scales * (1.0 + self.centres**2)).sum())

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        squares = 2.0 * self.scales**2 * (1.0 + 2.0 * self.centres**2)
        return float(np.sqrt(squares.sum() + self.spread**2))

    def at_most(self, x: float) -> float:
        """Return the probability of a value up to x."""
        if len(self.scales) == 0:
            if self.spread == 0.0:
                return float(x >= self.shift)
            return float(ndtr((x - self.shift) / self.spread))
        if len(self.scales) == 1 and self.spread == 0.0:
            return self._one_square(x)
        return self._by_inversion(x)

    def _one_square(self, x: float) -> float:
        a, c = float(self.scales[0]), float(self.centres[0])
        square = (x - self.shift) / a
        if square <= 0.0:
            return 0.0 if a > 0.0 else 1.0
        root = np.sqrt(square)
        inside = float(ndtr(root - c) - ndtr(-root - c))
        return inside if a > 0.0 else 1.0 - inside

    def _by_inversion(self, x: float) -> float:
        at = (x - self.mean) / self.deviation
        if abs(at) > _FAR:
            return float(at > 0.0)
        points, sizes, phases = self._characteristic
        terms = np.sin(phases - points * at) * sizes
        return float(min(max(0.5 - terms.sum() / np.pi, 0.0), 1.0))

    @cached_property
    def _characteristic(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return points u, |phi| du / u and the phase of phi there, for the form standardised."""
        a, s = self.scales / self.deviation, self.spread / self.deviation
        centre = (self.shift - self.mean) / self.deviation
        square = self.centres**2
        points = (np.arange(_POINTS) + 0.5) * _SPACING
        sizes, phases = -0.5 * (s * points) ** 2, centre * points
        for scale, far in zip(a, square, strict=True):
            # phi of a square turns by atan/2 + c^2 (angle/2) / weight, and shrinks by its share.
            angles = 2.0 * scale * points
            weight = 1.0 + angles**2
            phases += 0.5 * (np.arctan(angles) + far * angles / weight)
            sizes -= 0.25 * np.log(weight) + 0.5 * far * angles**2 / weight
        count = int(np.searchsorted(-sizes, -_VANISHED)) if (sizes < _VANISHED).any() else _POINTS
        sizes = np.exp(sizes[:count]) / (np.arange(count) + 0.5)
        return points[:count], sizes, phases[:count]
