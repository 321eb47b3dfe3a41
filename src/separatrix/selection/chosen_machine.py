"""C chosen over the path, and the machine for it as a plain one, its scores calibrated on folds.

The folds of the path have scored every training row by a machine that had not met it: their scores
at the chosen C give the slopes of the probabilities, and no further fit is needed.
"""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.linear_model import Calibration, fitted_slopes
from separatrix.core.models import settings_of
from separatrix.problem.signed import as_matrix
from separatrix.selection.folds import folds_of
from separatrix.selection.path import Progress, Store, of_a_ratio
from separatrix.selection.path_table import PathTable
from separatrix.selection.scores import Measure

if TYPE_CHECKING:
    from separatrix.selection.compared import Compared

__all__ = ["chosen_machine", "fitted_on", "held_out_scores"]

_LAST_SECONDS = 1.0  # for the last fit, however late it is


def chosen_machine(
    X: Any,
    y: np.ndarray,
    *,
    loss: str,
    Cs: Any,
    folds: Any,
    rule: str,
    tol: float,
    class_weight: Any,
    seed: int,
    max_seconds: float | None,
    store: Store,
    progress: Progress | None = None,
    device: str = "cpu",
    measure: Measure | None = None,
    groups: Any = None,
    l1: float = 0.0,
) -> tuple[Any, PathTable]:
    """Choose C by cross-validation, fit on all rows, and return the machine and the path.

    C is chosen by the error on held-out rows, or by the measure.
    """
    common: dict[str, Any] = {
        "tol": tol,
        "class_weight": class_weight,
        "random_state": seed,
        "device": device,
    }
    choosing: dict[str, Any] = {"cv": folds, "rule": rule, "max_seconds": max_seconds, **common}
    choosing["scoring"] = measure
    if l1:
        choosing["l1_ratios"] = [l1]
        common["l1_ratio"] = l1
    kinds = _kinds(plain=device == "cpu")
    if loss == "logistic":
        searched: Any = kinds.LogisticRegressionCV(Cs, **choosing)
    else:
        searched = kinds.LinearSVMCV(Cs, loss=loss, **choosing)
    searched.fit(X, y, groups=groups, store=store, progress=progress)
    C, path = searched.C_, searched.path_
    if loss == "logistic":
        machine: Any = kinds.LogisticRegression(C, **common)
    else:
        machine = kinds.LinearSVM(C, loss=loss, probability=True, **common)
        machine._calibration = _calibration(X, y, C, folds, seed, store, groups, l1)
    own = {*settings_of(searched), "C_", "l1_ratio_", "path_", "scores_", "coefs_paths_"}
    for name, value in vars(searched).items():
        if name not in own:
            setattr(machine, name, value)
    return machine, path


def fitted_on(
    best: Compared,
    X: Any,
    y: np.ndarray,
    codes: np.ndarray,
    *,
    device: str,
    deadline: float = np.inf,
    **common: Any,
) -> Any:
    """Fit the candidate chosen on all rows; held-out scores give its probabilities."""
    kinds = _kinds(plain=device == "cpu")
    if np.isfinite(deadline):
        common["max_seconds"] = max(_LAST_SECONDS, deadline - time.perf_counter())
    common |= {"device": device, "l1_ratio": best.candidate.l1_ratio}
    if best.candidate.loss == "logistic":
        way = "multinomial" if best.scores.shape[1] > 1 else "ovr"
        return kinds.LogisticRegression(best.C, multi_class=way, **common).fit(X, y)
    model = kinds.LinearSVM(best.C, loss=best.candidate.loss, **common).fit(X, y)
    known = np.isfinite(best.scores).all(axis=1) if len(best.scores) == len(codes) else None
    if known is not None:
        slopes = fitted_slopes(best.scores[known], codes[known], np.ones(int(known.sum())))
        model.probability, model._calibration = True, replace(slopes, held_out="path")
    return model


def _kinds(plain: bool) -> Any:
    """Return the classes to use: those of `core`, or the estimators where a device is needed."""
    if not plain:
        import separatrix

        return separatrix
    from separatrix.core.machine import LinearSVM, LogisticRegression
    from separatrix.selection.plain_path import LinearSVMCV, LogisticRegressionCV

    classes = LinearSVM, LogisticRegression, LinearSVMCV, LogisticRegressionCV
    return SimpleNamespace(**{kind.__name__: kind for kind in classes})


def _calibration(
    X: Any, y: np.ndarray, C: float, folds: Any, seed: int, store: Store, groups: Any, l1: float
) -> Calibration:
    """Fit slopes to the scores that each row has from the fold it was held out of."""
    stacked, known = held_out_scores(X, y, C, folds, seed, store, groups, l1)
    if not len(known):
        return Calibration(1.0, 1.0, held_out="path")
    slopes = fitted_slopes(stacked, known, np.ones(len(known)))
    return replace(slopes, held_out="path")


def held_out_scores(
    X: Any,
    y: np.ndarray,
    C: float,
    folds: Any,
    seed: int,
    store: Store,
    groups: Any = None,
    l1: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores that rows have from the folds they were held out of, and their classes.

    Fold by fold, a column a model; classes by their numbers.
    """
    X = as_matrix(X)
    classes, codes = np.unique(y, return_inverse=True)
    scores, held_out = [], []
    for number, fold in enumerate(folds_of(folds, X, codes, classes, groups=groups, seed=seed)):
        kept = of_a_ratio(store, l1).get((C.hex(), number))
        if kept is None:
            continue
        rows = np.flatnonzero(fold.validation > 0.0)
        weights = kept[1]["weights"]
        scores.append(X[rows] @ weights[:, 1:].T + weights[:, 0])
        held_out.append(codes[rows])
    if not scores:
        return np.zeros((0, 1)), np.zeros(0, dtype=np.int64)
    return np.concatenate(scores), np.concatenate(held_out)
