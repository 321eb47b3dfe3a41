"""What Newton's method and its version by conjugate gradients share: a point, and its claims.

At (w, b) with margins m every row has alpha_i = -c_i loss'(m_i). The gradient in w is r w - u with
u = sum_i y_i alpha_i x_i: the one product gives the gradient and, with the same alpha, the dual
bound. A free bias asks for a balanced alpha: the heavier class is scaled down to the lighter one,
which keeps alpha feasible, and u is summed by class, so that scaling it takes no pass. Near the
optimum the balance costs nothing and primal - dual = |r w - u|^2 / (2r).

Margins are carried along from step to step. Before a run ends they are computed from w afresh.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.problem.losses import LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.products import MINUS, PLUS, Rows, combined, scores
from separatrix.problem.rows import rows_of
from separatrix.solvers.linear import interior_point
from separatrix.solvers.linear.claims import (
    MachineState,
    balanced,
    fitted_alphas,
    is_solved_at_once,
)
from separatrix.solvers.linear.row_terms import (
    best_step,
    derivatives,
    gain_of,
    pull_of_all,
    scale_shares,
    shares_ahead,
    write_alpha,
)
from separatrix.solvers.running.drive import Status, advanced

# So many updates without a better primal or dual: what is left is rounding.
_PATIENCE = 4
_BALANCED = 1e-14
_EVEN = 1e-12
_DIGIT = 1e-15
# A hard margin is tried where each of its steps costs no more multiplications than this.
_CHEAP_STEP, _HARD_STEPS = 50_000_000, 100


@dataclass
class Point:
    """Where a run stands, row by row."""

    base: Rows
    margins: np.ndarray
    shares: np.ndarray  # y_i alpha_i of this point, not balanced
    curvatures: np.ndarray  # c_i loss''(m_i)
    u: np.ndarray  # X^T shares
    balance: float  # the sum of the shares
    even: bool  # whether the shares are balanced as they are, or need not be
    fresh: bool  # whether the margins were computed from w, not carried along
    least: float  # the least objective so far
    stalled: int  # updates since the claims last became better
    max_passes: float
    solved: bool  # nothing to do: one class, or no rows
    own: Any  # what one of the two methods keeps
    multiply: Any  # computes u by class
    superfluous: np.ndarray | None = None  # constant columns behind a free bias: their u is 0


def begin(
    problem: MachineProblem,
    *,
    tol: float,
    first: Any = None,
    max_passes: float = np.inf,
    multiply: Any = None,
) -> MachineState:
    """Lay out a run at `first`, or at w = 0."""
    if problem.loss not in (SQUARED_HINGE, LOGISTIC):
        raise ValueError("Newton's method needs a loss with a slope: squared hinge or logistic.")
    if problem.is_hard:
        raise ValueError("Newton's method needs finite costs; for maximum likelihood set ridge=0.")
    n, width = problem.X.shape
    w, alpha = (None, None) if first is None else first
    base = rows_of(problem.rows).base
    point = Point(
        base=base,
        margins=np.zeros(n),
        shares=np.zeros(n),
        curvatures=np.zeros(n),
        u=np.zeros(width),
        balance=0.0,
        even=False,
        fresh=True,
        least=np.inf,
        stalled=0,
        max_passes=max_passes,
        solved=False,
        own=None,
        multiply=multiply or _combine,
    )
    state = MachineState(problem, tol, np.zeros(width + 1), np.zeros(n), memory=point)
    state.dual = -np.inf
    if is_solved_at_once(state):
        point.margins[:] = problem.signs * state.w[0]
        point.solved = True
        return state
    if w is not None:
        state.w[:] = w
    elif alpha is not None and problem.ridge > 0.0:
        state.w[1:] = combined(base, problem.signs * alpha, width).sum(axis=0) / problem.ridge
        state.passes += 1.0
    if not problem.rows.fit_intercept:
        state.w[0] = 0.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        refresh(state)
        if w is None or problem.loss == LOGISTIC:
            centre_bias(state)
        evaluate(state)
    return state


def refresh(state: MachineState) -> None:
    """Compute the margins from w; one pass, or none where w = 0."""
    problem, point = state.problem, state.memory
    point.margins[:] = 0.0
    if state.w[1:].any():
        point.margins[:] = scores(point.base, state.w[1:])
        state.passes += 1.0
    point.margins += state.w[0]
    point.margins *= problem.signs
    point.fresh = True


def centre_bias(state: MachineState) -> None:
    """Set b to its best value for this w: no pass over X.

    Not between the steps of the squared hinge: where few rows are short of their margin a new b
    alone can leave none, and Newton's method then has lost what it knew of the curvature.
    """
    problem, point, b = state.problem, state.memory, state.w[0]
    if not problem.rows.fit_intercept:
        return
    penalty = problem.bias_penalty
    size = pull_of_all(problem.loss, point.margins, problem.costs)
    shift, _ = best_step(
        problem.loss,
        point.margins,
        problem.signs,
        problem.costs,
        penalty * b,
        penalty,
        0.0,
        _BALANCED * size,
    )
    if shift != 0.0:
        state.w[0] += shift
        point.margins += shift * problem.signs


def evaluate(state: MachineState) -> None:
    """Compute both objectives, alpha, u and the curvatures at the point; one pass."""
    problem, point = state.problem, state.memory
    primal, plus, minus = _differentiate(state)
    point.even = not problem.has_free_bias or abs(plus - minus) <= _EVEN * (plus + minus)
    if point.even and problem.has_free_bias and plus != minus:
        # So little that the gradient does not feel it: then u need not be summed by class.
        scale_shares(point.shares, *scales(problem, plus, minus))
        plus = minus = min(plus, minus)
    by_class = point.multiply(state)
    state.passes += 1.0
    point.u = by_class[PLUS] + by_class[MINUS]
    point.balance = plus - minus
    better = primal < point.least * (1.0 - _DIGIT)
    state.primal = primal
    point.least = min(primal, point.least)
    if problem.ridge > 0.0:
        better |= claim(state, point.shares, by_class, plus, minus)
    else:
        np.multiply(point.shares, problem.signs, out=state.alpha)
    point.stalled = 0 if better else point.stalled + 1


def _differentiate(state: MachineState) -> tuple[float, float, float]:
    """Compute alpha and the curvatures; return the objective and the sum of alpha by class."""
    problem, point, w = state.problem, state.memory, state.w
    loss, plus, minus = derivatives(
        problem.loss, point.margins, problem.signs, problem.costs, point.shares, point.curvatures
    )
    penalty = problem.ridge * float(w[1:] @ w[1:])
    if problem.rows.fit_intercept:
        penalty += problem.bias_penalty * float(w[0]) * float(w[0])
    return 0.5 * penalty + float(loss), float(plus), float(minus)


def _combine(state: MachineState) -> np.ndarray:
    return _summed(state, state.memory.shares)


def _summed(state: MachineState, shares: np.ndarray) -> np.ndarray:
    """Return u by class; where balanced shares leave exactly 0, not the rounding of it."""
    by_class = combined(state.memory.base, shares, state.problem.X.shape[1])
    if state.memory.superfluous is not None:
        by_class[:, state.memory.superfluous] = 0.0
    return by_class


def gradient(state: MachineState) -> tuple[float, np.ndarray]:
    """Return the slopes in b and in w."""
    problem, point, w = state.problem, state.memory, state.w
    in_bias = problem.bias_penalty * w[0] - point.balance if problem.rows.fit_intercept else 0.0
    return in_bias, problem.ridge * w[1:] - point.u


def move(
    state: MachineState, direction: np.ndarray, gains: np.ndarray, u_ahead: np.ndarray
) -> None:
    """Go along [b, w] + t direction to the best t; `gains` is what that adds to the scores.

    `u_ahead` is what u becomes when alpha goes as the margins do, to first order.
    """
    problem, point, w = state.problem, state.memory, state.w
    state.updates += 1
    if not (np.isfinite(direction).all() and np.isfinite(gains).all()):
        point.stalled = _PATIENCE
        return
    gains *= problem.signs
    step = _best_along(state, direction, gains)
    ahead = np.empty_like(gains)
    plus, minus, feasible = shares_ahead(
        problem.loss, point.shares, point.curvatures, gains, problem.signs, problem.costs, ahead
    )
    w += step * direction
    point.margins += step * gains
    point.fresh = False
    if problem.loss == LOGISTIC:
        centre_bias(state)
    if problem.ridge > 0.0 and feasible:
        _claim_ahead(state, ahead, plus, minus, u_ahead)
        if state.gap <= state.tol:
            return
    evaluate(state)
    if not point.fresh and (state.gap <= state.tol or point.stalled):
        refresh(state)
        # The dual stands by itself: alpha and u do not depend on how exact the margins were.
        state.primal, *_ = _differentiate(state)
        if state.gap > state.tol:
            evaluate(state)


def _best_along(state: MachineState, direction: np.ndarray, gains: np.ndarray) -> float:
    problem, point, w = state.problem, state.memory, state.w
    penalty = problem.bias_penalty if problem.rows.fit_intercept else 0.0
    first = problem.ridge * float(w[1:] @ direction[1:]) + penalty * w[0] * direction[0]
    second = problem.ridge * float(direction[1:] @ direction[1:]) + penalty * direction[0] ** 2
    in_bias, in_w = gradient(state)
    slope = abs(float(in_w @ direction[1:]) + in_bias * direction[0])
    # The squared hinge is searched to its end, which takes no exponentials.
    enough = (1e-2 if problem.loss == LOGISTIC else 1e-9) * slope
    step, _ = best_step(
        problem.loss, point.margins, gains, problem.costs, first, second, 1.0, enough
    )
    return float(step)


def _claim_ahead(
    state: MachineState, ahead: np.ndarray, plus: float, minus: float, u_ahead: np.ndarray
) -> None:
    """Claim the alpha that Newton's step itself leads to, if that would end the run.

    It lies nearer the best one than the alpha of the new margins, which are 1 less a little where
    costs are high; and it saves the gradient there.
    """
    problem, point = state.problem, state.memory
    factors = scales(problem, plus, minus)
    primal, *_ = _differentiate(state)
    if primal - dual_value(problem, ahead, factors, u_ahead, plus - minus) > state.tol * primal:
        return
    refresh(state)
    state.primal, *_ = _differentiate(state)
    by_class = _summed(state, ahead)
    state.passes += 1.0
    if claim(state, ahead, by_class, plus, minus):
        point.stalled = -1


def outcome(state: MachineState) -> Status | None:
    """Say whether the run is over."""
    point = state.memory
    if point.solved or (point.fresh and state.gap <= state.tol):
        return Status.OPTIMAL
    if point.stalled >= _PATIENCE:
        return Status.UNPROVED
    return Status.BUDGET if state.passes >= point.max_passes else None


def go(state: MachineState, budget: int, step: Any) -> Status | None:
    """Make at most `budget` steps."""

    def iterate(state: MachineState) -> None:
        step(state)
        if state.memory.stalled >= _PATIENCE and state.gap > state.tol:
            polish(state)

    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        return advanced(state, budget, outcome, iterate)


# ---- dual bounds for the smooth models: alpha made feasible, valued, and kept where it is better


def claim(
    state: MachineState, shares: np.ndarray, by_class: np.ndarray, plus: float, minus: float
) -> bool:
    """Balance alpha and keep it if its dual is the best so far."""
    factors = scales(state.problem, plus, minus)
    u = factors[0] * by_class[PLUS] + factors[1] * by_class[MINUS]
    dual = dual_value(state.problem, shares, factors, u, plus - minus)
    better = dual > state.dual + _DIGIT * abs(dual)
    if dual >= state.dual:
        state.dual = dual
        write_alpha(shares, factors[0], factors[1], state.alpha)
    return better


def scales(problem: MachineProblem, plus: float, minus: float) -> tuple[float, float]:
    """Return what brings the heavier class down to the lighter one."""
    if not problem.has_free_bias or plus == minus:
        return 1.0, 1.0
    return (minus / plus, 1.0) if plus > minus else (1.0, plus / minus)


def dual_value(
    problem: MachineProblem,
    shares: np.ndarray,
    factors: tuple[float, float],
    u: np.ndarray,
    balance: float,
) -> float:
    """Return the dual objective of the shares, each class times its factor; u is their sum."""
    penalty = 0.5 * float(u @ u) / problem.ridge
    if problem.rows.fit_intercept and problem.bias_penalty > 0.0:
        penalty += balance * balance / (2.0 * problem.bias_penalty)
    gain = gain_of(problem.loss, shares, problem.costs, factors[0], factors[1])
    return float(gain - penalty)


def polish(state: MachineState) -> None:
    """Steps have come to nothing. Where costs are so high that margins of 1 hide alpha, fit it.

    Failing that, the model is as good as one of hard margin, whose claims are feasible here.
    """
    problem = state.problem
    if problem.loss != SQUARED_HINGE:
        return
    for alpha in fitted_alphas(problem, state.w):
        _offer(state, alpha)
    slack = state.primal - 0.5 * problem.ridge * float(state.w[1:] @ state.w[1:])
    n, d = problem.X.shape
    if state.gap > state.tol and n * d * d <= _CHEAP_STEP and slack < 0.1 * state.primal:
        hard = replace(problem, costs=np.where(problem.costs > 0.0, np.inf, 0.0))
        inner = interior_point.start(hard, tol=state.tol)
        interior_point.advance(inner, _HARD_STEPS)
        state.passes += inner.passes
        _offer(state, inner.alpha)
        if problem.primal(inner.w) < state.primal:
            state.w[:], state.primal = inner.w, problem.primal(inner.w)


def _offer(state: MachineState, alpha: np.ndarray) -> None:
    """Keep another alpha if its dual is better."""
    problem = state.problem
    if problem.has_free_bias:
        alpha = balanced(alpha, problem.signs, problem.upper)
    state.passes += 1.0
    dual = problem.dual(alpha)
    if dual > state.dual:
        state.dual = dual
        state.alpha[:] = alpha
