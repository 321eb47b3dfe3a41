"""Newton's method by conjugate gradients, for the smooth models on wide data.

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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.products import SPREAD, TILT, curved, moments, tilted
from separatrix.solvers.linear import smooth
from separatrix.solvers.linear.claims import MachineState
from separatrix.solvers.running.drive import Status

# The system is solved until its residual is this share of the gradient; far from the optimum, with
# a gap beyond _FAR, a rougher step serves as well.
_SHARE, _ROUGH_SHARE, _FAR = 0.15, 0.5, 1.0
_ROUNDS = 250
# The system is scaled by so much of its diagonal, and of the ridge for the rest: between the two
# extremes there were fewer rounds than at either end on all texts tried.
_OF_DIAGONAL = 0.2
# A column whose mean holds all but this share of its squares is nearly constant.
_NEARLY_CONSTANT = 0.01


class System(NamedTuple):
    """What the pass of the gradient tells of the matrix."""

    tilt: np.ndarray
    scale: np.ndarray
    weight: float  # what stands for b: p + the sum of curvatures, or inf without b
    centre: np.ndarray  # 0 but for columns that are nearly constant: else digits would be lost
    total: float  # the sum of curvatures when `scale` was computed; kept while it holds roughly


def start(problem: MachineProblem, *, seed: int = 0, **settings: Any) -> MachineState:
    """Lay out a run, as `smooth.begin`. Nothing is random here: `seed` is ignored."""
    return smooth.begin(problem, multiply=multiply, **settings)


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    return smooth.go(state, budget, step)


def multiply(state: MachineState) -> np.ndarray:
    """Compute u by class and, in the same pass, what the next system needs."""
    problem, point, known = state.problem, state.memory, state.memory.own
    width = problem.X.shape[1]
    total = float(point.curvatures.sum())
    weight = np.inf
    if problem.rows.fit_intercept:
        weight = problem.bias_penalty + total or np.inf
    if known is not None and point.even and 0.8 * known.total <= total <= 1.25 * known.total:
        u, tilt = tilted(point.base, point.shares, point.curvatures, width)
        point.own = known._replace(tilt=tilt - known.centre * total, weight=weight)
        return np.stack([u, np.zeros(width)])
    found = moments(point.base, point.shares, point.curvatures, width)
    tilt, squares = found[TILT], found[SPREAD]
    centre = _centre(state, tilt, squares, total) if known is None else known.centre
    tilt = tilt - centre * total
    squares = squares - centre * (2.0 * tilt + centre * total)
    diagonal = np.maximum(squares - tilt**2 / weight, 0.0)
    scale = problem.ridge + _OF_DIAGONAL * diagonal
    scale[~(scale > 0.0)] = 1.0
    point.own = System(tilt, scale, weight, centre, total)
    return found


def _centre(state: MachineState, tilt: np.ndarray, squares: np.ndarray, total: float) -> np.ndarray:
    """Return the means of the columns that are nearly constant; they hide behind a free bias."""
    mean = tilt / total if total > 0.0 else tilt
    hidden = tilt * mean > (1.0 - _NEARLY_CONSTANT) * squares
    return np.where(hidden & state.problem.has_free_bias, mean, 0.0)


def step(state: MachineState) -> None:
    """Make one update."""
    problem, point = state.problem, state.memory
    system: System = point.own
    in_bias, in_w = smooth.gradient(state)
    right = system.tilt * (in_bias / system.weight) + system.centre * in_bias - in_w
    solution, gains, residual = solved(state, right)
    lift = -(in_bias + float(system.tilt @ solution)) / system.weight
    direction = np.concatenate([[lift - float(system.centre @ solution)], solution])
    gains += lift
    if problem.ridge <= 0.0:
        decrement = -float(in_w @ solution) - in_bias * direction[0]
        state.dual = state.primal - max(decrement, 0.0)
    u_ahead = problem.ridge * (state.w[1:] + solution) + residual
    smooth.move(state, direction, gains, u_ahead)


def solved(state: MachineState, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve the system roughly; return the solution, its scores (centred) and the residual."""
    problem, point = state.problem, state.memory
    tilt, scale, weight, centre, _ = point.own
    gains, products = np.zeros(problem.X.shape[0]), np.empty(problem.X.shape[0])

    def times(towards: np.ndarray) -> np.ndarray:
        offset = float(centre @ towards)
        bent, pushes = curved(point.base, point.curvatures, towards, offset, products)
        state.passes += 1.0
        bent += problem.ridge * towards - tilt * (pushes / weight) - centre * pushes
        return bent

    def taken(share: float) -> None:
        np.add(gains, share * products, out=gains)

    target = _ROUGH_SHARE if state.gap > _FAR else _SHARE
    found = conjugate_gradients(times, right, scale, target, problem.ridge, taken)
    return found[0], gains, found[1]


def conjugate_gradients(
    times: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    scale: np.ndarray,
    target: float,
    ridge: float,
    taken: Callable[[float], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve times(x) = right until the residual has fallen to the share `target`; return it too.

    The system is scaled by `scale`. `taken` hears what share of the last product a round takes.
    """
    solution, residual = np.zeros_like(right), right.copy()
    scaled = residual / scale
    towards = scaled.copy()
    size = first = float(residual @ scaled)
    for _ in range(_ROUNDS):
        if not size > target**2 * first:
            break
        bent = times(towards)
        length = float(towards @ bent)
        # What the ridge alone gives is missed only where rounding has taken over.
        if not length > 0.5 * ridge * float(towards @ towards):
            break
        share = size / length
        solution += share * towards
        if taken is not None:
            taken(share)
        residual -= share * bent
        np.divide(residual, scale, out=scaled)
        following = float(residual @ scaled)
        towards *= following / size
        towards += scaled
        size = following
    return solution, residual
