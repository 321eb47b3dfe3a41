"""Processes that are started once and share out tasks, or none; and how far a run has come."""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from typing import Any

__all__ = ["Followed", "interleaved", "pool_of"]

_EVERY = 60.0  # seconds between two lines


class _Here:
    """The same process: tasks are done one after another."""

    def map(self, function: Any, tasks: Any) -> Any:
        return map(function, tasks)


def pool_of(workers: int) -> Any:
    """Return a context whose `map` keeps the order of the tasks."""
    return ProcessPoolExecutor(workers) if workers > 1 else nullcontext(_Here())


def interleaved(lists: list[list[Any]]) -> list[Any]:
    """Return the tasks of all lists, each list spread evenly over the whole.

    >>> interleaved([[1, 2, 3, 4], ["a", "b"]])
    [1, 'a', 2, 3, 'b', 4]
    """
    places = []
    for k, each in enumerate(lists):
        places += [((i + 0.5) / len(each), k, i) for i in range(len(each))]
    return [lists[k][i] for _, k, i in sorted(places)]


class Followed:
    """Lines on stderr, one a minute, that say how much is done, in all and by kind."""

    def __init__(self, whole: int, every: float = _EVERY, to: Any = None) -> None:
        self.whole, self.every, self.to = whole, every, to
        self.done: Counter[str] = Counter()
        self.false: Counter[str] = Counter()

    def __enter__(self) -> Followed:
        self.begun = self.said = time.monotonic()
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def add(self, kind: str, done: int, false: int) -> None:
        """Note that so many more are done; say so where the last line is old enough."""
        self.done[kind] += done
        self.false[kind] += false
        now = time.monotonic()
        if now - self.said >= self.every:
            self.said = now
            print(self.line(now - self.begun), file=self.to or sys.stderr, flush=True)

    def line(self, seconds: float) -> str:
        """Say how far the run is."""
        done = sum(self.done.values())
        left = seconds * max(0, self.whole - done) / max(1, done)
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.done.items())
        false = ", ".join(f"{count} of {kind}" for kind, count in self.false.items() if count)
        return (
            f"{seconds / 60:.0f} min: {done:,} of {self.whole:,}, about {left / 60:.0f} min left; "
            f"{kinds}; false: {false or 0}"
        )
