"""Maxima of Firth's penalised likelihood, which may have several: the best of many starts.

It is not concave. With x = (1, 20), both labels 1 and no intercept, there are maxima at 0.0583 and
1.0986. They are far apart in the linear predictor of rows of high leverage, so the starts are zero,
fits that leave such rows out, points far along those fits, and points drawn around the first: each
coefficient times a number of its own.

Where no row stands out zero is the only start. Of 2,445 small problems, many of them heavy-tailed,
a better maximum than that from zero was known for 107: their largest leverages were 0.29 and more,
at least 1.84 times the mean, and the largest squared length of a row in standard errors was 5.6.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.infer.likelihood import Likelihood
from separatrix.infer.newton import Maximum, maximise

_SMALL = 2e6  # rows times squared columns for which many starts are tried
_LEFT_OUT = (1, 2, 3, 5, 8)
_FAR = (3.0, 10.0, 30.0)
_SPREADS, _DRAWN = (0.5, 1.0, 2.0), 6  # of the logarithm of such a number, and how many of each
_SAME = 1e-7
_MANY_ROWS, _MANY_ENTRIES, _EVERY, _NEAR = 50, 200_000, 8, 20.0
_LEVERAGE, _TIMES_THE_MEAN, _LENGTH = 0.2, 1.5, 3.0


def best_maximum(
    like: Likelihood, more: tuple[np.ndarray, ...] = ()
) -> tuple[Maximum, list[np.ndarray]]:
    """Return the best maximum found, and all different ones where rows stand out.

    `more` are points to climb from besides.
    """
    d = like.Z.shape[1]
    n = len(like.y)
    found = [maximise(like, _first_start(like))]
    if not more and (not like.firth or n * d * d > _SMALL or d == 0):
        return found[0], []
    if not more and not stands_out(like, found[0]):
        return found[0], []
    for start in [*_starts(like, found[0]), *more]:
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
    return good[0], [each.point.theta for each in distinct]


def _first_start(like: Likelihood) -> np.ndarray:
    """Return zero; with many rows the maximum likelihood fit of some of them, if it is near."""
    n, d = like.Z.shape
    zero = np.zeros(d)
    if n < _MANY_ROWS * d or n * d < _MANY_ENTRIES:
        return zero
    some = like.rows(np.arange(0, n, _EVERY))
    try:
        found = maximise(replace(some, firth=False), zero)
    except np.linalg.LinAlgError:
        return zero
    start = like.at(found.point.theta)
    if not found.converged or float(abs(start.eta - like.offset).max()) > _NEAR:
        return zero
    return start.theta if start.plain > like.at(zero).plain else zero


def stands_out(like: Likelihood, found: Maximum) -> bool:
    """Whether a row is so far from the others that there may be other maxima."""
    longest = found.longest if found.longest >= 0.0 else float(found.point.q.max(initial=0.0))
    if longest < _LENGTH:
        return False
    most = float(_leverages(like).max(initial=0.0))
    mean = like.Z.shape[1] / float(like.weights.sum())
    return most >= _LEVERAGE and most >= _TIMES_THE_MEAN * mean


def _leverages(like: Likelihood) -> np.ndarray:
    """Return the leverage of one copy of each row where all probabilities are equal."""
    L = np.linalg.cholesky((like.Z * like.weights[:, None]).T @ like.Z)
    return np.asarray((np.linalg.solve(L, like.Z.T) ** 2).sum(axis=0))


def _starts(like: Likelihood, first: Maximum) -> list[np.ndarray]:
    """Return points to climb from: without the rows of highest leverage, far out, and around."""
    order, d = np.argsort(-_leverages(like)), like.Z.shape[1]
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
    draw = np.random.default_rng(0)
    for spread in _SPREADS:
        starts += list(theta * np.exp(spread * draw.normal(size=(_DRAWN, d))))
    return starts
