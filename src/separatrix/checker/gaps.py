"""Duality gaps of linear models: the objective at the weights, and the dual at the multipliers.

docs/certificates.md states both for two classes; for one weight vector a class they are, with
u_k = sum_i a_ik x_i and r_k = sum_i a_ik:

    1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2 + sum_i c_i loss_i                          at most primal
    gain - 1/2 sum_k |u_k|^2 - 1/(2p) sum_k r_k^2                                   at least dual

Crammer and Singer's loss is max_k (1[k != y] + z_k - z_y), for any feasible multipliers. That of
the multinomial model is log sum_k exp(z_k - z_y), with a_ik = c_i (1[k = y_i] - q_ik) for any
probabilities q; its gain is the sum of c_i times their entropy, and q is the softmax here, in units
of a power of two. Hinges are computed in integers; of the other losses exp and log are enclosed,
and quotients by costs are cut at 256 bits, always against the claim.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from .codec import Claim, Refused, require, require_work
from .enclosed import BITS, exp, log, log1p_exp
from .exact import (
    Data,
    Shares,
    at_least,
    at_most,
    distinct,
    integer_vectors,
    integers,
    ratio,
    square,
)

QUOTIENT = 256
_EACH = 1 << 10  # what an enclosed exp takes that is kept
REACH = 1000  # without a penalty on w, the bound speaks of weights up to so many times as large
# Which weights that bound speaks of, in words.
WITHIN = f" with coefficients up to {REACH} times as large"


def check_duality_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of the linear model lies between dual and primal."""
    if not (claim.positive == 1 if data.n_classes == 2 else claim.positive < data.n_classes):
        raise Refused("positive must number a class: 1, or any where there are more than two")
    require(claim.ridge in (0.0, 1.0), "ridge must be 0 or 1")
    signs = [1 if code == claim.positive else -1 for code in data.codes]
    model = Model(data, claim, [claim.weights], intercept)
    if claim.loss == "logistic" and model.is_hard:
        raise Refused("costs of a logistic loss must be finite: no margin has a loss of 0")
    what = f"hyperplane{'' if claim.ridge else WITHIN}"
    return between(claim, primal_of(model, signs), _dual(model, signs), what)


def check_scaled_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: those gaps, for columns divided by powers of two; the data are these columns."""
    numbers = [1] if data.n_classes == 2 else list(range(data.n_classes))
    if [model.positive for model in claim.machines] != numbers:
        raise Refused("there must be one model, or one for each of more than two classes")
    said = [check_duality_gap(data, model, intercept) for model in claim.machines]
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


def between(claim: Claim, primal: Fraction, dual: Fraction, what: str) -> str:
    """Refuse bounds that do not hold; else say what they prove."""
    high, low = Fraction(claim.primal), Fraction(claim.dual)
    require(primal <= high, "the objective at the weights is above the upper bound")
    require(dual >= low, "the multipliers do not prove the lower bound")
    require(low <= high, "the bounds cross")
    least, most = at_least(claim.dual, 12), at_most(claim.primal, 12)
    return f"no {what} has an objective below {least}; this one has {most}"


def primal_of(model: Model, signs: list[int]) -> Fraction:
    """Return at least the objective at the weights."""
    unit, loss, one = model.unit, model.claim.loss, 1 << -model.unit
    used = [(y * z[0], c) for y, (c, _, z) in zip(signs, model.scores(), strict=True) if c]
    if model.is_hard:
        return hard_norm(model.norm(), [margin for margin, _ in used], unit)
    if loss == "logistic":
        losses = _logistic(used, unit)
    else:
        power = 1 if loss == "hinge" else 2
        short = sum(c * max(0, one - margin) ** power for margin, c in used)
        losses = ratio(short, power * unit)
    return model.norm() + losses / (1 << -model.cost_unit)


def hard_norm(norm: Fraction, margins: list[int], unit: int) -> Fraction:
    """Return the norm of w divided by its least margin: it then has a margin of 1 on every row."""
    least = min(1 << -unit, *margins)
    require(least > 0, "a margin is not positive, and its row's cost is infinite")
    return norm / ratio(least, unit) ** 2


def class_losses(rows: Iterable[tuple[int, int, list[int]]], offs: list[int], unit: int) -> int:
    """Return sum c max(0, 1 + z_k - z_y), k the worst rival, of scores off by so much a class."""
    losses, one = 0, 1 << -unit
    for c, code, scores in rows:
        high = [score + off for score, off in zip(scores, offs, strict=True)]
        own = scores[code] - offs[code]
        losses += c * max(0, one + max(high[:code] + high[code + 1 :]) - own)
    return losses


def _logistic(used: list[tuple[int, int]], unit: int) -> Fraction:
    """Return at least sum c ln(1 + exp(-m)) = sum c (max(0, -m) + ln(1 + exp(-|m|)))."""
    straight, curved = 0, Counter[int]()
    for margin, c in used:
        straight += c * max(0, -margin)
        top, s = log1p_exp((-abs(margin) << BITS) >> -unit)
        curved[s] += c * top
    return sum((ratio(total, -s) for s, total in curved.items()), ratio(straight, unit))


def named_multipliers(model: Model) -> list[tuple[int, float]]:
    """Return the multipliers by row; refuse one that is not between 0 and its cost."""
    claim, costs = model.claim, model.limits
    named = list(zip(claim.rows, claim.multipliers, strict=False))
    distinct(claim.rows, claim.multipliers, len(costs))
    bounded = claim.loss != "squared_hinge"
    for row, a in named:
        if not (0.0 <= a <= costs[row] if bounded else a >= 0.0 and (a == 0.0 or costs[row])):
            raise Refused(f"the multiplier of row {row} does not lie between 0 and its cost")
    return named


def _dual(model: Model, signs: list[int]) -> Fraction:
    claim, costs, named = model.claim, model.limits, named_multipliers(model)
    whole_a, unit = integers(claim.multipliers)
    shares = [(row, signs[row] * a) for row, a in zip(claim.rows, whole_a, strict=True)]
    lost = _spent(model, shares, [model.data.combination(shares)], unit + model.data.exponent)
    used = [(a, costs[row]) for row, a in named if a]
    gain = gain_of(claim.loss, used, ratio(sum(whole_a), unit))
    return gain - lost - model.unbalanced([shares], unit)


def _spent(model: Model, shares: Shares, sums: list[dict[int, int]], unit: int) -> Fraction:
    """Return 1/2 sum_k |u_k|^2, for u in such units; without a ridge sum_jk |u_jk| B_jk.

    B_jk = 1000 (|w_jk| + sum a / sum a |x_j|), and the shares of rows are a, or -a.
    """
    if model.ridge:
        return ratio(sum(square(u.values()) for u in sums), 2 * unit) / 2
    sizes, total, lost = Counter[int](), 0, 0
    for row, share in shares:
        total += abs(share) << -model.data.exponent
        for j, x in zip(*model.data.whole[row], strict=True):
            sizes[j] += abs(share * x)
    bits = QUOTIENT + max(sizes.values(), default=0).bit_length()
    for w, u in zip(model.weights, sums, strict=True):
        for j, value in u.items():
            if value:  # then some a |x_j| is not zero
                typical = -((-total << (bits - model.exponent)) // sizes[j])
                lost += abs(value) * ((abs(w[1 + j]) << bits) + typical)
    return REACH * ratio(lost, unit + model.exponent - bits)


def gain_of(loss: str, used: list[tuple[float, float]], total: Fraction) -> Fraction:
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
            spent -= (-s * bottom << QUOTIENT) // (4 * top)
        return total - ratio(spent, 2 * unit - QUOTIENT)
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
    """Weights, costs and penalties: one weight vector, or one a class, in integers.

    Of a hard margin, whose costs are infinite, `costs` say which rows have one.
    """

    def __init__(self, data: Data, claim: Claim, vectors: list[list[float]], intercept: bool):
        self.data, self.claim, self.intercept = data, claim, intercept
        require(data.n_classes > 1, "there must be two classes or more")
        penalty = getattr(claim, "bias_penalty", 0.0)  # where there is none, b is free
        require(penalty >= 0.0, "bias_penalty must be at least 0")
        self.penalty = Fraction(penalty) if intercept else None
        ridge = getattr(claim, "ridge", None)
        self.ridge = Fraction(1 if ridge is None else ridge)
        self.limits = all_costs(claim.costs, len(data.rows))
        self.is_hard = math.inf in self.limits
        costs = [float(c > 0.0) for c in self.limits] if self.is_hard else self.limits
        self.costs, self.cost_unit = integers(costs)
        self.weights, self.exponent = integer_vectors(vectors)
        d, count = 1 + data.n_features, data.n_classes if vectors is claim.weights else 1
        if [len(vector) for vector in vectors] != [d] * count:
            raise Refused("there must be a weight for each column, and the bias: one list a class")
        require(not self.is_hard or count == 1, "costs must be finite here")
        self.unit, self.what = self.exponent + data.exponent, f"set of {count} weight vectors"

    def scores(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yield cost, class number and the score of every weight vector, row by row."""
        every = self.data.scores_of(self.weights, self.intercept)
        for c, code, *scores in zip(self.costs, self.data.codes, *every, strict=True):
            yield c, code, scores

    def norm(self) -> Fraction:
        """Return what weights and biases cost."""
        found = self.ridge * ratio(sum(square(w[1:]) for w in self.weights), 2 * self.exponent)
        biases = ratio(square(w[0] for w in self.weights), 2 * self.exponent)
        return (found + (self.penalty or 0) * biases) / 2

    def unbalanced(self, shares: list[Shares], unit: int) -> Fraction:
        """Return what the dual loses where shares do not sum to zero; refuse it of free biases."""
        balances = [sum(share for _, share in each) for each in shares]
        if self.penalty == 0 and any(balances):
            raise Refused("the multipliers of a class and those named for it must have one sum")
        lost = ratio(square(balances), 2 * unit)
        return lost / (2 * self.penalty) if self.penalty else Fraction(0)


def check_multiclass_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of Crammer and Singer's model lies between dual and primal."""
    model = Model(data, claim, claim.weights, intercept)
    losses = class_losses(model.scores(), [0] * data.n_classes, model.unit)
    primal = model.norm() + ratio(losses, model.unit + model.cost_unit)
    shares, unit = class_shares(data, claim, model.limits)
    gain = ratio(sum(integers(claim.multipliers)[0]), unit)
    sums = [data.combination(each) for each in shares]
    lost = _spent(model, [], sums, unit + data.exponent) + model.unbalanced(shares, unit)
    return between(claim, primal, gain - lost, model.what)


def class_shares(data: Data, claim: Claim, costs: list[float]) -> tuple[list[Shares], int]:
    """Return shares a_ik of feasible multipliers m_ik, one list a class: sum_k m_ik and -m_ik."""
    named = list(zip(claim.rows, claim.rivals, strict=False))
    if not len(claim.rows) == len(claim.rivals) == len(claim.multipliers) == len(set(named)):
        raise Refused("every multiplier needs its row and its class, named once")
    multipliers, unit = integers(claim.multipliers)
    shares: list[Shares] = [[] for _ in range(data.n_classes)]
    spent = Counter[int]()
    for (row, rival), m in zip(named, multipliers, strict=True):
        if row >= len(data.rows) or rival >= data.n_classes or rival == data.codes[row] or m < 0:
            raise Refused(f"row {row} and class {rival} cannot have such a multiplier")
        shares[rival].append((row, -m))
        spent[row] += m
    for row, total in spent.items():
        if ratio(total, unit) > costs[row]:
            raise Refused(f"the multipliers of row {row} exceed its cost")
        shares[data.codes[row]].append((row, total))
    return shares, unit


# ---- the multinomial model: the objective at the weights, and the dual at their softmax


def check_softmax_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of the multinomial model lies between dual and primal."""
    model = Model(data, claim, claim.weights, intercept)
    require(model.ridge in (0, 1), "ridge must be 0 or 1")
    point = softmax_point(model)
    primal = model.norm() + point.losses
    if model.penalty == 0:
        rest, sums, unit, mass = mended(model, point)
    else:
        rest, mass, unit = Fraction(1), 1, point.unit + data.exponent
        sums = [data.combination(each) for each in point.shares]
    lost = _spent(model, list(enumerate(model.costs)), sums, unit)
    dual = rest * point.entropy - lost / mass ** (2 if model.ridge else 1)
    if model.penalty:
        dual -= model.unbalanced(point.shares, point.unit)
    what = model.what + ("" if model.ridge else WITHIN)
    return between(claim, primal, max(dual, Fraction(0)), what)


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
    data = model.data
    require_work(_EACH * data.n_classes * len(data.rows), "the softmax of all rows")
    rows = [
        (row, c, code, scores[code] - max(scores), _parts(scores, model.unit))
        for row, (c, code, scores) in enumerate(model.scores())
        if c
    ]
    # Where all rows are nearly certain, what others get is small, and is counted in smaller units.
    bits = min(s for *_, code, _, parts in rows for k, (_, _, s) in enumerate(parts) if k != code)
    one, losses, gain, taken = 1 << bits, 0, 0, {}
    top, bottom = share.as_integer_ratio()
    shares: list[Shares] = [[] for _ in range(data.n_classes)]
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


def _parts(scores: list[int], unit: int) -> list[tuple[int, int, int]]:
    """Return exp(score - highest score), enclosed."""
    top = max(scores)
    return [exp((score - top << BITS) >> -unit) for score in scores]


def _log_above(total: int, one: int, bits: int) -> int:
    """Return at least ln(total / one) in units of ``2**-bits``; the total is at least one."""
    if (total - one) << 64 < one:
        return total - one  # ln(1 + t) <= t
    return (log(total, one)[1] << bits >> BITS) + 1


def mended(model: Model, point: SoftmaxPoint) -> tuple[Fraction, list[dict[int, int]], int, int]:
    """Return the point where a share t of every row's probabilities goes to one distribution v.

    t v_k M = t N_k + (1 - t) r_k >= 0 makes every r_k zero; N_k are sums of costs, M is their sum.
    Entropy is concave, so (1 - t) of it is left, and M u'_k = M ((1 - t) u_k + t S_k) - t v_k M S.
    These come back: what is left, M u' by class, its unit, and M.
    """
    data, K, bits, shares = model.data, model.data.n_classes, point.bits, point.shares
    one = 1 << bits
    listed = list(enumerate(c << bits for c in model.costs))
    members: list[Shares] = [[] for _ in range(K)]
    for pair, code in zip(listed, data.codes, strict=True):
        members[code].append(pair)
    masses = [sum(share for _, share in each) for each in members]
    balances = [sum(share for _, share in each) for each in shares]
    require(all(masses), "a class has no row of a cost above zero")
    lacking = [(-r << bits) // (n - r) for r, n in zip(balances, masses, strict=True)]
    t = 1 + max(0, *lacking) if any(balances) else 0
    mass = sum(masses)
    mixes = [t * n + (one - t) * r for r, n in zip(balances, masses, strict=True)]
    everything, sums = data.combination(listed), list[dict[int, int]]()
    for mix, *both in zip(mixes, shares, members, strict=True):
        u, own = map(data.combination, both)
        mine = {j: (one - t) * u.get(j, 0) + t * own.get(j, 0) for j in everything}
        sums.append({j: mass * mine[j] - mix * total for j, total in everything.items()})
    return 1 - ratio(t, -bits), sums, point.unit - bits + data.exponent, mass
