"""The delta rule as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from separatrix.certificates.separation import check_separation
from separatrix.core.checks import one_of, positive, seed_of, two_classes
from separatrix.core.models import with_settings
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import (
    present_rows,
    repeated_rows,
    training_data,
    warn_of_scale,
)
from separatrix.estimators.replay import Run, first_weights, given_weights
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status, solve
from separatrix.solvers.updates import delta_rule

_AS_COSTS = "LeastSquares takes any weights, as costs of rows."


@with_settings
class DeltaRule(LinearClassifier):
    """Gradient descent on the squared error of a linear unit (Widrow and Hoff).

    The unthresholded rule converges to the least-squares weights, separable or not. It also charges
    rows far on their own side. The thresholded rule moves for misclassified rows only.

    Parameters
    ----------
    thresholded : bool, default=False
        Whether the error compares signs, ``t - sign(w.x)``, or values, ``t - w.x``.
    update : {"batch", "minibatch", "single"}, default="batch"
        All rows, `batch_size` rows, or one row (incremental) for each update.
    order : {"cyclic", "random"}, default="cyclic"
        How rows are visited in the smaller blocks.
    batch_size : int, default=32
        For ``update="minibatch"``.
    learning_rate : float or "auto", default="auto"
        "auto" takes half of the largest rate that cannot diverge (0.1 when thresholded).
    init : "zeros", "random" or array, default="zeros"
        The first weights: intercept first, then one for each feature.
    tol : float or None, default=1e-6
        Stop when the loss has changed by less than this share over each of five passes.
    max_updates, max_passes, max_seconds : number or None, default=None
        Budgets. The first one that is spent ends the fit, with a warning. ``max_updates=None``
        means 1,000,000 (10,000 batches).
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    random_state : int, RandomState or None, default=0
        For the random order and the random start.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side.
    loss_ : float
        The squared error at the end, ``1/2 sum (t - o)^2``.
    learning_rate_ : float
        The rate used.
    certificate_ : Separation
        Whether the weights separate the rows, proved either way.
    status_, n_iter_, n_passes_
        Why the run ended, its updates, and its passes over the rows.

    See Also
    --------
    LeastSquares : the limit of the unthresholded rule, computed directly.
    Perceptron : the thresholded rule with half the rate.
    replay : every update, one by one.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.DeltaRule().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.4], [2.4]]).tolist()
    [0, 1]
    """

    takes_many_classes = False

    _: KW_ONLY
    thresholded: bool = False
    update: str = "batch"
    order: str = "cyclic"
    batch_size: int = 32
    learning_rate: float | str = "auto"
    init: Any = "zeros"
    tol: float | None = 1e-6
    max_updates: int | None = None
    max_passes: float | None = None
    max_seconds: float | None = None
    fit_intercept: bool = True
    random_state: Any = 0

    def _run(self, X: Any, y: Any, sample_weight: Any = None, init: Any = None) -> Run:
        """Pose the problem and the settings that `fit` and `sx.replay` share."""
        one_of("update", self.update, ("batch", "minibatch", "single"))
        one_of("order", self.order, ("cyclic", "random"))
        positive("batch_size", self.batch_size, whole=True)
        positive("tol", self.tol, zero=True, optional=True)
        if self.learning_rate != "auto":
            positive("learning_rate", self.learning_rate)
        X, y = training_data(self, X, y)
        X, y = repeated_rows(self, X, y, sample_weight, _AS_COSTS)
        self.classes_, signs = two_classes(self, y)
        problem = SignedProblem(X, signs, self.fit_intercept)
        seed = seed_of(self.random_state)
        rate = None if self.learning_rate == "auto" else self.learning_rate
        settings = {
            "update": self.update,
            "order": self.order,
            "batch_size": self.batch_size,
            "rate": 0.1 if rate is None and self.thresholded else rate,
            "thresholded": self.thresholded,
            "first": given_weights(problem, *init)
            if init
            else first_weights(self.init, problem, seed),
            "tol": self.tol,
            "seed": seed,
        }
        return Run.of(self, delta_rule, problem, settings, whole_passes=self.update == "batch")

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> DeltaRule:
        """Descend until the loss settles.

        Weights are numbers of visits: whole numbers, k for k copies of the row one after another,
        0 for a row left out. Loss and certificate count the copies too.
        `coef_init` and `intercept_init` are first weights in the shapes of `coef_` and
        `intercept_`: they go before `init`.
        """
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        init = None if coef_init is None and intercept_init is None else (coef_init, intercept_init)
        run = self._run(X, y, sample_weight, init)
        warn_of_scale(self, run.given.X)
        with np.errstate(over="ignore", invalid="ignore"):
            state, self.status_ = solve(
                delta_rule, run.problem, run.budget, run.seconds, **run.settings
            )
        self.learning_rate_ = float(state.settings.rate)
        if self.status_ in (Status.DIVERGED, Status.OVERFLOW):
            raise self._divergence(run)
        w = run.as_given(state.w)
        self.coef_, self.intercept_ = run.given.weights(w)
        self.n_iter_, self.n_passes_ = state.updates, state.passes
        self.loss_ = state.loss
        self.certificate_ = check_separation(run.given, w, self._class_names())
        if self.status_ is Status.SEPARATED and not self.certificate_.holds:
            self.status_ = Status.UNPROVED
        if self.status_ in (Status.BUDGET, Status.UNPROVED):
            self._warn(f"{self.status_.cause}; the loss is {self.loss_:.6g}.")
        return self

    def _divergence(self, run: Run) -> ValueError:
        rows = {"batch": run.problem.n_rows, "minibatch": self.batch_size, "single": 1}[self.update]
        limit = delta_rule.largest_stable_rate(run.problem, min(rows, run.problem.n_rows))
        if self.learning_rate_ <= limit and self.learning_rate != "auto":
            return DataError(f"DeltaRule: {Status.OVERFLOW.cause}. Divide large columns first.")
        exact = "diverges above" if self.update == "batch" else "is stable up to"
        return ValueError(
            f"DeltaRule diverged with learning_rate={self.learning_rate_:.6g}: on these data it "
            f"{exact} {limit:.6g}. Use learning_rate={0.5 * limit:.3g} or 'auto', or standardise "
            "the columns so that a larger rate is stable."
        )
