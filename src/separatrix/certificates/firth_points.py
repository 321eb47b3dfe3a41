"""Firth's penalised log-likelihood at several points at once, and within balls around them.

Coordinates are those of one metric: beta = point + R delta, rows s_i = R'x_i. There the information
of point k is H_k = sum w v_k s s'. All of them are one product of matrices: the pairs s_a s_b of
each row, times the weights of all points. A second change of coordinates, delta = G_k xi of small
matrices, makes G_k'H_k G_k nearly the identity; eps bounds how nearly. In these coordinates

    value   sum of log-likelihoods + 1/2 log |X'WX|
    u       G's(w (y - p) + w v q (1/2 - p)),  q_i = s_i'H^-1 s_i
    A       G'HG - 1/2 B + 1/2 Q,  the negative Hessian: B = sum w v (1 - 6 v) q s s',
            Q_ab = tr(M T_a M T_b), M = (G'HG)^-1, T_a = sum w v (1 - 2p) s_a s s'

**Rounding.** Sums over rows are computed in floats. What they lost is bounded by one number a
point, the length of a vector or matrix in the coordinates xi, from the lengths of the rows there:
a row whose weight is off by a_i changes sum s s' by a_i |G's_i|^2 at most. Probabilities and their
products have relative errors: that of the predictor and that of exp.

**Balls.** Within |xi| <= r a predictor moves by r |G's_i| =: t, and v by e^(+-t), with
e^t - 1 <= 1.14 t =: g for t <= 1/4. So H changes by tau = sum w v g |G's|^2 at most, M and q by
shares of tau / (1 - tau). The change of B follows row by row. For Q, with |x| = 1, let N be the
Frobenius norm of M^1/2 T_x M^1/2. N^2 is at most sum w v q (1 - 2p)^2 (s'x)^2, because the squares
of a projection's entries are a matrix below its diagonal (Schur). The same with 3/2 g instead of
1 - 2p bounds the change of N.

Stacks of small matrices, enclosed: lengths, products, determinants, and what inverts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from separatrix.certificates.enclosed_functions import chances, log
from separatrix.certificates.enclosed_sums import computed_products, dot_share, stacked_products
from separatrix.certificates.enclosure import Enclosure, lengths_above, require_denormals, safely
from separatrix.certificates.likelihood_bounds import UNSURE, Metric, NoProof, Rows, widened

_ROWS_AT_A_TIME = 256
_MOST_KEPT = 1 << 20  # numbers of rows at points, looked at once
_MOST_PRODUCTS = 300_000_000
_SHORT = 0.25  # how far predictors may move within a ball
_SMALL_BEND = 0.25


class Monomials:
    """Products of so many coordinates of each row, each once, and how they are read as tensors."""

    def __init__(self, d: int, degree: int) -> None:
        self.listed = np.array(
            list(combinations_with_replacement(range(d), degree)), dtype=np.int64
        ).reshape(-1, degree)
        powers = d ** np.arange(degree)[::-1]
        grid = np.sort(np.stack(np.unravel_index(np.arange(d**degree), (d,) * degree)), axis=0)
        self.places = np.searchsorted(self.listed @ powers, powers @ grid)
        self.shape = (-1, *(d,) * degree)
        self.counts = np.bincount(self.places, minlength=len(self.listed)).astype(np.float64)
        self.first = np.zeros(len(self.listed), dtype=np.int64)
        self.first[self.places[::-1]] = np.arange(len(self.places))[::-1]

    def of(self, S: np.ndarray) -> np.ndarray:
        """Return the products of every row."""
        found = S[:, self.listed[:, 0]]
        for column in self.listed.T[1:]:
            found *= S[:, column]
        return found

    def tensors(self, sums: np.ndarray) -> np.ndarray:
        """Read sums of such products, a column for each point, as a stack of symmetric tensors."""
        return np.ascontiguousarray(sums.T[:, self.places].reshape(self.shape))

    def forms(self, stack: np.ndarray) -> np.ndarray:
        """Return factors of the products that make the form of each tensor."""
        return np.asarray(stack.reshape(len(stack), -1)[:, self.first].T * self.counts[:, None])


class _Seen(NamedTuple):
    """Probabilities of a stretch of rows at all points, and by which share they may be off."""

    wrong: np.ndarray  # |y - p|
    wrong_share: np.ndarray
    half: np.ndarray  # 1/2 - p
    v: np.ndarray
    c: np.ndarray  # w v
    share: np.ndarray  # of v
    losses: np.ndarray  # -w log-likelihood
    lost: np.ndarray  # by how much the losses may be off


class _Sums:
    """Bounds at each point that sums over rows make up; l is the length of a row there."""

    def __init__(self, points: int, d: int) -> None:
        self.moments = np.zeros((5, points))  # sums of w v l^2, ..., w v l^6
        self.information = np.zeros(points)
        self.score = np.zeros((d, points))
        self.score_error = np.zeros(points)
        self.takes = np.zeros(points)  # at most v l^2
        self.adds = np.zeros(points)  # at most (1 - 6 v) l^2
        self.longest = np.zeros(points)  # at most l


class FirthPoints:
    """Values, scores and Hessians at the points, one of a stack each."""

    def __init__(self, rows: Rows, metric: Metric, points: np.ndarray, exact: bool = False) -> None:
        require_denormals()
        self.rows, self.metric, self.points = rows, metric, points
        n, d = rows.X.shape
        # Up to this bend the identity stands for the Hessian, unless all are to be exact.
        self.small = 0.0 if exact and n * d**3 <= _MOST_PRODUCTS else _SMALL_BEND
        self.S, off = metric.S.middle, metric.S.radius
        self.squares = safely(np.einsum("ia,ia->i", self.S, self.S))  # |s|^2
        self.off = lengths_above(off)[:, None]  # s is so far off
        self.stretches = [slice(a, a + _ROWS_AT_A_TIME) for a in range(0, n, _ROWS_AT_A_TIME)]
        # Sums of 256 rows in any order, then of the stretches, then a product with G.
        self.sum_unit = dot_share(min(n, _ROWS_AT_A_TIME) + len(self.stretches) + 3.0 * d + 14.0)
        self._kept: dict[int, _Seen] = {}
        self.pairs = Monomials(d, 2)
        with np.errstate(all="ignore"):
            H = self._count()
            self.G, excess = nearly_identities(Enclosure.exact(H))
            self.size = lengths_of(Enclosure.exact(self.G))
            self.sums = self._weigh()
            lost = safely(self.sums.information)
            self.eps = usable(safely(lengths_of(excess) + lost))
            self.doubt = safely(self.eps / (1.0 - self.eps))  # of (G'HG)^-1
            self.trace = widened(trace(excess), safely(d * lost))
            self.inner = excess.middle + np.eye(d)  # G'HG
            self.inner_error = safely(lengths_of(Enclosure.exact(excess.radius)) + lost)

    def _seen(self, rows: slice) -> _Seen:
        """Look at a stretch of rows."""
        if rows.start in self._kept:
            return self._kept[rows.start]
        X, w = self.rows.X[rows], self.rows.weights[rows, None]
        eta, doubt = computed_products(X, self.points.T, self.rows.offset[rows])
        if not doubt.max(initial=0.0) < UNSURE:
            raise NoProof("the linear predictor is too large")
        above, below, losses, share, below_share = chances(eta, doubt)
        upper = eta >= 0.0
        right = upper == (self.rows.y[rows, None] > 0.5)
        wrong, own = np.where(right, below, above), np.where(right, below_share, share)
        half = np.where(upper, 0.5, -0.5) * (below - above)
        losses = w * (losses + np.where(right, 0.0, abs(eta)))
        lost = share * losses + 1.1 * w * doubt * wrong * (1.0 + own)
        v = above * below
        found = _Seen(wrong, own, half, v, w * v, below_share, losses, lost)
        if len(self.rows.y) * len(self.points) <= _MOST_KEPT:
            self._kept[rows.start] = found
        return found

    def _each(self) -> Iterator[tuple[slice, _Seen]]:
        return ((rows, self._seen(rows)) for rows in self.stretches)

    def _count(self) -> np.ndarray:
        """Return the information of each point; keep the log-likelihoods."""
        K = len(self.points)
        H, plain, lost = np.zeros((len(self.pairs.listed), K)), np.zeros(K), np.zeros(K)
        for rows, seen in self._each():
            H += self.pairs.of(self.S[rows]).T @ seen.c
            plain += seen.losses.sum(axis=0)
            lost += seen.lost.sum(axis=0)
        lost += self.sum_unit * plain
        self.plain = Enclosure.around(-plain, safely(lost))
        return self.pairs.tensors(H)

    def _lengths(self, rows: slice, chosen: Any = slice(None)) -> tuple[np.ndarray, ...]:
        """Return |G's|^2 as computed, a bound on |G's|, how far the square and G's may be off."""
        unit = dot_share(len(self.pairs.listed) + self.S.shape[1] + 7.0)
        size = self.size[chosen]
        square = self.pairs.of(self.S[rows]) @ self._factors[:, chosen]
        np.maximum(square, 0.0, out=square)
        rounding = np.outer(self.squares[rows], unit * size**2)
        away = self.off[rows] * size
        length = np.sqrt(square + rounding) + away
        return square, length, rounding + 2.0 * length * away, away

    @cached_property
    def _factors(self) -> np.ndarray:
        return self.pairs.forms(self.G @ self.G.transpose(0, 2, 1))

    def _weigh(self) -> _Sums:
        """Sum up scores, and what bounds their errors, those of the information, and balls."""
        d, K = self.S.shape[1], len(self.points)
        found, unit = _Sums(K, d), self.sum_unit
        for rows, seen in self._each():
            square, length, unsure, away = self._lengths(rows)
            L2, w = self.squares[rows], self.rows.weights[rows, None]
            more = seen.c * (1.0 + seen.share)
            power = more * length
            for k in range(5):
                power *= length
                found.moments[k] += power.sum(axis=0)
            long = length * length
            found.information += (seen.share * seen.c * long + 3.0 * more * length * away).sum(
                axis=0
            ) + unit * self.size**2 * (L2 @ seen.c)
            found.takes = np.maximum(found.takes, (seen.v * (1.0 + seen.share) * long).max(axis=0))
            bent = 1.0 - 6.0 * seen.v * (1.0 - 1.5 * seen.share)
            found.adds = np.maximum(found.adds, (bent * long).max(axis=0))
            found.longest = np.maximum(found.longest, length.max(axis=0))
            own = w * np.where(self.rows.y[rows, None] > 0.5, seen.wrong, -seen.wrong)
            own += seen.c * square * seen.half
            lost = w * seen.wrong * seen.wrong_share + more * (
                1.1 * seen.share * square + 0.6 * unsure
            )
            found.score += self.S[rows].T @ own
            size = abs(own)
            found.score_error += (length * lost + away * size).sum(axis=0) + (
                unit * self.size * (np.sqrt(L2) @ size)
            )
        return found

    @cached_property
    def value(self) -> Enclosure:
        """The penalised log-likelihood of each point."""
        turn = log(np.ascontiguousarray(abs(self.metric.R.diagonal()))).sum()
        return self.plain + self.log_determinant.halved() - turn

    @cached_property
    def log_determinant(self) -> Enclosure:
        """log |H| of each point, in the coordinates of the metric."""
        return log_determinant(self.G, self.trace, self.eps)

    @cached_property
    def score(self) -> Enclosure:
        """The gradient in the coordinates xi: a row for each point."""
        lost = self.sums.score_error + 0.5 * self.doubt * self.sums.moments[1]
        found = np.einsum("kab,ak->kb", self.G, self.sums.score)
        return Enclosure.around(found, safely(lost)[:, None])

    def turned_form(self, form: np.ndarray) -> Enclosure:
        """Enclose a linear form of beta in the coordinates xi of each point."""
        own = stacked_products(form[:, None, :], self.metric.R)
        off = stacked_products(own.radius, abs(self.G)).high
        return widened(stacked_products(own.middle, self.G), off)

    @cached_property
    def bend(self) -> np.ndarray:
        """How much the penalty changes each Hessian, at most.

        Relative to the information it adds no more than 1/2 max (1 - 6 v) q and takes no more than
        max v q. The second holds because Q is a Schur product of a projection and the matrix of
        s_i's_j: it is at most sum w v (1 - 4 v) q s s'.
        """
        most = np.maximum(self.sums.takes, 0.5 * self.sums.adds)
        return np.asarray(safely(most * (1.0 + self.doubt) * (1.0 + self.eps)))

    @cached_property
    def hessian(self) -> tuple[np.ndarray, np.ndarray]:
        """Return about each negative Hessian, and by how much it may be off, as a length.

        Where the penalty bends little the identity is near enough.
        """
        K, d = self.points.shape
        A, off = np.tile(np.eye(d), (K, 1, 1)), safely(self.eps + self.bend)
        large = np.flatnonzero(~(self.bend < self.small))
        if len(large):
            if len(self.rows.y) * d**3 > _MOST_PRODUCTS:
                off[large] = np.nan
            else:
                with np.errstate(all="ignore"):
                    A[large], off[large] = self._bent(large)
        return A, off

    def _bent(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the negative Hessians of some points from B and Q, and how far they are off."""
        d, G, size = self.S.shape[1], self.G[chosen], self.size[chosen]
        triples, doubt = Monomials(d, 3), self.doubt[chosen]
        B, T = (np.zeros((len(each.listed), len(chosen))) for each in (self.pairs, triples))
        lost_B, lost_T = np.zeros(len(chosen)), np.zeros(len(chosen))
        for rows, whole in self._each():
            seen = _Seen(*(part[:, chosen] for part in whole))
            square, length, unsure, away = self._lengths(rows, chosen)
            more, long, L = seen.c * (1.0 + seen.share), length * length, self.squares[rows] ** 0.5
            S = self.S[rows]
            B += self.pairs.of(S).T @ (seen.c * (1.0 - 6.0 * seen.v) * square)
            T += triples.of(S).T @ (2.0 * seen.c * seen.half)
            off = unsure + doubt * long
            lost_B += (more * long * (2.6 * seen.share * square + off)).sum(axis=0)
            lost_B += (3.0 * more * square * length * away).sum(axis=0)
            lost_B += self.sum_unit * size**2 * (L**2 @ (seen.c * square))
            lost_T += (more * long * (2.2 * seen.share * length + 4.0 * away)).sum(axis=0)
            lost_T += self.sum_unit * size**3 * (L**3 @ seen.c)
        lost_B, lost_T = safely(lost_B), safely(lost_T)
        bent = G.transpose(0, 2, 1) @ self.pairs.tensors(B) @ G
        third = triples.tensors(T)
        for _ in range(3):  # each index in turn
            flat = G.transpose(0, 2, 1) @ third.reshape(-1, d, d * d)
            third = flat.reshape(-1, d, d, d).transpose(0, 2, 3, 1)
        flat = np.ascontiguousarray(third).reshape(-1, d, d * d)
        Q = flat @ flat.transpose(0, 2, 1)
        N = lengths_above(flat)
        lost_Q = doubt * (2.0 + doubt) * (N + lost_T) ** 2 + lost_T * (2.0 * N + lost_T)
        lost_Q += dot_share(d * d + 2.0) * N * N
        A = self.inner[chosen] - 0.5 * bent + 0.5 * Q
        sizes = (np.sqrt(np.einsum("kab,kab->k", part, part)) for part in (A, bent))
        rounding = dot_share(6.0) * (sum(sizes) + N * N + 2.0)
        return A, safely(self.inner_error[chosen] + 0.5 * (lost_B + lost_Q) + rounding)

    def change(self, radius: np.ndarray) -> np.ndarray:
        """Bound by how much each Hessian changes within a ball of its own radius; NaN: no bound."""
        _, m3, m4, m5, m6 = safely(self.sums.moments)
        g, doubt = 1.14 * radius, 1.0 + self.doubt
        tau = safely(g * m3 * doubt)
        tau = np.where(tau < 0.25, tau, np.nan)
        share = tau / (1.0 - tau)
        B = doubt * ((1.43 * (1.0 + share) + 1.5) * g * m5 + 1.43 * share * m4)
        N, dN = np.sqrt(doubt * m4), 1.5 * g * np.sqrt(doubt * m6)
        Q = share * (2.0 + share) * (N + dN) ** 2 + dN * (2.0 * N + dN)
        short = safely(radius * self.sums.longest) < _SHORT
        return np.where(short, safely(tau + 0.5 * (B + Q)), np.nan)


# ---- stacks of small matrices, enclosed: lengths, products, determinants, and what inverts them


def lengths_of(stack: Enclosure) -> np.ndarray:
    """Bound the length of each matrix or vector of a stack, all its numbers taken together."""
    return lengths_above(stack.size().high)


def turned(A: np.ndarray, B: Enclosure) -> Enclosure:
    """Enclose A_k B_k A_k' for symmetric B."""
    return stacked_products(A, stacked_products(A, B)._each(lambda ends: ends.transpose(0, 2, 1)))


def totals(stack: Enclosure) -> Enclosure:
    """Enclose the sum of each vector of a stack."""
    ones = np.ones((1, 1, stack.shape[1]))
    return stacked_products(ones, stack[:, :, None])[:, 0, 0]


def trace(stack: Enclosure) -> Enclosure:
    """Enclose the trace of each matrix of a stack."""
    places = np.arange(stack.shape[1])
    return totals(stack[:, places, places])


def inverses(stack: np.ndarray) -> np.ndarray:
    """Return about the inverse of each matrix, NaN for one that has none."""
    found = np.full(stack.shape, np.nan)
    for k, matrix in enumerate(stack):
        with suppress(np.linalg.LinAlgError):
            found[k] = np.linalg.inv(matrix)
    return found


def nearly_identities(H: Enclosure) -> tuple[np.ndarray, Enclosure]:
    """Return upper triangular G for which G'HG is nearly the identity, and the rest."""
    try:
        L = np.linalg.cholesky(H.middle)
    except np.linalg.LinAlgError:
        raise NoProof("the information is singular") from None
    eye = np.broadcast_to(np.eye(L.shape[1]), L.shape)
    G = np.ascontiguousarray(np.triu(np.linalg.solve(L, eye).transpose(0, 2, 1)))
    return G, turned(np.ascontiguousarray(G.transpose(0, 2, 1)), H) - np.eye(L.shape[1])


def usable(eps: np.ndarray) -> np.ndarray:
    """Keep bounds on |G'HG - 1| that are below one half; no bound is NaN."""
    return np.where(eps < 0.5, eps, np.nan)


def log_determinants(H: Enclosure) -> Enclosure:
    """Enclose the logarithms of the determinants of a stack of matrices."""
    G, excess = nearly_identities(H)
    return log_determinant(G, trace(excess), usable(lengths_of(excess)))


def log_determinant(G: np.ndarray, trace: Enclosure, eps: np.ndarray) -> Enclosure:
    """Enclose log |1 + excess| - 2 log |G|: the trace, give or take eps^2 / (2 (1 - eps))."""
    places = np.arange(G.shape[1])
    off = safely(eps * eps / (2.0 * (1.0 - eps)))
    scales = totals(log(np.ascontiguousarray(abs(G[:, places, places]))))
    return widened(trace, off) - scales.scaled(1)
