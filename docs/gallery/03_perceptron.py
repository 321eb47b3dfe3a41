"""Every update of a perceptron.

The boundary after each mistake (older ones fainter), the rows on the wrong side, and the margin
beside what it cannot exceed.
"""

import numpy as np

import separatrix as sx
from separatrix.data.embedded import iris_pair
from separatrix.plots.trace import save_trace


def draw(path="perceptron.svg"):
    """Draw a replay of the perceptron."""
    flowers = iris_pair()
    frames = list(sx.replay(sx.Perceptron(), flowers.X, flowers.y))
    codes = np.searchsorted(flowers.classes, flowers.y)
    title, told = "The perceptron on two irises", f"{frames[-1].update} updates, then none is wrong"
    save_trace(frames, flowers.X, codes, flowers.classes, flowers.feature_names, title, told, path)


if __name__ == "__main__":
    draw()
