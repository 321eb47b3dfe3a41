"""Which C? The whole path.

Breast tissue with columns of noise beside the real ones. Below the best C the machine cannot
follow the data; above it follows their accidents.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.plots.curves import save_path


def draw(path="path.svg"):
    """Draw validation and training error along C."""
    X, y = load_breast_cancer(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(X), 60))
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), noise])
    save_path(sx.LinearSVMCV(np.geomspace(1e-4, 10, 9), cv=3).fit(X, y).path_, path)


if __name__ == "__main__":
    draw()
