"""Fewest training errors as a scikit-learn classifier."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from separatrix.certificates.errors import (
    FewestErrors,
    LowerBound,
    certify_errors,
    errors_of,
    wrong_rows,
)
from separatrix.core.checks import positive, seed_of, two_classes
from separatrix.core.models import with_settings
from separatrix.core.verdict import verdict_on
from separatrix.core.zero_one import (
    Reduced,
    Solved,
    best_weights,
    cell_of,
    lower_bound,
    predicted_errors,
    thinnest_cell,
    through_thin_cell,
)
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import checked_weights, training_data
from separatrix.problem.canonical import locations, whole_weights
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status
from separatrix.solvers.zero_one.fewest_errors import fewest_errors

_MOST_ENTRIES = 20_000_000


@with_settings
class ZeroOne(LinearClassifier):
    """Find a hyperplane with the fewest training errors, and prove that there is none with fewer.

    Empirical risk minimisation with the 0-1 loss is NP-hard in general. In one to three dimensions
    all cells are enumerated. Otherwise a local search finds an attained number of errors, and
    infeasibility certificates (witnesses) give a lower bound: every hyperplane misclassifies at
    least one row of each. Where the two numbers are equal, the minimum is proved. Where the time
    ends first, both are reported.

    Parameters
    ----------
    max_seconds : float, default=60.0
        The time budget. A fit that it ends gives the best hyperplane found and the bound proved.
    random_state : int, RandomState or None, default=0
        For the local search.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side.
    errors_ : int or float
        Training errors of the hyperplane: of rows, or of sample weights.
    lower_bound_ : int or float
        No hyperplane makes fewer errors; proved exactly.
    solver_bound_ : int or float
        The solver's lower bound in floating point, not proved; at least as large.
    misclassified_ : array of row numbers
        The rows on the wrong side, in exact arithmetic.
    certificate_ : FewestErrors
        The proof of both; ``certificate_.check(X, y)`` proves it again.
    status_ : Status
        OPTIMAL where the two numbers are equal, BUDGET otherwise. UNPROVED where they are equal,
        but ``predict``, in floating point, makes more errors: the certificate then proves them of
        weights in exact arithmetic, which `coef_` cannot hold.
    n_iter_ : int
        Rounds of the search.

    See Also
    --------
    separability : whether zero errors are possible.
    LinearProgramHalfspace : a convex surrogate, for many rows.
    LinearSVM : the hinge loss instead of the error count.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"]
    >>> model = sx.ZeroOne().fit(X, y)
    >>> model.errors_, model.lower_bound_, model.status_ == "optimal"
    (1, 1, True)
    >>> model.certificate_.check(X, y)
    True
    """

    takes_many_classes = False

    max_seconds: float = 60.0
    _: KW_ONLY
    random_state: Any = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ZeroOne:
        """Find the hyperplane and prove what it claims; weights must be whole numbers."""
        positive("max_seconds", self.max_seconds)
        deadline = time.perf_counter() + self.max_seconds
        X, y = training_data(self, X, y)
        self.classes_, signs = two_classes(self, y)
        sample_weight = checked_weights(sample_weight, X)
        masses, unit = whole_weights(sample_weight, X.shape[0])
        problem = SignedProblem(X.astype(np.float64, copy=False), signs)
        kept = masses > 0
        if len(set(signs[kept].tolist())) < 2:
            raise DataError(
                "ZeroOne needs two classes to separate, and only one has rows of positive weight."
            )
        part = SignedProblem(problem.X[kept], signs[kept])
        found = self._solve(part, masses[kept], np.flatnonzero(kept))

        def prove(weights: np.ndarray | tuple[int, ...]) -> FewestErrors:
            names = self._class_names()
            return certify_errors(problem, masses, unit, weights, found.bound, sample_weight, names)

        w, proof = found.w, prove(found.w)
        made = max(proof.errors, predicted_errors(problem, masses, w))
        if made > max(proof.lower, found.hoped):
            exact = through_thin_cell(found.cell(), part, masses[kept], w, deadline)
            if exact is not None:
                w = exact.floats
                least = errors_of(problem, masses, exact.integers)
                proof = prove(w if errors_of(problem, masses, w) <= least else exact.integers)
        self._tell(problem, w, proof, masses, found.believed)
        return self

    def _solve(self, part: SignedProblem, masses: np.ndarray, numbers: np.ndarray) -> Solved:
        """Return weights, a lower bound in the numbers of the given rows, and what is believed."""
        reduced = None
        if part.X.shape[0] * part.X.shape[1] <= _MOST_ENTRIES:
            # One order and no copies: weights and copies of rows give the same hyperplane.
            reduced = Reduced.of(*locations(part.X, part.signs, masses))
        if reduced is None or reduced.base == 0:
            whole = part if reduced is None else SignedProblem(reduced.points, reduced.signs)
            verdict = verdict_on(whole, self._class_names())
            if verdict.kind == "separable":
                self.n_iter_ = 0
                w = np.concatenate([[verdict.intercept], np.asarray(verdict.weights)])
                return Solved(w, LowerBound("nothing"), 0, lambda: whole)
        if reduced is None:
            raise DataError(
                f"ZeroOne takes at most {_MOST_ENTRIES:,} entries where the classes overlap, and X "
                f"has {part.X.shape[0]:,} x {part.X.shape[1]:,}. Use a model for overlapping "
                "classes."
            )
        found = fewest_errors(
            reduced.points,
            reduced.signs,
            reduced.masses,
            float(self.max_seconds),
            seed_of(self.random_state),
        )
        self.n_iter_ = found.rounds
        w = best_weights(part, masses, reduced, found)
        if found.by == "cells":
            cell = partial(thinnest_cell, reduced)
            return Solved(w, LowerBound("cells"), found.cost + reduced.base, cell)
        bound = lower_bound(part, masses, reduced, found, numbers)
        cell = partial(cell_of, reduced, found)
        hoped = found.cost + reduced.base
        return Solved(w, bound, found.believed + reduced.base, cell, hoped)

    def _tell(
        self, problem: SignedProblem, w: np.ndarray, proof: Any, masses: np.ndarray, believed: int
    ) -> None:
        self.coef_, self.intercept_ = problem.weights(w)
        self.certificate_ = proof
        self.errors_, self.lower_bound_ = (
            _in_units(proof.errors, proof),
            _in_units(proof.lower, proof),
        )
        # A cell that the solver's floats did not see may be cheaper than it believes.
        self.solver_bound_ = _in_units(min(max(believed, proof.lower), proof.errors), proof)
        wrong = wrong_rows(problem, proof.integers or proof.weights)
        self.misclassified_ = np.flatnonzero(wrong & (masses > 0))
        predicted = predicted_errors(problem, masses, w)
        self.status_ = Status.OPTIMAL if proof.errors == proof.lower else Status.BUDGET
        if self.status_ is Status.BUDGET:
            self._warn(
                f"{self.errors_} training errors are attained, and {self.lower_bound_} is the "
                "most that is proved to be needed."
            )
        elif predicted > proof.errors:
            self.status_ = Status.UNPROVED
            self._warn(
                f"{self.errors_} training errors are proved to be the fewest, but in floating "
                f"point the weights make {_in_units(predicted, proof)}."
            )

    def _work(self) -> str:
        return ""


def _in_units(count: int, proof: Any) -> int | float:
    value = count * Fraction(proof.unit)
    return int(value) if value.denominator == 1 and proof.weights_sha256 == "" else float(value)
