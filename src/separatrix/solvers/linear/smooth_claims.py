"""Dual bounds for the smooth machines: alpha made feasible, valued, and kept where it is better.

A free bias asks for a balanced alpha: the heavier class is scaled down to the lighter one, which
keeps alpha feasible. Where steps come to nothing because costs are so high that the margins of 1
hide alpha, it is fitted to w, or taken from the machine of hard margin.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.problem.losses import SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.products import MINUS, PLUS
from separatrix.solvers.linear import interior_point
from separatrix.solvers.linear.balance import balanced
from separatrix.solvers.linear.contract import MachineState
from separatrix.solvers.linear.dual_polish import fitted_alphas
from separatrix.solvers.linear.row_terms import gain_of, write_alpha

__all__ = ["claim", "dual_value", "polish", "scales"]

_DIGIT = 1e-15
# A hard margin is tried where each of its steps costs no more multiplications than this.
_CHEAP_STEP, _HARD_STEPS = 50_000_000, 100


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

    Failing that, the machine is as good as one of hard margin, whose claims are feasible here.
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
