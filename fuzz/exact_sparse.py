"""What sparse weights claim, computed without rounding: both objectives, and columns that are zero.

    sum_g l_g |W_g| + r/2 |W|^2 + sum_i c_i loss_i         l_g = l sqrt(K p_g), K = 1 of two classes
    sum_i gain_i - sum_g max(0, |U_g| - l_g)^2 / (2r)       without r every |U_g| is at most l_g

W_g are the weights of a group of p_g columns, for all K vectors. The best dual point is unique, for
its gain is strictly concave, so U* is too. Weights of g are zero in every optimum where |U_g*| <
l_g: no optimal W_g is anything but a multiple of U_g*, of length max(0, |U_g*| - l_g) / r or, where
r is 0 and |U_g*| < l_g, of length 0. With r, they are not zero where |U_g*| > l_g.

The gain lies below its tangent at the best point by a Bregman divergence, which the gap bounds:
a^2 / (4c) for the squared hinge, so sum_i (a_i - a_i*)^2 / c_i <= 4 gap; c KL(q_i, q_i*) else. Of
a divergence KL the second derivative in a direction e of sum 0 is sum_k e_k^2 / q_k, at least |e|^2
over the largest eigenvalue of diag(q) - q q', at most 2 max_k q_k (1 - q_k) (Gershgorin). Of two
classes it is e^2 / p(1 - p). Cauchy-Schwarz then bounds |U_g - U_g*|, about any centre of a column
where multipliers sum to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from flint import arb, fmpq

from fuzz import exact_judge as judge
from fuzz.exact_judge import Number, Row, ball

__all__ = ["Dual", "Posed", "class_dual", "objective", "reaches", "softmax_point", "two_dual"]

_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem: `sides` are signs where K is 1, else class numbers; loss "softmax" of those."""

    rows: Sequence[Row]
    sides: Sequence[int]
    costs: Row
    loss: str
    l1: fmpq
    ridge: fmpq
    groups: Sequence[Sequence[int]]
    intercept: bool
    K: int = 1

    def limit(self, group: Sequence[int]) -> fmpq:
        """Return the square of l_g."""
        return self.K * len(group) * self.l1 * self.l1

    def without(self, group: Sequence[int]) -> Posed:
        """Return the problem with a group of columns of zeros."""
        rows = [[fmpq(0) if j in group else v for j, v in enumerate(row)] for row in self.rows]
        return replace(self, rows=rows)


class Dual(NamedTuple):
    """A dual point: its objective, |U_g|^2 by group, and the share p_i of every row."""

    value: Number
    squares: list[Number]
    shares: list[Number]


def plus(a: Number, b: Number) -> Number:
    return ball(a) + ball(b) if isinstance(a, arb) or isinstance(b, arb) else a + b


def root(value: Number) -> arb:
    value = ball(value)
    return value.sqrt() if value > 0 else value.upper().max(arb(0)).sqrt().union(arb(0))


def objective(posed: Posed, W: Sequence[Row], b: Row) -> Number:
    if posed.K == 1:
        given = posed.rows, posed.sides, posed.costs, posed.loss, W[0], b[0]
        total = judge.machine(*given, fmpq(0), posed.ridge)
    else:
        given = posed.rows, posed.sides, posed.costs, W, b
        total = judge.multinomial(*given, fmpq(0), posed.ridge)
    for group in posed.groups:
        values = [abs(w[j]) for w in W for j in group]
        if len(values) == 1:
            total = plus(total, posed.l1 * values[0])
        elif any(values):
            square = posed.limit(group) * sum((v * v for v in values), start=fmpq(0))
            total = plus(total, ball(square).sqrt())
    return total


def _spent(posed: Posed, squares: Sequence[Number]) -> Number | None:
    """Return sum_g max(0, |U_g| - l_g)^2 / (2r), or None where a |U_g| is too large."""
    total: Number = fmpq(0)
    for group, square in zip(posed.groups, squares, strict=True):
        limit = posed.limit(group)
        if square <= limit:
            continue
        if not posed.ridge:
            return None
        over = (root(square) - root(limit)).max(arb(0))
        total = plus(total, over * over / (2 * ball(posed.ridge)))
    return total


def two_dual(posed: Posed, alpha: Row) -> Dual | None:
    """Return the dual point of two classes, or None where the multipliers are none."""
    gain = judge.gain(posed.costs, posed.loss, alpha)
    tilt = sum((s * a for s, a in zip(posed.sides, alpha, strict=True)), start=fmpq(0))
    if gain is None or (posed.intercept and tilt):
        return None
    u = judge.combined(posed.rows, posed.sides, alpha)
    squares = [sum((u[j] * u[j] for j in group), start=fmpq(0)) for group in posed.groups]
    spent = _spent(posed, squares)
    if spent is None:
        return None
    shares = [a / c if c else fmpq(0) for a, c in zip(alpha, posed.costs, strict=True)]
    return Dual(plus(gain, -spent), squares, shares)


def softmax_point(posed: Posed, W: Sequence[Row], b: Row, share: fmpq) -> list[list[arb]]:
    """Return softmax, the other classes of every row with a share of theirs."""
    out = []
    for z, y in zip(judge.scores(posed.rows, W, b), posed.sides, strict=True):
        q = [p * ball(share) for p in judge.probabilities(z)[0]]
        q[y] = 1 - sum((p for k, p in enumerate(q) if k != y), start=arb(0))
        out.append(q)
    return out


def class_dual(posed: Posed, q: Sequence[Sequence[Number]]) -> Dual | None:
    """Return the dual point of all classes, mended where the biases are free, and made feasible."""
    K, costs = posed.K, [ball(c) for c in posed.costs]
    entropy = sum((c * judge.entropy(p) for c, p in zip(costs, q, strict=True)), start=arb(0))
    given = [[c * (k == y) for k in range(K)] for c, y in zip(costs, posed.sides, strict=True)]
    a = [
        [own - c * ball(p) for own, p in zip(mine, each, strict=True)]
        for mine, c, each in zip(given, costs, q, strict=True)
    ]
    t = arb(0)
    if posed.intercept:
        excess = [sum((row[k] for row in a), start=arb(0)) for k in range(K)]
        masses = [sum((row[k] for row in given), start=arb(0)) for k in range(K)]
        if not all(mass > 0 for mass in masses):
            return None
        lacks = [((-r).max(arb(0)) / (m + (-r).max(arb(0)))).upper()
                 for r, m in zip(excess, masses, strict=True)]  # fmt: skip
        t = max(lacks, key=lambda v: v.mid())
        total = sum(masses, start=arb(0))
        v = [(t * m + (1 - t) * r) / total for m, r in zip(masses, excess, strict=True)]
        a = [
            [(1 - t) * x + t * own - c * v[k] for k, (x, own) in enumerate(zip(r, g, strict=True))]
            for r, g, c in zip(a, given, costs, strict=True)
        ]
    squares: list[Any] = []
    for group in posed.groups:
        sums = [_sum(posed, a, k, j) for k in range(K) for j in group]
        squares.append(sum((u * u for u in sums), start=arb(0)))
    # What the other classes have, mended: at most t more.
    shares = [1 - (1 - t) * ball(p[y]) for p, y in zip(q, posed.sides, strict=True)]
    spent, gain = _spent(posed, squares), entropy * (1 - t)
    if spent is None:
        over = [root(posed.limit(g)) / root(s) for g, s in zip(posed.groups, squares, strict=True)
                if not s <= posed.limit(g)]  # fmt: skip
        if not all(v.is_finite() for v in over):
            return None
        share = min((v.lower() for v in over), key=lambda v: v.mid()).max(arb(0))
        # A share of the point has as much of its entropy at least.
        return Dual(gain * share, [s * share * share for s in squares], shares)
    return Dual(plus(gain, -spent), squares, shares)


def _sum(posed: Posed, a: Sequence[Sequence[arb]], k: int, j: int) -> arb:
    return sum(
        (r[k] * ball(x[j]) for r, x in zip(a, posed.rows, strict=True) if x[j]), start=arb(0)
    )


def reaches(posed: Posed, gap: Number, dual: Dual) -> list[tuple[arb, arb]]:
    """Return |U_g| of the point, and how far that of the best point can be, both over sqrt(K p)."""
    gap = ball(gap).upper().max(arb(0))
    weights, factor = _row_weights(posed, gap, dual.shares)
    total = sum(weights, start=arb(0))
    out = []
    for group, square in zip(posed.groups, dual.squares, strict=True):
        length = arb(0)
        for j in group:
            # About any centre: this one is near the weighted mean, and rational.
            centre = _centre(posed, j) if posed.intercept and total > 0 else fmpq(0)
            for s, row in zip(weights, posed.rows, strict=True):
                length += s * ball((row[j] - centre) ** 2)
            if posed.intercept and total > 0:
                off = [
                    s * ball(row[j] - centre) for s, row in zip(weights, posed.rows, strict=True)
                ]
                mean = sum(off, start=arb(0))
                length -= mean * mean / total
        over = ball(posed.K * len(group)).sqrt()
        out.append((root(square) / over, root(factor * gap * length) / over))
    return out


def _centre(posed: Posed, j: int) -> fmpq:
    mass = sum(posed.costs, start=fmpq(0))
    return judge.dot(posed.costs, [row[j] for row in posed.rows]) / mass if mass else fmpq(0)


def _row_weights(posed: Posed, gap: arb, shares: Sequence[Number]) -> tuple[list[arb], int]:
    """Return c_i v_i, and by what the gap is multiplied."""
    if posed.loss == "squared_hinge":
        return [ball(c) for c in posed.costs], 4
    weights = []
    half = arb(1) / 2
    for c, share in zip(posed.costs, shares, strict=True):
        if not c:
            weights.append(arb(0))
            continue
        p, most = ball(share), arb(1) / 4
        for _ in range(_ROUNDS):
            away = root(2 * gap * most / ball(c)).upper()
            near = half
            if p + away < half:
                near = (p + away).upper()
            elif posed.K == 1 and p - away > half:
                near = (p - away).lower()
            new = (near * (1 - near)).upper()
            if not new < most:
                break
            most = new
        weights.append(ball(c) * most)
    return weights, 2 if posed.K == 1 else 4
