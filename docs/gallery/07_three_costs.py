"""One outlier, three values of C.

A small C lets the outlier be wrong and keeps a wide street; a large one bends to it.
"""

import numpy as np

import separatrix as sx
from separatrix.plots.regions import save_linear_rules


def draw(path="three_costs.svg"):
    """Draw the boundaries for three costs."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal([-1.5, 0], 0.5, (30, 2)), rng.normal([1.5, 0], 0.5, (30, 2))])
    X = np.vstack([X, [[0.6, 1.4]]])
    y = np.repeat(["left", "right", "left"], [30, 30, 1])
    machines = {f"C = {C:g}": sx.LinearSVM(C=C).fit(X, y) for C in (0.01, 1.0, 1000.0)}
    save_linear_rules([("One row far from its own", X, y, machines)], path)


if __name__ == "__main__":
    draw()
