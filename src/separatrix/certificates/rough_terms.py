"""What rows add to both objectives of a logistic model, with one error bound for all of them.

    sum_i c_i log(1 + e^z_i)    changes by sum_i c_i d at most where every z_i changes by d
    sum_i c_i H(p_i)            changes by sum_i c_i H(d) at most where every p_i changes by d

The slope of log(1 + e^z) is at most 1. The entropy H of p and 1 - p is concave, and 0 at 0 and 1:
so H(p + d) <= H(p) + H(d), and the same from 1 - p - d on.

The bounds are wider than those of `objective_bounds.terms_of`, and cost a third: the sizes of sums
are bounded from the sizes of columns, and functions are enclosed once for all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from separatrix.certificates.column_sizes import Sized
from separatrix.certificates.enclosed_functions import entropies, entropy, softplus_values
from separatrix.certificates.enclosed_sums import dot_error, function_terms
from separatrix.certificates.enclosure import LEAST, Enclosure, require_denormals, safely
from separatrix.certificates.objective_bounds import (
    NOTHING,
    Model,
    Terms,
    exact_parts,
    is_feasible,
)

_ROUNDINGS = 4.0  # of a_i, a share of it, over c_i


def rough_terms(
    model: Model,
    data: Sized,
    signs: np.ndarray,
    costs: np.ndarray,
    alpha: np.ndarray,
    wide: float,
    share_of: Callable[[Enclosure], float],
) -> tuple[Terms, Callable[[], np.ndarray]]:
    """Enclose what these rows add, as `objective_bounds.terms_of` does; the errors `wide` times."""
    require_denormals()
    loss, w, bias = model
    b, n = bias or 0.0, float(len(signs))
    all_costs = float(Enclosure.exact(costs).sum().high)
    with np.errstate(all="ignore"):
        size = float(safely(data.largest @ abs(w) + abs(b)))
        margins = np.asarray(data.X @ w)
        margins += b
        margins *= signs
        doubt = wide * dot_error(data.longest_row + 1.0, size) + 4.0 * LEAST
        lost = float(softplus_values(-margins) @ costs)
        error = wide * dot_error(function_terms(n), lost) + float(safely(doubt * all_costs))
        losses = Enclosure.around(np.float64(lost), error)
        a = signs * alpha
        largest = float(alpha.max(initial=0.0))
        total = Enclosure.around(
            np.asarray(data.X.T @ a), wide * dot_error(n, safely(data.sums * largest))
        )
    gain, balance = NOTHING, tuple[float, ...]()
    if is_feasible(loss, costs, alpha):
        gain = _gain(costs, alpha, share_of(total), wide, all_costs)
        balance = () if bias is None else exact_parts(a)
    return Terms(losses, False, gain, balance, total), lambda: margins


@cache
def _entropy_of_rounding() -> float:
    """Return no less than the entropy moves where p was rounded."""
    return float(entropy(dot_error(_ROUNDINGS, 1.0)).high)


def _gain(
    costs: np.ndarray, alpha: np.ndarray, share: float, wide: float, all_costs: float
) -> Enclosure:
    """Enclose the first sum of the dual at a share of alpha."""
    used = costs > 0.0
    if not used.all():
        costs, alpha = costs[used], alpha[used]
    with np.errstate(all="ignore"):
        p = alpha / costs
        p *= share
        found = float(entropies(np.minimum(p, 1.0 - p)) @ costs)  # 1 - p is exact beyond 1/2
        off = _entropy_of_rounding() * all_costs
        error = dot_error(function_terms(float(len(p))), found) + safely(off)
        return Enclosure.around(np.float64(found), wide * error)
