"""The loops of dual coordinate descent: one pass over the rows, and what a check needs of them.

If column j is used by row i alone, with the value v, then w_j = a_i y_i v at every a, and its part
of 1/2 |w|^2 is 1/2 v^2 a_i^2: a diagonal term of row i. `folded` takes such columns out of w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import by_kind, compiled, prefetch
from separatrix.problem.products import sparse_score
from separatrix.problem.rows import DenseRows, SparseRows, add, dot, expect, fetch, square
from separatrix.solvers.running.drive import AHEAD, NEXT, shuffle

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


class Dual(NamedTuple):
    """The problem of a coordinate method, as its loops see it."""

    base: Any  # the rows, without their lone columns where those are folded
    signs: np.ndarray
    squares: np.ndarray  # |x_i|^2 + D_i
    diagonal: np.ndarray  # D, lone columns included; empty where it is 0
    upper: np.ndarray


@compiled
def visit_rows(dual, memory, quota, enough):  # type: ignore[no-untyped-def]
    """Sweep over the active rows until `quota` visits are made; return how many were.

    Ends earlier where a sweep finds the gap below the share `enough` of the objective.
    """
    visited = 0
    while True:
        visited += memory.counts[ACTIVE]
        sweep(dual, memory)
        if visited >= quota or memory.counts[ACTIVE] == 0:
            return visited
        if memory.numbers[SHORTFALL] <= enough * memory.numbers[VALUE]:
            return visited


@compiled
def sweep(dual, memory):  # type: ignore[no-untyped-def]
    """Visit the active rows in random order and give each its best alpha.

    Rows that have settled at a bound leave the active ones.
    """
    base, signs, squares, diagonal, upper = dual
    alpha, w, order, numbers = memory.alpha, memory.w, memory.order, memory.numbers
    active = memory.counts[ACTIVE]
    shuffle(order[:active], memory.dice)
    has_diagonal = diagonal.shape[0] > 0
    bias_weight = numbers[WEIGHT]
    bias = numbers[MULTIPLIER] + bias_weight * numbers[BALANCE]
    balance, gained, shortfall = numbers[BALANCE], 0.0, 0.0
    highest, lowest = -np.inf, np.inf
    place = 0
    while place < active:
        if place + AHEAD < active:
            later = order[place + AHEAD]
            prefetch(signs, later)
            prefetch(alpha, later)
            prefetch(upper, later)
            prefetch(squares, later)
            if has_diagonal:
                prefetch(diagonal, later)
            expect(base, later)
            fetch(base, order[place + NEXT])
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
    memory.counts[ACTIVE] = active
    numbers[BALANCE] = balance
    numbers[VALUE] += gained
    numbers[SHORTFALL] = shortfall
    numbers[HIGH] = highest if highest > 0.0 else np.inf
    numbers[LOW] = lowest if lowest < 0.0 else -np.inf


@compiled
def choose_active(dual, memory, scores, bias):  # type: ignore[no-untyped-def]
    """Put the free rows and those that want to leave their bound first; return their number."""
    signs, diagonal, upper = dual.signs, dual.diagonal, dual.upper
    alpha, order = memory.alpha, memory.order
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
def scatter(dual, alpha, w):  # type: ignore[no-untyped-def]
    """Set w = sum_i a_i y_i x_i."""
    w[:] = 0.0
    for i in range(alpha.shape[0]):
        if alpha[i] != 0.0:
            add(dual.base, i, dual.signs[i] * alpha[i], w)


# ---- columns that stand in one row only, folded into that row


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows without their lone columns, and where those were."""

    base: SparseRows
    kept: np.ndarray  # the columns that remain
    lone: np.ndarray  # the columns that were folded, with the row and the value of each
    rows: np.ndarray
    values: np.ndarray
    squares: np.ndarray  # of each row, the sum of v^2 over its lone columns

    def unfolded(self, w: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the w of all columns, where share_i = y_i a_i."""
        whole = np.empty(len(self.kept) + len(self.lone))
        whole[self.kept] = w
        whole[self.lone] = share[self.rows] * self.values
        return whole


def folded(X: Any, base: Any) -> Fold | None:
    """Fold the lone columns of X, whose rows are `base`; None where that would not pay."""
    if not sp.issparse(X) or X.nnz > 10 * X.shape[1]:
        return None
    is_lone = used_once(base.indices, X.shape[1]) == 1
    lone = np.flatnonzero(is_lone)
    if len(lone) <= X.shape[1] // 2:
        return None
    kept = np.flatnonzero(~is_lone)
    # A kept column's new number, a lone column's place among the lone ones.
    place = np.empty(X.shape[1], dtype=X.indices.dtype)
    place[kept], place[lone] = np.arange(len(kept)), np.arange(len(lone))
    count = X.nnz - len(lone)
    values, indices = np.empty(count, dtype=X.dtype), np.empty(count, dtype=base.indices.dtype)
    starts = np.zeros(X.shape[0] + 1, dtype=base.starts.dtype)
    rows, alone = np.empty(len(lone), dtype=np.int64), np.empty(len(lone))
    squares = np.zeros(X.shape[0])
    given = (base.values, base.indices, base.starts)
    split(*given, is_lone, place, values, indices, starts, rows, alone, squares)
    for array in (values, indices, starts):
        array.flags.writeable = False
    return Fold(SparseRows(values, indices, starts), kept, lone, rows, alone, squares)


@compiled
def used_once(indices, d):  # type: ignore[no-untyped-def]
    """Count the uses of every column: 0, 1, or 2 for more."""
    uses = np.zeros(d, dtype=np.uint8)
    for k in range(indices.shape[0]):
        if uses[indices[k]] < 2:
            uses[indices[k]] += 1
    return uses


@compiled
def split(  # type: ignore[no-untyped-def]
    values, indices, starts, is_lone, place, kept, kept_indices, kept_starts, rows, alone, squares
):
    """Send every entry to the kept ones or to the lone ones."""
    count = 0
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            j = indices[k]
            if is_lone[j]:
                value = np.float64(values[k])
                rows[place[j]], alone[place[j]] = i, value
                squares[i] += value * value
            else:
                kept[count], kept_indices[count] = values[k], place[j]
                count += 1
        kept_starts[i + 1] = count
