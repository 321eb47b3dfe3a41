"""Points and values for a dual method: the best bias, the best of a segment, both objectives.

min over b   sum_i c_i loss(y_i (s_i + b))             s_i = w.x_i given
min over t   1/2 |w_0 + t (w_1 - w_0)|^2 + sum_i c_i loss(m_i + t (n_i - m_i)),   0 <= t <= 1
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.losses import HINGE, slope, value

__all__ = ["best_bias", "best_share", "dual_value", "inner", "total_loss"]

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
