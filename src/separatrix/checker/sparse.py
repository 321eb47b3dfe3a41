"""Sparse weights: the gap of the lasso or the elastic net, and the columns that are proved zero.

    l |w|_1 + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))                       at most primal
    sum_i -c_i loss*(-a_i/c_i) - sum_j max(0, |u_j| - l)^2 / (2r)               at least dual

a is a share of the multipliers, u = sum_i a_i y_i x_i; without r every |u_j| is at most l. Column
j is zero in every optimal w where (l - |u_j|)^2 > k (primal - dual) N_j. Squared hinge: k = 4, N_j
= sum_i c_i x_ij^2. Logistic: k = 2, N_j = sum_i c_i v_i x_ij^2, v_i at least p (1 - p) for every p
between a_i / c_i and that of the best dual point. Where b is free, N_j is about the column's mean.
With groups of columns, each of p_g, l |w|_1 becomes l sum_g sqrt(p_g) |w_g|, |u_j| and N_j become
|u_g| and the sum over the group, and l becomes l sqrt(p_g).

The sparse multinomial model: its gap, and the columns that are proved zero.

    l sum_g sqrt(K p_g) |W_g| + r/2 |W|^2 + sum_i c_i log sum_k exp(z_ik - z_iy)    at most primal
    sum_i c_i H(q_i) - sum_g max(0, |U_g| - l sqrt(K p_g))^2 / (2r)                 at least dual

g is a column, or a group of p_g columns, and U_jk = sum_i c_i (1[k = y_i] - q_ik) x_ij; without r
every |U_g| is at most l sqrt(K p_g). q is softmax, the other classes of each row with a `share` of
theirs; where a |U_g| is still too large, a share of q is meant that makes it as large as allowed.

Group g is zero in every optimal W where |U_g| + sqrt(4 (primal - dual) N_g) < l sqrt(K p_g), with
N_g the sum of c_i v_i x_ij^2, about the mean of each column where b is free, and v_i at least
p (1 - p) for every p up to what the other classes of row i can have in the best dual point.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from .codec import Claim, Refused, require
from .enclosed import BITS
from .exact import Data, integers, ratio
from .gaps import (
    Model,
    SoftmaxPoint,
    between,
    gain_of,
    mended,
    named_multipliers,
    primal_of,
    softmax_point,
    surprise,
)

ROUNDS = 4
FINE = 128  # bits of a fraction
ONE = 1 << FINE


def check_sparse_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective lies between dual and primal, and columns zeros are zero there."""
    if not (claim.positive == 1 if data.n_classes == 2 else claim.positive < data.n_classes):
        raise Refused("positive must number a class: 1, or any where there are more than two")
    require(claim.loss != "hinge", "sparse weights have the squared hinge or the logistic loss")
    require(claim.l1 > 0.0 and claim.ridge >= 0.0, "l1 must be above 0, and ridge at least 0")
    require(0.0 <= claim.share <= 1.0, "share must be between 0 and 1")
    signs = [1 if code == claim.positive else -1 for code in data.codes]
    model = Model(data, claim, [claim.weights], intercept)
    require(not model.is_hard, "costs must be finite here")
    groups = groups_of(claim, data.n_features)
    primal = primal_of(model, signs) + Fraction(claim.l1) * _lasso(model, groups)
    u, dual = _dual(model, signs, groups)
    said = between(claim, primal, dual, "hyperplane")
    _require_zeros(model, u, groups)
    count = len(claim.zeros)
    return f"{said}; {count} of {data.n_features} columns are zero in every optimal one"


def groups_of(claim: Claim, width: int) -> list[list[int]]:
    """Return the columns of each group, every column alone where there are none."""
    if not claim.groups:
        return [[j] for j in range(width)]
    numbers = sorted(set(claim.groups))
    good = len(claim.groups) == width and numbers == list(range(len(numbers)))
    require(good, "groups must number the group of each column, from 0 without a gap")
    groups: list[list[int]] = [[] for _ in numbers]
    for j, number in enumerate(claim.groups):
        groups[number].append(j)
    return groups


def _lasso(model: Model, groups: list[list[int]]) -> Fraction:
    """Return at least |w|_1, or sum_g sqrt(p_g) |w_g|."""
    w = model.weights[0][1:]
    if not model.claim.groups:
        return ratio(sum(map(abs, w)), model.exponent)
    squares = (len(group) * sum(w[j] * w[j] for j in group) for group in groups)
    return sum((root(ratio(square, 2 * model.exponent), 1) for square in squares), Fraction(0))


def root(value: Fraction, up: int) -> Fraction:
    """Return the square root, to 128 bits, rounded down; rounded up where `up` is 1."""
    if not value:
        return Fraction(0)
    size = value.numerator.bit_length() - value.denominator.bit_length()
    k = max(0, FINE - size // 2)
    return Fraction(math.isqrt((value.numerator << 2 * k) // value.denominator) + up, 1 << k)


def _dual(
    model: Model, signs: list[int], groups: list[list[int]]
) -> tuple[dict[int, Fraction], Fraction]:
    """Return u, column by column, and at most the dual objective."""
    claim, named = model.claim, named_multipliers(model)
    whole, unit = integers(claim.multipliers)
    shares = [(row, signs[row] * a) for row, a in zip(claim.rows, whole, strict=True)]
    model.unbalanced([shares], unit)  # which refuses those of a free bias
    share, l1 = Fraction(claim.share), Fraction(claim.l1)
    sums = model.data.combination(shares)
    u = {j: share * ratio(value, unit + model.data.exponent) for j, value in sums.items()}
    lost = Fraction(0)
    for group in groups:
        if len(group) == 1 and abs(u.get(group[0], Fraction(0))) <= l1:
            continue
        square, bound = _squares(u, group), len(group) * l1 * l1
        if square > bound:
            require(claim.ridge, "a sum of a column exceeds l1, and there is no ridge")
            # (|u_g| - l sqrt(p))^2, from a root that is rounded down
            lost += square + bound - 2 * root(square * bound, 0)
    lost = lost / (2 * Fraction(claim.ridge)) if lost else lost
    used = [(a, model.limits[row]) for row, a in named if a]
    return u, _gain(claim.loss, used, ratio(sum(whole), unit), share) - lost


def _squares(values: dict[int, Fraction], group: list[int]) -> Fraction:
    return sum((values[j] * values[j] for j in group if j in values), Fraction(0))


def _gain(loss: str, used: list[tuple[float, float]], total: Fraction, share: Fraction) -> Fraction:
    """Return at most sum -c loss*(-s a/c), s the share of the multipliers."""
    if loss == "squared_hinge":
        spent = total - gain_of(loss, used, total)
        return share * total - share * share * spent
    flat, unit = integers(v for pair in used for v in pair)
    p, q = share.as_integer_ratio()
    gain = 0
    for a, c in zip(flat[::2], flat[1::2], strict=True):
        gain += surprise(p * a, q * c) + surprise(q * c - p * a, q * c)
    return ratio(gain, unit - BITS) / q


def _require_zeros(model: Model, u: dict[int, Fraction], groups: list[list[int]]) -> None:
    """Refuse a column that the sphere around the dual point does not prove zero."""
    claim = model.claim
    require_numbers(claim.zeros, model.data.n_features, [claim.weights])
    gap = Fraction(claim.primal) - Fraction(claim.dual)
    factor = 4 if claim.loss == "squared_hinge" else 2
    lengths = lengths_about_means(model, _row_weights(model, gap), listed_of(claim.zeros, groups))
    for group, length in lengths:
        bound = len(group) * Fraction(claim.l1) ** 2
        require_inside(group, _squares(u, group), factor * gap * length, bound)


def require_numbers(zeros: list[int], width: int, vectors: list[list[float]]) -> None:
    """Refuse what are no columns in their order, or have a weight."""
    if not (all(a < b for a, b in pairwise(zeros)) and all(j < width for j in zeros)):
        raise Refused("zeros must number columns of the data, in their order")
    if any(weights[1 + j] for weights in vectors for j in zeros):
        raise Refused("a column that is claimed to be zero has a weight")


def listed_of(zeros: list[int], groups: list[list[int]]) -> list[list[int]]:
    """Return the groups with a column that is claimed to be zero."""
    claimed = set(zeros)
    return [group for group in groups if not claimed.isdisjoint(group)]


def lengths_about_means(
    model: Model, row_weights: tuple[list[int], int], groups: list[list[int]]
) -> list[tuple[list[int], Fraction]]:
    """Return the sums of s_i x_ij^2 over each group, about the means where b is free."""
    (weights, unit), data = row_weights, model.data
    total, listed = sum(weights), {j for group in groups for j in group}
    squares, sums = dict.fromkeys(listed, 0), dict.fromkeys(listed, 0)
    for s, (columns, entries) in zip(weights, data.whole, strict=True):
        for j, x in zip(columns, entries, strict=True):
            if j in listed:
                sums[j] += s * x
                squares[j] += s * x * x
    found = []
    for group in groups:
        length = Fraction(sum(squares[j] for j in group))
        if model.intercept:
            length -= Fraction(sum(sums[j] * sums[j] for j in group), total)
        found.append((group, length * ratio(1, unit + 2 * data.exponent)))
    return found


def require_inside(group: list[int], near: Fraction, reach: Fraction, bound: Fraction) -> None:
    """Refuse unless sqrt(near) + sqrt(reach) < sqrt(bound)."""
    left = bound - near - reach
    if not (left > 0 and left * left > 4 * near * reach):
        raise Refused(f"column {group[0]} is not proved to be zero")


def _row_weights(model: Model, gap: Fraction) -> tuple[list[int], int]:
    """Return at least c_i, or c_i v_i for the logistic loss, as integers in units of a power."""
    claim, costs = model.claim, model.costs
    if claim.loss == "squared_hinge":
        return costs, model.cost_unit
    multipliers = dict(zip(claim.rows, claim.multipliers, strict=True))
    share, weights = Fraction(claim.share), []
    for row, (c, limit) in enumerate(zip(costs, model.limits, strict=True)):
        if not c:
            weights.append(0)
            continue
        cost = Fraction(limit)
        p = share * Fraction(multipliers.get(row, 0.0)) / cost
        double = min(math.ceil(2 * gap / cost * ONE), 4 * ONE)
        weights.append(c * _largest(math.floor(p * ONE), double))
    return weights, model.cost_unit - FINE


def _largest(p: int, double: int) -> int:
    """Return at least p (1 - p) anywhere the best point can be, in units of ``2**-FINE``."""
    largest = ONE >> 2
    for _ in range(ROUNDS):
        away = math.isqrt(double * largest) + 1
        near = min(max(ONE >> 1, p - away), p + 1 + away)
        largest = min(largest, -(near * (near - ONE) >> FINE))
    return max(largest, 0)


# ---- the sparse multinomial model: its gap, and the columns that are proved zero


def check_sparse_softmax_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective lies between dual and primal, and columns zeros are zero there."""
    require(claim.l1 > 0.0 and claim.ridge >= 0.0, "l1 must be above 0, and ridge at least 0")
    require(0.0 <= claim.share <= 1.0, "share must be between 0 and 1")
    model = Model(data, claim, claim.weights, intercept)
    groups, l1 = groups_of(claim, data.n_features), Fraction(claim.l1)
    point = softmax_point(model, Fraction(claim.share))
    primal = model.norm() + point.losses + l1 * _lasso_of_classes(model, groups)
    bounds = [data.n_classes * len(group) * l1 * l1 for group in groups]
    left, squares, given = _pulls(model, point, groups)
    if claim.ridge:
        dual = left * point.entropy - _excess(squares, bounds) / (2 * Fraction(claim.ridge))
    else:
        # |U_g|^2 times the square of this is at most its bound.
        over = [b / s for s, b in zip(squares, bounds, strict=True) if s > b]
        share = root(min(over), 0) if over else Fraction(1)
        dual, squares = share * left * point.entropy, [share * share * s for s in squares]
    said = between(claim, primal, max(dual, Fraction(0)), model.what)
    require_numbers(claim.zeros, data.n_features, claim.weights)
    # A bound below 0 is stated as 0, which is not that of this point.
    gap = Fraction(claim.primal) - min(Fraction(claim.dual), dual)
    near = {group[0]: (s, b) for group, s, b in zip(groups, squares, bounds, strict=True)}
    weights = _row_weights_of_classes(model, point, given, gap)
    for group, length in lengths_about_means(model, weights, listed_of(claim.zeros, groups)):
        square, bound = near[group[0]]
        require_inside(group, square, 4 * gap * length, bound)
    return f"{said}; {len(claim.zeros)} of {data.n_features} columns are zero in every optimal one"


def _lasso_of_classes(model: Model, groups: list[list[int]]) -> Fraction:
    """Return at least sum_g sqrt(K p_g) |W_g|."""
    vectors, K = model.weights, len(model.weights)
    total = Fraction(0)
    for group in groups:
        square = K * len(group) * sum(w[1 + j] * w[1 + j] for w in vectors for j in group)
        total += root(ratio(square, 2 * model.exponent), 1)
    return total


def _pulls(
    model: Model, point: SoftmaxPoint, groups: list[list[int]]
) -> tuple[Fraction, list[Fraction], Fraction]:
    """Return the share of the entropy that is left, |U_g|^2 by group, and the share given away."""
    if model.intercept:
        rest, sums, unit, mass = mended(model, point)
    else:
        sums = [model.data.combination(each) for each in point.shares]
        rest, unit, mass = Fraction(1), point.unit + model.data.exponent, 1
    squares = []
    for group in groups:
        total = sum(u.get(j, 0) ** 2 for u in sums for j in group)
        squares.append(ratio(total, 2 * unit) / (mass * mass))
    return rest, squares, 1 - rest


def _excess(squares: list[Fraction], bounds: list[Fraction]) -> Fraction:
    """Return at least sum_g max(0, |U_g| - l sqrt(K p_g))^2, from roots that are rounded down."""
    over = [(s, b) for s, b in zip(squares, bounds, strict=True) if s > b]
    return sum((s + b - 2 * root(s * b, 0) for s, b in over), Fraction(0))


def _row_weights_of_classes(
    model: Model, point: SoftmaxPoint, given: Fraction, gap: Fraction
) -> tuple[list[int], int]:
    """Return at least c_i v_i as integers in units of a power of two."""
    weights = [0] * len(model.costs)
    more = math.ceil(given * ONE)
    for row, others in point.others.items():
        least = -(-others << FINE >> point.bits) + 1 + more
        double = min(math.ceil(2 * gap / Fraction(model.limits[row]) * ONE), 4 * ONE)
        largest = ONE >> 2
        for _ in range(ROUNDS):
            near = min(ONE >> 1, least + math.isqrt(double * largest) + 1)
            largest = min(largest, -(near * (near - ONE) >> FINE))
        weights[row] = model.costs[row] * largest
    return weights, model.cost_unit - FINE
