"""Data that need no file, for a first look."""

from __future__ import annotations

import numpy as np

from separatrix.data.table import Table


def iris_pair() -> Table:
    """Return setosa and versicolor by sepal width and petal width: two separable clouds."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    rows = iris.target < 2
    columns = [1, 3]
    X = np.ascontiguousarray(iris.data[rows][:, columns])
    y = iris.target_names[iris.target[rows]].astype(str)
    names = [iris.feature_names[j].replace(" (cm)", ", cm") for j in columns]
    return Table(X, y, names, np.unique(y).tolist(), "embedded", "iris", "")
