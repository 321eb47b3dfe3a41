"""A gap that closes.

The objective of the machine so far, and a number that no hyperplane can go below. What is left
between them is what any other hyperplane could still gain.
"""

from _style import CLASS_COLOURS, FAINT, picture
from sklearn.datasets import load_breast_cancer

import separatrix as sx


def draw(path="gap.svg"):
    """Draw both objectives, and the gap between them, over the iterations."""
    X, y = load_breast_cancer(return_X_y=True)
    frames = list(sx.replay(sx.LinearSVM(C=1.0, tol=1e-6), X, y))[1:]
    steps, best = [frame.update for frame in frames], frames[-1].primal
    upper, lower = [f.primal for f in frames], [f.dual for f in frames]
    with picture(path, columns=2) as (values, gaps):
        values.plot(steps, upper, color=CLASS_COLOURS[0], label="objective so far")
        values.plot(steps, lower, color=CLASS_COLOURS[1], label="none is lower")
        values.fill_between(steps, lower, upper, color=FAINT, alpha=0.2, linewidth=0)
        values.set(ylim=(-0.2 * best, 4 * best), xlabel="iterations", title="Two bounds")
        values.legend(frameon=False)
        gaps.semilogy(steps, [frame.gap for frame in frames], "o-", color=CLASS_COLOURS[1])
        gaps.set(xlabel="iterations", title="The gap, as a share of the objective")


if __name__ == "__main__":
    draw()
