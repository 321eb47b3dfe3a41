"""The perceptron as a scikit-learn classifier, and ``sx.novikoff``, the bound on its mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from separatrix.certificates.separation import check_separation, misplaced
from separatrix.core.checks import one_of, positive, seed_of, several_classes
from separatrix.core.linear_model import available_unless
from separatrix.core.models import with_settings
from separatrix.core.novikoff import Novikoff, NovikoffProof, mistake_bound, novikoff_proof
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import (
    class_codes,
    present_rows,
    repeated_rows,
    training_data,
    warn_of_scale,
)
from separatrix.estimators.replay import Run, as_written, first_weights, given_weights, replay
from separatrix.problem.equilibrate import column_exponents, divided_columns, divides_exactly
from separatrix.problem.signed import KeslerProblem, SignedProblem
from separatrix.solvers.running.drive import Status, solve
from separatrix.solvers.updates import in_fractions, perceptron

__all__ = ["Perceptron", "novikoff"]

_AS_COSTS = "SGD(loss='perceptron') takes any weights, as costs of rows."
_CHEAP_PASS = 2_000  # entries of X


def _without_a_stream(estimator: Any) -> str | None:
    if not estimator.scale:
        return None
    return (
        "scale=True asks for the size of columns, of which those to come are unknown. "
        "Scale the rows before, or use fit."
    )


@with_settings
class Perceptron(LinearClassifier):
    """The perceptron: add misclassified rows to the weights until there are none.

    Separable data are separated after at most (R / margin)^2 single updates. On other data the run
    ends by a budget or by `patience`, and the pocket gives the best weights it tested. More than
    two classes are one separation problem by Kesler's construction: every class against every
    other, all at once.

    Parameters
    ----------
    update : {"single", "minibatch", "batch"}, default="single"
        Correct one misclassified row at a time, those of `batch_size` rows, or those of all rows.
    order : {"cyclic", "random", "worst"}, default="cyclic"
        How rows are visited: as stored, shuffled for each pass, or the worst of all each time
        ("worst" goes with single updates; "batch" has no order).
    batch_size : int, default=32
        For ``update="minibatch"``.
    learning_rate : float, default=1.0
        The step. From zero weights a fixed rate changes only the length of w.
    decay : float, default=0.0
        Update number t uses ``learning_rate / t**decay``; 0 keeps it fixed.
    init : "zeros", "random" or array, default="zeros"
        The first weights: intercept first, then one for each feature (one such row a class where
        there are more than two).
    scale : bool, default=False
        Divide each column by a power of two near its largest entry, inside: fewer updates when
        columns differ in size, and no rounding. The weights are for the columns as given.
    pocket : bool, "ratchet" or "every", default=True
        Keep the weights with fewest errors on the whole set. "every" counts the errors of all
        weights visited, as the lectures' pocket does; "ratchet" (Gallant 1990) only of those that
        got more rows right in a row than the kept ones, and may miss the best. True: "every" where
        a pass costs little (up to 2,000 entries of X), else "ratchet".
    average : bool, default=False
        Return the mean of the weights over all row visits instead.
    max_updates : int or None, default=None
        None: 1,000,000 (10,000 where every update looks at all rows).
    max_passes, max_seconds : float or None, default=None
        Further budgets. A budget that ends the fit leaves the best point so far and a warning.
    patience : int or None, default=None
        Stop after this many updates without a better pocket.
    tol : float or None, default=None
        Stop when the perceptron loss changes by less than this share over a pass.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    random_state : int, RandomState or None, default=0
        For the random order and the random start.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane, ``classes_[1]`` on its positive side; or a row for each of many classes.
    errors_ : int or None
        Misclassified rows; a score of exactly 0 counts as an error. None after `partial_fit`.
    certificate_ : Separation
        Whether the weights separate the rows, proved either way. None after `partial_fit`.
    novikoff_ : Novikoff or None
        Mistakes made beside the bound on them (single updates, fixed rate), by the largest margin
        where it is cheap to find, else by that of the weights found; `sx.novikoff` has R, B and
        both sequences of the proof. None where products vanish, so that rows on their own side
        were taken for mistakes.
    status_, n_iter_, n_passes_
        Why the run ended, its updates, and its passes over the rows.

    See Also
    --------
    Kozinec : also bounds the largest margin.
    novikoff : the bound on the mistakes and its proof.
    KernelPerceptron : the same rule with a kernel.
    replay : every update, one by one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]], [1, -1, -1, 1, 1]
    >>> model = sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5]).fit(X, y)
    >>> model.coef_.round(9).tolist(), model.intercept_.round(9).tolist()
    ([[0.5, 1.0]], [0.2])
    >>> model.certificate_.holds, str(model.status_)
    (True, 'separated')
    """

    _: KW_ONLY
    update: str = "single"
    order: str = "cyclic"
    batch_size: int = 32
    learning_rate: float = 1.0
    decay: float = 0.0
    init: Any = "zeros"
    scale: bool = False
    pocket: bool | str = True
    average: bool = False
    max_updates: int | None = None
    max_passes: float | None = None
    max_seconds: float | None = None
    patience: int | None = None
    tol: float | None = None
    fit_intercept: bool = True
    random_state: Any = 0

    def _check_parameters(self) -> None:
        one_of("update", self.update, ("single", "minibatch", "batch"))
        one_of("order", self.order, ("cyclic", "random", "worst"))
        one_of("pocket", self.pocket, (True, False, "ratchet", "every"))
        if self.order == "worst" and self.update != "single":
            raise ValueError(
                f"order='worst' goes with update='single'. Got {self.update!r} instead."
            )
        positive("batch_size", self.batch_size, whole=True)
        positive("learning_rate", self.learning_rate)
        positive("decay", self.decay, zero=True)
        positive("tol", self.tol, zero=True, optional=True)
        if self.patience is not None:
            positive("patience", self.patience, whole=True)
            if not self.pocket:
                raise ValueError("patience waits for a better pocket: it needs pocket=True.")

    def _pose(self, X: Any, codes: np.ndarray) -> SignedProblem | KeslerProblem:
        if len(self.classes_) == 2:
            return SignedProblem(X, np.where(codes == 1, 1.0, -1.0), self.fit_intercept)
        return KeslerProblem(X, codes, len(self.classes_), self.fit_intercept)

    def _settings(self, problem: Any) -> dict[str, Any]:
        seed = seed_of(self.random_state)
        return {
            "update": self.update,
            "order": self.order,
            "batch_size": self.batch_size,
            "rate": self.learning_rate,
            "decay": self.decay,
            "first": first_weights(self.init, problem, seed),
            "pocket": self._pocket(problem),
            "average": self.average,
            "patience": self.patience or 0,
            "tol": self.tol,
            "seed": seed,
        }

    def _pocket(self, problem: Any) -> bool | str:
        """Return which pocket `pocket=True` is: all weights are tested where that costs little."""
        if self.pocket is not True:
            return self.pocket
        cheap = problem.n_rows * problem.dimension <= _CHEAP_PASS
        return "every" if cheap else "ratchet"

    @property
    def _has_fractions(self) -> bool:
        """Whether the updates are followed in fractions too, for `sx.replay(exact=True)`."""
        plain = (self.update, self.order, self.decay) == ("single", "cyclic", 0.0)
        return plain and not (self.scale or self.average)

    def _in_fractions(self, rows: list[in_fractions.Vector], run: Run) -> Iterator[Any]:
        """Return the frames of a run on rows of fractions."""
        first = as_written(run.as_given(run.settings["first"]))
        (rate,) = as_written(np.array([self.learning_rate]))
        return iter(in_fractions.perceptron_frames(rows, first, rate, run.budget))

    def _run(self, X: Any, y: Any, sample_weight: Any = None, init: Any = None) -> Run:
        """Pose the problem and the settings that `fit` and `sx.replay` share."""
        self._check_parameters()
        X, y = training_data(self, X, y)
        X, y = repeated_rows(self, X, y, sample_weight, _AS_COSTS)
        self.classes_, codes = several_classes(self, y)
        given = problem = self._pose(X, codes)
        exponents = None
        if self.scale:
            exponents = column_exponents(given.X)
            problem = self._pose(divided_columns(given.X, exponents), codes)
        whole = self.order == "worst" or self.update == "batch"
        settings = self._settings(problem)
        if init is not None:
            coef, intercept = given.weights(given_weights(given, *init))
            if exponents is not None:
                coef = np.ldexp(coef, exponents)
            settings["first"] = problem.homogeneous(coef, intercept)
        return Run.of(self, perceptron, problem, settings, whole, given, exponents)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Perceptron:
        """Find weights, and prove whether they separate the rows.

        Weights are numbers of visits: whole numbers, k for k copies of the row one after another,
        0 for a row left out. Errors and certificate count the copies too.
        `coef_init` and `intercept_init` are first weights in the shapes of `coef_` and
        `intercept_`: they go before `init`.
        """
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        init = None if coef_init is None and intercept_init is None else (coef_init, intercept_init)
        run = self._run(X, y, sample_weight, init)
        if not self.scale:
            warn_of_scale(self, run.given.X, "Perceptron(scale=True) in Python")
        with np.errstate(over="ignore", invalid="ignore"):
            state, self.status_ = solve(
                perceptron, run.problem, run.budget, run.seconds, **run.settings
            )
            answer = state.answer.copy()
        if self.status_ is Status.OVERFLOW or not np.isfinite(answer).all():
            raise DataError(
                f"Perceptron: {Status.OVERFLOW.cause}. Use scale=True, or divide large columns."
            )
        w = run.as_given(answer)
        if not np.isfinite(w).all():
            raise DataError(
                "Perceptron: a column is so small that its weight is too large for floating point. "
                "Multiply that column, or drop it."
            )
        self.coef_, self.intercept_ = run.given.weights(w)
        self.n_iter_, self.n_passes_ = state.updates, state.passes
        self.errors_: int | None = misplaced(run.given, w)
        # Powers of two change no sign, so what was found for scaled columns holds for these.
        self.certificate_ = check_separation(run.given, w, self._class_names())
        self.novikoff_ = self._mistake_bound(run, state, run.from_given(w))
        visits = state.passes * run.problem.n_rows
        # What `partial_fit` goes on from: the last weights, the answer, the visits averaged.
        self._stream = (run.as_given(state.w), w, visits)
        if self.status_ is Status.SEPARATED and not self.certificate_.holds:
            self.status_ = Status.AVERAGED if self.average else Status.UNPROVED
        if self.status_ in (Status.BUDGET, Status.UNPROVED, Status.AVERAGED):
            self._warn(
                f"{self.status_.cause}; {self.errors_} of {run.problem.n_samples} training rows "
                "are misclassified."
            )
        return self

    def _mistake_bound(self, run: Run, state: Any, w: np.ndarray) -> Novikoff | None:
        if self.update != "single" or self.decay != 0.0 or not self.certificate_.holds:
            return None
        if run.exponents is not None and not divides_exactly(run.given.X, run.exponents):
            return None  # the run was on rows that had lost digits: its mistakes are not these
        first = run.settings["first"]
        return mistake_bound(run.problem, w, state.updates, first, float(self.learning_rate))

    @available_unless(_without_a_stream)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Perceptron:
        """Go once over new rows, from the weights reached so far; name all classes at first.

        There is no pocket, no count of errors and no certificate here: they speak of all the data.
        Weights are numbers of visits, as in `fit`.
        """
        self._check_parameters()
        first_call = not hasattr(self, "coef_")
        X, y = training_data(self, X, y, reset=first_call)
        if first_call:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_, _ = several_classes(self, np.asarray(classes))
        codes = class_codes(self.classes_, y)
        X, codes = repeated_rows(self, X, codes, sample_weight, _AS_COSTS)
        self._learn_once(self._pose(X, codes), first_call)
        return self

    def _learn_once(self, problem: Any, first_call: bool) -> None:
        settings = {**self._settings(problem), "pocket": False, "patience": 0, "max_passes": 1}
        if not first_call:
            # Averaged weights are an answer, not where the updates go on from.
            settings["first"], _, _ = self._stream
            settings["updates"] = self.n_iter_
        with np.errstate(over="ignore", invalid="ignore"):
            state, status = solve(perceptron, problem, **settings)
            answer, visits = state.answer.copy(), state.passes * problem.n_rows
        if status is Status.OVERFLOW or not np.isfinite(answer).all():
            raise DataError(f"Perceptron: {Status.OVERFLOW.cause}. Divide large columns first.")
        if not first_call and self.average:
            _, earlier, before = self._stream
            answer = (before * earlier + visits * answer) / (before + visits)
            visits += before
        self._stream = (state.w.copy(), answer, visits)
        self.coef_, self.intercept_ = problem.weights(answer)
        self.status_, self.certificate_, self.novikoff_ = Status.STREAMING, None, None
        self.errors_ = None
        self.n_iter_ = state.updates
        self.n_passes_ = state.passes + (0.0 if first_call else self.n_passes_)


def novikoff(model: Perceptron, X: Any, y: Any) -> NovikoffProof:
    """Bound the mistakes of a perceptron by (R B)^2, and follow the proof update by update.

    Parameters
    ----------
    model : Perceptron
        With single updates and a fixed rate. It is run again; it need not be fitted.
    X, y : arrays
        Rows, and labels of two classes.

    Returns
    -------
    NovikoffProof
        R, B, the bound, and the sequences `least` <= `along` <= `length` <= `most`.

    See Also
    --------
    Perceptron : the rule whose mistakes are bounded.
    replay : every update, one by one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]], [1, -1, -1, 1, 1]
    >>> proof = sx.novikoff(sx.Perceptron(), X, y)
    >>> print(proof)
    R = 3, B = 1.86052: at most 31 mistakes; 3 were made
    >>> bool((proof.least <= proof.along + 1e-9).all()), bool((proof.length <= proof.most).all())
    (True, True)
    """
    if not isinstance(model, Perceptron) or model.update != "single" or model.decay != 0.0:
        raise ValueError(
            "Novikoff's bound is for a Perceptron with update='single' and decay=0. "
            f"Got {model!r} instead."
        )
    if model.scale or model.average:
        raise ValueError("Novikoff's proof follows the weights: use scale=False, average=False.")
    frames = list(replay(model, X, y))
    run = model._run(X, y)
    return novikoff_proof(
        run.problem, [frame.weights for frame in frames], float(model.learning_rate)
    )
