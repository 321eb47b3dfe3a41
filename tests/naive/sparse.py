"""Sparse weights, slowly: proximal gradient steps with momentum, and the exact conditions.

    min over w, b   l |w|_1 + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))

At the optimum sum_i y_i a_i = 0 and, with u = sum_i a_i y_i x_i and a_i = -c_i loss'(m_i), weight j
is 0 where |u_j| <= l, else (u_j - l sign u_j) / r; without r, u_j = l sign w_j where w_j is not 0.
"""

import numpy as np


def losses(loss, margins):
    if loss == "logistic":
        return np.logaddexp(0.0, -margins)
    return np.maximum(0.0, 1.0 - margins) ** 2


def pulls(loss, margins):
    """Return minus the slope of the loss."""
    if loss == "logistic":
        return np.exp(-np.logaddexp(0.0, margins))
    return 2.0 * np.maximum(0.0, 1.0 - margins)


def objective(X, y, costs, loss, l1, ridge, w, b, groups=None):
    value = costs @ losses(loss, y * (X @ w + b))
    return value + l1 * norm(w, groups) + 0.5 * ridge * w @ w


def norm(w, groups=None):
    """Return |w|_1, or the sum over groups of sqrt(columns) |w_g|."""
    if groups is None:
        return abs(w).sum()
    each = [w[groups == g] for g in np.unique(groups)]
    return sum(np.sqrt(len(part)) * np.linalg.norm(part) for part in each)


def shrunk(moved, by, groups=None):
    """Return the minimum of 1/2 |w - moved|^2 + by norm(w)."""
    if groups is None:
        return np.sign(moved) * np.maximum(abs(moved) - by, 0.0)
    found = np.zeros_like(moved)
    for g in np.unique(groups):
        part = moved[groups == g]
        length, bound = np.linalg.norm(part), by * np.sqrt(len(part))
        if length > bound:
            found[groups == g] = (1.0 - bound / length) * part
    return found


def proximal_gradient(
    X, y, costs, loss, l1, ridge, intercept=True, most=200_000, tol=1e-12, groups=None
):
    """Return w and b; steps as long as the curvature allows, momentum dropped where it hurts."""
    n, d = X.shape
    centre = costs @ X / costs.sum() if intercept else np.zeros(d)  # b moves with it
    V = np.column_stack([X - centre, np.ones(n) * intercept])
    bend = 0.25 if loss == "logistic" else 2.0
    steepest = bend * np.linalg.eigvalsh((V * costs[:, None]).T @ V)[-1] + 1e-300
    at, ahead, t = np.zeros(d + 1), np.zeros(d + 1), 1.0
    for _ in range(most):
        slopes = -V.T @ (costs * y * pulls(loss, y * (V @ ahead)))
        moved = ahead - slopes / steepest
        w = shrunk(moved[:d], l1 / steepest, groups)
        new = np.append(w / (1.0 + ridge / steepest), moved[d])
        step = new - at
        if (ahead - new) @ step > 0.0:
            t = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        at, ahead, t = new, new + (t - 1.0) / following * step, following
        if abs(ahead - new).max() <= tol * (1.0 + abs(new).max()) and abs(step).max() <= tol:
            break
    return at[:d], float((at[d] - centre @ at[:d]) * intercept)


def violation(X, y, costs, loss, l1, ridge, w, b, intercept=True, groups=None):
    """Return how far (w, b) is from the conditions of the optimum, as a share of l."""
    a = costs * pulls(loss, y * (X @ w + b))
    u = (y * a) @ X - ridge * w
    if groups is None:
        off = np.where(w != 0.0, abs(u - l1 * np.sign(w)), np.maximum(abs(u) - l1, 0.0))
    else:
        off = np.zeros(len(w))
        for g in np.unique(groups):
            here = groups == g
            bound, length = l1 * np.sqrt(here.sum()), np.linalg.norm(w[here])
            at = u[here] - (bound / length * w[here] if length else 0.0)
            off[here] = np.linalg.norm(at) if length else max(0.0, np.linalg.norm(at) - bound)
    balance = abs((y * a).sum()) / a.sum() if intercept and a.sum() > 0.0 else 0.0
    return max(float(off.max(initial=0.0)) / l1, balance)
