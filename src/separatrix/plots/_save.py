"""Pictures are written beside their name and renamed: no half picture carries it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from separatrix._write_aside import new_file_beside


@contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to; it takes its final name once all has gone well."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with new_file_beside(target) as aside:
        yield aside
        os.replace(aside, target)
