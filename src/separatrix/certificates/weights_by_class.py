"""What the certificates of models with one weight vector a class have in common.

Crammer-Singer and the multinomial model differ in the loss of a row and in the dual point; their
weights, costs and penalties are the same, and are bounded here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.objective_bounds import norm
from separatrix.certificates.two_bounds import TwoBounds, are_floats, require

__all__ = ["WeightsByClass", "losses_of", "shortfalls"]


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightsByClass(TwoBounds):
    """Two bounds on the objective of `weights`: one row [b, w_1 ... w_d] a class."""

    weights: np.ndarray
    bias_penalty: float = 0.0

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        require(
            are_floats(self.weights)
            and self.weights.shape == (len(self.classes), self.n_features + 1),
            "weights must be one list a class: the bias, and one number a column",
        )
        require(0.0 <= self.bias_penalty < math.inf, "bias_penalty must be at least 0")

    @property
    def _W(self) -> np.ndarray:
        return np.ascontiguousarray(self.weights[:, 1:].T, dtype=np.float64)

    @property
    def _biases(self) -> np.ndarray:
        return self.weights[:, 0] if self.intercept else np.zeros(len(self.weights))

    @property
    def _penalty(self) -> float | None:
        """What biases cost: None where there are none."""
        return self.bias_penalty if self.intercept else None

    def _primal(self, losses: Enclosure) -> Enclosure:
        """Enclose the objective, given the loss of every row."""
        spent = norm(self.weights[:, 1:], self._biases, self._penalty or 0.0)
        return spent + losses_of(losses, self.costs)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        return self._in_words(f"{len(self.classes)} weight vectors lower")


def losses_of(losses: Enclosure, costs: np.ndarray) -> Enclosure:
    """Enclose the sum of all losses times their costs."""
    return sum_of(lambda loss, c: loss * c, losses, costs)


def shortfalls(scores: Enclosure, codes: np.ndarray) -> Enclosure:
    """Enclose how far rows fall short of a margin of 1 over every other class."""
    own = np.arange(len(codes)), codes
    away = scores + 1.0 - scores[own][:, None]
    for end in (away.low, away.high):
        end[own] = 0.0  # a row is at no distance from its own class
    return away.column_max()
