"""Losses of a margin m, as integer codes.

| code          | loss(m)            | slope          | conjugate: sup_m s m - loss(m)      |
|---------------|--------------------|----------------|-------------------------------------|
| HINGE         | max(0, 1 - m)      | -1 where m < 1 | s on [-1, 0]                        |
| SQUARED_HINGE | max(0, 1 - m)^2    | -2 max(0, 1-m) | s + s^2/4 for s <= 0                |
| LOGISTIC      | log(1 + exp(-m))   | -1/(1 + e^m)   | p log p + (1-p) log(1-p), p = -s    |
| PERCEPTRON    | max(0, -m)         | -1 where m < 0 | 0 on [-1, 0]                        |
| SQUARED       | 1/2 (1 - m)^2      | m - 1          | s + s^2/2                           |

At a kink the slope is the one of the flat side. Losses are codes, not functions passed as
arguments: a loop over codes is compiled once and found again on disk.
"""

from __future__ import annotations

import math

from separatrix._compiled import compiled

HINGE, SQUARED_HINGE, LOGISTIC, PERCEPTRON, SQUARED = range(5)

CODES = {
    "hinge": HINGE,
    "squared_hinge": SQUARED_HINGE,
    "logistic": LOGISTIC,
    "perceptron": PERCEPTRON,
    "squared": SQUARED,
}
NAMES = {code: name for name, code in CODES.items()}


@compiled
def value(code, m):  # type: ignore[no-untyped-def]
    """Return loss(m).

    >>> float(value(HINGE, 0.25)), float(value(SQUARED_HINGE, -1.0)), float(value(PERCEPTRON, -2.0))
    (0.75, 4.0, 2.0)
    """
    if code == HINGE:
        return max(0.0, 1.0 - m)
    if code == SQUARED_HINGE:
        return max(0.0, 1.0 - m) ** 2
    if code == LOGISTIC:
        # exp never overflows: its argument is at most 0.
        return math.log1p(math.exp(-abs(m))) + max(0.0, -m)
    if code == PERCEPTRON:
        return max(0.0, -m)
    return 0.5 * (1.0 - m) ** 2


@compiled
def slope(code, m):  # type: ignore[no-untyped-def]
    """Return the derivative of the loss.

    >>> float(slope(HINGE, 0.0)), float(slope(HINGE, 1.0)), float(slope(LOGISTIC, 0.0))
    (-1.0, 0.0, -0.5)
    """
    if code == HINGE:
        return -1.0 if m < 1.0 else 0.0
    if code == SQUARED_HINGE:
        return -2.0 * max(0.0, 1.0 - m)
    if code == LOGISTIC:
        small = math.exp(-abs(m))
        return -small / (1.0 + small) if m > 0.0 else -1.0 / (1.0 + small)
    if code == PERCEPTRON:
        return -1.0 if m < 0.0 else 0.0
    return m - 1.0
