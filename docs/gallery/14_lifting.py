"""Lifting: a line in a larger space.

On the line no threshold parts the inner points from the outer ones. With the square as a second
column a straight line does.
"""

import numpy as np
from _style import boundary, picture, scatter

import separatrix as sx


def draw(path="lifting.svg"):
    """Draw points on a line, and lifted."""
    x = np.linspace(-2, 2, 21)
    y = np.where(abs(x) > 1.05, "outer", "inner")
    lifted = sx.lift.Polynomial(2).fit_transform(x[:, None])
    kinds = [sx.separability(each, y).kind for each in (x[:, None], lifted)]
    machine = sx.LinearSVM(C=np.inf).fit(lifted, y)
    with picture(path, columns=2) as (flat, high):
        scatter(flat, np.column_stack([x, 0 * x]), y)
        flat.set(title=f"x: {kinds[0]}", xlabel="x", yticks=[])
        scatter(high, lifted, y)
        boundary(high, machine, lifted)
        high.set(title=f"x and x²: {kinds[1]}", xlabel="x", ylabel="x²")
        high.legend(frameon=False, loc="upper center")


if __name__ == "__main__":
    draw()
