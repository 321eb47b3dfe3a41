"""Three classes, three ways.

Each against the rest leaves the class in the middle short; pairs and the direct machine do not.
"""

from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.plots.regions import save_regions


def draw(path="many_classes.svg"):
    """Draw the regions of three kinds of machine."""
    iris = load_iris()
    X, y = iris.data[:, 2:], iris.target_names[iris.target]
    panels = [
        (title, X, y, sx.LinearSVM(multi_class=kind).fit(X, y))
        for title, kind in (
            ("Each against the rest", "ovr"),
            ("Pairs", "ovo"),
            ("Direct", "direct"),
        )
    ]
    save_regions(panels, path, ["petal length, cm", "petal width, cm"])


if __name__ == "__main__":
    draw()
