"""How far weights that may not be negative can be from their least-squares optimum.

    f(W, b) = sum_i s_i |W x_i + b - t_i|^2 + ridge |W|^2,      W >= 0

With g half the gradient at W, and any V >= 0 in place of it, d = V - W,

    f(V) = f(W) + 2 g.d + |A d|^2

Where a weight is 0, d is not negative there, so that a positive g only adds: it may be taken as 0.
With this g the bounds are those of `least_squares`: f - min f <= sum_j (g_j / |A_j|)^2 / c, with c
a proved lower bound on the least eigenvalue of A'A with unit columns, or by the ridge alone.

Where the residual r is small against the targets t, and there is no ridge, the weights are instead
the exact solution for targets changed by |r| / |t|: those that they fit without error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.least_squares import SquaresBounds, SquaresClaim, check_squares
from separatrix.checker.exact import at_most


@dataclass(frozen=True)
class NonNegativeOptimality(SquaresClaim):
    """Weights, none below 0, and how far from the best of such weights they can be at the most.

    Fields are those of `SquaresClaim`; `least` and `gap` speak of weights not below 0,
    and `perturbation` of changed targets alone. No file holds it.
    """

    has_file_form: ClassVar[bool] = False

    @staticmethod
    def bounds() -> type[SquaresBounds]:
        """Return what encloses the bounds."""
        return _Bounds

    def _sentence(self) -> str:
        gap, moved = at_most(self.gap, 2), at_most(self.perturbation, 2)
        said = f"the squared error is within {gap} of the least of weights not below 0"
        if self.perturbation < self.gap:
            said = f"the exact solution for targets that differ by at most {moved}"
        return f"proved: {said}" if self.holds else f"not to the tolerance, but proved: {said}"


def check_nonnegative_squares(*data: Any, **settings: Any) -> NonNegativeOptimality:
    """Compute the bounds from the data, rounding outwards; arguments of `check_squares`."""
    return check_squares(NonNegativeOptimality, *data, **settings)


class _Bounds(SquaresBounds):
    """The bounds of least squares, with the gradients that only add at weights of 0 left out."""

    @staticmethod
    def admits(W: np.ndarray) -> bool:
        """Whether no weight is below 0."""
        return bool((W[:, 1:] >= 0.0).all())

    def perturbation(self, excess: float) -> float:
        """Bound by how much the targets differ that the weights fit without error.

        With a ridge these weights are not the solution for those targets: they cost something.
        """
        if self.ridge:
            return math.inf
        return float((self.squares.root() / self.spread_of_targets()).high.max(initial=0.0))

    def _ways(self) -> tuple[Callable[[], float], ...]:
        return (self._excess_by_columns,)

    def _counted(self, gradient: Enclosure) -> Enclosure:
        """Return the gradient, where a weight is 0 and the slope above it as 0; intercept apart."""
        features = len(self.w.low) - self.intercept
        zero = (self.w.low == 0.0) & (self.w.high == 0.0)
        zero[features:] = False
        zero = zero[: len(gradient.low)]
        return gradient.at_most(np.where(zero, 0.0, math.inf))
