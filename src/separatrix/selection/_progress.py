"""A bar on the terminal's error stream while a path is walked; nothing where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["path_bar"]


@contextmanager
def path_bar(enabled: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Give a function that takes what is done, of how much, and a few words; or None."""
    if not (enabled and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("the path over C"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} machines, {task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=1)
    with bar:
        yield lambda done, total, text: bar.update(
            task, completed=done, total=total, description=text
        )
