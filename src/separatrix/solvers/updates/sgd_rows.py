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

Passes over rows in their order, or in a new one each time: for both kinds of gradient steps.

The Page-Hinkley test: has the mean of a stream of numbers gone up?

    m_t = sum of  (e_i - mean of e_1 ... e_i - allowed) ,     alarm where  m_t - min m  >  limit

With `allowed` 0.02 and `limit` 100 for errors that are 0 or 1: as long as the rate stays what it
was, the chance that a rise from a new minimum reaches the limit is at most exp(-2 * 0.02 * 100 /
0.25), one in ten million; a rate that goes up by 0.2 is seen after some 560 rows. After an alarm
the test begins anew. (Page 1954; Hinkley 1971.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import compiled, inlined
from separatrix.problem.losses import PERCEPTRON, SQUARED_HINGE, slope
from separatrix.solvers.running.drive import CURSOR, ROW, UPDATES, VISITS, Status

__all__ = [
    "ALLOWED",
    "Data",
    "FIELDS",
    "LIMIT",
    "REACH",
    "Rule",
    "SCALE",
    "STEEPEST",
    "TIME",
    "WEALTH",
    "WEIGHT",
    "averaged",
    "begin_pass",
    "first_steepest",
    "fresh",
    "learn_dense",
    "learn_sparse",
    "make_visits",
    "row_keys",
    "shuffled_by",
    "watch",
]


# What a feature holds: 64 bytes, one line of the cache. Feature 0 is the bias.
WEIGHT, PULL, SQUARES, WEALTH, REACH, SCALE, COUNT, SINCE = range(8)
FIELDS = 8
# What a model holds besides.
TIME, STEEPEST = range(2)

_MOST_COPIES = 100
# A feature that lost all it had may still change its mind when the stream does.
_LEAST_WEALTH = 1e-3
# Squares below this have lost digits to underflow: such a column is taken as zero.
_TINY = 1e-280
# Unsigned places spare a test for negative ones at every entry.
_NEXT = np.uint32(1)
_BLOCK = 1 << 20
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
_SHIFTS = np.array([30, 27, 31], dtype=np.uint64)


class Rule(NamedTuple):
    """How to learn, as plain numbers."""

    loss: int
    cost: float  # inf: no penalty
    bias: bool
    scaled: bool  # whether the penalty is on the weights of columns of largest entry 1
    counting: bool  # whether rows are met for the first time
    averaging: bool


class Data(NamedTuple):
    """The class number of every row, and its weight; none: all weights are 1."""

    codes: np.ndarray
    weights: np.ndarray


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
def _widen(slots, sums, j, k, size, steepest, phase, rule):  # type: ignore[no-untyped-def]
    """A value larger than all before it: the weight is for the new reach."""
    slot = slots[j, k]
    if rule.averaging:
        sums[j, k] += slot[WEIGHT] * (phase - slot[SINCE])
        slot[SINCE] = phase
    slot[REACH] = size * steepest
    if rule.scaled and size > slot[SCALE]:
        share, exponent = math.frexp(size)
        slot[SCALE] = math.ldexp(1.0, exponent - 1 if share == 0.5 else exponent)
    slot[WEIGHT] = _bet(slot[PULL], slot[SQUARES], slot[WEALTH], slot[REACH])


@inlined
def _score(indices, values, begin, end, memory, row_scores, rule):  # type: ignore[no-untyped-def]
    """Write what every model makes of a row; the models of a feature stand side by side."""
    slots, sums, totals = memory.slots, memory.sums, memory.totals
    machines = slots.shape[1]
    phase = 0.5 * totals[0, TIME] * totals[0, TIME]
    for k in range(machines):
        row_scores[k] = 0.0
        if rule.bias:
            if totals[k, STEEPEST] > slots[0, k, REACH]:
                _widen(slots, sums, 0, k, 1.0, totals[k, STEEPEST], phase, rule)
            row_scores[k] = slots[0, k, WEIGHT]
    if machines == 1:
        total = row_scores[0]
        steepest = totals[0, STEEPEST]
        for entry in range(begin, end):
            x = values[entry]
            j = indices[entry] + _NEXT
            if abs(x) * steepest > slots[j, 0, REACH]:
                _widen(slots, sums, j, 0, abs(x), steepest, phase, rule)
            total += x * slots[j, 0, WEIGHT]
        row_scores[0] = total
    else:
        for entry in range(begin, end):
            x = values[entry]
            j = indices[entry] + _NEXT
            for k in range(machines):
                if abs(x) * totals[k, STEEPEST] > slots[j, k, REACH]:
                    _widen(slots, sums, j, k, abs(x), totals[k, STEEPEST], phase, rule)
                row_scores[k] += x * slots[j, k, WEIGHT]


@inlined
def _move(slots, sums, j, k, gradient, penalty, phase, averaging):  # type: ignore[no-untyped-def]
    """Feature j has seen a gradient; `penalty` is its share of the penalty's slope."""
    weight = slots[j, k, WEIGHT]
    reach = slots[j, k, REACH]
    if penalty != 0.0:
        gradient += penalty * weight
        gradient = min(max(gradient, -reach), reach)
    if gradient != 0.0:
        if averaging:
            sums[j, k] += weight * (phase - slots[j, k, SINCE])
            slots[j, k, SINCE] = phase
        pull = slots[j, k, PULL] - gradient
        squares = slots[j, k, SQUARES] + gradient * gradient
        wealth = max(slots[j, k, WEALTH] - gradient * weight, _LEAST_WEALTH)
        slots[j, k, PULL] = pull
        slots[j, k, SQUARES] = squares
        slots[j, k, WEALTH] = wealth
        slots[j, k, WEIGHT] = _bet(pull, squares, wealth, reach)


@inlined
def _pulls(unit, signs, steeps, totals, pulls):  # type: ignore[no-untyped-def]
    """Turn slopes into pulls, none steeper than all before it; return whether there is one."""
    some = False
    for k in range(steeps.shape[0]):
        pull = steeps[k] * unit
        if -pull > totals[k, STEEPEST]:
            longer = -pull
            pull = -totals[k, STEEPEST]
            totals[k, STEEPEST] = longer
        totals[k, TIME] += unit
        pulls[k] = pull * signs[k]
        some = some or pull != 0.0
    return some


@inlined
def _step(indices, values, begin, end, unit, pulls, memory, rule):  # type: ignore[no-untyped-def]
    """Learn a row once, with weight `unit`."""
    slots, sums, totals = memory.slots, memory.sums, memory.totals
    machines = slots.shape[1]
    penalised = rule.cost < np.inf
    phase = 0.5 * totals[0, TIME] * totals[0, TIME]
    if rule.bias:
        for k in range(machines):
            _move(slots, sums, 0, k, pulls[k], 0.0, phase, rule.averaging)
    penalty = 0.0
    for entry in range(begin, end):
        j = indices[entry] + _NEXT
        x = values[entry]
        if x == 0.0:
            continue
        for k in range(machines):
            if pulls[k] == 0.0 and not penalised:
                continue
            if penalised:
                if rule.counting:
                    slots[j, k, COUNT] += unit
                scale = slots[j, k, SCALE]
                penalty = unit * scale * scale / (rule.cost * slots[j, k, COUNT])
            _move(slots, sums, j, k, pulls[k] * x, penalty, phase, rule.averaging)


@inlined
def _learn_row(indices, values, begin, end, row, data, memory, scores, rule, work):  # type: ignore[no-untyped-def]
    """Learn one row with every model; write its scores before, and what makes its multipliers."""
    totals, shares, code = memory.totals, memory.shares, data.codes[row]
    weight = data.weights[row] if data.weights.shape[0] > 0 else 1.0
    machines = memory.slots.shape[1]
    row_scores, signs, steeps, pulls = work[0], work[1], work[2], work[3]
    for k in range(machines):
        signs[k] = 1.0 if code == (1 if machines == 1 else k) else -1.0
    copies = math.ceil(weight) if weight <= _MOST_COPIES else _MOST_COPIES
    unit = weight / copies
    for copy in range(copies):
        _score(indices, values, begin, end, memory, row_scores, rule)
        for k in range(machines):
            if copy == 0 and scores.shape[1] > 0:
                scores[k, row] = row_scores[k]
            margin = signs[k] * row_scores[k]
            if rule.loss == PERCEPTRON:
                steeps[k] = 0.0 if margin > 0.0 else -1.0
            else:
                steeps[k] = slope(rule.loss, margin)
        some = _pulls(unit, signs, steeps, totals, pulls)
        if some or rule.cost < np.inf:
            _step(indices, values, begin, end, unit, pulls, memory, rule)
        if shares.shape[1] > 0:
            # A multiplier is a mean over all steps with this row, later ones counting for more.
            for k in range(machines):
                shares[k, row] -= unit * totals[k, TIME] * steeps[k]
            shares[machines, row] += unit * totals[0, TIME]


@compiled
def learn_sparse(rows, data, begin, end, memory, scores, rule):  # type: ignore[no-untyped-def]
    """Learn the rows at places `begin` to `end` of the order (as they stand, if it is empty)."""
    order, work = memory.order, np.empty((4, memory.slots.shape[1]))
    for place in range(begin, end):
        row = order[place] if order.shape[0] > 0 else place
        first, last = int(rows.starts[row]), int(rows.starts[row + 1])
        _learn_row(rows.indices, rows.values, first, last, row, data, memory, scores, rule, work)


@compiled
def learn_dense(rows, data, begin, end, memory, scores, rule):  # type: ignore[no-untyped-def]
    """As `learn_sparse`; what is not zero in a row is gathered first."""
    X, order, work = rows.values, memory.order, np.empty((4, memory.slots.shape[1]))
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
        _learn_row(indices, values, 0, count, row, data, memory, scores, rule, work)


def averaged(slots: np.ndarray, sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the mean of the weights over time, each moment counting by its time."""
    time = float(totals[0, TIME])
    if time == 0.0:
        return np.asarray(slots[:, :, WEIGHT].copy())
    phase = 0.5 * time * time
    with np.errstate(all="ignore"):  # weights that overflowed are found by whoever asks for them
        return np.asarray((sums + slots[:, :, WEIGHT] * (phase - slots[:, :, SINCE])) / phase)


# ---- an order of rows drawn from what they hold: however the rows stand, it is the same


def _mixed(words: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> _SHIFTS[0])) * _ODD[1]
    words = (words ^ (words >> _SHIFTS[1])) * _ODD[2]
    return np.asarray(words ^ (words >> _SHIFTS[2]))


def _entry_keys(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    keys = _mixed(bits + _mixed(columns.astype(np.uint64) * _ODD[0] + _ODD[1]))
    return np.where(values != 0.0, keys, np.uint64(0))


def row_keys(X: Any, codes: np.ndarray) -> np.ndarray:
    """Return a key for every row and its class; zeros count for nothing, stored or not.

    >>> import scipy.sparse as sp
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> keys = row_keys(X, np.array([0, 0, 0]))
    >>> len(set(keys.tolist())), np.array_equal(keys, row_keys(sp.csr_array(X), [0, 0, 0]))
    (2, True)
    """
    n, d = X.shape
    keys = np.zeros(n, dtype=np.uint64)
    step = max(1, _BLOCK // max(1, d)) if not sp.issparse(X) else max(1, n)
    for begin in range(0, n, step):
        part = X[begin : begin + step]
        if sp.issparse(X):
            sums = np.zeros(len(X.data) + 1, dtype=np.uint64)
            np.cumsum(_entry_keys(X.indices, X.data), out=sums[1:])
            keys[:] = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        else:
            columns = np.broadcast_to(np.arange(d), part.shape)
            keys[begin : begin + step] = _entry_keys(columns, part).sum(axis=1, dtype=np.uint64)
    return _mixed(keys + np.asarray(codes).astype(np.uint64) * _ODD[0])


def shuffled_by(keys: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return the order of a pass: rows by their keys, mixed with the seed and the pass's number."""
    salt = _mixed(np.array([seed, number], dtype=np.uint64) * _ODD[:2] + _ODD[2])
    return np.argsort(_mixed(keys ^ salt[0] ^ (salt[1] >> _SHIFTS[2])), kind="stable")


# ---- passes over rows in their order, or in a new one each time: for both kinds of gradient steps


def begin_pass(state: Any) -> None:
    """Draw the order of the next pass, where rows are shuffled."""
    if state.settings.shuffled:
        number = state.memory.counts[VISITS] // max(1, len(state.codes))
        order = shuffled_by(state.keys, state.settings.seed, int(number))
        state.memory = state.memory._replace(order=order)


def make_visits(state: Any, budget: int, learn: Callable[[Any, int, int], None]) -> Status | None:
    """Learn at most `budget` rows, from where the last visit ended."""
    n, counts = len(state.codes), state.memory.counts
    while True:
        left = state.settings.last_visit - int(counts[VISITS])
        if left <= 0:
            return Status.BUDGET
        if budget <= 0:
            return None
        begin = int(counts[CURSOR])
        end = min(n, begin + min(budget, left))
        learn(state, begin, end)
        budget -= end - begin
        counts[VISITS] += end - begin
        counts[UPDATES] += end - begin
        counts[ROW] = state.memory.order[end - 1] if state.settings.shuffled else end - 1
        counts[CURSOR] = end
        if end == n:
            counts[CURSOR] = 0
            begin_pass(state)


# ---- the Page-Hinkley test: has the mean of a stream of numbers gone up?


ALLOWED, LIMIT = 0.02, 100.0
_COUNT, _TOTAL, _RISE, _LEAST = range(4)


def fresh() -> np.ndarray:
    """Return the memory of a test that has seen nothing."""
    return np.zeros(4)


@compiled
def watch(memory, errors, allowed, limit):  # type: ignore[no-untyped-def]
    """Look at more errors; return the place of the first alarm, -1 if none. Later ones are unseen.

    >>> calm, bad = np.zeros(1000, dtype=np.uint8), np.ones(500, dtype=np.uint8)
    >>> memory = fresh()
    >>> int(watch(memory, calm, ALLOWED, LIMIT)), int(watch(memory, bad, ALLOWED, LIMIT))
    (-1, 107)
    """
    for k in range(errors.shape[0]):
        error = float(errors[k])
        memory[_COUNT] += 1.0
        memory[_TOTAL] += error
        memory[_RISE] += error - memory[_TOTAL] / memory[_COUNT] - allowed
        memory[_LEAST] = min(memory[_LEAST], memory[_RISE])
        if memory[_RISE] - memory[_LEAST] > limit:
            memory[:] = 0.0
            return k
    return -1
