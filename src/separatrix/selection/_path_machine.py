"""What LinearSVMCV and LogisticRegressionCV share: walk the path, choose, fit on all the rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from separatrix.core.checks import one_of, positive, several_classes
from separatrix.core.machine import Machine
from separatrix.core.multinomial import SolvedSoftmax, solve_softmax
from separatrix.core.proving import Effort, Fitted
from separatrix.core.row_weights import costs_of, row_weights
from separatrix.problem.device_rows import on_device
from separatrix.problem.losses import CODES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import as_matrix
from separatrix.selection._cell import Setting, signed_problems
from separatrix.selection._progress import path_bar
from separatrix.selection._softmax_cell import SoftmaxSetting
from separatrix.selection.folds import Fold, folds_of
from separatrix.selection.path import RULES, FoundPath, Progress, Store, cross_validate
from separatrix.selection.path_table import PathTable
from separatrix.selection.refinement import grid
from separatrix.solvers.running.threads import one_thread

# Of the seconds allowed, the share that the path may use; the rest is for the last fit.
_FOR_THE_PATH = 0.8


class _Walked(NamedTuple):
    """The data as they were worked with, how, and what was found."""

    X: Any
    y: np.ndarray
    setting: Any
    found: FoundPath
    weights: np.ndarray  # of the rows, for the machine on all of them
    effort: Effort


class PathMachine(Machine):
    """A machine whose C is chosen by cross-validation, and which is then fitted on all the rows."""

    Cs: Any
    cv: Any
    scoring: Any
    rule: Any
    refine: Any
    max_passes = None
    warm_start = False

    C_: float
    path_: PathTable

    @property
    def C(self) -> float:
        """The C chosen."""
        if not hasattr(self, "C_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "C_")
        return self.C_

    def _check_cost(self) -> None:
        one_of("rule", self.rule, RULES)
        if not isinstance(self.refine, bool | np.bool_):
            positive("refine", self.refine, whole=True, zero=True)

    def _one(self) -> Machine:
        """Return a machine of the kind whose C is chosen, for scorers to ask."""
        raise NotImplementedError

    def _fit_path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        loss: str,
        store: Store | None,
        progress: Progress | None,
    ) -> tuple[list[Fitted], np.ndarray]:
        """Choose C and return the machines for it, on all the rows, and their class numbers."""
        options = loss, store, progress
        walked = self._walked(X, y, sample_weight, groups, *options)
        setting, start = walked.setting, walked.found.start
        costs = costs_of(self.C_, walked.weights)
        problems = [
            MachineProblem(rows, costs, CODES[loss], setting.bias_penalty) for rows in setting.rows
        ]
        firsts = list(zip(start["weights"], start["multipliers"], strict=True))
        X, y, codes = walked.X, walked.y, setting.codes
        return self._solved(X, y, codes, problems, walked.effort, firsts), codes

    def _walked(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        loss: str,
        store: Store | None,
        progress: Progress | None,
        softmax: bool = False,
    ) -> _Walked:
        """Choose C, of the multinomial machine or of those of one class or two."""
        self._check_parameters(loss)
        Cs, given = grid(self.Cs)
        effort = self._effort()
        X, y, sample_weight = self._placed(X, y, sample_weight)
        self.classes_, codes = several_classes(self, y)
        X = as_matrix(X)
        weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        all_weights = row_weights(self, codes, sample_weight, self.class_weight)
        seconds = effort.deadline - time.perf_counter()
        intercept, K = bool(self.fit_intercept), len(self.classes_)
        kind: Any = partial(SoftmaxSetting, X=X, fit_intercept=intercept) if softmax else Setting
        setting = kind(
            rows=() if softmax else signed_problems(X, codes, K, intercept),
            codes=codes,
            classes=self.classes_,
            weights=weights,
            folds=tuple(
                folds_of(
                    self.cv, X, codes, self.classes_, weights=weights, groups=groups,
                    seed=effort.seed,
                )
            ),
            loss=loss,
            effort=replace(effort, deadline=time.perf_counter() + _FOR_THE_PATH * seconds),
            bias_penalty=float(self.intercept_penalty),
            class_weight=self.class_weight,
            judge=self._judge(X, y, sample_weight),
        )  # fmt: skip
        with path_bar(bool(self.verbose) and progress is None) as bar:
            found = cross_validate(
                setting,
                Cs,
                rounds=0 if given else int(self.refine),
                stop_early=not given,
                rule=self.rule,
                # A device is busy with one machine; threads would only share its memory.
                workers=1 if on_device(X) else self._cores(),
                store=store,
                progress=progress or bar,
            )
        self.path_, self.C_ = found.table, found.C
        self._warn_of_cells(found)
        return _Walked(X, y, setting, found, all_weights, effort)

    def _fit_softmax_path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        store: Store | None,
        progress: Progress | None,
    ) -> SolvedSoftmax:
        """Choose C for the multinomial machine, and return the one on all the rows."""
        options = "logistic", store, progress
        walked = self._walked(X, y, sample_weight, groups, *options, softmax=True)
        names = tuple(str(name) for name in self.classes_)
        problem = walked.setting.problem(self.C_, walked.weights)
        with one_thread(), ThreadPoolExecutor(self._cores() + 1) as pool:
            fingerprint = self._name(walked.X, problem.codes, pool)
            first = walked.found.start["weights"]
            return solve_softmax(problem, walked.effort, names, fingerprint, first, None, pool)

    def _judge(
        self, X: Any, y: np.ndarray, sample_weight: Any
    ) -> Callable[[np.ndarray, Fold], float] | None:
        """Return what scores the weights of a fold's machines, if not by errors."""
        if self.scoring is None:
            return None
        from sklearn.metrics import check_scoring

        scorer = check_scoring(self._one(), scoring=self.scoring)
        score = getattr(scorer, "_score_func", scorer)
        weighed = sample_weight is not None and "sample_weight" in signature(score).parameters

        def judge(weights: np.ndarray, fold: Fold) -> float:
            machine = self._one()
            machine.classes_, machine.n_features_in_ = self.classes_, X.shape[1]
            machine.coef_, machine.intercept_ = weights[:, 1:], weights[:, 0]
            rows = np.repeat(np.arange(len(y)), fold.validation.astype(np.int64))
            if sample_weight is not None:
                rows = rows[np.asarray(sample_weight)[rows] > 0.0]
            more = {"sample_weight": np.asarray(sample_weight)[rows]} if weighed else {}
            try:
                value = float(scorer(machine, X[rows], y[rows], **more))
            except ValueError:
                if len(np.unique(y[rows])) == len(self.classes_):
                    raise
                value = np.nan
            if np.isnan(value):
                raise ValueError(
                    f"scoring={self.scoring!r} gives no number on one of the folds: it may need "
                    "every class among the rows that judge. Use fewer folds, or another score."
                )
            return value

        return judge

    def _warn_of_cells(self, found: FoundPath) -> None:
        short = [cell for cell in found.cells if cell["status"] != "optimal"]
        if short:
            gap = max(cell["gap"] for cell in short)
            warnings.warn(
                f"{type(self).__name__}: {len(short)} of the {len(found.cells)} machines of the "
                f"path ended with a larger gap than tol={self.tol:g}: up to {gap:.3g}, which is "
                "proved. What to do: raise max_seconds or tol.",
                self._unfinished,
                stacklevel=4,
            )

    def _facts(self) -> list[tuple[str, str]]:
        facts: list[tuple[str, str]] = super()._facts()  # type: ignore[misc]
        return [("C", self.path_.reason), *facts]
