"""C chosen over the path by models of `core`: walk the path, choose, fit on all the rows.

The commands use these models, without scikit-learn; the estimators of the same names inherit from
them.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np

from separatrix.checker.exact import at_most
from separatrix.core import models
from separatrix.core.all_classes import keep_multinomial, softmax_method_of
from separatrix.core.checks import (
    checked_groups,
    checked_ratio,
    costs_of,
    one_of,
    positive,
    refuse_with_l1,
    row_weights,
    several_classes,
)
from separatrix.core.keeping import forget_threshold, keep_support, watching
from separatrix.core.machine import Machine, method_of
from separatrix.core.proving import About, Effort, Fitted, solve_and_prove
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import as_matrix, on_device
from separatrix.selection._cell import (
    MeanHyperplane,
    MeanMultinomial,
    Setting,
    SoftmaxSetting,
    setting_of,
)
from separatrix.selection.folds import Fold, folds_of
from separatrix.selection.path import (
    RULES,
    FoundPath,
    Progress,
    Store,
    cross_validate,
    of_a_ratio,
)
from separatrix.selection.path_table import PathTable
from separatrix.selection.refinement import grid, sparse_grid
from separatrix.selection.scores import Measure
from separatrix.solvers.running.drive import one_thread

__all__ = ["LinearSVMCV", "LogisticRegressionCV", "PathMachine"]

# Of the seconds allowed, the share that the path may use; the rest is for the last fit.
_FOR_THE_PATH = 0.8


class _Request(NamedTuple):
    """What `fit` is given."""

    X: Any
    y: Any
    sample_weight: Any
    groups: Any
    store: Store | None
    progress: Progress | None


class _Walked(NamedTuple):
    """The data as they were worked with, how, and what was found."""

    X: Any
    y: np.ndarray
    setting: Any
    found: FoundPath
    weights: np.ndarray  # of the rows, for the machine on all of them
    effort: Effort


class _KeptWeights:
    """A store that also remembers the weights of every cell, before or behind another one."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._weights: dict[Any, np.ndarray] = {}

    def get(self, key: Any) -> Any:
        """Return what was put under this key, or None."""
        found = None if self._store is None else self._store.get(key)
        if found is not None:
            self._weights[key] = found[1]["weights"]
        return found

    def put(self, key: Any, facts: Any, arrays: Any) -> None:
        """Keep a finished cell."""
        self._weights[key] = arrays["weights"]
        if self._store is not None:
            self._store.put(key, facts, arrays)

    def paths(self, setting: Setting, Cs: np.ndarray, intercept: bool) -> np.ndarray:
        """Return weights by fold, C and row of `coef_`, the intercept last."""
        found = np.array(
            [
                [setting.shown(self._weights[(float(C).hex(), fold)]) for C in Cs]
                for fold in range(len(setting.folds))
            ]
        )
        coef, bias = found[..., 1:], found[..., :1]
        return np.concatenate([coef, bias], axis=-1) if intercept else coef.copy()


class PathMachine(Machine):
    """A model whose C is chosen by cross-validation, and which is then fitted on all the rows."""

    Cs: Any
    cv: Any
    scoring: Any
    rule: Any
    refine: Any
    refit: Any = True  # where there is no such parameter
    store_cv_results: Any = False
    max_passes = None
    warm_start = False

    l1_ratios: Any = None
    groups: Any = None

    C_: float
    l1_ratio_: float
    path_: PathTable
    scores_: np.ndarray
    coefs_paths_: np.ndarray

    @property
    def C(self) -> float:
        """The C chosen."""
        if not hasattr(self, "C_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "C_")
        return self.C_

    def _method_of(self, problem: MachineProblem) -> Any:
        return method_of(problem) if self.refit else MeanHyperplane

    def _check_cost(self) -> None:
        one_of("rule", self.rule, RULES)
        if not self.refit and self.rule != "best":
            raise ValueError("refit=False takes the mean of the folds at the best C: rule='best'.")
        if not isinstance(self.refine, bool | np.bool_):
            positive("refine", self.refine, whole=True, zero=True)

    def _one(self) -> Machine:
        """Return a machine of the kind whose C is chosen, for scorers to ask."""
        raise NotImplementedError

    def _check_kind(self) -> None:
        """Refuse a loss, or a way with many classes, that there is not."""
        raise NotImplementedError

    @property
    def _searched_loss(self) -> str:
        return str(getattr(self, "loss", "logistic"))

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        store: Store | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Choose C over the folds, fit on all the rows, and prove how close to the best that is.

        `store` keeps finished machines, so that an interrupted fit can be taken up again (see
        `selection.path`); `progress` is called with what is done, of how much, and where.
        """
        self._check_kind()
        self._fit_path(_Request(X, y, sample_weight, groups, store, progress))
        return self

    def _fit_path(self, request: _Request) -> None:
        """Choose C, and keep the machines for it, on all the rows."""
        walked = self._walked(request)
        if isinstance(walked.setting, SoftmaxSetting):
            found = self._multinomial(walked)
            with self._unrefined():
                keep_multinomial(self, found)
            return
        setting, start = walked.setting, walked.found.start
        costs = costs_of(self.C_, walked.weights)
        problems = setting.problems(costs)
        firsts = list(zip(start["weights"], start["multipliers"], strict=True))
        X, y, codes = walked.X, walked.y, setting.codes
        machines = self._solved(X, y, codes, problems, walked.effort, firsts)
        with self._unrefined():
            self._keep(machines)
        if self.keeps_support:
            keep_support(self, machines, codes)

    def _walked(self, request: _Request) -> _Walked:
        """Choose C, of the multinomial machine or of those of one class or two."""
        vars(self).pop("l1_ratio_", None)  # that of an earlier fit
        self._check_parameters(self._searched_loss)
        grid(self.Cs)  # which refuses what is no grid
        ratios = self._ratios()
        effort = self._effort()
        forget_threshold(self)
        X, y, sample_weight = self._placed(request.X, request.y, request.sample_weight)
        self.classes_, codes = several_classes(self, y)
        X = as_matrix(X)
        all_weights = row_weights(self, codes, sample_weight, self.class_weight)
        setting = self._setting(X, codes, sample_weight, request.groups, effort)
        if isinstance(self.scoring, Measure):
            setting = replace(setting, measure=self.scoring)
        else:
            setting = replace(setting, judge=self._judge(X, y, sample_weight))
        progress = request.progress
        walks = []
        with path_bar(bool(self.verbose) and progress is None) as bar:
            for ratio in ratios:
                columns = checked_groups(self.groups, X.shape[1]) if ratio else None
                tried = replace(setting, l1_ratio=ratio, column_groups=columns)
                Cs, given = self._grid(tried, all_weights)
                kept = None if request.store is None else of_a_ratio(request.store, ratio)
                kept = _KeptWeights(kept) if self.store_cv_results else kept
                found = cross_validate(
                    tried,
                    Cs,
                    rounds=0 if given or ratio else int(self.refine),
                    stop_early=not given,
                    rule=self.rule,
                    from_least=ratio > 0.0,
                    # A device is busy with one machine; threads would only share its memory.
                    workers=1 if on_device(X) else self._cores(),
                    store=kept,
                    progress=progress or bar,
                )
                walks.append((tried, found, kept))
        setting, found, kept = least_loss(walks)
        self.path_, self.C_ = found.table, found.C
        if self.l1_ratios is not None:
            self.l1_ratio_ = setting.l1_ratio
        self.scores_ = self._scores(found)
        vars(self).pop("coefs_paths_", None)
        if isinstance(kept, _KeptWeights):
            self.coefs_paths_ = kept.paths(setting, found.table["C"], bool(self.fit_intercept))
        self._warn_of_cells(found)
        return _Walked(X, y, setting, found, all_weights, effort)

    def _ratios(self) -> tuple[float, ...]:
        """Return the values of l1_ratio to try: 0 where none are given."""
        given = getattr(self, "l1_ratios", None)
        if given is None:
            return (0.0,)
        listed = np.ravel(np.asarray(given, dtype=object)).tolist()
        ratios = tuple(dict.fromkeys(checked_ratio(ratio) for ratio in listed))
        if not ratios:
            raise ValueError("l1_ratios must be numbers from 0 to 1, or None. Got none instead.")
        for ratio in ratios:
            refuse_with_l1(self, self._searched_loss, ratio)
        if any(ratios) and not self.refit:
            raise ValueError("l1_ratios above 0 need refit=True: a mean of folds is not sparse.")
        return ratios

    def _grid(self, setting: Setting, weights: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the values of C to try, and whether they were given one by one."""
        if not setting.l1_ratio:
            return grid(self.Cs)
        return sparse_grid(self.Cs, setting.largest_cost_of_zero(weights), setting.matrix)

    def _scores(self, found: FoundPath) -> np.ndarray:
        """Return the score of every fold and C, a row a fold."""
        if isinstance(self.scoring, Measure):
            return np.asarray(self.scoring.shown(found.losses)).T
        return (1.0 - found.losses.T) if self.scoring is None else -found.losses.T

    @contextmanager
    def _unrefined(self) -> Iterator[None]:
        """Let a mean of folds pass without a warning: that its gap is large was to be expected."""
        with warnings.catch_warnings():
            if not self.refit:
                warnings.simplefilter("ignore", self._unfinished)
            yield

    def _setting(
        self, X: Any, codes: np.ndarray, sample_weight: Any, groups: Any, effort: Effort
    ) -> Setting:
        """Return what all cells share: rows, folds, and their part of the time."""
        softmax = self.multi_class == "multinomial"
        if self.multi_class == "auto":
            softmax = len(self.classes_) > 2 and self.solver in ("auto", "newton")
        weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        seconds = effort.deadline - time.perf_counter()
        folds = folds_of(
            self.cv, X, codes, self.classes_, weights=weights, groups=groups, seed=effort.seed
        )
        return setting_of(
            X,
            softmax,
            fit_intercept=bool(self.fit_intercept),
            codes=codes,
            classes=self.classes_,
            weights=weights,
            folds=tuple(folds),
            loss=self._searched_loss,
            effort=replace(effort, deadline=time.perf_counter() + _FOR_THE_PATH * seconds),
            bias_penalty=float(self.intercept_penalty),
            class_weight=self.class_weight,
        )

    def _multinomial(self, walked: _Walked) -> Fitted:
        """Return the multinomial machine on all the rows."""
        names = tuple(str(name) for name in self.classes_)
        (problem,) = walked.setting.problems(costs_of(self.C_, walked.weights))
        with (
            one_thread(),
            watching(self, 1, walked.X, walked.y) as watch,
            ThreadPoolExecutor(self._cores() + 1) as pool,
        ):
            about = About(self._name(walked.X, problem.codes, pool), names)
            first, effort = walked.found.start["weights"], replace(walked.effort, pool=pool)
            method = softmax_method_of(problem) if self.refit else MeanMultinomial
            return solve_and_prove(method, problem, effort, about, first, watch.listener(0))

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
                f"{type(self).__name__}: {len(short)} of the {len(found.cells)} models of the "
                f"path ended with a larger gap than tol={self.tol:g}: up to "
                f"{at_most(gap, 3)}, which is proved. What to do: raise max_seconds or tol.",
                self._unfinished,
                stacklevel=4,
            )

    def _facts(self) -> list[tuple[str, str]]:
        facts: list[tuple[str, str]] = super()._facts()  # type: ignore[misc]
        return [("C", self.path_.reason), *facts]


class LinearSVMCV(PathMachine, models.LinearSVMCV):
    """The support vector machine of a chosen C; `separatrix.LinearSVMCV` explains it."""

    def _check_kind(self) -> None:
        one_of("loss", self.loss, ("hinge", "squared_hinge"))


class LogisticRegressionCV(PathMachine, models.LogisticRegressionCV):
    """Logistic regression of a chosen C; `separatrix.LogisticRegressionCV` explains it."""

    def _check_kind(self) -> None:
        one_of("multi_class", self.multi_class, ("auto", "ovr", "multinomial"))


def least_loss(walks: list[tuple[Setting, FoundPath, Any]]) -> tuple[Setting, FoundPath, Any]:
    """Return the walk of the least mean loss, of equal ones that of the largest l1_ratio."""
    means = [float(found.losses.mean(axis=1).min()) for _, found, _ in walks]
    order = sorted(range(len(walks)), key=lambda k: (means[k], -walks[k][0].l1_ratio))
    setting, found, kept = walks[order[0]]
    if len(walks) > 1:
        said = ", ".join(f"{walks[k][0].l1_ratio:g}: {means[k]:.4g}" for k in range(len(walks)))
        found.table.notes = (*found.table.notes, f"Least mean loss by l1_ratio: {said}.")
    return setting, found, kept


@contextmanager
def path_bar(enabled: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Give a function that takes what is done, of how much, and a few words; or None."""
    if not (enabled and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("the path over C"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} models, {task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=1)
    with bar:
        yield lambda done, total, text: bar.update(
            task, completed=done, total=total, description=text
        )
