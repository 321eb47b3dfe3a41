"""Draw the witness of README.md again: ``python docs/pictures/redraw.py``."""

import os
from pathlib import Path
from unittest import mock

import separatrix as sx
from separatrix.plots.separability import save_verdict


def witness(path: Path) -> None:
    """Two segments that cross."""
    X = [[0, 0], [4, 0], [0, 4], [5, 4], [1, 1], [6, 6], [7, 5], [6.5, 3]]
    y = ["out"] * 4 + ["in"] * 4
    save_verdict(sx.separability(X, y), X, y, path, ["a", "b"])


if __name__ == "__main__":
    with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # the same picture, the same file
        witness(Path(__file__).with_name("witness.svg"))
