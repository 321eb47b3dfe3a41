"""Kozinec's algorithm, slowly.

Walk towards the point of conv{z_1..z_n} nearest to the origin: w is always a convex combination
of signed rows, and a row that violates pulls w to the nearest point of the segment [w, z].

Plain:    z violates when w.z <= 0; without violators w separates.
Epsilon:  z violates when w.z <= max(0, |w| (|w| - epsilon)); without violators the margin of w,
          min w.z / |w|, is within epsilon of the best one, which is at most |w|.
"""

import math
from dataclasses import dataclass

import numpy as np

from tests.naive.rows import dot, least_margin_row


@dataclass
class KozinecRun:
    w: np.ndarray
    alpha: np.ndarray  # w = sum alpha_i z_i, alpha >= 0, sum alpha = 1
    updates: int
    outcome: str  # "separated", "epsilon", "origin" or "budget"
    lower: float  # min w.z / |w|, NaN when w = 0
    upper: float  # |w|
    history: list  # the weights after each update; the start is not among them
    used: list  # the row of each update


def norm(w):
    return math.sqrt(dot(w, w))


def violates(z, w, epsilon):
    level = 0.0 if epsilon is None else max(0.0, norm(w) * (norm(w) - epsilon))
    return not dot(w, z) > level  # a NaN margin violates


def next_violator(Z, w, epsilon, order, first):
    """The row to step to, or None; cyclic order looks at each row once, beginning at first."""
    n = len(Z)
    if order == "worst":
        candidates = [least_margin_row(Z, w)]
    elif order == "cyclic":
        candidates = [(first + k) % n for k in range(n)]
    else:
        raise ValueError(f"order must be 'cyclic' or 'worst'. Got {order!r} instead.")
    for j in candidates:
        if violates(Z[j], w, epsilon):
            return j
    return None


def nearest_on_segment(w, z):
    """kappa in [0, 1] that minimises |(1 - kappa) w + kappa z|."""
    between = w - z
    length_squared = dot(between, between)
    if length_squared == 0.0:
        return 0.0
    return min(1.0, max(0.0, dot(w, between) / length_squared))


@np.errstate(over="ignore", invalid="ignore")
def kozinec(Z, epsilon=None, order="cyclic", max_updates=1000):
    n = len(Z)
    w = np.array(Z[0], dtype=float)
    alpha = np.zeros(n)
    alpha[0] = 1.0
    lengths = np.array([norm(z) for z in Z])
    history, used = [], []
    first = 0

    while True:
        j = next_violator(Z, w, epsilon, order, first)
        if j is None:
            outcome = "separated" if epsilon is None else "epsilon"
            break
        if len(used) == max_updates:
            outcome = "budget"
            break
        kappa = nearest_on_segment(w, Z[j])
        w = (1.0 - kappa) * w + kappa * Z[j]
        alpha = (1.0 - kappa) * alpha
        alpha[j] += kappa
        history.append(w.copy())
        used.append(j)
        first = j + 1
        # w is nothing but the rounding of the rows it is made of
        if norm(w) <= 1e-13 * (alpha @ lengths):
            outcome = "origin"
            break

    upper = norm(w)
    least = dot(w, Z[least_margin_row(Z, w)])
    lower = least / upper if upper > 0.0 else math.nan
    return KozinecRun(w, alpha, len(used), outcome, lower, upper, history, used)
