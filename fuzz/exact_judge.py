"""What linear machines claim, computed without rounding: rationals, and balls for exp and log.

Written from docs/certificates.md alone; it shares no code with the library. Every function takes
lists of rationals (`fmpq`) and returns a rational, or a ball (`arb`) of the precision in force.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, ctx, fmpq

__all__ = [
    "Claim",
    "box_dual",
    "class_box",
    "crammer_singer",
    "crammer_singer_dual",
    "exact",
    "machine",
    "machine_dual",
    "multinomial",
    "vector",
]

Number = Any
Row = Sequence[fmpq]
INFINITE = "infinite"
MOST_BITS = 20_000
_PRECISIONS = (500, 4_000, MOST_BITS)
_TINY = fmpq(1, 2**9999)


def exact(value: float) -> fmpq:
    """Return a float as the rational that it is."""
    return fmpq(*float(value).as_integer_ratio())


def vector(values: Any) -> list[fmpq]:
    return [exact(v) for v in values]


def ball(value: Number) -> arb:
    return value if isinstance(value, arb) else arb(value)


def dot(a: Row, b: Row) -> fmpq:
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), start=fmpq(0))


def kept(compute: Callable[[], Number]) -> Callable[[], Number]:
    """Return the same function, which computes a rational once, and a ball once a precision."""
    found: dict[int, Number] = {}

    def value() -> Number:
        key = 0 if 0 in found else ctx.prec
        if key not in found:
            made = compute()
            key = 0 if isinstance(made, fmpq | str) else key
            found[key] = made
        return found[key]

    return value


class Claim:
    """`claimed` is at least (or at most) what `truth` computes; plus or minus infinity is none.

    After `verdict`, `value` is the truth as last computed, or None where nothing was claimed.
    """

    def __init__(self, name: str, sense: str, claimed: float, truth: Callable[[], Number]) -> None:
        self.name, self.sense, self.claimed, self.truth = name, sense, float(claimed), truth
        self.value: Number = None

    def verdict(self) -> str:
        """Return "" where the claim is true, else what is wrong."""
        if math.isnan(self.claimed):
            return f"{self.name}: NaN is claimed"
        if self.claimed == (math.inf if self.sense == ">=" else -math.inf):
            return ""
        before = ctx.prec
        try:
            for precision in _PRECISIONS:
                ctx.prec = precision
                value = self.value = self.truth()
                found = self._compared(value)
                if found is not None:
                    return (
                        ""
                        if found
                        else f"{self.name}: {self.claimed!r} {self.sense} {shown(value)}"
                    )
        finally:
            ctx.prec = before
        # Equal to 20,000 bits, unless the truth could not be computed.
        return "" if value.is_finite() else f"{self.name}: {self.claimed!r} could not be judged"

    def _compared(self, value: Number) -> bool | None:
        if isinstance(value, str):
            return self.sense == "<="  # the truth is plus infinity
        if not math.isfinite(self.claimed):
            return False
        claimed, above = exact(self.claimed), self.sense == ">="
        if not isinstance(value, arb):
            return bool(claimed >= value if above else claimed <= value)
        if not value.is_finite():
            return None
        off = ball(claimed) - value
        if off > 0:
            return above
        if off < 0:
            return not above
        return None

    def room(self) -> float:
        """Return how far the claim is from the truth: log2 of the distance over the truth."""
        value = self.value
        if value is None or isinstance(value, str) or not math.isfinite(self.claimed):
            return math.inf
        value = ends_of(value)[0] if isinstance(value, arb) else value
        off = abs(exact(self.claimed) - value)
        return -math.inf if not off else float(magnitude(off) - (magnitude(value) if value else 0))

    def refuted(self) -> float:
        """Return the float nearest to the truth that would be a false claim; NaN if none is."""
        if self.value is None or isinstance(self.value, str):
            return math.nan
        low, high = ends_of(self.value) if isinstance(self.value, arb) else (self.value,) * 2
        end, way = (low, -math.inf) if self.sense == ">=" else (high, math.inf)
        if end and abs(magnitude(end)) > 1020:
            return math.nan
        near = int(end.p) / int(end.q)
        while exact(near) >= end if way < 0 else exact(near) <= end:
            near = math.nextafter(near, way)
        return near


def magnitude(value: fmpq) -> int:
    """Return log2 of the size of a rational that is not 0, to one or two."""
    return int(value.p).bit_length() - int(value.q).bit_length()


def ends_of(value: arb) -> tuple[fmpq, fmpq]:
    """Return rationals below and above everything in a ball; what is tiny counts as 2^-9999."""
    out = []
    for end, least in ((value.lower(), -_TINY), (value.upper(), _TINY)):
        mantissa, exponent = end.mid().man_exp()
        tiny = int(mantissa).bit_length() + int(exponent) < -9999
        out.append(least if tiny else fmpq(mantissa) * fmpq(2) ** int(exponent) + least)
    return out[0], out[1]


def shown(value: Number) -> str:
    if isinstance(value, str):
        return value
    before = ctx.prec
    ctx.prec = 120
    text = arb(value).str(17, radius=False) if not isinstance(value, arb) else value.str(17)
    ctx.prec = before
    return text


# ---- two classes


def softplus(t: Number) -> arb:
    """Return log(1 + exp(t))."""
    t = ball(t)
    if t > 0:
        return t + (-t).exp().log1p()
    return t.exp().log1p()


def entropy(q: Sequence[Number]) -> arb:
    total = arb(0)
    for p in q:
        if isinstance(p, arb) and not p > 0:  # so small that 0 cannot be excluded
            total += arb(0).union(abs(p).upper().sqrt())
        elif p != 0:
            total -= ball(p) * ball(p).log()
    return total


def loss_of(loss: str, margin: fmpq) -> Number:
    if loss == "logistic":
        return softplus(-margin)
    short = 1 - margin if margin < 1 else fmpq(0)
    return short if loss == "hinge" else short * short


def margins(rows: Sequence[Row], signs: Sequence[int], w: Row, b: fmpq) -> list[fmpq]:
    return [s * (dot(row, w) + b) for row, s in zip(rows, signs, strict=True)]


def machine(
    rows: Sequence[Row],
    signs: Sequence[int],
    costs: Sequence[Any],
    loss: str,
    w: Row,
    b: fmpq,
    penalty: fmpq,
    ridge: int = 1,
) -> Number:
    """Return the objective; costs of None are infinite: then at the weights of margin 1."""
    length = (ridge * dot(w, w) + penalty * b * b) / 2
    m = margins(rows, signs, w, b)
    if None in costs:
        least = min(v for v, c in zip(m, costs, strict=True) if c is None)
        if least <= 0 or loss == "logistic":  # which no margin brings to 0
            return INFINITE
        length, m = length / (least * least), [v / least for v in m]
    total: Number = length
    for v, c in zip(m, costs, strict=True):
        if c:
            part = loss_of(loss, v)
            total = total + part * c if not isinstance(part, arb) else ball(total) + part * ball(c)
    return total


def combined(rows: Sequence[Row], signs: Sequence[int], alpha: Row) -> list[fmpq]:
    return [
        sum((s * a * row[j] for row, s, a in zip(rows, signs, alpha, strict=True) if a), fmpq(0))
        for j in range(len(rows[0]))
    ]


def gain(costs: Sequence[Any], loss: str, alpha: Row) -> Number:
    """Return sum -c loss*(-a / c), or None where the multipliers are no dual point."""
    total: Number = fmpq(0)
    for a, c in zip(alpha, costs, strict=True):
        if a < 0 or (c is not None and a > c and (loss != "squared_hinge" or c == 0)):
            return None
        if not a:
            continue
        if loss == "logistic":
            total = ball(total) + ball(c) * entropy([a / c, 1 - a / c])
        else:
            total += a if loss == "hinge" or c is None else a - a * a / (4 * c)
    return total


def machine_dual(
    rows: Sequence[Row],
    signs: Sequence[int],
    costs: Sequence[Any],
    loss: str,
    alpha: Row,
    penalty: fmpq | None,
) -> Number:
    """Return the dual objective; `penalty` is None where there is no bias, 0 where it is free."""
    if loss == "logistic" and None in costs:
        return INFINITE
    got = gain(costs, loss, alpha)
    tilt = sum((s * a for s, a in zip(signs, alpha, strict=True)), start=fmpq(0))
    if got is None or (penalty == 0 and tilt != 0):
        return fmpq(0)  # no dual point: nothing but 0 is proved
    u = combined(rows, signs, alpha)
    square = dot(u, u) + (tilt * tilt / penalty if penalty else 0)
    if None in costs:
        # Every multiple of the multipliers that no finite cost forbids is a dual point too.
        bent = sum(
            (a * a / (2 * c) for a, c in zip(alpha, costs, strict=True) if a and c is not None),
            start=fmpq(0),
        )
        total = sum(alpha, start=fmpq(0))
        limits = [c / a for a, c in zip(alpha, costs, strict=True) if a and c is not None]
        return stretched(
            total,
            square + (bent if loss == "squared_hinge" else 0),
            limits if loss == "hinge" else [],
        )
    return got - square / 2 if not isinstance(got, arb) else got - ball(square) / 2


def stretched(total: Number, square: Number, limits: Sequence[fmpq]) -> Number:
    """Return the largest of t total - t^2 / 2 square, over t up to all limits."""
    if limits:
        t = min(limits)
        if total >= t * square:
            return t * total - t * t * square / 2
    if square == 0:
        return INFINITE if total > 0 else fmpq(0)
    return total * total / (2 * square)


def box_dual(
    rows: Sequence[Row],
    signs: Sequence[int],
    costs: Sequence[Any],
    loss: str,
    alpha: Row,
    w: Row,
    penalty: fmpq | None,
) -> Number:
    """Return the bound without a penalty on w, for weights up to 1000 times those found."""
    got = gain(costs, loss, alpha)
    tilt = sum((s * a for s, a in zip(signs, alpha, strict=True)), start=fmpq(0))
    if got is None or (penalty == 0 and tilt != 0):
        return fmpq(0)
    u, mass = combined(rows, signs, alpha), sum(alpha, start=fmpq(0))
    lost = tilt * tilt / (2 * penalty) if penalty else fmpq(0)
    for j, pull in enumerate(u):
        size = sum((a * abs(row[j]) for row, a in zip(rows, alpha, strict=True)), start=fmpq(0))
        lost += abs(pull) * 1000 * (abs(w[j]) + (mass / size if size else 0))
    return got - lost if not isinstance(got, arb) else got - ball(lost)


# ---- all classes at once


def scores(rows: Sequence[Row], W: Sequence[Row], b: Row) -> list[list[fmpq]]:
    return [[dot(row, w) + bias for w, bias in zip(W, b, strict=True)] for row in rows]


def lengths(W: Sequence[Row], b: Row, penalty: fmpq, ridge: int = 1) -> fmpq:
    return (ridge * sum((dot(w, w) for w in W), start=fmpq(0)) + penalty * dot(b, b)) / 2


def class_box(rows: Sequence[Row], costs: Row, W: Sequence[Row]) -> list[list[fmpq]]:
    """Return how large the weights of each class may be where no |w|^2 is charged for."""
    mass, typical = sum(costs, start=fmpq(0)), []
    for j in range(len(rows[0])):
        size = sum((c * abs(row[j]) for row, c in zip(rows, costs, strict=True)), start=fmpq(0))
        typical.append(mass / size if size else fmpq(0))
    return [[1000 * (abs(v) + t) for v, t in zip(w, typical, strict=True)] for w in W]


def crammer_singer(
    rows: Sequence[Row], codes: Sequence[int], costs: Row, W: Sequence[Row], b: Row, penalty: fmpq
) -> fmpq:
    total = lengths(W, b, penalty)
    for z, y, c in zip(scores(rows, W, b), codes, costs, strict=True):
        total += c * max((k != y) + v - z[y] for k, v in enumerate(z))
    return total


def crammer_singer_dual(
    rows: Sequence[Row],
    codes: Sequence[int],
    costs: Row,
    named: Sequence[tuple[int, int, fmpq]],
    n_classes: int,
    penalty: fmpq | None,
) -> fmpq:
    """Return the dual objective of multipliers named (row, rival, value); 0 if infeasible."""
    shares = [[fmpq(0)] * n_classes for _ in rows]
    spent = [fmpq(0)] * len(rows)
    for i, k, m in named:
        if m < 0 or k == codes[i]:
            return fmpq(0)
        shares[i][codes[i]] += m
        shares[i][k] -= m
        spent[i] += m
    tilts = [sum((row[k] for row in shares), start=fmpq(0)) for k in range(n_classes)]
    if any(s > c for s, c in zip(spent, costs, strict=True)) or (penalty == 0 and any(tilts)):
        return fmpq(0)
    square = dot(tilts, tilts) / penalty if penalty else fmpq(0)
    for k in range(n_classes):
        u = combined(rows, [1] * len(rows), [row[k] for row in shares])
        square += dot(u, u)
    return sum(spent, start=fmpq(0)) - square / 2


def probabilities(z: Row) -> tuple[list[arb], arb]:
    """Return softmax of the scores, and the logarithm of the sum of their exponentials."""
    top = max(z)
    powers = [ball(v - top).exp() for v in z]
    total = sum(powers, start=arb(0))
    return [p / total for p in powers], ball(top) + total.log()


def multinomial(
    rows: Sequence[Row],
    codes: Sequence[int],
    costs: Row,
    W: Sequence[Row],
    b: Row,
    penalty: fmpq,
    ridge: int = 1,
) -> arb:
    total = ball(lengths(W, b, penalty, ridge))
    for z, y, c in zip(scores(rows, W, b), codes, costs, strict=True):
        if c:
            top = max(z)
            rest = sum((ball(v - top).exp() for v in z), start=arb(0))
            # One of the terms is 1 exactly: what is beside it must not be lost.
            beside = sum(
                (ball(v - top).exp() for k, v in enumerate(z) if k != z.index(top)), arb(0)
            )
            total += ball(c) * (ball(top - z[y]) + (beside.log1p() if rest > 0 else rest))
    return total
