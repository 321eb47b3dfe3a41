"""A stretch of the rows of one problem, and which problem: what a pass over blocks is told.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))

Rows stay where they are: in a file, or in the memory of a worker. A pass is a function of one block
and of what it is told; what it returns is a tuple of numbers, arrays and lists, and those of two
blocks are joined by `joined`. Nothing else is ever asked of an engine, so that one algorithm runs
on blocks read one after another and on blocks held by a hundred machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from separatrix.problem.signed import Matrix

__all__ = ["Block", "Engine", "Posed", "joined"]

Sums = tuple[Any, ...]


class Posed(NamedTuple):
    """One machine: class number `positive` against all others, at the costs of each class."""

    loss: int
    positive: int
    costs: np.ndarray  # C times the weight of each class
    intercept: bool = True
    bias_penalty: float = 0.0

    @property
    def has_free_bias(self) -> bool:
        """Whether b is there and costs nothing, so that the dual must balance."""
        return self.intercept and self.bias_penalty == 0.0


@dataclass(eq=False)
class Block:
    """Rows that follow one another: X, the class number of each, and its weight (None: 1).

    `fold` numbers the validation fold of each row, where there are folds.
    """

    X: Matrix
    codes: np.ndarray
    weights: np.ndarray | None = None
    first: int = 0  # the number of its first row among all rows
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    def signs(self, posed: Posed) -> np.ndarray:
        """Return y_i."""
        return np.where(self.codes == posed.positive, 1.0, -1.0)

    def costs(self, posed: Posed) -> np.ndarray:
        """Return c_i."""
        costs = posed.costs[self.codes]
        return costs if self.weights is None else costs * self.weights

    def __getstate__(self) -> dict[str, Any]:
        # What was worked out here is worked out again where the block goes.
        return {**self.__dict__, "memo": {}}


class Engine(Protocol):
    """Visits all blocks."""

    n_rows: int
    n_features: int
    n_entries: int

    def reduce(self, function: Callable[..., Sums], *told: Any) -> Sums:
        """Return `joined` of function(block, *told) over all blocks, in their order."""

    def reduce_each(
        self, function: Callable[..., Sums], pieces: np.ndarray | None, *told: Any
    ) -> Sums:
        """Do the same with every block's own stretch of a vector that has one entry a row."""


def joined(one: Sums, other: Sums) -> Sums:
    """Add numbers and arrays, and put lists one after the other.

    >>> joined((1.0, [1]), (2.0, [5, 6]))
    (3.0, [1, 5, 6])
    """
    return tuple(a + b for a, b in zip(one, other, strict=True))
