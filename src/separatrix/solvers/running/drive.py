"""Runs any method to its end, or one update at a time.

A method is a module with

    start(problem, **settings) -> State    a State has: w, answer, updates, passes, row, bound, rows
    advance(state, budget) -> Status | None

`advance` makes at most `budget` updates and returns None while there is more to do. Calling it N
times with budget 1 gives the same bits as calling it once with budget N, so a replay needs no hook
inside the loop, a clock can be looked at between slices, and Ctrl-C is heard.

One thread for linear algebra on small matrices, where a second costs more than it gives.

The order in which rows are visited: as stored, shuffled anew for every pass, or worst first.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.rows import count_errors, least_margin, row_count, square_norms

Problem = Any
NO_LIMIT = np.iinfo(np.int64).max

# What every run counts, as places in `memory.counts`; a method's own places follow.
CURSOR, CLEAN, UPDATES, VISITS, ROW, OWN = range(6)

_FIRST_SLICE = 64
_SLICE_SECONDS = 0.05
OVERRUN = 0.5  # seconds that the last update may run past the end of the time


class Status(StrEnum):
    """Why a run ended: a plain string with a cause, and a remedy where one is needed.

    >>> Status.BUDGET == "budget", Status.BUDGET.is_final
    (True, False)
    >>> Status.BUDGET.cause
    'the budget of updates, passes or seconds was spent'
    """

    cause: str
    remedy: str
    is_final: bool

    def __new__(cls, value: str, cause: str, remedy: str, is_final: bool) -> Status:
        """Make a member that is its own string value."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.cause, member.remedy, member.is_final = cause, remedy, is_final
        return member

    SEPARATED = ("separated", "every row lies strictly on its own side", "", True)
    EPSILON = ("epsilon", "the margin is known to within epsilon", "", True)
    SETTLED = ("settled", "the loss changed by less than tol over a pass", "", True)
    PATIENCE = (
        "patience",
        "the best weights have not improved for `patience` updates",
        "raise patience, or use a model made for overlapping classes",
        True,
    )
    ORIGIN = (
        "origin",
        "the convex hull of the signed rows reaches the origin: no margin is left to find",
        "ask sx.separability for a proof, or use a model made for overlapping classes",
        True,
    )
    OPTIMAL = ("optimal", "the optimum is reached, to the tolerance given", "", True)
    STATIONARY = (
        "stationary",
        "the kernel is not positive: a stationary point is reached, and better ones may exist",
        "choose other kernel parameters (a smaller gamma or coef0 for sigmoid), or the rbf kernel",
        True,
    )
    NOT_SEPARABLE = (
        "not separable",
        "no hyperplane puts every row strictly on its own side, and that is proved",
        "allow slack, or use a model for overlapping classes (LinearSVM, LogisticRegression)",
        True,
    )
    BUDGET = (
        "budget",
        "the budget of updates, passes or seconds was spent",
        "raise the budget, or use a model made for overlapping classes",
        False,
    )
    READ = (
        "read",
        "the model was read from a file of another program, without a proof",
        "",
        True,
    )
    PASSED = (
        "passed",
        "the passes requested were made; nothing is proved of how far the best is",
        "",
        True,
    )
    STREAMING = ("streaming", "one pass was made over the rows of a stream", "", True)
    DIVERGED = ("diverged", "the loss grew without bound", "lower the learning rate", True)
    INFINITE = (
        "infinite",
        "the classes are separated, so the likelihood has no maximum",
        "use a finite C; verdict_ names the coefficients that run to infinity",
        True,
    )
    OVERFLOW = (
        "overflow",
        "the weights left the range of floating-point numbers",
        "scale the columns (scale=True on Perceptron, or divide large columns)",
        True,
    )
    UNPROVED = (
        "unproved",
        "what floating point found, exact arithmetic does not confirm",
        "it is true to within rounding only: rescale the columns or ask sx.separability",
        True,
    )
    AVERAGED = (
        "averaged",
        "the last weights separate the rows, but their average, the answer, does not",
        "use average=False to get the separating weights",
        True,
    )


def relative_gap(primal: float, dual: float) -> float:
    """Return (primal - dual) / primal: 1 at the start, 0 at the optimum."""
    if primal == 0.0:
        return 0.0
    return (primal - dual) / primal if np.isfinite(primal) else np.inf


def last_visit(max_passes: float, n_rows: int) -> int:
    """Return how many row visits make so many passes."""
    return int(min(max_passes * n_rows, float(NO_LIMIT // 2)))


@dataclass
class State:
    """A run in progress: the rows, how to run, and the arrays that the loop writes to."""

    rows: Any
    settings: Any
    memory: Any

    @property
    def w(self) -> np.ndarray:
        """The current weights."""
        return np.asarray(self.memory.w)

    @property
    def answer(self) -> np.ndarray:
        """The weights the method would hand over now."""
        return self.w

    @property
    def updates(self) -> int:
        """How many updates were made."""
        return int(self.memory.counts[UPDATES])

    @property
    def passes(self) -> float:
        """How many times all rows were visited."""
        return float(self.memory.counts[VISITS]) / row_count(self.rows)

    @property
    def row(self) -> int:
        """The signed row last used; -1 before the first, and where a block of rows was."""
        return int(self.memory.counts[ROW]) if getattr(self.settings, "block", 1) == 1 else -1

    @property
    def used(self) -> tuple[int, int]:
        """The row of the data last used, and the class it was to beat (-1: there are but two)."""
        return self.row, -1

    @property
    def bound(self) -> float:
        """An upper bound on the margin of any hyperplane, or inf; computed in floating point."""
        return np.inf

    def errors_of(self, w: np.ndarray) -> int:
        """Count the rows on which the method would not stop."""
        return int(count_errors(self.rows, w, NO_LIMIT))


@dataclass(frozen=True, eq=False)
class Frame:
    """One update of a replay.

    `margin` is ``min_j w.z_j / |w|``, `bound` an upper bound on the margin of any hyperplane: both
    computed in floating point; a certificate has them proved.
    `row` is the row of the data used; -1 before the first update, and where a block of rows was
    used. Where one model takes several classes, `rival` is the number of the class that this row
    was to beat, and -1 otherwise.
    `machine` counts models, where there is one a class or a pair.
    `visits` counts the rows looked at so far, `step` is how far the weights moved (|w - w before|),
    `errors_before` the errors before this update (-1 at the start), `criterion` the loss that the
    method descends on (NaN where it has none), and `radius` the length R of the longest row.
    `exact` holds the weights as fractions, where the replay is an exact one.
    """

    update: int
    weights: np.ndarray
    row: int
    errors: int
    margin: float
    bound: float
    status: Status | None
    machine: int = 0
    rival: int = -1
    visits: int = 0
    step: float = 0.0
    errors_before: int = -1
    criterion: float = np.nan
    radius: float = np.nan
    exact: tuple[Any, ...] | None = None

    @property
    def inverse_margin(self) -> float:
        """1 / margin, the lectures' B, for these weights; inf where they do not separate."""
        return 1.0 / self.margin if self.margin > 0.0 else np.inf


def advanced(
    state: Any,
    budget: int,
    verdict: Callable[[Any], Status | None],
    iterate: Callable[[Any], None],
) -> Status | None:
    """Make at most `budget` iterations, until the verdict says that the run is over."""
    for made in range(budget + 1):
        status = verdict(state)
        if status is not None or made == budget:
            return status
        iterate(state)
    return None


def solve(
    method: Any,
    problem: Problem,
    budget: int = NO_LIMIT,
    seconds: float = np.inf,
    progress: Callable[[State], None] | None = None,
    **settings: Any,
) -> tuple[Any, Status]:
    """Run a method until it ends by itself or a budget is spent."""
    state = method.start(problem, **settings)
    return state, go_on(method, state, budget, seconds, progress)


def go_on(
    method: Any,
    state: Any,
    budget: int = NO_LIMIT,
    seconds: float = np.inf,
    progress: Callable[[Any], None] | None = None,
    slice_size: int = _FIRST_SLICE,
) -> Status:
    """Continue a run for `budget` more updates, in slices that begin with `slice_size` of them."""
    deadline = time.perf_counter() + seconds
    longest = 0.0
    last = state.updates + min(budget, NO_LIMIT - state.updates)
    while True:
        begun, before = time.perf_counter(), state.updates
        status: Status | None = method.advance(state, min(slice_size, last - state.updates))
        if not np.isfinite(state.w).all():
            return Status.OVERFLOW
        if status is not None:
            return status
        if state.updates >= last:
            # The last update may have finished the work: looking costs no update.
            return method.advance(state, 0) or Status.BUDGET
        now = time.perf_counter()
        longest = max(0.9 * longest, (now - begun) / max(1, state.updates - before))
        if now >= deadline or now + longest > deadline + OVERRUN:
            return Status.BUDGET
        if now - begun < _SLICE_SECONDS:
            slice_size *= 2
        elif now - begun > 2.0 * _SLICE_SECONDS:
            slice_size = max(1, slice_size // 2)
        if progress is not None:
            progress(state)


def replay(
    method: Any, problem: Problem, budget: int = NO_LIMIT, **settings: Any
) -> Iterator[Frame]:
    """Yield the start and then every update of the run that `solve` would make."""
    state = method.start(problem, **settings)
    with np.errstate(over="ignore"):
        radius = math.sqrt(float(square_norms(state.rows).max()))
    before: Frame | None = None
    for frame in frames(method.advance, state, budget, _frame):
        frame = replace(frame, radius=radius)
        if before is not None:
            frame = after(before, frame)
        before = frame
        yield frame


def after(before: Frame, frame: Frame) -> Frame:
    """Say how far the weights moved since the frame before, and how many errors there were."""
    with np.errstate(over="ignore", invalid="ignore"):
        step = float(np.linalg.norm(frame.weights - before.weights))
    return replace(frame, step=step, errors_before=before.errors)


def frames(
    advance: Callable[[Any, int], Status | None],
    state: Any,
    budget: int,
    frame: Callable[[Any, Status | None], Any],
) -> Iterator[Any]:
    """Yield a frame of the start and one of every update."""
    status = advance(state, 0)
    yield frame(state, status)
    while status is None and state.updates < budget:
        status = advance(state, 1)
        if not np.isfinite(state.w).all():
            status = Status.OVERFLOW
        status = status or advance(state, 0)
        if status is None and state.updates >= budget:
            status = Status.BUDGET
        yield frame(state, status)


def _frame(state: State, status: Status | None) -> Frame:
    w = state.w.copy()
    largest = float(np.abs(w).max(initial=0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        _, least = least_margin(state.rows, w)
        norm = largest * float(np.linalg.norm(w / largest)) if largest > 0.0 else 0.0
    row, rival = state.used
    return Frame(
        update=state.updates,
        weights=w,
        row=row,
        errors=state.errors_of(w),
        margin=float(least) / norm if norm > 0.0 else 0.0,
        bound=state.bound,
        status=status,
        rival=rival,
        visits=int(state.memory.counts[VISITS]),
        criterion=float(getattr(state, "loss", np.nan)),
    )


# ---- one thread for linear algebra on small matrices, where a second costs more than it gives


_LITTLE = 1 << 17  # entries: a thread takes longer to start than they take


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def begun(pool: Executor, entries: int, work: Callable[..., Any], *given: Any) -> Future[Any]:
    """Begin work on so many entries in the pool; where they are few, do it at once."""
    return (pool if entries > _LITTLE else AtOnce()).submit(work, *given)


class AtOnce(Executor):
    """Does work where it is submitted: for tasks so short that threads would hinder each other."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Do the work, and return what it gave."""
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


def _libraries() -> list[Any]:
    """Return what limits the libraries loaded by now; a module imported since may have more."""
    import scipy.linalg  # noqa: F401 - loads the library of all SciPy, which must be found
    from threadpoolctl import ThreadpoolController

    if _Limit.modules != len(sys.modules):
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        _Limit.modules, _Limit.libraries = len(sys.modules), found
    return _Limit.libraries


class _Limit:
    """How many blocks, in any thread, keep linear algebra to one thread, and what it had before."""

    lock = threading.Lock()
    blocks = 0
    before: ClassVar[list[tuple[Any, int]]] = []
    libraries: ClassVar[list[Any]] = []
    modules = 0  # imported when the libraries were looked for


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep NumPy's and SciPy's linear algebra to one thread in this block.

    The limit is the process's, and only the thread that owns it can lift it: so the outermost block
    belongs around a pool of threads, and blocks inside its work do nothing. (A library on OpenMP,
    as torch's may be, counts for each thread on its own and is limited in the outermost one alone.)
    """
    with _Limit.lock:
        if _Limit.blocks == 0:
            _Limit.before = [(library, library.num_threads) for library in _libraries()]
            for library, _ in _Limit.before:
                library.set_num_threads(1)
        _Limit.blocks += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.blocks -= 1
            if _Limit.blocks == 0:
                for library, count in _Limit.before:
                    library.set_num_threads(count)


# ---- the order in which rows are visited: as stored, shuffled anew for every pass, or worst first


CYCLIC, RANDOM, WORST = range(3)
CODES = {"cyclic": CYCLIC, "random": RANDOM, "worst": WORST}
# How many rows ahead to prefetch: first the numbers of a row, then its entries. Rows in random
# order come from memory one by one; fetched in time, they take half as long.
AHEAD, NEXT = 16, 8

# Marsaglia's xorshift: shifts and exclusive ors alone, so the same numbers come out compiled and
# interpreted, on every platform.
_LEFT, _RIGHT, _LEFT_AGAIN, _HALF = np.uint64(13), np.uint64(7), np.uint64(17), np.uint64(32)


def seeded_dice(seed: int) -> np.ndarray:
    """Return the state that a shuffle draws from; never zero."""
    return np.random.default_rng(seed).integers(1, 2**63, size=1, dtype=np.uint64)


@compiled
def shuffle(order, dice):  # type: ignore[no-untyped-def]
    """Shuffle in place (Fisher-Yates), drawing from `dice`.

    >>> import numpy as np
    >>> order = np.arange(5)
    >>> shuffle(order, seeded_dice(0))
    >>> sorted(order.tolist())
    [0, 1, 2, 3, 4]
    """
    state = dice[0]
    for i in range(order.shape[0] - 1, 0, -1):
        state ^= state << _LEFT
        state ^= state >> _RIGHT
        state ^= state << _LEFT_AGAIN
        # The upper half, scaled to 0 ... i.
        j = ((state >> _HALF) * np.uint64(i + 1)) >> _HALF
        order[i], order[j] = order[j], order[i]
    dice[0] = state
