"""What each row adds to the smooth machines, from margins alone: loops without a pass over X.

A share is y_i alpha_i: its sign tells the class, its size is alpha.
"""

from __future__ import annotations

import math

from separatrix._compiled import compiled
from separatrix.problem.losses import LOGISTIC

__all__ = ["derivatives", "gain_of", "pull_of_all", "scale_shares", "shares_ahead", "write_alpha"]


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
