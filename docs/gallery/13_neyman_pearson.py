"""False alarms against misses.

Two Gaussian classes, priors unknown. The curve is what a threshold can do; Neyman and Pearson
choose by the false alarms allowed, minimax where both errors are equal.
"""

import numpy as np
from _style import ACCENT, CLASS_COLOURS, INK, picture

import separatrix as sx


def draw(path="neyman_pearson.svg"):
    """Draw the errors of all thresholds."""
    X, y = [[-1.0], [1.0], [1.0], [3.0]], [0, 0, 1, 1]
    allowed = np.geomspace(0.005, 0.9, 40)
    tests = [sx.GaussianPlugIn(task="neyman-pearson", bound=a).fit(X, y) for a in allowed]
    rates = np.array([test.error_rates_ for test in tests])
    fair = sx.GaussianPlugIn(task="minimax").fit(X, y).error_rates_
    five = sx.GaussianPlugIn(task="neyman-pearson", bound=0.05).fit(X, y).error_rates_
    with picture(path) as axes:
        axes.plot(rates[:, 0], rates[:, 1], color=INK)
        axes.plot(*fair, "o", color=ACCENT, label=f"minimax: both {fair[0]:.3f}")
        axes.plot(*five, "s", color=CLASS_COLOURS[1], label=f"5 % alarms: {five[1]:.3f} missed")
        axes.set(xlabel="false alarms", ylabel="misses", xlim=(0, 1), ylim=(0, 1))
        axes.set_title("Tasks without priors")
        axes.legend(frameon=False)


if __name__ == "__main__":
    draw()
