"""The hinge model and the hard margin on narrow data, by a primal-dual interior point.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i max(0, 1 - y_i (w.x_i + b))

    max over alpha  sum_i alpha_i - 1/2 |u|^2 - (sum_i y_i alpha_i)^2 / (2p)
    subject to      0 <= alpha_i <= c_i,   and  sum_i y_i alpha_i = 0  where p = 0
                    with u = sum_i alpha_i y_i x_i

Each iteration factors one matrix of d + 1 columns (`predictor_corrector`), on columns centred and
scaled inside (`scaled_rows`), while the objective stays the user's. The number of iterations hardly
depends on C, on the scales of the columns or on n. alpha is feasible at every iteration, so every
iteration brackets the optimum, and the run ends as soon as the bracket is as narrow as `tol`.
Rows on a device take the same steps there; of them only the soft margin is solved.

A claim to start from (`first`) is kept while it is the best known, and ends the run if it is good
enough. The run starts at its w, with products as large as its gap allows: begun nearer to their end
it makes short steps (on a9a, 40 to 80 iterations instead of 20). If the first step is very short
all the same, the run starts again with larger products. If steps come to nothing later, it starts
again at w = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import DeviceError
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray, on_device
from separatrix.solvers.linear.claims import (
    MachineState,
    best_bias,
    evened,
    fitted_alphas,
    hard_claim,
    near_face,
    with_bias,
)
from separatrix.solvers.linear.predictor_corrector import (
    LESS,
    Pairs,
    Run,
    centred_run,
    hard_run,
    iteration,
)
from separatrix.solvers.linear.scaled_rows import plain_rows, scaled_rows
from separatrix.solvers.linear.small_steps import Progress, SmallSteps, Until, suits
from separatrix.solvers.running.drive import Status, one_thread

# A matrix of so many columns fills 2 GiB, and takes a GPU seconds to factor.
WIDEST = 16_384
# So many iterations without a gap a tenth smaller: rounding is all that is left.
_PATIENCE = 20
# The data are looked at after so many iterations: few rows make them in no time.
_LOOK, _LOOK_SELDOM = 8, 32
# From the first gap on the optimum is looked for on the face of the box that the point is near;
# where it is not there, again at a gap so much smaller.
_CROSS, _CROSS_LATER = 1e-4, 1e-2
# A start from a claim has the mean product of its gap, times this: nearer the end of the path of
# centres, steps from a point far from that path are short.
_AHEAD = 10.0
_SHORT, _LARGER = 0.01, 10.0  # a first step so short: the products were too small by such a factor
_EQUAL = 1e-12  # costs of two classes, sums rounded
_ROUGH = 1e-8


@dataclass
class Memory:
    """The run on the rows that count, what it claims, and when to give up."""

    claims: Any
    max_passes: float
    run: Run | None = None
    small: SmallSteps | None = None
    progress: Progress = (np.inf, 0)
    failed: bool = False
    cross_at: float = 0.0
    has_crossed: bool = False  # the claims are the optimum of a face of the box
    mean_product: float = np.inf  # of a start from a claim; infinite for one at w = 0
    is_from_claim: bool = False  # whether a start was handed over

    @property
    def has_given_up(self) -> bool:
        """Whether steps no longer help: rounding is all that is left."""
        return self.progress[1] >= _PATIENCE


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
    state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
    with np.errstate(all="ignore"), one_thread():
        claims = _claims_of(state)
        state.memory = Memory(claims, max_passes)
        w, alpha = first if first is not None else (None, None)
        claims.begin(w, alpha)
        state.memory.is_from_claim = w is not None
        _lay_out(state)
    return state


def _lay_out(state: MachineState) -> None:
    """Lay out the steps, unless none is needed for the gap aimed at, or none can be made."""
    problem, memory = state.problem, state.memory
    there = on_device(problem.X)
    if memory.run is not None or state.gap <= state.tol or not len(memory.claims.used):
        return
    if problem.is_hard and there:
        return  # no steps are made there: nothing is claimed, and nothing proved
    rows, pairs, quadratic = memory.claims.laid_out()
    has_bias = problem.rows.fit_intercept
    if problem.is_hard:
        _begin(state, hard_run(rows, pairs, quadratic, has_bias))
    elif there or not memory.is_from_claim:
        _begin(state, centred_run(rows, pairs, quadratic, has_bias))
    else:
        mu = _AHEAD * (state.primal - state.dual) / pairs.count
        _begin(state, _run_from_claim(state, rows, pairs, quadratic, mu))
    if not (there or problem.is_hard):
        memory.cross_at = _CROSS  # elsewhere there is no crossing over


def _begin(state: MachineState, run: Run) -> None:
    """Let a run make the steps from here on."""
    memory: Memory = state.memory
    memory.run, memory.failed, memory.progress = run, False, (np.inf, 0)
    if not on_device(state.problem.X) and suits(len(memory.claims.used), len(state.w) - 1):
        memory.small = SmallSteps(run)


def _run_from_claim(
    state: MachineState, rows: Any, pairs: Pairs, quadratic: FloatArray, mu: float
) -> Run:
    """Begin at the best w, with products of this mean."""
    has_bias = state.problem.rows.fit_intercept
    state.memory.mean_product = mu if mu < float(pairs.costs.mean()) else np.inf
    return centred_run(rows, pairs, quadratic, has_bias, _scaled(rows, state.w, has_bias), mu)


def _begin_again(state: MachineState) -> None:
    """Begin with larger products if the first step was short, at w = 0 if steps came to nothing."""
    memory: Memory = state.memory
    run = memory.run
    if run is None or np.isinf(memory.mean_product):
        return
    if run.steps == 1 and run.last_step < _SHORT:
        mu = _LARGER * memory.mean_product
        _begin(state, _run_from_claim(state, run.rows, run.pairs, run.quadratic, mu))
    elif memory.failed or memory.has_given_up:
        memory.mean_product = np.inf
        _begin(state, centred_run(run.rows, run.pairs, run.quadratic, run.has_bias))


def _scaled(rows: Any, w: FloatArray, has_bias: bool) -> FloatArray:
    """Return [v, b] for the columns as the run sees them."""
    return np.append(w[1:] * rows.scale, has_bias * (w[0] + float(rows.mean @ w[1:])))


def _claims_of(state: MachineState) -> Any:
    if not on_device(state.problem.X):
        return HostClaims(state)
    d = state.problem.X.shape[1]
    if d > WIDEST:
        raise DeviceError(
            f"The hinge on a device makes a matrix of the columns, and {d:,} are too many (at most "
            f"{WIDEST:,}). Use loss='squared_hinge', which needs none, or device='cpu'."
        )
    from separatrix.solvers.linear.device.device_claims import HingeClaims

    return HingeClaims(state)


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` iterations."""
    last = state.updates + budget
    with np.errstate(all="ignore"), one_thread():
        _lay_out(state)  # where the gap aimed at is smaller now than at the start
        while True:
            status = _verdict(state)
            if status is not None or state.updates >= last:
                return status
            _iterate(state, last - state.updates)


def _verdict(state: MachineState) -> Status | None:
    memory: Memory = state.memory
    if state.gap <= state.tol:
        return Status.OPTIMAL
    if memory.run is None or memory.failed or memory.has_given_up:
        return Status.UNPROVED
    return Status.BUDGET if state.passes >= memory.max_passes else None


def _iterate(state: MachineState, most: int) -> None:
    """Make an iteration, and look at it; of few rows several, and look at the last."""
    memory: Memory = state.memory
    run, claims = memory.run, memory.claims
    assert run is not None
    share = len(claims.used) / max(1, state.problem.rows.n_rows)
    before, near = run.passes, max(2.0 * state.tol, _ROUGH)
    look = _LOOK
    if memory.small is None:
        last = iteration(run)
    else:
        look = 1 if state.problem.is_hard else _LOOK_SELDOM
        passes = (memory.max_passes - state.passes) / share
        count = min(most, look - state.updates % look)
        until = Until(count, passes, max(near, memory.cross_at), _PATIENCE, memory.progress)
        made, memory.progress, last = memory.small.iterations(until)
        state.updates += made
    has_moved, primal, dual = last
    memory.failed = not has_moved
    state.passes += share * (run.passes - before)
    state.updates += 1
    # What the run keeps up to date says when it is worth looking at the data again.
    is_near = primal - dual <= near * abs(primal) or state.problem.is_hard
    memory.has_crossed = False
    if memory.cross_at > 0.0 and primal - dual <= memory.cross_at * abs(primal):
        memory.cross_at = _CROSS_LATER * max(0.0, primal - dual) / (abs(primal) or 1.0)
        memory.has_crossed = claims.cross_over(run)
    if not memory.has_crossed and (is_near or memory.failed or state.updates % look == 0):
        claims.take(run)
    _note_progress(state, primal - dual)
    if state.gap > state.tol:
        _begin_again(state)
    if (memory.failed or memory.has_given_up) and state.gap > state.tol:
        claims.polish()


def _note_progress(state: MachineState, gap: float) -> None:
    """Keep the best gap, or count the iterations without one."""
    memory: Memory = state.memory
    best, since = memory.progress
    # Before the hard margin has a feasible w, a growing dual is progress.
    if state.problem.is_hard:
        gap = state.gap if np.isfinite(state.primal) else 1.0 + 1.0 / (1e-300 + state.dual)
    is_better = gap < LESS * best or (np.isinf(state.primal) and gap < best)
    memory.progress = (gap, 0) if is_better else (best, since + 1)


def iterate(state: MachineState) -> tuple[np.ndarray, np.ndarray]:
    """Return where the run stands now, w and alpha, the best so far or not."""
    run = state.memory.run
    return (state.w, state.alpha) if run is None else state.memory.claims.of(run)


class HostClaims:
    """Evaluates w and alpha on the data themselves; keeps each where it is the best so far."""

    def __init__(self, state: MachineState) -> None:
        self.state, self.plain = state, plain_rows(state.problem.rows)
        used = np.flatnonzero(state.problem.costs > 0.0)
        self.used = self.plain.chosen if len(used) == len(state.alpha) else used

    def begin(self, w: FloatArray | None, alpha: FloatArray | None) -> None:
        """Begin with w = 0 and its best bias, and with the claim handed over where it is better."""
        self._begin_at_zero()
        if w is not None:
            self._primal(np.array(w, dtype=np.float64))
        if alpha is not None:
            costs = self.state.problem.costs
            self._dual(np.clip(np.array(alpha, dtype=np.float64), 0.0, costs))

    def _begin_at_zero(self) -> None:
        """Every row of a class has the same margin, y b: so the heavier class decides."""
        state, problem = self.state, self.state.problem
        if problem.is_hard or not problem.has_free_bias:
            self._primal(np.zeros_like(state.w))
            return
        plus, minus = (float(problem.costs @ (problem.signs == side)) for side in (1.0, -1.0))
        is_even = abs(plus - minus) <= _EQUAL * (plus + minus)
        state.w = np.zeros_like(state.w)
        state.w[0] = 0.0 if is_even else np.sign(plus - minus)
        state.primal = plus + minus if is_even else 2.0 * min(plus, minus)

    def laid_out(self) -> tuple[Any, Pairs, FloatArray]:
        """Return the rows that count, scaled; their pairs; and what v_j^2 / 2 costs."""
        problem = self.state.problem
        centre, penalty = problem.has_free_bias, problem.bias_penalty
        known = problem.rows.once(("scaled", centre), lambda: scaled_rows(problem.rows, centre))
        rows = known.only(self.used)
        self.state.passes += 2.0
        quadratic = np.append(1.0 / rows.scale**2, penalty if problem.rows.fit_intercept else 1.0)
        return rows, Pairs(self._of(problem.signs), self._of(problem.costs)), quadratic

    def _of(self, values: FloatArray) -> FloatArray:
        """Return the values of the rows used, without a copy where that is all; never written."""
        part = values.view() if len(self.used) == len(values) else values[self.used]
        part.flags.writeable = False
        return part

    def of(self, run: Run) -> tuple[FloatArray, FloatArray]:
        """Return w and alpha of the run."""
        problem = self.state.problem
        w = np.append(run.v[-1], run.v[:-1] / run.rows.scale)
        w[0] -= float(run.rows.mean @ w[1:])
        if not problem.rows.fit_intercept:
            w[0] = 0.0
        alpha = np.zeros(problem.rows.n_rows)
        alpha[self.used] = np.minimum(run.pairs.alpha, run.pairs.costs)
        return w, alpha

    def take(self, run: Run) -> None:
        """Keep what the run has found."""
        w, alpha = self.of(run)
        if np.isfinite(alpha).all():
            self._dual(alpha)
        if np.isfinite(w).all():
            self._primal(w)

    def cross_over(self, run: Run) -> bool:
        """Take the optimum of the face of the box that the run is near, if it is that of all."""
        state, problem = self.state, self.state.problem
        w, alpha = self.of(run)
        found = None
        if np.isfinite(w).all() and np.isfinite(alpha).all():
            found = near_face(problem, alpha, problem.rows.margins(w))
        state.passes += 1.0 if found is None else 3.0
        if found is not None:
            primal, dual = problem.primal(found[0]), problem.dual(found[1])
            if primal - dual <= state.tol * primal:
                (state.w, state.alpha), state.primal, state.dual = found, primal, dual
                return True
        return False

    def polish(self) -> None:
        """The steps have come to nothing: fit alpha to the best w, on the rows of its margin."""
        state = self.state
        if np.isfinite(state.primal):
            state.passes += 1.0
            for alpha in fitted_alphas(state.problem, state.w):
                self._dual(alpha)

    def _primal(self, w: FloatArray) -> None:
        """Take w over if its value is the best so far; with the best bias if that is enough."""
        state, problem = self.state, self.state.problem
        scores = self.plain.dot(w[1:])
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

    def _dual(self, alpha: FloatArray) -> None:
        """Balance alpha, and take it over if its value is the best so far."""
        state, problem = self.state, self.state.problem
        if problem.has_free_bias:
            alpha = evened(alpha, problem.signs, problem.costs)
        u = self.plain.transposed_dot(problem.signs * alpha)
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
