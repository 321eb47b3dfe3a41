"""Novikoff's bound, and the mistakes that were made.

Clouds with ever wider gaps. The bound falls as the square of the margin; the perceptron keeps well
below it.
"""

import numpy as np
from _style import CLASS_COLOURS, INK, picture

import separatrix as sx


def draw(path="novikoff.svg"):
    """Draw mistakes and bounds against the gap."""
    rng = np.random.default_rng(0)
    gaps, made, bounds = np.geomspace(0.02, 0.6, 12), [], []
    for gap in gaps:
        X = rng.uniform(-1, 1, size=(300, 2))
        X[:, 1] += np.sign(X[:, 1]) * gap
        y = np.sign(X[:, 1])
        found = sx.Perceptron().fit(X, y).novikoff_
        made.append(found.mistakes)
        bounds.append(found.bound)
    with picture(path) as axes:
        axes.loglog(gaps, bounds, "--", color=INK, label="at most (R/m)²")
        axes.loglog(gaps, made, "o-", color=CLASS_COLOURS[1], label="mistakes made")
        axes.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])
        axes.minorticks_off()
        axes.set(xlabel="half the gap between the clouds", ylabel="mistakes")
        axes.set_title("Mistakes of the perceptron, and Novikoff's bound")
        axes.legend(frameon=False)


if __name__ == "__main__":
    draw()
