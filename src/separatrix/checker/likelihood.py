"""A logistic likelihood in balls, with a ridge or Firth's penalty, at a point and all around it.

Columns are scaled by powers of two so that no entry is above 1: x_ij = X_ij 2**shift_j, and the
coefficients are theta_j = beta_j 2**shift_j. Linear predictors are exact integers. Around a point
they move by delta at most: probabilities of the other label then change by e^(+-delta) at most.

    value   sum log p(own label) - 1/2 sum ridge theta^2 + 1/2 log |H|      the last with Firth
    score   X'(y - p + v q (1/2 - p)) - ridge theta        v = p (1 - p), q_i = x_i'H^-1 x_i
    bend    H + ridge - 1/2 X' diag(v (1 - 6 v) q) X + 1/2 tr(H^-1 T_a H^-1 T_b)

with H = X' diag(v) X and T_a = sum v (1 - 2p) x_a x x'. `bend` is minus the second derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations_with_replacement
from operator import mul
from typing import Any

from .balls import ONE, Ball, Matrix, P, dot, half, minus, plus, positive_inverse, product, times
from .enclosed import DEEP, exp, log

_FACTORS = 64  # of one logarithm


class Rows:
    """Columns as integers in units of ``2**-fine``, labels 0 and 1, the ridge of each column."""

    def __init__(
        self, columns: Sequence[list[int]], y: list[int], ridge: list[Ball], firth: bool, fine: int
    ) -> None:
        self.columns, self.y, self.ridge, self.firth, self.fine = columns, y, ridge, firth, fine
        self.width = len(columns)

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Rows:
        """Return some rows and columns."""
        chosen = [[self.columns[j][i] for i in rows] for j in columns]
        ridge = [self.ridge[j] for j in columns]
        return Rows(chosen, [self.y[i] for i in rows], ridge, self.firth, self.fine)

    @cached_property
    def pairs(self) -> dict[tuple[int, ...], list[int]]:
        """Products of two columns."""
        listed = combinations_with_replacement(range(self.width), 2)
        return {(a, b): list(map(mul, self.columns[a], self.columns[b])) for a, b in listed}

    @cached_property
    def triples(self) -> dict[tuple[int, ...], list[int]]:
        """Products of three."""
        listed = combinations_with_replacement(range(self.width), 3)
        return {(a, b, c): list(map(mul, self.pairs[a, b], self.columns[c])) for a, b, c in listed}

    @cached_property
    def by_row(self) -> list[tuple[int, ...]]:
        """The products of two, row by row."""
        return list(zip(*self.pairs.values(), strict=True))


class Look:
    """What is known at a point, or for all whose linear predictors differ by `delta` at most."""

    def __init__(self, rows: Rows, theta: Sequence[int], delta: int = 0) -> None:
        self.rows, self.theta, self.delta, n = rows, theta, delta, len(rows.y)
        cut = P + rows.fine - DEEP
        etas = [0] * n
        for column, t in zip(rows.columns, theta, strict=True):
            etas = [eta + x * t for eta, x in zip(etas, column, strict=True)]
        self.etas = etas
        self.falls: list[tuple[int, int]] = []  # e^-|eta|, at the point itself
        self.p: list[Ball] = []
        self.v: list[Ball] = []
        for eta in etas:
            low, high, s = exp(-(eta >> cut) - 1 if eta >= 0 else eta >> cut, DEEP)
            low, high = max(low, 0) << P >> s, (high << P >> s) + 1
            self.falls.append((low, high))
            low, high = (low << P) // (ONE + low), (high << P) // (ONE + high) + 1
            low, high = low - (2 * low * delta >> P) - 1, high + (2 * high * delta >> P) + 1
            small = low + high >> 1
            off = high - small + 1
            self.p.append((ONE - small if eta >= 0 else small, off))
            self.v.append((small * (ONE - small) >> P, off + 2))

    def _sums(self, weights: list[Ball], listed: dict[Any, list[int]], degree: int) -> Any:
        """Return sum w x for products x of so many columns; none is above 1."""
        middles, off = [w for w, _ in weights], sum(r for _, r in weights) + 2
        fine = degree * self.rows.fine
        return {at: (sum(map(mul, middles, x)) >> fine, off) for at, x in listed.items()}

    def _matrix(self, weights: list[Ball]) -> Matrix:
        found, d = self._sums(weights, self.rows.pairs, 2), self.rows.width
        return [[found[min(a, b), max(a, b)] for b in range(d)] for a in range(d)]

    @cached_property
    def plain(self) -> Matrix:
        """X' diag(v) X."""
        return self._matrix(self.v)

    @cached_property
    def information(self) -> Matrix:
        """The same with the ridge."""
        found = [row[:] for row in self.plain]
        for j, ridge in enumerate(self.rows.ridge):
            found[j][j] = plus(found[j][j], ridge)
        return found

    @cached_property
    def inverse(self) -> Matrix:
        """The inverse of the information."""
        return self._eliminated[0]

    @cached_property
    def _eliminated(self) -> tuple[Matrix, list[Ball]]:
        return positive_inverse(self.information)

    @cached_property
    def q(self) -> list[Ball]:
        """x_i'H^-1 x_i of each row."""
        weights, off, fine = [], 2, 2 * self.rows.fine
        for a, b in self.rows.pairs:
            times_used, (m, r) = 1 + (a != b), self.inverse[a][b]
            weights.append(times_used * m)
            off += times_used * r
        return [(sum(map(mul, weights, row)) >> fine, off) for row in self.rows.by_row]

    @cached_property
    def score(self) -> list[Ball]:
        """The first derivatives."""
        residual = [(ONE * y - p, r) for y, (p, r) in zip(self.rows.y, self.p, strict=True)]
        if self.rows.firth:
            extra = [
                times(times(v, q), (ONE // 2 - p, r))
                for v, q, (p, r) in zip(self.v, self.q, self.p, strict=True)
            ]
            residual = [plus(a, b) for a, b in zip(residual, extra, strict=True)]
        found = self._sums(residual, dict(enumerate(self.rows.columns)), 1).values()
        near = [(t, self.delta) for t in self.theta]
        pulled = [times(r, t) for r, t in zip(self.rows.ridge, near, strict=True)]
        return [minus(a, b) for a, b in zip(found, pulled, strict=True)]

    @cached_property
    def value(self) -> Ball:
        """The value at the point itself."""
        rows, cut = self.rows, self.rows.fine
        total, off = 0, 2
        for y, eta in zip(rows.y, self.etas, strict=True):
            total += min(eta, 0) if y else min(-eta, 0)
        total >>= cut
        room = P - DEEP
        for begin in range(0, len(self.falls), _FACTORS):
            low = high = ONE
            for a, b in self.falls[begin : begin + _FACTORS]:
                low, high = low * (ONE + a) >> P, (high * (ONE + b) >> P) + 1
            least, most = log(low, ONE, DEEP)[0] << room, log(high, ONE, DEEP)[1] << room
            total, off = total - (least + most >> 1), off + (most - least >> 1) + 2
        found = (total, off)
        for ridge, t in zip(rows.ridge, self.theta, strict=True):
            found = minus(found, half(times(ridge, times((t, 0), (t, 0)))))
        return plus(found, half(self.log_determinant)) if rows.firth else found

    @cached_property
    def log_determinant(self) -> Ball:
        """log |H|, in the scale of the columns."""
        return log_of_pivots(self._eliminated[1])

    @cached_property
    def bend(self) -> Matrix:
        """Minus the second derivatives."""
        if not self.rows.firth:
            return self.information
        d = self.rows.width
        weights = [
            times(times(v, (ONE - 6 * v[0], 6 * v[1])), q)
            for v, q in zip(self.v, self.q, strict=True)
        ]
        bent = self._matrix(weights)
        turned = [product(self.inverse, T) for T in self._tensor()]
        flat = [[x for row in K for x in row] for K in turned]
        crossed = [[x for row in zip(*K, strict=True) for x in row] for K in turned]
        return [
            [
                plus(minus(self.plain[a][b], half(bent[a][b])), half(dot(flat[a], crossed[b])))
                for b in range(d)
            ]
            for a in range(d)
        ]

    def _tensor(self) -> list[Matrix]:
        """T_a of each column."""
        weights = [times(v, (ONE - 2 * p, 2 * r)) for v, (p, r) in zip(self.v, self.p, strict=True)]
        found, listed = self._sums(weights, self.rows.triples, 3), range(self.rows.width)
        return [[[found[tuple(sorted((a, b, c)))] for c in listed] for b in listed] for a in listed]


def log_of_pivots(pivots: list[Ball]) -> Ball:
    """Return the sum of the logarithms."""
    total, off, room = 0, 2, P - DEEP
    for m, r in pivots:
        least, most = log(m - r, ONE, DEEP)[0] << room, log(m + r, ONE, DEEP)[1] << room
        total, off = total + (least + most >> 1), off + (most - least >> 1) + 2
    return total, off
