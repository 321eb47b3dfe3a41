"""A stream that changes its mind.

Rows one at a time, each predicted before it is learned. Halfway the classes change places: the
error leaps, and falls again.
"""

import numpy as np
from _style import ACCENT, CLASS_COLOURS, picture

import separatrix as sx
from separatrix.estimators.stream_learner import Progressive, StreamLearner


def draw(path="stream.svg"):
    """Draw the error over the last rows of a stream."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5))
    y = (X @ [1.0, -1.0, 0.5, 0.0, 2.0] > 0) ^ (np.arange(6000) >= 3000)
    learner = StreamLearner.fresh(sx.SGD("logistic", C=np.inf, average=False), [False, True])
    seen, places, recent = Progressive(window=200), [], []
    for begin in range(0, 6000, 100):
        part = slice(begin, begin + 100)
        seen.add(learner.learn(X[part], learner.codes(y[part])))
        places.append(begin + 100)
        recent.append(100 * seen.recent_error)
    with picture(path) as axes:
        axes.plot(places, recent, color=CLASS_COLOURS[1])
        axes.axvline(3000, color=ACCENT, linewidth=1.0, linestyle="--")
        axes.set(xlabel="rows", ylabel="error on the last 200 rows, %", ylim=(0, None))
        axes.set_title("Predicted first, learned afterwards")


if __name__ == "__main__":
    draw()
