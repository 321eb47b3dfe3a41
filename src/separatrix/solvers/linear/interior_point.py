"""The hinge machine and the hard margin on narrow data, by a primal-dual interior point.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i max(0, 1 - y_i (w.x_i + b))

    max over alpha  sum_i alpha_i - 1/2 |u|^2 - (sum_i y_i alpha_i)^2 / (2p)
    subject to      0 <= alpha_i <= c_i,   and  sum_i y_i alpha_i = 0  where p = 0
                    with u = sum_i alpha_i y_i x_i

Each iteration factors one matrix of d + 1 columns (`predictor_corrector`), on columns centred and
scaled inside (`scaled_rows`), while the objective stays the user's. The number of iterations hardly
depends on C, on the scales of the columns or on n. alpha is feasible at every iteration, so every
iteration brackets the optimum, and the run ends as soon as the bracket is as narrow as `tol`.

A claim to start from (`first`) is kept while it is the best known, and ends the run if it is good
enough, but does not move the start: an interior point begun near an optimum of other costs makes
short steps (on a9a, 40 to 80 iterations instead of 20).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray
from separatrix.solvers.linear.claims import balanced, best_bias, hard_claim, with_bias
from separatrix.solvers.linear.contract import MachineState
from separatrix.solvers.linear.dual_polish import fitted_alphas
from separatrix.solvers.linear.predictor_corrector import Run, centred_run, hard_run, step
from separatrix.solvers.linear.scaled_rows import ScaledRows, plain_rows, scaled_rows
from separatrix.solvers.running.drive import Status
from separatrix.solvers.running.threads import one_thread

__all__ = ["advance", "start"]

# So many iterations without a gap a tenth smaller: rounding is all that is left.
_PATIENCE = 20
_REFRESH = 8
_DRIFTS = 1e-4
_ROUGH = 1e-8


@dataclass
class Memory:
    """The run on the rows that count, and when to give up."""

    run: Run | None
    used: np.ndarray  # the rows with a cost
    plain: ScaledRows  # all rows as given
    max_passes: float
    best_gap: float = np.inf
    since_best: int = 0
    failed: bool = False


def start(
    problem: MachineProblem,
    *,
    tol: float,
    first: tuple[FloatArray | None, FloatArray | None] | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Lay out a run at w = 0, in the middle of the box. Nothing here is random."""
    n, d = problem.X.shape
    plain, used = plain_rows(problem.rows), np.flatnonzero(problem.costs > 0.0)
    used = plain.chosen if len(used) == n else used
    state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
    state.memory = Memory(None, used, plain, max_passes)
    with np.errstate(all="ignore"), one_thread():
        _first_claims(state, first)
        if state.gap <= tol or not len(used):
            return state
        centre = problem.has_free_bias
        known = problem.rows.once(("scaled", centre), lambda: scaled_rows(problem.rows, centre))
        rows = known.only(used)
        state.passes += 2.0
        has_bias = problem.rows.fit_intercept
        quadratic = np.append(1.0 / rows.scale**2, problem.bias_penalty if has_bias else 1.0)
        signs, costs = _of(problem.signs, used), _of(problem.costs, used)
        if problem.is_hard:
            state.memory.run = hard_run(rows, signs, costs, quadratic, has_bias)
        else:
            mu = float(costs.mean())
            state.memory.run = centred_run(
                rows, signs, costs, quadratic, has_bias, np.zeros(d + 1), mu
            )
    return state


def _of(values: FloatArray, used: np.ndarray) -> FloatArray:
    """Return the values of the rows used, without a copy where that is all; never to be written."""
    part = values.view() if len(used) == len(values) else values[used]
    part.flags.writeable = False
    return part


def _first_claims(
    state: MachineState, first: tuple[FloatArray | None, FloatArray | None] | None
) -> None:
    """Begin with w = 0 and its best bias, and with the claim handed over where it is better."""
    problem = state.problem
    w, alpha = first if first is not None else (None, None)
    _claim_primal(state, np.zeros_like(state.w))
    state.dual = 0.0
    if w is not None:
        _claim_primal(state, np.array(w, dtype=np.float64))
    if alpha is not None:
        alpha = np.clip(np.array(alpha, dtype=np.float64), 0.0, problem.costs)
        _claim_dual(state, balanced(problem, alpha))


def _claim_primal(state: MachineState, w: FloatArray) -> None:
    """Take w over if its value is the best so far; with the best bias if that makes it enough."""
    problem = state.problem
    scores = state.memory.plain.dot(w[1:])
    state.passes += 1.0
    if problem.is_hard:
        w = hard_claim(problem, w, scores)
        value = problem.primal(w)
    else:
        bias = w[0] if problem.rows.fit_intercept else 0.0
        value = problem.primal(w, problem.signs * (scores + bias))
        if problem.has_free_bias and value - state.dual > state.tol * value:
            bias = best_bias(scores, problem.signs, problem.costs)
            w = with_bias(w, bias)
            value = problem.primal(w, problem.signs * (scores + bias))
    if value < state.primal:
        state.w, state.primal = w, value


def _claim_dual(state: MachineState, alpha: FloatArray) -> None:
    problem = state.problem
    u = state.memory.plain.transposed_dot(problem.signs * alpha)
    state.passes += 1.0
    if problem.is_hard:
        # Of all multiples of alpha the best is known.
        square = float(u @ u)
        if problem.rows.fit_intercept and problem.bias_penalty > 0.0:
            balance = float(problem.signs @ alpha)
            square += balance * balance / problem.bias_penalty
        factor = float(alpha.sum()) / square if square > 0.0 else 0.0
        if not np.isfinite(factor):
            return
        alpha, u = alpha * factor, u * factor
    value = problem.dual(alpha, u)
    if value > state.dual:
        state.alpha, state.dual = alpha, value


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` iterations."""
    with np.errstate(all="ignore"), one_thread():
        for _ in range(budget):
            status = _verdict(state)
            if status is not None:
                return status
            _iterate(state)
        return _verdict(state)


def _verdict(state: MachineState) -> Status | None:
    memory: Memory = state.memory
    if state.gap <= state.tol:
        return Status.OPTIMAL
    if memory.run is None or memory.failed or memory.since_best >= _PATIENCE:
        return Status.UNPROVED  # steps no longer help: rounding is all that is left
    return Status.BUDGET if state.passes >= memory.max_passes else None


def _iterate(state: MachineState) -> None:
    memory: Memory = state.memory
    run = memory.run
    assert run is not None
    share = len(run.rows.chosen) / max(1, state.problem.rows.n_rows)
    before = run.passes
    memory.failed = not step(run)
    primal, dual = run.objectives()
    # Near the optimum the rounding of long steps is what the next step has to mend.
    if run.steps % _REFRESH == 0 or primal - dual <= _DRIFTS * abs(primal):
        run.refresh()
        primal, dual = run.objectives()
    state.passes += share * (run.passes - before)
    state.updates += 1
    # What the run keeps up to date says when it is worth looking at the data again.
    near = primal - dual <= max(2.0 * state.tol, _ROUGH) * abs(primal)
    if state.problem.is_hard or near or memory.failed or state.updates % _REFRESH == 0:
        _claim(state)
    # Before the hard margin has a feasible w, a growing dual is progress.
    gap = primal - dual
    if state.problem.is_hard:
        gap = state.gap if np.isfinite(state.primal) else 1.0 + 1.0 / (1e-300 + state.dual)
    if gap < 0.9 * memory.best_gap or (np.isinf(state.primal) and gap < memory.best_gap):
        memory.best_gap, memory.since_best = gap, 0
    else:
        memory.since_best += 1
    if (memory.failed or memory.since_best >= _PATIENCE) and state.gap > state.tol:
        _polish(state)


def _polish(state: MachineState) -> None:
    """The steps have come to nothing: fit alpha to the best w, on the rows of its margin."""
    problem = state.problem
    if np.isfinite(state.primal):
        state.passes += 1.0
        for alpha in fitted_alphas(problem, state.w):
            _claim_dual(state, balanced(problem, alpha))


def iterate(state: MachineState) -> tuple[np.ndarray, np.ndarray]:
    """Return where the run stands now, w and alpha, the best so far or not."""
    run, problem = state.memory.run, state.problem
    if run is None:
        return state.w, state.alpha
    w = np.append(run.v[-1], run.v[:-1] / run.rows.scale)
    w[0] -= float(run.rows.mean @ w[1:])
    if not problem.rows.fit_intercept:
        w[0] = 0.0
    alpha = np.zeros(problem.rows.n_rows)
    alpha[state.memory.used] = np.minimum(run.alpha, run.costs)
    return w, alpha


def _claim(state: MachineState) -> None:
    """Evaluate w and alpha on the data themselves; keep each where it is the best so far."""
    w, alpha = iterate(state)
    if np.isfinite(alpha).all():
        _claim_dual(state, balanced(state.problem, alpha))
    if np.isfinite(w).all():
        _claim_primal(state, w)
