"""Passes over rows in their order, or in a new one each time: for both kinds of gradient steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from separatrix.solvers.running.drive import CURSOR, ROW, UPDATES, VISITS, Status
from separatrix.solvers.updates.sgd_rows import shuffled_by

__all__ = ["begin_pass", "make_visits"]


def begin_pass(state: Any) -> None:
    """Draw the order of the next pass, where rows are shuffled."""
    if state.settings.shuffled:
        number = state.memory.counts[VISITS] // max(1, len(state.codes))
        order = shuffled_by(state.keys, state.settings.seed, int(number))
        state.memory = state.memory._replace(order=order)


def make_visits(state: Any, budget: int, learn: Callable[[Any, int, int], None]) -> Status | None:
    """Learn at most `budget` rows, from where the last visit ended."""
    n, counts = len(state.codes), state.memory.counts
    while True:
        left = state.settings.last_visit - int(counts[VISITS])
        if left <= 0:
            return Status.BUDGET
        if budget <= 0:
            return None
        begin = int(counts[CURSOR])
        end = min(n, begin + min(budget, left))
        learn(state, begin, end)
        budget -= end - begin
        counts[VISITS] += end - begin
        counts[UPDATES] += end - begin
        counts[ROW] = state.memory.order[end - 1] if state.settings.shuffled else end - 1
        counts[CURSOR] = end
        if end == n:
            counts[CURSOR] = 0
            begin_pass(state)
