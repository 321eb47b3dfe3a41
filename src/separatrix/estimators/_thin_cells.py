"""Weights for rows that can be separated, however thin the cell of hyperplanes that do it.

    find  w  with  w.z_i > 0  for all rows given, in float64 if possible, otherwise in integers

Points on a line as decimals are a hair off it as stored floats, and a hyperplane may have to pass
between them. Exact arithmetic finds it. Rounding moves it by about as much as the cell is wide, but
along its ray every length rounds differently, and one in some dozens stays within.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from separatrix.certificates.errors import errors_of
from separatrix.problem.exact import SignedRows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.separability.decide import decide

__all__ = ["ExactWeights", "predicted_errors", "through_thin_cell"]

_LENGTHS = 4096
_MOST_PRODUCTS = 40_000_000
_MOST_COUNTED = 400  # roundings that are counted exactly


@dataclass(frozen=True)
class ExactWeights:
    """Integers that are right for all rows given, and the floats found that do best."""

    integers: tuple[int, ...]
    floats: np.ndarray


def predicted_errors(problem: SignedProblem, masses: np.ndarray, w: np.ndarray) -> int:
    """Return the errors of weights as they are predicted, in floating point.

    Rows are looked at all at once and one by one, since sums may be rounded differently.
    """
    X, positive = problem.X, problem.signs > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = (X @ w[1:] + w[0] > 0.0) != positive
        if not hasattr(X, "tocsr"):
            ordered = np.full(len(X), 0.0)
            for j in range(X.shape[1]):
                ordered += X[:, j] * w[1 + j]
            wrong |= (ordered + w[0] > 0.0) != positive
    return int(masses[wrong].sum())


def through_thin_cell(
    rows: SignedProblem, part: SignedProblem, masses: np.ndarray, known: np.ndarray
) -> ExactWeights | None:
    """Separate `rows` exactly; the floats are those that do best on `part`, or those known."""
    claim = decide(SignedRows(rows.X, rows.signs))
    if claim.kind != "separable" or claim.direction is None:
        return None
    common = lcm(*(v.denominator for v in claim.direction))
    integers = tuple(v.numerator * (common // v.denominator) for v in claim.direction)
    least = errors_of(part, masses, integers)

    def cost(w: np.ndarray) -> tuple[int, int]:
        return predicted_errors(part, masses, w), errors_of(part, masses, w)

    best, best_cost = known, cost(known)
    lengths = int(min(_LENGTHS, max(64, _MOST_PRODUCTS // max(part.X.size, 1))))
    counted = 0
    for w in roundings(integers, lengths):
        if counted == _MOST_COUNTED or best_cost == (least, least):
            break
        if predicted_errors(part, masses, w) <= best_cost[0]:
            counted += 1
            if (here := cost(w)) < best_cost:
                best, best_cost = w, here
    return ExactWeights(integers, best)


def roundings(direction: tuple[int, ...], lengths: int) -> Iterator[np.ndarray]:
    """Round a direction to float64 at different lengths between one and two.

    >>> [w.tolist() for w in roundings((1, -3), 2)]
    [[0.5, -1.5], [0.75, -2.25]]
    """
    sizes = [abs(v).bit_length() for v in direction if v]
    # Neither the largest nor the smallest leaves the range of floats, if that is possible.
    middle = (max(sizes, default=0) + min(sizes, default=0)) // 2
    exact = [Fraction(v) / 2**middle for v in direction]
    for k in range(lengths):
        length = 1 + Fraction(k, lengths)
        try:
            yield np.array([float(v * length) for v in exact])
        except OverflowError:
            return
