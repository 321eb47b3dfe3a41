"""Dual block descent: the direct model of many classes.

    max over m    sum_i sum_(k != y_i) m_ik  -  1/2 sum_k |u_k|^2  [-  1/(2p) sum_k r_k^2]
    subject to    m_ik >= 0,   sum_k m_ik = c_i,    r_k = 0 for every k where the biases are free

with u_k = sum_i (c_i 1[k = y_i] - m_ik) x_i and r_k the same sum without x_i
(`problem/many_classes.py`). A pass visits the rows in a fully random order and gives each its
best masses, the others held: an exact projection (`class_pass`). To this are added, as in
`dual_coordinate`:

- a row is visited with the classes that have or want some of its mass, and a row with one such
  class is left out, until the next check looks at all of them;
- after each pass an exact step in the span of the last steps (`class_subspace`);
- for free biases an augmented Lagrangian: r = 0 gets multipliers b_0 and a penalty s/2 |r|^2, and
  b = b_0 + s r. A penalised bias is the same with b_0 = 0 and s = 1/p for good.

One update is one such pass with its step, or a few over few rows; `passes` counts visits by rows.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.many_classes import DirectProblem
from separatrix.solvers.linear.subspace import HISTORY, coefficients, combine
from separatrix.solvers.many_classes import class_claims as claims
from separatrix.solvers.many_classes.class_claims import DirectState, on_this_face
from separatrix.solvers.many_classes.class_pass import (
    ACTIVE,
    BELOW,
    CHECKS,
    KEPT,
    LAST_BALANCE,
    SHORTFALL,
    UNCHECKED,
    VALUE,
    WEIGHT,
    WIDEST,
    all_scores,
    choose_lists,
    sweep,
    total_of,
)
from separatrix.solvers.many_classes.class_subspace import (
    empty_memory,
    first_weight,
    hold_back,
    laid_out,
    search,
    span_of,
)
from separatrix.solvers.running.drive import Status, advanced

_CHECK_EVERY = 5
_EARLY_CHECKS = (1, 2, 3)
_REFRESH_EVERY = 20  # checks, after which W is computed from the masses afresh
_FIRST_FACE = 4  # checks, before which the face is not looked at
_UNACCELERATED = 3  # the first updates, whose steps are no guide
_NEARER = 0.4  # the share of the gap at which a new dual value is worth proving
_NO_STEP = 1e-13  # steps below this share of |W| are rounding


def start(
    problem: DirectProblem,
    *,
    tol: float,
    first: np.ndarray | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> DirectState:
    """Lay out a run with all mass on the own classes, or at masses claimed for other costs."""
    (n, d), K = problem.X.shape, problem.n_classes
    setup, memory = laid_out(problem), empty_memory(problem, seed)
    memory.numbers[WEIGHT] = first_weight(problem, setup.squares)
    state = DirectState(
        problem, tol, setup, memory, max_passes, np.zeros((d, K)), np.zeros(K), np.zeros((n, K))
    )
    if first is not None:
        memory.masses[:] = claims.transferred(first, problem)
        _make_totals(state)
    state.masses[:] = claims.all_at_home(problem)
    claims.take_primal(state, np.zeros((d, K)), np.zeros(K), np.zeros((n, K)))
    if first is not None:
        _check(state)
    return state


def advance(state: DirectState, budget: int) -> Status | None:
    """Make at most `budget` passes."""
    return advanced(state, budget, DirectState.verdict, _iterate)


def _iterate(state: DirectState) -> None:
    """Make a pass, check where it is time to, and accelerate."""
    memory = state.memory
    numbers, counts = memory.numbers, memory.counts
    slot = state.updates % (HISTORY + 1)
    memory.masses_before[:] = memory.masses
    memory.W_before[:] = memory.W
    memory.balance_before[:] = memory.balance
    _visit_rows(state)
    state.updates += 1
    counts[UNCHECKED] += 1
    estimate = numbers[SHORTFALL] / max(numbers[VALUE] + numbers[SHORTFALL], 1e-300)
    early = state.updates in _EARLY_CHECKS
    if (
        early
        or counts[UNCHECKED] >= _CHECK_EVERY
        or (estimate <= 2.0 * state.tol and counts[UNCHECKED] > 1)
    ):
        _check(state)
        if state.gap <= state.tol:
            return
    _accelerate(state, slot)


def _visit_rows(state: DirectState) -> None:
    """Sweep over the active rows until enough entries have been walked over."""
    problem, setup, memory = state.problem, state.setup, state.memory
    numbers, counts = memory.numbers, memory.counts
    visited = 0
    while True:
        active = int(counts[ACTIVE])
        sweep(setup, problem.codes, memory)
        visited += active
        numbers[BELOW] = numbers[WIDEST]
        state.passes += active / len(memory.masses)
        if visited >= min(setup.quota, len(memory.order)) or counts[ACTIVE] == 0:
            return
        if numbers[SHORTFALL] <= 0.2 * state.tol * numbers[VALUE]:
            return


def _accelerate(state: DirectState, slot: int) -> None:
    """Step to the best point in the span of this pass and the last steps; remember this step."""
    problem, setup, memory = state.problem, state.setup, state.memory
    numbers, counts = memory.numbers, memory.counts
    used = int(min(counts[KEPT] + 1, HISTORY + 1))
    counts[KEPT] = used
    _remember(state, slot)
    W = memory.W.ravel()
    last = (slot - 1) % (HISTORY + 1)
    slopes = span_of(memory.past_W, used, slot, last, W, memory.products)
    if state.updates <= _UNACCELERATED:
        return
    weight = float(numbers[WEIGHT])
    bias = memory.multipliers + weight * memory.balance
    slopes += memory.past_r[:used] @ bias - memory.past_gain[:used]
    products = memory.products[:used, :used] + weight * (
        memory.past_r[:used] @ memory.past_r[:used].T
    )
    t = coefficients(products, slopes, _NO_STEP * float(np.linalg.norm(W)))
    if len(t) == 0:
        return
    x, v = np.empty_like(memory.masses), np.empty_like(memory.W)
    combine(memory.past_masses, t, x.ravel())
    combine(memory.past_W, t, v.ravel())
    meets = hold_back(setup.base, memory.masses, x, v)
    early = np.flatnonzero(meets < 1.0)
    order = early[np.argsort(meets[early], kind="stable")]
    numbers[VALUE] += search(setup, problem.codes, memory, bias, weight, x, v, meets, order)
    _remember(state, slot)


def _remember(state: DirectState, slot: int) -> None:
    """Keep how far this update has come from where it began."""
    memory = state.memory
    flat = memory.masses.ravel(), memory.W.ravel()
    np.subtract(flat[0], memory.masses_before.ravel(), out=memory.past_masses[slot])
    np.subtract(flat[1], memory.W_before.ravel(), out=memory.past_W[slot])
    np.subtract(memory.balance, memory.balance_before, out=memory.past_r[slot])
    moved = memory.past_masses[slot].reshape(memory.masses.shape)
    own = moved[np.arange(len(moved)), state.problem.codes]
    memory.past_gain[slot] = -own.sum()  # what leaves the own class goes to others


def _check(state: DirectState) -> None:
    """Bring the claims up to date, renew the multipliers and list the classes to look at."""
    problem, setup, memory = state.problem, state.setup, state.memory
    numbers, counts = memory.numbers, memory.counts
    counts[UNCHECKED] = 0
    counts[CHECKS] += 1
    if counts[CHECKS] % _REFRESH_EVERY == 0:
        memory.W_before[:] -= memory.W
        memory.balance_before[:] -= memory.balance
        _make_totals(state)
        memory.W_before[:] += memory.W  # the step just made stays what it was
        memory.balance_before[:] += memory.balance
    scores = np.empty_like(memory.masses)
    all_scores(setup.base, memory.W, scores, memory.listed)
    bias = memory.multipliers + numbers[WEIGHT] * memory.balance
    claims.take_primal(state, memory.W, bias, scores)
    if problem.has_free_bias:
        _renew_multipliers(state)
        bias = memory.multipliers + numbers[WEIGHT] * memory.balance
    counts[ACTIVE] = choose_lists(memory, problem.codes, scores, bias)
    numbers[VALUE] = _dual_value(state)
    # Proving a dual value costs a walk over all rows: wait until it has come much nearer.
    if state.primal - numbers[VALUE] <= max(
        1.5 * state.tol * state.primal, _NEARER * (state.primal - state.dual)
    ):
        claims.take_dual(state, memory.masses)
        claims.measure_primal(state)
    # At every power of two, so that the cost stays a fraction: can the last digits be computed?
    if counts[CHECKS] >= _FIRST_FACE and counts[CHECKS] & (counts[CHECKS] - 1) == 0:
        _finish(state)


def _finish(state: DirectState) -> None:
    """Claim the optimum on the face reached, if there is one and it is better."""
    found = on_this_face(state.problem, state.memory.masses)
    if found is None:
        return
    W, bias, masses = found
    scores = np.empty_like(masses)
    all_scores(state.setup.base, W, scores, state.memory.listed)
    claims.take_primal(state, W, bias, scores)
    claims.take_dual(state, masses)


def _make_totals(state: DirectState) -> None:
    """Compute W and the balance from the masses."""
    problem, memory = state.problem, state.memory
    total_of(state.setup.base, problem.codes, memory.masses, memory.W, memory.balance)


def _dual_value(state: DirectState) -> float:
    """Return the dual objective of the run, its balance penalised and not repaired."""
    memory = state.memory
    own = memory.masses[np.arange(len(memory.masses)), state.problem.codes]
    gain = float((state.problem.costs - own).sum())
    half = memory.multipliers + 0.5 * memory.numbers[WEIGHT] * memory.balance
    W = memory.W.ravel()
    return gain - 0.5 * float(claims.inner(W, W)) - float(half @ memory.balance)


def _renew_multipliers(state: DirectState) -> None:
    """Let b_0 take what the penalty has found; weigh r more where it alone is what is missing."""
    memory = state.memory
    numbers = memory.numbers
    size = float(np.abs(memory.balance).sum())
    memory.multipliers[:] += numbers[WEIGHT] * memory.balance
    settled = numbers[SHORTFALL] < 0.1 * (state.primal - state.dual)
    if settled and size > 0.25 * numbers[LAST_BALANCE]:
        numbers[WEIGHT] *= 4.0
    numbers[LAST_BALANCE] = size
