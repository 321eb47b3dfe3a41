"""A coefficient that runs to infinity.

Every treated patient was cured, so the likelihood grows for ever as one coefficient does.
`sx.separability` says which, and proves it; fits with larger and larger C show it.
"""

import numpy as np
from _style import CLASS_COLOURS, picture

import separatrix as sx


def draw(path="infinite.svg"):
    """Draw two coefficients against C."""
    X = np.array([[0, 1.0], [0, 2.0], [0, 1.5], [0, 0.5], [1, 3.0], [1, 1.2]])
    y = np.array([0, 1, 0, 1, 1, 1])
    verdict = sx.separability(X, y)
    assert verdict.infinite.tolist() == [0.0, np.inf, 0.0]
    costs = np.geomspace(0.1, 1e5, 20)
    fits = np.array([sx.LogisticRegression(C=C).fit(X, y).coef_[0] for C in costs])
    with picture(path) as axes:
        for number, name in enumerate(("treated: infinite", "dose: finite")):
            axes.semilogx(costs, fits[:, number], color=CLASS_COLOURS[number], label=name)
        axes.set(xlabel="C", ylabel="coefficient")
        axes.set_title("Quasi-separable data: one coefficient has no finite estimate")
        axes.legend(frameon=False)


if __name__ == "__main__":
    draw()
