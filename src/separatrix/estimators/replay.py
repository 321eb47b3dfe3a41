"""Every update of a fit, as frames: what `fit` does, to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from sklearn.base import clone

from separatrix.estimators._run import Run
from separatrix.solvers import _drive
from separatrix.solvers._drive import Frame


def replay(estimator: Any, X: Any, y: Any) -> Iterator[Frame]:
    """Yield the start and then every update that ``estimator.fit(X, y)`` makes.

    Frames hold the current weights ``[intercept, features...]``, the row used, the errors on all
    rows, the margin ``min w.z / |w|`` and an upper bound on the margin of any hyperplane. The
    estimator itself is left as it is. Time budgets are not applied. Kernel machines yield frames of
    their own, with the pair of rows used and their multipliers before and after (rules in a
    kernel's space: the row used and all multipliers); LinearSVM and LogisticRegression frames with
    both objectives, whose gap closes.

    >>> import separatrix as sx
    >>> X, y = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]], [1, -1, -1, 1, 1]
    >>> for frame in sx.replay(sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5]), X, y):
    ...     print(frame.update, frame.weights.round(9).tolist(), frame.errors)
    0 [0.0, 1.0, 0.5] 2
    1 [-0.2, 0.6, 0.9] 1
    2 [0.0, 0.2, 1.1] 1
    3 [0.2, 0.5, 1.0] 0
    """
    if hasattr(estimator, "_replay"):
        frames: Iterator[Any] = clone(estimator)._replay(X, y)
        return frames
    if not hasattr(estimator, "_run"):
        raise TypeError(f"{type(estimator).__name__} has no updates to replay.")
    return _frames(clone(estimator)._run(X, y))


def _frames(run: Run) -> Iterator[Frame]:
    frames = _drive.replay(run.method, run.problem, run.budget, **run.settings)
    as_given = run.problem is run.given and run.order is None and run.exponents is None
    if as_given and run.given.fit_intercept:
        yield from frames  # the weights are those of the columns as they were given already
        return
    for frame in frames:
        yield dataclasses.replace(frame, weights=run.as_given(frame.weights))
