"""Kozinec's algorithm (1973): walk to the point of the convex hull that is nearest the origin.

    minimise |w|   subject to   w in the convex hull of the signed rows z_r

Start at a row. Where a row has ``w.z_r <= 0``, move w to the point of the segment [w, z_r] nearest
the origin. The first w without such a row separates; a product within the rounding of its own sum
is no sign of being on the right side, and counts as 0. For the epsilon-solution also move where
``|w| - w.z_r / |w| >= epsilon``; at the end the largest possible margin m is squeezed between

    min_r w.z_r / |w|  <=  m  <=  |w|        (a gap below epsilon)

Every w is a known convex combination of rows, so |w| bounds the margin of *any* hyperplane, proved
by its coefficients; on data that cannot be separated it shrinks towards 0. Each update adds at
least 1/R^2 to 1/|w|^2, so with a margin m there are at most (R/m)^2 updates, as for the perceptron.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled, inlined
from separatrix.errors import DataError
from separatrix.problem.rows import (
    least_margin,
    margin,
    push,
    row_count,
    rows_of,
    square_norms,
)
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import (
    CLEAN,
    CURSOR,
    OWN,
    ROW,
    UPDATES,
    VISITS,
    Status,
    last_visit,
    shuffle,
)

RUNNING, CLEAN_PASS, ORIGIN, PASSES = range(4)

# A place in `Memory.counts`, after those that every run has.
REFRESHED_AT = OWN
# Places in `Memory.sums`.
SCALE, SQUARE, REFRESHED_SQUARE, REACH = range(4)

# Below this share of the rows it is made of, w is nothing but rounding: the origin is reached.
_AT_ORIGIN = 1e-13
_SMALLEST_SCALE = 1e-100
_ROUNDING = 2.0**-53
# Squares below this have lost digits to underflow (and all of them, unless every row is zero).
_SMALLEST_SQUARE = 1e-280


class Settings(NamedTuple):
    """How to run, as plain numbers."""

    order: int
    epsilon: float
    last_visit: int


class Memory(NamedTuple):
    """What a run remembers between calls. w is `sums[SCALE] * direction`, the convex coefficients
    are `sums[SCALE] * shares`: shrinking both costs one multiplication."""

    direction: np.ndarray
    shares: np.ndarray
    squares: np.ndarray  # z_r.z_r of every row
    order: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    dice: np.ndarray


class State(drive.State):
    """A run in progress."""

    @property
    def w(self) -> np.ndarray:
        """The current weights, a point of the convex hull."""
        return np.asarray(self.memory.sums[SCALE] * self.memory.direction)

    @property
    def alpha(self) -> np.ndarray:
        """The convex coefficients of w, one for each signed row."""
        return np.asarray(self.memory.sums[SCALE] * self.memory.shares)

    @property
    def bound(self) -> float:
        """No hyperplane has a margin larger than |w|."""
        return float(np.linalg.norm(self.w))

    def errors_of(self, w: np.ndarray) -> int:
        """Count the rows not on their side; a product within its own rounding is 0."""
        return int(count_wrong(self.rows, w, self.memory.squares))


def start(
    problem: Any,
    epsilon: float | None = None,
    order: str = "cyclic",
    max_passes: float = np.inf,
    seed: int = 0,
) -> State:
    """Lay out a run at the first row, or at a random one when the order is random."""
    rows, n = rows_of(problem), problem.n_rows
    with np.errstate(over="ignore"):
        squares = square_norms(rows)
    longest = float(squares.max())
    if not _SMALLEST_SQUARE < longest < np.inf:
        raise DataError(
            f"Kozinec squares the lengths of the rows, and the largest square comes out as "
            f"{longest:g}. Divide the columns so that their values lie between 1e-140 and 1e150."
        )
    settings = Settings(
        order=drive.CODES[order],
        epsilon=np.inf if epsilon is None else float(epsilon),
        last_visit=last_visit(max_passes, n),
    )
    memory = Memory(
        direction=np.zeros(problem.dimension),
        shares=np.zeros(n),
        squares=squares,
        order=np.arange(n if settings.order == drive.RANDOM else 0),
        counts=np.zeros(OWN + 1, dtype=np.int64),
        sums=np.ones(4),
        dice=drive.seeded_dice(seed),
    )
    first = 0
    if settings.order == drive.RANDOM:
        shuffle(memory.order, memory.dice)
        first = int(memory.order[0])
    move_onto_row(rows, memory, first)
    return State(rows, settings, memory)


def advance(state: State, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    outcome = advance_loop(state.rows, state.settings, state.memory, budget)
    if outcome == CLEAN_PASS:
        return Status.SEPARATED if state.settings.epsilon == np.inf else Status.EPSILON
    return {RUNNING: None, ORIGIN: Status.ORIGIN, PASSES: Status.BUDGET}[outcome]


@compiled
def advance_loop(rows, settings, memory, budget):  # type: ignore[no-untyped-def]
    """Move w towards rows that are not far enough on their side, at most `budget` times."""
    counts, sums = memory.counts, memory.sums
    shuffled = settings.order == drive.RANDOM
    n = row_count(rows)
    made = 0
    while True:
        if not sums[SQUARE] > (_AT_ORIGIN * sums[REACH]) ** 2:
            return ORIGIN
        if counts[CLEAN] >= n and (not shuffled or counts[CURSOR] == 0):
            return CLEAN_PASS
        if counts[VISITS] >= settings.last_visit:
            return PASSES
        # A row violates when scale * direction.z_r <= enough.
        enough = enough_margin(sums[SQUARE], settings.epsilon) / sums[SCALE]
        doubt = square_of_doubt(sums[SQUARE] / sums[SCALE] ** 2, memory.direction.shape[0])
        if settings.order == drive.WORST:
            row, product = least_margin(rows, memory.direction)
            visited = n
            found = not product > enough
            if not found and product**2 <= doubt * memory.squares[row]:
                found = is_rounding(rows, row, memory.direction, product)
        else:
            begin = counts[CURSOR]
            visits_left = settings.last_visit - counts[VISITS]
            if not shuffled:
                visits_left = min(visits_left, n - counts[CLEAN])
            end = begin + min(visits_left, n - begin)
            place, product = next_violator(rows, memory, enough, doubt, begin, end)
            visited, found = place - begin, place < end
            row = 0
            if found:
                row = memory.order[place] if shuffled else place
            counts[CURSOR] = place
        if not found:
            counts[CLEAN] += visited
            counts[VISITS] += visited
        elif made == budget:
            if settings.order != drive.WORST:
                counts[CLEAN] += visited
                counts[VISITS] += visited
            return RUNNING
        else:
            step_towards(rows, memory, row, sums[SCALE] * product)
            made += 1
            counts[CLEAN] = 0
            counts[VISITS] += visited
            if settings.order != drive.WORST:
                counts[VISITS] += 1
                counts[CURSOR] += 1
        if counts[CURSOR] == n:
            counts[CURSOR] = 0
            if shuffled:
                shuffle(memory.order, memory.dice)


@compiled
def enough_margin(square, epsilon):  # type: ignore[no-untyped-def]
    """Rows must have w.z above this: 0, and |w| (|w| - epsilon) for the epsilon-solution."""
    if epsilon == np.inf:
        return 0.0
    return max(0.0, square - epsilon * math.sqrt(square))


@compiled
def square_of_doubt(square, width):  # type: ignore[no-untyped-def]
    """Return (2 d u |w|)^2: times |z|^2 it bounds the square of the rounding of w.z."""
    return (2.0 * width * _ROUNDING) ** 2 * square


@compiled
def is_rounding(rows, row, direction, product):  # type: ignore[no-untyped-def]
    """Whether w.z is within the rounding of its own sum: 2 d u sum_j |w_j z_j|."""
    z = np.zeros(direction.shape[0])
    push(rows, row, 1.0, z)
    size = 0.0
    for j in range(z.shape[0]):
        size += abs(z[j] * direction[j])
    return product <= 2.0 * z.shape[0] * _ROUNDING * size


@compiled
def count_wrong(rows, w, squares):  # type: ignore[no-untyped-def]
    """Count the rows whose product with w is not above 0 by more than its rounding."""
    square = 0.0
    for j in range(w.shape[0]):
        square += w[j] * w[j]
    doubt = math.sqrt(square_of_doubt(square, w.shape[0]))
    wrong = 0
    for row in range(row_count(rows)):
        product = margin(rows, row, w)
        near = abs(product) <= doubt * math.sqrt(squares[row])
        if not product > 0.0 or (near and is_rounding(rows, row, w, product)):
            wrong += 1
    return wrong


@compiled
def next_violator(rows, memory, enough, doubt, begin, end):  # type: ignore[no-untyped-def]
    """Return the first place from `begin` on whose row violates and its product, or `end`."""
    direction, order, squares = memory.direction, memory.order, memory.squares
    shuffled = order.shape[0] > 0
    for place in range(begin, end):
        row = order[place] if shuffled else place
        product = margin(rows, row, direction)
        if not product > enough:
            return place, product
        if product * product <= doubt * squares[row] and is_rounding(rows, row, direction, product):
            return place, product
    return end, 0.0


@inlined
def step_towards(rows, memory, row, product):  # type: ignore[no-untyped-def]
    """Move w to the point of the segment [w, z] nearest the origin; `product` is w.z."""
    direction, shares, counts, sums = memory.direction, memory.shares, memory.counts, memory.sums
    square, row_square = sums[SQUARE], memory.squares[row]
    # |w + k (z - w)|^2 is least at k = w.(w - z) / |w - z|^2.
    distance = square - 2.0 * product + row_square
    step = (square - product) / distance if distance > 0.0 else 1.0
    if not step < 1.0:
        updates = counts[UPDATES]
        move_onto_row(rows, memory, row)
        counts[UPDATES] = updates + 1
        return
    scale = sums[SCALE] * (1.0 - step)
    push(rows, row, step / scale, direction)
    shares[row] += step / scale
    sums[SCALE] = scale
    sums[SQUARE] = (1.0 - step) ** 2 * square + step * (
        2.0 * (1.0 - step) * product + step * row_square
    )
    sums[REACH] = (1.0 - step) * sums[REACH] + step * math.sqrt(row_square)
    counts[UPDATES] += 1
    counts[ROW] = row
    # The running |w|^2 loses digits as w shrinks and as updates add up.
    stale = counts[UPDATES] - counts[REFRESHED_AT] >= 256 + direction.shape[0] + shares.shape[0]
    if stale or sums[SQUARE] < 1e-3 * sums[REFRESHED_SQUARE] or scale < _SMALLEST_SCALE:
        refresh(memory)


@compiled
def move_onto_row(rows, memory, row):  # type: ignore[no-untyped-def]
    """Set w = z."""
    direction, shares, counts, sums = memory.direction, memory.shares, memory.counts, memory.sums
    direction[:] = 0.0
    shares[:] = 0.0
    sums[SCALE] = 1.0
    push(rows, row, 1.0, direction)
    shares[row] = 1.0
    counts[ROW] = row
    refresh(memory)
    sums[REACH] = math.sqrt(sums[SQUARE])


@compiled
def refresh(memory):  # type: ignore[no-untyped-def]
    """Take the scale into the vectors and compute |w|^2 afresh."""
    direction, shares, counts, sums = memory.direction, memory.shares, memory.counts, memory.sums
    square = 0.0
    for j in range(direction.shape[0]):
        direction[j] *= sums[SCALE]
        square += direction[j] * direction[j]
    for r in range(shares.shape[0]):
        shares[r] *= sums[SCALE]
    sums[SCALE] = 1.0
    sums[SQUARE] = sums[REFRESHED_SQUARE] = square
    counts[REFRESHED_AT] = counts[UPDATES]
