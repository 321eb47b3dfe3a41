"""What a run of dual coordinate descent claims: its best primal point and its best dual.

    primal   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b)), at a (w, b) as good as can be
    dual     sum_i a_i - 1/2 D_i a_i^2 - 1/2 |u|^2 [- (y.a)^2 / (2p)],  u = sum_i a_i y_i x_i

Neither falls behind: a new claim replaces the last one only where it is better. All sums are made
by our own loops, since those of the library of linear algebra depend on its number of threads.

The bias comes from an augmented Lagrangian for y.a = p b. The dual objective is charged with

    M t + W t^2 / 2 - p M^2 / (2 k),     t = y.a,  k = 1 / (1 + p s),  M = k b_0,  W = k s

for the multiplier b_0 and the weight s of the penalty, and the bias is b = M + W t. With s infinite
(p > 0) k = 0, and this is t^2 / (2p). M and W are kept.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.losses import HINGE, slope, value
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.claims import MachineState
from separatrix.solvers.linear.coordinate_pass import (
    BALANCE,
    LAST_BALANCE,
    MULTIPLIER,
    SHORTFALL,
    VALUE,
    WEIGHT,
    scatter,
    scores_of,
)

# ---- points and values
#
#     min over b   sum_i c_i loss(y_i (s_i + b))             s_i = w.x_i given
#     min over t   1/2 |w_0 + t (w_1 - w_0)|^2 + sum_i c_i loss(m_i + t (n_i - m_i)),   0 <= t <= 1

_HALVINGS = 40


@compiled
def best_bias(scores, signs, costs, loss):  # type: ignore[no-untyped-def]
    """Return a b of least loss; for the hinge the first one, always y_i - s_i of some row.

    >>> scores, signs = np.array([3.0, 1.0, 0.0]), np.array([1.0, -1.0, -1.0])
    >>> float(best_bias(scores, signs, np.ones(3), HINGE))
    -2.0
    """
    # Every row's slope changes at y_i - s_i, for the hinge by c_i; before the first of these
    # places the rows of the positive class, and they alone, pull b up.
    places = signs - scores
    if loss == HINGE:
        target = 0.0
        for i in range(signs.shape[0]):
            if signs[i] > 0.0:
                target += costs[i]
        return _weighted_select(places, costs.copy(), target)
    low, high = np.inf, -np.inf
    for i in range(places.shape[0]):
        if costs[i] > 0.0:
            low, high = min(low, places[i]), max(high, places[i])
    if not low < high:
        return low if low < np.inf else 0.0
    b = 0.5 * (low + high)
    # Newton's steps, with halving where one leaves the bracket: the slope is piecewise linear.
    for _ in range(_HALVINGS):
        total, curvature = 0.0, 0.0
        for i in range(places.shape[0]):
            short = signs[i] * (places[i] - b)
            if short > 0.0:
                total -= costs[i] * (signs[i] * short)
                curvature += costs[i]
        if total == 0.0:
            break
        if total > 0.0:
            high = b
        else:
            low = b
        step = total / curvature if curvature > 0.0 else 0.0
        following = b - step
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == b or abs(step) <= 1e-16 * abs(b):
            break
        b = following
    return b


@compiled
def _weighted_select(places, weights, target):  # type: ignore[no-untyped-def]
    """Return the least place at which the weights so far reach `target`; both arrays are reordered.

    Hoare's selection, with the middle place as pivot.
    """
    low, high = 0, places.shape[0] - 1
    before = 0.0
    while low < high:
        pivot = places[(low + high) // 2]
        left, right = low, high
        total = before
        while left <= right:
            while places[left] < pivot:
                total += weights[left]
                left += 1
            while places[right] > pivot:
                right -= 1
            if left <= right:
                places[left], places[right] = places[right], places[left]
                weights[left], weights[right] = weights[right], weights[left]
                total += weights[left]
                left += 1
                right -= 1
        # places[low ... left - 1] <= pivot <= places[right + 1 ... high]; total sums the former.
        if right < left - 1:
            below = total - weights[left - 1]
        else:
            below = total
        if target <= below:
            high = right
        elif target <= total and right < left - 1:
            return pivot
        else:
            low = left
            before = total
    return places[min(low, places.shape[0] - 1)]


@compiled
def best_share(margins, others, costs, loss, square, product, other_square):  # type: ignore[no-untyped-def]
    """Return the t of the segment; the squares are |w_0|^2, w_0.w_1 and |w_1|^2."""
    low, high = 0.0, 1.0
    cross = product - square
    across = square - 2.0 * product + other_square
    t = 1.0
    for _ in range(_HALVINGS):
        total = cross + t * across
        for i in range(margins.shape[0]):
            change = others[i] - margins[i]
            if costs[i] > 0.0:
                total += costs[i] * (change * slope(loss, margins[i] + t * change))
        if total > 0.0:
            high = t
        else:
            low = t
        if high - low < 1e-3 or total == 0.0:
            break
        t = 0.5 * (low + high)
    return t


@compiled
def total_loss(margins, costs, loss):  # type: ignore[no-untyped-def]
    """Return sum_i c_i loss(m_i)."""
    total = 0.0
    for i in range(margins.shape[0]):
        if costs[i] > 0.0:
            total += costs[i] * value(loss, margins[i])
    return total


@compiled
def dual_value(alpha, diagonal, u):  # type: ignore[no-untyped-def]
    """Return sum_i a_i - 1/2 D_i a_i^2, less 1/2 |u|^2."""
    total = 0.0
    for i in range(alpha.shape[0]):
        total += alpha[i]
        if diagonal.shape[0] > 0:
            total -= 0.5 * alpha[i] * (alpha[i] * diagonal[i])
    return total - 0.5 * inner(u, u, 1.0)


@compiled
def inner(first, second, weight):  # type: ignore[no-untyped-def]
    """Return first.second, with the product of the first entries weighed.

    Not by the library of linear algebra, whose sums depend on the number of its threads.
    """
    total = weight * first[0] * second[0] if first.shape[0] > 0 else 0.0
    for j in range(1, first.shape[0]):
        total += first[j] * second[j]
    return total


# ---- the best primal point and the best dual

# What y.a weighs at first, in squares of a row. With all of one, every step is half as long and
# texts took up to three times the updates; with less than this the balance is found too late.
_BIAS_SHARE = 0.03
# Up to this p s the exact weight 1/p serves a short run, of so many checks, better.
_ALIKE, SHORT_RUN = 0.25, 2
_STIFF = 10.0  # from this p s on, s may as well be infinite


def take_primal(state: MachineState, w: np.ndarray, scores: np.ndarray) -> bool:
    """Move the best primal point to the best of the segment to (w, its best bias).

    Returns whether it is now that end, whose margins were computed afresh.
    """
    problem, memory = state.problem, state.memory.memory
    if problem.has_free_bias:
        b = float(best_bias(scores, problem.signs, problem.costs, problem.loss))
    else:
        numbers = memory.numbers
        b = float(numbers[MULTIPLIER] + numbers[WEIGHT] * numbers[BALANCE])
    point = np.concatenate([[b], w])
    margins = problem.signs * (scores + b)
    candidates = [(point, margins)]
    if np.isfinite(state.primal):
        penalty = problem.bias_penalty if problem.rows.fit_intercept else 0.0
        t = best_share(
            memory.margins,
            margins,
            problem.costs,
            problem.loss,
            inner(state.w, state.w, penalty),
            inner(state.w, point, penalty),
            inner(point, point, penalty),
        )
        if t < 1.0:
            between = memory.margins + t * (margins - memory.margins)
            candidates.append((state.w + t * (point - state.w), between))
    best = memory.margins
    for candidate, its_margins in candidates:
        primal = _objective(problem, candidate, its_margins)
        if primal < state.primal:
            state.primal, state.w, best = primal, candidate, its_margins
    is_fresh = best is margins
    memory.margins[:] = best
    return is_fresh


def measure_primal(state: MachineState) -> None:
    """Compute the objective at the best point afresh: along segments rounding adds up."""
    problem, memory = state.problem, state.memory.memory
    scores = scores_of(state.memory.setup.given, state.w[1:], len(memory.alpha))
    memory.margins[:] = problem.signs * (scores + state.w[0])
    state.primal = _objective(problem, state.w, memory.margins)


def _objective(problem: MachineProblem, w: np.ndarray, margins: np.ndarray) -> float:
    penalty = problem.bias_penalty if problem.rows.fit_intercept else 0.0
    return float(0.5 * inner(w, w, penalty) + total_loss(margins, problem.costs, problem.loss))


def take_dual(state: MachineState) -> None:
    """Repair the balance on a copy, and keep it if its dual objective is the best so far."""
    problem, setup, memory = state.problem, state.memory.setup, state.memory.memory
    alpha = memory.alpha.copy()
    if problem.has_free_bias:
        rebalance(alpha, problem.signs, setup.dual.upper)
    u = np.empty_like(memory.w)
    scatter(setup.dual, alpha, u)
    dual = float(dual_value(alpha, setup.dual.diagonal, u))
    if problem.rows.fit_intercept and not problem.has_free_bias:
        balance = inner(problem.signs, alpha, 1.0)
        dual -= float(0.5 * balance * balance / problem.bias_penalty)
    if dual > state.dual:
        state.dual, state.alpha = dual, alpha


@compiled
def rebalance(alpha, signs, upper):  # type: ignore[no-untyped-def]
    """Make y.a = 0 up to rounding: move the free rows alike, then shrink the heavier class."""
    for _ in range(10):
        excess, total, free = 0.0, 0.0, 0
        for i in range(alpha.shape[0]):
            excess += signs[i] * alpha[i]
            total += alpha[i]
            free += alpha[i] > 0.0 and alpha[i] < upper[i]
        if abs(excess) <= 1e-15 * total:
            return
        if free == 0:
            break
        step = excess / free
        for i in range(alpha.shape[0]):
            if alpha[i] > 0.0 and alpha[i] < upper[i]:
                alpha[i] = min(max(alpha[i] - signs[i] * step, 0.0), upper[i])
    heavier = 1.0 if excess > 0.0 else -1.0
    total = 0.0
    for i in range(alpha.shape[0]):
        if signs[i] == heavier:
            total += alpha[i]
    for i in range(alpha.shape[0]):
        if signs[i] == heavier:
            alpha[i] *= max(0.0, (total - abs(excess)) / total)


# ---- the bias of dual coordinate descent: an augmented Lagrangian for y.a = p b


def soft_weight(problem: MachineProblem, squares: np.ndarray) -> float:
    """Return s to begin with: a share of the mean |x_i|^2."""
    used = problem.costs > 0.0
    mean = float(squares[used].mean()) if used.any() else 0.0
    return _BIAS_SHARE * mean if 0.0 < mean < np.inf else 1.0


def first_weight(problem: MachineProblem, s: float) -> float:
    """Return what y.a weighs at first: s / (1 + p s), or 1 / p where that is not much more."""
    if not problem.rows.fit_intercept:
        return 0.0
    p = problem.bias_penalty
    return s / (1.0 + p * s) if p * s < _ALIKE else 1.0 / p


def share_of_multiplier(problem: MachineProblem, numbers: np.ndarray) -> float:
    """Return k = 1 / (1 + p s), as what y.a weighs tells it; 0 where s is infinite."""
    if not problem.rows.fit_intercept:
        return 0.0
    share = 1.0 - problem.bias_penalty * float(numbers[WEIGHT])
    return share if share > 0.5 / (1.0 + _STIFF) else 0.0  # less is the rounding of p times 1 / p


def move_multiplier(state: MachineState) -> None:
    """Let b_0 take what the penalty has found, between checks; the value is that of the new b_0."""
    problem, numbers = state.problem, state.memory.memory.numbers
    if (share := share_of_multiplier(problem, numbers)) > 0.0:
        bias = numbers[MULTIPLIER] + numbers[WEIGHT] * numbers[BALANCE]
        numbers[VALUE] += charge(problem, numbers)
        numbers[MULTIPLIER] = share * bias
        numbers[VALUE] -= charge(problem, numbers)


def charge(problem: MachineProblem, numbers: np.ndarray) -> float:
    """Return what the multiplier and the penalty take off the dual objective."""
    half = 0.5 * float(numbers[WEIGHT] * numbers[BALANCE])
    charge = (float(numbers[MULTIPLIER]) + half) * float(numbers[BALANCE])
    if (share := share_of_multiplier(problem, numbers)) > 0.0:
        multiplier = float(numbers[MULTIPLIER])
        charge -= 0.5 * problem.bias_penalty * multiplier * multiplier / share
    return charge


def soften(state: MachineState) -> None:
    """Weigh y.a less, for longer steps from here on: this will not be a short run."""
    numbers, s = state.memory.memory.numbers, state.memory.setup.soft_weight
    if state.problem.bias_penalty * s >= 1.0:
        return
    bias = numbers[WEIGHT] * numbers[BALANCE]
    numbers[WEIGHT] = s / (1.0 + state.problem.bias_penalty * s)
    numbers[MULTIPLIER] = share_of_multiplier(state.problem, numbers) * bias


def renew_multiplier(state: MachineState, share: float) -> None:
    """Let b_0 take what the penalty has found; weigh y.a more where it alone is what is missing."""
    numbers, p = state.memory.memory.numbers, state.problem.bias_penalty
    bias = numbers[MULTIPLIER] + numbers[WEIGHT] * numbers[BALANCE]
    missing = abs(numbers[BALANCE] - p * bias)
    settled = numbers[SHORTFALL] < 0.1 * (state.primal - state.dual)
    if settled and missing > 0.25 * numbers[LAST_BALANCE]:
        s = 4.0 * numbers[WEIGHT] / share
        if np.isfinite(s):  # beyond the largest number it is weighed as it was
            numbers[WEIGHT] = s / (1.0 + p * s) if p * s < _STIFF else 1.0 / p
    numbers[MULTIPLIER] = share_of_multiplier(state.problem, numbers) * bias
    numbers[LAST_BALANCE] = missing
