"""Maxima of Firth's penalised likelihood, which may have several: the best of many starts.

It is not concave. With x = (1, 20), both labels 1 and no intercept, there are maxima at 0.0583 and
1.0986. They are far apart in the linear predictor of rows of high leverage, so the starts are zero,
fits that leave such rows out, and points far along those fits.
"""

from __future__ import annotations

import numpy as np

from separatrix.infer.likelihood import Likelihood
from separatrix.infer.newton import Maximum, maximise

_SMALL = 2e6  # rows times squared columns for which many starts are tried
_LEFT_OUT = (1, 2, 3, 5, 8)
_FAR = (3.0, 10.0, 30.0)
_SAME = 1e-7


def best_maximum(like: Likelihood) -> tuple[Maximum, int]:
    """Return the best maximum found, and how many different ones there were."""
    d = like.Z.shape[1]
    found = [maximise(like, np.zeros(d))]
    n = len(like.y)
    if not like.firth or n * d * d > _SMALL or d == 0:
        return found[0], 1
    for start in _starts(like, found[0]):
        try:
            found.append(maximise(like, start))
        except np.linalg.LinAlgError:
            continue
    good = [each for each in found if each.converged] or found
    good.sort(key=lambda each: -each.point.value)
    distinct: list[Maximum] = []
    for each in good:
        scale = _SAME * (1.0 + abs(each.point.eta))
        if not any((abs(each.point.eta - other.point.eta) < scale).all() for other in distinct):
            distinct.append(each)
    return good[0], len(distinct)


def _starts(like: Likelihood, first: Maximum) -> list[np.ndarray]:
    """Return points to climb from: without the rows of highest leverage, and far out."""
    flat = np.einsum("ij,ij->i", like.Z, like.Z)
    order, n, d = np.argsort(-flat), len(like.y), like.Z.shape[1]
    if flat[order[0]] * n < 4.0 * d and float(first.point.q.max()) < 2.0:
        return []  # no row stands out, and the value is concave around the maximum
    starts = []
    for k in _LEFT_OUT:
        rest = np.sort(order[k:])
        if len(rest) < d or np.linalg.matrix_rank(like.Z[rest]) < d:
            break
        try:
            starts.append(maximise(like.rows(rest), np.zeros(d)).point.theta)
        except np.linalg.LinAlgError:
            continue
    theta = first.point.theta
    for far in _FAR:
        starts.append(far * theta)
    starts += [far * part for part in starts[: len(_LEFT_OUT)] for far in (2.0, 5.0)]
    return starts
