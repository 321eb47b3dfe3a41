"""Newton's system on rows in blocks: measured and solved exactly, or by conjugate gradients.

    (R + X^T D X - t t^T / (p + sum d)) s = -gradient ,     t = X^T d        (b eliminated)

`ExactSystem` has the (d + 1) x (d + 1) matrix summed over blocks, in columns that are centred and
scaled inside: one pass an update. `RoundsSystem` never forms it: one pass for the gradient and the
diagonal, and one for each round of conjugate gradients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.problem.blocks import Engine, Posed
from separatrix.problem.products import MINUS, PLUS, SPREAD, TILT
from separatrix.solvers.linear.blocks import passes
from separatrix.solvers.linear.blocks.passes import ALPHA, BEND
from separatrix.solvers.linear.choose import ENTRY, NARROW, PRODUCT
from separatrix.solvers.linear.newton import (
    Coordinates,
    Penalties,
    coordinates_of,
    solved_direction,
)
from separatrix.solvers.linear.newton_cg import conjugate_gradients

_SHARE, _OF_DIAGONAL = 0.15, 0.2
_MODEST = 2_000  # columns


class Measured(NamedTuple):
    """What one pass tells of a point."""

    w: np.ndarray
    width: float
    band: float
    sums: np.ndarray  # of `row_terms`
    by_class: np.ndarray  # X^T alpha y of each class
    more: Any  # what the system keeps

    @property
    def u(self) -> np.ndarray:
        """X^T (y alpha)."""
        return np.asarray(self.by_class[PLUS] + self.by_class[MINUS])

    @property
    def balance(self) -> float:
        """The sum of y alpha."""
        return float(self.sums[ALPHA] - self.sums[ALPHA + 1])


class System:
    """What both have in common."""

    def __init__(self, engine: Engine, posed: Posed) -> None:
        self.engine, self.posed, self.passes = engine, posed, 0.0
        self.centre: np.ndarray | None = None
        self._kept: Any = None

    def recentre(self, centre: np.ndarray) -> None:
        """Put the band of every row about its own p."""
        self.centre, self._kept = centre, self.engine.keep(centre)

    def reduce(self, function: Any, *arguments: Any) -> Any:
        """Ask the blocks, each with the centres of its rows."""
        return self.engine.reduce_each(function, self._kept, *arguments)

    def slopes(self, at: Measured) -> tuple[float, np.ndarray]:
        """Return the gradient in b and in w."""
        in_bias = self.posed.bias_penalty * at.w[0] - at.balance if self.posed.intercept else 0.0
        return in_bias, at.w[1:] - at.u


class ExactSystem(System):
    """The matrix itself, for narrow data."""

    def __init__(self, engine: Engine, posed: Posed) -> None:
        super().__init__(engine, posed)
        self.columns = coordinates(engine, posed)
        self.passes += 1.0

    def measure(self, w: np.ndarray, width: float, band: float) -> Measured:
        """Evaluate the problem at w."""
        centre, spread, in_blocks, *_ = self.columns
        arguments = self.posed, w, (width, band), centre, spread, in_blocks
        sums, by_class, matrix = self.reduce(passes.gradient_and_matrix, *arguments)
        self.passes += 2.0
        return Measured(w, width, band, sums, by_class, matrix)

    def direction(self, at: Measured) -> np.ndarray:
        """Return Newton's step [b, w]."""
        posed, matrix = self.posed, np.array(at.more)
        if posed.intercept and not posed.bias_penalty > 0.0:
            matrix[0, 0] += _least_weight(at)
        penalties = Penalties(1.0, posed.bias_penalty, posed.intercept)
        return solved_direction(self.columns, matrix, self.slopes(at), at.w, penalties)[0]


class RoundsSystem(System):
    """Conjugate gradients, for wide data."""

    def measure(self, w: np.ndarray, width: float, band: float) -> Measured:
        """Evaluate the problem at w."""
        arguments = self.posed, w, (width, band)
        sums, table = self.reduce(passes.gradient_and_diagonal, *arguments)
        self.passes += 2.0
        return Measured(w, width, band, sums, table[[PLUS, MINUS]], (table[TILT], table[SPREAD]))

    def direction(self, at: Measured) -> np.ndarray:
        """Return Newton's step [b, w], as exact as it deserves to be."""
        tilt, squares = at.more
        weight = np.inf
        if self.posed.intercept:
            weight = self.posed.bias_penalty + float(at.sums[BEND]) + _least_weight(at)
        scale = 1.0 + _OF_DIAGONAL * np.maximum(squares - tilt**2 / weight, 0.0)
        in_bias, in_w = self.slopes(at)
        right = tilt * (in_bias / weight) - in_w

        def times(towards: np.ndarray) -> np.ndarray:
            arguments = self.posed, at.w, (at.width, at.band), towards
            bent, pushes = self.reduce(passes.curved, *arguments)
            self.passes += 1.0
            return np.asarray(bent + towards - tilt * (pushes / weight))

        solution, _ = conjugate_gradients(times, right, scale, _SHARE, 1.0)
        lift = -(in_bias + float(tilt @ solution)) / weight if self.posed.intercept else 0.0
        return np.concatenate([[lift], solution])


def _least_weight(at: Measured) -> float:
    """Return a curvature for b where there is next to none: then only a step search is left."""
    if at.sums[BEND] > 0.0:
        return 0.0
    return max(float(at.sums[ALPHA] + at.sums[ALPHA + 1]), 1e-300)


def system_for(engine: Engine, posed: Posed) -> ExactSystem | RoundsSystem:
    """Choose by the shape of the data, as one machine does."""
    n, d = engine.n_rows, engine.n_features
    in_a_row = engine.n_entries / max(n, 1)
    products = 0.5 * n * d * d if in_a_row >= 0.9 * d else 4.0 * n * in_a_row**2
    by_matrix = PRODUCT * (products + d**3 / 3.0)
    narrow = d <= NARROW or (d <= _MODEST and by_matrix < 20.0 * engine.n_entries * ENTRY)
    return ExactSystem(engine, posed) if narrow else RoundsSystem(engine, posed)


def coordinates(engine: Engine, posed: Posed) -> Coordinates:
    """Return where to centre each column and what to divide it by: those of all blocks joined."""
    (blocks,) = engine.reduce(passes.spread_of)
    count, centre, squares, largest, stored = blocks[0]
    with np.errstate(all="ignore"):
        for more, mean, about, most, often in blocks[1:]:
            both = max(count + more, 1)
            off = mean - centre
            squares = squares + about + off**2 * (count * more / both)
            centre = centre + off * (more / both)
            largest, stored, count = np.maximum(largest, most), stored + often, count + more
        found = count, centre, squares, largest, stored
        shape = engine.n_rows, engine.n_features
        return coordinates_of(found, shape, engine.n_entries, posed.intercept, posed.has_free_bias)
