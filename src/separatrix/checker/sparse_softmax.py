"""The sparse multinomial model: its gap, and the columns that are proved zero.

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

from .codec import Claim, require
from .exact import Data, ratio
from .gaps import Model, between
from .softmax import SoftmaxPoint, mended, softmax_point
from .sparse import (
    FINE,
    ONE,
    ROUNDS,
    groups_of,
    lengths_about_means,
    listed_of,
    require_inside,
    require_numbers,
    root,
)


def check_sparse_softmax_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective lies between dual and primal, and columns zeros are zero there."""
    require(claim.l1 > 0.0 and claim.ridge >= 0.0, "l1 must be above 0, and ridge at least 0")
    require(0.0 <= claim.share <= 1.0, "share must be between 0 and 1")
    model = Model(data, claim, claim.weights, intercept)
    groups, l1 = groups_of(claim, data.n_features), Fraction(claim.l1)
    point = softmax_point(model, Fraction(claim.share))
    primal = model.norm() + point.losses + l1 * _lasso(model, groups)
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
    weights = _row_weights(model, point, given, gap)
    for group, length in lengths_about_means(model, weights, listed_of(claim.zeros, groups)):
        square, bound = near[group[0]]
        require_inside(group, square, 4 * gap * length, bound)
    return f"{said}; {len(claim.zeros)} of {data.n_features} columns are zero in every optimal one"


def _lasso(model: Model, groups: list[list[int]]) -> Fraction:
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


def _row_weights(
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
