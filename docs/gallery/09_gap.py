"""A gap that closes.

The objective of the machine so far, and a number that no hyperplane can go below. What is left
between them is what any other hyperplane could still gain.
"""

from _house import CLASS_COLOURS, INK, picture
from sklearn.datasets import load_breast_cancer

import separatrix as sx


def draw(path="gap.svg"):
    """Draw both objectives over the iterations."""
    X, y = load_breast_cancer(return_X_y=True)
    frames = list(sx.replay(sx.LinearSVM(C=1.0, tol=1e-6), X, y))[1:]
    steps = [frame.update for frame in frames]
    with picture(path) as axes:
        axes.plot(steps, [f.primal for f in frames], color=CLASS_COLOURS[0], label="objective")
        axes.plot(steps, [f.dual for f in frames], color=CLASS_COLOURS[1], label="none is lower")
        axes.set_yscale("symlog", linthresh=10)
        axes.set(xlabel="iterations", ylabel="objective (log)")
        axes.set_title(f"Breast cancer: the gap is {frames[-1].gap:.0e} at the end")
        axes.axhline(0, color=INK, linewidth=0.5)
        axes.legend(frameon=False)


if __name__ == "__main__":
    draw()
