"""The two objectives of a machine at given points, with every rounding error bounded.

    primal(w, b)  =  1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))            from above
    dual(a)       =  sum_i -c_i loss*(-a_i/c_i) - 1/2 |sum_i a_i y_i x_i|^2 (- ...)     from below

From what one pass over the data tells (`data_pass`). Sums over rows are made of short stretches by
`math.fsum`, which rounds once. The one thing trusted is that NumPy's exp, log and log1p are right
to eight units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.certificates.data_pass import LEAST, UNIT, Pass

__all__ = [
    "box_around",
    "dual_from_below",
    "gain_from_below",
    "is_feasible",
    "loss_from_above",
    "penalty_from_above",
    "primal_from_above",
    "sum_error",
    "sum_from_above",
]

_SUMMANDS = 256
_TRUSTED = 16.0 * UNIT  # eight units in the last place
_CHUNK_ERROR = 1.01 * (_SUMMANDS + 4) * UNIT


def primal_from_above(
    seen: Pass,
    costs: np.ndarray,
    loss: str,
    w: np.ndarray,
    bias: float,
    bias_penalty: float,
    ridge: float = 1.0,
) -> float:
    """Return a number that the objective at (w, bias) does not exceed; inf if it overflows."""
    used = costs > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        lower = (seen.margins - seen.margin_errors)[used]
        squares = np.append(ridge * w * w, bias_penalty * bias * bias)
        if not (np.isfinite(lower).all() and np.isfinite(squares).all()):
            return math.inf
        norm = 0.5 * sum_from_above(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST
        if np.isinf(costs).any():
            least = float(lower.min())
            if least <= 0.0 or min(1.0, least) ** 2 == 0.0:
                return math.inf
            # Divided by its least margin, w has a margin of 1 on every row.
            return norm / min(1.0, least) ** 2 * (1.0 + 8.0 * UNIT)
        terms = costs[used] * loss_from_above(loss, lower)
        total = sum_from_above(terms) * (1.0 + 2.0 * UNIT) + int(used.sum()) * LEAST
    return (norm + total) * (1.0 + 2.0 * UNIT)


def loss_from_above(loss: str, margins: np.ndarray) -> np.ndarray:
    """Return at least the loss of every margin."""
    if loss == "logistic":
        return np.logaddexp(0.0, -margins) * (1.0 + 3.0 * _TRUSTED)
    short = np.maximum(0.0, 1.0 - margins) * (1.0 + 4.0 * UNIT)
    return short if loss == "hinge" else short * short * (1.0 + 4.0 * UNIT)


def dual_from_below(
    seen: Pass,
    costs: np.ndarray,
    loss: str,
    signs: np.ndarray,
    alpha: np.ndarray,
    bias_penalty: float | None,
    box: np.ndarray | None = None,
) -> float:
    """Return a number that the dual objective at alpha is not below; -inf if alpha is not feasible.

    `bias_penalty` is None where there is no bias, 0 where it is free. With a `box` there is no
    penalty on w: then every w with |w_j| <= box_j has an objective of at least the first sum of the
    dual minus u.w, by the definition of the conjugate.
    """
    if not is_feasible(loss, costs, alpha):
        return -math.inf
    balance = math.fsum((signs * alpha).tolist())
    if bias_penalty == 0.0 and balance != 0.0:
        return -math.inf  # fsum rounds once: zero means exactly zero
    with np.errstate(over="ignore", invalid="ignore"):
        penalty = penalty_from_above(seen.total, seen.total_errors, seen.spread, bias_penalty,
                                     balance, box)  # fmt: skip
        gain = gain_from_below(loss, costs, alpha)
    value = gain - penalty
    return value - 2.0 * UNIT * abs(value) - LEAST if math.isfinite(value) else -math.inf


def is_feasible(loss: str, costs: np.ndarray, alpha: np.ndarray) -> bool:
    """Whether every multiplier lies within its bounds."""
    upper = np.where(costs > 0.0, np.inf, 0.0) if loss == "squared_hinge" else costs
    return bool(np.isfinite(alpha).all() and (alpha >= 0.0).all() and (alpha <= upper).all())


def penalty_from_above(
    total: np.ndarray,
    total_errors: np.ndarray,
    spread: float,
    bias_penalty: float | None,
    balance: float,
    box: np.ndarray | None = None,
) -> float:
    """Return at least what the dual loses for u, known up to its errors, and for the balance."""
    outer = abs(total) + total_errors
    squares = outer * outer if box is None else 2.0 * outer * box
    if bias_penalty:
        squares = np.append(
            squares, abs(balance / bias_penalty) * abs(balance) * (1.0 + 8.0 * UNIT) + LEAST
        )
    if not (np.isfinite(squares).all() and math.isfinite(spread)):
        return math.inf
    penalty = 0.5 * sum_from_above(squares) * (1.0 + 8.0 * UNIT) + len(squares) * LEAST
    # The length of u is at most its computed length and the length of its error.
    return penalty + spread * (math.sqrt(2.0 * penalty) + spread) * (1.0 + 8.0 * UNIT)


def gain_from_below(loss: str, costs: np.ndarray, alpha: np.ndarray) -> float:
    """Return a number that the first sum of the dual is not below."""
    used = alpha > 0.0
    a, c = alpha[used], costs[used]
    if loss == "logistic":
        # The smaller of p and 1 - p is found to one rounding (near 1 the difference c - a is
        # exact). Both parts of the entropy are then positive, and right to a few units each.
        share = np.minimum(a, c - a) / c
        logs = np.log(np.where(share > 0.0, share, 1.0))
        entropy = -(share * logs + (1.0 - share) * np.log1p(-share))
        terms = c * entropy * (1.0 - 3.0 * _TRUSTED)
        # A share below the least normal number errs by a unit there, times log(1 / share) < 1024.
        terms = np.maximum(0.0, terms - 1024.0 * LEAST * np.maximum(1.0, c))
        return sum_from_above(terms) - sum_error(terms)
    value = sum_from_above(a)
    value -= sum_error(a)
    if loss == "squared_hinge":
        spent = sum_from_above(a * (a / (4.0 * c))) * (1.0 + 8.0 * UNIT) + len(a) * LEAST
        value -= spent + 2.0 * UNIT * abs(value)
    return value


def sum_from_above(values: np.ndarray) -> float:
    """Return the sum, for values that are not negative from above; inf where it overflows."""
    try:
        return math.fsum(_chunks(values).tolist()) * (1.0 + _CHUNK_ERROR)
    except OverflowError:
        return math.inf


def sum_error(values: np.ndarray) -> float:
    """Return by how much `sum_from_above` may be too large or too small."""
    return 2.0 * _CHUNK_ERROR * sum_from_above(abs(values))


def _chunks(values: np.ndarray) -> np.ndarray:
    """Add up short stretches; what they lose, `_CHUNK_ERROR` bounds."""
    return np.add.reduceat(values, np.arange(0, len(values), _SUMMANDS)) if len(values) else values


def box_around(seen: Pass, w: np.ndarray, alpha: np.ndarray, reach: float) -> np.ndarray:
    """Return sizes of coefficients far beyond w: `reach` times |w_j| and one over the column."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        typical = np.where(seen.sizes > 0.0, float(alpha.sum()) / seen.sizes, 0.0)
    return np.asarray(reach * (abs(w) + typical))
