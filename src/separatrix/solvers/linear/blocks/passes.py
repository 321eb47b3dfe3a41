"""The passes over one block: pure functions, so that a lost result is simply computed again.

    gradient_and_diagonal   sums of rows by class, X^T d and the diagonal of X^T D X
    gradient_and_matrix     sums of rows by class and the matrix [1 V]^T D [1 V]
    curved                  X^T D X v
    along                   the loss at several steps along a direction
    spread_of               means, squares and sizes of the columns
    multipliers             alpha of every row

Margins are a function of w alone. The last ones are remembered with the block; where the block was
lost they are computed again from the w that every task carries, to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from separatrix._compiled import compiled
from separatrix.problem.blocks import Block, Posed, Sums, joined
from separatrix.problem.losses import HINGE, LOGISTIC
from separatrix.problem.products import combined, moments, scores
from separatrix.problem.rows import DenseRows, base_rows
from separatrix.solvers.linear.newton import column_spread, fill, scaled_squares
from separatrix.solvers.running.drive import one_thread

# ---- what each row adds to a smooth model, from its margin alone
#
# The hinge h(z) = max(0, z), z = 1 - m, is smoothed over a band of half-width t about a centre q:
#
#     h_t(z) = max over p in [0, 1] of  p z - t (p - q)^2 ,    p = q + z / (2 t), cut off at 0 and 1
#
# so that alpha = c p is feasible for the hinge itself, is 0 or c exactly outside the band, and
# curvature is there inside it only. What smoothing loses is sum_i c_i (h(z_i) - p_i z_i). With q =
# 1/2 for all rows that is at most c t / 8 for a row of the band and nothing for the others. With q
# the p of the optimum nothing is lost at any width: z is 0 where p lies between 0 and 1.

# Places of the sums: two of each that has one a class (positive first).
LOSS, SMOOTHED, BEND, ALPHA, GAIN, GAIN_SLOPE, GAIN_BEND = 0, 1, 2, 3, 5, 7, 9
_SUMS = 11
_MOST = 1e200


@compiled
def row_terms(loss, width, band, centre, margins, signs, costs, shares, bends):  # type: ignore[no-untyped-def]
    """Write y alpha and c loss'' of every row; return the sums named above.

    `centre` holds q of every row, or one q for all. Rows are in the smoothed hinge's band as they
    would be if it were of width `band`. That is its width, but for the step to another one: then it
    is the old one, and alpha may leave its bounds.

    GAIN is the first sum of the dual when each class's alpha is multiplied by a factor f near 1:
    gain + (f - 1) slope - (f - 1)^2 / 2 bend, by class; exact but for the logistic loss.
    """
    sums = np.zeros(_SUMS)
    each = centre.shape[0] > 1
    for i in range(margins.shape[0]):
        m, cost = margins[i], costs[i]
        side = 0 if signs[i] > 0.0 else 1
        alpha = 0.0
        bend = 0.0
        if cost > 0.0:
            if loss == LOGISTIC:
                small = math.exp(-abs(m))
                part = small / (1.0 + small)
                lost = math.log1p(small) + max(0.0, -m)
                p = part if m > 0.0 else 1.0 / (1.0 + small)
                alpha = cost * p
                bend = cost * part / (1.0 + small)
                sums[LOSS] += cost * lost
                # The entropy at p = 1 / (1 + e^m) is loss(m) + p m.
                sums[GAIN + side] += cost * (lost + p * m)
                sums[GAIN_SLOPE + side] += alpha * m
                sums[GAIN_BEND + side] += min(alpha * (1.0 + math.exp(min(-m, 300.0))), _MOST)
            elif loss == HINGE:
                short = 1.0 - m
                q = centre[i] if each else centre[0]
                p = q + short / (2.0 * width)
                kept = min(max(p, 0.0), 1.0)
                sums[LOSS] += cost * max(0.0, short)
                sums[SMOOTHED] += cost * (kept * short - width * (kept - q) * (kept - q))
                place = q + short / (2.0 * band)
                if place >= 1.0:
                    alpha = cost
                elif place > 0.0:
                    alpha = cost * p
                    bend = cost / (2.0 * width)
            elif m < 1.0:
                short = 1.0 - m
                alpha = 2.0 * cost * short
                bend = 2.0 * cost
                spent = cost * short * short
                sums[LOSS] += spent
                sums[GAIN + side] -= spent
                sums[GAIN_SLOPE + side] -= 2.0 * spent
                sums[GAIN_BEND + side] += 2.0 * spent
            sums[ALPHA + side] += alpha
            sums[BEND] += bend
        shares[i] = signs[i] * alpha
        bends[i] = bend
    if loss != LOGISTIC:
        for side in range(2):
            sums[GAIN + side] += sums[ALPHA + side]
            sums[GAIN_SLOPE + side] += sums[ALPHA + side]
    if loss != HINGE:
        sums[SMOOTHED] = sums[LOSS]
    return sums


@compiled
def values_along(loss, width, centre, margins, gains, costs, steps):  # type: ignore[no-untyped-def]
    """Return the sum of (smoothed) losses at the margins m + t g, for every step t."""
    totals = np.zeros(steps.shape[0])
    each = centre.shape[0] > 1
    for i in range(margins.shape[0]):
        cost = costs[i]
        if cost > 0.0:
            for k in range(steps.shape[0]):
                m = margins[i] + steps[k] * gains[i]
                if loss == LOGISTIC:
                    totals[k] += cost * (math.log1p(math.exp(-abs(m))) + max(0.0, -m))
                elif loss == HINGE:
                    short = 1.0 - m
                    q = centre[i] if each else centre[0]
                    p = min(max(q + short / (2.0 * width), 0.0), 1.0)
                    totals[k] += cost * (p * short - width * (p - q) * (p - q))
                elif m < 1.0:
                    totals[k] += cost * (1.0 - m) * (1.0 - m)
    return totals


# ---- passes

_BLOCK_BYTES = 1 << 20

# The width of the hinge's band, and the width by which rows count as in it.
Smoothing = tuple[float, float]
Centre = np.ndarray | None  # about which each row's band lies; None: about 1/2
_MIDDLE = np.array([0.5])


def scores_of(block: Block, w: np.ndarray) -> np.ndarray:
    """Return w.x + b of every row; the last two are remembered."""
    key, kept = w.tobytes(), block.memo.setdefault("scores", [])
    for name, values in kept:
        if name == key:
            return np.asarray(values)
    found = scores(base_rows(block.X), w[1:])
    found += w[0]
    if block.memo.get("remember", True):
        block.memo["scores"] = [*kept[-1:], (key, found)]
    return found


def _about(centre: Centre) -> np.ndarray:
    """Return the centres in the one form that the loops know."""
    if centre is None:
        return _MIDDLE
    centre = np.ascontiguousarray(centre, dtype=np.float64)
    return centre if centre.flags.writeable else centre.copy()


def _terms(
    block: Block, centre: Centre, posed: Posed, w: np.ndarray, smoothing: Smoothing
) -> tuple[np.ndarray, ...]:
    signs, costs = block.signs(posed), block.costs(posed)
    shares, bends = np.empty(len(signs)), np.empty(len(signs))
    margins = signs * scores_of(block, w)
    with np.errstate(all="ignore"):
        sums = row_terms(
            posed.loss, *smoothing, _about(centre), margins, signs, costs, shares, bends
        )
    return sums, shares, bends


def gradient_and_diagonal(
    block: Block, centre: Centre, posed: Posed, w: np.ndarray, smoothing: Smoothing
) -> Sums:
    """Return the sums of `row_terms` and, by column, X^T alpha y of each class, X^T d, x^T D x."""
    sums, shares, bends = _terms(block, centre, posed, w, smoothing)
    with np.errstate(all="ignore"):
        return sums, moments(base_rows(block.X), shares, bends, block.X.shape[1])


def gradient_and_matrix(
    block: Block,
    centre: Centre,
    posed: Posed,
    w: np.ndarray,
    smoothing: Smoothing,
    mean: np.ndarray,
    spread: np.ndarray,
    in_blocks: bool,
) -> Sums:
    """Return the sums of `row_terms`, X^T alpha y by class, and the upper triangle of the matrix.

    V = (X - mean) / spread where rows are laid out densely, X / spread where they are not.
    """
    sums, shares, bends = _terms(block, centre, posed, w, smoothing)
    base: Any = base_rows(block.X)
    with np.errstate(all="ignore"):
        by_class = combined(base, shares, len(mean))
        if in_blocks:
            matrix = _laid_out(base, bends, mean, spread)
        else:
            matrix = scaled_squares(base, bends, spread)
    return sums, by_class, np.ascontiguousarray(matrix)


def _laid_out(base: Any, bends: np.ndarray, centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Sum the matrix over pieces that fit the cache; rows without curvature are left out."""
    n, size = len(bends), len(centre) + 1
    inverse, row = 1.0 / spread, 0
    piece = np.empty((max(16, min(n, _BLOCK_BYTES // (8 * size))), size))
    matrix = np.zeros((size, size), order="F")
    while row < n:
        row, filled = fill(base, bends, centre, inverse, row, piece)
        if filled:
            matrix = dsyrk(1.0, piece[:filled].T, 1.0, matrix, overwrite_c=1)
    return matrix


def curved(
    block: Block, centre: Centre, posed: Posed, w: np.ndarray, smoothing: Smoothing, v: np.ndarray
) -> Sums:
    """Return X^T D X v and the sum of D X v; rows without curvature are not read."""
    key, kept = (w.tobytes(), smoothing), block.memo.get("bends")
    if kept is not None and kept[0] == key:
        places, bends = kept[1:]
    else:
        _, _, all_bends = _terms(block, centre, posed, w, smoothing)
        places = np.flatnonzero(all_bends)
        bends = all_bends[places]
        if block.memo.get("remember", True):
            block.memo["bends"] = key, places, bends
    base, result = base_rows(block.X), np.zeros(len(v))
    with np.errstate(all="ignore"):
        if isinstance(base, DenseRows):
            pushes = _dense_curved(base.values, places, bends, v, result)
        else:
            pushes = _sparse_curved(
                base.values, base.indices, base.starts, places, bends, v, result
            )
    return result, float(pushes)


def along(
    block: Block,
    centre: Centre,
    posed: Posed,
    w: np.ndarray,
    smoothing: Smoothing,
    direction: np.ndarray,
    steps: np.ndarray,
) -> Sums:
    """Return the sum of losses at w + t direction for every step t."""
    signs, costs = block.signs(posed), block.costs(posed)
    gains = signs * (scores(base_rows(block.X), direction[1:]) + direction[0])
    margins = signs * scores_of(block, w)
    with np.errstate(all="ignore"):
        return (
            values_along(posed.loss, smoothing[0], _about(centre), margins, gains, costs, steps),
        )


def multipliers(
    block: Block, centre: Centre, posed: Posed, w: np.ndarray, smoothing: Smoothing
) -> Sums:
    """Return alpha / c of every row, in a list of one."""
    _, shares, _ = _terms(block, centre, posed, w, smoothing)
    costs = block.costs(posed)
    return ([np.divide(abs(shares), costs, out=np.zeros(len(costs)), where=costs > 0.0)],)


def spread_of(block: Block) -> Sums:
    """Return [count, mean, squares about it, largest, entries stored] of the columns, in a list."""
    n, width = block.X.shape
    used = np.ones(n, dtype=bool) if block.weights is None else block.weights > 0.0
    with np.errstate(all="ignore"):
        return ([column_spread(base_rows(block.X), used, width)],)


@compiled
def _dense_curved(values, places, bends, v, result):  # type: ignore[no-untyped-def]
    pushes = 0.0
    for k in range(places.shape[0]):
        row = values[places[k]]
        total = 0.0
        for j in range(v.shape[0]):
            total += row[j] * v[j]
        push = bends[k] * total
        pushes += push
        for j in range(v.shape[0]):
            result[j] += push * row[j]
    return pushes


@compiled
def _sparse_curved(values, indices, starts, places, bends, v, result):  # type: ignore[no-untyped-def]
    pushes = 0.0
    for k in range(places.shape[0]):
        i = places[k]
        total = 0.0
        for p in range(starts[i], starts[i + 1]):
            total += values[p] * v[indices[p]]
        push = bends[k] * total
        pushes += push
        for p in range(starts[i], starts[i + 1]):
            result[indices[p]] += push * values[p]
    return pushes


# ---- blocks visited on this machine, one after another or a few at a time


class LocalEngine:
    """Opens each block when it is visited and lets go of it after.

    `openers` return the blocks; `threads` of them are open at the same time. Sums are joined in the
    order of the blocks, so that the number of threads changes no bit.
    """

    def __init__(
        self,
        openers: Sequence[Callable[[], Block]],
        counts: Sequence[int],
        n_features: int,
        n_entries: int,
        threads: int = 1,
    ) -> None:
        self.openers, self.counts = list(openers), list(counts)
        self.n_rows, self.n_features, self.n_entries = sum(counts), n_features, n_entries
        self.threads = threads

    def blocks(self) -> Iterator[Block]:
        """Yield every block in its turn."""
        for opener in self.openers:
            yield opener()

    def reduce(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Return the joined results of all blocks."""
        return reduce(
            joined, self._each(lambda number: function(self.openers[number](), *arguments))
        )

    def keep(self, values: np.ndarray) -> np.ndarray:
        """Hold a vector of all rows for `reduce_each`."""
        return values

    def reduce_each(
        self, function: Callable[..., Sums], pieces: np.ndarray | None, *arguments: Any
    ) -> Sums:
        """Do the same, each block with its own stretch of a vector of all rows."""
        ends = np.cumsum([0, *self.counts])

        def visit(number: int) -> Sums:
            piece = None if pieces is None else pieces[ends[number] : ends[number + 1]]
            return function(self.openers[number](), piece, *arguments)

        return reduce(joined, self._each(visit))

    def _each(self, visit: Callable[[int], Sums]) -> Iterator[Sums]:
        numbers = iter(range(len(self.openers)))
        if self.threads == 1 or len(self.openers) == 1:
            yield from map(visit, numbers)
            return
        with one_thread(), ThreadPoolExecutor(self.threads) as pool:
            # No more results wait to be joined than there are threads: each may be a matrix.
            running = [pool.submit(visit, number) for number in islice(numbers, self.threads + 1)]
            while running:
                found = running.pop(0).result()
                running += [pool.submit(visit, number) for number in islice(numbers, 1)]
                yield found
