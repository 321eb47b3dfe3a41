"""The iterations of `predictor_corrector` on few rows: each is one compiled loop.

On a hundred rows an iteration is some microseconds of arithmetic, and forty calls of NumPy around
it. Here the rows are laid out once, columns of [V 1] one after another, and everything from the
weights of the rows to the two objectives is one call. The arithmetic is that of `step`, in another
order of summation.

Where the matrix loses its digits the factor comes from the rows, as `scaled_rows` explains: such an
iteration is made there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix._compiled import compiled, inlined
from separatrix.solvers.linear import predictor_corrector
from separatrix.solvers.linear.predictor_corrector import (
    CORRECTIONS,
    DRIFTS,
    FURTHER,
    LESS,
    NEARLY_ALL,
    REFRESH,
    STRETCH,
    WORTH_IT,
    Aim,
    Run,
    fall_of,
    predicted,
    recentred,
    shares_for,
    stepped,
    weighed,
)
from separatrix.solvers.linear.scaled_rows import ADDED, LOST

# From here on the products of the library of linear algebra are faster.
_MOST_COLUMNS, _MOST_ENTRIES = 64, 1 << 17
_MOVED, _STOPPED, _BY_ROWS = range(3)
_LEAST_STEP = 1e-10


def suits(n_rows: int, n_columns: int) -> bool:
    """Whether rows are so few that calls cost more than arithmetic."""
    return n_columns <= _MOST_COLUMNS and n_rows * (n_columns + 1) <= _MOST_ENTRIES


Progress = tuple[float, int]  # the best gap so far, and how many iterations ago


class Until(NamedTuple):
    """When an iteration is to be looked at."""

    iterations: int
    passes: float
    near: float  # a gap, as a share of the primal objective
    patience: int
    progress: Progress


class SmallSteps:
    """Makes the iterations of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        n, d = len(run.rows.chosen), run.rows.width
        self.columns = np.zeros((d + 1, n))
        self.columns[:d] = run.rows.dense(np.arange(n)).T
        self.columns[d] = float(run.has_bias)
        self.of_rows, self.of_columns = np.empty((7, n)), np.empty((5, d + 1))
        self.matrices = np.empty((2, d + 1, d + 1))

    def iterations(self, until: Until) -> tuple[int, Progress, tuple[bool, float, float]]:
        """Make iterations until one that is to be looked at.

        Return how many there were before it, their progress, and what
        `predictor_corrector.iteration` returns of it.
        """
        run = self.run
        scratch = self.of_rows, self.of_columns, self.matrices
        point = run.quadratic, run.v, run.residual
        counts = run.steps, run.last_step, run.pairs.count
        made, progress, code, primal, dual, counts, passes = _iterations(
            self.columns, run.pairs.at, point, scratch, counts, until
        )
        run.steps, run.last_step, _ = counts
        run.passes += passes
        if code == _BY_ROWS:
            return made, progress, predictor_corrector.iteration(run)
        run.last_gap = (primal - dual) / abs(primal) if primal else 0.0
        return made, progress, (code == _MOVED, primal, dual)


@compiled
def _iterations(columns, at, point, scratch, counts, until):  # type: ignore[no-untyped-def]
    steps, last_step, count = counts
    best, since = until.progress
    made, passes = 0, 0.0
    while True:
        code, primal, dual, length, more = _iterate(
            columns, at, point, scratch, steps, last_step, count
        )
        passes += more
        if length > 0.0:
            steps += 1
            last_step = length
        gap = primal - dual
        is_better = gap < LESS * best
        if (
            code != _MOVED
            or made + 1 >= until.iterations
            or passes >= until.passes
            or gap <= until.near * abs(primal)
            or not (is_better or since + 1 < until.patience)
        ):
            return made, (best, since), code, primal, dual, (steps, last_step, count), passes
        made += 1
        best, since = (gap, 0) if is_better else (best, since + 1)


# Inlined, since numba optimises each loop again in every loop that calls it.
@inlined
def _iterate(columns, at, point, scratch, steps, last_step, count):  # type: ignore[no-untyped-def]
    """Make one iteration; return its code, both objectives, the length of the step, the passes."""
    quadratic, v, residual = point
    weights, shares = scratch[0][0], scratch[0][1]
    mu = weighed(at, weights, shares) / count
    code = _factor(columns, quadratic, scratch)
    if code == _BY_ROWS:
        return code, 0.0, 0.0, 0.0, 1.0
    length, solves = 0.0, 0
    if code == _MOVED:
        length, solves = _moved_by(columns, at, point, scratch, mu, last_step, count)
        code = _MOVED if length > _LEAST_STEP else _STOPPED
    primal, dual = _objectives(at, quadratic, v, residual)
    passes = 1.0 + 2.0 * solves
    if (steps + (length > 0.0)) % REFRESH == 0 or primal - dual <= DRIFTS * abs(primal):
        _refresh(columns, at, point)
        primal, dual = _objectives(at, quadratic, v, residual)
        passes += 2.0
    return code, primal, dual, length, passes


@inlined
def _moved_by(columns, at, point, scratch, mu, last_step, count):  # type: ignore[no-untyped-def]
    """Go along Mehrotra's direction, corrected for centrality; return how far, and the solves."""
    _, v, residual = point
    of_rows, of_columns, _ = scratch
    weights, shares, below, above = of_rows[0], of_rows[1], of_rows[2], of_rows[3]
    dv, other = of_columns[1], of_columns[2]
    _direction(columns, residual, scratch, shares, dv)
    fall, linear, square = predicted(at, weights, shares, dv[-1], below, above)
    reach = min(1.0, 1.0 / fall) if fall > 0.0 else 1.0
    left = max(0.0, 1.0 + reach * (linear + reach * square) / (count * mu))
    target = min(1.0, left**3) * mu
    shares_for(at, weights, target, below, above, shares)
    _direction(columns, residual, scratch, shares, dv)
    aim = Aim(weights, shares, dv[-1], target, below, above)
    fall, solves, spare = fall_of(at, aim), 2, (of_rows[4], of_rows[5], of_rows[6])
    for _ in range(CORRECTIONS):
        if not fall > 1.0:
            break
        recentred(at, aim, min(1.0, STRETCH / fall + FURTHER), spare[1], spare[2], spare[0])
        _direction(columns, residual, scratch, spare[0], other)
        solves += 1
        further = Aim(weights, spare[0], other[-1], target, spare[1], spare[2])
        new_fall = fall_of(at, further)
        if not max(1.0, new_fall) < WORTH_IT * fall:
            break
        spare = (aim.moved, aim.for_below, aim.for_above)
        dv, other = other, dv
        aim, fall = further, new_fall
    keep_off = NEARLY_ALL if last_step > 0.9 else 0.99
    length = min(1.0, keep_off / fall) if fall > 0.0 else 1.0
    is_finite = np.isfinite(length)
    for j in range(dv.shape[0]):
        is_finite = is_finite and np.isfinite(dv[j])
    if not is_finite:
        return 0.0, solves
    stepped(at, aim, length)
    for j in range(v.shape[0]):
        v[j] += length * dv[j]
        residual[j] *= 1.0 - length
    return length, solves


@compiled
def _objectives(at, quadratic, v, residual):  # type: ignore[no-untyped-def]
    primal, dual = 0.0, 0.0
    for j in range(v.shape[0]):
        primal += 0.5 * quadratic[j] * v[j] * v[j]
        if quadratic[j] > 0.0:
            pulled = quadratic[j] * v[j] - residual[j]
            dual -= 0.5 * pulled * pulled / quadratic[j]
    for i in range(at.alpha.shape[0]):
        short = 1.0 - at.margins[i]
        if not short <= 0.0:
            primal += at.costs[i] * short
        dual += at.alpha[i]
    return primal, dual


@compiled
def _refresh(columns, at, point):  # type: ignore[no-untyped-def]
    """Compute margins and residual afresh."""
    quadratic, v, residual = point
    last = v.shape[0] - 1
    at.margins[:] = v[last]
    _add_scores(columns, v, at.margins)
    for i in range(at.margins.shape[0]):
        at.margins[i] *= at.signs[i]
    for j in range(last + 1):
        total = 0.0
        for i in range(at.alpha.shape[0]):
            total += columns[j, i] * at.signs[i] * at.alpha[i]
        residual[j] = quadratic[j] * v[j] - total
    if columns[last, 0] == 0.0:
        residual[last] = 0.0


@compiled
def _add_scores(columns, v, scores):  # type: ignore[no-untyped-def]
    """Add V v, without the bias."""
    for j in range(columns.shape[0] - 1):
        share, column = v[j], columns[j]
        for i in range(scores.shape[0]):
            scores[i] += share * column[i]


# ---- the linear system of a step


@compiled
def _direction(columns, residual, scratch, shares, dv):  # type: ignore[no-untyped-def]
    """Solve for the change of [v, b]; write V times that of v over the shares it answers."""
    _, of_columns, (matrix, lower) = scratch
    scale, right, rest = of_columns[0], of_columns[3], of_columns[4]
    many = scale.shape[0]
    for j in range(many):
        total, column = 0.0, columns[j]
        for i in range(shares.shape[0]):
            total += column[i] * shares[i]
        right[j] = (total - residual[j]) * scale[j]
        dv[j] = right[j]
    _solve(lower, dv)
    for j in range(many):
        total = right[j]
        for k in range(many):
            total -= matrix[j, k] * dv[k]
        rest[j] = total
    _solve(lower, rest)
    for j in range(many):
        dv[j] = (dv[j] + rest[j]) * scale[j]
    shares[:] = 0.0
    _add_scores(columns, dv, shares)


@compiled
def _factor(columns, quadratic, scratch):  # type: ignore[no-untyped-def]
    """Factor the matrix, scaled to a unit diagonal, as lower times its transpose."""
    of_rows, of_columns, (matrix, lower) = scratch
    scale, many = of_columns[0], columns.shape[0]
    _normal(columns, of_rows[0], of_rows[6], matrix)
    for j in range(many):
        scale[j] = 1.0 / np.sqrt(matrix[j, j] + quadratic[j])
        if not np.isfinite(scale[j]):
            return _STOPPED
    for j in range(many):
        for k in range(j):
            matrix[j, k] *= scale[j] * scale[k]
            matrix[k, j] = matrix[j, k]
        matrix[j, j] = 1.0
    least = 0.0
    for added in ADDED:
        least = _cholesky(matrix, 1.0 + added, lower)
        if least > 0.0:
            break
    return _MOVED if least >= LOST else _BY_ROWS


@compiled
def _normal(columns, weights, weighted, lower):  # type: ignore[no-untyped-def]
    """Write the lower triangle of [V 1]^T D [V 1], four entries of it at a time."""
    many, n = columns.shape
    for j in range(many):
        own = columns[j]
        for i in range(n):
            weighted[i] = weights[i] * own[i]
        k = 0
        while k + 4 <= j + 1:
            one, two, three, four = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                w = weighted[i]
                first += w * one[i]
                second += w * two[i]
                third += w * three[i]
                fourth += w * four[i]
            lower[j, k], lower[j, k + 1], lower[j, k + 2], lower[j, k + 3] = (
                first,
                second,
                third,
                fourth,
            )
            k += 4
        while k <= j:
            total, other = 0.0, columns[k]
            for i in range(n):
                total += weighted[i] * other[i]
            lower[j, k] = total
            k += 1


@compiled
def _cholesky(matrix, diagonal, lower):  # type: ignore[no-untyped-def]
    """Return the least pivot; 0 where the matrix is not positive."""
    least = np.inf
    for j in range(matrix.shape[0]):
        row = lower[j]
        for k in range(j):
            total, other = matrix[j, k], lower[k]
            for m in range(k):
                total -= row[m] * other[m]
            row[k] = total / other[k]
        total = diagonal
        for m in range(j):
            total -= row[m] * row[m]
        if not total > 0.0:
            return 0.0
        row[j] = np.sqrt(total)
        least = min(least, row[j])
    return least


@compiled
def _solve(lower, x):  # type: ignore[no-untyped-def]
    """Solve with the factor, in place."""
    many = x.shape[0]
    for j in range(many):
        total, row = x[j], lower[j]
        for k in range(j):
            total -= row[k] * x[k]
        x[j] = total / row[j]
    for j in range(many - 1, -1, -1):
        row = lower[j]
        x[j] /= row[j]
        for k in range(j):
            x[k] -= x[j] * row[k]
