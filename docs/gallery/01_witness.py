"""Why no line separates these classes.

Two segments cross: the point they share lies in the hulls of both classes. The integers that say
so are the proof, and anyone can check them.
"""

import separatrix as sx
from separatrix.plots.separability import save_verdict


def draw(path="witness.svg"):
    """Draw the four rows that cannot be separated."""
    X = [[0, 0], [4, 0], [0, 4], [5, 4], [1, 1], [6, 6], [7, 5], [6.5, 3]]
    y = ["out"] * 4 + ["in"] * 4
    verdict = sx.separability(X, y)
    assert verdict.kind == "overlapping"
    assert verdict.certificate.check(X, y)
    save_verdict(verdict, X, y, path)


if __name__ == "__main__":
    draw()
