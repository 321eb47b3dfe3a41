"""Every update of a fit, as frames: what `fit` does, to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.core.linear_model import pairs_of
from separatrix.core.machine import machine_of_a_pair
from separatrix.estimators._run import Run
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import Frame

__all__ = ["frames_of", "numbered", "replay", "replay_each_pair"]


def replay(estimator: Any, X: Any, y: Any, *, exact: bool = False) -> Iterator[Frame]:
    """Yield the start and then every update that ``estimator.fit(X, y)`` makes.

    Parameters
    ----------
    estimator : estimator
        Any iterative one; it is left as it is.
    X, y : rows and labels
        As `fit` takes them. Time budgets are not applied.
    exact : bool, default=False
        Make every update in fractions, on the decimals as written (0.1 is one tenth): for small
        examples of `Perceptron` (single updates, fixed rate) and `Kozinec`, in stored order.
        ``frame.exact`` holds the weights.

    Yields
    ------
    Frame
        The current weights ``[intercept, features...]``, the row used, the errors on all rows, the
        margin ``min w.z / |w|`` and an upper bound on the margin of any hyperplane; the visits so
        far, the step, the errors before, the criterion of the delta rule and R. LinearSVM and
        LogisticRegression: both objectives, whose gap closes. KernelSVM: the pair of rows used, and
        their multipliers before and after. Rules in a kernel's space: the row used and all
        multipliers.

    Notes
    -----
    Where several classes are taken by one machine each, or one a pair, the machines follow one
    another in the order of the fit: ``frame.machine`` counts them. Rows are numbered as in X, from
    0, everywhere; where one perceptron takes several classes at once, an update makes the row's
    class beat another, and ``frame.rival`` is the number of that one.

    See Also
    --------
    Perceptron : one of the rules to replay.
    novikoff : the sequences of Novikoff's proof.
    plot.replay : the same as pictures.

    Examples
    --------
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
    if exact:
        from separatrix.estimators._exact_replay import exact_frames

        return exact_frames(clone(estimator), X, y)
    return frames_of(clone(estimator), X, y)


def frames_of(estimator: Any, X: Any, y: Any) -> Iterator[Any]:
    """Return the frames of the fit that the estimator would make; it is used up by that."""
    if hasattr(estimator, "_replay"):
        frames: Iterator[Any] = estimator._replay(X, y)
        return frames
    if not hasattr(estimator, "_run"):
        raise TypeError(f"{type(estimator).__name__} has no updates to replay.")
    return _as_given(estimator._run(X, y))


def _as_given(run: Run) -> Iterator[Frame]:
    frames = drive.replay(run.method, run.problem, run.budget, **run.settings)
    as_given = run.problem is run.given and run.order is None and run.exponents is None
    if as_given and run.given.fit_intercept:
        yield from frames  # the weights are those of the columns as they were given already
        return
    before: Frame | None = None
    for frame in frames:
        given = dataclasses.replace(frame, weights=run.as_given(frame.weights))
        before = given if before is None else drive.after(before, given)
        yield before


def numbered(
    frames: Iterator[Any], machine: int, rows: np.ndarray | None, n_rows: int
) -> Iterator[Any]:
    """Say of which machine the frames are, and of which rows in the whole data (None: all)."""
    for frame in frames:
        changes: dict[str, Any] = {"machine": machine}
        if rows is not None:
            if hasattr(frame, "row"):
                changes["row"] = _row(rows, frame.row)
            if hasattr(frame, "pair"):
                changes["pair"] = tuple(_row(rows, row) for row in frame.pair)
            if hasattr(frame, "alpha"):
                changes["alpha"] = np.zeros(n_rows)
                changes["alpha"][rows] = frame.alpha
        yield dataclasses.replace(frame, **changes)


def _row(rows: np.ndarray, row: int) -> int:
    return int(rows[row]) if row >= 0 else -1


def replay_each_pair(machine: Any, X: Any, y: Any, loss: str) -> Iterator[Any]:
    """Return the frames of the machine of every pair, one pair after another."""
    X, codes, weights = machine._prepared(X, y, None, loss)

    def frames() -> Iterator[Any]:
        for number, pair in enumerate(pairs_of(len(machine.classes_))):
            rows = np.flatnonzero(np.isin(codes, pair))
            run = machine_of_a_pair(machine)._replay(X[rows], codes[rows], weights[rows])
            yield from numbered(run, number, rows, len(codes))

    return frames()
