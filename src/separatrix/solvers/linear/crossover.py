"""From the interior of the box to its faces: which rows are support vectors, and which are not.

An interior point leaves every multiplier strictly between its bounds. At the optimum a row with a
margin above 1 has none, and one with a margin below 1 has all it may. So each row's distance from a
bound, as a share of the box, is weighed against its distance from the margin of 1; where the margin
says it more clearly, the multiplier goes to the bound. To first order this raises the dual
objective (each step is along its slope); whether it stays within the tolerance is then computed.
Where it does, the multipliers of rows near the margin are fitted anew (`dual_polish`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.balance import balanced
from separatrix.solvers.linear.dual_polish import fitted_alphas

__all__ = ["on_the_faces"]

_BOLDNESS = (1.0, 0.1, 0.01)


def on_the_faces(
    problem: MachineProblem,
    w: np.ndarray,
    margins: np.ndarray,
    alpha: np.ndarray,
    least_dual: float,
) -> np.ndarray | None:
    """Return multipliers put to their bounds as boldly as `least_dual` allows; None if it never."""
    for candidate in _candidates(problem, w, margins, alpha):
        if problem.has_free_bias:
            candidate = balanced(candidate, problem.signs, problem.upper)
        if problem.dual(candidate) >= least_dual:
            return candidate
    return None


def _candidates(
    problem: MachineProblem, w: np.ndarray, margins: np.ndarray, alpha: np.ndarray
) -> Iterator[np.ndarray]:
    most = float(alpha.max(initial=0.0))
    for boldness in _BOLDNESS:
        yield _put_to_bounds(alpha, problem.upper, margins, most, boldness)
    yield from fitted_alphas(problem, w)


@compiled
def _put_to_bounds(alpha, upper, margins, most, boldness):  # type: ignore[no-untyped-def]
    """Return alpha with 0 or all where the margin says so; a box without an end is `most` wide."""
    found = alpha.copy()
    for i in range(alpha.shape[0]):
        box = most if math.isinf(upper[i]) else upper[i]
        share = alpha[i] / box if box > 0.0 else 0.0
        if share < boldness * (margins[i] - 1.0):
            found[i] = 0.0
        elif 1.0 - share < boldness * (1.0 - margins[i]) and not math.isinf(upper[i]):
            found[i] = upper[i]
    return found
