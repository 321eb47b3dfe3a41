"""Draw pictures of the documentation again: ``python docs/pictures/redraw.py``."""

import os
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, make_circles, make_moons
from sklearn.pipeline import make_pipeline

import separatrix as sx
from separatrix.plots.curves import save_coefficient_paths, save_path
from separatrix.plots.regions import (
    save_kernel_regions,
    save_linear_rules,
    save_machine,
    save_regions,
)
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
    """The path of the session of docs/methods/path.md."""
    X, y = load_breast_cancer(return_X_y=True)
    save_path(sx.LinearSVMCV(loss="squared_hinge").fit(X, y).path_, path)


def sparse_weights(path: Path) -> None:
    """The path of sparse weights for breast tissue, columns standardised."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = sx.LogisticRegressionPath(Cs=60).fit((X - X.mean()) / X.std(), y)
    save_coefficient_paths(found, path, names=8)


def lifted(path: Path) -> None:
    """Exclusive or with one product, circles with degree 2, and bumps on two moons."""
    dice = np.random.default_rng(0)
    corners = dice.uniform(-1.0, 1.0, size=(120, 2))
    corners = corners[(abs(corners) > 0.12).all(axis=1)]
    names = np.array(["one", "other"])
    circles, inner = make_circles(120, noise=0.06, factor=0.45, random_state=0)
    moons, upper = make_moons(120, noise=0.12, random_state=0)
    panels = []
    for title, X, number, lift in (
        (
            "One product",
            corners,
            corners.prod(axis=1) > 0,
            sx.lift.Polynomial(interaction_only=True),
        ),
        ("Degree 2", circles, inner, sx.lift.Polynomial(2)),
        ("12 radial basis functions", moons, upper, sx.lift.RadialBasis(12)),
    ):
        y = names[number.astype(int)]
        panels.append((title, X, y, make_pipeline(lift, sx.LinearSVM(C=100.0)).fit(X, y)))
    save_regions(panels, path)


def three_kinds(path: Path) -> None:
    """Three irises by their petals: each against the rest, in pairs, and directly."""
    iris = load_iris(as_frame=True)
    names = ["petal length (cm)", "petal width (cm)"]
    X, y = iris.data[names].to_numpy(), iris.target_names[iris.target]
    panels = []
    for title, kind in (
        ("One against the rest", "ovr"),
        ("Pairs that vote", "ovo"),
        ("All classes at once", "direct"),
    ):
        panels.append((title, X, y, sx.LinearSVM(multi_class=kind).fit(X, y)))
    save_regions(panels, path, names)


def multinomial(path: Path) -> None:
    """Three irises by their petals: all classes at once, for a small and a large C."""
    iris = load_iris(as_frame=True)
    names = ["petal length (cm)", "petal width (cm)"]
    X, y = iris.data[names].to_numpy(), iris.target_names[iris.target]
    panels = []
    for C in (0.1, 10.0, 1000.0):
        machine = sx.LogisticRegression(C, multi_class="multinomial").fit(X, y)
        panels.append((f"C = {C:g}", X, y, machine))
    save_regions(panels, path, names)


def kernel_regions(path: Path) -> None:
    """What no line parts: XOR, circles, moons, and three irises."""
    rng = np.random.default_rng(0)
    corners = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], 15, axis=0)
    xor = corners + 0.16 * rng.normal(size=corners.shape)
    parity = np.where(np.arange(60) < 30, "same", "differ")
    circles, ring = make_circles(90, factor=0.45, noise=0.09, random_state=0)
    moons, moon = make_moons(90, noise=0.17, random_state=0)
    iris = load_iris()
    square = {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 1.0}
    panels = [
        ("XOR, degree 2", xor, parity, square),
        ("Circles, degree 2", circles, np.where(ring, "inner", "outer"), square),
        ("Moons, rbf", moons, np.where(moon, "lower", "upper"), {"gamma": 2.0}),
        ("Irises, rbf, one against one", iris.data[:, 2:], iris.target_names[iris.target], {}),
    ]
    save_kernel_regions(
        [(title, X, y, sx.KernelSVM(**settings).fit(X, y)) for title, X, y, settings in panels],
        path,
    )


if __name__ == "__main__":
    with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # the same picture, the same file
        draws = (witness, hard_margin, soft_margin, outliers, path, sparse_weights)
        for draw in (*draws, lifted, three_kinds, multinomial, kernel_regions):
            draw(Path(__file__).with_name(f"{draw.__name__}.svg"))
