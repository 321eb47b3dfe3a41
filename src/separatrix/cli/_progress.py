"""A progress bar on the terminal's error stream; nothing where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SHOWN_AFTER_SECONDS = 1.0


@contextmanager
def progress_bar(what: str, total: float) -> Iterator[Callable[[float], None]]:
    """Give a function that takes the amount done; the bar appears once the work takes a while."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    begun = time.monotonic()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total)
    started = False

    def tick(done: float) -> None:
        nonlocal started
        if not started and time.monotonic() - begun > _SHOWN_AFTER_SECONDS:
            bar.start()
            started = True
        bar.update(task, completed=done)

    try:
        yield tick
    finally:
        if started:
            bar.stop()
