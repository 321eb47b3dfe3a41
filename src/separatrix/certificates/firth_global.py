"""When Firth's maximum is the highest: far out the value is lower, and the rest is concave.

In the coordinates of a metric at a point, rows s_i, let M >= |s_i|, gamma >= |plain score|, and
eps >= |information - 1|.

**Far out.** p (1 - p) is at most 1/4, so that the penalty is nowhere above 1/2 log |X'WX / 4|: by
some number c above that of the point. At a distance t the plain log-likelihood is lower by

    (1 - eps) t^2 phi(M t) - gamma t,   phi(x) = (e^-x + x - 1) / x^2

at least (Bach 2010). It is concave: if that is above c, no point farther out has a higher value.

**Within.** The negative Hessian is at least 1 - 1/2 max (1 - 6 v)+ q times the information, and q
grows by e^(M t) at most. Where that is positive the value is concave, with one maximum.
"""

from __future__ import annotations

import numpy as np

from separatrix.certificates.enclosed_functions import exp, log
from separatrix.certificates.enclosure import Enclosure, safely
from separatrix.certificates.likelihood_bounds import At, Metric, NoProof, Rows, gram, norm, up
from separatrix.certificates.small_matrices import log_determinants

_FIRST, _LARGER, _FARTHEST = 0.25, 1.25, 4.0  # distances that are tried; the last is of M t
_LONG = 2.0  # squares of rows from which on the value may not be concave


def is_only_maximum(rows: Rows, metric: Metric) -> bool:
    """Whether no maximum is as high as the one next to the metric's point."""
    if metric.longest**2 > _LONG and not _may_be_concave(metric):
        return False
    steps = np.arange(np.log(max(_FARTHEST / (_FIRST * metric.longest), 1.0)) / np.log(_LARGER))
    distances = _FIRST * _LARGER**steps
    if not len(distances):
        return False
    falls = _falls(distances, norm(metric.score), metric)
    for bound in (_rough_gain, _penalty_gain):
        try:
            enough = np.flatnonzero(falls > bound(rows, metric))
        except NoProof:
            return False
        if len(enough) and _is_concave(rows, metric, float(distances[enough[0]])):
            return True
    return False


def _may_be_concave(metric: Metric) -> bool:
    """Whether the value is about concave at the point: no claim rests on this."""
    q, v = metric.lengths.middle**2, metric.at.v.middle
    return bool((((1.0 - 6.0 * v) * q).max(initial=0.0)) < 2.0)


def _rough_gain(rows: Rows, metric: Metric) -> float:
    """Bound by how much the penalty may be above that of the point, quickly.

    The determinant of d x d matrices is at most that of trace / d times the identity.
    """
    d = len(metric.R)
    squares = metric.lengths.high**2 * rows.weights
    trace = Enclosure.exact(safely(0.25 * squares.sum())) / (1.0 - Enclosure.exact(metric.eps))
    return up((log(trace / float(d)) * float(d)).halved())


def _penalty_gain(rows: Rows, metric: Metric) -> float:
    """Bound by how much the penalty may be above that of the point.

    The point's own is log |1 + excess|: the trace of the excess, give or take eps^2 / (1 - eps).
    """
    quarter = metric.S * Enclosure.exact(rows.weights[:, None]).scaled(-2)
    whole = log_determinants(gram(metric.S, quarter)[None])[0]
    eps = Enclosure.exact(np.float64(metric.eps))
    own = metric.excess.diagonal().sum() - eps.square() / (1.0 - eps)
    return up((whole - own).halved())


def _falls(t: np.ndarray, gamma: Enclosure, metric: Metric) -> np.ndarray:
    """Return by how much at least the plain log-likelihood is lower at each distance."""
    x = Enclosure.exact(metric.longest) * t
    phi = (exp(-x) + x - 1.0) / x.square()
    least = (1.0 - Enclosure.exact(metric.eps)) * phi * Enclosure.exact(t).square()
    return np.asarray((least - gamma * t).low)


def _is_concave(rows: Rows, metric: Metric, t: float) -> bool:
    """Whether the penalised value is concave all over the ball."""
    eps = Enclosure.exact(metric.eps)
    longest = Enclosure.exact(metric.longest)
    grown = exp(longest / (1.0 - eps).root() * t)
    if up((longest.square() / (1.0 - eps) * grown).halved()) < 1.0:
        return True
    at = At(rows, metric.at.beta, metric.reach(t))
    q = metric.lengths.square() / (1.0 - eps) * grown
    return up(((1.0 - 6.0 * at.v).at_least(0.0) * q).halved()) < 1.0
