"""What kernel machines claim, from kernel values that are rationals, or balls for exp and tanh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import arb, fmpq

from fuzz.exact_judge import INFINITE, ball, dot, exact, stretched

__all__ = ["direct", "direct_dual", "dual", "gram", "objective", "out_of_order"]

Number = Any
Row = Sequence[fmpq]


def gram(
    name: str, gamma: float, degree: int, coef0: float, rows: Sequence[Row]
) -> list[list[Any]]:
    """Return all kernel values; of "precomputed" the rows are the values."""
    if name == "precomputed":
        return [list(row) for row in rows]
    n = len(rows)
    out: list[list[Any]] = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            out[i][j] = out[j][i] = value(name, gamma, degree, coef0, rows[i], rows[j])
    return out


def value(name: str, gamma: float, degree: int, coef0: float, x: Row, z: Row) -> Number:
    if name == "linear":
        return dot(x, z)
    if name == "rbf":
        off = [a - b for a, b in zip(x, z, strict=True)]
        return ball(-exact(gamma) * dot(off, off)).exp()
    inside = exact(gamma) * dot(x, z) + exact(coef0)
    return inside**degree if name == "poly" else ball(inside).tanh()


def times(K: Sequence[Sequence[Number]], shares: Row) -> list[Number]:
    """Return K @ shares."""
    out = []
    for row in K:
        total: Number = fmpq(0)
        for v, s in zip(row, shares, strict=True):
            if s:
                total = ball(total) + v * ball(s) if isinstance(v, arb) else total + v * s
        out.append(total)
    return out


def summed(terms: Sequence[Number]) -> Number:
    if any(isinstance(t, arb) for t in terms):
        return sum((ball(t) for t in terms), start=arb(0))
    return sum(terms, start=fmpq(0))


def product(a: Number, b: Number) -> Number:
    return ball(a) * ball(b) if isinstance(a, arb) or isinstance(b, arb) else a * b


def quotient(a: Number, b: Number) -> Number:
    return ball(a) / ball(b) if isinstance(a, arb) or isinstance(b, arb) else a / b


def positive_part(v: Number) -> Number:
    if isinstance(v, arb):
        return v.nonnegative_part() if not v.is_zero() else v
    return v if v > 0 else fmpq(0)


def objective(
    K: Sequence[Sequence[Number]], signs: Sequence[int], costs: Sequence[Any], alpha: Row, b: fmpq
) -> Number:
    """Return the objective; where costs are None (infinite), of the machine of least margin 1."""
    shares = [s * a for s, a in zip(signs, alpha, strict=True)]
    g = times(K, shares)
    half = product(summed([product(s, v) for s, v in zip(shares, g, strict=True)]), fmpq(1, 2))
    margins = [
        s * v + s * b if not isinstance(v, arb) else (v + ball(b)) * s
        for s, v in zip(signs, g, strict=True)
    ]
    if None in costs:
        hard = [m for m, s, c in zip(margins, signs, costs, strict=True) if s and c is None]
        least = hard[0]
        for m in hard[1:]:
            least = ball(least).min(ball(m)) if isinstance(m, arb) else min(least, m)
        if not least > 0:
            return INFINITE
        half = quotient(half, product(least, least))
        margins = [quotient(m, least) for m in margins]
    losses = [
        product(c, positive_part(1 - m))
        for c, m, s in zip(costs, margins, signs, strict=True)
        if s and c
    ]
    return summed([half, *losses])


def dual(
    K: Sequence[Sequence[Number]], signs: Sequence[int], costs: Sequence[Any], alpha: Row
) -> Number:
    """Return the lower bound; 0 where the multipliers are no dual point."""
    shares = [s * a for s, a in zip(signs, alpha, strict=True)]
    if any(a < 0 or (c is not None and a > c) for a, c in zip(alpha, costs, strict=True)) or sum(
        shares, fmpq(0)
    ):
        return fmpq(0)
    square = summed([product(s, v) for s, v in zip(shares, times(K, shares), strict=True)])
    mass = sum(alpha, start=fmpq(0))
    if None in costs:
        limits = [c / a for a, c in zip(alpha, costs, strict=True) if a and c is not None]
        if not isinstance(square, arb):
            return stretched(mass, square, limits)
        return stretched(ball(mass), square, [ball(limit) for limit in limits])
    return summed([mass, product(square, fmpq(-1, 2))])


def out_of_order(
    K: Sequence[Sequence[Number]], signs: Sequence[int], costs: Sequence[Any], alpha: Row
) -> Number:
    """Return by how much a multiplier that may fall stands above one that may grow, at most."""
    shares = [s * a for s, a in zip(signs, alpha, strict=True)]
    f = [summed([v, fmpq(-s)]) for v, s in zip(times(K, shares), signs, strict=True)]
    grow, fall = [], []
    for v, s, a, c in zip(f, signs, alpha, costs, strict=True):
        if not s:
            continue
        below = c is None or a < c
        if below if s > 0 else a > 0:
            grow.append(v)
        if a > 0 if s > 0 else below:
            fall.append(v)
    if not grow or not fall:
        return fmpq(0)
    most, least = ball(fall[0]), ball(grow[0])
    for v in fall[1:]:
        most = most.max(ball(v))
    for v in grow[1:]:
        least = least.min(ball(v))
    return (most - least).max(arb(0))


def direct_shares(
    codes: Sequence[int], named: Sequence[tuple[int, int, fmpq]], n_classes: int
) -> list[list[fmpq]]:
    shares = [[fmpq(0)] * len(codes) for _ in range(n_classes)]
    for i, k, m in named:
        shares[codes[i]][i] += m
        shares[k][i] -= m
    return shares


def direct(
    K: Sequence[Sequence[Number]],
    codes: Sequence[int],
    costs: Row,
    named: Sequence[tuple[int, int, fmpq]],
    biases: Row,
) -> Number:
    """Return the objective of the machine of all classes at once."""
    shares = direct_shares(codes, named, len(biases))
    g = [times(K, one) for one in shares]
    terms = [
        product(s, v) * fmpq(1, 2) if not isinstance(v, arb) else ball(s) * v / 2
        for one, scores in zip(shares, g, strict=True)
        for s, v in zip(one, scores, strict=True)
    ]
    for i, (y, c) in enumerate(zip(codes, costs, strict=True)):
        own = summed([g[y][i], biases[y]])
        worst: Number = None
        for k in range(len(biases)):
            off = summed([fmpq(int(k != y)), g[k][i], biases[k], -own])
            if k == y:
                off = fmpq(0)
            if worst is None:
                worst = off
            elif isinstance(worst, arb) or isinstance(off, arb):
                worst = ball(worst).max(ball(off))
            else:
                worst = max(worst, off)
        terms.append(product(c, worst))
    return summed(terms)


def direct_dual(
    K: Sequence[Sequence[Number]],
    codes: Sequence[int],
    costs: Row,
    named: Sequence[tuple[int, int, fmpq]],
    n_classes: int,
) -> Number:
    spent = [fmpq(0)] * len(codes)
    for i, k, m in named:
        spent[i] += m
        if m < 0 or k == codes[i]:
            return fmpq(0)
    shares = direct_shares(codes, named, n_classes)
    if any(sum(one, fmpq(0)) for one in shares) or any(
        s > c for s, c in zip(spent, costs, strict=True)
    ):
        return fmpq(0)
    terms: list[Number] = [sum(spent, start=fmpq(0))]
    for one in shares:
        for s, v in zip(one, times(K, one), strict=True):
            terms.append(product(product(s, v), fmpq(-1, 2)))
    return summed(terms)
