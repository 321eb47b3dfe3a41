"""Kozinec's algorithm as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from separatrix.certificates.separation import check_margin_bounds
from separatrix.checker.exact import at_most
from separatrix.core.checks import one_of, positive, seed_of, two_classes
from separatrix.core.models import with_settings
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import training_data, warn_of_scale
from separatrix.estimators.replay import Run
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status, solve
from separatrix.solvers.updates import in_fractions, kozinec


def _longest_row(problem: SignedProblem) -> np.ndarray:
    """Return the signed row whose features have the largest sum of sizes."""
    with np.errstate(over="ignore"):
        at = [int(np.argmax(abs(problem.X) @ np.ones(problem.X.shape[1])))]
    part = SignedProblem(problem.X[at], problem.signs[at], problem.fit_intercept)
    return part.signed_rows()[0]


@with_settings
class Kozinec(LinearClassifier):
    """Kozinec's algorithm: a separating hyperplane; with `epsilon`, one of nearly largest margin.

    Moves w to the point nearest the origin on the segment between w and a row on the wrong side.
    Every w is a convex combination of the signed rows, so the margin of any hyperplane is at most
    |w|: both ends of ``min w.z / |w| <= m <= |w|`` come with a proof.

    Parameters
    ----------
    epsilon : float or None, default=None
        None stops at the first separating w. A number continues until the margin found is
        within epsilon of the largest (in homogeneous coordinates).
    order : {"cyclic", "random", "worst"}, default="cyclic"
        How rows are visited: as stored, shuffled for each pass, or the worst of all each time.
    max_updates : int or None, default=None
        None: 1,000,000 (10,000 where every update looks at all rows).
    max_passes, max_seconds : float or None, default=None
        Further budgets. A budget that ends the fit leaves the best point so far and a warning.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    random_state : int, RandomState or None, default=0
        For the random order.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side.
    margin_bounds_ : (float, float)
        The largest margin of any hyperplane lies between these, proved.
    dual_coef_ : array
        The convex coefficients of w, one for each row.
    certificate_ : MarginBounds
        The proof; ``certificate_.check(X, y)`` proves it again.
    status_, n_iter_, n_passes_
        Why the run ended, its updates, and its passes over the rows.

    See Also
    --------
    Perceptron : a simpler rule, without bounds on the margin.
    LinearSVM : the largest margin in the space of the features, with C=inf.
    KernelKozinec : the same algorithm with a kernel.
    replay : every update, one by one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]], ["up", "up", "down", "down"]
    >>> model = sx.Kozinec(epsilon=0.01).fit(X, y)
    >>> model.predict([[0.0, 1.0]]).tolist()
    ['up']
    >>> model.certificate_.holds
    True
    """

    takes_many_classes = False

    epsilon: float | None = None
    _: KW_ONLY
    order: str = "cyclic"
    max_updates: int | None = None
    max_passes: float | None = None
    max_seconds: float | None = None
    fit_intercept: bool = True
    random_state: Any = 0

    def _run(self, X: Any, y: Any) -> Run:
        """Pose the problem and the settings that `fit` and `sx.replay` share."""
        one_of("order", self.order, ("cyclic", "random", "worst"))
        positive("epsilon", self.epsilon, optional=True)
        X, y = training_data(self, X, y)
        self.classes_, signs = two_classes(self, y)
        settings = {
            "epsilon": self.epsilon,
            "order": self.order,
            "seed": seed_of(self.random_state),
        }
        problem = SignedProblem(X, signs, self.fit_intercept)
        return Run.of(self, kozinec, problem, settings, whole_passes=self.order == "worst")

    @property
    def _has_fractions(self) -> bool:
        """Whether the updates are followed in fractions too, for `sx.replay(exact=True)`."""
        return self.order == "cyclic" and self.epsilon is None

    def _in_fractions(self, rows: list[in_fractions.Vector], run: Run) -> Iterator[Any]:
        """Return the frames of a run on rows of fractions."""
        return iter(in_fractions.kozinec_frames(rows, run.budget))

    def fit(self, X: Any, y: Any) -> Kozinec:
        """Find the hyperplane and prove what it claims."""
        run = self._run(X, y)
        warn_of_scale(self, run.given.X)
        state, self.status_ = solve(kozinec, run.problem, run.budget, run.seconds, **run.settings)
        if self.status_ is Status.OVERFLOW:
            raise DataError(f"Kozinec: {self.status_.cause}. Divide large columns first.")
        self.dual_coef_ = state.alpha
        w = run.as_given(state.w)
        if not w.any():  # the origin itself has no margin: the claim is about the longest row
            w = _longest_row(run.given)
        self.coef_, self.intercept_ = run.given.weights(w)
        self.n_iter_, self.n_passes_ = state.updates, state.passes
        proof = check_margin_bounds(run.given, w, state.alpha, self._class_names())
        self.certificate_, self.margin_bounds_ = proof, (proof.lower, proof.upper)
        if self.status_ is Status.ORIGIN and proof.holds and self.epsilon is None:
            self.status_ = Status.SEPARATED
        unproved = not proof.holds or (
            self.status_ is Status.EPSILON and proof.upper - proof.lower > float(self.epsilon or 0)
        )
        if self.status_ in (Status.SEPARATED, Status.EPSILON) and unproved:
            self.status_ = Status.UNPROVED
        if self.status_ not in (Status.SEPARATED, Status.EPSILON):
            found = f" The margin found is {proof.lower:.3g}." if proof.holds else ""
            self._warn(
                f"{self.status_.cause}.{found} No hyperplane has a margin above "
                f"{at_most(proof.upper, 3)}."
            )
        return self
