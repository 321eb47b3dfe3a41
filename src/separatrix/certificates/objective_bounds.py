"""The two objectives of a machine at given points, with every rounding error bounded.

    primal(w, b)  =  1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))            from above
    dual(a)       =  sum_i -c_i loss*(-a_i/c_i) - 1/2 |sum_i a_i y_i x_i|^2 (- ...)     from below

One pass over the data in blocks that fit a cache. A sum of k products in any order errs by at most
k u / (1 - k u) times the sum of the absolute products (Higham, section 3.1); block sums are added
with their errors carried along, and sums over rows by `math.fsum`, which rounds once. The one thing
trusted is that NumPy's exp and log are right to eight units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Pass", "box_around", "dual_from_below", "one_pass", "primal_from_above"]

UNIT = 2.0**-53
LEAST = 2.0**-1074
_ENTRIES_AT_A_TIME = 1 << 17
_TRUSTED = 8.0 * UNIT


@dataclass(frozen=True, eq=False)
class Pass:
    """What one pass over the data tells: margins and the weighted sum of rows, each +- an error."""

    margins: np.ndarray
    margin_errors: np.ndarray
    total: np.ndarray  # u = sum_i a_i y_i x_i
    total_errors: np.ndarray
    sizes: np.ndarray  # sum_i a_i |x_i|


def _blocks(X: Any) -> Iterator[tuple[slice, Any, float]]:
    """Yield blocks of rows in float64 and how many entries their fullest row has."""
    n, d = X.shape
    if not sp.issparse(X):
        step = max(1, _ENTRIES_AT_A_TIME // max(d, 1))
        for begin in range(0, n, step):
            rows = slice(begin, min(n, begin + step))
            yield rows, np.asarray(X[rows], dtype=np.float64), float(d)
        return
    entries = max(_ENTRIES_AT_A_TIME, 4 * d)
    begin = 0
    while begin < n:
        # At least one row, and as many more as the entries allow.
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + entries, side="right")) - 1
        rows = slice(begin, min(n, max(end, begin + 1)))
        first, last = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
        starts = X.indptr[rows.start : rows.stop + 1] - first
        values = np.asarray(X.data[first:last], dtype=np.float64)
        block = sp.csr_array(
            (values, X.indices[first:last], starts), shape=(rows.stop - rows.start, d)
        )
        yield rows, block, float(np.diff(starts).max(initial=0))
        begin = rows.stop


def one_pass(X: Any, signs: np.ndarray, w: np.ndarray, bias: float, alpha: np.ndarray) -> Pass:
    """Return margins of (w, bias) and the sum of rows that alpha makes, with their errors."""
    n, d = X.shape
    margins, margin_errors = np.empty(n), np.empty(n)
    total, carried, sizes, spread = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    share, size_w, blocks = signs * alpha, abs(w), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, block, entries in _blocks(X):
            size = abs(block)
            margins[rows] = signs[rows] * (block @ w + bias)
            margin_errors[rows] = _gamma(entries + 4.0) * (size @ size_w + abs(bias))
            if (part := share[rows]).any():
                added = block.T @ part
                moved = total + added
                # What rounding takes from `total + added`, exactly (Knuth).
                before = moved - added
                carried += (total - before) + (added - (moved - before))
                total = moved
                absolute = size.T @ abs(part)
                sizes += absolute
                spread += _gamma(float(rows.stop - rows.start) + 2.0) * absolute
                blocks += 1
        margin_errors += 8.0 * (d + 2.0) * LEAST
        total = total + carried
        # Blocks err by `spread`; the carried errors, themselves rounded, by (blocks u)^2.
        total_errors = spread + (1.1 * blocks * UNIT) ** 2 * sizes + 2.0 * UNIT * abs(total)
        total_errors = 1.01 * total_errors + 8.0 * (n + 2.0) * LEAST
    return Pass(margins, margin_errors, total, total_errors, sizes)


def _gamma(terms: float) -> float:
    return 1.01 * terms * UNIT / (1.0 - terms * UNIT)


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
        squares = [*(ridge * w * w).tolist(), bias_penalty * bias * bias]
        if not np.isfinite(lower).all() or not np.isfinite(squares).all():
            return math.inf
        norm = 0.5 * _sum(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST
        if np.isinf(costs).any():
            least = float(lower.min())
            if least <= 0.0:
                return math.inf
            # Divided by its least margin, w has a margin of 1 on every row.
            return norm / min(1.0, least) ** 2 * (1.0 + 8.0 * UNIT)
        terms = costs[used] * _loss_from_above(loss, lower)
        total = _sum(terms.tolist()) * (1.0 + 2.0 * UNIT) + int(used.sum()) * LEAST
    return (norm + total) * (1.0 + 2.0 * UNIT)


def _loss_from_above(loss: str, margins: np.ndarray) -> np.ndarray:
    if loss == "logistic":
        return np.logaddexp(0.0, -margins) * (1.0 + 2.0 * _TRUSTED)
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
    upper = np.where(costs > 0.0, np.inf, 0.0) if loss == "squared_hinge" else costs
    if not (np.isfinite(alpha).all() and (alpha >= 0.0).all() and (alpha <= upper).all()):
        return -math.inf
    balance = math.fsum((signs * alpha).tolist())
    if bias_penalty == 0.0 and balance != 0.0:
        return -math.inf  # fsum rounds once: zero means exactly zero
    with np.errstate(over="ignore", invalid="ignore"):
        outer = abs(seen.total) + seen.total_errors
        squares = (outer * outer if box is None else 2.0 * outer * box).tolist()
        if bias_penalty:
            squares.append(balance * balance / bias_penalty * (1.0 + 8.0 * UNIT))
        if not np.isfinite(squares).all():
            return -math.inf
        penalty = 0.5 * _sum(squares) * (1.0 + 8.0 * UNIT) + len(squares) * LEAST
        gain = _gain_from_below(loss, costs, alpha)
    value = gain - penalty
    return value - 2.0 * UNIT * abs(value) - LEAST if math.isfinite(value) else -math.inf


def _gain_from_below(loss: str, costs: np.ndarray, alpha: np.ndarray) -> float:
    used = alpha > 0.0
    a, c = alpha[used], costs[used]
    if loss == "logistic":
        # Away from 0 and 1 both logarithms are good; near them the product with p or q saves them.
        p, q = a / c, (c - a) / c
        log_q = np.log(np.where(q > 0.0, q, 1.0))
        entropy = -(p * np.log(np.where(p > 0.0, p, 1.0)) + q * log_q)
        terms = c * entropy - c * 4.0 * _TRUSTED
        value = _sum(np.where(p > 0.0, terms, 0.0).tolist())
        return value - 2.0 * UNIT * abs(value)
    value = _sum(a.tolist())
    value -= 2.0 * UNIT * abs(value)
    if loss == "squared_hinge" and not np.isinf(c).any():
        spent = _sum((a * (a / (4.0 * c))).tolist()) * (1.0 + 8.0 * UNIT) + len(a) * LEAST
        value -= spent + 2.0 * UNIT * abs(value)
    return value


def _sum(values: list[float]) -> float:
    """Return a sum rounded once; inf where it overflows on the way."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def box_around(seen: Pass, w: np.ndarray, alpha: np.ndarray, reach: float) -> np.ndarray:
    """Return sizes of coefficients far beyond w: `reach` times |w_j| and one over the column."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        typical = np.where(seen.sizes > 0.0, float(alpha.sum()) / seen.sizes, 0.0)
    return np.asarray(reach * (abs(w) + typical))
