"""The distribution of a quadratic function of a Gaussian vector.

    P( sum_i a_i (z_i + c_i)^2  +  s z_0  +  t  <=  x ),     z_0, z_1, ... independent N(0, 1)

is found from its characteristic function (Gil-Pelaez, 1951; Imhof, 1961):

    1/2 - 1/pi  integral over u > 0 of  Im( e^{-iux} phi(u) ) / u ,

by the midpoint rule, which for this integral errs by no more than the tails of the distribution
(Davies, 1973), and by what is cut off where phi falls slowly: about 1e-8 for squares of like size,
and up to 1e-3 at the edge of one that outweighs all others ten thousand times. One square alone is
done by the normal distribution.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import ndtr

from separatrix.problem.signed import FloatArray

__all__ = ["QuadraticForm"]

_NEGLIGIBLE = 1e-12
# In standard deviations: beyond 40 lies less than e^-20, and sums of this spacing repeat after 80.
_FAR, _SPACING, _POINTS = 40.0, 2.0 * np.pi / 80.0, 100_000
_VANISHED = -32.0  # the logarithm of a term too small to count


class QuadraticForm:
    """The law of ``y'Q y + l.y + t`` for y ~ N(0, I).

    >>> form = QuadraticForm(np.eye(2), np.zeros(2), 0.0)  # chi-squared with 2 degrees
    >>> round(form.at_most(2.0), 6), round(float(1 - np.exp(-1.0)), 6)
    (0.632121, 0.632121)
    """

    def __init__(self, Q: FloatArray, linear: FloatArray, constant: float) -> None:
        values, vectors = np.linalg.eigh(0.5 * (Q + Q.T))
        slopes = vectors.T @ linear
        # A square whose centre lies far beyond the rows is a straight line to them.
        curved = np.abs(values) > _NEGLIGIBLE * (np.abs(values).max(initial=0.0) + np.abs(slopes))
        self.scales = values[curved]
        self.centres = 0.5 * slopes[curved] / self.scales
        self.spread = float(np.sqrt((slopes[~curved] ** 2).sum()))
        self.shift = float(constant - (self.scales * self.centres**2).sum())

    @property
    def mean(self) -> float:
        """The expected value."""
        return float(self.shift + (self.scales * (1.0 + self.centres**2)).sum())

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        squares = 2.0 * self.scales**2 * (1.0 + 2.0 * self.centres**2)
        return float(np.sqrt(squares.sum() + self.spread**2))

    def at_most(self, x: float) -> float:
        """Return the probability of a value up to x."""
        if len(self.scales) == 0:
            if self.spread == 0.0:
                return float(x >= self.shift)
            return float(ndtr((x - self.shift) / self.spread))
        if len(self.scales) == 1 and self.spread == 0.0:
            return self._one_square(x)
        return self._by_inversion(x)

    def _one_square(self, x: float) -> float:
        a, c = float(self.scales[0]), float(self.centres[0])
        square = (x - self.shift) / a
        if square <= 0.0:
            return 0.0 if a > 0.0 else 1.0
        root = np.sqrt(square)
        inside = float(ndtr(root - c) - ndtr(-root - c))
        return inside if a > 0.0 else 1.0 - inside

    def _by_inversion(self, x: float) -> float:
        at = (x - self.mean) / self.deviation
        if abs(at) > _FAR:
            return float(at > 0.0)
        points, sizes, phases = self._characteristic
        terms = np.sin(phases - points * at) * sizes
        return float(min(max(0.5 - terms.sum() / np.pi, 0.0), 1.0))

    @cached_property
    def _characteristic(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return points u, |phi| du / u and the phase of phi there, for the form standardised."""
        a, s = self.scales / self.deviation, self.spread / self.deviation
        centre = (self.shift - self.mean) / self.deviation
        square = self.centres**2
        points = (np.arange(_POINTS) + 0.5) * _SPACING
        sizes, phases = -0.5 * (s * points) ** 2, centre * points
        for scale, far in zip(a, square, strict=True):
            # phi of a square turns by atan/2 + c^2 (angle/2) / weight, and shrinks by its share.
            angles = 2.0 * scale * points
            weight = 1.0 + angles**2
            phases += 0.5 * (np.arctan(angles) + far * angles / weight)
            sizes -= 0.25 * np.log(weight) + 0.5 * far * angles**2 / weight
        count = int(np.searchsorted(-sizes, -_VANISHED)) if (sizes < _VANISHED).any() else _POINTS
        sizes = np.exp(sizes[:count]) / (np.arange(count) + 0.5)
        return points[:count], sizes, phases[:count]
