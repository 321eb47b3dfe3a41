"""What a run on a device hands over for proof: [b, w], a feasible alpha, and the best biases.

alpha is balanced exactly, and for the hinge put to the faces of its box (which rows are support
vectors, and which are not), as `solvers.crossover` does it. All of it is float64, on the device.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.problem.losses import HINGE, SQUARED_HINGE
from separatrix.solvers.linear.contract import MachineState
from separatrix.solvers.linear.device.point import Point
from separatrix.solvers.linear.device.predictor_corrector import Run

__all__ = ["balanced", "bias_interval", "claimed", "middle_bias", "dual_of", "primal_of"]

_BOLDNESS = (1.0, 0.1, 0.01)
# An interior point leaves every row between its bounds: those nearer to one than this are at it.
_AT_A_BOUND = 1e-3

Claim = tuple[np.ndarray, np.ndarray, tuple[float, float], bool]
_HALF = 26  # bits: sums of the high and the low halves of 2^36 rows stay below 2^63
_MOST = 2**53
_TINY = 2.0**-1022
_FLAT = 1e-12


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


# ---- multipliers whose signed sum is exactly zero, without a loop over the rows


def balanced(alpha: Any, signs: Any, upper: Any) -> Any:
    """Return multipliers within their bounds whose signed sum is exactly zero; 0 if none has."""
    torch = torch_module()
    alpha = torch.minimum(alpha.clamp(min=0.0), upper)
    for inside_only in (True, False):
        alpha = _shifted(alpha, signs, upper, inside_only)
    found = _exact(alpha, signs, upper) if bool(alpha.any()) else None
    return torch.zeros_like(alpha) if found is None else found


def _shifted(alpha: Any, signs: Any, upper: Any, inside_only: bool) -> Any:
    """Move rows, each in proportion to its room, as far as the balance asks."""
    torch = torch_module()
    residual = float(signs @ alpha)
    if residual == 0.0:
        return alpha
    # Where nothing bounds a row, its room is its size.
    above = torch.where(upper.isinf(), alpha.clamp(min=abs(residual)), upper - alpha)
    room = torch.where(signs * residual > 0.0, alpha, above)
    if inside_only:
        room = torch.where((alpha > 0.0) & (alpha < upper), room, 0.0)
    total = float(room.sum())
    if total == 0.0:
        return alpha
    share = math.copysign(min(1.0, abs(residual) / total), residual)
    return torch.minimum((alpha - signs * (room * share)).clamp(min=0.0), upper)


def _exact(alpha: Any, signs: Any, upper: Any) -> Any:
    """Put all on the grid of the largest, then take what is left from few rows; None: no room."""
    torch = torch_module()
    grid = math.ulp(float(alpha.max()))
    if grid < _TINY:
        return None
    units = (alpha / grid).floor().long()
    most = (upper / grid).clamp(max=float(_MOST)).floor().long()
    plus = signs > 0.0
    while (residual := _whole_sum(torch.where(plus, units, -units))) != 0:
        falls = plus if residual > 0 else ~plus
        room = torch.where(falls, units, most - units)
        # A row at a bound moves only if no other can.
        inside = torch.where((units > 0) & (units < most), room, 0)
        row = int(inside.argmax() if bool((inside > 0).any()) else room.argmax())
        step = min(int(room[row]), abs(residual))
        if step <= 0:
            return None
        units[row] += -step if bool(falls[row]) else step
    return units.double() * grid


def _whole_sum(units: Any) -> int:
    """Add whole numbers of at most 2^53 without overflow."""
    # The shift of a negative number rounds down, and what & leaves makes up for it.
    high, low = units >> _HALF, units & ((1 << _HALF) - 1)
    return (int(high.sum()) << _HALF) + int(low.sum())


# ---- the best biases of the hinge for given weights, by sorting on the device


def bias_interval(scores: Any, signs: Any, costs: Any) -> tuple[float, float]:
    """Return the ends of the interval of best biases; inf where nothing holds it."""
    turns, order = (signs - scores).sort(stable=True)
    positive = signs > 0.0
    slopes = costs[order].cumsum(dim=0) - costs[positive].sum()
    # Sums of costs are rounded: a slope this small is level ground.
    level = _FLAT * float(costs.sum())
    last = len(turns) - 1
    low = min(int((slopes < -level).sum()), last)
    high = min(int((slopes <= level).sum()), last)
    return (
        float(turns[low]) if bool(positive.any()) else -math.inf,
        float(turns[high]) if not bool(positive.all()) else math.inf,
    )


def middle_bias(scores: Any, signs: Any, costs: Any) -> float:
    """Return the middle of the best biases."""
    ends = [end for end in bias_interval(scores, signs, costs) if math.isfinite(end)]
    return sum(ends) / len(ends)


def primal_of(run: Run, v: Any, scores: Any, bias: Any) -> float:
    """Return the objective of v with this bias, from its scores."""
    short = (1.0 - run.signs * (scores + bias)).clamp(min=0.0)
    norm = run.quadratic[:-1] @ v[:-1].square()
    charged = run.quadratic[-1] * bias.square() if run.has_bias else 0.0
    return float(0.5 * (norm + charged) + run.pairs.costs @ short)


def dual_of(run: Run, alpha: Any) -> float:
    """Return the dual objective of a feasible alpha."""
    torch, q = torch_module(), run.quadratic
    pulled = run.gather(run.signs * alpha)
    lost = torch.where(q > 0.0, pulled.square() / q, 0.0).sum()
    return float(alpha.sum() - 0.5 * lost)
