"""A progress bar for long reads: on standard error, on a terminal only, and only after a while."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

__all__ = ["Progress"]

PATIENCE = 2.0  # seconds of silence before a bar appears


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
