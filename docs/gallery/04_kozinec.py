"""Kozinec's algorithm squeezes the margin.

The length of w bounds the margin of every line from above, the nearest row bounds that of w from
below. When the two are within epsilon, the line is nearly the widest.
"""

import numpy as np

import separatrix as sx
from separatrix.data.lectures import two_irises
from separatrix.plots.trace import save_trace


def draw(path="kozinec.svg"):
    """Draw a replay of Kozinec's algorithm."""
    flowers = two_irises()
    frames = list(sx.replay(sx.Kozinec(epsilon=0.01), flowers.X, flowers.y))
    codes = np.searchsorted(flowers.classes, flowers.y)
    caption = f"margin {frames[-1].margin:.4f}, and no line has more than {frames[-1].bound:.4f}"
    save_trace(
        frames, flowers.X, codes, flowers.classes, flowers.feature_names, "Kozinec", caption, path
    )


if __name__ == "__main__":
    draw()
