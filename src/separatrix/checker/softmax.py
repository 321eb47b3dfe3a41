"""The multinomial model: the objective at the weights, and the dual at their softmax.

    1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2 + sum_i c_i log sum_k exp(z_ik - z_iy)      at most primal
    sum_i c_i H(q_i) - 1/2 sum_k |u_k|^2 - 1/(2p) sum_k r_k^2                       at least dual

for any probabilities q, with a_ik = c_i (1[k = y_i] - q_ik), u_k = sum_i a_ik x_i, r_k = sum_i a_ik
and H the entropy. Probabilities are integers in units of a power of two; exp and log are enclosed,
always against the claim.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

from .codec import Claim, require
from .enclosed import BITS, exp, log
from .exact import Data, Shares, ratio, square
from .gaps import QUOTIENT, REACH, Model, between, surprise


def check_softmax_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of the multinomial model lies between dual and primal."""
    model = Model(data, claim, claim.weights, intercept)
    require(model.ridge in (0, 1), "ridge must be 0 or 1")
    point = softmax_point(model)
    primal = model.norm() + point.losses
    if model.penalty == 0:
        rest, sums, unit, mass = mended(model, point)
        lost = _spent(model, sums, unit) / mass ** (2 if model.ridge else 1)
        dual = rest * point.entropy - lost
    else:
        sums = [data.combination(each) for each in point.shares]
        lost = _spent(model, sums, point.unit + data.exponent)
        dual = point.entropy - lost - model.unbalanced(point.shares, point.unit)
    reach = "" if model.ridge else f" up to {REACH} times as steep"
    return between(claim, primal, max(dual, Fraction(0)), model.what + reach)


class SoftmaxPoint(NamedTuple):
    """The softmax of all rows, in fixed point; the own class of a row gets the rest to 1."""

    bits: int  # the units of probabilities are 2**-bits
    unit: int  # that of shares
    losses: Fraction  # from above
    entropy: Fraction  # from below
    shares: list[Shares]  # c_i (1[k = y_i] - q_ik), one list a class
    others: dict[int, int]  # by row, what the other classes have


def softmax_point(model: Model, share: Fraction = Fraction(1)) -> SoftmaxPoint:
    """Return the softmax of the weights, the other classes of each row with a share of theirs."""
    rows = [
        (row, c, code, scores[code] - max(scores), _parts(scores, model.unit))
        for row, (c, code, scores) in enumerate(model.scores())
        if c
    ]
    # Where all rows are nearly certain, what others get is small, and is counted in smaller units.
    bits = min(s for *_, code, _, parts in rows for k, (_, _, s) in enumerate(parts) if k != code)
    one, losses, gain, taken = 1 << bits, 0, 0, {}
    top, bottom = share.as_integer_ratio()
    shares: list[Shares] = [[] for _ in range(model.data.n_classes)]
    for row, c, code, below, parts in rows:
        others = [(high << bits >> s) + 1 for _, high, s in parts]
        q = [top * (max(0, low) << 2 * bits >> s) // (bottom * sum(others)) for low, _, s in parts]
        q[code] = 0
        taken[row] = sum(q)
        q[code] = one - taken[row]
        gain += c * sum(surprise(p, one) for p in q)
        if below == 0:  # the own class is on top: ln(1 + t), t at least what the others have
            others[code] = one
        losses += c * (-((below << bits) >> -model.unit) + _log_above(sum(others), one, bits))
        for k, p in enumerate(q):
            shares[k].append((row, c * ((one if k == code else 0) - p)))
    unit = model.cost_unit - bits
    return SoftmaxPoint(bits, unit, ratio(losses, unit), ratio(gain, unit - BITS), shares, taken)


def _spent(model: Model, sums: list[dict[int, int]], unit: int) -> Fraction:
    """Return 1/2 sum_k |u_k|^2; without a ridge sum_jk |u_jk| B_jk.

    B_jk = 1000 (|w_jk| + sum c / sum c |x_j|), and u is in such units.
    """
    if model.ridge:
        return ratio(sum(square(u.values()) for u in sums), 2 * unit) / 2
    data, sizes = model.data, Counter[int]()
    for c, (columns, entries) in zip(model.costs, data.whole, strict=True):
        for j, x in zip(columns, entries, strict=True):
            sizes[j] += c * abs(x)
    total, lost = sum(model.costs) << -data.exponent, 0
    for w, u in zip(model.weights, sums, strict=True):
        for j, value in u.items():
            if value:  # then some c |x_j| is not zero
                typical = -((-total << (QUOTIENT - model.exponent)) // sizes[j])
                lost += abs(value) * ((abs(w[1 + j]) << QUOTIENT) + typical)
    return REACH * ratio(lost, unit + model.exponent - QUOTIENT)


def _parts(scores: list[int], unit: int) -> list[tuple[int, int, int]]:
    """Return exp(score - highest score), enclosed."""
    top = max(scores)
    return [exp((score - top << BITS) >> -unit) for score in scores]


def _log_above(total: int, one: int, bits: int) -> int:
    """Return at least ln(total / one) in units of ``2**-bits``; the total is at least one."""
    if (total - one) << 64 < one:
        return total - one  # ln(1 + t) <= t
    return (log(total, one)[1] << bits >> BITS) + 1


class Mended(NamedTuple):
    """A point whose sums are zero: what is left of it, and M U by class, in such units."""

    rest: Fraction
    sums: list[dict[int, int]]
    unit: int
    mass: int  # M


def mended(model: Model, point: SoftmaxPoint) -> Mended:
    """Return the point where a share t of every row's probabilities goes to one distribution v.

    t v_k M = t N_k + (1 - t) r_k >= 0 makes every r_k zero; N_k are sums of costs, M is their sum.
    Entropy is concave, so (1 - t) of it is left, and M u'_k = M ((1 - t) u_k + t S_k) - t v_k M S.
    """
    data, K, bits, shares = model.data, model.data.n_classes, point.bits, point.shares
    one = 1 << bits
    members: list[Shares] = [[] for _ in range(K)]
    for row, (c, code) in enumerate(zip(model.costs, data.codes, strict=True)):
        members[code].append((row, c << bits))
    masses = [sum(share for _, share in each) for each in members]
    balances = [sum(share for _, share in each) for each in shares]
    require(all(masses), "a class has no row of a cost above zero")
    lacking = [(-r << bits) // (n - r) for r, n in zip(balances, masses, strict=True)]
    t = 1 + max(0, *lacking) if any(balances) else 0
    mass = sum(masses)
    mixes = [t * n + (one - t) * r for r, n in zip(balances, masses, strict=True)]
    everything = data.combination([pair for each in members for pair in each])
    sums: list[dict[int, int]] = []
    for k in range(K):
        u, own = data.combination(shares[k]), data.combination(members[k])
        sums.append({})
        for j, all_rows in everything.items():
            mine = (one - t) * u.get(j, 0) + t * own.get(j, 0)
            sums[k][j] = mass * mine - mixes[k] * all_rows
    return Mended(1 - ratio(t, -bits), sums, point.unit - bits + data.exponent, mass)
