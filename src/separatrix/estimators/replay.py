"""One run of an iterative method, as `fit` makes it, and every update of it as frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.core.checks import positive
from separatrix.core.linear_model import pairs_of
from separatrix.core.machine import machine_of_a_pair
from separatrix.errors import DataError
from separatrix.problem.equilibrate import (
    packed,
    packed_weights,
    packing_order,
    unpacked_weights,
    weights_of_undivided,
)
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import NO_LIMIT, Frame

__all__ = [
    "Run",
    "as_written",
    "first_weights",
    "frames_of",
    "given_weights",
    "numbered",
    "replay",
    "replay_each_pair",
]


_SINGLE_UPDATES = 1_000_000
_WHOLE_PASSES = 10_000
_SMALL = 0.01
_MOST_ENTRIES = 10_000  # of a run in fractions


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
    return (_exact_frames if exact else frames_of)(clone(estimator), X, y)


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


def _exact_frames(model: Any, X: Any, y: Any) -> Iterator[Frame]:
    """Return the frames of a run in fractions; refuse what is not a small example."""
    if not getattr(model, "_has_fractions", False):
        raise ValueError(
            "exact=True follows Perceptron(update='single', order='cyclic') with a fixed rate, and "
            f"Kozinec(order='cyclic') without epsilon. Got {model!r} instead."
        )
    run = model._run(X, y)
    if len(model.classes_) != 2:
        raise ValueError(f"exact=True is for two classes. Got {len(model.classes_)} instead.")
    rows = run.given.signed_rows()
    if rows.size > _MOST_ENTRIES:
        raise ValueError(
            f"exact=True is for small examples, of up to {_MOST_ENTRIES:,} entries. Got "
            f"{rows.size:,} instead."
        )
    frames: Iterator[Frame] = model._in_fractions([as_written(row) for row in rows], run)
    return frames


def as_written(values: np.ndarray) -> tuple[Fraction, ...]:
    """Return the decimals that name these floats, as fractions."""
    return tuple(Fraction(repr(float(v))) for v in values)


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


# ---- a run, and its first weights


@dataclass(frozen=True)
class Run:
    """What to solve, how, and for how long.

    `problem` may be `given` with its columns scaled by the powers of two of `exponents`, and put in
    an `order` that is faster to visit.
    """

    method: Any
    problem: Any
    settings: dict[str, Any]
    budget: int
    seconds: float
    given: Any
    exponents: np.ndarray | None = None
    order: np.ndarray | None = None

    def as_given(self, w: np.ndarray) -> np.ndarray:
        """Return the weights for the columns as they were given."""
        coef, intercept = self.problem.weights(w)
        if self.order is not None:
            coef = unpacked_weights(coef, self.order)
        if self.exponents is not None:
            with np.errstate(over="ignore"):
                coef = weights_of_undivided(coef, self.exponents)
        return np.asarray(self.given.homogeneous(coef, intercept))

    def from_given(self, w: np.ndarray) -> np.ndarray:
        """Return weights for the columns as they were given as weights for those of the run."""
        coef, intercept = self.given.weights(w)
        if self.exponents is not None:
            coef = np.ldexp(coef, self.exponents)
        if self.order is not None:
            coef = packed_weights(coef, self.order)
        return np.asarray(self.problem.homogeneous(coef, intercept))

    @classmethod
    def of(
        cls,
        estimator: Any,
        method: Any,
        problem: Any,
        settings: dict[str, Any],
        whole_passes: bool,
        given: Any = None,
        exponents: np.ndarray | None = None,
    ) -> Run:
        """Read the budgets of an estimator; where an update costs a pass, allow fewer of them."""
        for name in ("max_updates", "max_passes", "max_seconds"):
            whole = name == "max_updates"
            positive(name, getattr(estimator, name), whole=whole, optional=True)
        updates = estimator.max_updates
        if updates is None:
            updates = _WHOLE_PASSES if whole_passes else _SINGLE_UPDATES
        if estimator.max_passes is not None:
            settings = {**settings, "max_passes": estimator.max_passes}
        seconds = np.inf if estimator.max_seconds is None else float(estimator.max_seconds)
        given = problem if given is None else given
        order = packing_order(problem)
        if order is not None:
            if settings.get("first") is not None:
                coef, intercept = problem.weights(settings["first"])
                first = problem.homogeneous(packed_weights(coef, order), intercept)
                settings = {**settings, "first": first}
            problem = packed(problem, order)
        budget = min(int(updates), NO_LIMIT)
        return cls(method, problem, settings, budget, seconds, given, exponents, order)


def first_weights(init: Any, problem: Any, seed: int) -> np.ndarray:
    """Return zeros, small random numbers, or the weights given.

    Weights given are one row of [intercept, features] for two classes, one row for each class
    where there are more.
    """
    if isinstance(init, str):
        if init == "zeros":
            return np.zeros(problem.dimension)
        if init == "random":
            draws = np.random.default_rng(seed).normal(scale=_SMALL, size=problem.dimension)
            return np.asarray(problem.homogeneous(*problem.weights(draws)))
        raise ValueError(f"init must be 'zeros', 'random' or an array. Got {init!r} instead.")
    w = np.asarray(init, dtype=np.float64).ravel()
    if w.size != problem.dimension:
        raise ValueError(
            f"init must hold {problem.dimension} numbers, intercept first. Got {w.size} instead."
        )
    if not np.isfinite(w).all():
        raise DataError("init must hold finite numbers.")
    coef, intercept = problem.weights(w)
    kept = problem.homogeneous(coef, intercept)
    if not np.array_equal(kept, w):
        raise ValueError("init must begin with 0 where fit_intercept=False: there is no intercept.")
    return np.asarray(kept)


def given_weights(problem: Any, coef: Any, intercept: Any) -> np.ndarray:
    """Return first weights from `coef_init` and `intercept_init`, as scikit-learn shapes them.

    What is not given is zero.
    """
    zero, none = problem.weights(np.zeros(problem.dimension))
    parts = []
    for name, value, like in (("coef_init", coef, zero), ("intercept_init", intercept, none)):
        found = like if value is None else np.asarray(value, dtype=np.float64)
        if found.size != like.size or found.ndim > like.ndim:
            raise ValueError(
                f"{name} must be of the shape {like.shape}. Got {found.shape} instead."
            )
        parts.append(found.reshape(like.shape))
    if not problem.fit_intercept and parts[1].any():
        raise ValueError("intercept_init must be 0 where fit_intercept=False.")
    w = np.asarray(problem.homogeneous(*parts))
    if not np.isfinite(w).all():
        raise DataError("coef_init and intercept_init must hold finite numbers.")
    return w
