"""The course of a run on working sets: when it ends, its next penalty, its next columns.

One update takes Newton steps on a working set, and then looks at all columns again. Both solvers
of sparse weights, that of one hyperplane and that of all classes, share it, and when the Newton
steps end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.solvers.running.drive import Status, relative_gap
from separatrix.solvers.running.threads import one_thread

__all__ = ["FIRST_SET", "LEAST_FLOOR", "advanced", "chosen", "steps"]

FIRST_SET = 20
_STALLS, _NEARER, _MARKEDLY = 6, 0.95, 0.01
_FAR_OFF = 5.0  # times the penalty
_NARROW = 128  # columns
_WIDER = 3  # than the nonzero weights: the most that a working set grows

_NEWTON_STEPS = 20
# Of the promised fall: below the first the curvatures get a floor, above the second less of one.
_POOR, _GOOD, _FIRST_FLOOR = 0.1, 0.3, 1e-3
LEAST_FLOOR = 1e-6  # of the curvature of a row, as a share of its largest
# A model that is exact keeps half of the fall that it promises to first order.
_HALF, _EXACTLY = 0.5, 0.02
_SLOW = 3
_ON_THE_WAY = 0.1  # of the objective

Work = Callable[[Any, Any], None]
Look = Callable[[Any], None]


def advanced(state: Any, budget: int, work: Work, look: Look) -> Status | None:
    """Make at most `budget` updates: `work` on a problem, then `look` at all columns."""
    with one_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for _ in range(budget):
            ended = _outcome(state)
            if ended is not None:
                return ended
            _update(state, work, look)
        return _outcome(state)


def _outcome(state: Any) -> Status | None:
    memory = state.memory
    if memory.solved or state.gap <= state.tol:
        return Status.OPTIMAL
    if memory.stalls >= _STALLS:
        return Status.UNPROVED
    return Status.BUDGET if state.passes >= memory.max_passes else None


def _update(state: Any, work: Work, look: Look) -> None:
    """Take Newton steps on a working set, and look at all columns again."""
    memory, before = state.memory, state.primal
    problem = _next_stop(state)
    work(state, problem)
    state.updates += 1
    look(state)
    fallen = state.primal < before * (1.0 - _MARKEDLY * state.tol)
    nearer = state.gap < _NEARER * memory.gap or _is_nearer(state, problem)
    memory.stalls = 0 if fallen or nearer else memory.stalls + 1
    memory.gap = min(memory.gap, state.gap)


def _next_stop(state: Any) -> Any:
    """Return the problem, or one with a larger penalty on the way to it.

    Few weights are nonzero at a large penalty, and Newton's method is sure there.
    """
    memory = state.memory
    problem, largest = memory.open, _largest(state)
    near = largest <= _FAR_OFF * problem.l1 or len(memory.u) <= _NARROW
    # A stop that was of no use is not made again.
    return problem if near or memory.stalls else replace(problem, l1=largest / _FAR_OFF)


def _is_nearer(state: Any, stop: Any) -> bool:
    """Whether a stop with a larger penalty brought the sums of columns down."""
    before = _FAR_OFF * stop.l1
    return bool(stop.l1 > state.problem.l1 and _largest(state) < _NEARER * before)


def _largest(state: Any) -> float:
    return float(state.memory.open.sizes(state.memory.u).max(initial=0.0))


def chosen(
    room: np.ndarray, spreads: np.ndarray, nonzero: np.ndarray, stalls: int, groups: Any
) -> np.ndarray:
    """Return the places of the columns that are nonzero, beyond their bound or nearest to it.

    `room` is how far the sum of a column is below its bound; `spreads` are the columns' lengths.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        room = room / spreads
    room[spreads == 0.0] = np.inf
    room[nonzero] = -np.inf
    support = int(np.count_nonzero(nonzero))
    size = min(int(np.count_nonzero(room <= 0.0)), FIRST_SET + _WIDER * support)
    size += max(FIRST_SET, support // 4) * (1 + stalls)
    if size >= len(room):
        return np.arange(len(room))
    found = np.argpartition(room, size - 1)[:size]
    found = found[room[found] < np.inf]
    if groups is not None:  # whole groups
        return np.flatnonzero(np.isin(groups, groups[found]))
    return np.sort(found)


def steps(
    state: Any,
    part: Any,
    step: Callable[[float, float], tuple[float, float]],
    gap_of: Callable[[], tuple[float, float]],
    on_the_way: bool,
    is_exact: bool,
) -> None:
    """Take Newton steps on a working set, until its own gap is small beside that of all columns.

    `step` takes the relative gap so far and the gap that is enough. It returns the share of the
    promised fall that was kept, and the passes made. `gap_of` returns the gap of the working set
    and its objective. `is_exact`: the model itself is minimised exactly.
    """
    memory = state.memory
    enough = max(0.1 * max(state.primal - state.dual, 0.0), 0.2 * state.tol * state.primal)
    cost = part.entries / max(memory.columns.entries, 1.0)
    passes, last, slow = 0.0, np.inf, 0
    off = 1.0 if on_the_way else relative_gap(state.primal, state.dual)
    for _ in range(_NEWTON_STEPS):
        kept, used = step(off, enough)
        passes += cost * (2.0 + used)
        if kept < _POOR and memory.floor < 1.0:
            memory.floor = min(1.0, max(_FIRST_FLOOR, 10.0 * memory.floor))
            if not kept:
                continue
        elif not kept:
            break
        elif kept >= _GOOD:
            memory.floor = max(LEAST_FLOOR, 0.1 * memory.floor)
        if is_exact and abs(kept - _HALF) <= _EXACTLY:
            break  # the minimum is found, and a look at all columns tells how well
        gap, value = gap_of()
        off = relative_gap(value, value - gap)
        if on_the_way:
            enough = _ON_THE_WAY * value
        if gap <= enough or state.passes + passes >= memory.max_passes:
            break
        slow = slow + 1 if gap > 0.9 * last else 0
        last = min(gap, last)
        if slow == _SLOW:
            break
    state.passes += passes
