"""What a run on a device hands over for proof: [b, w], a feasible alpha, and the best biases.

On the processor and in float64: alpha is balanced exactly, and for the hinge put to the faces of
its box (which rows are support vectors, and which are not), as `solvers.crossover` does it.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.losses import HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray
from separatrix.solvers._machine import MachineState
from separatrix.solvers.accelerated.balance import balanced
from separatrix.solvers.bias import hinge_bias_interval

__all__ = ["claimed"]

_BOLDNESS = (1.0, 0.1, 0.01)

Claim = tuple[FloatArray, FloatArray, tuple[float, float], bool]


def claimed(state: MachineState) -> Claim:
    """Return [b, w], alpha, the interval of best biases, and whether the faces are settled."""
    problem = state.problem
    w, alpha = state.w, _alpha_of(state)
    if problem.has_free_bias:
        alpha = balanced(alpha, problem.signs, problem.upper)
    if not (state.dual > 0.0 or problem.dual(alpha) >= 0.0):
        alpha = np.zeros_like(alpha)  # always feasible, with the value 0
    if problem.loss != HINGE:
        return w, alpha, (float(w[0]), float(w[0])), True
    scores = problem.X @ w[1:]
    w, interval = _with_best_bias(problem, w, scores, alpha, state.tol)
    margins = problem.signs * (scores + (w[0] if problem.rows.fit_intercept else 0.0))
    least = problem.primal(w, margins) * (1.0 - 0.9 * state.tol)
    on_faces = _on_the_faces(problem, margins, alpha, least)
    return w, alpha if on_faces is None else on_faces, interval, on_faces is not None


def _alpha_of(state: MachineState) -> FloatArray:
    """Fetch the best alpha from the device."""
    if state.memory is None:
        return state.alpha
    if state.problem.loss == HINGE:
        run = state.memory
        return np.asarray(run.spread_out(run.best_alpha).cpu().numpy())
    point, _ = state.memory
    return np.asarray(point.claimed[:, 0].cpu().numpy())


def _with_best_bias(
    problem: MachineProblem, w: FloatArray, scores: FloatArray, alpha: FloatArray, tol: float
) -> tuple[FloatArray, tuple[float, float]]:
    """Take the bias that the free support vectors agree on, if it is as good as the best for w."""
    if not (problem.has_free_bias and problem.costs.any()):
        return w, (float(w[0]), float(w[0]))
    signs, costs = problem.signs, problem.costs
    low, high = hinge_bias_interval(scores, signs, costs)
    ends = [end for end in (low, high) if np.isfinite(end)]
    best = np.concatenate([[sum(ends) / len(ends)], w[1:]])
    # An interior point leaves every row between its bounds: those near neither are free.
    free = (alpha > 1e-3 * costs) & (alpha < (1.0 - 1e-3) * costs)
    if free.any():
        mean = np.concatenate([[float((signs - scores)[free].mean())], w[1:]])
        least = problem.primal(best, signs * (scores + best[0]))
        if problem.primal(mean, signs * (scores + mean[0])) <= least * (1.0 + 0.1 * tol):
            return mean, (low, high)
    return best, (low, high)


def _on_the_faces(
    problem: MachineProblem, margins: FloatArray, alpha: FloatArray, least_dual: float
) -> FloatArray | None:
    """Return multipliers put to their bounds as boldly as `least_dual` allows; None if it never."""
    costs = problem.costs
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(costs > 0.0, alpha / costs, 0.0)
    for boldness in _BOLDNESS:
        found = np.where(share < boldness * (margins - 1.0), 0.0, alpha)
        found = np.where(1.0 - share < boldness * (1.0 - margins), costs, found)
        if problem.has_free_bias:
            found = balanced(found, problem.signs, problem.upper)
        if problem.dual(found) >= least_dual:
            return found
    return None
