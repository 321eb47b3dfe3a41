"""What each row adds to the smooth models, from margins alone: loops without a pass over X.

A share is y_i alpha_i: its sign tells the class, its size is alpha.

`best_step` finds the best step along a direction,

    min over t    first t + 1/2 second t^2 + sum_i c_i loss(m_i + t g_i)

m are the margins, g what a step of 1 adds to them; `first` and `second` come from the penalty. It
is Newton's method in one variable inside a bracket. For the squared hinge the slope is piecewise
linear in t, so that the steps end on the very minimum.
"""

from __future__ import annotations

import math

from separatrix._compiled import compiled
from separatrix.problem.losses import LOGISTIC

_ROUNDS = 200


@compiled
def pull_of_all(loss, margins, costs):  # type: ignore[no-untyped-def]
    """Return the sum of |c_i loss'(m_i)|."""
    total = 0.0
    for i in range(margins.shape[0]):
        m = margins[i]
        if loss == LOGISTIC:
            small = math.exp(-abs(m))
            total += costs[i] * (small if m > 0.0 else 1.0) / (1.0 + small)
        else:
            total += 2.0 * costs[i] * max(0.0, 1.0 - m)
    return total


@compiled
def derivatives(loss, margins, signs, costs, shares, curvatures):  # type: ignore[no-untyped-def]
    """Write y alpha and c loss'' of every row; return the loss and the sum of alpha by class."""
    total = 0.0
    plus = 0.0
    minus = 0.0
    for i in range(margins.shape[0]):
        m, cost = margins[i], costs[i]
        alpha = 0.0
        bend = 0.0
        if cost > 0.0:
            if loss == LOGISTIC:
                small = math.exp(-abs(m))
                part = small / (1.0 + small)
                total += cost * (math.log1p(small) + max(0.0, -m))
                alpha = cost * (part if m > 0.0 else 1.0 / (1.0 + small))
                bend = cost * part / (1.0 + small)
            elif m < 1.0:
                total += cost * (1.0 - m) * (1.0 - m)
                alpha = 2.0 * cost * (1.0 - m)
                bend = 2.0 * cost
        if signs[i] > 0.0:
            plus += alpha
        else:
            minus += alpha
        shares[i] = signs[i] * alpha
        curvatures[i] = bend
    return total, plus, minus


@compiled
def shares_ahead(loss, shares, curvatures, gains, signs, costs, ahead):  # type: ignore[no-untyped-def]
    """Write y (alpha - c loss'' gain); return its sum by class, and whether it is feasible."""
    plus = 0.0
    minus = 0.0
    for i in range(shares.shape[0]):
        alpha = abs(shares[i]) - curvatures[i] * gains[i]
        if alpha < 0.0 or (loss == LOGISTIC and alpha > costs[i]):
            return plus, minus, False
        ahead[i] = signs[i] * alpha
        if signs[i] > 0.0:
            plus += alpha
        else:
            minus += alpha
    return plus, minus, True


@compiled
def scale_shares(shares, scale_plus, scale_minus):  # type: ignore[no-untyped-def]
    """Scale each class."""
    for i in range(shares.shape[0]):
        shares[i] *= scale_plus if shares[i] > 0.0 else scale_minus


@compiled
def write_alpha(shares, scale_plus, scale_minus, alpha):  # type: ignore[no-untyped-def]
    """Write alpha, each class scaled."""
    for i in range(shares.shape[0]):
        alpha[i] = shares[i] * scale_plus if shares[i] > 0.0 else -shares[i] * scale_minus


@compiled
def gain_of(loss, shares, costs, scale_plus, scale_minus):  # type: ignore[no-untyped-def]
    """Return the sum of -c_i loss*(-alpha_i / c_i), alpha scaled by class."""
    total = 0.0
    for i in range(shares.shape[0]):
        alpha = shares[i] * scale_plus if shares[i] > 0.0 else -shares[i] * scale_minus
        if alpha > 0.0:
            p = alpha / costs[i]
            if loss != LOGISTIC:
                total += alpha * (1.0 - 0.25 * p)
            elif p < 1.0:
                total -= costs[i] * (p * math.log(p) + (1.0 - p) * math.log1p(-p))
    return total


# ---- the best step along a direction, from numbers that are known for every row: no pass over X


@compiled
def best_step(loss, margins, gains, costs, first, second, guess, enough):  # type: ignore[no-untyped-def]
    """Return the t where the slope is at most `enough`, and the slope there.

    >>> import numpy as np
    >>> m, g, c = np.array([0.0, 0.0]), np.array([1.0, -1.0]), np.array([3.0, 1.0])
    >>> t, slope = best_step(LOGISTIC, m, g, c, 0.0, 0.0, 1.0, 1e-12)
    >>> round(float(t), 9) == round(math.log(3.0), 9)
    True
    """
    low, high = -math.inf, math.inf
    t = guess
    best, least = 0.0, math.inf
    for _ in range(_ROUNDS):
        slope, bend = slope_at(loss, margins, gains, costs, t)
        slope += first + second * t
        bend += second
        if abs(slope) < least:
            best, least = t, abs(slope)
        if not abs(slope) > enough:
            break
        if slope < 0.0:
            low = t
        else:
            high = t
        following = t - slope / bend if bend > 0.0 else math.inf
        # Where the curvature is gone Newton leaps; from afar a few doublings come back sooner.
        reach = 8.0 * (1.0 + abs(t))
        following = min(max(following, t - reach), t + reach)
        if slope > 0.0 and bend <= 0.0:
            following = t - reach
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == t or not (low < following < high):
            break
        t = following
    return best, least


@compiled
def slope_at(loss, margins, gains, costs, t):  # type: ignore[no-untyped-def]
    """Return the first and the second derivative of the sum of losses at the step t."""
    slope = 0.0
    bend = 0.0
    if loss == LOGISTIC:
        for i in range(margins.shape[0]):
            cost = costs[i]
            if cost > 0.0 and gains[i] != 0.0:
                m = margins[i] + t * gains[i]
                small = math.exp(-abs(m))
                part = small / (1.0 + small)
                rate = part if m > 0.0 else 1.0 / (1.0 + small)
                pull = cost * gains[i]
                slope -= pull * rate
                bend += pull * gains[i] * part / (1.0 + small)
        return slope, bend
    for i in range(margins.shape[0]):
        short = 1.0 - (margins[i] + t * gains[i])
        if short > 0.0:
            pull = 2.0 * costs[i] * gains[i]
            slope -= pull * short
            bend += pull * gains[i]
    return slope, bend
