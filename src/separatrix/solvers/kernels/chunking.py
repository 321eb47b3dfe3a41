"""Chunking: the kernel model, a working set of rows at a time.

    max over a   sum_i a_i - 1/2 sum_ij a_i y_i a_j y_j K_ij
    subject to   0 <= a_i <= c_i,   sum_i y_i a_i = 0

The outer loop of the lectures: take about a thousand rows that violate optimality most, solve
their part of the problem with the rest held still (`smo`), bring f up to date from the rows whose
multipliers changed, and stop when the gap between the two objectives is small enough.

With two rows a chunk this is SMO itself: one pair a chunk, the two that violate optimality most
(Keerthi et al. 2001). One update is one pair of `smo`. Kernel values may be float32; a and f are
float64 always. What float32 hides, `resume` repairs from an f computed otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.problem.machine import KernelMachine
from separatrix.solvers.kernels.kernel_rows import spans_of
from separatrix.solvers.kernels.smo import (
    CHUNK,
    CURVED,
    FIRST,
    SECOND,
    STEPS,
    Part,
    array_steps,
    choose_rows,
    objectives,
    pair_steps,
    violation,
)
from separatrix.solvers.linear.claims import hinge_bias_interval
from separatrix.solvers.running.drive import NO_LIMIT, Status, frames, relative_gap

__all__ = [
    "PairFrame", "State", "advance", "current", "replay_pairs", "resume", "start", "violation",
]  # fmt: skip

_SHARE = 0.1  # how far a chunk lowers its violation
_SHARE_OF_ALL = 0.001  # and one that holds all rows
_STEPS_A_ROW = 20
# After so many rounds, each of which raises the dual by less than these shares of the gap that is
# left and of itself, rounding is all that moves.
_MOST_IDLE, _OF_GAP, _OF_DUAL = 64, 1e-6, 1e-9
_BIAS_NEAR = 30.0  # the best bias is sought when the gap is within so many tolerances
_LEAST_VIOLATION = 1e-14
_ROUGH = 1e-5  # a gap that rounding to float32, step by step, is far from
_NO_MARGIN = 1e-7  # of the longest row; |w|, a root, is known to about 1e-8
_FURTHEST = 1e3
_FLATTEST = {np.dtype(np.float32): 2e-7, np.dtype(np.float64): 1e-14}


@dataclass
class Chunk:
    """The part of the problem being solved: its rows, their kernel values, and where it stands."""

    rows: np.ndarray
    part: Part
    first_alpha: np.ndarray
    target: float
    steps_left: int


@dataclass
class State:
    """A run in progress: multipliers, f = K(a y) - y, and the objectives that bracket the best."""

    machine: KernelMachine
    kernel_rows: Any
    tol: float
    size: int
    alpha: np.ndarray
    f: np.ndarray
    bias: float = 0.0
    primal: float = np.inf
    dual: float = 0.0
    updates: int = 0
    rounds: int = 0
    idle: int = 0
    is_smo: bool = False
    most_idle: int = _MOST_IDLE
    pair: tuple[int, int] = (-1, -1)  # the rows of the last step, none before the first
    step_in: int = 0  # the number of the chunk of that step
    highest: float = -np.inf  # dual so far
    status: Status | None = None
    chunk: Chunk | None = field(default=None, repr=False)
    last: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    counts: np.ndarray = field(default_factory=lambda: np.zeros(4, dtype=np.int64), repr=False)
    before: np.ndarray = field(default_factory=lambda: np.zeros(2), repr=False)
    kept: Any = field(default=None, repr=False)  # the last chunk's rows and kernel values
    steps: Callable[..., bool] = field(default=pair_steps, repr=False)
    scores: np.ndarray | None = field(default=None, repr=False)  # K(a y) as a proof computed it

    @property
    def w(self) -> np.ndarray:
        """The multipliers: `drive` looks whether they are finite."""
        return self.alpha

    @property
    def passes(self) -> float:
        """How many chunks were solved."""
        return float(self.rounds)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal at the end of the last chunk."""
        return relative_gap(self.primal, self.dual)

    @property
    def negative_curvature(self) -> bool:
        """Whether some pair showed that the kernel is not positive."""
        return bool(self.counts[CURVED] > 0)


def start(
    machine: KernelMachine,
    *,
    kernel_rows: Any,
    tol: float = 1e-3,
    size: int = CHUNK,
    first: np.ndarray | None = None,
    by_arrays: bool = False,
) -> State:
    """Begin at zero, or at the feasible multipliers `first`; step loop by loop, or by arrays."""
    n = len(machine.signs)
    alpha = np.zeros(n) if first is None else np.array(first, dtype=np.float64)
    state = State(
        machine, kernel_rows, tol, min(size, kernel_rows.capacity), alpha, -machine.signs.copy()
    )
    state.steps = array_steps if by_arrays else pair_steps
    if size == 2:
        state.is_smo, state.most_idle = True, _MOST_IDLE * max(1, n)  # a round is one step
    used = np.flatnonzero(alpha)
    for begin in range(0, len(used), state.size):
        part = used[begin : begin + state.size]
        _add(state, part, (machine.signs * alpha)[part])
    _measure(state)
    return state


def resume(state: State, alpha: np.ndarray, scores: np.ndarray, tol: float) -> None:
    """Go on from multipliers whose scores K(a y) were computed in float64."""
    state.alpha, state.f = alpha.copy(), scores - state.machine.signs
    state.tol, state.status, state.chunk = tol, None, None
    state.idle, state.highest = 0, -np.inf
    _measure(state)


def advance(state: State, budget: int) -> Status | None:
    """Make at most `budget` pair steps, of one chunk: a caller may have a clock."""
    while state.status is None:
        if state.chunk is None:
            _open(state)
            if state.chunk is None:
                break
        chunk = state.chunk
        made = state.counts[STEPS]
        budget_here = min(budget, chunk.steps_left)
        done = state.steps(chunk.part, chunk.target, budget_here, state.counts, state.before)
        made = int(state.counts[STEPS] - made)
        if made:
            first, second = chunk.rows[state.counts[[FIRST, SECOND]]]
            state.pair, state.step_in = (int(first), int(second)), state.rounds + 1
        chunk.steps_left -= made
        state.updates += made
        budget -= made
        if done or chunk.steps_left == 0:
            _close(state)
        if state.chunk is not None or made:
            return state.status
    return state.status


def current(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers and f of this moment, inside a chunk too."""
    chunk = state.chunk
    if chunk is None:
        return state.alpha.copy(), state.f.copy()
    alpha, f = state.alpha.copy(), state.f.copy()
    alpha[chunk.rows] = chunk.part.alpha
    if _holds_all(state, chunk):
        return alpha, chunk.part.f.copy()
    rows, steps = _changes(chunk)
    machine = state.machine
    state.kernel_rows.add(machine.members[rows], steps, spans_of(machine.members), f)
    return alpha, f


def _open(state: State) -> None:
    """Choose the rows of the next chunk, or see that nothing is left to do."""
    machine = state.machine
    low, high = violation(machine, state.alpha, state.f)
    least = _LEAST_VIOLATION * (1.0 + float(abs(state.f).max(initial=0.0)))
    if not high - low > least:
        state.status = Status.SETTLED
        return
    rows = choose_rows(machine, state.alpha, state.f, state.last, state.size)
    if state.kept is not None and np.array_equal(state.kept[0], rows):
        K = state.kept[1]
    else:
        if state.is_smo:
            state.kernel_rows.fetch(machine.members[rows])  # both will move
        K = state.kernel_rows.block(machine.members[rows])
        state.kept = (rows, K)
    state.last = rows
    f, alpha = state.f[rows], state.alpha[rows]
    diagonal = state.kernel_rows.diagonal[machine.members[rows]]
    signs, costs = machine.signs[rows], machine.costs[rows]
    state.chunk = Chunk(
        rows=rows,
        part=Part(K, _FLATTEST[K.dtype], diagonal, signs, costs, alpha.copy(), f),
        first_alpha=alpha,
        target=(_SHARE if len(state.f) > state.size else _SHARE_OF_ALL) * (high - low),
        steps_left=_STEPS_A_ROW * len(rows),
    )


def _changes(chunk: Chunk) -> tuple[np.ndarray, np.ndarray]:
    alpha, before = chunk.part.alpha, chunk.first_alpha
    moved = np.flatnonzero(alpha != before)
    return chunk.rows[moved], (chunk.part.signs * (alpha - before))[moved]


def _close(state: State) -> None:
    """Bring f up to date and look how far the run has come."""
    chunk = state.chunk
    assert chunk is not None
    rows, steps = _changes(chunk)
    state.alpha[chunk.rows] = chunk.part.alpha
    state.chunk = None
    state.rounds += 1
    if len(rows) == 0:
        state.status = Status.SETTLED
        return
    if _holds_all(state, chunk):
        state.f = chunk.part.f
    else:
        _add(state, rows, steps)
    # A pair moves alone; but pairs that nothing bounds may go on for ever.
    if state.machine.is_hard and not (state.is_smo and state.rounds % (10 * len(state.f))):
        _stretch(state)
    _measure(state)
    least = min(_OF_GAP * (state.primal - state.dual), _OF_DUAL * abs(state.dual))
    state.idle = state.idle + 1 if state.dual - state.highest <= least else 0
    state.highest = max(state.highest, state.dual)
    if state.status is None and state.idle >= state.most_idle:
        state.status = Status.SETTLED


def _holds_all(state: State, chunk: Chunk) -> bool:
    """Whether the steps of a chunk kept the f of every row up to date, as far as is needed.

    They round it in float32, whose values are rounded as much.
    """
    is_rough = state.tol >= _ROUGH and chunk.part.K.dtype == np.float32
    return len(chunk.rows) == len(state.f) and bool(is_rough)


def _stretch(state: State) -> None:
    """Go to the best point of the ray through alpha, which nothing bounds: far, if it has none."""
    square, total = state.machine.square(state.alpha, state.f), float(state.alpha.sum())
    factor = min(total / square, _FURTHEST) if square > 0.0 else _FURTHEST
    if factor > 1.0:
        with np.errstate(over="ignore"):  # then it is no point, and the run ends
            state.alpha *= factor
            state.f = factor * (state.f + state.machine.signs) - state.machine.signs


def _add(state: State, rows: np.ndarray, steps: np.ndarray) -> None:
    members = state.machine.members
    state.kernel_rows.add(members[rows], steps, spans_of(members), state.f)


def _measure(state: State) -> None:
    """Compute both objectives, and end the run where they are close enough."""
    machine, alpha, f = state.machine, state.alpha, state.f
    if not machine.is_hard and state.steps is pair_steps:
        measured = objectives(machine.signs, machine.costs, alpha, f)
        state.bias, state.primal, state.dual = measured
    else:
        low, high = violation(machine, alpha, f)
        ends = [end for end in (low, high) if np.isfinite(end)]
        state.bias = -float(np.mean(ends)) if ends else 0.0
        state.primal, state.dual = machine.primal(alpha, f, state.bias), machine.dual(alpha, f)
    if machine.is_hard:
        if _has_no_margin(state):
            state.status = Status.NOT_SEPARABLE
            return
    elif state.tol < state.gap <= _BIAS_NEAR * state.tol:
        scores = f + machine.signs
        least, most = hinge_bias_interval(scores, machine.signs, machine.costs, state.bias)
        best = min(max(state.bias, least), most)
        state.bias, state.primal = best, machine.primal(alpha, f, best)
    if state.gap <= state.tol:
        state.status = Status.OPTIMAL


def _has_no_margin(state: State) -> bool:
    """Whether |w| / sum a, which no margin exceeds, is down to rounding."""
    total = float(state.alpha.sum())
    size = float(np.sqrt(abs(state.kernel_rows.diagonal).max(initial=0.0)))
    length = float(np.sqrt(state.machine.square(state.alpha, state.f)))
    return total > 0.0 and length <= _NO_MARGIN * size * total


# ---- every pair step of a kernel model, as frames


@dataclass(frozen=True, eq=False)
class PairFrame:
    """One pair step: the rows, their multipliers before and after, and where the run then stands.

    `pair` is (-1, -1) before the first step. `alpha` are all multipliers, `errors` the rows on the
    wrong side, and `gap` the relative difference of the objectives, in floating point. `chunk` is
    the number of the chunk that the step belongs to.
    """

    update: int
    pair: tuple[int, int]
    before: tuple[float, float]
    after: tuple[float, float]
    alpha: np.ndarray
    bias: float
    errors: int
    gap: float
    status: Status | None
    machine: int = 0
    chunk: int = 0


def replay_pairs(
    machine: KernelMachine, kernel_rows: Any, tol: float, budget: int = NO_LIMIT, size: int = CHUNK
) -> Iterator[PairFrame]:
    """Yield the start and then every step."""
    state = start(machine, kernel_rows=kernel_rows, tol=tol, size=size)
    yield from frames(advance, state, budget, _frame)


def _frame(state: State, status: Status | None) -> PairFrame:
    machine = state.machine
    alpha, f = current(state)
    low, high = violation(machine, alpha, f)
    bias = -0.5 * (low + high) if np.isfinite(low + high) else 0.0
    primal, dual = machine.primal(alpha, f, bias), machine.dual(alpha, f)
    first, second = state.pair
    moved = state.updates > 0
    wrong = machine.signs * (f + machine.signs + bias) <= 0.0
    return PairFrame(
        update=state.updates,
        pair=state.pair,
        before=(float(state.before[0]), float(state.before[1])),
        after=(float(alpha[first]), float(alpha[second])) if moved else (0.0, 0.0),
        alpha=alpha,
        bias=bias,
        errors=int((wrong & (machine.costs > 0.0)).sum()),
        gap=(primal - dual) / primal if 0.0 < primal < np.inf else float(primal > 0.0),
        status=status,
        chunk=state.step_in,
    )
