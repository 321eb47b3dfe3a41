"""Novikoff's bound on the mistakes of the perceptron, beside those made.

Novikoff (1962): if a unit vector u has ``u.z_r >= margin`` above 0 for every row and no row is
longer than `radius`, the perceptron's single updates from the weights w_0 with a fixed rate end
after at most radius^2 / margin^2 + 2 |w_0| / (rate margin) of them, since after T mistakes

    T rate margin - |w_0|  <=  |w_T|  <=  sqrt(|w_0|^2 + T rate^2 radius^2) .
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from separatrix.certificates.separation import check_separation, radius_up, root_up, square_length
from separatrix.problem.canonical import Problem


@dataclass(frozen=True)
class Novikoff:
    """The mistakes made beside the bound on them."""

    mistakes: int
    radius: float
    margin: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the mistakes made are within the bound."""
        return self.mistakes <= self.bound

    def __str__(self) -> str:
        if not math.isfinite(self.bound):
            return f"{self.mistakes} mistakes; no bound, since no margin is proved"
        return f"{self.mistakes} mistakes made; at most {math.floor(self.bound):,} were possible"


def check_novikoff(
    problem: Problem,
    separator: np.ndarray,
    mistakes: int,
    first: np.ndarray | None = None,
    rate: float = 1.0,
) -> Novikoff:
    """Bound the mistakes by the margin of any separator, e.g. Kozinec's, which is a wide one."""
    margin = check_separation(problem, separator).margin
    radius = radius_up(problem)
    bound = math.inf
    if margin > 0.0 and math.isfinite(radius):
        exact = (Fraction(radius) / Fraction(margin)) ** 2
        if first is not None and np.any(first):
            start = Fraction(root_up(square_length(np.asarray(first))))
            exact += 2 * start / (Fraction(rate) * Fraction(margin))
        bound = math.nextafter(float(exact), math.inf) if exact < 2**1000 else math.inf
    return Novikoff(mistakes, radius, margin, bound)
