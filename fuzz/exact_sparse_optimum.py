"""The optimum of sparse weights to 30 digits and more, by Newton's method in balls.

The norm of each group is smoothed by a barrier: min over t of l t - mu log(t^2 - s^2), s = |W_g|,
is smooth in W_g, and its gradient l W_g / t is shorter than l. So each minimum has a dual point,
and the gap of both is 2 mu a group. Nothing here is believed: what is returned are two points,
whose objectives `exact_sparse` computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import arb, arb_mat, ctx, fmpq

from fuzz.exact_judge import ball, combined
from fuzz.exact_sparse import Dual, Posed, class_dual, objective, reaches, root, two_dual

__all__ = ["Optimum"]

_BITS = 1_200
_STAGES, _NEWTON, _HALVINGS = 30, 40, 30
_LESS = arb(2) ** -8
_DONE = 2.0**-110  # of the objective
_FAR = 20_000  # as a power of two
Theta = list[list[arb]]  # one list for each vector: [b, w_1 ... w_d]


class Optimum:
    """Points near the optimum: `primal` and `dual` enclose it, `zero` tells of columns."""

    def __init__(self, posed: Posed) -> None:
        self.posed, before = posed, ctx.prec
        try:
            ctx.prec = _BITS
            theta = _solved(posed)
            W = [[_rational(v) for v in w[1:]] for w in theta]
            b = [_rational(w[0]) if posed.intercept else fmpq(0) for w in theta]
            self.primal = objective(posed, W, b)
            self.dual: Dual | None = _dual_at(posed, theta)
            self.reaches = None
            if self.dual is not None:
                gap = ball(self.primal) - ball(self.dual.value)
                self.reaches = reaches(posed, gap, self.dual)
        finally:
            ctx.prec = before

    def zero(self, column: int) -> bool | None:
        """Whether a column is zero in every optimum; None where these points do not tell."""
        before, ctx.prec = ctx.prec, _BITS
        try:
            return self._zero(column)
        finally:
            ctx.prec = before

    def _zero(self, column: int) -> bool | None:
        posed = self.posed
        g = next(i for i, group in enumerate(posed.groups) if column in group)
        if self.reaches is None:
            return None
        size, reach = self.reaches[g]
        limit = ball(posed.l1)
        if size + reach < limit:
            return True
        if posed.ridge:
            return False if size - reach > limit else None
        # Without these columns the least objective is larger: no optimum has them at zero.
        other = Optimum(posed.without(posed.groups[g])).dual
        return False if other is not None and ball(other.value) > ball(self.primal) else None


def _rational(value: arb) -> fmpq:
    """Return the middle of a ball; 0 where it is beyond what is worth a proposal."""
    mantissa, exponent = value.mid().man_exp()
    if abs(int(exponent)) > _FAR:
        return fmpq(0)
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _solved(posed: Posed) -> Theta:
    points = [[ball(v) for v in row] for row in posed.rows]
    theta = [[arb(0)] * (1 + len(posed.rows[0])) for _ in range(posed.K)]
    start = ball(objective(posed, [[fmpq(0)] * len(posed.rows[0])] * posed.K, [fmpq(0)] * posed.K))
    mu = start / (2 * len(posed.groups))
    for _ in range(_STAGES):
        theta = _centred(posed, points, theta, mu)
        if 2 * len(posed.groups) * mu < _DONE * _value(posed, points, theta, mu * 2**-60)[0]:
            break
        _follow(posed, theta, mu)
        mu = (mu * _LESS).mid()
    return theta


def _follow(posed: Posed, theta: Theta, mu: arb) -> None:
    """Bring the weights of groups that go to zero as mu does to where they will be."""
    for group in posed.groups:
        size, t, _ = _smooth(posed, group, theta, mu)
        if size < t * 0.9:
            for w in theta:
                for j in group:
                    w[1 + j] = (w[1 + j] * _LESS).mid()


def _smooth(posed: Posed, group: Sequence[int], theta: Theta, mu: arb) -> tuple[arb, arb, arb]:
    """Return |W_g|, the t that belongs to it, and sqrt(e^2 + |W_g|^2), e = mu / l_g."""
    near = mu / root(posed.limit(group))
    square = sum((w[1 + j] * w[1 + j] for w in theta for j in group), start=arb(0))
    far = (near * near + square).sqrt()
    return root(square), near + far, far


def _value(posed: Posed, points: Any, theta: Theta, mu: arb) -> tuple[arb, list[Any]]:
    """Return the smoothed objective, and slopes and curvatures of the losses, row by row."""
    total, each = arb(0), []
    for w in theta:
        total += ball(posed.ridge) / 2 * sum((v * v for v in w[1:]), start=arb(0))
    for group in posed.groups:
        limit = root(posed.limit(group))
        _, t, _ = _smooth(posed, group, theta, mu)
        total += limit * t - mu * (2 * mu / limit * t).log()
    for x, side, cost in zip(points, posed.sides, posed.costs, strict=True):
        c = ball(cost)
        z = [
            w[0] + sum((v * u for v, u in zip(w[1:], x, strict=True)), start=arb(0)) for w in theta
        ]
        loss, slopes, curved = _loss(posed, z, side)
        total += c * loss
        each.append(([c * s for s in slopes], [[c * h for h in row] for row in curved]))
    return total, each


def _loss(posed: Posed, z: list[arb], side: int) -> tuple[arb, list[arb], list[list[arb]]]:
    if posed.loss == "squared_hinge":
        short = (1 - side * z[0]).mid()
        if not short > 0:
            return arb(0), [arb(0)], [[arb(0)]]
        return short * short, [-2 * side * short], [[arb(2)]]
    if posed.K == 1:
        m = (side * z[0]).mid()
        e = (-abs(m)).exp()
        loss = e.log1p() + (-m).max(arb(0))
        p = (e if m > 0 else arb(1)) / (1 + e)
        return loss, [-side * p], [[e / ((1 + e) * (1 + e))]]
    z = [v.mid() for v in z]
    top = max(z)
    powers = [(v - top).exp() for v in z]
    whole = sum(powers, start=arb(0))
    q = [p / whole for p in powers]
    slopes = [p - (k == side) for k, p in enumerate(q)]
    curved = [[q[k] * ((k == m) - q[m]) for m in range(posed.K)] for k in range(posed.K)]
    return top + whole.log() - z[side], slopes, curved


def _centred(posed: Posed, points: Any, theta: Theta, mu: arb) -> Theta:
    value, each = _value(posed, points, theta, mu)
    for _ in range(_NEWTON):
        step, decrement = _step(posed, points, theta, mu, each)
        if step is None or not decrement > mu * arb(2) ** -60:
            break
        for halving in range(_HALVINGS):
            share = arb(2) ** -halving
            tried = [[(v + share * s).mid() for v, s in zip(w, d, strict=True)]
                     for w, d in zip(theta, step, strict=True)]  # fmt: skip
            new, found = _value(posed, points, tried, mu)
            if new < value - share * decrement / 8:
                break
        else:
            break
        theta, value, each = tried, new, found
    return theta


def _step(posed: Posed, points: Any, theta: Theta, mu: arb, each: Any) -> tuple[Any, arb]:
    K, first = posed.K, 0 if posed.intercept else 1
    width = len(theta[0]) - first
    at = lambda k, j: k * width + j - first  # noqa: E731
    gradient = [arb(0)] * (K * width)
    hessian = [[arb(0)] * (K * width) for _ in range(K * width)]
    ridge = ball(posed.ridge)
    for k, w in enumerate(theta):
        for j in range(1, len(w)):
            gradient[at(k, j)] += ridge * w[j]
            hessian[at(k, j)][at(k, j)] += ridge
    for group in posed.groups:
        limit = root(posed.limit(group))
        _, t, far = _smooth(posed, group, theta, mu)
        places = [(at(k, 1 + j), theta[k][1 + j]) for k in range(K) for j in group]
        for i, v in places:
            gradient[i] += limit * v / t
            hessian[i][i] += limit / t
            for m, u in places:
                hessian[i][m] -= limit * v * u / (t * t * far)
    for x, (slopes, curved) in zip(points, each, strict=True):
        full = [arb(1), *x][first:]
        for k in range(K):
            for j, v in enumerate(full):
                gradient[k * width + j] += slopes[k] * v
            for m in range(K):
                if curved[k][m].is_zero():
                    continue
                for j, v in enumerate(full):
                    part = curved[k][m] * v
                    for i, u in enumerate(full):
                        hessian[k * width + j][m * width + i] += part * u
    found = _solve(hessian, gradient)
    if found is None:
        return None, arb(0)
    decrement = -sum((g * s for g, s in zip(gradient, found, strict=True)), start=arb(0))
    fill = [arb(0)] * first
    return [fill + found[k * width : (k + 1) * width] for k in range(K)], decrement.mid()


def _solve(hessian: list[list[arb]], gradient: list[arb]) -> list[arb] | None:
    """Solve for the step, rows and columns scaled; a bias that nothing holds is held a little."""
    size = [hessian[i][i].mid() for i in range(len(gradient))]
    size = [(v if v > 0 else arb(1)).sqrt().mid() for v in size]
    rows = [
        [(hessian[i][j] / (size[i] * size[j])).mid() + (arb(2) ** -200 if i == j else 0)
         for j in range(len(size))]
        for i in range(len(size))
    ]  # fmt: skip
    right = arb_mat(len(size), 1, [(-g / s).mid() for g, s in zip(gradient, size, strict=True)])
    try:
        found = arb_mat(rows).solve(right)
    except (ZeroDivisionError, ValueError):
        return None
    return [(found[i, 0] / size[i]).mid() for i in range(len(size))]


def _dual_at(posed: Posed, theta: Theta) -> Dual | None:
    """Return the dual point of the slopes of the losses, put right in its last digits."""
    points = [[ball(v) for v in row] for row in posed.rows]
    each = []
    for x, side in zip(points, posed.sides, strict=True):
        z = [
            w[0] + sum((v * u for v, u in zip(w[1:], x, strict=True)), start=arb(0)) for w in theta
        ]
        each.append(_loss(posed, z, side)[1])
    if posed.K > 1:
        q = [[(s + (k == y)).mid() for k, s in enumerate(slopes)]
             for slopes, y in zip(each, posed.sides, strict=True)]  # fmt: skip
        for p, y in zip(q, posed.sides, strict=True):
            p[y] = 1 - sum((v for k, v in enumerate(p) if k != y), start=arb(0))
        return class_dual(posed, q)
    alpha = [c * max(fmpq(0), _rational(-s * slope[0]))
             for c, s, slope in zip(posed.costs, posed.sides, each, strict=True)]  # fmt: skip
    alpha = _balanced(posed, alpha)
    most = fmpq(1)
    for _ in range(2):
        found = two_dual(posed, [most * a for a in alpha])
        if found is not None or posed.ridge:
            return found
        u = combined(posed.rows, posed.sides, alpha)
        for group in posed.groups:
            square = sum((u[j] * u[j] for j in group), start=fmpq(0))
            if square > posed.limit(group):
                most = min(
                    most,
                    _rational(root(posed.limit(group) / square).lower() * (1 - arb(2) ** -900)),
                )
    return None


def _balanced(posed: Posed, alpha: list[fmpq]) -> list[fmpq]:
    """Return multipliers whose signed sum is 0: the row with the most room is changed."""
    if not posed.intercept:
        return alpha
    tilt = sum((s * a for s, a in zip(posed.sides, alpha, strict=True)), start=fmpq(0))
    rooms = [
        (min(a, c - a) if posed.loss == "logistic" else a, i)
        for i, (a, c) in enumerate(zip(alpha, posed.costs, strict=True))
    ]
    _, i = max(rooms)
    alpha = list(alpha)
    alpha[i] -= posed.sides[i] * tilt
    return alpha
