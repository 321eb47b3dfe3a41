"""Fewest errors, proved.

No line makes fewer errors on these points than the solid one; the support vector machine minimises
something else, and makes more.
"""

import numpy as np
from _style import INK, SOFT, boundary, picture, scatter

import separatrix as sx


def draw(path="fewest_errors.svg"):
    """Draw the line of fewest errors beside a support vector machine's."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal([-1, 0], 0.8, (25, 2)), rng.normal([1, 0], 0.8, (25, 2))])
    X = np.vstack([X, rng.normal([4.0, 3.0], 0.2, (4, 2))])
    y = np.repeat(["circle", "square", "circle"], [25, 25, 4])
    fewest = sx.ZeroOne().fit(X, y)
    machine = sx.LinearSVM(C=1.0).fit(X, y)
    wrong = int((machine.predict(X) != y).sum())
    with picture(path) as axes:
        scatter(axes, X, y)
        caption = f"{fewest.errors_} errors; at least {fewest.lower_bound_}"
        boundary(axes, fewest, X, color=INK, label=caption)
        boundary(axes, machine, X, color=SOFT, linestyle="--", label=f"SVM: {wrong} errors")
        axes.set_title("The fewest training errors of any line")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


if __name__ == "__main__":
    draw()
