"""Every update of a perceptron.

The boundary after each mistake (older ones fainter), the rows on the wrong side, and the margin
beside what it cannot exceed.
"""

import numpy as np

import separatrix as sx
from separatrix.plots.trace import save_trace


def draw(path="perceptron.svg"):
    """Draw a replay of the perceptron on two clouds with a narrow gap."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(160, 2))
    height = X @ [1.0, 2.0] - 0.3
    X, above = X[abs(height) > 0.12], (height > 0)[abs(height) > 0.12]
    frames = list(sx.replay(sx.Perceptron(), X, above))
    caption = f"{frames[-1].update} mistakes, then none is wrong"
    names = ["below", "above"]
    save_trace(frames, X, above.astype(int), names, ["x0", "x1"], "The perceptron", caption, path)


if __name__ == "__main__":
    draw()
