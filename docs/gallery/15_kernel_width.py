"""The width of a kernel.

The same two moons with a bump that is too wide, right, and too narrow: fewer support vectors are
not always better.
"""

import numpy as np
from sklearn.datasets import make_moons

import separatrix as sx
from separatrix.plots.regions import save_kernel_regions


def draw(path="kernel_width.svg"):
    """Draw the regions for four widths."""
    X, y = make_moons(90, noise=0.17, random_state=0)
    y = np.where(y, "lower", "upper")
    panels = [
        (f"gamma {gamma:g}", X, y, sx.KernelSVM(gamma=gamma).fit(X, y))
        for gamma in (0.05, 0.5, 2.0, 50.0)
    ]
    save_kernel_regions(panels, path)


if __name__ == "__main__":
    draw()
