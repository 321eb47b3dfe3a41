"""The loops of the direct model: one pass over the rows, and what a check needs of them.

Row i is visited with a list of classes, ``listed[i, :sizes[i]]``: those that hold some of its mass
and those that want some. Its best masses, all other rows held, are a projection onto a simplex:

    min over m   1/2 q |m - m_old|^2 - g.(m - m_old)    subject to   m >= 0,  sum m = c

with q = |x_i|^2 + s and g the slopes of the dual, g_k = w_k.x_i + b_k + 1[k != y_i]. The answer is
m_k = max(0, m_old_k + (g_k - t) / q), with t such that the masses add up; t is found exactly by
leaving out classes that fall below it until none does (Michelot 1986).
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import by_kind, compiled, inlined, prefetch
from separatrix.problem.rows import DenseRows, SparseRows, fetch
from separatrix.solvers.running.drive import AHEAD, NEXT, shuffle

# Places in the counts of a run.
ACTIVE, KEPT, UNCHECKED, CHECKS = range(4)
# Places in its numbers: the dual objective as the steps add up, the gap as the last pass saw it,
# the weight s of the penalty s/2 |r|^2, |r| at the last check, how far below the classes in use a
# slope may lie before its class leaves the list, and the widest spread of slopes in this pass.
VALUE, SHORTFALL, WEIGHT, LAST_BALANCE, BELOW, WIDEST, NUMBERS = range(7)


def _dense_scores(rows, i, W, listed, count, out):  # type: ignore[no-untyped-def]
    for t in range(count):
        out[t] = 0.0
    for j in range(rows.values.shape[1]):
        value = np.float64(rows.values[i, j])
        if count == W.shape[1]:
            for t in range(count):
                out[t] += value * W[j, t]
        else:
            for t in range(count):
                out[t] += value * W[j, listed[i, t]]


def _sparse_scores(rows, i, W, listed, count, out):  # type: ignore[no-untyped-def]
    values, indices = rows.values, rows.indices
    begin, end = rows.starts[i], rows.starts[i + 1]
    if count == W.shape[1]:
        for t in range(count):
            out[t] = 0.0
        for k in range(begin, end):
            value, j = np.float64(values[k]), indices[k]
            for t in range(count):
                out[t] += value * W[j, t]
        return
    # Four classes at a time, their sums in registers; the last ones two by two.
    t = 0
    while t + 2 < count:
        first, second, third = listed[i, t], listed[i, t + 1], listed[i, t + 2]
        fourth = listed[i, min(t + 3, count - 1)]
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for k in range(begin, end):
            value, j = np.float64(values[k]), indices[k]
            one += value * W[j, first]
            two += value * W[j, second]
            three += value * W[j, third]
            four += value * W[j, fourth]
        out[t], out[t + 1], out[t + 2] = one, two, three
        out[min(t + 3, count - 1)] = four
        t += 4
    if t < count:
        first, second = listed[i, t], listed[i, count - 1]
        one, two = 0.0, 0.0
        for k in range(begin, end):
            value, j = np.float64(values[k]), indices[k]
            one += value * W[j, first]
            two += value * W[j, second]
        out[t], out[count - 1] = one, two


def _dense_push(rows, i, W, classes, steps, count):  # type: ignore[no-untyped-def]
    for j in range(rows.values.shape[1]):
        value = np.float64(rows.values[i, j])
        for t in range(count):
            W[j, classes[t]] += steps[t] * value


def _sparse_push(rows, i, W, classes, steps, count):  # type: ignore[no-untyped-def]
    values, indices = rows.values, rows.indices
    begin, end = rows.starts[i], rows.starts[i + 1]
    t = 0
    while t + 1 < count:
        first, second, one, two = classes[t], classes[t + 1], steps[t], steps[t + 1]
        for k in range(begin, end):
            value, j = np.float64(values[k]), indices[k]
            W[j, first] += one * value
            W[j, second] += two * value
        t += 2
    if t < count:
        first, one = classes[t], steps[t]
        for k in range(begin, end):
            W[indices[k], first] += one * values[k]


_KINDS = (SparseRows,)
# Where the list holds every class it is in the order of the classes.
class_scores = by_kind({DenseRows: _dense_scores, SparseRows: _sparse_scores}, in_order=_KINDS)
push_classes = by_kind({DenseRows: _dense_push, SparseRows: _sparse_push}, in_order=_KINDS)


@inlined
def project(heights, count, mass):  # type: ignore[no-untyped-def]
    """Return t with sum_k max(0, heights_k - t) = mass, exactly but for rounding."""
    total, used = 0.0, count
    for k in range(count):
        total += heights[k]
    level = (total - mass) / used
    while True:
        total, kept = 0.0, 0
        for k in range(count):
            if heights[k] > level:
                total += heights[k]
                kept += 1
        if kept >= used or kept == 0:
            return level
        used = kept
        level = (total - mass) / used


@compiled
def sweep(setup, codes, memory):  # type: ignore[no-untyped-def]
    """Visit the active rows in random order and lay each one's mass where it does best.

    Classes that have no mass and want none leave a row's list, and rows with one class left leave
    the active ones, until the next check.
    """
    base, squares = setup.base, setup.squares
    masses, W, multipliers, balance = memory.masses, memory.W, memory.multipliers, memory.balance
    order, listed, sizes, numbers = memory.order, memory.listed, memory.sizes, memory.numbers
    active = memory.counts[ACTIVE]
    shuffle(order[:active], memory.dice)
    n_classes = W.shape[1]
    weight = numbers[WEIGHT]
    below = numbers[BELOW]
    slopes, heights, steps = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    classes = np.empty(n_classes, dtype=np.uint32)
    gained, shortfall, widest = 0.0, 0.0, 0.0
    place = 0
    while place < active:
        if place + AHEAD < active:
            later = order[place + AHEAD]
            prefetch(codes, later)
            prefetch(sizes, later)
            prefetch(squares, later)
            prefetch(masses, n_classes * np.int64(later))
            prefetch(listed, n_classes * np.int64(later))
            fetch(base, order[place + NEXT])
        i = order[place]
        own, count = codes[i], sizes[i]
        class_scores(base, i, W, listed, count, slopes)
        # An accelerated step may have left mass on a class off the list: it stays there.
        mass, highest, lowest, value = 0.0, -np.inf, np.inf, 0.0
        for t in range(count):
            k = listed[i, t]
            slopes[t] += multipliers[k] + weight * balance[k]
            if k != own:
                slopes[t] += 1.0
            highest = max(highest, slopes[t])
            if masses[i, k] > 0.0:
                lowest = min(lowest, slopes[t])
                value += masses[i, k] * slopes[t]
                mass += masses[i, k]
        shortfall += mass * highest - value
        widest = max(widest, highest - lowest)
        t = 0
        while t < count:
            k = listed[i, t]
            if masses[i, k] == 0.0 and slopes[t] < lowest - below:
                count -= 1
                listed[i, t], listed[i, count] = listed[i, count], k
                slopes[t], slopes[count] = slopes[count], slopes[t]
            else:
                t += 1
        sizes[i] = count
        if count == 1:
            active -= 1
            order[place], order[active] = order[active], order[place]
            continue
        place += 1
        if highest == lowest:
            continue
        square = squares[i] + weight
        if square > 0.0:
            for t in range(count):
                heights[t] = slopes[t] + square * masses[i, listed[i, t]]
            level = project(heights, count, square * mass)
        changed = 0
        for t in range(count):
            k = listed[i, t]
            if square > 0.0:
                target = max(0.0, (heights[t] - level) / square)
            else:
                target = mass if slopes[t] == highest else 0.0
            step = target - masses[i, k]
            if square == 0.0 and slopes[t] == highest:
                highest = np.inf  # an empty row: all on the first of the best
            if step != 0.0:
                masses[i, k] = target
                gained += step * (slopes[t] - 0.5 * square * step)
                balance[k] -= step
                classes[changed], steps[changed] = k, -step
                changed += 1
        push_classes(base, i, W, classes, steps, changed)
    memory.counts[ACTIVE] = active
    numbers[VALUE] += gained
    numbers[SHORTFALL] = shortfall
    numbers[WIDEST] = widest


@compiled
def all_scores(base, W, scores, listed):  # type: ignore[no-untyped-def]
    """Set scores_ik = w_k.x_i for all rows and classes."""
    for i in range(scores.shape[0]):
        class_scores(base, i, W, listed, W.shape[1], scores[i])


@compiled
def choose_lists(memory, codes, scores, bias):  # type: ignore[no-untyped-def]
    """List each row's classes in use and those that want its mass; return how many rows have two.

    Those rows come first in the order. A class wants mass if its slope lies above the lowest of
    those in use.
    """
    masses, order = memory.masses, memory.order
    listed, sizes = memory.listed, memory.sizes
    n_classes = scores.shape[1]
    front = 0
    for place in range(order.shape[0]):
        i = order[place]
        lowest = np.inf
        for k in range(n_classes):
            if masses[i, k] > 0.0:
                lowest = min(lowest, scores[i, k] + bias[k] + (k != codes[i]))
        count = 0
        for k in range(n_classes):
            slope = scores[i, k] + bias[k] + (k != codes[i])
            if masses[i, k] > 0.0 or slope > lowest:
                listed[i, count] = k
                count += 1
        sizes[i] = count
        if count > 1:
            order[front], order[place] = order[place], order[front]
            front += 1
    return front


@compiled
def total_of(base, codes, masses, W, balance):  # type: ignore[no-untyped-def]
    """Set W = sum_i x_i a_i and the balance sum_i a_i; return the mass off the own classes."""
    n_classes = masses.shape[1]
    W[:] = 0.0
    balance[:] = 0.0
    classes, steps = np.empty(n_classes, dtype=np.uint32), np.empty(n_classes)
    gain = 0.0
    for i in range(masses.shape[0]):
        own, count, moved = codes[i], 0, 0.0
        for k in range(n_classes):
            if k != own and masses[i, k] > 0.0:
                classes[count], steps[count] = k, -masses[i, k]
                balance[k] -= masses[i, k]
                moved += masses[i, k]
                count += 1
        if count > 0:
            classes[count], steps[count] = own, moved
            balance[own] += moved
            gain += moved
            push_classes(base, i, W, classes, steps, count + 1)
    return gain


@compiled
def total_loss(scores, bias, codes, costs):  # type: ignore[no-untyped-def]
    """Return sum_i c_i max_k (1[k != y_i] + score_ik - score_iy), biases added."""
    total = 0.0
    for i in range(scores.shape[0]):
        if costs[i] > 0.0:
            own = codes[i]
            mine = scores[i, own] + bias[own]
            highest = mine
            for k in range(scores.shape[1]):
                if k != own:
                    highest = max(highest, scores[i, k] + bias[k] + 1.0)
            total += costs[i] * (highest - mine)
    return total
