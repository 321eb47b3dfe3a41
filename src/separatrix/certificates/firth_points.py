"""Firth's penalised log-likelihood at several points at once, and within balls around them.

Coordinates are those of one metric: beta = point + R delta, rows s_i = R'x_i. There the information
of point k is H_k = sum w v_k s s'. All of them are one product of matrices: the pairs s_a s_b of
each row, times the weights of all points. A second change of coordinates, delta = G_k xi of small
matrices, makes G_k'H_k G_k nearly the identity; eps bounds how nearly. In these coordinates

    value   sum of log-likelihoods + 1/2 log |X'WX|
    u       G's(w (y - p) + w v q (1/2 - p)),  q_i = s_i'H^-1 s_i
    A       G'HG - 1/2 sum w v (1 - 6 v) q s s' + 1/2 (tr(M T_a M T_b))_ab,  the negative Hessian,

with M = (G'HG)^-1 and T_a = sum w v (1 - 2p) s_a s s', the rows in coordinates xi.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from separatrix.certificates.enclosed_functions import log, softplus
from separatrix.certificates.enclosed_sums import products, row_sums, stacked_products
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.likelihood_bounds import Metric, NoProof, Rows, probabilities

_ENTRIES_AT_A_TIME = 1 << 21
_MOST_PRODUCTS = 300_000_000
_SHORT = 0.25


def between(low: Any, high: Any) -> Enclosure:
    """Enclose from one number's lower to another's upper end."""
    return Enclosure(low.low, high.high)


def widened(found: Enclosure, off: Any) -> Enclosure:
    """Widen numbers by `off` to either side."""
    return Enclosure(Enclosure.around(found.low, off).low, Enclosure.around(found.high, off).high)


def lengths_of(stack: Enclosure) -> np.ndarray:
    """Bound the length of each matrix or vector of a stack, all its numbers taken together."""
    far = stack.size().high.reshape(stack.shape[0], -1)
    squares = Enclosure.exact(far).square().high
    return np.asarray(products(squares, np.ones(far.shape[1])).root().high)


def from_left(A: np.ndarray, B: Enclosure) -> Enclosure:
    """Enclose A_k'B_k."""
    return stacked_products(np.ascontiguousarray(A.transpose(0, 2, 1)), B)


def turned(G: np.ndarray, B: Enclosure) -> Enclosure:
    """Enclose G_k'B_k G_k for symmetric B."""
    return from_left(G, from_left(G, B)._each(lambda ends: ends.transpose(0, 2, 1)))


class Monomials:
    """Products of so many coordinates of each row, each once, and how they are read as tensors."""

    def __init__(self, S: Enclosure, degree: int) -> None:
        self.S, d = S, S.shape[1]
        self.listed = np.array(
            list(combinations_with_replacement(range(d), degree)), dtype=np.int64
        ).reshape(-1, degree)
        powers = d ** np.arange(degree)[::-1]
        grid = np.sort(np.stack(np.unravel_index(np.arange(d**degree), (d,) * degree)), axis=0)
        self.places = np.searchsorted(self.listed @ powers, powers @ grid)
        self.shape = (-1, *(d,) * degree)
        self._kept: Enclosure | None = None

    def _blocks(self) -> Iterator[tuple[slice, Enclosure]]:
        n, width = self.S.shape[0], max(1, len(self.listed))
        step = max(1, _ENTRIES_AT_A_TIME // width)
        for begin in range(0, n, step):
            rows = slice(begin, begin + step)
            if self._kept is not None:
                yield rows, self._kept
                continue
            part = self.S[rows]
            found = part[:, self.listed[:, 0]]
            for column in self.listed.T[1:]:
                found = found * part[:, column]
            if n <= step:
                self._kept = found
            yield rows, found

    def sums(self, A: Enclosure) -> Enclosure:
        """Enclose the sums over rows with the weights of each point, as a stack of tensors."""
        total: Enclosure | None = None
        for rows, block in self._blocks():
            own = A[rows]
            found = row_sums(block.middle, own, way="each")
            radius = block.radius
            if radius.any():
                found = widened(found, row_sums(radius, own.size().high, way="each").high)
            total = found if total is None else total + found
        if total is None:
            total = Enclosure.exact(np.zeros((len(self.listed), A.shape[1])))
        return total._each(lambda ends: ends.T[:, self.places].reshape(self.shape))

    def forms(self, B: Enclosure) -> Enclosure:
        """Enclose the form of each stacked tensor at every row: rows down, points across."""
        count = np.bincount(self.places, minlength=len(self.listed)).astype(np.float64)
        first = np.zeros(len(self.listed), dtype=np.int64)
        first[self.places[::-1]] = np.arange(len(self.places))[::-1]
        flat = B._each(lambda ends: ends.reshape(ends.shape[0], -1)[:, first].T)
        weights, found = flat * count[:, None], []
        for _, block in self._blocks():
            one = products(block.middle, weights, way="each")
            radius = block.radius
            if radius.any():
                one = widened(one, products(radius, weights.size().high, way="each").high)
            found.append(one)
        return Enclosure.joined(found)


def usable(eps: np.ndarray) -> np.ndarray:
    """Keep bounds on |G'HG - 1| that are below one half; no bound is NaN."""
    return np.where(eps < 0.5, eps, np.nan)


def nearly_identities(H: Enclosure) -> tuple[np.ndarray, Enclosure, np.ndarray]:
    """Return upper triangular G for which G'HG is nearly the identity, the rest, and its size."""
    try:
        L = np.linalg.cholesky(H.middle)
    except np.linalg.LinAlgError:
        raise NoProof("the information is singular") from None
    eye = np.broadcast_to(np.eye(L.shape[1]), L.shape)
    G = np.ascontiguousarray(np.triu(np.linalg.solve(L, eye).transpose(0, 2, 1)))
    excess = turned(G, H) - np.eye(L.shape[1])
    return G, excess, usable(lengths_of(excess))


def log_determinants(H: Enclosure) -> Enclosure:
    """Enclose the logarithms of the determinants of a stack of matrices."""
    return _log_determinant(*nearly_identities(H))


def _log_determinant(G: np.ndarray, excess: Enclosure, eps: np.ndarray) -> Enclosure:
    """Enclose log |1 + excess| - 2 log |G|: the trace, give or take eps^2 / (2 (1 - eps))."""
    places = np.arange(G.shape[1])
    trace = excess._each(lambda ends: ends[:, places, places].T).column_sums()
    e = Enclosure.exact(eps)
    off = (e.square() / (1.0 - e).scaled(1)).high
    scales = log(np.ascontiguousarray(abs(G[:, places, places]).T)).column_sums()
    return widened(trace, off) - scales.scaled(1)


class FirthPoints:
    """Values and scores at the points, one of a stack each, in the coordinates of a metric."""

    def __init__(self, rows: Rows, metric: Metric, points: np.ndarray) -> None:
        self.rows, self.metric, self.points = rows, metric, points
        self.eta = products(rows.X, np.ascontiguousarray(points.T), (rows.offset,), way="each")
        if not self.eta.is_finite:
            raise NoProof("the linear predictor is too large")
        self.weights = rows.weights[:, None]
        self.at = self.variances(self.eta)
        self._pairs = Monomials(metric.S, 2)
        H = self._pairs.sums(self.at[2] * self.weights)
        self.G, self.excess, self.eps = nearly_identities(H)
        self.squares = self._pairs.forms(
            stacked_products(self.G, np.ascontiguousarray(self.G.transpose(0, 2, 1)))
        ).at_least(0.0)  # |G's_i|^2

    @cached_property
    def _triples(self) -> Monomials:
        return Monomials(self.metric.S, 3)

    def variances(self, eta: Enclosure) -> tuple[Enclosure, Enclosure, Enclosure]:
        """Enclose the probabilities of both labels and their products."""
        p, rest = probabilities(eta)
        return p, rest, (p * rest).at_least(0.0)

    def within(self, reach: np.ndarray) -> tuple[Enclosure, Enclosure, Enclosure]:
        """Enclose the same for predictors that differ by `reach` at most.

        The variance is the slope of p, and changes by e^(+-reach): between 1 - r and 1 + 2 r.
        """
        if not reach.max(initial=0.0) <= _SHORT:
            return self.variances(widened(self.eta, reach))
        (p, rest, v), r = self.at, Enclosure.exact(reach)
        grown = v * (1.0 + r.scaled(1))
        off = (grown * r).high
        p, rest = (widened(one, off).at_least(0.0).at_most(1.0) for one in (p, rest))
        return p, rest, between(v * (1.0 - r), grown)

    def q(self, eps: np.ndarray) -> Enclosure:
        """Enclose s_i'H^-1 s_i."""
        doubt = inverse_doubt(eps)
        low, high = self.squares * (1.0 - doubt), self.squares * (1.0 + doubt)
        return between(low, high).at_least(0.0)

    @cached_property
    def value(self) -> Enclosure:
        """The penalised log-likelihood of each point."""
        signs = np.where(self.rows.y > 0.5, -1.0, 1.0)[:, None]
        plain = -(softplus(self.eta.times_sign(signs)) * self.weights).column_sums()
        log_det = self.log_determinant
        turn = log(np.ascontiguousarray(abs(self.metric.R.diagonal()))).sum()
        return plain + log_det.halved() - turn

    @cached_property
    def log_determinant(self) -> Enclosure:
        """log |H| of each point, in the coordinates of the metric."""
        return _log_determinant(self.G, self.excess, self.eps)

    @cached_property
    def score(self) -> Enclosure:
        """The gradient in the coordinates xi: a row for each point."""
        p, rest, v = self.at
        right = (self.rows.y > 0.5)[:, None]
        plain = Enclosure(np.where(right, rest.low, -p.high), np.where(right, rest.high, -p.low))
        residual = (plain + v * self.q(self.eps) * (0.5 - p)) * self.weights
        S = self.metric.S
        found = row_sums(S.middle, residual, way="each")
        radius = S.radius
        if radius.any():
            found = widened(found, row_sums(radius, residual.size().high, way="each").high)
        return from_left(self.G, found.T[:, :, None])[:, :, 0]

    def turned_form(self, form: np.ndarray) -> Enclosure:
        """Enclose a linear form of beta in the coordinates xi of each point."""
        own = stacked_products(form[:, None, :], self.metric.R)
        return stacked_products_both(own, self.G)


class Ball:
    """The same points with everything within a distance of them."""

    def __init__(self, points: FirthPoints, radius: float) -> None:
        self.points = points
        reach = (points.squares.root() * radius).high
        self.p, self.rest, self.v = points.within(reach)
        H = points._pairs.sums(self.v * points.weights)
        self.H = turned(points.G, H)
        self.eps = usable(lengths_of(self.H - np.eye(points.points.shape[1])))
        self.q = points.q(self.eps)

    @cached_property
    def bend(self) -> np.ndarray:
        """How much the penalty changes each Hessian there, at most.

        Relative to the information it adds no more than 1/2 max (1 - 6 v) q and takes no more than
        max v q. The second holds because H2, the last term, is a Schur product of a projection and
        the matrix of s_i's_j: it is at most sum w v (1 - 4 v) q s s'.
        """
        takes = (self.v * self.q).high.max(axis=0, initial=0.0)
        adds = ((1.0 - 6.0 * self.v).at_least(0.0) * self.q.halved()).high.max(axis=0, initial=0.0)
        most = Enclosure.exact(np.maximum(takes, adds))
        return np.asarray((most * (1.0 + Enclosure.exact(self.eps))).high)

    @cached_property
    def hessian(self) -> Enclosure:
        """Enclose each negative Hessian for all points of its ball."""
        points, k = self.points, self.points.points.shape[1]
        if len(points.rows.y) * k**3 > _MOST_PRODUCTS:
            raise NoProof("the data are too large for an exact Hessian")
        wv = self.v * points.weights
        bent = points._pairs.sums(wv * (1.0 - 6.0 * self.v) * self.q)
        found = self.H - turned(points.G, bent).halved()
        T = points._triples.sums(wv * (self.rest - self.p))
        for _ in range(3):  # each index in turn
            flat = T._each(lambda ends: ends.reshape(ends.shape[0], k, k * k))
            T = from_left(points.G, flat)._each(
                lambda ends: ends.reshape(-1, k, k, k).transpose(0, 2, 3, 1)
            )
        flat = T._each(lambda ends: np.ascontiguousarray(ends.reshape(-1, k, k * k)))
        squares = stacked_products_both(flat, flat._each(lambda ends: ends.transpose(0, 2, 1)))
        sizes = flat.size().high.reshape(-1, k * k)
        lengths = Enclosure.exact(lengths_of(Enclosure.exact(sizes)).reshape(-1, k))
        wide = (1.0 + inverse_doubt(self.eps)).square() - 1.0
        off = wide[:, None, None] * (lengths[:, :, None] * lengths[:, None, :])
        return found + widened(squares, off.high).halved()


def inverse_doubt(eps: np.ndarray) -> Enclosure:
    """Bound |(G'HG)^-1 - 1|."""
    e = Enclosure.exact(eps)
    return Enclosure.exact((e / (1.0 - e)).high)


def stacked_products_both(A: Enclosure, B: Any) -> Enclosure:
    """Enclose A_k B_k for enclosed factors on both sides."""
    found = stacked_products(A.middle, B)
    radius = A.radius
    if not radius.any():
        return found
    sizes = B.size().high if isinstance(B, Enclosure) else abs(B)
    return widened(found, stacked_products(radius, sizes).high)
