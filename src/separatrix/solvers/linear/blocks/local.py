"""Blocks visited on this machine, one after another or a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np

from separatrix.problem.blocks import Block, Sums, joined
from separatrix.solvers.running.threads import one_thread

__all__ = ["LocalEngine"]


class LocalEngine:
    """Opens each block when it is visited and lets go of it after.

    `openers` return the blocks; `threads` of them are open at the same time. Sums are joined in the
    order of the blocks, so that the number of threads changes no bit.
    """

    def __init__(
        self,
        openers: Sequence[Callable[[], Block]],
        counts: Sequence[int],
        n_features: int,
        n_entries: int,
        threads: int = 1,
    ) -> None:
        self.openers, self.counts = list(openers), list(counts)
        self.n_rows, self.n_features, self.n_entries = sum(counts), n_features, n_entries
        self.threads = threads

    def blocks(self) -> Iterator[Block]:
        """Yield every block in its turn."""
        for opener in self.openers:
            yield opener()

    def reduce(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Return the joined results of all blocks."""
        return reduce(
            joined, self._each(lambda number: function(self.openers[number](), *arguments))
        )

    def keep(self, values: np.ndarray) -> np.ndarray:
        """Hold a vector of all rows for `reduce_each`."""
        return values

    def reduce_each(
        self, function: Callable[..., Sums], pieces: np.ndarray | None, *arguments: Any
    ) -> Sums:
        """Do the same, each block with its own stretch of a vector of all rows."""
        ends = np.cumsum([0, *self.counts])

        def visit(number: int) -> Sums:
            piece = None if pieces is None else pieces[ends[number] : ends[number + 1]]
            return function(self.openers[number](), piece, *arguments)

        return reduce(joined, self._each(visit))

    def _each(self, visit: Callable[[int], Sums]) -> Iterator[Sums]:
        numbers = iter(range(len(self.openers)))
        if self.threads == 1 or len(self.openers) == 1:
            yield from map(visit, numbers)
            return
        with one_thread(), ThreadPoolExecutor(self.threads) as pool:
            # No more results wait to be joined than there are threads: each may be a matrix.
            running = [pool.submit(visit, number) for number in islice(numbers, self.threads + 1)]
            while running:
                found = running.pop(0).result()
                running += [pool.submit(visit, number) for number in islice(numbers, 1)]
                yield found
