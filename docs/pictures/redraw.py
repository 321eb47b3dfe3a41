"""Draw pictures of the documentation again: ``python docs/pictures/redraw.py``."""

import os
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.plots.machine import save_machine
from separatrix.plots.separability import save_verdict


def witness(path: Path) -> None:
    """Two segments that cross."""
    X = [[0, 0], [4, 0], [0, 4], [5, 4], [1, 1], [6, 6], [7, 5], [6.5, 3]]
    y = ["out"] * 4 + ["in"] * 4
    save_verdict(sx.separability(X, y), X, y, path, ["a", "b"])


def hard_margin(path: Path) -> None:
    """Iris setosa and versicolor by sepal width and petal width, as in the lecture."""
    iris = load_iris(as_frame=True)
    names = ["sepal width (cm)", "petal width (cm)"]
    kept = iris.target < 2
    X, y = iris.data.loc[kept, names], iris.target_names[iris.target[kept]]
    save_machine(sx.LinearSVM(C=np.inf).fit(X, y), X.to_numpy(), y, path, names)


def soft_margin(path: Path) -> None:
    """Versicolor and virginica, which overlap: slack for the rows that fall short."""
    iris = load_iris(as_frame=True)
    names = ["petal length (cm)", "petal width (cm)"]
    kept = iris.target > 0
    X, y = iris.data.loc[kept, names], iris.target_names[iris.target[kept]]
    save_machine(sx.LinearSVM(C=1.0).fit(X, y), X.to_numpy(), y, path, names)


if __name__ == "__main__":
    with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # the same picture, the same file
        for draw in (witness, hard_margin, soft_margin):
            draw(Path(__file__).with_name(f"{draw.__name__}.svg"))
