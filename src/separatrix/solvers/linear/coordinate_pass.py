"""The loops of dual coordinate descent: one pass over the rows, and what a check needs of them."""

from __future__ import annotations

import numpy as np

from separatrix._compiled import by_kind, compiled
from separatrix.problem.products import sparse_score
from separatrix.problem.rows import DenseRows, SparseRows, add, dot, square
from separatrix.solvers.running.row_order import shuffle

# Places in the counts of a run.
ACTIVE, KEPT, UNCHECKED, CHECKS = range(4)
# Places in its numbers: y.a, the multiplier b_0, the thresholds beyond which a row at a bound is
# left out, the dual objective as the steps add up, the gap as the last pass saw it, the weight s of
# the penalty s/2 (y.a)^2, and y.a at the last check.
BALANCE, MULTIPLIER, HIGH, LOW, VALUE, SHORTFALL, WEIGHT, LAST_BALANCE, NUMBERS = range(9)


def _dense_score(rows, i, w):  # type: ignore[no-untyped-def]
    return dot(rows, i, w)


def _sparse_score(rows, i, w):  # type: ignore[no-untyped-def]
    return sparse_score(rows.values, rows.indices, rows.starts[i], rows.starts[i + 1], w)


score = by_kind({DenseRows: _dense_score, SparseRows: _sparse_score}, in_order=(SparseRows,))


@compiled
def visit_rows(  # type: ignore[no-untyped-def]
    base,
    signs,
    squares,
    diagonal,
    upper,
    alpha,
    w,
    order,
    counts,
    numbers,
    dice,
    quota,
    enough,
):
    """Sweep over the active rows until `quota` visits are made; return how many were.

    Ends earlier where a sweep finds the gap below the share `enough` of the objective.
    """
    visited = 0
    while True:
        visited += counts[ACTIVE]
        sweep(
            base,
            signs,
            squares,
            diagonal,
            upper,
            alpha,
            w,
            order,
            counts,
            numbers,
            dice,
        )
        if visited >= quota or counts[ACTIVE] == 0:
            return visited
        if numbers[SHORTFALL] <= enough * numbers[VALUE]:
            return visited


@compiled
def sweep(  # type: ignore[no-untyped-def]
    base, signs, squares, diagonal, upper, alpha, w, order, counts, numbers, dice
):
    """Visit the active rows in random order and give each its best alpha.

    Rows that have settled at a bound leave the active ones.
    """
    active = counts[ACTIVE]
    shuffle(order[:active], dice)
    has_diagonal = diagonal.shape[0] > 0
    bias_weight = numbers[WEIGHT]
    bias = numbers[MULTIPLIER] + bias_weight * numbers[BALANCE]
    balance, gained, shortfall = numbers[BALANCE], 0.0, 0.0
    highest, lowest = -np.inf, np.inf
    place = 0
    while place < active:
        i = order[place]
        sign, a, bound = signs[i], alpha[i], upper[i]
        gradient = sign * (score(base, i, w) + bias) - 1.0
        if has_diagonal:
            gradient += diagonal[i] * a
        if bound == np.inf:
            shortfall += 0.5 * gradient * gradient / diagonal[i]
        elif gradient < 0.0:
            shortfall -= (bound - a) * gradient
        else:
            shortfall += a * gradient
        projected = gradient
        if a == 0.0:
            if gradient > numbers[HIGH]:
                active -= 1
                order[place], order[active] = order[active], order[place]
                continue
            projected = min(gradient, 0.0)
        elif a == bound:
            if gradient < numbers[LOW]:
                active -= 1
                order[place], order[active] = order[active], order[place]
                continue
            projected = max(gradient, 0.0)
        highest, lowest = max(highest, projected), min(lowest, projected)
        place += 1
        if projected == 0.0:
            continue
        square_of_row = squares[i] + bias_weight
        if square_of_row > 0.0:
            target = min(bound, max(0.0, a - gradient / square_of_row))
        else:
            target = bound
        change = target - a
        if change == 0.0:
            continue
        alpha[i] = target
        gained -= change * (gradient + 0.5 * square_of_row * change)
        add(base, i, sign * change, w)
        balance += sign * change
        bias += bias_weight * (sign * change)
    counts[ACTIVE] = active
    numbers[BALANCE] = balance
    numbers[VALUE] += gained
    numbers[SHORTFALL] = shortfall
    numbers[HIGH] = highest if highest > 0.0 else np.inf
    numbers[LOW] = lowest if lowest < 0.0 else -np.inf


@compiled
def choose_active(order, scores, signs, bias, diagonal, upper, alpha):  # type: ignore[no-untyped-def]
    """Put the free rows and those that want to leave their bound first; return their number."""
    front = 0
    for place in range(order.shape[0]):
        i = order[place]
        gradient = signs[i] * (scores[i] + bias) - 1.0
        if diagonal.shape[0] > 0:
            gradient += diagonal[i] * alpha[i]
        settled = (alpha[i] == 0.0 and gradient >= 0.0) or (
            alpha[i] == upper[i] and gradient <= 0.0
        )
        if not settled:
            order[front], order[place] = order[place], order[front]
            front += 1
    return front


@compiled
def scores_of(base, w, n):  # type: ignore[no-untyped-def]
    """Return every x_i.w."""
    scores = np.empty(n)
    for i in range(n):
        scores[i] = score(base, i, w)
    return scores


@compiled
def squares_of(base, n):  # type: ignore[no-untyped-def]
    """Return every |x_i|^2."""
    squares = np.empty(n)
    for i in range(n):
        squares[i] = square(base, i)
    return squares


@compiled
def scatter(base, signs, alpha, w):  # type: ignore[no-untyped-def]
    """Set w = sum_i a_i y_i x_i."""
    w[:] = 0.0
    for i in range(alpha.shape[0]):
        if alpha[i] != 0.0:
            add(base, i, signs[i] * alpha[i], w)
