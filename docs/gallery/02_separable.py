"""A line that separates, proved.

Two irises by sepal and petal width. Every flower lies strictly on its own side, which exact
integers have agreed to.
"""

import separatrix as sx
from separatrix.data.lectures import two_irises
from separatrix.plots.separability import save_verdict


def draw(path="separable.svg"):
    """Draw the separator of two irises."""
    flowers = two_irises()
    verdict = sx.separability(flowers.X, flowers.y)
    assert verdict.certificate.check(flowers.X, flowers.y)
    save_verdict(verdict, flowers.X, flowers.y, path, flowers.feature_names)


if __name__ == "__main__":
    draw()
