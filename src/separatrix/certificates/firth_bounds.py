"""Roots of Firth's score, free or with a coefficient held, and ends of profiles, by contraction.

Let F be a system, Y any matrix, a >= |Y F| at the point and b >= |1 - Y J| for the Jacobian J at
every point of a ball of radius 2 a. If b < 1/2, F has exactly one root in the ball, and it is
within a / (1 - b) of the point.

The unknowns are the coordinates xi of a point and a number mu. With u the score, A the negative
Hessian, c the linear form of the coefficient at unit length, and a float m near its multiplier:

    free   u = 0,               mu = 0           J = (-A,  0;  0, 1)
    null   u - (m + mu) c = 0,  c'xi = 0         J = (-A, -c; c', 0)
    end    u - (m + mu) c = 0,  value = level    J = (-A, -c; u', 0)

A root with the coefficient held is a maximum if A + t c c' is positive definite for some t.

When Firth's maximum is the highest: far out the value is lower, and the rest is concave.

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

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from separatrix.certificates.enclosed_functions import exp, log
from separatrix.certificates.enclosed_sums import stacked_products
from separatrix.certificates.enclosure import Enclosure, safely
from separatrix.certificates.firth_points import (
    FirthPoints,
    inverses,
    lengths_of,
    log_determinants,
    turned,
)
from separatrix.certificates.likelihood_bounds import (
    At,
    Metric,
    NoProof,
    Rows,
    gram,
    metric_at,
    norm,
    top_near,
    up,
    widened,
)

_HELD = 1e3  # t
_FAR = 30.0  # in the linear predictor, from which on points have a metric of their own
FREE, NULL, END = "free", "null", "end"
NO_LEVEL = Enclosure.exact(np.float64(0.0))


@dataclass(frozen=True)
class Root:
    """How far the root is, how far its coefficient, the value there, and which way that grows."""

    radius: float  # in the information of the point: |d|^2 = d'Hd
    reach: float
    value: Enclosure
    slope: float  # about the held coefficient's; 0 where its sign is not proved


@dataclass(frozen=True)
class Near:
    """A point next to a root: of which kind, and which coefficient is held or profiled."""

    kind: str
    point: tuple[float, ...]
    held: int = -1


class Roots:
    """Proves the roots next to several points, all in one metric where that is good enough."""

    def __init__(self, rows: Rows, metric: Metric) -> None:
        self.rows, self.metric = rows, metric
        self._systems: dict[Near, tuple[_Systems, int]] = {}
        self._alone: dict[Near, _Systems] = {}

    def add(self, listed: list[Near]) -> None:
        """Look at the points that are not far from the metric's together."""
        listed = list(dict.fromkeys(listed))
        points = np.array([each.point for each in listed])
        moved = abs(self.rows.X @ (points - self.metric.at.beta).T).max(axis=0, initial=0.0)
        near = [each for each, far in zip(listed, moved, strict=True) if far < _FAR]
        with suppress(NoProof):
            systems = _Systems(self.rows, self.metric, near)
            self._systems = {each: (systems, k) for k, each in enumerate(near)}

    def root(self, near: Near, level: Enclosure = NO_LEVEL) -> Root:
        """Return what is proved of one of them; an end has its level."""
        if near in self._systems:
            systems, k = self._systems[near]
            found = systems.root(k, level)
            if found is not None:
                return found
        if near not in self._alone:
            metric = metric_at(self.rows, np.array(near.point))
            self._alone[near] = _Systems(self.rows, metric, [near], exact=True)
        found = self._alone[near].root(0, level)
        if found is None:
            raise NoProof("the point is too far from a root, or the root is not simple")
        return found


class _Solved(NamedTuple):
    """Which systems are solved, how far their roots and coefficients are, and the values there."""

    good: np.ndarray
    radius: np.ndarray
    stretched: np.ndarray  # the radius in the information of the point
    reach: np.ndarray
    value: Enclosure


class _Systems:
    """The systems of points that share a metric."""

    def __init__(self, rows: Rows, metric: Metric, near: list[Near], exact: bool = False) -> None:
        points = FirthPoints(rows, metric, np.array([each.point for each in near]), exact)
        self.points, self.near = points, near
        self.is_end = np.array([each.kind == END for each in near])
        held = np.array([each.held for each in near])
        self.is_held = held >= 0
        forms = np.eye(points.points.shape[1])[held] * self.is_held[:, None]
        form = points.turned_form(forms)[:, 0, :]
        self.lengths = lengths_of(form)
        unit = 1.0 / np.where(self.is_held, np.linalg.norm(form.middle, axis=1), 1.0)
        self.c = form * unit[:, None]
        u, c = points.score.middle, self.c.middle
        self.m = np.einsum("ka,ka->k", u, c)
        self.left = points.score - self.c * self.m[:, None]  # u - m c
        self.A, self.off = points.hessian
        self._invert()
        self._found: dict[tuple[float, float], _Solved] = {}

    def _invert(self) -> None:
        """Invert the Jacobians at the points; bound by how much they are missed."""
        (K, d), u, c = self.points.points.shape, self.points.score, self.c
        ends = self.is_end[:, None]
        low, high = np.zeros((2, K, d + 1, d + 1))
        low[:, :d, :d] = high[:, :d, :d] = -self.A
        low[:, :d, d], high[:, :d, d] = -c.high, -c.low
        low[:, d, :d] = np.where(ends, u.low, c.low)
        high[:, d, :d] = np.where(ends, u.high, c.high)
        low[:, d, d] = high[:, d, d] = np.where(self.is_held, 0.0, 1.0)
        J = Enclosure(low, high)
        self.Y = inverses(J.middle)
        self.rest = lengths_of(stacked_products(self.Y, J) - np.eye(d + 1))
        self.first, self.last = (
            lengths_of(Enclosure.exact(part)) for part in (self.Y[:, :, :d], self.Y[:, :, d:])
        )

    @cached_property
    def _bowls(self) -> tuple[np.ndarray, np.ndarray]:
        """Turn A, with the held form's square added, to nearly the identity; ends need no bowl.

        Return how far it is from it, and by how much the turn stretches what A lacks.
        """
        far, stretch = np.full((2, len(self.near)), np.inf)
        chosen = np.flatnonzero(~self.is_end)
        c, eye = self.c[chosen], np.eye(self.A.shape[1])
        B = Enclosure.exact(self.A[chosen]) + (c[:, :, None] * c[:, None, :]) * _HELD
        turn = np.zeros(B.shape)
        for k, middle in enumerate(B.middle):
            with suppress(np.linalg.LinAlgError):
                turn[k] = np.linalg.inv(np.linalg.cholesky(middle))
        size = lengths_of(Enclosure.exact(turn))
        far[chosen] = lengths_of(turned(turn, B) - eye)
        stretch[chosen] = safely(size * size)
        return far, stretch

    def root(self, k: int, level: Enclosure) -> Root | None:
        """Return the root next to a point; None where there is no proof."""
        name = float(level.low), float(level.high)
        if name not in self._found:
            with np.errstate(all="ignore"):
                self._found[name] = self._solved(level)
        found = self._found[name]
        if not found.good[k]:
            return None
        m, radius = float(self.m[k]), float(found.radius[k])
        slope = m if abs(m) > radius else 0.0
        return Root(float(found.stretched[k]), float(found.reach[k]), found.value[k], slope)

    def _solved(self, level: Enclosure) -> _Solved:
        value, left = self.points.value, self.left
        above = value - level
        last = Enclosure(*(np.where(self.is_end, one, 0.0) for one in (above.low, above.high)))
        F = Enclosure(np.c_[left.low, last.low], np.c_[left.high, last.high])
        step = lengths_of(stacked_products(self.Y, F[:, :, None]))
        ball = safely(2.0 * step)
        loose = safely(self.off + self.points.change(ball))
        size = lengths_of(Enclosure.exact(self.A))
        steep = safely(np.where(self.points.bend < self.points.small, 1.0, size) + loose)
        off = safely(
            self.rest + self.first * loose + np.where(self.is_end, self.last * steep * ball, 0.0)
        )
        good = (off < 0.5) & (self.is_end | self._are_maxima(loose))
        radius = safely(step / (1.0 - off))
        change = safely(lengths_of(left) * radius + 0.5 * steep * radius * radius)
        stretched = safely(radius * np.sqrt(1.0 + self.points.eps))
        reach = safely(self.lengths * radius)
        return _Solved(good, radius, stretched, reach, widened(value, change))

    def _are_maxima(self, loose: np.ndarray) -> np.ndarray:
        """Whether A is positive definite, with the held form's square added, all over the ball."""
        small = (self.points.bend < self.points.small) & (loose < 1.0)
        if small[~self.is_end].all():
            return small
        far, stretch = self._bowls
        return small | (safely(far + stretch * loose) < 1.0)


# ---- when Firth's maximum is the highest: far out the value is lower, and the rest is concave


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


# ---- what bounds the profile of one coefficient next to an end of its interval


class Profile(NamedTuple):
    """The point of an end, the rows and columns that count, and a metric if there is one."""

    beta: np.ndarray
    rows: Rows
    metric: Metric | None
    place: int

    @property
    def along(self) -> np.ndarray:
        """How the others move with the coefficient; its length is that of a standard error."""
        if self.metric is None:
            return np.eye(len(self.beta))[self.place]
        return np.asarray(self.metric.R @ self.metric.R[self.place])

    @property
    def unit(self) -> float:
        """About a standard error of the coefficient."""
        return float(np.sqrt(self.along[self.place]))

    def moved(self, t: float) -> At:
        """Return the point with the coefficient at a value."""
        along = self.along
        found = self.beta + along / along[self.place] * (t - self.beta[self.place])
        found[self.place] = t
        return At(self.rows, found)

    def highest(self, t: float, below: float) -> float:
        """Bound the largest value with the coefficient at t.

        A ridge alone bounds it: no log-likelihood is above zero. That decides where the classes
        are so far apart that no row has a variance.
        """
        ridge = Enclosure.exact(np.float64(t)).square() * self.rows.ridge[self.place]
        plain = up(-ridge.halved())
        if self.metric is None or plain < below:
            return plain
        return up(top_near(self.moved(t), self.metric, held=self.place).value)
