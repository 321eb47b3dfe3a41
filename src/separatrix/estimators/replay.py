"""Every update of a fit, as frames: what `fit` does, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import clone

from separatrix.estimators._frames import frames_of
from separatrix.solvers.running.drive import Frame

__all__ = ["replay"]


def replay(estimator: Any, X: Any, y: Any) -> Iterator[Frame]:
    """Yield the start and then every update that ``estimator.fit(X, y)`` makes.

    Frames hold the current weights ``[intercept, features...]``, the row used, the errors on all
    rows, the margin ``min w.z / |w|`` and an upper bound on the margin of any hyperplane. The
    estimator itself is left as it is. Time budgets are not applied. Kernel machines yield frames of
    their own, with the pair of rows used and their multipliers before and after (rules in a
    kernel's space: the row used and all multipliers); LinearSVM and LogisticRegression frames with
    both objectives, whose gap closes.

    Where several classes are taken by one machine each, or one a pair, the machines follow one
    another in the order of the fit: ``frame.machine`` counts them. Rows are numbered as in X, from
    0, everywhere; where one perceptron takes several classes at once, an update makes the row's
    class beat another, and ``frame.rival`` is the number of that one.

    >>> import separatrix as sx
    >>> X, y = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]], [1, -1, -1, 1, 1]
    >>> for frame in sx.replay(sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5]), X, y):
    ...     print(frame.update, frame.weights.round(9).tolist(), frame.errors)
    0 [0.0, 1.0, 0.5] 2
    1 [-0.2, 0.6, 0.9] 1
    2 [0.0, 0.2, 1.1] 1
    3 [0.2, 0.5, 1.0] 0
    >>> several = sx.replay(sx.OneVsOne(sx.Kozinec()), [[0.0], [2.0], [7.0]], ["a", "b", "c"])
    >>> [(frame.machine, frame.update, frame.row) for frame in several]
    [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 2), (2, 0, 1), (2, 1, 2)]
    """
    if not hasattr(estimator, "get_params"):
        raise TypeError(f"{type(estimator).__name__} has no updates to replay.")
    return frames_of(clone(estimator), X, y)
