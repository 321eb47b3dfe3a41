"""``sx.losses``: what a row costs, as a function of its margin m = y (w.x + b).

Each takes numbers or arrays. `slope` is the derivative, with which a gradient step moves: the step
of lecture 004, (7) to (10), is ``w - rate * slope("perceptron", m) * y * x``.

See Also
--------
SGD : takes steps along these slopes.
plot.losses : draws them.

Examples
--------
>>> import separatrix as sx
>>> sx.losses.hinge([2.0, 1.0, 0.0, -1.0]).tolist()
[0.0, 0.0, 1.0, 2.0]
>>> sx.losses.slope("perceptron", [2.0, -0.5]).tolist()
[0.0, -1.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["hinge", "logistic", "perceptron", "slope", "squared", "squared_hinge", "zero_one"]

Numbers = NDArray[np.float64]


def _numbers(m: Any) -> Numbers:
    return np.asarray(m, dtype=np.float64)


def zero_one(m: Any) -> Numbers:
    """Return 1 where a row is not strictly on its side (m <= 0), and 0 elsewhere.

    Lectures 000 and 002 count it; its slope is 0 wherever it has one.

    >>> zero_one([1.0, 0.0, -1.0]).tolist()
    [0.0, 1.0, 1.0]
    """
    m = _numbers(m)
    return np.where(np.isnan(m), np.nan, np.where(m > 0.0, 0.0, 1.0))


def perceptron(m: Any) -> Numbers:
    """Return max(0, -m): lecture 004, (4), and lecture 002, (27).

    >>> perceptron([1.0, 0.0, -2.0]).tolist()
    [0.0, 0.0, 2.0]
    """
    return np.maximum(0.0, -_numbers(m)) + 0.0  # and not -0.0, which some processors return


def hinge(m: Any) -> Numbers:
    """Return max(0, 1 - m): the slack of lecture 004, (16).

    >>> hinge([2.0, 0.5, -1.0]).tolist()
    [0.0, 0.5, 2.0]
    """
    return np.maximum(0.0, 1.0 - _numbers(m))


def squared_hinge(m: Any) -> Numbers:
    """Return max(0, 1 - m)^2.

    >>> squared_hinge([2.0, 0.5, -1.0]).tolist()
    [0.0, 0.25, 4.0]
    """
    return hinge(m) ** 2


def logistic(m: Any) -> Numbers:
    """Return log(1 + exp(-m)).

    >>> logistic([0.0, 1000.0]).round(6).tolist()
    [0.693147, 0.0]
    """
    with np.errstate(invalid="ignore"):  # NaN is NaN, and nothing to warn of
        return np.logaddexp(0.0, -_numbers(m))


def squared(m: Any) -> Numbers:
    """Return 1/2 (1 - m)^2: least squares and the delta rule; rows far on their side cost too.

    >>> squared([1.0, 3.0]).tolist()
    [0.0, 2.0]
    """
    return 0.5 * (1.0 - _numbers(m)) ** 2


def slope(loss: str, m: Any) -> Numbers:
    """Return the derivative of a loss by its name; at a kink that of the flat side.

    The lectures' perceptron takes -1 at m = 0, where it counts a row as wrong.

    Parameters
    ----------
    loss : {"zero_one", "perceptron", "hinge", "squared_hinge", "logistic", "squared"}
    m : array-like
        Margins.

    >>> slope("hinge", [0.0, 1.0]).tolist()
    [-1.0, 0.0]
    """
    m = _numbers(m)
    if loss == "zero_one":
        return np.where(np.isnan(m), np.nan, 0.0)
    if loss == "perceptron":
        return np.where(m < 0.0, -1.0, 0.0)
    if loss == "hinge":
        return np.where(m < 1.0, -1.0, 0.0)
    if loss == "squared_hinge":
        return -2.0 * hinge(m)
    if loss == "logistic":
        return -np.exp(-np.logaddexp(0.0, m))
    if loss == "squared":
        return m - 1.0
    known = ", ".join(repr(name) for name in __all__ if name != "slope")
    raise ValueError(f"loss must be one of {known}. Got {loss!r} instead.")
