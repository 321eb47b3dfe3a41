"""One row of a stream, learned: every feature bets on its own, and no step size is set.

The rule is that of Kempka, Kotlowski and Warmuth (2019), their second algorithm. Feature j holds

    pull     minus the sum of its gradients  g_t x_tj
    squares  the sum of their squares
    reach    the largest |x_tj| seen, times the steepest slope
    wealth   1 at first, plus what its bets have won:  minus the sum of  g_t x_tj w_j

and with r = sqrt(squares + reach^2) its weight is a share of its wealth, the larger the more its
gradients agree:

    w_j  =  clip(pull / r, -1, 1) * wealth / (2 r)

Multiply a column by any number, and its weight is divided by it: what is predicted stays the same.
A bet loses at most half of the wealth, since no gradient is beyond the reach: one that is steeper
than all before it (the squared hinge has no steepest slope) counts as the steepest before it.

A penalty of 1/(2 cost) (scale_j w_j)^2 is dealt out in equal shares to the rows that hold feature
j: to the k-th of them 1/k, since a stream does not say how many will come; in later passes over
data that are known, what is right for their number.

A weight of k makes k such steps: k copies of the row, one after another, to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from separatrix._compiled import compiled, inlined
from separatrix.problem.losses import PERCEPTRON, SQUARED_HINGE, slope

__all__ = [
    "FIELDS",
    "SCALE",
    "SINCE",
    "STEEPEST",
    "TIME",
    "WEALTH",
    "WEIGHT",
    "Rule",
    "averaged",
    "first_steepest",
    "learn_dense",
    "learn_sparse",
]

# What a feature holds: 64 bytes, one line of the cache. Feature 0 is the bias.
WEIGHT, PULL, SQUARES, WEALTH, REACH, SCALE, COUNT, SINCE = range(8)
FIELDS = 8
# What a machine holds besides.
TIME, STEEPEST = range(2)

_MOST_COPIES = 100
# A feature that lost all it had may still change its mind when the stream does.
_LEAST_WEALTH = 1e-3
# Squares below this have lost digits to underflow: such a column is taken as zero.
_TINY = 1e-280
# Unsigned places spare a test for negative ones at every entry.
_NEXT = np.uint32(1)


class Rule(NamedTuple):
    """How to learn, as plain numbers."""

    loss: int
    cost: float  # inf: no penalty
    bias: bool
    scaled: bool  # whether the penalty is on the weights of columns of largest entry 1
    counting: bool  # whether rows are met for the first time
    averaging: bool


def first_steepest(loss: int) -> float:
    """Return the slope that no row exceeds at first: for the squared hinge, that at margin 0."""
    return 2.0 if loss == SQUARED_HINGE else 1.0


@inlined
def _bet(pull, squares, wealth, reach):  # type: ignore[no-untyped-def]
    square = squares + reach * reach
    if not square > _TINY:
        return 0.0
    if pull * pull < square:
        return 0.5 * pull * wealth / square  # pull / r * wealth / (2 r), without the root
    return math.copysign(0.5 * wealth / math.sqrt(square), pull)


@compiled
def _widen(slots, sums, j, size, steepest, phase, rule):  # type: ignore[no-untyped-def]
    """A value larger than all before it: the weight is for the new reach."""
    slot = slots[j]
    if rule.averaging:
        sums[j] += slot[WEIGHT] * (phase - slot[SINCE])
        slot[SINCE] = phase
    slot[REACH] = size * steepest
    if rule.scaled and size > slot[SCALE]:
        share, exponent = math.frexp(size)
        slot[SCALE] = math.ldexp(1.0, exponent - 1 if share == 0.5 else exponent)
    slot[WEIGHT] = _bet(slot[PULL], slot[SQUARES], slot[WEALTH], slot[REACH])


@inlined
def _score(indices, values, begin, end, slots, sums, totals, rule):  # type: ignore[no-untyped-def]
    steepest = totals[STEEPEST]
    phase = 0.5 * totals[TIME] * totals[TIME]
    total = 0.0
    if rule.bias:
        if steepest > slots[0, REACH]:
            _widen(slots, sums, 0, 1.0, steepest, phase, rule)
        total = slots[0, WEIGHT]
    for k in range(begin, end):
        x = values[k]
        j = indices[k] + _NEXT
        if abs(x) * steepest > slots[j, REACH]:
            _widen(slots, sums, j, abs(x), steepest, phase, rule)
        total += x * slots[j, WEIGHT]
    return total


@inlined
def _move(slots, sums, j, gradient, penalty, phase, averaging):  # type: ignore[no-untyped-def]
    """Feature j has seen a gradient; `penalty` is its share of the penalty's slope."""
    weight = slots[j, WEIGHT]
    reach = slots[j, REACH]
    if penalty != 0.0:
        gradient += penalty * weight
        gradient = min(max(gradient, -reach), reach)
    if gradient != 0.0:
        if averaging:
            sums[j] += weight * (phase - slots[j, SINCE])
            slots[j, SINCE] = phase
        pull = slots[j, PULL] - gradient
        squares = slots[j, SQUARES] + gradient * gradient
        wealth = max(slots[j, WEALTH] - gradient * weight, _LEAST_WEALTH)
        slots[j, PULL] = pull
        slots[j, SQUARES] = squares
        slots[j, WEALTH] = wealth
        slots[j, WEIGHT] = _bet(pull, squares, wealth, reach)


@inlined
def _step(indices, values, begin, end, sign, unit, steep, slots, sums, totals, rule):  # type: ignore[no-untyped-def]
    """Learn a row whose loss has the slope `steep`, once, with weight `unit`."""
    pull = steep * unit
    if -pull > totals[STEEPEST]:
        longer = -pull
        pull = -totals[STEEPEST]
        totals[STEEPEST] = longer
    totals[TIME] += unit
    penalised = rule.cost < np.inf
    if pull == 0.0 and not penalised:
        return
    phase = 0.5 * totals[TIME] * totals[TIME]
    pull *= sign
    if rule.bias:
        _move(slots, sums, 0, pull, 0.0, phase, rule.averaging)
    penalty = 0.0
    for k in range(begin, end):
        j = indices[k] + _NEXT
        x = values[k]
        if x == 0.0:
            continue
        if penalised:
            if rule.counting:
                slots[j, COUNT] += unit
            scale = slots[j, SCALE]
            penalty = unit * scale * scale / (rule.cost * slots[j, COUNT])
        _move(slots, sums, j, pull * x, penalty, phase, rule.averaging)


@inlined
def _learn_row(  # type: ignore[no-untyped-def]
    indices, values, begin, end, sign, weight, slots, sums, totals, rule
):
    """Learn one row; return its score before, and the two sums that make its multiplier."""
    copies = math.ceil(weight) if weight <= _MOST_COPIES else _MOST_COPIES
    unit = weight / copies
    first = 0.0
    share = 0.0
    mass = 0.0
    for copy in range(copies):
        score = _score(indices, values, begin, end, slots, sums, totals, rule)
        if copy == 0:
            first = score
        margin = sign * score
        if rule.loss == PERCEPTRON:
            steep = 0.0 if margin > 0.0 else -1.0
        else:
            steep = slope(rule.loss, margin)
        _step(indices, values, begin, end, sign, unit, steep, slots, sums, totals, rule)
        # The multiplier is a mean over all steps with this row, later ones counting for more.
        share -= unit * totals[TIME] * steep
        mass += unit * totals[TIME]
    return first, share, mass


@inlined
def _learn_machines(  # type: ignore[no-untyped-def]
    indices, values, begin, end, row, code, weight, slots, sums, totals, shares, scores, rule
):
    machines = slots.shape[0]
    for k in range(machines):
        own = 1 if machines == 1 else k
        sign = 1.0 if code == own else -1.0
        score, share, mass = _learn_row(
            indices, values, begin, end, sign, weight, slots[k], sums[k], totals[k], rule
        )
        if scores.shape[1] > 0:
            scores[k, row] = score
        if shares.shape[1] > 0:
            shares[k, row] += share
            if k == 0:
                shares[machines, row] += mass


@compiled
def learn_sparse(  # type: ignore[no-untyped-def]
    values, indices, starts, codes, weights, order, begin, end,
    slots, sums, totals, shares, scores, rule,
):  # fmt: skip
    """Learn the rows at places `begin` to `end` of the order (as they stand, if it is empty)."""
    for place in range(begin, end):
        row = order[place] if order.shape[0] > 0 else place
        first, last = int(starts[row]), int(starts[row + 1])
        weight = weights[row] if weights.shape[0] > 0 else 1.0
        _learn_machines(
            indices, values, first, last, row, codes[row], weight,
            slots, sums, totals, shares, scores, rule,
        )  # fmt: skip


@compiled
def learn_dense(  # type: ignore[no-untyped-def]
    X, codes, weights, order, begin, end, slots, sums, totals, shares, scores, rule
):
    """As `learn_sparse`; what is not zero in a row is gathered first."""
    values = np.empty(X.shape[1])
    indices = np.empty(X.shape[1], dtype=np.uint32)
    for place in range(begin, end):
        row = order[place] if order.shape[0] > 0 else place
        count = 0
        for j in range(X.shape[1]):
            if X[row, j] != 0.0:
                values[count] = X[row, j]
                indices[count] = j
                count += 1
        weight = weights[row] if weights.shape[0] > 0 else 1.0
        _learn_machines(
            indices, values, 0, count, row, codes[row], weight,
            slots, sums, totals, shares, scores, rule,
        )  # fmt: skip


def averaged(slots: np.ndarray, sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the mean of the weights over time, each moment counting by its time."""
    time = float(totals[TIME])
    if time == 0.0:
        return np.asarray(slots[:, WEIGHT].copy())
    phase = 0.5 * time * time
    return np.asarray((sums + slots[:, WEIGHT] * (phase - slots[:, SINCE])) / phase)
