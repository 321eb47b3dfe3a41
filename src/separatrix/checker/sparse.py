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
from .exact import Data, integers, ratio, square
from .gaps import (
    Model,
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
Groups = list[list[int]]
RowWeights = tuple[list[int], int]  # integers, in units of such a power of two


def check_sparse_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective lies between dual and primal, and columns zeros are zero there."""
    if not (claim.positive == 1 if data.n_classes == 2 else claim.positive < data.n_classes):
        raise Refused("positive must number a class: 1, or any where there are more than two")
    require(claim.loss != "hinge", "sparse weights have the squared hinge or the logistic loss")
    signs = [1 if code == claim.positive else -1 for code in data.codes]
    model, groups, bounds = _posed(data, claim, [claim.weights], intercept)
    require(not model.is_hard, "costs must be finite here")
    primal = primal_of(model, signs) + _lasso(model, groups)
    squares, gain = _dual(model, signs, groups)
    over = any(s > b for s, b in zip(squares, bounds, strict=True))
    require(claim.ridge or not over, "a sum of a column exceeds l1, and there is no ridge")
    dual = gain - _excess(squares, bounds, claim.ridge)
    said = between(claim, primal, dual, "hyperplane")
    gap = Fraction(claim.primal) - Fraction(claim.dual)
    factor = 4 if claim.loss == "squared_hinge" else 2
    weights = _row_weights(model, gap)
    return said + _zeros(model, weights, factor * gap, groups, squares, bounds)


def _posed(
    data: Data, claim: Claim, vectors: list[list[float]], intercept: bool
) -> tuple[Model, Groups, list[Fraction]]:
    """Return the model, the columns of each group, and the squares that |U_g|^2 must not exceed."""
    require(claim.l1 > 0.0 and claim.ridge >= 0.0, "l1 must be above 0, and ridge at least 0")
    require(0.0 <= claim.share <= 1.0, "share must be between 0 and 1")
    model = Model(data, claim, vectors, intercept)
    groups = [[j] for j in range(data.n_features)]  # every column alone where there are none
    if claim.groups:
        numbers = sorted(set(claim.groups))
        good = len(claim.groups) == len(groups) and numbers == list(range(len(numbers)))
        require(good, "groups must number the group of each column, from 0 without a gap")
        groups = [[] for _ in numbers]
        for j, number in enumerate(claim.groups):
            groups[number].append(j)
    return model, groups, [len(vectors) * len(g) * Fraction(claim.l1) ** 2 for g in groups]


def _lasso(model: Model, groups: Groups) -> Fraction:
    """Return at least l sum_g sqrt(K p_g) |W_g|."""
    straight, curved = 0, Fraction(0)
    for group in groups:
        parts = [w[1 + j] for w in model.weights for j in group]
        if len(parts) == 1:
            straight += abs(parts[0])
        elif any(parts):
            curved += root(ratio(len(parts) * square(parts), 2 * model.exponent), 1)
    return Fraction(model.claim.l1) * (ratio(straight, model.exponent) + curved)


def root(value: Fraction, up: int) -> Fraction:
    """Return the square root, to 128 bits, rounded down; rounded up where `up` is 1."""
    if not value:
        return Fraction(0)
    size = value.numerator.bit_length() - value.denominator.bit_length()
    k = max(0, FINE - size // 2)
    return Fraction(math.isqrt((value.numerator << 2 * k) // value.denominator) + up, 1 << k)


def _dual(model: Model, signs: list[int], groups: Groups) -> tuple[list[Fraction], Fraction]:
    """Return |u_g|^2 by group, and at most the first sum of the dual."""
    claim, named = model.claim, named_multipliers(model)
    whole, unit = integers(claim.multipliers)
    shares = [(row, signs[row] * a) for row, a in zip(claim.rows, whole, strict=True)]
    model.unbalanced([shares], unit)  # which refuses those of a free bias
    share, sums = Fraction(claim.share), model.data.combination(shares)
    used = [(a, model.limits[row]) for row, a in named if a]
    gain = _gain(claim.loss, used, ratio(sum(whole), unit), share)
    return _squares([sums], share, unit + model.data.exponent, groups), gain


def _squares(
    sums: list[dict[int, int]], share: Fraction, unit: int, groups: Groups
) -> list[Fraction]:
    """Return |U_g|^2 by group: U_jk is a share of the k-th sum of column j, in such units."""
    factor = share * share * ratio(1, 2 * unit)
    return [factor * square(u.get(j, 0) for u in sums for j in group) for group in groups]


def _excess(squares: list[Fraction], bounds: list[Fraction], ridge: float) -> Fraction:
    """Return at least sum_g max(0, |U_g| - l sqrt(K p_g))^2 / (2r), from roots rounded down."""
    over = [(s, b) for s, b in zip(squares, bounds, strict=True) if s > b]
    lost = sum((s + b - 2 * root(s * b, 0) for s, b in over), Fraction(0))
    return lost / (2 * Fraction(ridge)) if over else lost


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


def _zeros(
    model: Model,
    row_weights: RowWeights,
    reach: Fraction,
    groups: Groups,
    squares: list[Fraction],
    bounds: list[Fraction],
) -> str:
    """Refuse a column of which sqrt(|U_g|^2) + sqrt(reach N_g) is not below sqrt(bound).

    N_g is the sum of s_i x_ij^2 over the group, about the means where b is free.
    """
    data, zeros, (weights, unit) = model.data, model.claim.zeros, row_weights
    if not (all(a < b for a, b in pairwise(zeros)) and all(j < data.n_features for j in zeros)):
        raise Refused("zeros must number columns of the data, in their order")
    if any(w[1 + j] for w in model.weights for j in zeros):
        raise Refused("a column that is claimed to be zero has a weight")
    claimed = set(zeros)
    claimed = {j for group in groups if not claimed.isdisjoint(group) for j in group}
    lengths, sums = dict.fromkeys(claimed, 0), dict.fromkeys(claimed, 0)
    for s, (columns, entries) in zip(weights, data.whole, strict=True):
        for j, x in zip(columns, entries, strict=True):
            if j in claimed:
                sums[j] += s * x
                lengths[j] += s * x * x
    reach, total = reach * ratio(1, unit + 2 * data.exponent), sum(weights)
    for group, near, bound in zip(groups, squares, bounds, strict=True):
        if group[0] in claimed:
            length = Fraction(sum(lengths[j] for j in group))
            if model.intercept:
                length -= Fraction(square(sums[j] for j in group), total)
            far = reach * length
            left = bound - near - far
            if not (left > 0 and left * left > 4 * near * far):
                raise Refused(f"column {group[0]} is not proved to be zero")
    return f"; {len(zeros)} of {data.n_features} columns are zero in every optimal one"


def _row_weights(model: Model, gap: Fraction) -> RowWeights:
    """Return at least c_i, or c_i v_i for the logistic loss."""
    claim = model.claim
    if claim.loss == "squared_hinge":
        return model.costs, model.cost_unit
    share, near = Fraction(claim.share), dict.fromkeys(range(len(model.costs)), (0, 1))
    for row, a in zip(claim.rows, claim.multipliers, strict=True):
        if a:
            p = math.floor(share * Fraction(a) / Fraction(model.limits[row]) * ONE)
            near[row] = p, p + 1
    return _curved(model, near, gap)


def _curved(model: Model, near: dict[int, tuple[int, int]], gap: Fraction) -> RowWeights:
    """Return at least c_i v_i, with v_i the largest p (1 - p) where the best point can be.

    The point itself lies between two numbers `near`, in units of ``2**-FINE``.
    """
    weights = [0] * len(model.costs)
    for row, (low, high) in near.items():
        if model.costs[row]:
            double = min(math.ceil(2 * gap / Fraction(model.limits[row]) * ONE), 4 * ONE)
            largest = ONE >> 2
            for _ in range(ROUNDS):
                away = math.isqrt(double * largest) + 1
                p = min(max(ONE >> 1, low - away), high + away)
                largest = min(largest, -(p * (p - ONE) >> FINE))
            weights[row] = model.costs[row] * max(largest, 0)
    return weights, model.cost_unit - FINE


# ---- the sparse multinomial model: its gap, and the columns that are proved zero


def check_sparse_softmax_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective lies between dual and primal, and columns zeros are zero there."""
    model, groups, bounds = _posed(data, claim, claim.weights, intercept)
    point = softmax_point(model, Fraction(claim.share))
    primal = model.norm() + point.losses + _lasso(model, groups)
    if intercept:
        rest, sums, unit, mass = mended(model, point)
    else:
        sums = [data.combination(each) for each in point.shares]
        rest, unit, mass = Fraction(1), point.unit + data.exponent, 1
    squares = _squares(sums, Fraction(1, mass), unit, groups)
    dual = rest * point.entropy
    if claim.ridge:
        dual -= _excess(squares, bounds, claim.ridge)
    elif over := [b / s for s, b in zip(squares, bounds, strict=True) if s > b]:
        share = root(min(over), 0)  # |U_g|^2 times the square of this is at most its bound
        dual, squares = share * dual, [share * share * s for s in squares]
    said = between(claim, primal, max(dual, Fraction(0)), model.what)
    # A bound below 0 is stated as 0, which is not that of this point.
    gap = Fraction(claim.primal) - min(Fraction(claim.dual), dual)
    more = math.ceil((1 - rest) * ONE) + 1  # what the others of a row were given
    others = {row: -(-o << FINE >> point.bits) + more for row, o in point.others.items()}
    weights = _curved(model, {row: (0, most) for row, most in others.items()}, gap)
    return said + _zeros(model, weights, 4 * gap, groups, squares, bounds)
