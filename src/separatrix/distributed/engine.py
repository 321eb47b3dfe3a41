"""Blocks held by the workers of a Dask cluster: about one for each thread of the cluster.

Every task carries its arguments by value: a scattered vector dies with the worker that holds it,
a value does not. Blocks are results of tasks that read files (or chunks of a dask collection), so
that the scheduler reads them again where a worker was lost. Passes are pure functions, joined in
the order of the blocks: a fit that lost workers on the way ends with the same bits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from dask.distributed import Client, Future, KilledWorker, get_client, wait
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from separatrix.problem.blocks import Block, Sums, joined

__all__ = ["DaskEngine", "client_or_current"]

_FAN_IN = 8
_NO_PIECE = "none"
_LOST = (KilledWorker, CommClosedError, FutureCancelledError)
_REPEATS = 5
# How long a cluster may be without any worker before that is called an end.
_PATIENCE, _LOOK_EVERY = 120.0, 5.0


def client_or_current(client: Any) -> Client:
    """Return the client given, or the one that is current."""
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client. Start one, for example "
            "`from dask.distributed import Client; client = Client()`, or pass client=..."
        ) from None


def visit(
    function: Callable[..., Sums], block: Block, piece: Any, arguments: Sequence[Any]
) -> Sums:
    """Run a pass where its block is."""
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(piece, str):
            return function(block, *arguments)
        return function(block, piece, *arguments)


def same(piece: np.ndarray) -> np.ndarray:
    """Hold a stretch of a vector on a worker; its value is in the task, so it can be made again."""
    return piece


def join_all(*parts: Sums) -> Sums:
    """Join a few results, in their order."""
    return reduce(joined, parts)


def shape_of(block: Block) -> Sums:
    """Return rows and entries of a block, in lists."""
    return [block.X.shape[0]], [int(getattr(block.X, "nnz", block.X.size))]


class DaskEngine:
    """Runs passes on the workers. `make` submits the tasks that make the blocks."""

    def __init__(self, client: Client, make: Callable[[], list[Future]], n_features: int) -> None:
        self.client, self._make, self.n_features = client, make, n_features
        self.futures = make()
        self.counts, entries = self.reduce(shape_of)
        self.n_rows, self.n_entries = sum(self.counts), sum(entries)

    def reduce(self, function: Callable[..., Sums], *arguments: Any) -> Sums:
        """Return the joined results of all blocks."""
        return self._run(function, [_NO_PIECE] * len(self.futures), arguments)

    def keep(self, values: np.ndarray) -> list[Future]:
        """Hold a vector of all rows on the workers."""
        ends = np.cumsum([0, *self.counts])
        return [self._submit(same, values[a:b]) for a, b in pairwise(ends)]

    def reduce_each(self, function: Callable[..., Sums], pieces: Any, *arguments: Any) -> Sums:
        """Do the same, each block with its own stretch of a vector of all rows."""
        if pieces is None:
            pieces = [None] * len(self.futures)
        elif isinstance(pieces, np.ndarray):
            pieces = [pieces[a:b] for a, b in pairwise(np.cumsum([0, *self.counts]))]
        return self._run(function, pieces, arguments)

    def _submit(self, function: Any, *arguments: Any) -> Future:
        with warnings.catch_warnings():
            # w travels by value on purpose.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.submit(function, *arguments, pure=False)

    def blocks(self) -> Iterator[Block]:
        """Bring one block after another here."""
        for number in range(len(self.futures)):
            yield self._patiently(partial(self._one, number))[0]

    def _one(self, number: int) -> list[Future]:
        return [self.futures[number]]

    def _run(self, function: Any, pieces: Sequence[Any], arguments: Sequence[Any]) -> Sums:
        def submit() -> list[Future]:
            parts = [
                self._submit(visit, function, block, piece, arguments)
                for block, piece in zip(self.futures, pieces, strict=True)
            ]
            while len(parts) > _FAN_IN:
                groups = [parts[k : k + _FAN_IN] for k in range(0, len(parts), _FAN_IN)]
                parts = [self._submit(join_all, *group) for group in groups]
            return parts

        return join_all(*self._patiently(submit))

    def _patiently(self, submit: Callable[[], list[Future]]) -> list[Any]:
        """Gather results; where too many workers died for the scheduler, make all again."""
        for left in reversed(range(_REPEATS)):
            try:
                futures = submit()
                self._wait(futures)
                results: list[Any] = self.client.gather(futures)
                return results
            except _LOST:
                if not left:
                    raise
                self.futures = self._make()
        raise AssertionError("unreachable")

    def _wait(self, futures: list[Future]) -> None:
        alone_since: float | None = None
        while True:
            try:
                wait(futures, timeout=_LOOK_EVERY)
                return
            except TimeoutError:
                if self.client.nthreads():
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > _PATIENCE:
                    raise RuntimeError(
                        f"the cluster has had no worker for {_PATIENCE:.0f} s. Start workers and "
                        "fit again: with checkpoint=... the fit resumes where it was."
                    ) from None
