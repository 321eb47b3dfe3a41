"""The perceptron (Rosenblatt 1958), in all the forms the lectures give it.

    find  w   subject to   w.z_r > 0   for every signed row z_r

One row at a time: visit rows; where ``w.z_r <= 0`` set ``w <- w + rate z_r``. In batches: add all
misclassified rows of a block at once. On separable data at most (R / margin)^2 single updates are
made (Novikoff 1962). On other data the run ends by a budget, and the pocket (Gallant 1990) holds
the best weights it has tested; the average over all visits (Freund and Schapire 1999) is the other
answer.

A row with ``w.z_r = 0``, or with a margin that is not a number, counts as misclassified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem import losses
from separatrix.problem.rows import (
    KeslerRows,
    approach,
    count_errors,
    least_margin,
    margin,
    push,
    row_count,
    rows_of,
)
from separatrix.problem.signed import row_and_rival
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import (
    CLEAN,
    CURSOR,
    NO_LIMIT,
    OWN,
    ROW,
    UPDATES,
    VISITS,
    Status,
    last_visit,
    shuffle,
)

NO_POCKET, RATCHET, EVERY = range(3)
POCKETS = {False: NO_POCKET, True: RATCHET, "ratchet": RATCHET, "every": EVERY}

RUNNING, SEPARATED, PATIENCE, SETTLED, PASSES = range(5)
_STATUS = {
    RUNNING: None,
    SEPARATED: Status.SEPARATED,
    PATIENCE: Status.PATIENCE,
    SETTLED: Status.SETTLED,
    PASSES: Status.BUDGET,
}

# Places in `Memory.counts`, after those that every run has.
BEST_ERRORS, BEST_RUN, IMPROVED_AT = range(OWN, OWN + 3)
# Places in `Memory.sums`.
MASS, LAST_LOSS = range(2)


class Settings(NamedTuple):
    """How to run, as plain numbers."""

    order: int
    block: int
    rate: float
    decay: float
    pocket: int
    patience: int
    tol: float
    last_visit: int
    average: bool
    counts_itself: bool  # a block is all rows, and each row a sample


class Memory(NamedTuple):
    """What a run remembers between calls, as arrays that the loop writes to."""

    w: np.ndarray
    pocket: np.ndarray
    drift: np.ndarray  # sum of updates, each times the visits before it: see `State.average`
    order: np.ndarray
    missed: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    dice: np.ndarray


@dataclass
class State(drive.State):
    """A run in progress."""

    first: np.ndarray

    @property
    def used(self) -> tuple[int, int]:
        """The row of the data last used, and the class it was to beat (-1: there are but two)."""
        if self.row < 0 or not isinstance(self.rows, KeslerRows):
            return self.row, -1
        return row_and_rival(self.row, self.rows.codes, self.rows.n_classes)

    @property
    def bound(self) -> float:
        """No hyperplane has a larger margin: the updates are a sum of rows, their mean is a point
        of the convex hull, and every margin is at most the length of such a point."""
        mass = float(self.memory.sums[MASS])
        with np.errstate(over="ignore"):
            return float(np.linalg.norm(self.w - self.first)) / mass if mass > 0.0 else np.inf

    @property
    def average(self) -> np.ndarray:
        """The mean of the weights over all visits: w minus what late updates did not yet count."""
        visits = max(1, int(self.memory.counts[VISITS]))
        return self.w - self.memory.drift / visits

    @property
    def errors(self) -> int:
        """The errors of `answer` over the whole set."""
        return int(count_errors(self.rows, self.answer, NO_LIMIT))

    @property
    def answer(self) -> np.ndarray:
        """The averaged weights if `average` is set, else the better of pocket and last ones."""
        if self.settings.average:
            return self.average
        best = int(self.memory.counts[BEST_ERRORS])
        if self.settings.pocket and count_errors(self.rows, self.w, best) >= best:
            return self.memory.pocket
        return self.w


def start(
    problem: Any,
    update: str = "single",
    order: str = "cyclic",
    batch_size: int = 32,
    rate: float = 1.0,
    decay: float = 0.0,
    first: np.ndarray | None = None,
    pocket: bool | str = False,
    average: bool = False,
    patience: int = 0,
    tol: float | None = None,
    max_passes: float = np.inf,
    updates: int = 0,
    seed: int = 0,
) -> State:
    """Lay out a run; `updates` were made before, which matters to a rate that decays."""
    rows = rows_of(problem)
    n = problem.n_rows
    block = {"single": 1, "minibatch": min(batch_size, n), "batch": n}[update]
    settings = Settings(
        order=drive.CODES[order] if update != "batch" else drive.CYCLIC,
        block=block,
        rate=float(rate),
        decay=float(decay),
        # A batch sees every margin before it moves: testing each weight vector is free.
        pocket=EVERY if update == "batch" and pocket else POCKETS[pocket],
        patience=min(patience, NO_LIMIT) if patience else NO_LIMIT,
        tol=-1.0 if tol is None else float(tol),
        last_visit=last_visit(max_passes, n),
        average=bool(average),
        counts_itself=block == n == problem.n_samples,
    )
    w = np.zeros(problem.dimension) if first is None else np.array(first, dtype=np.float64)
    if w.shape != (problem.dimension,):  # loops would follow it unseen
        raise ValueError("what was learned before is of other features or classes. Fit anew.")
    memory = Memory(
        w=w,
        pocket=w.copy(),
        drift=np.zeros(problem.dimension if average else 0),
        order=np.arange(n if settings.order == drive.RANDOM else 0),
        missed=np.zeros(block, dtype=np.int64),
        counts=np.zeros(OWN + 3, dtype=np.int64),
        sums=np.array([0.0, np.inf]),
        dice=drive.seeded_dice(seed),
    )
    memory.counts[BEST_ERRORS] = problem.n_samples + 1
    memory.counts[UPDATES] = memory.counts[IMPROVED_AT] = updates
    memory.counts[ROW] = -1
    # Without a pocket no run is ever long enough to be tested.
    memory.counts[BEST_RUN] = -1 if settings.pocket else NO_LIMIT
    if settings.order == drive.RANDOM:
        shuffle(memory.order, memory.dice)
    return State(rows, settings, memory, w.copy())


def advance(state: State, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    return _STATUS[advance_loop(state.rows, state.settings, state.memory, budget)]


@compiled
def advance_loop(rows, settings, memory, budget):  # type: ignore[no-untyped-def]
    """Visit blocks of rows and correct what is misclassified, at most `budget` times."""
    w, counts, missed_rows = memory.w, memory.counts, memory.missed
    shuffled = settings.order == drive.RANDOM
    n = row_count(rows)
    made = 0
    while True:
        # A fresh shuffle repeats rows: only a clean pass from its start has seen them all.
        if counts[CLEAN] >= n and (not shuffled or counts[CURSOR] == 0):
            return SEPARATED
        if counts[VISITS] >= settings.last_visit:
            return PASSES
        begin = counts[CURSOR]
        if settings.order == drive.WORST:
            place, size = 0, n
            missed = worst_row(rows, w, missed_rows)
            if missed == 0:
                place = n
        else:
            visits_left = settings.last_visit - counts[VISITS]
            if not shuffled:
                visits_left = min(visits_left, n - counts[CLEAN])
            end = begin + min(visits_left, n - begin)
            if settings.block > 1:
                place, missed = next_missed_block(
                    rows, w, memory.order, begin, end, settings.block, missed_rows
                )
            else:
                place, missed = next_missed(rows, w, memory.order, begin, end), 0
                if place < end:
                    missed_rows[0] = memory.order[place] if shuffled else place
                    missed = 1
            size = min(settings.block, n - place)
        counts[CURSOR] = place
        counts[VISITS] += place - begin
        counts[CLEAN] += place - begin
        if missed > 0:
            if made == budget:
                return RUNNING
            if settings.pocket == EVERY or counts[CLEAN] > counts[BEST_RUN]:
                fill_pocket(rows, settings, memory, missed)
            if counts[UPDATES] - counts[IMPROVED_AT] >= settings.patience:
                return PATIENCE
            rate = settings.rate
            if settings.decay != 0.0:
                rate /= (counts[UPDATES] + 1.0) ** settings.decay
            for k in range(missed):
                push(rows, missed_rows[k], rate, w)
                if settings.average:
                    push(rows, missed_rows[k], rate * counts[VISITS], memory.drift)
            made += 1
            memory.sums[MASS] += rate * missed
            counts[UPDATES] += 1
            counts[ROW] = missed_rows[0]
            counts[CLEAN] = 0
            counts[VISITS] += size
            counts[CURSOR] += size
        if counts[CURSOR] == n:
            counts[CURSOR] = 0
            if shuffled:
                shuffle(memory.order, memory.dice)
            if settings.tol >= 0.0 and loss_has_settled(rows, settings, memory):
                return SETTLED


@compiled
def next_missed(rows, w, order, begin, end):  # type: ignore[no-untyped-def]
    """Return the first place from `begin` on whose row is misclassified, or `end`.

    Nearly all the time of a run is spent here, so it does this one thing.
    """
    shuffled = order.shape[0] > 0
    for place in range(begin, end):
        if shuffled and place + drive.NEXT < end:
            approach(rows, order[place + drive.NEXT])
        row = order[place] if shuffled else place
        if not margin(rows, row, w) > 0.0:
            return place
    return end


@compiled
def next_missed_block(rows, w, order, begin, end, block, missed_rows):  # type: ignore[no-untyped-def]
    """Return the first block from `begin` on with misclassified rows, and their number."""
    n = row_count(rows)
    shuffled = order.shape[0] > 0
    place = begin
    while place < end:
        missed = 0
        stop = min(place + block, n)
        for at in range(place, stop):
            row = order[at] if shuffled else at
            if not margin(rows, row, w) > 0.0:
                missed_rows[missed] = row
                missed += 1
        if missed > 0:
            return place, missed
        place = stop
    return place, 0


@compiled
def worst_row(rows, w, missed_rows):  # type: ignore[no-untyped-def]
    """Look at all rows and keep the worst if it is misclassified."""
    missed_rows[0], least = least_margin(rows, w)
    return 0 if least > 0.0 else 1


@compiled
def fill_pocket(rows, settings, memory, missed):  # type: ignore[no-untyped-def]
    """Before w is left behind: keep it if it makes fewer errors than the pocket.

    The ratchet: errors are counted only for weights that got more rows right in a row than the
    pocket did, and counting stops as soon as it has as many errors as the pocket.
    """
    counts = memory.counts
    best = counts[BEST_ERRORS]
    if settings.counts_itself:
        errors = missed
    else:
        errors = count_errors(rows, memory.w, best)
    if errors < best:
        counts[BEST_ERRORS] = errors
        counts[BEST_RUN] = counts[CLEAN]
        counts[IMPROVED_AT] = counts[UPDATES]
        for j in range(memory.w.shape[0]):  # ``pocket[:] = w`` takes numba seconds to compile
            memory.pocket[j] = memory.w[j]


@compiled
def loss_has_settled(rows, settings, memory):  # type: ignore[no-untyped-def]
    """Compare the perceptron loss, the sum of max(0, -w.z), with that of the last pass."""
    loss = 0.0
    for r in range(row_count(rows)):
        loss += losses.value(losses.PERCEPTRON, margin(rows, r, memory.w))
    before = memory.sums[LAST_LOSS]
    memory.sums[LAST_LOSS] = loss
    return abs(before - loss) <= settings.tol * before < np.inf
