"""Stochastic gradient descent with a step size: the plain rule, and its schedules.

    min over w, b   1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))

Divided by C sum s this is a mean over rows of  loss + alpha/2 |w|^2  with  alpha = 1 / (C sum s).
A visit to row i makes step number t against the slope of its term:

    w  <-  (1 - eta_t alpha) w  -  eta_t loss'(m_i) y_i x_i        m_i = y_i (w.x_i + b)
    b  <-  b  -  eta_t loss'(m_i) y_i

    constant     eta_t = eta0
    invscaling   eta_t = eta0 / t^power
    optimal      eta_t = 1 / (alpha (t_0 + t - 1)), t_0 by Bottou (2012)

With the perceptron's loss, no penalty and a constant step this is the perceptron, to the last bit
(lecture 004, (7) to (10)): a row on its own side has slope 0, and any other adds eta y_i [1, x_i].

A weight of k makes k such steps, with alpha by the sum of weights; in a stream, whose length is not
known, by that of the rows so far. Many classes are one model a class, against the rest. The answer
is the last weights, or their mean, step t counting t times. One update is one row visited. A
penalty, and the mean, make a visit cost as much as there are columns, sparse or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem import losses
from separatrix.problem.rows import add, dot, rows_of
from separatrix.problem.signed import KeslerProblem
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import OWN, ROW, VISITS, Status, last_visit
from separatrix.solvers.updates.sgd_rows import begin_pass, make_visits, row_keys

__all__ = ["LOSSES", "SCHEDULES", "Memory", "State", "advance", "learn", "packed", "start"]

CONSTANT, INVSCALING, OPTIMAL = range(3)
SCHEDULES = {"constant": CONSTANT, "invscaling": INVSCALING, "optimal": OPTIMAL}
MODIFIED_HUBER = len(losses.CODES)
LOSSES = {**losses.CODES, "modified_huber": MODIFIED_HUBER}
_MOST_COPIES = 100
_STEEPEST = 1e12
# What the clock shows.
STEPS, SEEN = range(2)
_NONE = np.zeros(0)


class Rule(NamedTuple):
    """How to step, as plain numbers."""

    loss: int
    schedule: int
    eta0: float
    power: float
    cost: float  # inf: no penalty
    total: float  # the sum of weights of all rows; 0 where it is not known
    first_optimal: float  # t_0
    bias: float
    averaging: bool


class Settings(NamedTuple):
    """How to run."""

    rule: Rule
    shuffled: bool
    last_visit: int
    seed: int


class Memory(NamedTuple):
    """What a run remembers."""

    models: np.ndarray  # models x (1 + features), the bias first
    means: np.ndarray  # the same, of their means; no rows without averaging
    clock: np.ndarray  # steps made, and the weight of the rows seen
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
        return np.asarray(self.memory.models.ravel())

    @property
    def answer(self) -> np.ndarray:
        """The weights to hand over."""
        return np.asarray(self.memory.means.ravel()) if len(self.memory.means) else self.w

    @property
    def passes(self) -> float:
        """How many times all rows were visited."""
        return float(self.memory.counts[VISITS]) / len(self.codes)

    def multipliers(self) -> np.ndarray:
        """Return zeros: the run keeps none, and a bound is found without them."""
        return np.zeros((len(self.memory.models), len(self.codes)))


@compiled
def slope_of(loss, m):  # type: ignore[no-untyped-def]
    """Return the slope of a loss; at a margin of 0 the perceptron moves, as it does.

    >>> float(slope_of(MODIFIED_HUBER, -2.0)), float(slope_of(MODIFIED_HUBER, 0.5))
    (-4.0, -1.0)
    """
    if loss == losses.PERCEPTRON:
        return 0.0 if m > 0.0 else -1.0
    if loss == MODIFIED_HUBER:
        return -4.0 if m < -1.0 else -2.0 * max(0.0, 1.0 - m)
    return min(max(losses.slope(loss, m), -_STEEPEST), _STEEPEST)


@compiled
def rate_at(rule, step, alpha):  # type: ignore[no-untyped-def]
    """Return the step size of a step, counted from 1."""
    if rule.schedule == CONSTANT:
        return rule.eta0
    if rule.schedule == INVSCALING:
        return rule.eta0 / step**rule.power
    return 1.0 / (alpha * (rule.first_optimal + step - 1.0))


def first_optimal(loss: int, alpha: float) -> float:
    """Return t_0, by which the first step is as long as the weights are likely to be."""
    typical = math.sqrt(1.0 / math.sqrt(alpha))
    return max(1.0, abs(float(slope_of(loss, -typical)))) / (typical * alpha)


def packed(state: State) -> tuple[np.ndarray, ...]:
    """Return what was learned: from it a run can go on."""
    memory = state.memory
    return memory.models, memory.means, memory.clock


def start(
    problem: Any,
    loss: str = "hinge",
    cost: float = 1.0,
    weights: np.ndarray | None = None,
    average: bool = True,
    schedule: str = "constant",
    eta0: float = 0.01,
    power: float = 0.5,
    order: str = "random",
    max_passes: float = np.inf,
    seed: int = 0,
    stream: bool = False,
    init: np.ndarray | None = None,
    first: tuple[np.ndarray, ...] | None = None,
) -> State:
    """Lay out a run, from first weights `init` or from what an earlier run had learned."""
    many = isinstance(problem, KeslerProblem)
    codes = problem.codes if many else (problem.signs > 0.0).astype(np.int64)
    n, models = len(codes), problem.n_classes if many else 1
    total = 0.0 if stream else float(n if weights is None else weights.sum())
    alpha = 1.0 / (float(cost) * total) if total > 0.0 else 0.0
    rule = Rule(
        loss=LOSSES[loss],
        schedule=SCHEDULES[schedule],
        eta0=float(eta0),
        power=float(power),
        cost=float(cost),
        total=total,
        first_optimal=first_optimal(LOSSES[loss], alpha) if alpha > 0.0 else 0.0,
        bias=float(problem.fit_intercept),
        averaging=bool(average),
    )
    shape = (models, problem.X.shape[1] + 1)
    if first is not None:
        held, means, clock = first
        if held.shape != shape or means.shape != (shape if average else (0, shape[1])):
            raise ValueError(
                "what was learned before is of other features, classes or settings. Fit anew."
            )
    else:
        held = np.zeros(shape) if init is None else np.array(init, dtype=np.float64).reshape(shape)
        means, clock = held.copy() if average else np.zeros((0, shape[1])), np.zeros(2)
    counts = np.zeros(OWN, dtype=np.int64)
    counts[ROW] = -1
    shuffled = order == "random"
    state = State(
        rows=rows_of(problem),
        settings=Settings(rule, shuffled, last_visit(max_passes, n), int(seed)),
        memory=Memory(held.copy(), means.copy(), clock.copy(), np.zeros(0, np.int64), counts),
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
    memory = state.memory
    if scores is None:
        scores = np.zeros((len(memory.models), 0))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        visit(
            state.rows.base, state.codes, state.weights, memory, scores, begin, end,
            state.settings.rule,
        )  # fmt: skip


@compiled
def visit(rows, codes, weights, memory, scores, begin, end, rule):  # type: ignore[no-untyped-def]
    """Make the steps of the rows at places `begin` to `end` of the order."""
    models, means, clock, order = memory.models, memory.means, memory.clock, memory.order
    for place in range(begin, end):
        row = order[place] if order.shape[0] > 0 else place
        weight = weights[row] if weights.shape[0] > 0 else 1.0
        copies = math.ceil(weight) if weight <= _MOST_COPIES else _MOST_COPIES
        unit = weight / copies
        for copy in range(copies):
            clock[STEPS] += 1.0
            clock[SEEN] += unit
            alpha = 0.0
            if rule.cost < np.inf:
                alpha = 1.0 / (rule.cost * (rule.total if rule.total > 0.0 else clock[SEEN]))
            eta = unit * rate_at(rule, clock[STEPS], alpha)
            for k in range(models.shape[0]):
                w = models[k]
                sign = 1.0 if codes[row] == (1 if models.shape[0] == 1 else k) else -1.0
                score = rule.bias * w[0] + dot(rows, row, w[1:])
                if copy == 0 and scores.shape[1] > 0:
                    scores[k, row] = score
                step = -eta * slope_of(rule.loss, sign * score) * sign
                if alpha > 0.0:
                    kept = max(0.0, 1.0 - eta * alpha)
                    for j in range(1, w.shape[0]):
                        w[j] *= kept
                if step != 0.0:
                    w[0] += step * rule.bias
                    add(rows, row, step, w[1:])
                if rule.averaging:
                    share = 2.0 / (clock[STEPS] + 1.0)
                    for j in range(w.shape[0]):
                        means[k, j] += share * (w[j] - means[k, j])
