"""Data that need no file, for a first look: tables that come with scikit-learn, read as files."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from separatrix.data.table import Table

_MEASURED = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave points", "symmetry", "fractal dimension",
)  # fmt: skip
_FLOWER = [f"{part} {side}, cm" for part in ("sepal", "petal") for side in ("length", "width")]
_CELL = [
    *(f"mean {name}" for name in _MEASURED),
    *(f"{name} error" for name in _MEASURED),
    *(f"worst {name}" for name in _MEASURED),
]


def iris_pair() -> Table:
    """Return setosa and versicolor by sepal width and petal width: two separable clouds."""
    X, y = _read("iris")
    rows, columns = y != "virginica", [1, 3]
    X, y = np.ascontiguousarray(X[rows][:, columns]), y[rows].astype("<U10")
    names = [_FLOWER[j] for j in columns]
    return Table(X, y, names, np.unique(y), "embedded", "iris", "")


def breast_cancer() -> Table:
    """Return the Wisconsin breast cancers: 30 measurements of cell nuclei, two classes."""
    X, y = _read("breast_cancer")
    return Table(X, y, _CELL[:], np.unique(y), "embedded", "breast cancer", "", "diagnosis")


def iris() -> Table:
    """Return Anderson's irises: four measurements of flowers, three species."""
    X, y = _read("iris")
    return Table(X, y, _FLOWER[:], np.unique(y), "embedded", "iris", "", "species")


def _read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of a table and the class of each row, without loading scikit-learn."""
    package = find_spec("sklearn")
    assert package is not None, "scikit-learn is required"
    assert package.origin is not None
    path = Path(package.origin).parent / "datasets" / "data" / f"{name}.csv"
    with open(path, encoding="utf-8", newline="") as file:
        (_, _, *classes), *rows = csv.reader(file)
    X = np.array([[float(value) for value in row[:-1]] for row in rows])
    return X, np.array([classes[int(row[-1])] for row in rows])
