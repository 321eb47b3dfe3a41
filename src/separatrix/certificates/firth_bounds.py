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
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from separatrix.certificates.enclosed_sums import stacked_products
from separatrix.certificates.enclosure import Enclosure, safely
from separatrix.certificates.firth_points import FirthPoints
from separatrix.certificates.likelihood_bounds import Metric, NoProof, Rows, metric_at, widened
from separatrix.certificates.small_matrices import inverses, lengths_of

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
        once = stacked_products(turn, B)._each(lambda ends: ends.transpose(0, 2, 1))
        size = lengths_of(Enclosure.exact(turn))
        far[chosen] = lengths_of(stacked_products(turn, once) - eye)
        stretch[chosen] = safely(size * size)
        return far, stretch

    def root(self, k: int, level: Enclosure | None) -> Root | None:
        """Return the root next to a point; None where there is no proof."""
        name = (0.0, 0.0) if level is None else (float(level.low), float(level.high))
        if name not in self._found:
            with np.errstate(all="ignore"):
                self._found[name] = self._solved(Enclosure(*map(np.float64, name)))
        found = self._found[name]
        if not found.good[k]:
            return None
        ends = float(found.value.low[k]), float(found.value.high[k])
        m, radius = float(self.m[k]), float(found.radius[k])
        slope = m if abs(m) > radius else 0.0
        return Root(float(found.stretched[k]), float(found.reach[k]), *ends, slope)

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
