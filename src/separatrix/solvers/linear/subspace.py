"""Acceleration of a coordinate method: the best point along its own last steps.

    min over t   1/2 |w + V t|^2 + 1/2 s (r + R t)^2 + b_0 R t
                 + sum_i  1/2 D_i (a_i + (P t)_i)^2 - (a_i + (P t)_i)

The columns of P are the displacement of the pass just made and the last total steps; V and R are
what they did to w and to r = y.a. This is a system of four unknowns. Its solution is a direction,
along which the box 0 <= a <= upper is respected by an exact search: coordinates that meet a bound
stop there and leave the direction, and the search goes on as long as the objective falls.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.rows import add, dot
from separatrix.solvers.linear.coordinate_pass import (
    BALANCE,
    KEPT,
    MULTIPLIER,
    VALUE,
    WEIGHT,
    scatter,
)
from separatrix.solvers.linear.dual_claims import inner

HISTORY = 3

_UNACCELERATED = 3  # the first updates, whose steps are no guide
_NO_STEP = 1e-13  # steps below this share of |w| are rounding
_ROUNDING = 1e-8  # the share of a step that the rounding of w may be
# Added to the unit diagonal of the small system, whose columns may be nearly parallel.
_RIDGE = 1e-10


@compiled
def coefficients(products, slopes, least):  # type: ignore[no-untyped-def]
    """Return t, the minimiser in the span of the steps longer than `least`; empty if there is none.

    >>> products, slopes = np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([-2.0, 0.0])
    >>> coefficients(products, slopes, 0.0).round(6).tolist()
    [0.5, 0.0]
    """
    count = slopes.shape[0]
    scale, used = np.empty(count), np.empty(count, dtype=np.int64)
    size = 0
    for k in range(count):
        for m in range(count):
            if not np.isfinite(products[k, m]):
                return np.empty(0)
        scale[k] = np.sqrt(max(products[k, k], 0.0))
        if scale[k] > least:
            used[size] = k
            size += 1
    if size == 0:
        return np.empty(0)
    # The system of unit diagonal, and behind it its right side.
    table = np.empty((size, size + 1))
    for row in range(size):
        k = used[row]
        for column in range(size):
            m = used[column]
            table[row, column] = products[k, m] / (scale[k] * scale[m])
        table[row, row] += _RIDGE
        table[row, size] = -slopes[k] / scale[k]
    if not _eliminate(table):
        return np.empty(0)
    t = np.zeros(count)
    for row in range(size):
        t[used[row]] = table[row, size] / scale[used[row]]
    return t


@compiled
def _eliminate(table):  # type: ignore[no-untyped-def]
    """Solve the system whose last column is its right side, in place (Gauss, largest pivots)."""
    size = table.shape[0]
    for step in range(size):
        pivot = step
        for row in range(step + 1, size):
            if abs(table[row, step]) > abs(table[pivot, step]):
                pivot = row
        if table[pivot, step] == 0.0:
            return False
        for column in range(size + 1):
            table[step, column], table[pivot, column] = table[pivot, column], table[step, column]
        for row in range(size):
            if row != step:
                factor = table[row, step] / table[step, step]
                for column in range(step, size + 1):
                    table[row, column] -= factor * table[step, column]
    for row in range(size):
        table[row, size] /= table[row, row]
    return True


@compiled
def span_products(memory, used, bias, bias_weight, diagonal):  # type: ignore[no-untyped-def]
    """Return the matrix of the small system and the slopes of the objective along each step."""
    alpha, w = memory.alpha, memory.w
    past_alpha, past_w, past_r = memory.past_alpha, memory.past_w, memory.past_balance
    products = np.zeros((used, used))
    slopes = np.zeros(used)
    for k in range(used):
        for m in range(k + 1):
            total = bias_weight * past_r[k] * past_r[m]
            for j in range(w.shape[0]):
                total += past_w[k, j] * past_w[m, j]
            if diagonal.shape[0] > 0:
                for i in range(alpha.shape[0]):
                    total += past_alpha[k, i] * (past_alpha[m, i] * diagonal[i])
            products[k, m] = products[m, k] = total
        slope = bias * past_r[k]
        for j in range(w.shape[0]):
            slope += past_w[k, j] * w[j]
        for i in range(alpha.shape[0]):
            slope -= past_alpha[k, i]
        if diagonal.shape[0] > 0:
            for i in range(alpha.shape[0]):
                slope += past_alpha[k, i] * (diagonal[i] * alpha[i])
        slopes[k] = slope
    return products, slopes


@compiled
def combine(past, t, direction):  # type: ignore[no-untyped-def]
    """Set direction = sum_k t_k past_k."""
    for j in range(direction.shape[0]):
        direction[j] = 0.0
    for k in range(t.shape[0]):
        for j in range(direction.shape[0]):
            direction[j] += t[k] * past[k, j]


@compiled
def leave_bounds_alone(dual, alpha, x, v):  # type: ignore[no-untyped-def]
    """Take coordinates that point out of the box out of x and v; return when the others meet it."""
    meets = np.empty(alpha.shape[0])
    found = 0
    for i in range(alpha.shape[0]):
        meets[i] = np.inf
        if x[i] == 0.0:
            continue
        bound = dual.upper[i] if x[i] > 0.0 else 0.0
        if alpha[i] == bound:
            add(dual.base, i, -x[i] * dual.signs[i], v)
            x[i] = 0.0
        else:
            meets[i] = (bound - alpha[i]) / x[i]
            found += meets[i] < 1.0
    return meets, found


@compiled
def search(dual, alpha, w, bias, bias_weight, x, v, meets, heap):  # type: ignore[no-untyped-def]
    """Go along clip(alpha + t x) to its first minimum with t <= 1, changing alpha and w.

    `heap` holds the rows that meet a bound before t = 1. w(t) is kept as w + t v, so that a row
    that stops changes w and v at its own entries only. Returns the change of r = y.a and the
    decrease of the objective.
    """
    base, signs, squares, diagonal, upper = dual
    has_diagonal = diagonal.shape[0] > 0
    share, linear, quadratic = 0.0, 0.0, 0.0
    for i in range(alpha.shape[0]):
        if x[i] != 0.0:
            share += signs[i] * x[i]
            linear -= x[i]
            if has_diagonal:
                linear += x[i] * (diagonal[i] * alpha[i])
                quadratic += x[i] * (x[i] * diagonal[i])
    product, square = 0.0, 0.0
    for j in range(w.shape[0]):
        product += v[j] * w[j]
        square += v[j] * v[j]
    slope = linear + product + bias * share
    t, gained, settled = 0.0, 0.0, 0.0
    size = heap.shape[0]
    while True:
        following = meets[heap[0]] if size > 0 else 1.0
        curvature = square + quadratic + bias_weight * share * share
        step = following - t
        if slope >= 0.0:
            step = 0.0
        elif curvature > 0.0 and slope + curvature * step > 0.0:
            step = -slope / curvature
        gained -= step * (slope + 0.5 * curvature * step)
        slope += curvature * step
        t += step
        if size == 0 or t < following or slope >= 0.0:
            break
        # Row i meets its bound: it stays there, and the direction goes on without it.
        i = heap[0]
        size -= 1
        heap[0] = heap[size]
        _sift(heap, meets, 0, size)
        along = dot(base, i, v)
        score = dot(base, i, w) + t * along + bias + bias_weight * (settled + t * share)
        at_bound = upper[i] if x[i] > 0.0 else 0.0
        gradient = signs[i] * score - 1.0
        own_square = squares[i]
        if has_diagonal:
            gradient += diagonal[i] * at_bound
            own_square -= diagonal[i]
            quadratic -= x[i] * (x[i] * diagonal[i])
        part = signs[i] * x[i]
        slope -= x[i] * gradient
        square = max(0.0, square - part * (2.0 * along - part * own_square))
        add(base, i, t * part, w)
        add(base, i, -part, v)
        settled += t * part
        share -= part
        alpha[i] = at_bound
        x[i] = 0.0
    for i in range(alpha.shape[0]):
        if x[i] != 0.0:
            alpha[i] = min(upper[i], max(0.0, alpha[i] + t * x[i]))
    for j in range(w.shape[0]):
        w[j] += t * v[j]
    return settled + t * share, gained


@compiled
def meeting_heap(meets, found):  # type: ignore[no-untyped-def]
    """Return the `found` rows that meet a bound before t = 1 as a heap, the first of them in front.

    Of several at once the first row comes first. The search takes a few of thousands, so they are
    not sorted.

    >>> meeting_heap(np.array([0.5, np.inf, 0.2, 0.5, 0.1]), 4).tolist()
    [4, 2, 3, 0]
    """
    heap, size = np.empty(found, dtype=np.int64), 0
    for i in range(meets.shape[0]):
        if meets[i] < 1.0:
            heap[size] = i
            size += 1
    for root in range(size // 2 - 1, -1, -1):
        _sift(heap, meets, root, size)
    return heap


@compiled
def _sift(heap, meets, root, size):  # type: ignore[no-untyped-def]
    """Let a row sink in a heap whose root is the first to meet its bound."""
    row = heap[root]
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and _is_sooner(meets, heap[child + 1], heap[child]):
            child += 1
        if not _is_sooner(meets, heap[child], row):
            break
        heap[root] = heap[child]
        root = child
    heap[root] = row


@compiled
def _is_sooner(meets, row, other):  # type: ignore[no-untyped-def]
    return meets[row] < meets[other] or (meets[row] == meets[other] and row < other)


@compiled
def _write_difference(target, now, before):  # type: ignore[no-untyped-def]
    """Write ``now - before``; as arrays this takes numba seconds to compile."""
    for i in range(target.shape[0]):
        target[i] = now[i] - before[i]


@compiled
def accelerate(dual, memory, updates, balance):  # type: ignore[no-untyped-def]
    """Step to the best point in the span of this pass and the last steps; remember this step.

    `balance` is y.a before the pass. All in one loop: on small data calls would cost as much.
    """
    alpha, w, counts, numbers = memory.alpha, memory.w, memory.counts, memory.numbers
    past_alpha, past_w, past_balance = memory.past_alpha, memory.past_w, memory.past_balance
    slot = (updates - 1) % (HISTORY + 1)
    used = min(counts[KEPT] + 1, HISTORY + 1)
    _write_difference(past_alpha[slot], alpha, memory.alpha_before)
    _write_difference(past_w[slot], w, memory.w_before)
    past_balance[slot] = numbers[BALANCE] - balance
    counts[KEPT] = used
    if updates <= _UNACCELERATED:
        return
    weight = numbers[WEIGHT]
    bias = numbers[MULTIPLIER] + weight * numbers[BALANCE]
    products, slopes = span_products(memory, used, bias, weight, dual.diagonal)
    size = np.sqrt(inner(w, w, 1.0))
    t = coefficients(products, slopes, _NO_STEP * size)
    if t.shape[0] == 0:
        return
    reach = 0.0
    for k in range(t.shape[0]):
        reach += abs(t[k])
    x, v = np.empty(alpha.shape[0]), np.empty(w.shape[0])
    combine(past_alpha, t, x)
    combine(past_w, t, v)
    if 1e-16 * size * reach > _ROUNDING * np.sqrt(inner(v, v, 1.0)):
        # The steps carry the rounding of w, and t is large: w would no longer be that of alpha.
        scatter(dual, x, v)
    meets, found = leave_bounds_alone(dual, alpha, x, v)
    heap = meeting_heap(meets, found)
    moved, gained = search(dual, alpha, w, bias, weight, x, v, meets, heap)
    numbers[BALANCE] += moved
    numbers[VALUE] += gained
    _write_difference(past_alpha[slot], alpha, memory.alpha_before)
    _write_difference(past_w[slot], w, memory.w_before)
    past_balance[slot] += moved
