"""Strategies on a finite table.

Three observations, two classes. Every strategy is a point of the region above the curve; its
corners decide without chance. Minimax makes both risks equal, which takes a coin for one
observation.
"""

from fractions import Fraction

from _style import ACCENT, CLASS_COLOURS, INK, picture

import separatrix as sx


def draw(path="finite_table.svg"):
    """Draw the least risk of one class for every bound on the other's."""
    table = sx.FiniteTable([[3, 1], [2, 2], [1, 6]], classes=["healthy", "ill"])
    bounds = [Fraction(k, 9) for k in range(10)]
    curve = [table.neyman_pearson({"ill": bound}).class_risks for bound in bounds]
    bayes, minimax = table.bayes().class_risks, table.minimax().class_risks
    with picture(path) as axes:
        axes.plot(*zip(*map(_point, curve), strict=True), color=INK)
        axes.plot(*_point(bayes), "s", color=CLASS_COLOURS[1], label="Bayes: 1/6 and 1/3")
        axes.plot(*_point(minimax), "o", color=ACCENT, label="minimax: both 4/15")
        axes.set(xlabel="risk of healthy", ylabel="risk of ill", xlim=(0, 1), ylim=(0, 1))
        axes.set_title("Strategies on a table of six probabilities")
        axes.legend(frameon=False)


def _point(risks):
    return float(risks["healthy"]), float(risks["ill"])


if __name__ == "__main__":
    draw()
