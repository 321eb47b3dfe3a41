"""The largest C at which all weights are zero, exactly: where a path of sparse weights begins.

With w = 0 the best b is known in closed form, and with it the dual point: a_i = C s_i k S' / S,
S the weight of all rows, S' that of the other class, k = 1 for the logistic loss and 4 for the
squared hinge (without b, a_i = C s_i / 2 and 2 C s_i). So u = C v, v does not depend on C, and all
weights are zero where C max_j |v_j| <= l. Where columns have groups, the root mean square over the
group stands in place of |v_j|.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_sums import row_sums
from separatrix.certificates.enclosure import rounded
from separatrix.certificates.sparse_gap import root_means
from separatrix.problem.exact_sums import column_sums

__all__ = ["largest_cost_of_zero"]

_MOST_EXACT = 2_000_000  # entries
_FEW_WEIGHTS = 32


def largest_cost_of_zero(
    X: Any,
    signs: np.ndarray,
    weights: np.ndarray,
    loss: str,
    l1_ratio: float,
    intercept: bool,
    groups: np.ndarray | None = None,
) -> float:
    """Return the largest float64 C at which every weight is zero; inf where no column matters.

    `groups` numbers the group of each column, from 0.

    >>> X, signs = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> largest_cost_of_zero(X, signs, np.ones(2), "logistic", 1.0, True)
    1.0
    """
    plus, minus = _total(weights[signs > 0.0]), _total(weights[signs < 0.0])
    factor = Fraction(1) if loss == "logistic" else Fraction(4)
    if intercept:
        if not (plus and minus):
            return math.inf
        of_plus, of_minus = factor * minus / (plus + minus), factor * plus / (plus + minus)
    else:
        of_plus = of_minus = factor / 2
    shares = weights * np.where(signs > 0.0, float(of_plus), -float(of_minus))
    found = row_sums(X, shares, rounded=2)  # each share is rounded twice
    sizes = found.size() if groups is None else root_means(found.square(), groups)
    near = np.flatnonzero(sizes.high >= float(sizes.low.max(initial=0.0)))
    if len(near) * X.shape[0] > _MOST_EXACT:
        highest = Fraction(float(sizes.high.max(initial=0.0)))
        return rounded(Fraction(l1_ratio) / highest)[0] if highest else math.inf
    exactly = partial(_exactly, X, signs, weights, of_plus, of_minus)
    if groups is None:
        exact = max((abs(exactly(j)) for j in near.tolist()), default=Fraction(0))
        return rounded(Fraction(l1_ratio) / exact)[0] if exact else math.inf
    members = [np.flatnonzero(groups == g).tolist() for g in np.unique(groups[near])]
    squares = [sum((exactly(j) ** 2 for j in each), Fraction(0)) / len(each) for each in members]
    return _over_the_root(Fraction(l1_ratio), max(squares, default=Fraction(0)))


def _over_the_root(value: Fraction, square: Fraction) -> float:
    """Return the largest float64 that is at most value / sqrt(square)."""
    if not square:
        return math.inf
    ratio = value * value / square
    p, q = ratio.numerator, ratio.denominator
    found = rounded(Fraction(math.isqrt((p * q) << 256), q << 128))[0]
    higher = math.nextafter(found, math.inf)
    return higher if math.isfinite(higher) and Fraction(higher) ** 2 <= ratio else found


def _exactly(
    X: Any, signs: np.ndarray, weights: np.ndarray, of_plus: Fraction, of_minus: Fraction, j: int
) -> Fraction:
    """Return v_j."""
    column = X[:, [j]].toarray() if sp.issparse(X) else X[:, [j]]
    total = Fraction(0)
    for factor, side in ((of_plus, signs > 0.0), (-of_minus, signs < 0.0)):
        values, counted = column[side], weights[side]
        distinct = np.unique(counted)
        if len(distinct) > _FEW_WEIGHTS:
            parts = zip(counted.tolist(), values[:, 0].tolist(), strict=True)
            exact = (Fraction(s) * Fraction(x) for s, x in parts if x)
        else:  # rows of one weight are added first, which is quick
            each = (np.ascontiguousarray(values[counted == s]) for s in distinct)
            sums = (column_sums(rows, np.ones(len(rows)))[1] for rows in each)
            exact = (Fraction(s) * x for s, x in zip(distinct.tolist(), sums, strict=True))
        total += factor * sum(exact, Fraction(0))
    return total


def _total(weights: np.ndarray) -> Fraction:
    """Return the sum, exactly."""
    values, counts = np.unique(weights, return_counts=True)
    parts = zip(values.tolist(), counts.tolist(), strict=True)
    return sum((Fraction(value) * count for value, count in parts), Fraction(0))
