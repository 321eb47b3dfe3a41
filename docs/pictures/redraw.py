"""Draw pictures of the documentation again: ``python docs/pictures/redraw.py``."""

import os
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris

import separatrix as sx
from separatrix.plots.linear_rules import save_linear_rules
from separatrix.plots.machine import save_machine
from separatrix.plots.path import save_path
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


def outliers(path: Path) -> None:
    """Least squares, the logistic machine and the SVM, without and with rows far on their side."""
    rng = np.random.default_rng(0)
    y = np.repeat(["circle", "square"], 60)
    X = rng.normal(size=(120, 2)) @ [[1.6, 1.3], [0.0, 0.5]]
    X += np.where(y == "square", 1.0, 0.0)[:, None] * [1.5, -0.6]
    far = np.random.default_rng(1).normal(size=(12, 2)) * 0.5 + [9.0, -9.0]
    more, labels = np.vstack([X, far]), np.concatenate([y, np.repeat("square", 12)])
    panels = []
    for title, rows, names in (
        ("As drawn", X, y),
        ("Twelve rows far on their own side", more, labels),
    ):
        machines = {
            "least squares": sx.LeastSquares(),
            "logistic": sx.LogisticRegression(C=100.0),
            "SVM": sx.LinearSVM(C=100.0),
        }
        fitted = {name: machine.fit(rows, names) for name, machine in machines.items()}
        panels.append((title, rows, names, fitted))
    save_linear_rules(panels, path)


def path(path: Path) -> None:
    """The path over C for breast tissue, with columns of noise beside the real ones."""
    X, y = load_breast_cancer(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(X), 120))
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), noise])
    save_path(sx.LinearSVMCV(np.geomspace(1e-4, 1e2, 13)).fit(X, y).path_, path)


if __name__ == "__main__":
    with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # the same picture, the same file
        for draw in (witness, hard_margin, soft_margin, outliers, path):
            draw(Path(__file__).with_name(f"{draw.__name__}.svg"))
