"""Dual coordinate descent: the hinge and squared-hinge models on wide sparse data.

    min over a   1/2 |sum_i a_i y_i x_i|^2 + 1/2 sum_i D_i a_i^2 - sum_i a_i  [+ (y.a)^2 / (2p)]
    subject to   0 <= a_i <= c_i  (hinge, D = 0);   0 <= a_i  (squared hinge, D_i = 1 / (2 c_i))
                 y.a = 0 where the bias is free

A pass visits the rows in a fully random order and gives each its best a_i, the others held
(Hsieh et al. 2008). w = sum a_i y_i x_i is carried along, so a visit costs two walks over the
entries of one row. To this are added:

- rows that have settled at a bound are left out until the next check;
- after each pass an exact step in the span of the last steps (`subspace`);
- for the bias an augmented Lagrangian: y.a = p b gets a multiplier b_0 and a penalty of weight s,
  which makes b = k (b_0 + s y.a), k = 1 / (1 + p s). With s large (at p > 0) it is exact at once,
  b = y.a / p, but every step is then shorter by what s adds to the square of a row.

One update is one such pass with its step, or a few over few rows; `passes` counts visits by rows.
Checked are the rows as given: the primal with its best bias on the segment to the best point so
far, the dual with its balance repaired on a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.problem.losses import HINGE, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.rows import rows_of
from separatrix.problem.signed import entries_of
from separatrix.solvers.linear.claims import MachineState
from separatrix.solvers.linear.coordinate_pass import (
    ACTIVE,
    BALANCE,
    CHECKS,
    HIGH,
    LAST_BALANCE,
    LOW,
    MULTIPLIER,
    NUMBERS,
    SHORTFALL,
    UNCHECKED,
    VALUE,
    WEIGHT,
    Dual,
    Fold,
    choose_active,
    folded,
    scatter,
    scores_of,
    squares_of,
    visit_rows,
)
from separatrix.solvers.linear.dual_claims import (
    SHORT_RUN,
    charge,
    dual_value,
    first_weight,
    inner,
    measure_primal,
    move_multiplier,
    rebalance,
    renew_multiplier,
    share_of_multiplier,
    soft_weight,
    soften,
    take_dual,
    take_primal,
)
from separatrix.solvers.linear.subspace import HISTORY, accelerate
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import Status, advanced, relative_gap

_CHECK_EVERY = 5  # updates; more often, and rows come back too early to be left out
_REFRESH_EVERY = 20  # checks, after which w is computed from alpha afresh
_NEARER = 0.4  # the share of the gap at which a new dual value is worth proving
# An update walks over at least so many entries for each entry of w and alpha: it makes several
# sweeps over few active rows, since accelerating costs the same for few rows as for all.
_WORK = 4.0


class Setup(NamedTuple):
    """What does not change during a run."""

    given: Any  # the rows x_i
    fold: Fold | None
    dual: Dual
    quota: int  # rows to visit in one update, at least
    soft_weight: float  # s to begin with


class Memory(NamedTuple):
    """What a run changes, all of it arrays."""

    alpha: np.ndarray
    w: np.ndarray
    order: np.ndarray  # the rows; the first counts[ACTIVE] of them are visited
    alpha_before: np.ndarray
    w_before: np.ndarray
    past_alpha: np.ndarray
    past_w: np.ndarray
    past_balance: np.ndarray
    margins: np.ndarray  # of the best primal point
    counts: np.ndarray
    numbers: np.ndarray
    dice: np.ndarray


@dataclass
class Run:
    """The memory of a `MachineState`."""

    setup: Setup
    memory: Memory
    max_passes: float


def start(
    problem: MachineProblem,
    *,
    tol: float,
    first: tuple[np.ndarray | None, np.ndarray | None] | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Lay out a run at alpha = 0, or at a claim for other costs."""
    if problem.is_hard:
        raise ValueError(
            "dual_coordinate needs finite costs: the hard margin is for another solver."
        )
    if problem.loss not in (HINGE, SQUARED_HINGE):
        raise ValueError("dual_coordinate knows the hinge and the squared hinge.")
    n, d = problem.X.shape
    setup = _laid_out(problem)
    memory = _at_zero(problem, setup, seed)
    state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
    state.memory = Run(setup, memory, max_passes)
    w, alpha = (None, None) if first is None else first
    if alpha is not None:
        memory.alpha[:] = _transferred(alpha, problem)
        if problem.has_free_bias:
            rebalance(memory.alpha, setup.dual.signs, setup.dual.upper)
        scatter(setup.dual, memory.alpha, memory.w)
        memory.numbers[BALANCE] = inner(setup.dual.signs, memory.alpha, 1.0)
    take_primal(state, np.zeros(d), np.zeros(n))
    if w is not None:
        take_primal(state, w[1:], scores_of(setup.given, w[1:], n))
        memory.numbers[MULTIPLIER] = share_of_multiplier(problem, memory.numbers) * w[0]
    if memory.alpha.any():
        _check(state)
    return state


def _at_zero(problem: MachineProblem, setup: Setup, seed: int) -> Memory:
    n, d = problem.X.shape
    width = d if setup.fold is None else len(setup.fold.kept)
    memory = Memory(
        alpha=np.zeros(n),
        w=np.zeros(width),
        order=np.flatnonzero(problem.costs > 0.0).astype(np.uint32),
        alpha_before=np.zeros(n),
        w_before=np.zeros(width),
        past_alpha=np.zeros((HISTORY + 1, n)),
        past_w=np.zeros((HISTORY + 1, width)),
        past_balance=np.zeros(HISTORY + 1),
        margins=np.zeros(n),
        counts=np.zeros(4, dtype=np.int64),
        numbers=np.zeros(NUMBERS),
        dice=drive.seeded_dice(seed),
    )
    memory.counts[ACTIVE] = len(memory.order)
    memory.numbers[[HIGH, LOW]] = np.inf, -np.inf
    memory.numbers[WEIGHT] = first_weight(problem, setup.soft_weight)
    memory.numbers[LAST_BALANCE] = np.inf
    return memory


def _laid_out(problem: MachineProblem) -> Setup:
    given = rows_of(problem.rows).base
    fold = problem.rows.once("folded", lambda: folded(problem.X, given))
    base = given if fold is None else fold.base
    squares = problem.rows.once("squares", lambda: squares_of(base, problem.X.shape[0])).copy()
    used = problem.costs > 0.0
    if problem.loss == HINGE:
        upper, diagonal = problem.costs, np.empty(0)
    else:
        upper = np.where(used, np.inf, 0.0)
        diagonal = 0.5 / np.where(used, problem.costs, 1.0)
    if fold is not None:
        diagonal = diagonal + fold.squares if len(diagonal) else fold.squares
    stored = entries_of(problem.X)
    quota = int(_WORK * sum(problem.X.shape) / max(1.0, stored / problem.X.shape[0]))
    if len(diagonal):
        squares += diagonal
    soft = soft_weight(problem, squares)
    dual = Dual(base, problem.signs, squares, diagonal, upper)
    return Setup(given, fold, dual, quota, soft)


def _transferred(alpha: np.ndarray, problem: MachineProblem) -> np.ndarray:
    """Make alpha, claimed for other costs, feasible for these.

    For the hinge the rows of largest alpha / cost, if there are several, stood at their bound:
    they are put at the new one.
    """
    costs = problem.costs
    used = costs > 0.0
    alpha = np.where(used, np.maximum(alpha, 0.0), 0.0)
    if problem.loss == SQUARED_HINGE or not alpha.any():
        return alpha
    ratio = np.divide(alpha, costs, out=np.zeros_like(alpha), where=used)
    at_bound = ratio >= ratio.max() * (1.0 - 1e-9)
    if ratio.max() < 1.0 and at_bound.sum() > 1:
        alpha[at_bound] = costs[at_bound]
    return np.minimum(alpha, costs)


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` passes."""
    return advanced(state, budget, _verdict, _iterate)


def hoped_gap(state: MachineState) -> float:
    """Return the gap at the dual value of this update, before its balance is repaired."""
    hoped = relative_gap(state.primal, float(state.memory.memory.numbers[VALUE]))
    return min(hoped, state.gap) if hoped > 0.0 else state.gap


def _verdict(state: MachineState) -> Status | None:
    if state.gap <= state.tol:
        return Status.OPTIMAL
    return Status.BUDGET if state.passes >= state.memory.max_passes else None


def _iterate(state: MachineState) -> None:
    """Make a pass, check where it is time to, and accelerate."""
    setup, memory = state.memory.setup, state.memory.memory
    numbers, counts = memory.numbers, memory.counts
    memory.alpha_before[:] = memory.alpha
    memory.w_before[:] = memory.w
    balance = numbers[BALANCE]
    quota = min(setup.quota, len(memory.order))
    visited = visit_rows(setup.dual, memory, quota, 0.2 * state.tol)
    state.updates += 1
    # A pass that has no row left to visit counts as one row, or the budget would have no end.
    state.passes += max(visited, 1) / len(memory.alpha)
    counts[UNCHECKED] += 1
    short, value = float(numbers[SHORTFALL]), float(numbers[VALUE])  # either may have overflowed
    estimate = short / max(value + short, 1e-300)
    if counts[UNCHECKED] >= _CHECK_EVERY or (estimate <= 2.0 * state.tol and counts[UNCHECKED] > 1):
        _check(state)
        if state.gap <= state.tol:
            return
    accelerate(setup.dual, memory, state.updates, balance)
    if counts[UNCHECKED] > 0 and state.updates > 1:
        move_multiplier(state)


def _check(state: MachineState) -> None:
    """Bring the claims up to date, renew the multiplier and choose the rows to visit."""
    problem, setup, memory = state.problem, state.memory.setup, state.memory.memory
    numbers, counts = memory.numbers, memory.counts
    counts[UNCHECKED] = 0
    counts[CHECKS] += 1
    if counts[CHECKS] % _REFRESH_EVERY == 0:
        memory.w_before[:] -= memory.w
        scatter(setup.dual, memory.alpha, memory.w)
        memory.w_before[:] += memory.w  # the step just made stays what it was
    scores = scores_of(setup.dual.base, memory.w, len(memory.alpha))
    balance = numbers[BALANCE] = inner(setup.dual.signs, memory.alpha, 1.0)
    if setup.fold is None:
        is_fresh = take_primal(state, memory.w, scores)
    else:
        signed = setup.dual.signs * memory.alpha
        whole = setup.fold.unfolded(memory.w, signed)
        is_fresh = take_primal(state, whole, scores + setup.fold.squares * signed)
    share = share_of_multiplier(problem, numbers)
    if share > 0.0:
        renew_multiplier(state, share)
    elif counts[CHECKS] == SHORT_RUN and numbers[WEIGHT] * problem.bias_penalty > 0.0:
        soften(state)
    bias = numbers[MULTIPLIER] + numbers[WEIGHT] * balance
    counts[ACTIVE] = choose_active(setup.dual, memory, scores, bias)
    value = dual_value(memory.alpha, setup.dual.diagonal, memory.w)
    numbers[VALUE] = value - charge(problem, numbers)
    # Proving a dual value costs a walk over all rows: wait until it has come much nearer.
    if state.primal - numbers[VALUE] <= max(
        1.5 * state.tol * state.primal, _NEARER * (state.primal - state.dual)
    ):
        take_dual(state)
        if not is_fresh:
            measure_primal(state)
