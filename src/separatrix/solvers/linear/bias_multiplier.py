"""The bias of dual coordinate descent: an augmented Lagrangian for y.a = p b.

The dual objective is charged with

    M t + W t^2 / 2 - p M^2 / (2 k),     t = y.a,  k = 1 / (1 + p s),  M = k b_0,  W = k s

for the multiplier b_0 and the weight s of the penalty, and the bias is b = M + W t. For a free
bias (p = 0) k = 1, and this is the textbook's b_0 t + s t^2 / 2. With s infinite (p > 0) k = 0, and
it is t^2 / (2p): exact at once, but every step of a row is shorter by what W = 1 / p adds to its
square. Kept are M and W.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.contract import MachineState
from separatrix.solvers.linear.coordinate_pass import (
    BALANCE,
    LAST_BALANCE,
    MULTIPLIER,
    SHORTFALL,
    VALUE,
    WEIGHT,
)

__all__ = [
    "SHORT_RUN",
    "charge",
    "first_weight",
    "move_multiplier",
    "renew_multiplier",
    "share_of_multiplier",
    "soft_weight",
    "soften",
]

# What y.a weighs at first, in squares of a row. With all of one, every step is half as long and
# texts took up to three times the updates; with less than this the balance is found too late.
_BIAS_SHARE = 0.03
# Up to this p s the exact weight 1/p serves a short run, of so many checks, better.
_ALIKE, SHORT_RUN = 0.25, 2
_STIFF = 10.0  # from this p s on, s may as well be infinite


def soft_weight(problem: MachineProblem, squares: np.ndarray) -> float:
    """Return s to begin with: a share of the mean |x_i|^2."""
    used = problem.costs > 0.0
    mean = float(squares[used].mean()) if used.any() else 0.0
    return _BIAS_SHARE * mean if mean > 0.0 else 1.0


def first_weight(problem: MachineProblem, s: float) -> float:
    """Return what y.a weighs at first: s / (1 + p s), or 1 / p where that is not much more."""
    if not problem.rows.fit_intercept:
        return 0.0
    p = problem.bias_penalty
    return s / (1.0 + p * s) if p * s < _ALIKE else 1.0 / p


def share_of_multiplier(problem: MachineProblem, numbers: np.ndarray) -> float:
    """Return k = 1 / (1 + p s), as what y.a weighs tells it; 0 where s is infinite."""
    if not problem.rows.fit_intercept:
        return 0.0
    share = 1.0 - problem.bias_penalty * float(numbers[WEIGHT])
    return share if share > 0.5 / (1.0 + _STIFF) else 0.0  # less is the rounding of p times 1 / p


def move_multiplier(state: MachineState) -> None:
    """Let b_0 take what the penalty has found, between checks; the value is that of the new b_0."""
    problem, numbers = state.problem, state.memory.memory.numbers
    if (share := share_of_multiplier(problem, numbers)) > 0.0:
        bias = numbers[MULTIPLIER] + numbers[WEIGHT] * numbers[BALANCE]
        numbers[VALUE] += charge(problem, numbers)
        numbers[MULTIPLIER] = share * bias
        numbers[VALUE] -= charge(problem, numbers)


def charge(problem: MachineProblem, numbers: np.ndarray) -> float:
    """Return what the multiplier and the penalty take off the dual objective."""
    half = 0.5 * float(numbers[WEIGHT] * numbers[BALANCE])
    charge = (float(numbers[MULTIPLIER]) + half) * float(numbers[BALANCE])
    if (share := share_of_multiplier(problem, numbers)) > 0.0:
        charge -= 0.5 * problem.bias_penalty * float(numbers[MULTIPLIER]) ** 2 / share
    return charge


def soften(state: MachineState) -> None:
    """Weigh y.a less, for longer steps from here on: this will not be a short run."""
    numbers, s = state.memory.memory.numbers, state.memory.setup.soft_weight
    if state.problem.bias_penalty * s >= 1.0:
        return
    bias = numbers[WEIGHT] * numbers[BALANCE]
    numbers[WEIGHT] = s / (1.0 + state.problem.bias_penalty * s)
    numbers[MULTIPLIER] = share_of_multiplier(state.problem, numbers) * bias


def renew_multiplier(state: MachineState, share: float) -> None:
    """Let b_0 take what the penalty has found; weigh y.a more where it alone is what is missing."""
    numbers, p = state.memory.memory.numbers, state.problem.bias_penalty
    bias = numbers[MULTIPLIER] + numbers[WEIGHT] * numbers[BALANCE]
    missing = abs(numbers[BALANCE] - p * bias)
    settled = numbers[SHORTFALL] < 0.1 * (state.primal - state.dual)
    if settled and missing > 0.25 * numbers[LAST_BALANCE]:
        s = 4.0 * numbers[WEIGHT] / share
        if np.isfinite(s):  # beyond the largest number it is weighed as it was
            numbers[WEIGHT] = s / (1.0 + p * s) if p * s < _STIFF else 1.0 / p
    numbers[MULTIPLIER] = share_of_multiplier(state.problem, numbers) * bias
    numbers[LAST_BALANCE] = missing
