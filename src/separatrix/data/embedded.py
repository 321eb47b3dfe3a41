"""Data that need no file, for a first look."""

from __future__ import annotations

from typing import Any

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
    return Table(X, y, names, np.unique(y), "embedded", "iris", "")


def breast_cancer() -> Table:
    """Return the Wisconsin breast cancers: 30 measurements of cell nuclei, two classes."""
    from sklearn.datasets import load_breast_cancer

    return _whole(load_breast_cancer(), "breast cancer", "diagnosis")


def iris() -> Table:
    """Return Anderson's irises: four measurements of flowers, three species."""
    from sklearn.datasets import load_iris

    return _whole(load_iris(), "iris", "species")


def _whole(bunch: Any, source: str, target: str) -> Table:
    y = np.asarray(bunch.target_names)[bunch.target].astype(str)
    names = [str(name).replace(" (cm)", ", cm") for name in bunch.feature_names]
    X = np.ascontiguousarray(bunch.data)
    return Table(X, y, names, np.unique(y), "embedded", source, "", target)
