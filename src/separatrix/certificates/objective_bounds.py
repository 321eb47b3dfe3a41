"""The two objectives of a machine at given points, enclosed.

    primal(w, b)  =  1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))
    dual(a)       =  sum_i -c_i loss*(-a_i/c_i) - 1/2 |sum_i a_i y_i x_i|^2 (- ...)

From what one pass over the data tells (`data_pass`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.certificates.data_pass import Pass
from separatrix.certificates.enclosed_sums import blocks
from separatrix.certificates.enclosure import Enclosure, entropy, softplus, sum_of
from separatrix.certificates.two_bounds import costs_agree
from separatrix.checker import Refused

__all__ = [
    "NOTHING",
    "balance_of",
    "box_around",
    "dual_objective",
    "gain",
    "half_square",
    "is_feasible",
    "losses",
    "norm",
    "primal_objective",
    "start_of",
]

# No number at all bounds the objective from below.
NOTHING = Enclosure(np.float64(-math.inf), np.float64(-math.inf))
_MOST_ROWS = 2**36


def start_of(loss: str, costs: np.ndarray) -> float:
    """Return the margin that rows fall short of: 1 for hinges, 0 where the margin itself counts.

    Costs are all finite, or all infinite (a hard margin, which only hinges have).
    """
    hard = bool(np.isinf(costs).any())
    if not costs_agree(costs):
        raise Refused("costs must be all finite or all infinite, but for rows that cost nothing")
    if hard and loss == "logistic":
        raise Refused("infinite costs ask for a hinge: the logistic loss is never zero")
    return 0.0 if hard or loss == "logistic" else 1.0


def primal_objective(
    seen: Pass,
    costs: np.ndarray,
    loss: str,
    w: np.ndarray,
    bias: float,
    bias_penalty: float,
    ridge: float = 1.0,
) -> Enclosure:
    """Enclose the objective at (w, bias); of a hard margin, that of w over its least margin."""
    spent = norm(w, bias, bias_penalty, ridge)
    if not np.isinf(costs).any():
        return spent + losses(loss, seen.short, costs)
    margins = -seen.short[costs > 0.0]
    least = Enclosure(margins.low.min(), margins.high.min()).at_most(1.0)
    # Divided by its least margin, w has a margin of 1 on every row.
    high = (spent / least.square()).high if least.low > 0.0 else math.inf
    return Enclosure(spent.low, high)


def norm(w: np.ndarray, bias: Any, bias_penalty: float, ridge: float = 1.0) -> Enclosure:
    """Enclose 1/2 |w|^2 + 1/2 p b^2."""
    squares = Enclosure.exact(w).square().sum() if ridge else Enclosure.exact(0.0)
    if bias_penalty:
        squares = squares + (Enclosure.exact(bias).square() * bias_penalty).sum()
    return squares.halved()


def losses(loss: str, short: Enclosure, costs: np.ndarray) -> Enclosure:
    """Enclose the sum of all losses, at their costs."""
    return sum_of(lambda part, c: _loss(loss, part) * c, short, costs)


def _loss(loss: str, short: Enclosure) -> Enclosure:
    """Enclose the loss of every row from what it falls short of (`start_of`)."""
    if loss != "logistic":
        slack = short.at_least(0.0)
        return slack if loss == "hinge" else slack.square()
    return softplus(short)


def dual_objective(
    seen: Pass,
    costs: np.ndarray,
    loss: str,
    signs: np.ndarray,
    alpha: np.ndarray,
    bias_penalty: float | None,
    box: np.ndarray | None = None,
) -> Enclosure:
    """Enclose the dual objective at alpha; `NOTHING` if alpha is not feasible.

    `bias_penalty` is None where there is no bias, 0 where it is free. With a `box` there is no
    penalty on w: then every w with |w_j| <= box_j has an objective of at least the first sum of the
    dual minus u.w, by the definition of the conjugate.
    """
    if not is_feasible(loss, costs, alpha):
        return NOTHING
    value = gain(loss, costs, alpha)
    if bias_penalty is not None:
        balance = balance_of(signs, alpha)
        if bias_penalty == 0.0 and not (balance.low == balance.high == 0.0):
            return NOTHING
        if bias_penalty > 0.0:
            value = value - (balance.size() / bias_penalty * balance.size()).halved()
    return value - (half_square(seen.total) if box is None else (seen.total.size() * box).sum())


def half_square(values: Enclosure) -> Enclosure:
    """Enclose half the sum of squares."""
    return values.square().sum().halved()


def is_feasible(loss: str, costs: np.ndarray, alpha: np.ndarray) -> bool:
    """Whether every multiplier lies within its bounds."""
    upper = np.where(costs > 0.0, np.inf, 0.0) if loss == "squared_hinge" else costs
    return bool(np.isfinite(alpha).all() and (alpha >= 0.0).all() and (alpha <= upper).all())


def balance_of(signs: np.ndarray, alpha: np.ndarray) -> Enclosure:
    """Enclose sum_i y_i a_i; both bounds are zero if and only if it is exactly zero."""
    signed = Enclosure.exact(signs * alpha)
    if _cancels(signed.low):
        return Enclosure.exact(np.float64(0.0))
    return signed.sum()


def _cancels(values: np.ndarray) -> bool:
    """Whether the values sum to zero, exactly."""
    largest = float(abs(values).max(initial=0.0))
    if largest == 0.0:
        return True
    if not math.isfinite(largest):
        return False
    unit = math.ulp(largest)
    units = values / unit  # a power of two: exact, or so small that it is not whole
    whole = (units == np.rint(units)) & ((units != 0.0) == (values != 0.0))
    if len(values) <= _MOST_ROWS and whole.all():
        # Whole numbers below 2^53 in two halves: sums of 2^36 of either stay below 2^63.
        counts = units.astype(np.int64)
        high, low = counts >> 26, counts & (2**26 - 1)
        return (int(high.sum()) << 26) + int(low.sum()) == 0
    try:
        return math.fsum(values.tolist()) == 0.0  # rounded once: zero only if it is zero
    except OverflowError:
        return False


def gain(loss: str, costs: np.ndarray, alpha: np.ndarray) -> Enclosure:
    """Enclose the first sum of the dual."""
    used = alpha > 0.0
    if loss == "logistic":
        used &= alpha < costs  # at either end the entropy is zero
    terms = {"hinge": _gain_of_hinge, "squared_hinge": _gain_of_square, "logistic": _entropy}
    return sum_of(terms[loss], Enclosure.exact(alpha[used]), Enclosure.exact(costs[used]))


def _gain_of_hinge(a: Enclosure, _: Enclosure) -> Enclosure:
    return a


def _gain_of_square(a: Enclosure, c: Enclosure) -> Enclosure:
    return a - a * (a / c) * 0.25  # never 4 c, which may overflow


def _entropy(a: Enclosure, c: Enclosure) -> Enclosure:
    # The smaller of p and 1 - p, which has all its digits.
    return c * entropy((c - a).at_most(a) / c)


def box_around(X: Any, w: np.ndarray, alpha: np.ndarray, reach: float) -> np.ndarray:
    """Return sizes of coefficients far beyond w: `reach` times |w_j| and one over the column.

    They are part of what is claimed, not of its proof: any sizes will do.
    """
    sizes = np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for rows, block in blocks(X, 1 << 20):
            sizes += abs(block).T @ alpha[rows]
        typical = np.where(sizes > 0.0, float(alpha.sum()) / sizes, 0.0)
    return np.asarray(reach * (abs(w) + typical))
