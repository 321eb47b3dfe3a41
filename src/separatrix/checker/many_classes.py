"""Duality gaps of models with one weight vector a class: Crammer-Singer, and softmax.

    1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2 + sum_i c_i loss_i                           at most primal
    gain - 1/2 sum_k |u_k|^2 - 1/(2p) sum_k r_k^2,   u_k = sum_i a_ik x_i, r_k = sum_i a_ik

with the loss max_k (1[k != y] + z_k - z_y) and any feasible multipliers, or the loss
log sum_k exp(z_k - z_y) and any probabilities q: a_ik = c_i (1[k = y_i] - q_ik).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from .codec import Claim, Refused, costs, counts, number, numbers, vectors
from .enclosed import BITS, exp, log
from .exact import Data, integers, ratio, square
from .gaps import all_costs, between, bias_penalty, surprise

FIELDS = {"costs": costs, "bias_penalty": number, "weights": vectors}
FIELDS |= {"primal": number, "dual": number}
NAMED = {"rows": counts, "rivals": counts, "multipliers": numbers}


class Model:
    """What both kinds read and compute alike: weights, costs, penalties, scores."""

    def __init__(self, data: Data, claim: Claim, intercept: bool):
        self.data, self.claim = data, claim
        self.penalty = bias_penalty(claim, intercept)
        costs = all_costs(claim.costs, len(data.rows))
        if math.inf in costs:
            raise Refused("costs must be finite here")
        self.costs, self.cost_unit = integers(costs)
        flat, self.exponent = integers(v for vector in claim.weights for v in vector)
        d = 1 + data.n_features
        if [len(vector) for vector in claim.weights] != [d] * data.n_classes:
            raise Refused("weights must be one list a class: the bias, and one number a column")
        self.weights = [flat[k * d : (k + 1) * d] for k in range(data.n_classes)]
        self.unit = self.exponent + data.exponent
        self.intercept = intercept

    def scores(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yield cost, class number and the score of every class, row by row."""
        every = (self.data.scores(w, self.intercept) for w in self.weights)
        for c, code, *scores in zip(self.costs, self.data.codes, *every, strict=True):
            yield c, code, scores

    def norm(self) -> Fraction:
        """Return what weights and biases cost."""
        found = ratio(sum(square(w[1:]) for w in self.weights), 2 * self.exponent)
        biases = ratio(square(w[0] for w in self.weights), 2 * self.exponent)
        return (found + (self.penalty or 0) * biases) / 2

    def lost(self, shares: list[list[tuple[int, int]]], unit: int) -> Fraction:
        """Return what the dual loses for shares a_ik in such units, one list a class."""
        sums = [self.data.combination(each) for each in shares]
        lost = ratio(sum(square(u.values()) for u in sums), 2 * (unit + self.data.exponent)) / 2
        balances = [sum(share for _, share in each) for each in shares]
        if self.penalty == 0 and any(balances):
            raise Refused("the multipliers of a class and those named for it must have one sum")
        return lost + (
            ratio(square(balances), 2 * unit) / (2 * self.penalty) if self.penalty else 0
        )


def check_multiclass_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of Crammer and Singer's model lies between dual and primal."""
    model = Model(data, claim, intercept)
    one, losses = 1 << -model.unit, 0
    for c, code, scores in model.scores():
        rivals = max(score for k, score in enumerate(scores) if k != code)
        losses += c * max(0, one + rivals - scores[code])
    primal = model.norm() + ratio(losses, model.unit + model.cost_unit)
    shares, unit = class_shares(data, claim, model.costs, model.cost_unit)
    gain = ratio(sum(integers(claim.multipliers)[0]), integers(claim.multipliers)[1])
    return between(claim, primal, gain - model.lost(shares, unit), _what(data))


def _what(data: Data) -> str:
    return f"set of {data.n_classes} weight vectors"


def class_shares(
    data: Data, claim: Claim, costs: list[int], cost_unit: int
) -> tuple[list[list[tuple[int, int]]], int]:
    """Return shares a_ik of feasible multipliers m_ik, one list a class: sum_k m_ik and -m_ik."""
    named = list(zip(claim.rows, claim.rivals, strict=False))
    if not len(claim.rows) == len(claim.rivals) == len(claim.multipliers) == len(set(named)):
        raise Refused("every multiplier needs its row and its class, named once")
    multipliers, unit = integers(claim.multipliers)
    shares: list[list[tuple[int, int]]] = [[] for _ in range(data.n_classes)]
    spent = Counter[int]()
    for (row, rival), m in zip(named, multipliers, strict=True):
        if row >= len(data.rows) or rival >= data.n_classes or rival == data.codes[row] or m < 0:
            raise Refused(f"row {row} and class {rival} cannot have such a multiplier")
        shares[rival].append((row, -m))
        spent[row] += m
    for row, total in spent.items():
        if ratio(total, unit) > ratio(costs[row], cost_unit):
            raise Refused(f"the multipliers of row {row} exceed its cost")
        shares[data.codes[row]].append((row, total))
    return shares, unit


def check_softmax_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of the multinomial model lies between dual and primal.

    The dual point is the softmax of the weights, in fixed point; the own class gets the rest to 1.
    """
    model = Model(data, claim, intercept)
    rows = [
        (row, c, code, scores[code] - max(scores), _parts(scores, model.unit))
        for row, (c, code, scores) in enumerate(model.scores())
        if c
    ]
    # Where all rows are nearly certain, what others get is small, and is counted in smaller units.
    bits = min(s for *_, code, _, parts in rows for k, (_, _, s) in enumerate(parts) if k != code)
    one, losses, gain = 1 << bits, 0, 0
    shares: list[list[tuple[int, int]]] = [[] for _ in range(data.n_classes)]
    for row, c, code, below, parts in rows:
        others = [(high << bits >> s) + 1 for _, high, s in parts]
        q = [(max(0, low) << 2 * bits >> s) // sum(others) for low, _, s in parts]
        q[code] = 0
        q[code] = one - sum(q)
        gain += c * sum(surprise(p, one) for p in q)
        if below == 0:  # the own class is on top: ln(1 + t), t at least what the others have
            others[code] = one
        losses += c * (-((below << bits) >> -model.unit) + _log_above(sum(others), one, bits))
        for k, p in enumerate(q):
            shares[k].append((row, c * ((one if k == code else 0) - p)))
    unit = model.cost_unit - bits
    primal, entropy = model.norm() + ratio(losses, unit), ratio(gain, unit - BITS)
    if model.penalty == 0:
        dual = _mended(model, shares, entropy, bits)
    else:
        dual = entropy - model.lost(shares, unit)
    return between(claim, primal, max(dual, Fraction(0)), _what(data))


def _parts(scores: list[int], unit: int) -> list[tuple[int, int, int]]:
    """Return exp(score - highest score), enclosed."""
    top = max(scores)
    return [exp((score - top << BITS) >> -unit) for score in scores]


def _log_above(total: int, one: int, bits: int) -> int:
    """Return at least ln(total / one) in units of ``2**-bits``; the total is at least one."""
    if (total - one) << 64 < one:
        return total - one  # ln(1 + t) <= t
    return (log(total, one)[1] << bits >> BITS) + 1


def _mended(
    model: Model, shares: list[list[tuple[int, int]]], entropy: Fraction, bits: int
) -> Fraction:
    """Return the dual where a share t of every row's probabilities goes to one distribution v.

    t v_k M = t N_k + (1 - t) r_k >= 0 makes every r_k zero; N_k are sums of costs, M is their sum.
    Entropy is concave, so (1 - t) of it is left, and M u'_k = M ((1 - t) u_k + t S_k) - t v_k M S.
    """
    data, K, one = model.data, model.data.n_classes, 1 << bits
    members: list[list[tuple[int, int]]] = [[] for _ in range(K)]
    for row, (c, code) in enumerate(zip(model.costs, data.codes, strict=True)):
        members[code].append((row, c << bits))
    masses = [sum(share for _, share in each) for each in members]
    balances = [sum(share for _, share in each) for each in shares]
    if not all(masses):
        raise Refused("a class has no row of a cost above zero")
    lacking = [(-r << bits) // (n - r) for r, n in zip(balances, masses, strict=True)]
    t = 1 + max(0, *lacking) if any(balances) else 0
    mass, mixes = (
        sum(masses),
        [t * n + (one - t) * r for r, n in zip(balances, masses, strict=True)],
    )
    everything = data.combination([pair for each in members for pair in each])
    total = 0
    for k in range(K):
        u, own = data.combination(shares[k]), data.combination(members[k])
        for j, all_rows in everything.items():
            mine = (one - t) * u.get(j, 0) + t * own.get(j, 0)
            total += (mass * mine - mixes[k] * all_rows) ** 2
    unit = 2 * (model.cost_unit - 2 * bits + data.exponent)
    return (1 - ratio(t, -bits)) * entropy - ratio(total, unit) / mass**2 / 2
