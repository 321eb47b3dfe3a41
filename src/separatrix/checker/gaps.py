"""Duality gaps of linear models: the objective at the weights, and the dual at the multipliers.

Two classes, m_i = y_i (w.x_i + b), u = sum a y x:

    ridge/2 |w|^2 + p/2 b^2 + sum_i c_i loss(m_i)                                   at most primal
    sum_i -c_i loss*(-a_i/c_i) - 1/2 |u|^2 - (sum_i y_i a_i)^2 / 2p                 at least dual

One weight vector a class (Crammer-Singer, softmax), u_k = sum_i a_ik x_i, r_k = sum_i a_ik:

    1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2 + sum_i c_i loss_i                          at most primal
    gain - 1/2 sum_k |u_k|^2 - 1/(2p) sum_k r_k^2                                   at least dual

with the loss max_k (1[k != y] + z_k - z_y) and any feasible multipliers, or the loss
log sum_k exp(z_k - z_y) and any probabilities q: a_ik = c_i (1[k = y_i] - q_ik). Hinges are
computed in integers; of the other losses exp and log are enclosed, and quotients by costs are cut
at 256 bits, always against the claim.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

from .codec import Claim, Refused
from .enclosed import BITS, exp, log, log1p_exp
from .exact import Data, distinct, integers, ratio, square

_QUOTIENT = 256
REACH = 1000  # without a penalty on w, the bound speaks of weights up to so many times as large


def check_duality_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of the linear model lies between dual and primal."""
    if not (claim.positive == 1 if data.n_classes == 2 else claim.positive < data.n_classes):
        raise Refused("positive must number a class: 1, or any where there are more than two")
    if claim.ridge not in (0.0, 1.0):
        raise Refused("ridge must be 0 or 1")
    signs = [1 if code == claim.positive else -1 for code in data.codes]
    costs = all_costs(claim.costs, len(signs))
    if claim.loss == "logistic" and math.inf in costs:
        raise Refused("costs of a logistic loss must be finite: no margin has a loss of 0")
    primal = _primal(data, claim, signs, costs, intercept)
    dual = _dual(data, claim, signs, costs, intercept)
    reach = "" if claim.ridge else f" up to {REACH} times as steep"
    return between(claim, primal, dual, f"hyperplane{reach}")


def check_scaled_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: those gaps, for columns divided by powers of two; the data are these columns."""
    said = [check_duality_gap(data, model, intercept) for model in claim.machines]
    numbers = [model.positive for model in claim.machines]
    if numbers not in ([1], list(range(data.n_classes))) or len(numbers) == data.n_classes == 2:
        raise Refused("there must be one model, or one for each of more than two classes")
    return f"{'; '.join(said)} (each column divided by a power of two)"


def divided(data: Data, exponents: list[int]) -> Data:
    """Return the data with columns divided by powers of two."""
    if len(exponents) != data.n_features or any(abs(e) > 1100 for e in exponents):
        raise Refused("exponents must be one a column, of the size of those of floats")
    rows = []
    for columns, entries in data.rows:
        powers = [exponents[j] for j in columns]
        found = [math.ldexp(x, -e) for x, e in zip(entries, powers, strict=True)]
        if list(map(math.ldexp, found, powers)) != list(entries):
            raise Refused("a divided column is no longer exact")
        rows.append((columns, found))
    return replace(data, rows=rows)


def all_costs(costs: list[float], rows: int) -> list[float]:
    """Return a cost for each row; those above zero are all finite or all infinite."""
    if len(costs) not in (1, rows) or not any(costs):
        raise Refused("costs must be one number above zero, or one for each row")
    if len({math.isinf(c) for c in costs if c}) > 1:
        raise Refused("costs must be all finite or all infinite (those above zero)")
    return costs if len(costs) == rows else costs * rows


def bias_penalty(claim: Claim, intercept: bool) -> Fraction | None:
    """Return the penalty of the bias; None where there is no bias."""
    if claim.bias_penalty < 0.0:
        raise Refused("bias_penalty must be at least 0")
    return Fraction(claim.bias_penalty) if intercept else None


def between(claim: Claim, primal: Fraction, dual: Fraction, what: str) -> str:
    """Refuse bounds that do not hold; else say what they prove."""
    if primal > Fraction(claim.primal):
        raise Refused("the objective at the weights is above the upper bound")
    if dual < Fraction(claim.dual):
        raise Refused("the multipliers do not prove the lower bound")
    if claim.dual > claim.primal:
        raise Refused("the bounds cross")
    return f"no {what} has an objective below {claim.dual:.12g}; this one has {claim.primal:.12g}"


def _primal(
    data: Data, claim: Claim, signs: list[int], costs: list[float], intercept: bool
) -> Fraction:
    penalty = bias_penalty(claim, intercept)
    weights, exponent = integers(claim.weights)
    if len(weights) != 1 + data.n_features:
        raise Refused("there must be a weight for each column, and the bias")
    norm = Fraction(claim.ridge) * ratio(square(weights[1:]), 2 * exponent)
    norm += (penalty or 0) * Fraction(claim.weights[0]) ** 2
    scores, unit = data.scores(weights, intercept), exponent + data.exponent
    used = [(s * y, c) for s, y, c in zip(scores, signs, costs, strict=True) if c]
    one = 1 << -unit
    if math.inf in costs:  # divided by its least margin, w has a margin of 1 on every row
        least = min(one, *(margin for margin, _ in used))
        if least <= 0:
            raise Refused("a margin is not positive, and its row's cost is infinite")
        return norm / 2 / ratio(least, unit) ** 2
    whole_costs, cost_unit = integers(c for _, c in used)
    if claim.loss == "logistic":
        losses = _logistic((m for m, _ in used), whole_costs, unit)
    else:
        power = 1 if claim.loss == "hinge" else 2
        short = (max(0, one - margin) ** power for margin, _ in used)
        losses = ratio(sum(map(mul, whole_costs, short)), power * unit)
    return norm / 2 + losses / (1 << -cost_unit)


def _logistic(margins: Any, costs: list[int], unit: int) -> Fraction:
    """Return at least sum c ln(1 + exp(-m)) = sum c (max(0, -m) + ln(1 + exp(-|m|)))."""
    straight, curved = 0, Counter[int]()
    for margin, c in zip(margins, costs, strict=True):
        straight += c * max(0, -margin)
        top, s = log1p_exp((-abs(margin) << BITS) >> -unit)
        curved[s] += c * top
    return sum((ratio(total, -s) for s, total in curved.items()), ratio(straight, unit))


def _dual(
    data: Data, claim: Claim, signs: list[int], costs: list[float], intercept: bool
) -> Fraction:
    rows, multipliers, penalty = claim.rows, claim.multipliers, bias_penalty(claim, intercept)
    distinct(rows, multipliers, len(signs))
    bounded = claim.loss != "squared_hinge"
    for row, a in zip(rows, multipliers, strict=True):
        if not (0.0 <= a <= costs[row] if bounded else a >= 0.0 and (a == 0.0 or costs[row])):
            raise Refused(f"the multiplier of row {row} does not lie between 0 and its cost")
    whole_a, unit = integers(multipliers)
    shares = [(row, signs[row] * a) for row, a in zip(rows, whole_a, strict=True)]
    balance = ratio(sum(share for _, share in shares), unit)
    if penalty == 0 and balance:
        raise Refused("the multipliers of the two classes must have the same sum")
    lost = balance**2 / (2 * penalty) if penalty else Fraction(0)
    u, unit_u = data.combination(shares), unit + data.exponent
    if claim.ridge:
        lost += ratio(square(u.values()), 2 * unit_u) / 2
    else:
        lost += _in_a_box(data, claim, dict(zip(rows, whole_a, strict=True)), u, unit)
    used = [(a, costs[row]) for row, a in zip(rows, multipliers, strict=True) if a]
    return _gain(claim.loss, used, ratio(sum(whole_a), unit)) - lost


def _in_a_box(
    data: Data, claim: Claim, multipliers: dict[int, int], u: dict[int, int], unit: int
) -> Fraction:
    """Return sum_j |u_j| B_j, B_j = 1000 (|w_j| + sum a / sum a |x_j|)."""
    sizes = Counter[int]()
    for row, a in multipliers.items():
        for j, x in zip(*data.whole[row], strict=True):
            sizes[j] += a * abs(x)
    total, lost = sum(multipliers.values()) << -data.exponent, 0
    weights, exponent = integers(claim.weights)
    for j, value in u.items():
        if value:  # then some a |x_j| is not zero
            typical = -((-total << (_QUOTIENT - exponent)) // sizes[j])
            lost += abs(value) * ((abs(weights[1 + j]) << _QUOTIENT) + typical)
    return REACH * ratio(lost, unit + data.exponent + exponent - _QUOTIENT)


def _gain(loss: str, used: list[tuple[float, float]], total: Fraction) -> Fraction:
    """Return at most sum -c loss*(-a/c), of the multipliers that are not zero."""
    if loss == "hinge" or (used and math.isinf(used[0][1])):
        return total
    if loss == "squared_hinge":  # sum a - a^2 / 4c
        squares = Counter[float]()
        whole_a, unit = integers(a for a, _ in used)
        for a, (_, c) in zip(whole_a, used, strict=True):
            squares[c] += a * a
        spent = 0
        for c, s in squares.items():
            top, bottom = c.as_integer_ratio()
            spent -= (-s * bottom << _QUOTIENT) // (4 * top)
        return total - ratio(spent, 2 * unit - _QUOTIENT)
    flat, unit = integers(v for pair in used for v in pair)
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return ratio(sum(surprise(a, c) + surprise(c - a, c) for a, c in pairs), unit - BITS)


def surprise(part: int, whole: int) -> int:
    """Return at most part ln(whole / part), in units of ``2**-BITS`` besides."""
    rest = whole - part
    if not part or not rest:
        return 0
    if rest << 64 < whole:
        return (part * rest << BITS) // whole  # ln(1 / (1 - p)) >= p
    return part * max(0, log(whole, part)[0])


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
        self.intercept, self.what = intercept, f"set of {data.n_classes} weight vectors"

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
        if self.penalty:
            lost += ratio(square(balances), 2 * unit) / (2 * self.penalty)
        return lost


def check_multiclass_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of Crammer and Singer's model lies between dual and primal."""
    model = Model(data, claim, intercept)
    one, losses = 1 << -model.unit, 0
    for c, code, scores in model.scores():
        rivals = max(score for k, score in enumerate(scores) if k != code)
        losses += c * max(0, one + rivals - scores[code])
    primal = model.norm() + ratio(losses, model.unit + model.cost_unit)
    shares, unit = class_shares(data, claim, model.costs, model.cost_unit)
    gain = ratio(sum(integers(claim.multipliers)[0]), unit)
    return between(claim, primal, gain - model.lost(shares, unit), model.what)


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
    return between(claim, primal, max(dual, Fraction(0)), model.what)


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
