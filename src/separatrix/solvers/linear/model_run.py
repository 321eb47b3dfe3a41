"""One regularised model solved by a solver, and the claims it hands over for proof.

A run can go further later: to a smaller gap, or from where a proof fell short. Rows on a device are
solved there (`device`, imported when there are such rows).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.problem.losses import HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import entries_of, on_device
from separatrix.solvers.linear import (
    choose,
    dual_coordinate,
    gram,
    interior_point,
    newton,
    newton_cg,
)
from separatrix.solvers.linear.choose import ENTRY, NARROW, PRODUCT, products
from separatrix.solvers.linear.claims import (
    MachineState,
    balanced,
    evened,
    hard_claim,
    hinge_bias_interval,
    on_the_faces,
    on_this_face,
)
from separatrix.solvers.running.drive import NO_LIMIT, OVERRUN, Status, go_on, one_thread

_OF_DENSE = 6e-11  # seconds for one multiplication where large matrices are factored
_FEW_FREE = 2_000  # support vectors whose margins are worth a look
_BIAS_ROUNDING = 2.0**-40  # of the size of scores


@dataclass(frozen=True, eq=False)
class Claims:
    """What a run hands over: w = [b, w_1 ... w_d], a feasible alpha, and the best biases.

    Where it is not settled which rows support the hyperplane, a few more iterations will tell.
    """

    w: np.ndarray
    alpha: np.ndarray
    bias_interval: tuple[float, float]
    is_settled: bool = True


class MachineRun:
    """One model being solved; it can go further later."""

    def __init__(
        self,
        problem: MachineProblem,
        solver: str,
        *,
        tol: float,
        seed: int = 0,
        max_passes: float = np.inf,
        first: tuple[np.ndarray | None, np.ndarray | None] | None = None,
        deadline: float = np.inf,
    ) -> None:
        self.problem, self.solver = problem, solver
        self._back: Callable[[np.ndarray], np.ndarray] = np.copy
        inner = problem
        self.status = Status.BUDGET
        self.method: Any = None
        self.state: MachineState
        left = deadline - time.perf_counter() + OVERRUN
        self.is_too_long = left < np.inf and _least_seconds(problem, solver) > left
        if self.is_too_long:
            n, d = problem.X.shape
            self.state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
            return
        if solver == "gram":
            inner, self._back = gram.reduced(problem, tol)
            first = None if first is None else (None, first[1])
        self.method = _method(inner, solver)
        self.state = self.method.start(
            inner, tol=tol, first=first, seed=seed, max_passes=max_passes
        )

    def go_on(
        self,
        tol: float,
        deadline: float = np.inf,
        progress: Callable[[MachineState], None] | None = None,
    ) -> Status:
        """Solve to a relative gap, or to the deadline (of `time.perf_counter`)."""
        self.state.tol = tol
        if self.is_too_long:
            return Status.BUDGET
        left = max(0.0, deadline - time.perf_counter())
        with one_thread():
            self.status = go_on(self.method, self.state, NO_LIMIT, left, progress, slice_size=1)
        return self.status

    def allow(self, passes: float) -> None:
        """Let a run go on to so many passes."""
        self.state.memory.max_passes = passes

    @property
    def hoped_gap(self) -> float:
        """The gap if what the run hopes of its dual holds: known sooner than a proved one."""
        state = self.state
        return dual_coordinate.hoped_gap(state) if self.method is dual_coordinate else state.gap

    def as_given(self, w: np.ndarray) -> np.ndarray:
        """Return weights of the state for the columns as they were given."""
        return self._back(w)

    def claims(self) -> Claims:
        """Return the points that bracket the optimum, made exactly feasible."""
        with one_thread():
            return self._claims()

    def _claims(self) -> Claims:
        problem, state = self.problem, self.state
        if on_device(problem.X):
            from separatrix.solvers.linear.device.device_claims import claimed

            return Claims(*claimed(state))
        w, alpha = self._back(state.w), state.alpha
        if self.method is interior_point and self.solver != "gram" and state.memory.has_crossed:
            bias = float(w[0])
            claims = Claims(w, alpha, interval_for(problem, w, (bias, bias)))
            return _clear_of_rounding(problem, claims, state.tol, state.primal)
        if problem.has_free_bias:
            alpha = balanced(alpha, problem.signs, problem.upper)
        if problem.ridge > 0.0 and not (state.dual > 0.0 or problem.dual(alpha) >= 0.0):
            alpha = np.zeros_like(alpha)  # always feasible, with the value 0
        interval = (float(w[0]), float(w[0]))
        if problem.is_hard:
            w = hard_claim(problem, w, problem.X @ w[1:])
            interval = (float(w[0]), float(w[0]))
        elif problem.loss == HINGE and problem.has_free_bias:
            w, interval = _with_best_bias(problem, w, alpha, state.tol)
        if self.method is interior_point:
            margins = problem.rows.margins(w)
            least = problem.primal(w, margins) * (1.0 - 0.9 * state.tol)
            on_faces = on_the_faces(problem, w, margins, alpha, least)
            if on_faces is None:
                return Claims(w, alpha, interval, is_settled=False)
            alpha = on_faces
        claims = Claims(w, alpha, interval)
        if problem.loss == HINGE or problem.is_hard:
            claims = _finished(problem, claims)
        if problem.loss == HINGE and not problem.is_hard:
            claims = _clear_of_rounding(problem, claims, state.tol, state.primal)
        return claims


def _least_seconds(problem: MachineProblem, solver: str) -> float:
    """Return about how long one step takes at the least, all that comes before it included."""
    n, d = problem.X.shape
    if on_device(problem.X) or solver not in ("gram", "interior_point"):
        return 0.0
    if solver == "gram":
        by_eigenvectors = sp.issparse(problem.X) and n * d > gram.SMALL
        return _OF_DENSE * (10.0 * float(n) ** 3 if by_eigenvectors else 2.0 * n * d * min(n, d))
    return _OF_DENSE * (products(problem) + float(d) ** 3 / 3.0)


def _method(problem: MachineProblem, solver: str) -> Any:
    if on_device(problem.X):
        from separatrix.solvers.linear.device import newton_side_by_side as smooth_there

        return interior_point if problem.loss == HINGE else smooth_there
    if problem.loss == HINGE or problem.is_hard:
        by_passes = choose if problem.is_hard else dual_coordinate
        return by_passes if solver == "dual_coordinate" else interior_point
    if solver == "dual_coordinate":
        return dual_coordinate
    d = problem.X.shape[1]
    by_matrix = products(problem) + d**3 / 3.0
    return (
        newton
        if d <= NARROW or by_matrix * PRODUCT < 20 * entries_of(problem.X) * ENTRY
        else newton_cg
    )


def _finished(problem: MachineProblem, claims: Claims) -> Claims:
    """Put the last digits right, where the face of the box is known."""
    found = on_this_face(problem, claims.alpha)
    if found is None:
        return claims
    w, alpha = found
    if problem.is_hard:
        w = hard_claim(problem, w, problem.X @ w[1:])
    if problem.has_free_bias:
        alpha = balanced(alpha, problem.signs, problem.upper)
    better = problem.primal(w) <= problem.primal(claims.w) * (1.0 + 1e-12)
    least = problem.dual(claims.alpha)
    if not (better and problem.dual(alpha) >= least - 1e-12 * abs(least)):
        return claims
    return Claims(w, alpha, interval_for(problem, w, claims.bias_interval))


def interval_for(
    problem: MachineProblem, w: np.ndarray, before: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of best biases of new weights, with their own if only rounding parts it.

    A bias farther off is worse than those of the interval: it stands outside, and the caller sees
    that.
    """
    bias = float(w[0])
    if not problem.has_free_bias or not (problem.loss == HINGE or problem.is_hard):
        return min(before[0], bias), max(before[1], bias)
    scores = problem.X @ w[1:]
    if problem.is_hard:
        turns, used = problem.signs - scores, problem.costs > 0.0
        low = float(turns[used & (problem.signs > 0.0)].max(initial=-np.inf))
        high = float(turns[used & (problem.signs < 0.0)].min(initial=np.inf))
    else:
        low, high = hinge_bias_interval(scores, problem.signs, problem.costs)
    room = _BIAS_ROUNDING * (1.0 + abs(bias) + float(abs(scores).max()))
    if low - room <= bias <= high + room:
        return min(low, bias), max(high, bias)
    return low, high


def _clear_of_rounding(
    problem: MachineProblem, claims: Claims, tol: float, primal: float
) -> Claims:
    """Lengthen w by the rounding of its margins, where the cost of rounding matters.

    Rows whose margin is 1 are then beyond it, whatever the rounding. It costs next to nothing: the
    objective grows by no more than twice itself times the share added.
    """
    w, alpha = claims.w, claims.alpha
    free = np.flatnonzero((alpha > 0.0) & (alpha < problem.costs))
    if not 0 < len(free) <= _FEW_FREE:
        return claims
    rows = problem.X[free]
    sizes = abs(rows) @ abs(w[1:]) + abs(w[0])
    share = 4.0 * float(np.finfo(np.float64).eps) * max(1.0, float(sizes.max()))
    matters = share * float(problem.costs[free].sum()) > 0.01 * tol * primal
    if not matters or share > 0.1 * tol:
        return claims
    longer = w * (1.0 + share)
    return replace(
        claims, w=longer, bias_interval=interval_for(problem, longer, claims.bias_interval)
    )


def _with_best_bias(
    problem: MachineProblem, w: np.ndarray, alpha: np.ndarray, tol: float
) -> tuple[np.ndarray, tuple[float, float]]:
    """Take the bias that the free support vectors agree on, if it is as good as the best for w."""
    scores = problem.X @ w[1:]
    low, high = hinge_bias_interval(scores, problem.signs, problem.costs)
    ends = [end for end in (low, high) if np.isfinite(end)]
    best = np.concatenate([[sum(ends) / len(ends)], w[1:]])
    free = (alpha > 0.0) & (alpha < (1.0 - 1e-12) * problem.costs)
    if free.any():
        mean = np.concatenate([[float((problem.signs - scores)[free].mean())], w[1:]])
        signs = problem.signs
        least = problem.primal(best, signs * (scores + best[0]))
        if problem.primal(mean, signs * (scores + mean[0])) <= least * (1.0 + 0.1 * tol):
            return mean, (low, high)
    return best, (low, high)


# ---- a replay: the duality gap closing, iteration by iteration, as `fit` makes them


@dataclass(frozen=True, eq=False)
class MachineFrame:
    """One iteration: the weights ``[b, w_1 ...]``, the multipliers, and the two objectives.

    `errors` counts the rows on the wrong side, `margin` is the least ``y (w.x + b)``, and `gap` the
    relative difference of the objectives, in floating point.
    """

    update: int
    weights: np.ndarray
    alpha: np.ndarray
    errors: int
    margin: float
    primal: float
    dual: float
    gap: float
    status: Status | None
    machine: int = 0


def replay_machine(
    problem: MachineProblem,
    solver: str,
    *,
    tol: float,
    aim: float,
    seed: int = 0,
    max_passes: float = np.inf,
    budget: int = NO_LIMIT,
) -> Iterator[MachineFrame]:
    """Yield the start, every iteration to a gap of `aim`, and what is handed over for proof.

    An interior point is shown where it stands, the others at the best point so far.
    """
    run = MachineRun(problem, solver, tol=tol, seed=seed, max_passes=max_passes)
    run.state.tol = aim
    status = _advanced(run, 0)
    yield _frame(run, *_standing(run), status)
    while status is None and run.state.updates < budget:
        before = run.state.updates
        status = _advanced(run, 1) or _advanced(run, 0)
        if not np.isfinite(run.state.w).all():
            status = Status.OVERFLOW
        if status is None and run.state.updates >= budget:
            status = Status.BUDGET
        if run.state.updates > before:
            yield _frame(run, *_standing(run), status)
    claims = run.claims()
    yield _frame(run, claims.w, claims.alpha, status or Status.BUDGET)


def _advanced(run: MachineRun, budget: int) -> Status | None:
    with one_thread():  # as `fit` does, so that the bits are the same
        status: Status | None = run.method.advance(run.state, budget)
    return status


def _standing(run: MachineRun) -> tuple[np.ndarray, np.ndarray]:
    """Return the iterate of an interior point, which moves at once; of the others their best."""
    if run.method is not interior_point or on_device(run.problem.X):
        return run.as_given(run.state.w), run.state.alpha
    w, alpha = interior_point.iterate(run.state)
    problem = run.state.problem
    if problem.has_free_bias:
        alpha = evened(alpha, problem.signs, problem.costs)
    return run.as_given(w), alpha


def _frame(
    run: MachineRun, w: np.ndarray, alpha: np.ndarray, status: Status | None
) -> MachineFrame:
    problem = run.problem
    with np.errstate(over="ignore", invalid="ignore"):
        margins = problem.rows.margins(w)
        primal, dual = problem.primal(w, margins), problem.dual(alpha)
    used = margins[problem.costs > 0.0]
    return MachineFrame(
        update=run.state.updates,
        weights=w.copy(),
        alpha=alpha.copy(),
        errors=int((used <= 0.0).sum()),
        margin=float(used.min(initial=np.inf)),
        primal=float(primal),
        dual=float(dual),
        gap=float((primal - dual) / primal) if 0.0 < primal < np.inf else float(primal > 0.0),
        status=status,
    )
