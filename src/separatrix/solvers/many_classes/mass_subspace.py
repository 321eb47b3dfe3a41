"""Acceleration of the direct machine: the best point along its own last steps.

    min over t   1/2 |W + sum_j t_j V_j|^2 + s/2 |r + sum_j t_j R_j|^2 + b_0.(sum_j t_j R_j)
                 - gain(m + sum_j t_j P_j)

P_j are the displacement of the masses in the pass just made and in the last whole steps, V_j and
R_j what they did to W and to the balance r. The answer is a direction of masses, feasible at first
where rows are held back from leaving their simplex. A row goes along until one of its masses is
used up; it stays there, and the search goes on without it as long as the objective falls.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled
from separatrix.solvers.many_classes.mass_pass import class_scores, push_classes

__all__ = ["hold_back", "search", "span_of"]


@compiled
def span_of(past_W, used, slot, last, W, products):  # type: ignore[no-untyped-def]
    """Renew the products of the steps in `slot` and `last` with all; return those of all with W."""
    slopes = np.zeros(used)
    mine, before = past_W[slot], past_W[last]
    for m in range(used):
        other = past_W[m]
        with_slot, with_last, with_W = 0.0, 0.0, 0.0
        for j in range(W.shape[0]):
            with_slot += other[j] * mine[j]
            with_last += other[j] * before[j]
            with_W += other[j] * W[j]
        products[m, slot] = products[slot, m] = with_slot
        if last < used:
            products[m, last] = products[last, m] = with_last
        slopes[m] = with_W
    return slopes


@compiled
def hold_back(base, codes, masses, x, v):  # type: ignore[no-untyped-def]
    """Make x point into the simplex of every row, v along with it; return when a row meets its end.

    A class without mass gives none: what it would have given comes from the row's other classes.
    """
    n_classes = masses.shape[1]
    meets = np.full(masses.shape[0], np.inf)
    classes, steps = np.empty(n_classes, dtype=np.uint32), np.empty(n_classes)
    for i in range(masses.shape[0]):
        excess, holders, moves = 0.0, 0, False
        for k in range(n_classes):
            if x[i, k] != 0.0:
                moves = True
                if x[i, k] < 0.0 and masses[i, k] == 0.0:
                    excess -= x[i, k]
            holders += masses[i, k] > 0.0
        if not moves:
            continue
        if excess > 0.0:
            changed = 0
            for k in range(n_classes):
                old = x[i, k]
                if old < 0.0 and masses[i, k] == 0.0:
                    x[i, k] = 0.0
                elif masses[i, k] > 0.0:
                    x[i, k] -= excess / holders
                if x[i, k] != old:
                    classes[changed], steps[changed] = k, old - x[i, k]
                    changed += 1
            push_classes(base, i, v, classes, steps, changed)
        for k in range(n_classes):
            if x[i, k] < 0.0:
                meets[i] = min(meets[i], masses[i, k] / -x[i, k])
    return meets


@compiled
def search(  # type: ignore[no-untyped-def]
    base, codes, squares, masses, W, balance, bias, weight, listed, x, v, meets, order
):
    """Go along to the first minimum with t <= 1, changing masses, W and balance.

    `order` holds the rows that meet an end before t = 1, the first to meet it first. W(t) is kept
    as W + t v, so that a row that stops changes both at its own entries only. Returns the decrease.
    """
    n, n_classes = masses.shape
    share, gain = np.zeros(n_classes), 0.0  # what the direction does to r and to the first sum
    for i in range(n):
        for k in range(n_classes):
            share[k] -= x[i, k]
            if k != codes[i]:
                gain += x[i, k]
    product, square, linear, across = 0.0, 0.0, 0.0, 0.0
    for j in range(W.shape[0]):
        for k in range(n_classes):
            product += v[j, k] * W[j, k]
            square += v[j, k] * v[j, k]
    for k in range(n_classes):
        linear += bias[k] * share[k]
        across += share[k] * share[k]
    slope = product + linear - gain
    settled = np.zeros(n_classes)
    here, along, steps = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    classes = np.empty(n_classes, dtype=np.uint32)
    t, gained = 0.0, 0.0
    for place in range(order.shape[0] + 1):
        following = meets[order[place]] if place < order.shape[0] else 1.0
        curvature = square + weight * across
        step = following - t
        if slope >= 0.0:
            step = 0.0
        elif curvature > 0.0 and slope + curvature * step > 0.0:
            step = -slope / curvature
        gained -= step * (slope + 0.5 * curvature * step)
        slope += curvature * step
        t += step
        if place == order.shape[0] or t < following or slope >= 0.0:
            break
        # Row i meets its end: it stays there, and the direction goes on without it.
        i = order[place]
        class_scores(base, i, W, listed, n_classes, here)
        class_scores(base, i, v, listed, n_classes, along)
        own_square, changed = 0.0, 0
        for k in range(n_classes):
            part = x[i, k]
            if part == 0.0:
                continue
            score = here[k] + t * along[k]
            score += bias[k] + weight * (settled[k] + t * share[k]) + (k != codes[i])
            slope += part * score
            square += 2.0 * part * along[k]
            own_square += part * part
            across += part * (2.0 * share[k] + part)
            share[k] += part
            settled[k] -= t * part
            masses[i, k] = max(0.0, masses[i, k] + t * part)
            if part < 0.0 and masses[i, k] <= 1e-15 * -part:
                masses[i, k] = 0.0
            classes[changed], steps[changed] = k, part
            changed += 1
            x[i, k] = 0.0
        square = max(0.0, square + own_square * squares[i])
        across = max(0.0, across)
        push_classes(base, i, v, classes, steps, changed)
        for m in range(changed):
            steps[m] *= -t
        push_classes(base, i, W, classes, steps, changed)
    for i in range(n):
        for k in range(n_classes):
            if x[i, k] != 0.0:
                masses[i, k] = max(0.0, masses[i, k] + t * x[i, k])
    for j in range(W.shape[0]):
        for k in range(n_classes):
            W[j, k] += t * v[j, k]
    for k in range(n_classes):
        balance[k] += settled[k] + t * share[k]
    return gained
