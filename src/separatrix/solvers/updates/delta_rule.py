"""The delta rule (Widrow and Hoff 1960): gradient descent on the squared error of a linear unit.

    minimise  1/2 sum_n (t_n - w.x_n)^2 ,   t_n the sign of the class

With signed rows the error of a row is ``1 - w.z_r``, so the unthresholded unit moves by
``rate (1 - w.z_r) z_r``. The thresholded unit compares signs, ``t - sign(w.x)``, and moves by
``2 rate z_r`` where a row is misclassified. Both in batches of all rows, of some, or of one.

Too large a rate makes the unthresholded unit diverge. In batches it is stable below 2 / L, with L
the largest eigenvalue of Z'Z; row by row it is stable up to 2 / max |z_r|^2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.errors import DataError
from separatrix.problem import losses
from separatrix.problem.rows import (
    margin,
    push,
    row_count,
    rows_of,
    square_norms,
)
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import (
    CURSOR,
    OWN,
    ROW,
    UPDATES,
    VISITS,
    Status,
    last_visit,
    shuffle,
)

RUNNING, SETTLED, DIVERGED, PASSES, SEPARATED = range(5)
_STATUS = {
    RUNNING: None,
    SETTLED: Status.SETTLED,
    DIVERGED: Status.DIVERGED,
    PASSES: Status.BUDGET,
    SEPARATED: Status.SEPARATED,
}

# Places in `Memory.counts`, after those that every run has, and in `Memory.sums`.
WRONG, QUIET = range(OWN, OWN + 2)
LAST_LOSS, HOPELESS_LOSS = range(2)

_HOPELESS_GROWTH = 1e6
# The thresholded loss is a count, and often stays the same for a pass while w still moves.
_QUIET_PASSES = 5


class Settings(NamedTuple):
    """How to run, as plain numbers."""

    order: int
    block: int
    rate: float
    tol: float
    thresholded: bool
    last_visit: int


class Memory(NamedTuple):
    """What a run remembers between calls, as arrays that the loop writes to."""

    w: np.ndarray
    errors: np.ndarray
    order: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    dice: np.ndarray


class State(drive.State):
    """A run in progress."""

    @property
    def loss(self) -> float:
        """The squared error now, the thresholded one if the unit is."""
        return float(squared_error(self.rows, self.settings.thresholded, self.w))


def start(
    problem: Any,
    update: str = "batch",
    order: str = "cyclic",
    batch_size: int = 32,
    rate: float | None = None,
    thresholded: bool = False,
    first: np.ndarray | None = None,
    tol: float | None = None,
    max_passes: float = np.inf,
    seed: int = 0,
) -> State:
    """Lay out a run; `rate=None` takes half of the largest stable rate."""
    rows, n = rows_of(problem), problem.n_rows
    block = {"single": 1, "minibatch": min(batch_size, n), "batch": n}[update]
    w = np.zeros(problem.dimension) if first is None else np.array(first, dtype=np.float64)
    settings = Settings(
        order=drive.CODES[order] if block < n else drive.CYCLIC,
        block=block,
        rate=_safe_rate(problem, block) if rate is None else float(rate),
        tol=-1.0 if tol is None else float(tol),
        thresholded=bool(thresholded),
        last_visit=last_visit(max_passes, n),
    )
    memory = Memory(
        w=w,
        errors=np.zeros(block),
        order=np.arange(n if settings.order == drive.RANDOM else 0),
        counts=np.zeros(OWN + 2, dtype=np.int64),
        sums=np.array([np.inf, np.inf]),
        dice=drive.seeded_dice(seed),
    )
    memory.counts[ROW] = -1
    state = State(rows, settings, memory)
    if not thresholded:
        memory.sums[HOPELESS_LOSS] = _HOPELESS_GROWTH * max(state.loss, 0.5 * n)
    if settings.order == drive.RANDOM:
        shuffle(memory.order, memory.dice)
    return state


def _safe_rate(problem: Any, block: int) -> float:
    limit = largest_stable_rate(problem, block)
    if limit == 0.0:
        raise DataError("the columns are too large to be squared. Divide them, or standardise.")
    return 0.5 * limit if limit < np.inf else 1.0


def largest_stable_rate(problem: Any, block: int) -> float:
    """Return the rate below which no run of this block size can diverge.

    For all rows at once it is exact: 2 over the largest eigenvalue of Z'Z. For smaller blocks it
    is safe: 2 over the largest eigenvalue that a block can have.

    >>> from separatrix.problem.signed import SignedProblem
    >>> problem = SignedProblem(np.array([[1.0], [2.0]]), np.array([1.0, -1.0]), False)
    >>> round(largest_stable_rate(problem, 2), 9), round(largest_stable_rate(problem, 1), 9)
    (0.4, 0.5)
    """
    with np.errstate(over="ignore"):
        squares = np.sort(square_norms(rows_of(problem)))
        largest = float(squares[-block:].sum())
    if block > 1:
        largest = min(largest, _largest_eigenvalue(problem))
    return 2.0 / largest if largest > 0.0 else np.inf


def _largest_eigenvalue(problem: Any, tolerance: float = 1e-10, most: int = 1000) -> float:
    """Return the largest eigenvalue of Z'Z by power iteration; signs do not change it."""
    X, bias = problem.X, float(problem.fit_intercept)
    v = np.random.default_rng(0).standard_normal(problem.dimension)
    largest = 0.0
    v /= np.linalg.norm(v)
    for _ in range(most):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = X @ v[1:] + bias * v[0]
            v = np.concatenate([[bias * scores.sum()], X.T @ scores])
        size = float(abs(v).max())
        if not 0.0 < size < np.inf:
            return 0.0 if size == 0.0 else np.inf
        v /= size  # before squaring, which could overflow
        length = float(np.linalg.norm(v))
        v /= length
        before, largest = largest, size * length
        if abs(largest - before) <= tolerance * largest:
            break
    return largest


def advance(state: State, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    return _STATUS[advance_loop(state.rows, state.settings, state.memory, budget)]


@compiled
def advance_loop(rows, settings, memory, budget):  # type: ignore[no-untyped-def]
    """Visit blocks of rows, moving w against the error of each, at most `budget` times."""
    counts, w = memory.counts, memory.w
    shuffled = settings.order == drive.RANDOM
    n = row_count(rows)
    made = 0
    while True:
        if counts[VISITS] >= settings.last_visit:
            return PASSES
        begin = counts[CURSOR]
        end = min(begin + settings.block, n)
        wrong = 0
        for place in range(begin, end):
            row = memory.order[place] if shuffled else place
            error = error_of(margin(rows, row, w), settings.thresholded)
            memory.errors[place - begin] = error
            if error != 0.0:
                wrong += 1
        if wrong > 0:
            if made == budget:
                return RUNNING
            for place in range(begin, end):
                row = memory.order[place] if shuffled else place
                push(rows, row, settings.rate * memory.errors[place - begin], w)
            made += 1
            counts[UPDATES] += 1
            counts[ROW] = memory.order[begin] if shuffled else begin
        counts[WRONG] += wrong
        counts[VISITS] += end - begin
        counts[CURSOR] = end
        if end == n:
            outcome = end_pass(rows, settings, memory)
            if outcome != RUNNING:
                return outcome


@compiled
def end_pass(rows, settings, memory):  # type: ignore[no-untyped-def]
    """Get ready for the next pass, or say why there should be none."""
    counts, sums = memory.counts, memory.sums
    without_error = counts[WRONG] == 0
    counts[WRONG] = counts[CURSOR] = 0
    if settings.order == drive.RANDOM:
        shuffle(memory.order, memory.dice)
    if without_error:
        return SEPARATED if settings.thresholded else SETTLED
    loss = squared_error(rows, settings.thresholded, memory.w)
    if not loss <= sums[HOPELESS_LOSS]:
        return DIVERGED
    before = sums[LAST_LOSS]
    sums[LAST_LOSS] = loss
    quiet = abs(before - loss) <= settings.tol * before < np.inf
    counts[QUIET] = counts[QUIET] + 1 if quiet else 0
    return SETTLED if counts[QUIET] >= _QUIET_PASSES else RUNNING


@compiled
def error_of(m, thresholded):  # type: ignore[no-untyped-def]
    """Return t - o of a row in signed form: 1 - m, or 2 where the signs differ."""
    if thresholded:
        return 0.0 if m > 0.0 else 2.0
    return 1.0 - m


@compiled
def squared_error(rows, thresholded, w):  # type: ignore[no-untyped-def]
    """Return 1/2 the sum of squared errors."""
    total = 0.0
    for r in range(row_count(rows)):
        m = margin(rows, r, w)
        if thresholded:
            total += 0.0 if m > 0.0 else 2.0
        else:
            total += losses.value(losses.SQUARED, m)
    return total
