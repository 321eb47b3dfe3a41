"""Stochastic gradient steps without a step size, for streams and for passes over data in memory.

    min over w, b   1/2 sum_j (p_j w_j)^2 + C sum_i s_i loss(y_i (w.x_i + b))

p_j is the least power of two that no entry of column j exceeds (1 where `scaled` is off, and the
objective is that of the models). Rows are learned one at a time, each against the weights that
the rows before it left, by the rule of `sgd_rows`; the answer is the last weights, or their mean
over time, each moment counting by its time (Lacoste-Julien, Schmidt and Bach 2012), which
approaches the optimum as passes go on. Many classes are one model a class, against the rest.

A stream is one pass in the order in which rows come. Passes over data in memory visit the rows in
an order drawn from their contents and the seed, anew for each pass: so the answer does not depend
on how the rows stand, and a row of weight k is k copies of it, wherever they stand.

One update is one row visited. Lecture 004, sections 4.2 and 13.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from separatrix.problem import losses
from separatrix.problem.rows import SparseRows, rows_of
from separatrix.problem.signed import KeslerProblem
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import NO_LIMIT, OWN, ROW, VISITS, Status
from separatrix.solvers.updates.sgd_rows import (
    FIELDS,
    REACH,
    SCALE,
    STEEPEST,
    WEALTH,
    WEIGHT,
    Data,
    Rule,
    averaged,
    begin_pass,
    first_steepest,
    learn_dense,
    learn_sparse,
    make_visits,
    row_keys,
)

__all__ = ["Memory", "State", "advance", "blank", "packed", "start", "unpacked", "widened"]

_NONE = np.zeros(0)


class Settings(NamedTuple):
    """How to run, as plain numbers."""

    rule: Rule
    shuffled: bool
    last_visit: int
    seed: int


class Memory(NamedTuple):
    """What a run remembers: a slot of eight numbers a feature (0 is the bias) and model."""

    slots: np.ndarray  # features x models x FIELDS: those of one feature side by side
    sums: np.ndarray  # features x models, of weights over time; empty without averaging
    totals: np.ndarray  # models x 2: time, and the steepest slope
    shares: np.ndarray  # (models + 1) x rows: what the multipliers are made of
    order: np.ndarray
    counts: np.ndarray


@dataclass
class State(drive.State):
    """A run in progress."""

    codes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    weights: np.ndarray = field(default_factory=lambda: _NONE)  # of the rows; empty: all are 1
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    @property
    def w(self) -> np.ndarray:
        """The current weights, those of every model one after another."""
        return np.asarray(self.memory.slots[:, :, WEIGHT].T.ravel())

    @property
    def answer(self) -> np.ndarray:
        """The weights to hand over: their mean over time, if averaging is on."""
        memory = self.memory
        if not self.settings.rule.averaging:
            return self.w
        return averaged(memory.slots, memory.sums, memory.totals).T.ravel()

    @property
    def passes(self) -> float:
        """How many times all rows were visited."""
        return float(self.memory.counts[VISITS]) / len(self.codes)

    def multipliers(self) -> np.ndarray:
        """Return minus the mean slope of the loss at every row, a row for each model."""
        shares = self.memory.shares
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(shares[-1] > 0.0, shares[:-1] / shares[-1], 0.0)


def blank(
    machines: int, n_features: int, loss: int, average: bool, scaled: bool, rows: int = 0
) -> Memory:
    """Return the memory of a run that has seen nothing."""
    slots = np.zeros((n_features + 1, machines, FIELDS))
    slots[:, :, WEALTH] = 1.0
    slots[:, :, SCALE] = 0.0 if scaled else 1.0
    totals = np.zeros((machines, 2))
    totals[:, STEEPEST] = first_steepest(loss)
    return Memory(
        slots=slots,
        sums=np.zeros((n_features + 1 if average else 0, machines)),
        totals=totals,
        shares=np.zeros((machines + 1, rows)),
        order=np.zeros(0, dtype=np.int64),
        counts=np.zeros(OWN, dtype=np.int64),
    )


def widened(memory: Memory, n_features: int, scaled: bool) -> Memory:
    """Return the memory with room for more features, of which nothing is known yet."""
    known, machines, _ = memory.slots.shape
    more = blank(machines, n_features - known + 1, losses.HINGE, True, scaled)
    slots = np.concatenate([memory.slots, more.slots[1:]])
    sums = memory.sums
    if len(sums):
        sums = np.concatenate([sums, more.sums[1:]])
    return memory._replace(slots=slots, sums=sums)


def packed(memory: Memory) -> tuple[np.ndarray, ...]:
    """Return what was learned, without the features that no row held if they are the most."""
    is_held = (memory.slots[:, :, REACH] > 0.0).any(axis=1)
    held, others = np.flatnonzero(is_held), np.flatnonzero(~is_held)
    if len(held) >= len(others):
        return memory.slots, memory.sums, memory.totals
    sums = memory.sums[held] if len(memory.sums) else memory.sums
    return memory.slots[held], sums, memory.totals, held, others[-1:], memory.slots[others[0]]


def unpacked(parts: tuple[np.ndarray, ...]) -> Memory:
    """Return the memory of which these are the parts."""
    slots, sums, totals, *rest = parts
    empty = blank(slots.shape[1], 0, losses.HINGE, False, True)
    if rest:
        held, last, other = rest
        size = 1 + max(int(last[0]), int(held.max(initial=0)))
        whole = np.tile(other, (size, 1, 1))
        whole[held] = slots
        all_sums = np.zeros((size if len(sums) else 0, slots.shape[1]))
        if len(sums):
            all_sums[held] = sums
        slots, sums = whole, all_sums
    return empty._replace(slots=slots, sums=sums, totals=totals)


def require_going_on(memory: Memory, machines: int, n_features: int, average: bool) -> None:
    """Refuse a memory that is not of these models and features: loops follow it unseen."""
    wide = len(memory.slots) if average else 0
    if bool(len(memory.sums)) != bool(average):
        raise ValueError(
            f"average={bool(average)} is not how the earlier rows were learned. Go on as before, "
            "or fit anew."
        )
    fits = (
        memory.slots.ndim == 3
        and memory.slots.shape[0] > n_features
        and memory.slots.shape[1:] == (machines, FIELDS)
        and memory.sums.shape == (wide, machines)
        and memory.totals.shape == (machines, 2)
    )
    if not fits:
        raise ValueError("what was learned before is of other features or classes. Fit anew.")


def start(
    problem: Any,
    loss: str = "hinge",
    cost: float = 1.0,
    weights: np.ndarray | None = None,
    average: bool = True,
    scaled: bool = True,
    order: str = "random",
    max_passes: float = np.inf,
    seed: int = 0,
    first: Memory | None = None,
) -> State:
    """Lay out a run over the rows of a problem, from the memory of an earlier one if given."""
    many = isinstance(problem, KeslerProblem)
    codes = problem.codes if many else (problem.signs > 0.0).astype(np.int64)
    machines = problem.n_classes if many else 1
    rule = Rule(
        loss=losses.CODES[loss],
        cost=float(cost),
        bias=bool(problem.fit_intercept),
        scaled=bool(scaled),
        counting=True,
        averaging=bool(average),
    )
    n = len(codes)
    width = problem.X.shape[1] if first is None else 0
    fresh = blank(machines, width, rule.loss, average, scaled, n)
    if first is not None:
        require_going_on(first, machines, problem.X.shape[1], average)
        fresh = fresh._replace(slots=first.slots, sums=first.sums, totals=first.totals)
    fresh.counts[ROW] = -1
    shuffled = order == "random"
    last = int(min(max_passes * n, float(NO_LIMIT // 2)))
    state = State(
        rows=rows_of(problem),
        settings=Settings(rule, shuffled, last, int(seed)),
        memory=fresh,
        codes=np.ascontiguousarray(codes, dtype=np.int64),
        weights=_NONE if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        keys=row_keys(problem.X, codes) if shuffled else np.zeros(0, dtype=np.uint64),
    )
    begin_pass(state)
    return state


def advance(state: State, budget: int) -> Status | None:
    """Visit at most `budget` rows."""
    return make_visits(state, budget, learn)


def learn(state: State, begin: int, end: int, scores: np.ndarray | None = None) -> None:
    """Learn the rows at some places of the order; `scores` gets what was thought of them before."""
    memory, rule = state.memory, state.settings.rule
    if state.memory.counts[VISITS] >= len(state.codes):
        rule = rule._replace(counting=False)
    if scores is None:
        scores = np.zeros((memory.slots.shape[1], 0))
    base = state.rows.base
    loop: Any = learn_sparse if isinstance(base, SparseRows) else learn_dense
    data = Data(state.codes, state.weights)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        loop(base._replace(values=_double(base.values)), data, begin, end, memory, scores, rule)


def _double(values: np.ndarray) -> np.ndarray:
    """Return values in double precision: one compiled loop serves all."""
    if values.dtype == np.float64:
        return values
    values = values.astype(np.float64)
    values.flags.writeable = False
    return values
