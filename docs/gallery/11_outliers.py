"""Rows that are too right.

Least squares counts rows far on their own side as errors; the support vector machine stops looking
at them.
"""

import numpy as np

import separatrix as sx
from separatrix.plots.regions import save_linear_rules


def draw(path="outliers.svg"):
    """Draw both lines without and with far rows."""
    rng = np.random.default_rng(0)
    y = np.repeat(["circle", "square"], 50)
    X = rng.normal(size=(100, 2)) @ [[1.6, 1.3], [0.0, 0.5]]
    X[50:] += [1.5, -0.6]
    far = rng.normal([9.0, -9.0], 0.5, size=(12, 2))
    more, labels = np.vstack([X, far]), np.append(y, ["square"] * 12)
    panels = []
    for title, rows, names in (("As drawn", X, y), ("Twelve rows more", more, labels)):
        machines = {"least squares": sx.LeastSquares(), "SVM": sx.LinearSVM(C=100.0)}
        fitted = {name: machine.fit(rows, names) for name, machine in machines.items()}
        panels.append((title, rows, names, fitted))
    save_linear_rules(panels, path)


if __name__ == "__main__":
    draw()
