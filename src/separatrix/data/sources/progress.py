"""Long reads: chunks of lines side by side, and a progress bar.

The bar is on standard error, on a terminal only, and only after a while.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, TypeVar

from numpy.typing import NDArray

PATIENCE = 2.0  # seconds of silence before a bar appears

Found = TypeVar("Found")
Span = tuple[int, int]


class Progress:
    """Counts bytes; shows a bar with bytes and rate once the work has taken two seconds.

    >>> with Progress("Reading", 100) as progress:
    ...     progress.advance(100)
    >>> progress.shown
    False
    """

    def __init__(self, title: str, total: int | None = None) -> None:
        self._title, self._total, self._done = title, total, 0
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._is_terminal = sys.stderr.isatty()

    @property
    def shown(self) -> bool:
        """Whether the bar has appeared."""
        return self._bar is not None

    def __enter__(self) -> Progress:
        return self

    def advance(self, octets: int) -> None:
        """Count some bytes as done; may be called from several threads."""
        if not self._is_terminal:
            return
        with self._lock:
            self._done += octets
            if self._bar is None and time.monotonic() - self._started > PATIENCE:
                self._show()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._title, total=self._total)
        self._bar.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def line_chunks(data: bytes, start: int, size: int) -> list[Span]:
    r"""Cut the contents from byte ``start`` on at line ends, into pieces of about ``size`` bytes.

    >>> line_chunks(b"one\ntwo\nthree", 0, 2)
    [(0, 4), (4, 8), (8, 13)]
    """
    cuts = [start]
    while cuts[-1] < len(data):
        after = data.find(b"\n", min(cuts[-1] + size, len(data)))
        cuts.append(after + 1 if after >= 0 else len(data))
    return list(pairwise(cuts))


def in_chunks(
    work: Callable[[int], Found],
    chunks: Sequence[Span],
    name: str | None = None,
    threads: int | None = None,
) -> list[Found]:
    """Return what ``work`` gives for the number of each chunk, in threads; a name gets a bar."""
    with (
        ThreadPoolExecutor(threads or min(8, os.cpu_count() or 1)) as pool,
        Progress(f"Parsing {name}", chunks[-1][1] if chunks else 0) as progress,
    ):

        def done(number: int) -> Found:
            result = work(number)
            if name is not None:
                progress.advance(chunks[number][1] - chunks[number][0])
            return result

        return list(pool.map(done, range(len(chunks))))


def close_gaps(field: NDArray[Any], starts: Iterable[int], used: Iterable[int]) -> NDArray[Any]:
    """Move what chunks wrote together, in place; each began at its start and used so many."""
    end = 0
    for start, count in zip(starts, used, strict=True):
        if start != end:
            field[end : end + count] = field[start : start + count].copy()
        end += count
    return field[:end]
