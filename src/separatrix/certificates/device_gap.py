"""The two bounds of a machine on rows that are on a device, their rounding errors bounded there.

    primal(w, b)  =  1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))            from above
    dual(a)       =  sum_i -c_i loss*(-a_i/c_i) - 1/2 |sum_i a_i y_i x_i|^2 (- ...)     from below

`objective_bounds` for millions of rows: terms are made row by row on the device, added up there in
short stretches, and those sums by `math.fsum`, which rounds once. Trusted is that the device's
float64 rounds as IEEE 754 says, and that its exp, log and log1p are right to eight units in the
last place, as NumPy's are there (CUDA's documentation bounds them by two).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.certificates.data_pass import LEAST, UNIT, Pass
from separatrix.certificates.device_pass import device_pass
from separatrix.certificates.objective_bounds import penalty_from_above, sum_from_above
from separatrix.problem.device_rows import DeviceRows

__all__ = ["bounds_on_device"]

_STRETCH = 1024
_SUM_ERROR = 1.01 * (_STRETCH + 8) * UNIT
_TRUSTED = 16.0 * UNIT  # eight units in the last place
_HALF = 26


def bounds_on_device(
    X: DeviceRows,
    signs: np.ndarray,
    costs: np.ndarray,
    loss: str,
    w: np.ndarray,
    bias: float,
    alpha: np.ndarray,
    bias_penalty: float | None,
    widened: bool,
) -> tuple[Pass, float, float]:
    """Return what the pass over the data saw, the primal bound and the dual one.

    `bias_penalty` is None where there is no bias, 0 where it is free.
    """
    seen = device_pass(X, signs, w, bias, alpha)
    seen = seen.widened() if widened else seen
    c, a = X.tensor(costs), X.tensor(alpha)
    lower = X.tensor(seen.margins - seen.margin_errors)
    primal = _primal(lower, c, loss, w, bias, bias_penalty or 0.0)
    return seen, primal, _dual(X.tensor(signs), a, c, loss, seen, bias_penalty)


def _primal(
    lower: Any, costs: Any, loss: str, w: np.ndarray, bias: float, bias_penalty: float
) -> float:
    """Return a number that the objective is not above."""
    torch = torch_module()
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.append(w * w, bias_penalty * bias * bias)
    if not (np.isfinite(squares).all() and bool(lower.isfinite().all())):
        return math.inf
    norm = 0.5 * sum_from_above(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST
    if loss == "logistic":
        zero = torch.zeros_like(lower)
        values = torch.logaddexp(zero, -lower) * (1.0 + 3.0 * _TRUSTED)
    else:
        values = (1.0 - lower).clamp(min=0.0) * (1.0 + 4.0 * UNIT)
        values = values if loss == "hinge" else values * values * (1.0 + 4.0 * UNIT)
    total = _sum(costs * values) * (1.0 + 2.0 * _SUM_ERROR) + len(lower) * LEAST
    return (norm + total) * (1.0 + 2.0 * UNIT)


def _dual(
    signs: Any, alpha: Any, costs: Any, loss: str, seen: Pass, bias_penalty: float | None
) -> float:
    """Return a number that the dual objective is not below; -inf if alpha is not feasible."""
    torch = torch_module()
    upper = torch.where(costs > 0.0, torch.inf, costs) if loss == "squared_hinge" else costs
    if not bool((alpha.isfinite() & (alpha >= 0.0) & (alpha <= upper)).all()):
        return -math.inf
    balance = 0.0
    if bias_penalty is not None and not _is_balanced(signs, alpha):
        balance = math.fsum((signs * alpha).tolist())
        if bias_penalty == 0.0 and balance != 0.0:
            return -math.inf  # fsum rounds once: zero means exactly zero
    with np.errstate(over="ignore", invalid="ignore"):
        lost = penalty_from_above(seen.total, seen.total_errors, seen.spread, bias_penalty, balance)
    value = _gain(alpha, costs, loss) - lost
    return value - 2.0 * UNIT * abs(value) - LEAST if math.isfinite(value) else -math.inf


def _gain(alpha: Any, costs: Any, loss: str) -> float:
    """Return a number that the first sum of the dual is not below."""
    torch = torch_module()
    used = alpha > 0.0
    c = torch.where(used, costs, 1.0)
    if loss == "logistic":
        # As in `objective_bounds.gain_from_below`: the smaller of p and 1 - p, to one rounding.
        share = torch.where(used, torch.minimum(alpha, c - alpha) / c, 0.0)
        logs = torch.where(share > 0.0, share, 1.0).log()
        entropy = -(share * logs + (1.0 - share) * (-share).log1p())
        terms = c * entropy * (1.0 - 3.0 * _TRUSTED)
        terms = (terms - 1024.0 * LEAST * c.clamp(min=1.0)).clamp(min=0.0)
        return _sum(torch.where(used, terms, 0.0)) * (1.0 - 2.0 * _SUM_ERROR)
    value = _sum(alpha) * (1.0 - 2.0 * _SUM_ERROR)
    if loss == "squared_hinge":
        spent = _sum(alpha * (alpha / (4.0 * c))) * (1.0 + 2.0 * _SUM_ERROR + 8.0 * UNIT)
        value -= spent + len(alpha) * LEAST + 2.0 * UNIT * abs(value)
    return value


def _sum(terms: Any) -> float:
    """Add up terms that are not negative, to within `_SUM_ERROR` of their sum; inf for overflow."""
    whole = len(terms) // _STRETCH * _STRETCH
    sums = terms[:whole].reshape(-1, _STRETCH).sum(dim=1).tolist()
    try:
        return math.fsum([*sums, float(terms[whole:].sum())])
    except OverflowError:
        return math.inf


def _is_balanced(signs: Any, alpha: Any) -> bool:
    """Whether the signed sum is exactly zero, by whole numbers; False where they do not tell."""
    largest = float(alpha.max()) if len(alpha) else 0.0
    if largest == 0.0:
        return True
    units = alpha / math.ulp(largest)  # exact: the divisor is a power of two
    if not bool((units == units.floor()).all()):
        return False
    whole = signs.long() * units.long()
    # Halves of 2^36 rows add up below 2^63; a shift of a negative number rounds down, as & asks.
    high, low = whole >> _HALF, whole & ((1 << _HALF) - 1)
    return (int(high.sum()) << _HALF) + int(low.sum()) == 0
