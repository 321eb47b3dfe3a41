"""Structural risk minimisation.

Training error falls with the degree, the price of capacity rises, and their sum has a least.
"""

import numpy as np
from sklearn.pipeline import make_pipeline

import separatrix as sx
from separatrix.plots.curves import save_structural_risk


def draw(path="structural_risk.svg"):
    """Draw training error, capacity term and their sum."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = (X**2).sum(axis=1) > rng.normal(0.6, 0.1, size=600)
    classes = []
    for degree in (1, 2, 3, 4):
        machine = make_pipeline(sx.lift.Polynomial(degree), sx.LogisticRegression(C=100.0)).fit(
            X, y
        )
        capacity = machine[-1].n_features_in_ + 1
        classes.append((f"degree {degree}", capacity, int((machine.predict(X) != y).sum())))
    save_structural_risk(sx.bounds.structural_risk(classes, n=600), path)


if __name__ == "__main__":
    draw()
