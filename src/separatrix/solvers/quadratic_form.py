"""The distribution of a quadratic function of a Gaussian vector.

    P( sum_i a_i (z_i + c_i)^2  +  s z_0  +  t  <=  x ),     z_0, z_1, ... independent N(0, 1)

is found from its characteristic function (Gil-Pelaez, 1951; Imhof, 1961):

    1/2 - 1/pi  integral over u > 0 of  Im( e^{-iux} phi(u) ) / u ,

and for one square alone, where that integral converges slowly, from the normal distribution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from separatrix.problem.signed import FloatArray

__all__ = ["QuadraticForm"]

_NEGLIGIBLE = 1e-12
_PIECES = 600
_TURNS = 40.0


class QuadraticForm:
    """The law of ``y'Q y + l.y + t`` for y ~ N(0, I).

    >>> form = QuadraticForm(np.eye(2), np.zeros(2), 0.0)  # chi-squared with 2 degrees
    >>> round(form.at_most(2.0), 6), round(1 - np.exp(-1.0), 6)
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
        unit = self.deviation
        a, s, at = self.scales / unit, self.spread / unit, (x - self.shift) / unit
        square = self.centres**2

        def integrand(u: float) -> float:
            angles = 2.0 * u * a
            weight = 1.0 + angles**2
            phase = 0.5 * (np.arctan(angles) + square * angles / weight).sum() - u * at
            # phi: each square turns by atan/2 + c^2 (angle/2)/weight and shrinks by its share.
            size = -0.25 * np.log(weight).sum() - 0.5 * (square * angles**2 / weight).sum()
            return float(np.sin(phase) * np.exp(size - 0.5 * (s * u) ** 2) / u)

        total = _piecewise(integrand, abs(at))
        return float(min(max(0.5 - total / np.pi, 0.0), 1.0))


def _piecewise(integrand: Callable[[float], float], frequency: float) -> float:
    """Integrate over u > 0 in pieces of a few turns, until a piece no longer counts."""
    width = 4.0 * np.pi / max(frequency, 1.0)
    total, last, begin = 0.0, np.inf, 0.0
    for _ in range(_PIECES):
        part, _ = quad(integrand, begin, begin + width, limit=200, epsabs=1e-11, epsrel=1e-10)
        total += part
        begin += width
        if abs(part) < 1e-10 and abs(last) < 1e-10:
            break
        last = part
        width = min(1.3 * width, _TURNS * 2.0 * np.pi / max(frequency, 1e-3))
    return total
