"""Acceleration of the direct model: the best point along its own last steps.

    min over t   1/2 |W + sum_j t_j V_j|^2 + s/2 |r + sum_j t_j R_j|^2 + b_0.(sum_j t_j R_j)
                 - gain(m + sum_j t_j P_j)

P_j are the displacement of the masses in the pass just made and in the last whole steps, V_j and
R_j what they did to W and to the balance r. The answer is a direction of masses, feasible at first
where rows are held back from leaving their simplex. A row goes along until one of its masses is
used up; it stays there, and the search goes on without it as long as the objective falls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import compiled
from separatrix.problem.many_classes import DirectProblem
from separatrix.problem.rows import base_rows
from separatrix.solvers.linear.coordinate_pass import squares_of
from separatrix.solvers.linear.subspace import HISTORY
from separatrix.solvers.many_classes import class_claims as claims
from separatrix.solvers.many_classes.class_pass import (
    ACTIVE,
    BELOW,
    LAST_BALANCE,
    NUMBERS,
    class_scores,
    push_classes,
)
from separatrix.solvers.running import drive

__all__ = ["empty_memory", "first_weight", "hold_back", "laid_out", "search", "span_of"]

# An update walks over at least so many entries for each entry of W and of the masses: it makes
# several sweeps over few active rows, since accelerating costs the same for few rows as for all.
_WORK = 2.0


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
def hold_back(base, masses, x, v):  # type: ignore[no-untyped-def]
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
def search(setup, codes, memory, bias, weight, x, v, meets, order):  # type: ignore[no-untyped-def]
    """Go along to the first minimum with t <= 1, changing masses, W and balance.

    `order` holds the rows that meet an end before t = 1, the first to meet it first. W(t) is kept
    as W + t v, so that a row that stops changes both at its own entries only. Returns the decrease.
    """
    base, squares, listed = setup.base, setup.squares, memory.listed
    masses, W, balance = memory.masses, memory.W, memory.balance
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


# ---- the arrays of a run of dual block descent, and what they hold at its start


class Setup(NamedTuple):
    """What does not change during a run."""

    base: Any
    squares: np.ndarray
    quota: int  # entries to walk over in one update, at least


class Memory(NamedTuple):
    """What a run changes, all of it arrays."""

    masses: np.ndarray  # n x K
    W: np.ndarray  # d x K
    balance: np.ndarray  # r
    multipliers: np.ndarray  # b_0
    order: np.ndarray  # the rows; the first counts[ACTIVE] of them are visited
    listed: np.ndarray  # the classes of each row; the first sizes[i] of them are looked at
    sizes: np.ndarray
    masses_before: np.ndarray
    W_before: np.ndarray
    balance_before: np.ndarray
    past_masses: np.ndarray
    past_W: np.ndarray
    past_r: np.ndarray
    past_gain: np.ndarray
    products: np.ndarray  # of the past_W with each other
    scores: np.ndarray  # of the best primal point, biases included
    counts: np.ndarray
    numbers: np.ndarray
    dice: np.ndarray


def laid_out(problem: DirectProblem) -> Setup:
    """Return what every pass reads: the rows, their squares, and how much work a pass may do."""
    n, d = problem.X.shape
    base = base_rows(problem.X)
    stored = problem.X.nnz if sp.issparse(problem.X) else problem.X.size
    quota = int(_WORK * (n + d) * problem.n_classes / max(1.0, 2.0 * stored / n))
    return Setup(base, squares_of(base, n), quota)


def empty_memory(problem: DirectProblem, seed: int) -> Memory:
    """Return the state before the first pass: every row's dual variable at its own class."""
    (n, d), K = problem.X.shape, problem.n_classes
    memory = Memory(
        masses=claims.all_at_home(problem),
        W=np.zeros((d, K)),
        balance=np.zeros(K),
        multipliers=np.zeros(K),
        order=np.flatnonzero(problem.costs > 0.0).astype(np.uint32),
        listed=np.tile(np.arange(K, dtype=np.uint32), (n, 1)),
        sizes=np.full(n, K, dtype=np.int64),
        masses_before=np.zeros((n, K)),
        W_before=np.zeros((d, K)),
        balance_before=np.zeros(K),
        past_masses=np.zeros((HISTORY + 1, n * K)),
        past_W=np.zeros((HISTORY + 1, d * K)),
        past_r=np.zeros((HISTORY + 1, K)),
        past_gain=np.zeros(HISTORY + 1),
        products=np.zeros((HISTORY + 1, HISTORY + 1)),
        scores=np.zeros((n, K)),
        counts=np.zeros(4, dtype=np.int64),
        numbers=np.zeros(NUMBERS),
        dice=drive.seeded_dice(seed),
    )
    memory.counts[ACTIVE] = len(memory.order)
    memory.numbers[[BELOW, LAST_BALANCE]] = np.inf
    return memory


def first_weight(problem: DirectProblem, squares: np.ndarray) -> float:
    """Return s: 1/p for a penalised bias, the mean |x_i|^2 for a free one, 0 for none."""
    if not problem.fit_intercept:
        return 0.0
    if problem.bias_penalty > 0.0:
        return 1.0 / problem.bias_penalty
    used = problem.costs > 0.0
    mean = float(squares[used].mean()) if used.any() else 0.0
    return mean if mean > 0.0 else 1.0
