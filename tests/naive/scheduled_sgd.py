"""Gradient steps with a step size, slowly: w - eta (slope y x + alpha w), one row at a time."""

import math

from tests.naive.sgd import slope as plain_slope


def slope(loss, m):
    if loss == "squared":
        return m - 1.0
    if loss == "modified_huber":
        return -4.0 if m < -1.0 else (-2.0 * (1.0 - m) if m < 1.0 else 0.0)
    return plain_slope(loss, m)


def rate(schedule, eta0, power, alpha, loss, t):
    if schedule == "constant":
        return eta0
    if schedule == "invscaling":
        return eta0 / t**power
    typical = (1.0 / alpha**0.5) ** 0.5
    first = typical / max(1.0, -slope(loss, -typical))
    return 1.0 / (alpha * (1.0 / (first * alpha) + t - 1))


def steps(X, signs, loss, C, schedule, eta0=0.01, power=0.5, passes=1, intercept=True, first=None):
    """Return the weights, bias first, after each visit; and their mean, step t counting t times."""
    w = [0.0] * (len(X[0]) + 1) if first is None else list(first)
    alpha = 0.0 if math.isinf(C) else 1.0 / (C * len(X))
    seen, t = [], 0
    for _ in range(passes):
        for x, sign in zip(X, signs, strict=True):
            t += 1
            eta = rate(schedule, eta0, power, alpha, loss, t)
            m = sign * (w[0] * intercept + sum(a * b for a, b in zip(w[1:], x, strict=True)))
            g = slope(loss, m) * sign
            rest = [a - eta * (g * b + alpha * a) for a, b in zip(w[1:], x, strict=True)]
            w = [w[0] - eta * g * intercept, *rest]
            seen.append(w)
    total = sum(range(1, t + 1))
    mean = [sum(k * w[j] for k, w in enumerate(seen, 1)) / total for j in range(len(w))]
    return seen, mean
