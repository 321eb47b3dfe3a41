"""Newton's method by conjugate gradients, for the smooth machines on wide data.

    minimise over w, b    r/2 |w|^2 + p/2 b^2 + sum_i c_i loss(y_i (w.x_i + b))

The same steps as `newton`, but the system is solved only as well as the step deserves, and its
matrix is never formed. b is eliminated from it exactly:

    (r I + X^T D X - t t^T / (p + sum d)) s = -gradient ,     t = X^T d

Each round of conjugate gradients reads X once: a row's score and its share of the result are
computed together, and the scores of the step, which the line search needs, add up on the way. The
pass that computes a gradient also computes t and the diagonal, by which the system is scaled.

With ridge r = 0 the gap is an estimate and no proof: see `newton`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.products import SPREAD, TILT, curved, moments
from separatrix.solvers import _smooth
from separatrix.solvers._drive import Status
from separatrix.solvers._machine import MachineState

__all__ = ["advance", "start"]

# The system is solved until its residual is this share of the gradient.
_SHARE = 0.1
_ROUNDS = 250


class System(NamedTuple):
    """What the pass of the gradient tells of the matrix."""

    tilt: np.ndarray
    diagonal: np.ndarray
    weight: float  # what stands for b: p + the sum of curvatures, or inf without b


def start(
    problem: MachineProblem,
    *,
    tol: float,
    first: Any = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Lay out a run. Nothing is random here: `seed` is ignored."""
    return _smooth.begin(problem, tol, first, max_passes, multiply)


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    return _smooth.go(state, budget, step)


def multiply(state: MachineState) -> np.ndarray:
    """Compute u by class and, in the same pass, what the next system needs."""
    problem, point = state.problem, state.memory
    found = moments(point.base, point.shares, point.curvatures, problem.X.shape[1])
    weight = np.inf
    if problem.rows.fit_intercept:
        weight = problem.bias_penalty + float(point.curvatures.sum()) or np.inf
    diagonal = np.maximum(found[SPREAD] - found[TILT] ** 2 / weight, 0.0) + problem.ridge
    diagonal[~(diagonal > 0.0)] = 1.0
    point.own = System(found[TILT], diagonal, weight)
    return found


def step(state: MachineState) -> None:
    """Make one update."""
    problem, point = state.problem, state.memory
    system: System = point.own
    in_bias, in_w = _smooth.gradient(state)
    right = system.tilt * (in_bias / system.weight) - in_w
    solution, gains, residual = conjugate_gradients(state, right)
    direction = np.empty_like(state.w)
    direction[1:] = solution
    direction[0] = -(in_bias + float(system.tilt @ solution)) / system.weight
    if problem.ridge <= 0.0:
        decrement = -float(in_w @ solution) - in_bias * direction[0]
        state.dual = state.primal - max(decrement, 0.0)
    u_ahead = problem.ridge * (state.w[1:] + solution) + residual
    _smooth.move(state, direction, gains, u_ahead)


def conjugate_gradients(
    state: MachineState, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve the system roughly; return the solution, its scores and the residual."""
    problem, point = state.problem, state.memory
    tilt, diagonal, weight = point.own
    solution, gains = np.zeros_like(right), np.zeros(problem.X.shape[0])
    products = np.empty_like(gains)
    residual = right.copy()
    scaled = residual / diagonal
    towards = scaled.copy()
    size = first = float(residual @ scaled)
    for _ in range(_ROUNDS):
        if not size > _SHARE**2 * first:
            break
        bent, pushes = curved(point.base, point.curvatures, towards, products)
        state.passes += 1.0
        bent += problem.ridge * towards - tilt * (pushes / weight)
        length = float(towards @ bent)
        if not length > 0.0:
            break
        share = size / length
        solution += share * towards
        gains += share * products
        residual -= share * bent
        np.divide(residual, diagonal, out=scaled)
        following = float(residual @ scaled)
        towards *= following / size
        towards += scaled
        size = following
    return solution, gains, residual
