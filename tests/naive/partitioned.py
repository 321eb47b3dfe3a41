"""The smoothed losses and their sums, slow and obvious."""

import numpy as np


def smoothed(loss, m, width, q):
    """Return the value of a loss and its p: alpha / c."""
    if loss == "logistic":
        return np.log1p(np.exp(-m)), 1.0 / (1.0 + np.exp(m))
    z = 1.0 - m
    if loss == "squared_hinge":
        return max(0.0, z) ** 2, 2.0 * max(0.0, z)
    # The best p of many.
    ps = np.linspace(0.0, 1.0, 100_001)
    values = ps * z - width * (ps - q) ** 2
    return values.max(), ps[values.argmax()]


def gain(loss, alpha, cost):
    """Return - c loss*(-alpha / c)."""
    p = alpha / cost
    if loss == "hinge":
        return alpha
    if loss == "squared_hinge":
        return alpha - alpha * p / 4.0
    return -cost * (p * np.log(p) + (1.0 - p) * np.log(1.0 - p))
