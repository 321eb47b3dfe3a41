"""What a run on a device hands over for proof: [b, w], a feasible alpha, and the best biases.

alpha is balanced exactly, and for the hinge put to the faces of its box (which rows are support
vectors, and which are not), as `solvers.crossover` does it. All of it is float64, on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.problem.losses import HINGE, SQUARED_HINGE
from separatrix.solvers.linear.contract import MachineState
from separatrix.solvers.linear.device.balance import balanced
from separatrix.solvers.linear.device.bias import bias_interval
from separatrix.solvers.linear.device.interior_point import dual_of, primal_of
from separatrix.solvers.linear.device.point import Point
from separatrix.solvers.linear.device.predictor_corrector import Run

__all__ = ["claimed"]

_BOLDNESS = (1.0, 0.1, 0.01)
# An interior point leaves every row between its bounds: those nearer to one than this are at it.
_AT_A_BOUND = 1e-3

Claim = tuple[np.ndarray, np.ndarray, tuple[float, float], bool]


def claimed(state: MachineState) -> Claim:
    """Return [b, w], alpha, the interval of best biases, and whether the faces are settled."""
    w = state.w
    at_b = (float(w[0]), float(w[0]))
    if state.memory is None:
        return w, state.alpha, at_b, True
    if state.problem.loss == HINGE:
        return _hinge(state, state.memory)
    if not state.dual >= 0.0:
        return w, state.alpha, at_b, True  # 0 is always feasible, with the value 0
    return w, _smooth(state.memory[0]), at_b, True


def _smooth(point: Point) -> np.ndarray:
    """Return the best alpha of the first machine."""
    torch = torch_module()
    alpha, costs = point.claimed[:, 0], point.costs[:, 0]
    if point.has_free_bias:
        unbounded = point.loss == SQUARED_HINGE
        upper = torch.where(costs > 0.0, torch.inf, costs) if unbounded else costs
        alpha = balanced(alpha, point.signs[:, 0], upper)
    return np.asarray(alpha.cpu().numpy())


def _hinge(state: MachineState, run: Run) -> Claim:
    scores = run.scores(run.best_v[:-1])
    alpha = run.best_alpha
    if run.has_free_bias:
        alpha = balanced(alpha, run.signs, run.pairs.costs)
    bias, interval = _best_bias(run, scores, alpha, state.tol)
    least = primal_of(run, run.best_v, scores, bias) * (1.0 - 0.9 * state.tol)
    on_faces = _on_the_faces(run, run.signs * (scores + bias), alpha, least)
    alpha = alpha if on_faces is None else on_faces
    w, b = run.scaled.plain(run.best_v[:-1, None], bias)
    shift = float(b) - float(bias)
    weights = np.append(float(b) if run.has_bias else 0.0, w[:, 0].cpu().numpy())
    ends = interval[0] + shift, interval[1] + shift
    return weights, np.asarray(run.spread_out(alpha).cpu().numpy()), ends, on_faces is not None


def _best_bias(run: Run, scores: Any, alpha: Any, tol: float) -> tuple[Any, tuple[float, float]]:
    """Take the bias that the free support vectors agree on, if it is as good as the best for w."""
    bias = run.best_v[-1] * run.has_bias
    if not run.has_free_bias:
        return bias, (float(bias), float(bias))
    low, high = bias_interval(scores, run.signs, run.pairs.costs)
    ends = [end for end in (low, high) if np.isfinite(end)]
    best = bias.new_full((), sum(ends) / len(ends))
    share = alpha / run.pairs.costs
    free = (share > _AT_A_BOUND) & (share < 1.0 - _AT_A_BOUND)
    if bool(free.any()):
        mean = (run.signs - scores)[free].mean()
        least = primal_of(run, run.best_v, scores, best)
        if primal_of(run, run.best_v, scores, mean) <= least * (1.0 + 0.1 * tol):
            return mean, (low, high)
    return best, (low, high)


def _on_the_faces(run: Run, margins: Any, alpha: Any, least_dual: float) -> Any:
    """Return multipliers put to their bounds as boldly as `least_dual` allows; None if it never."""
    torch, costs = torch_module(), run.pairs.costs
    share = alpha / costs
    for boldness in _BOLDNESS:
        found = torch.where(share < boldness * (margins - 1.0), 0.0, alpha)
        found = torch.where(1.0 - share < boldness * (1.0 - margins), costs, found)
        if run.has_free_bias:
            found = balanced(found, run.signs, costs)
        if dual_of(run, found) >= least_dual:
            return found
    return None
