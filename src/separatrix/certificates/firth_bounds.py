"""Roots of Firth's score, and of the equations of a profile's end, proved by contraction.

Let F be a system, Y any matrix, a >= |Y F| at the point and b >= |1 - Y J| for the Jacobian J at
every point of a ball. If b < 1 and a / (1 - b) is within the ball, F has exactly one root in the
ball, and it is that close to the point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from separatrix.certificates.enclosed_sums import row_sums
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.likelihood_bounds import FirthAt, NoProof, norm, up

Proved = TypeVar("Proved")

_FIRST_BALL = 1e-9
_LARGEST_BALL = 1e-2
_SMALL_BEND = 0.25


@dataclass(frozen=True)
class Root:
    """How far the root is in the metric of the point, and the value there."""

    radius: float
    low: float
    high: float


def _times(Y: np.ndarray, A: Enclosure) -> Enclosure:
    """Enclose Y A."""
    return row_sums(np.ascontiguousarray(Y.T), A)


def _size(Y: np.ndarray) -> float:
    return up(norm(Enclosure.exact(Y)))


def _in_some_ball(prove: Callable[[float], Proved]) -> Proved:
    """Prove within a small ball, else within larger ones."""
    ball = _FIRST_BALL
    while True:
        try:
            return prove(ball)
        except NoProof:
            ball *= 100.0
            if ball > _LARGEST_BALL:
                raise


def root_near(firth: FirthAt, free: int) -> Root:
    """Prove a maximum in the first `free` coordinates, the others held."""
    return _in_some_ball(lambda ball: _root_within(firth, free, ball))


def _root_within(firth: FirthAt, free: int, ball: float) -> Root:
    u = firth.score[:free]
    eps, bend = firth.bend(ball)
    if bend < _SMALL_BEND:
        step, off = up(norm(u)), up(Enclosure.exact(eps) + bend)
        steep = up(Enclosure.exact(off) + 1.0)
    else:
        A = firth.hessian(ball)[:free, :free]
        middle = A.middle
        L = _cholesky(middle)
        inverse = np.linalg.inv(middle)
        turn = np.ascontiguousarray(np.linalg.inv(L))
        # A is positive definite at every point of the ball: the root is a maximum.
        turned = _times(turn, _times(turn, A).T)
        if not up(norm(turned - np.eye(free))) < 1.0:
            raise NoProof("the penalised likelihood is not concave here")
        off = up(norm(_times(inverse, A) - np.eye(free)))
        step = up(norm(_times(inverse, u[:, None])))
        steep = up(norm(A))
    radius = _within(step, off, ball)
    r = Enclosure.exact(radius)
    change = up(norm(u) * r + (r.square() * steep).halved())
    value = firth.value
    return Root(
        radius,
        float(Enclosure.around(value.low, change).low),
        float(Enclosure.around(value.high, change).high),
    )


def _cholesky(A: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise NoProof("the penalised likelihood is not concave here") from None


def _within(step: float, off: float, ball: float) -> float:
    """Return how far the root is; refuse where that is not within the ball."""
    if not off < 1.0:
        raise NoProof("no contraction")
    radius = up(Enclosure.exact(step) / (1.0 - Enclosure.exact(off)))
    if not radius < ball:
        raise NoProof("the point is too far from the root")
    return radius


def end_near(firth: FirthAt, level: Enclosure) -> float:
    """Prove that the value is at the level and the free score zero, next to the point.

    The last coefficient is the one profiled; return how far the root is.
    """
    return _in_some_ball(lambda ball: _end_within(firth, level, ball))


def _end_within(firth: FirthAt, level: Enclosure, ball: float) -> float:
    u = firth.score
    k = u.shape[0]
    eps, bend = firth.bend(ball)
    if bend < _SMALL_BEND:
        A = Enclosure.exact(np.eye(k))
        loose = up(Enclosure.exact(eps) + bend)  # |A - 1| in the ball
    else:
        A, loose = firth.hessian(ball), 0.0
    steep = up(norm(A)) if loose == 0.0 else up(Enclosure.exact(loose) + 1.0)
    moved = up(Enclosure.exact(steep) * ball)
    wide = Enclosure(Enclosure.around(u.low, moved).low, Enclosure.around(u.high, moved).high)
    J = Enclosure.joined([wide[None, :], -A[: k - 1]])
    try:
        Y = np.linalg.inv(np.vstack([u.middle[None, :], -A.middle[: k - 1]]))
    except np.linalg.LinAlgError:
        raise NoProof("the system of the end is singular") from None
    off = norm(_times(Y, J) - np.eye(k)) + Enclosure.exact(_size(Y[:, 1:])) * loose
    F = Enclosure.joined([(firth.value - level)[None], u[: k - 1]])
    step = up(norm(_times(Y, F[:, None])))
    return _within(step, up(off), ball)
