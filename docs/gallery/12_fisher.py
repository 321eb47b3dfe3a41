"""Fisher's direction, and the naive one.

Along the difference of the means the classes overlap; along Fisher's direction, which knows how
they spread, they part.
"""

import numpy as np

import separatrix as sx
from separatrix.plots.regions import save_projections


def draw(path="fisher.svg"):
    """Draw both projections with their histograms."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(160, 2)) @ [[2.0, 1.5], [0.0, 0.5]]
    X[80:] += [2.2, 0.4]
    y = np.repeat(["left", "right"], 80)
    machines = {
        "Fisher's direction": sx.Fisher().fit(X, y),
        "Difference of the means": sx.Fisher(direction="means").fit(X, y),
    }
    save_projections(machines, X, y, path)


if __name__ == "__main__":
    draw()
