"""Processes that are started once and share out tasks, or none."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from typing import Any

__all__ = ["pool_of"]


class _Here:
    """The same process: tasks are done one after another."""

    def map(self, function: Any, tasks: Any) -> Any:
        return map(function, tasks)


def pool_of(workers: int) -> Any:
    """Return a context whose `map` keeps the order of the tasks."""
    return ProcessPoolExecutor(workers) if workers > 1 else nullcontext(_Here())
