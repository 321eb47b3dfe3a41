"""A stretch of the rows of one problem, and which problem: the arguments of a pass over blocks.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))

Rows stay where they are: in a file, or in the memory of a worker. A pass is a function of one block
and of further arguments; what it returns is a tuple of numbers, arrays and lists, and those of two
blocks are joined by `joined`. An engine does nothing else, so that one algorithm runs
on blocks read one after another and on blocks held by a hundred computers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from separatrix.problem.signed import Matrix

Sums = tuple[Any, ...]


class Posed(NamedTuple):
    """One binary problem: class number `positive` against all others, with costs by class."""

    loss: int
    positive: int
    costs: np.ndarray  # C times the weight of each class
    intercept: bool = True
    bias_penalty: float = 0.0
    fold: int = -1  # rows of this fold are not there; -1: all are
    folds: int = 0
    seed: int = 0

    @property
    def has_free_bias(self) -> bool:
        """Whether b is there and costs nothing, so that the dual must balance."""
        return self.intercept and self.bias_penalty == 0.0


@dataclass(eq=False)
class Block:
    """Rows that follow one another: X, the class number of each, and its weight (None: 1)."""

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
        costs = costs if self.weights is None else costs * self.weights
        if posed.fold < 0:
            return costs
        return np.where(self.fold_numbers(posed) == posed.fold, 0.0, costs)

    def fold_numbers(self, posed: Posed) -> np.ndarray:
        """Return the fold of every row, by its number among all rows."""
        return folds_of_rows(self.first, len(self.codes), posed.folds, posed.seed)

    def __getstate__(self) -> dict[str, Any]:
        # What was worked out here is worked out again where the block goes.
        return {**self.__dict__, "memo": {}}


class Engine(Protocol):
    """Visits all blocks."""

    n_rows: int
    n_features: int
    n_entries: int

    def blocks(self) -> Iterable[Block]:
        """Bring one block after another here."""

    def reduce(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Return `joined` of function(block, *arguments) over all blocks, in their order."""

    def keep(self, values: np.ndarray) -> Any:
        """Hold a vector with one entry a row near the blocks, for `reduce_each`, more than once."""

    def reduce_each(self, function: Callable[..., Sums], pieces: Any, *arguments: Any) -> Sums:
        """Return `joined` of function(block, its own stretch of `pieces`, *arguments).

        `pieces` is a vector with one entry a row, what `keep` returned for one, or None.
        """


def folds_of_rows(first: int, count: int, folds: int, seed: int) -> np.ndarray:
    """Return the fold of rows by their numbers alone: the same however rows are cut into blocks.

    >>> folds_of_rows(0, 6, 3, 0).tolist()[2:] == folds_of_rows(2, 4, 3, 0).tolist()
    True
    """
    number = np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)
    number += np.uint64(seed % 2**32) << np.uint64(32)
    # The finaliser of splitmix64: neighbours go to folds that have nothing to do with each other.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ (number >> np.uint64(shift))) * np.uint64(factor)
    number ^= number >> np.uint64(31)
    return (number % np.uint64(folds)).astype(np.int64)


def joined(one: Sums, other: Sums) -> Sums:
    """Add numbers and arrays, and put lists one after the other.

    >>> joined((1.0, [1]), (2.0, [5, 6]))
    (3.0, [1, 5, 6])
    """
    return tuple(a + b for a, b in zip(one, other, strict=True))
