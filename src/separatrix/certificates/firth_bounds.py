"""Roots of Firth's score, free or with a coefficient held, and ends of profiles, by contraction.

Let F be a system, Y any matrix, a >= |Y F| at the point and b >= |1 - Y J| for the Jacobian J at
every point of a ball. If b < 1 and a / (1 - b) is within the ball, F has exactly one root in the
ball, and it is that close to the point.

The unknowns are the coordinates xi of a point and a number mu. With u the score, A the negative
Hessian, c the linear form of the coefficient at unit length, and a float m near its multiplier:

    free   u = 0,               mu = 0           J = (-A,  0;  0, 1)
    null   u - (m + mu) c = 0,  c'xi = 0         J = (-A, -c; c', 0)
    end    u - (m + mu) c = 0,  value = level    J = (-A, -c; u', 0)

A root with the coefficient held is a maximum if A + t c c' is positive definite for some t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.enclosed_sums import stacked_products
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.firth_points import (
    Ball,
    FirthPoints,
    lengths_of,
    widened,
)
from separatrix.certificates.likelihood_bounds import Metric, NoProof, Rows, metric_at

_BALLS = (1e-9, 1e-7, 1e-5, 1e-3, 1e-2)
_SMALL_BEND = 0.25
_HELD = 1e3  # t
_FAR = 30.0  # in the linear predictor, from which on points have a metric of their own
FREE, NULL, END = "free", "null", "end"


@dataclass(frozen=True)
class Root:
    """How far the root is, how far its coefficient, the value there, and which way that grows."""

    radius: float  # in the information of the point: |d|^2 = d'Hd
    reach: float
    low: float
    high: float
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
        new = [each for each in dict.fromkeys(listed) if each not in self._systems]
        if not new:
            return
        points = np.array([each.point for each in new])
        moved = abs(self.rows.X @ (points - self.metric.at.beta).T).max(axis=0, initial=0.0)
        near = [each for each, far in zip(new, moved, strict=True) if far < _FAR]
        try:
            systems = _Systems(self.rows, self.metric, near) if near else None
        except NoProof:
            return
        if systems is not None:
            self._systems |= {each: (systems, k) for k, each in enumerate(near)}

    def root(self, near: Near, level: Enclosure | None = None) -> Root:
        """Return what is proved of one of them; an end has its level."""
        if near in self._systems:
            systems, k = self._systems[near]
            found = systems.root(k, level, _BALLS[:2])
            if found is not None:
                return found
        if near not in self._alone:
            metric = metric_at(self.rows, np.array(near.point))
            self._alone[near] = _Systems(self.rows, metric, [near])
        found = self._alone[near].root(0, level, _BALLS)
        if found is None:
            raise NoProof("the point is too far from a root, or the root is not simple")
        return found


class _Systems:
    """The systems of points that share a metric."""

    def __init__(self, rows: Rows, metric: Metric, near: list[Near]) -> None:
        points = FirthPoints(rows, metric, np.array([each.point for each in near]))
        self.points, self.near = points, near
        self.is_end = np.array([each.kind == END for each in near])
        held = np.array([each.held for each in near])
        self.is_held = held >= 0
        forms = np.eye(points.points.shape[1])[held] * self.is_held[:, None]
        form = points.turned_form(forms)[:, 0, :]
        self.lengths = lengths_of(form)
        unit = 1.0 / np.where(self.is_held, self.lengths, 1.0)
        self.c = form * unit[:, None]
        u, c = points.score.middle, self.c.middle
        self.m = np.einsum("ka,ka->k", u, c)
        self.left = points.score - self.c * self.m[:, None]  # u - m c
        self._balls: dict[float, _Solved] = {}

    def root(self, k: int, level: Enclosure | None, balls: tuple[float, ...]) -> Root | None:
        """Return the root next to a point; None where there is no proof in any of the balls."""
        for radius in balls:
            if radius not in self._balls:
                self._balls[radius] = _Solved(self, radius)
            found = self._balls[radius].root(k, level)
            if found is not None:
                return found
        return None


class _Solved:
    """The systems of all points for balls of one radius."""

    def __init__(self, systems: _Systems, radius: float) -> None:
        self.systems, self.radius = systems, radius
        self._found: dict[tuple[float, float], Any] = {}
        ball, points = Ball(systems.points, radius), systems.points
        K, d = points.points.shape
        small = ball.bend < _SMALL_BEND
        eye = np.broadcast_to(np.eye(d), (K, d, d))
        # |A - 1| at most, where the penalty bends little; else A itself is enclosed.
        self.loose = np.where(small, (Enclosure.exact(ball.eps) + ball.bend).high, 0.0)
        A = Enclosure.exact(eye)
        if not small.all():
            exact = ball.hessian
            chosen = small[:, None, None]
            A = Enclosure(np.where(chosen, eye, exact.low), np.where(chosen, eye, exact.high))
        self.steep = np.where(small, (Enclosure.exact(self.loose) + 1.0).high, lengths_of(A))
        self.maximum = small | self._positive(A)
        self._solve(A)

    def _positive(self, A: Enclosure) -> np.ndarray:
        """Whether A is positive definite, with the held form's square added, all over the ball."""
        c = self.systems.c
        B = A + (c[:, :, None] * c[:, None, :]) * _HELD
        good = np.zeros(len(self.loose), dtype=bool)
        turn = np.zeros(B.shape)
        for k, middle in enumerate(B.middle):
            try:
                turn[k] = np.linalg.inv(np.linalg.cholesky(middle))
                good[k] = True
            except np.linalg.LinAlgError:
                continue
        once = stacked_products(turn, B)._each(lambda ends: ends.transpose(0, 2, 1))
        twice = stacked_products(turn, once)
        return good & (lengths_of(twice - np.eye(B.shape[1])) < 1.0)

    def _solve(self, A: Enclosure) -> None:
        systems = self.systems
        K, d = systems.points.points.shape
        moved = (Enclosure.exact(self.steep) * self.radius).high
        u, c = widened(systems.points.score, moved[:, None]), systems.c
        ends = systems.is_end[:, None]
        low = np.zeros((K, d + 1, d + 1))
        high = np.zeros((K, d + 1, d + 1))
        low[:, :d, :d], high[:, :d, :d] = -A.high, -A.low
        low[:, :d, d], high[:, :d, d] = -c.high, -c.low
        low[:, d, :d] = np.where(ends, u.low, c.low)
        high[:, d, :d] = np.where(ends, u.high, c.high)
        low[:, d, d] = high[:, d, d] = np.where(systems.is_held, 0.0, 1.0)
        J = Enclosure(low, high)
        self.Y = np.full(J.shape, np.nan)
        for k, middle in enumerate(J.middle):
            try:
                self.Y[k] = np.linalg.inv(middle)
            except np.linalg.LinAlgError:
                continue
        rest = lengths_of(stacked_products(self.Y, J) - np.eye(d + 1))
        first = lengths_of(Enclosure.exact(self.Y[:, :, :d]))
        self.off = (Enclosure.exact(rest) + Enclosure.exact(first) * self.loose).high

    def root(self, k: int, level: Enclosure | None) -> Root | None:
        """Return the root next to a point; None where there is no proof in this ball."""
        name = (0.0, 0.0) if level is None else (float(level.low), float(level.high))
        if name not in self._found:
            self._found[name] = self._roots(Enclosure(*map(np.float64, name)))
        good, radius, reach, value = self._found[name]
        if not good[k]:
            return None
        ends = float(value.low[k]), float(value.high[k])
        m = float(self.systems.m[k])
        return Root(float(radius[k]), float(reach[k]), *ends, m if abs(m) > self.radius else 0.0)

    def _roots(self, level: Enclosure) -> Any:
        """Return which systems are solved, how far their roots and coefficients are, the values."""
        systems, value = self.systems, self.systems.points.value
        above, left = value - level, systems.left
        last = Enclosure(*(np.where(systems.is_end, one, 0.0) for one in (above.low, above.high)))
        F = Enclosure(np.c_[left.low, last.low], np.c_[left.high, last.high])
        step = Enclosure.exact(lengths_of(stacked_products(self.Y, F[:, :, None])))
        radius = (step / (1.0 - Enclosure.exact(self.off))).high
        good = (self.off < 1.0) & (systems.is_end | self.maximum) & (radius < self.radius)
        r = Enclosure.exact(radius)
        change = Enclosure.exact(lengths_of(left)) * r + (r.square() * self.steep).halved()
        reach = (Enclosure.exact(systems.lengths) * r).high
        stretched = r * (1.0 + Enclosure.exact(systems.points.eps)).root()
        return good, stretched.high, reach, widened(value, change.high)
