"""Bounds on a logistic (penalised) log-likelihood and its maximum, from any point near it.

Rows x_i, labels, weights w and an offset; eta = X beta + offset, p the probabilities,
v = p (1 - p). R is any matrix for which R' H R is near the identity, H the information
X' diag(w v) X, with the ridge's matrix where there is one. In the coordinates delta of
beta + R delta the rows are s_i = R'x_i, and what is needed is

    u   = R' score                   enclosed
    eps >= |R' H R - 1|              the Frobenius norm
    M   >= max |s_i| / sqrt(1 - eps)

**Maximum.** Along any delta the curvature falls by no more than e^-|x_i'R delta|, since that is so
of v. With gamma = |u| / sqrt(1 - eps) and g = gamma M < 1/2 the log-likelihood is therefore less
than at the point outside a ball of radius r <= gamma (1 + g), and nowhere higher by more than
gamma^2 / (2 (1 - g)) (Bach 2010, self-concordance; the bounds here are looser). The log-likelihood
is concave: this maximum is the only one. Information changes within the ball by e^(+-M r) at most.

**Another point.** With rho >= max |eta' - eta| the information there is at least e^-rho times H:
one R serves many points.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.certificates.enclosed_functions import chances, exp, softplus
from separatrix.certificates.enclosed_sums import dot_share, products, row_sums, stacked_products
from separatrix.certificates.enclosure import Enclosure, lengths_above, safely

UNSURE = 1e-3  # of a predictor, up to which one look is enough


class NoProof(ArithmeticError):
    """The bounds are too wide here to prove anything."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows, labels 0 and 1, weights, an offset, and the ridge's diagonal, zero where none."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    ridge: np.ndarray

    def part(self, rows: Any, columns: Any) -> Rows:
        """Return some rows and columns."""
        X = np.ascontiguousarray(self.X[rows][:, columns])
        y, weights, offset = self.y[rows], self.weights[rows], self.offset[rows]
        return Rows(X, y, weights, offset, self.ridge[columns])


def up(value: Any) -> float:
    """Return the upper end of a number."""
    return float(np.max(value.high))


def probabilities(eta: Enclosure) -> tuple[Enclosure, Enclosure]:
    """Enclose 1 / (1 + e^-eta) and 1 / (1 + e^eta), from one look at each end.

    Between ends that are close one look is enough: both change by a share of e^a - 1 at most, where
    eta changes by a.
    """
    off, middle = eta.radius, eta.middle
    if off.max(initial=0.0) < UNSURE:
        seen = chances(middle, off)
        above = Enclosure.around(seen.above, safely(seen.above * seen.share))
        below = Enclosure.around(seen.below, safely(seen.below * seen.below_share))
        return _sorted(middle >= 0.0, above, below)
    p, rest = _probabilities_at(eta.low)
    if eta.low is eta.high:
        return p, rest
    far, near = _probabilities_at(eta.high)
    return Enclosure(p.low, far.high), Enclosure(near.low, rest.high)


def _probabilities_at(eta: np.ndarray) -> tuple[Enclosure, Enclosure]:
    e = exp(-abs(eta))
    return _sorted(eta >= 0.0, 1.0 / (1.0 + e), e / (1.0 + e))


def _sorted(right: np.ndarray, above: Enclosure, below: Enclosure) -> tuple[Enclosure, Enclosure]:
    """Return the probabilities of label 1 and of label 0."""
    above, below = (each.at_least(0.0).at_most(1.0) for each in (above, below))
    low, high = np.where(right, above.low, below.low), np.where(right, above.high, below.high)
    other = np.where(right, below.low, above.low), np.where(right, below.high, above.high)
    return Enclosure(low, high), Enclosure(*other)


def norm(vector: Enclosure) -> Enclosure:
    """Enclose the Euclidean length of all the numbers."""
    return vector.square().sum().root()


def gram(S: Enclosure, A: Enclosure) -> Enclosure:
    """Enclose S'A for enclosed factors on both sides."""
    found, radius = row_sums(S.middle, A), S.radius
    return widened(found, row_sums(radius, A.size().high).high) if radius.any() else found


def widened(found: Enclosure, off: Any) -> Enclosure:
    """Widen numbers by `off` to either side."""
    return Enclosure(Enclosure.around(found.low, off).low, Enclosure.around(found.high, off).high)


class At:
    """What is known of the log-likelihood at one point."""

    def __init__(self, rows: Rows, beta: np.ndarray, reach: Any = None) -> None:
        self.rows, self.beta = rows, beta
        eta = products(rows.X, beta, (rows.offset,))
        if not eta.is_finite:
            raise NoProof("the linear predictor is too large")
        # With a reach: for all points whose predictor differs by so much.
        self.eta = eta if reach is None else widened(eta, reach)

    @cached_property
    def _both(self) -> tuple[Enclosure, Enclosure]:
        return probabilities(self.eta)

    @property
    def p(self) -> Enclosure:
        """The probabilities of label 1."""
        return self._both[0]

    @property
    def rest(self) -> Enclosure:
        """The probabilities of label 0."""
        return self._both[1]

    @cached_property
    def v(self) -> Enclosure:
        """The variances p (1 - p)."""
        return (self.p * self.rest).at_least(0.0)

    @cached_property
    def value(self) -> Enclosure:
        """The log-likelihood with the ridge."""
        signs = np.where(self.rows.y > 0.5, -1.0, 1.0)
        losses = softplus(self.eta.times_sign(signs)) * self.rows.weights
        found = -losses.sum()
        if self.rows.ridge.any():
            pulled = Enclosure.exact(self.beta).square() * self.rows.ridge
            found = found - pulled.sum().halved()
        return found

    @cached_property
    def residual(self) -> Enclosure:
        """w (y - p)."""
        right = self.rows.y > 0.5
        low = np.where(right, self.rest.low, -self.p.high)
        high = np.where(right, self.rest.high, -self.p.low)
        return Enclosure(low, high) * self.rows.weights

    def score(self, S: Enclosure, R: np.ndarray, extra: Enclosure | None = None) -> Enclosure:
        """Enclose R' times the gradient; `extra` is what Firth's penalty adds to the residuals."""
        a = self.residual if extra is None else self.residual + extra
        found = gram(S, a[:, None])[:, 0]
        if self.rows.ridge.any():
            found = found - row_sums(R, Enclosure.exact(self.beta) * self.rows.ridge)
        return found

    def curvature(self, S: Enclosure, R: np.ndarray) -> Enclosure:
        """Enclose R'HR: the sums of middles, and what all that is off from them adds at most."""
        weights = self.v * self.rows.weights
        middle, off, S_off = S.middle, weights.radius[:, None], S.radius
        found = row_sums(middle, middle * weights.middle[:, None], rounded=1)
        far = safely(abs(middle) + S_off)
        wide = row_sums(far, safely(far * off)).high
        mixed = row_sums(far, safely(S_off * weights.high[:, None])).high
        found = widened(found, safely(wide + mixed + mixed.T))
        if self.rows.ridge.any():
            found = found + row_sums(R, Enclosure.exact(R) * self.rows.ridge[:, None])
        return found


class Metric:
    """R, the rows in its coordinates, and how far R'HR is from the identity at a point."""

    def __init__(self, at: At, information: np.ndarray) -> None:
        self.at, rows = at, at.rows
        eye, self.R = np.eye(len(information)), np.full(information.shape, np.nan)
        with suppress(np.linalg.LinAlgError):
            L = np.linalg.cholesky(information)
            self.R = np.ascontiguousarray(np.triu(np.linalg.solve(L, eye).T))
        if not np.isfinite(self.R).all():
            raise NoProof("the information is singular")
        self.S = products(rows.X, self.R)
        self.excess = at.curvature(self.S, self.R) - eye
        self.eps = up(norm(self.excess))
        if not self.eps < 0.5:
            raise NoProof("the information is nearly singular")
        self.lengths = _row_lengths(self.S)
        self.shrunk = (1.0 - Enclosure.exact(self.eps)).root()  # sqrt(1 - eps)
        self.longest = up(self.lengths) if len(rows.y) else 0.0

    @cached_property
    def score(self) -> Enclosure:
        """R' times the gradient at the point, without Firth's penalty."""
        return self.at.score(self.S, self.R)

    @property
    def has_maximum(self) -> bool:
        """Whether the log-likelihood is proved to have a maximum, which is next to the point.

        Without a ridge the classes then overlap: along a direction that puts no row on the wrong
        side it would never fall.
        """
        g = norm(self.score) * self.longest / (1.0 - Enclosure.exact(self.eps))
        return up(g) < 0.5

    @cached_property
    def spans(self) -> Enclosure:
        """The length of every row of R."""
        return stacked_products(self.R[:, None, :], self.R[:, :, None])[:, 0, 0].root()

    def reach(self, radius: float) -> np.ndarray:
        """Return how far the linear predictor of each row moves within a ball."""
        return np.asarray((self.lengths * radius).high)


def _row_lengths(S: Enclosure) -> Enclosure:
    """Enclose the length of every row: of the middles, give or take that of the radii."""
    middle, off = S.middle, S.radius
    length = np.sqrt(np.einsum("ia,ia->i", middle, middle))
    rounding = dot_share(S.shape[1]) * length
    return Enclosure.around(length, safely(lengths_above(off) + rounding)).at_least(0.0)


@dataclass(frozen=True)
class Top:
    """A maximum near a point: its value, how far it is at most, the change of eta within that."""

    value: Enclosure
    radius: float
    rho: float


def metric_at(rows: Rows, beta: np.ndarray) -> Metric:
    """Return the metric of a point, from about the information there: that only chooses R."""
    at = At(rows, beta)
    e = np.exp(-abs(rows.X @ beta + rows.offset))
    v = rows.weights * e / (1.0 + e) ** 2
    return Metric(at, np.asarray((rows.X * v[:, None]).T @ rows.X + np.diag(rows.ridge)))


def top_near(at: At, metric: Metric, held: int | None = None) -> Top:
    """Bound the maximum over all coefficients, or over all but one that is held.

    The metric may be that of another point; `held` numbers a coefficient.
    """
    u = at.score(metric.S, metric.R)
    if held is not None:
        # The free score's length is the least over all values of the held one: take a good value.
        along = metric.R[held]
        share = float(u.middle @ along) / float(along @ along)
        u = u - Enclosure.exact(along) * share
    if at is metric.at:
        grown = Enclosure.exact(1.0)
    else:
        apart = (at.eta - metric.at.eta).size()
        grown = exp(Enclosure.exact(0.5 * up(apart)))
    factor = grown / metric.shrunk
    gamma, most = norm(u) * factor, metric.longest * factor
    g = gamma * most
    if not up(g) < 0.5:
        raise NoProof("the point is too far from the maximum")
    radius = up(gamma * (1.0 + g))
    gain = up(gamma.square() / (1.0 - g).scaled(1))
    return Top(Enclosure(at.value.low, (at.value + gain).high), radius, up(most * radius))


def spreads(metric: Metric) -> Enclosure:
    """Enclose the standard errors of the coefficients at the metric's own point."""
    grown = (1.0 + Enclosure.exact(metric.eps)).root()
    return Enclosure((metric.spans / grown).low, (metric.spans / metric.shrunk).high)
