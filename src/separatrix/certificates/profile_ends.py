"""What bounds the profile of one coefficient next to an end of its interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.likelihood_bounds import At, Metric, Rows, top_near, up


class Profile(NamedTuple):
    """The point of an end, the rows and columns that count, and a metric if there is one."""

    beta: np.ndarray
    rows: Rows
    metric: Metric | None
    place: int

    @property
    def along(self) -> np.ndarray:
        """How the others move with the coefficient; its length is that of a standard error."""
        if self.metric is None:
            return np.eye(len(self.beta))[self.place]
        return np.asarray(self.metric.R @ self.metric.R[self.place])

    @property
    def unit(self) -> float:
        """About a standard error of the coefficient."""
        return float(np.sqrt(self.along[self.place]))

    def moved(self, t: float) -> At:
        """Return the point with the coefficient at a value."""
        along = self.along
        found = self.beta + along / along[self.place] * (t - self.beta[self.place])
        found[self.place] = t
        return At(self.rows, found)

    def highest(self, t: float, below: float) -> float:
        """Bound the largest value with the coefficient at t.

        A ridge alone bounds it: no log-likelihood is above zero. That decides where the classes
        are so far apart that no row has a variance.
        """
        ridge = Enclosure.exact(np.float64(t)).square() * self.rows.ridge[self.place]
        plain = up(-ridge.halved())
        if self.metric is None or plain < below:
            return plain
        return top_near(self.moved(t), self.metric, held=self.place).high
