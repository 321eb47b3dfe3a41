"""Logistic regression, penalised or not, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.data.partitions import Partitions
from separatrix.errors import SeparationWarning
from separatrix.estimators._machine import Machine
from separatrix.estimators._on_device import worked_on
from separatrix.estimators._pairs import fit_pairs, replay_each_pair
from separatrix.estimators._probabilities import LogisticProbabilities
from separatrix.estimators._proved import verdict_of
from separatrix.estimators._watch import with_callbacks
from separatrix.estimators.verdict import Verdict
from separatrix.problem.machine import MachineProblem
from separatrix.solvers._drive import Status
from separatrix.solvers.machine_replay import MachineFrame

__all__ = ["LogisticRegression"]

_SEPARATED = ("separable", "quasi-separable")
# The C that stands in for inf where the likelihood has no maximum.
_NEARLY_FREE = 1e6


class LogisticRegression(LogisticProbabilities, Machine):
    """Class probabilities from a hyperplane, with proof of how close to the best they are.

    Minimises ``1/2 |w|^2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b)))`` over w and b, with s the
    sample weights and b never penalised. ``C=inf`` is maximum likelihood; where the classes are
    (quasi-)separated it has no finite answer: a `SeparationWarning` says which coefficients run to
    infinity, and what is fitted is ``C=1e6``. Columns need no scaling.

    Parameters
    ----------
    C : float
        How much the likelihood counts against the penalty; inf for maximum likelihood.
    tol : float
        Stop when (objective - lower bound) <= tol * objective, and that is proved.
    solver : {"auto", "newton", "gram"}
        The road to the optimum; auto chooses by the shape of X.
    fit_intercept, intercept_penalty, class_weight, max_seconds, max_passes, random_state
        As in `LinearSVM`.
    multi_class : {"ovr", "ovo", "multinomial"}
        Each class against the rest, one machine a pair, which vote (no probabilities then), or all
        classes at once: probabilities by softmax, ``1/2 sum_k |w_k|^2`` as the penalty.
    warm_start, n_jobs, device, verbose
        As in `LinearSVM`.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side. One row a class if there are several,
        each against the rest.
    objective_, dual_objective_, gap_
        The objective, a lower bound on any, and their relative difference: proved.
    certificate_ : DualityGap
        The proof; ``certificate_.check(X, y)`` proves it again. `DualityGaps` for several classes,
        `SoftmaxGap` for multinomial.
    verdict_ : Verdict or None
        For ``C=inf``: whether the classes are separated, with proof (a list for several classes).
    status_, n_iter_, n_passes_, solver_
        Why the fit ended, iterations, passes over the rows, and by which road.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> machine = sx.LogisticRegression().fit(X, y)
    >>> machine.predict_proba([[1.5]]).round(3).tolist(), machine.certificate_.check(X, y)
    ([[0.5, 0.5]], True)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        tol: float = 1e-4,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 0.0,
        class_weight: Any = None,
        max_seconds: float | None = None,
        max_passes: float | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        multi_class: str = "ovr",
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.tol = tol
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_penalty = intercept_penalty
        self.class_weight = class_weight
        self.max_seconds = max_seconds
        self.max_passes = max_passes
        self.random_state = random_state
        self.warm_start = warm_start
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Find the hyperplane and prove how close to the best it is.

        X may be what `sx.open_partitions` returns, which holds the labels too.
        """
        if isinstance(X, Partitions):
            from separatrix.estimators._partitioned import fit_partitions

            self.verdict_: Any = None
            machine: LogisticRegression = fit_partitions(self, X, sample_weight, "logistic")
            return machine
        if self.multi_class == "direct":
            raise ValueError(
                "multi_class='direct' is for LinearSVM. All classes at once are "
                "multi_class='multinomial' here."
            )
        if self.multi_class == "multinomial":
            from separatrix.estimators._multinomial import fit_multinomial

            with worked_on(self, X):
                fit_multinomial(self, X, y, sample_weight)
            return self
        if self.multi_class == "ovo" and len(np.unique(np.asarray(on_host(y)))) > 2:
            with worked_on(self, X):
                machines = fit_pairs(self, X, y, sample_weight, "logistic")
                found = [one.verdict_ for one in machines if one.verdict_ is not None]
                self.verdict_ = found or None
            return self
        verdicts: list[Verdict] = []
        with worked_on(self, X):
            self._verdicts: list[Verdict] = verdicts
            fitted, _ = self._fit_machines(X, y, sample_weight, "logistic")
            del self._verdicts
            self._keep(fitted)
        self.verdict_ = verdicts[0] if len(verdicts) == 1 else verdicts or None
        names = getattr(self, "feature_names_in_", None)
        for verdict in verdicts:
            if verdict.kind in _SEPARATED:
                self.status_ = Status.INFINITE
                warnings.warn(SeparationWarning.about(verdict, names), stacklevel=2)
        return self

    def _facts(self) -> list[tuple[str, str]]:
        facts = super()._facts()
        if self.status_ is not Status.INFINITE:
            return facts
        said = f"of C={_NEARLY_FREE:g}, fitted in the place of C=inf: "
        return [(word, said + told if word == "proof" else told) for word, told in facts]

    def _replay(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[MachineFrame]:
        self._verdicts = []
        if self.multi_class == "ovo":
            return replay_each_pair(self, X, y, "logistic")
        return self._replayed(X, y, "logistic", sample_weight)

    def _answerable(self, problem: MachineProblem) -> MachineProblem:
        """Where maximum likelihood has no answer, pose the problem of a very large C instead."""
        if problem.ridge > 0.0:
            return problem
        verdict = verdict_of(problem)
        self._verdicts.append(verdict)
        if verdict.kind not in _SEPARATED:
            return problem
        return replace(problem, costs=_NEARLY_FREE * problem.costs, ridge=1.0)
