"""Which rows train and which judge: k folds, or whatever splitter or lists of rows are given.

A fold is kept as how often each row trains and how often it judges, so that a fold needs no copy of
the data: the other rows get the cost 0, which is the same as leaving them out.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from separatrix.errors import DataError

__all__ = ["Fold", "folds_of"]


@dataclass(frozen=True, eq=False)
class Fold:
    """How often each row trains, and how often it judges."""

    train: np.ndarray
    validation: np.ndarray


def folds_of(
    cv: Any,
    X: Any,
    codes: np.ndarray,
    classes: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    groups: Any = None,
    seed: int = 0,
) -> list[Fold]:
    """Return the folds that `cv` asks for: a number, a splitter, or pairs of lists of rows.

    A number asks for stratified folds, shuffled by the seed; rows of weight 0 are in none of them.

    >>> y = np.array([0, 1] * 4)
    >>> folds = folds_of(2, np.zeros((8, 1)), y, np.array([0, 1]))
    >>> [([y == 0, y == 1] @ fold.validation).tolist() for fold in folds]
    [[2.0, 2.0], [2.0, 2.0]]
    """
    n = len(codes)
    weights = np.ones(n) if weights is None else weights
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        pairs = _stratified(int(cv), codes, classes, weights, groups, seed)
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(X, classes[codes], _as_groups(groups, n))
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        pairs = cv
    else:
        raise ValueError(
            "cv must be a number of folds, a splitter of scikit-learn, or an iterable of pairs "
            f"(rows to train on, rows to judge by). Got {cv!r} instead."
        )
    folds = [_counted(number, pair, n) for number, pair in enumerate(pairs)]
    if not folds:
        raise ValueError("cv gives no fold at all. Use a number such as cv=5.")
    for number, fold in enumerate(folds):
        _refuse_unusable(number, fold, codes, classes, weights)
    return folds


def _stratified(
    k: int, codes: np.ndarray, classes: np.ndarray, weights: np.ndarray, groups: Any, seed: int
) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    if groups is not None:
        from sklearn.model_selection import StratifiedGroupKFold

        splitter: Any = StratifiedGroupKFold
    else:
        splitter = StratifiedKFold
    if k < 2:
        raise ValueError(f"cv must be at least 2 folds. Got {k} instead.")
    rows = np.flatnonzero(weights > 0.0)
    counts = np.bincount(codes[rows], minlength=len(classes))
    least = int(np.argmin(counts))
    name = classes.tolist()[least]
    if counts[least] < k:
        raise DataError(
            f"cv={k} folds need {k} rows of every class, and class {name!r} has "
            f"{counts[least]}. "
            + (f"Use cv={counts[least]} or fewer" if counts[least] > 1 else "Add rows to it")
            + ", or leave that class out."
        )
    inner = None if groups is None else _as_groups(groups, len(codes))[rows]
    if inner is not None and len(np.unique(inner)) < k:
        raise DataError(
            f"cv={k} folds need {k} groups, and there are {len(np.unique(inner))}. Use fewer folds."
        )
    found = splitter(n_splits=k, shuffle=True, random_state=seed)
    split = found.split(np.zeros(len(rows)), codes[rows], inner)
    return ((rows[train], rows[validation]) for train, validation in split)


def _as_groups(groups: Any, n: int) -> Any:
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise DataError(
            f"groups must name one group for each of the {n} rows. Got the shape {groups.shape}."
        )
    return groups


def _counted(number: int, pair: Any, n: int) -> Fold:
    """Turn two lists of rows, or two masks, into counts."""
    try:
        train, validation = pair
    except (TypeError, ValueError):
        raise ValueError(
            f"cv must give pairs (rows to train on, rows to judge by); fold {number} is {pair!r}."
        ) from None
    counts = []
    for rows in (train, validation):
        rows = np.asarray(rows)
        if rows.dtype == bool and rows.shape == (n,):
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
            raise ValueError(f"cv must give row numbers; those of fold {number} are {rows!r}.")
        if rows.size and not (-n <= rows.min() and rows.max() < n):
            raise DataError(f"Fold {number} names a row beyond the {n} rows there are.")
        counts.append(np.bincount(rows % n if rows.size else [], minlength=n).astype(np.float64))
    return Fold(*counts)


def _refuse_unusable(
    number: int, fold: Fold, codes: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> None:
    present = np.bincount(codes, fold.train * weights, minlength=len(classes)) > 0.0
    if not present.all():
        absent = classes.tolist()[int(np.argmin(present))]
        raise DataError(
            f"Fold {number} has no row of class {absent!r} to train on. Use fewer folds, folds "
            "that are stratified (cv=5), or groups that mix the classes."
        )
    if not (fold.validation * weights).any():
        raise DataError(f"Fold {number} has no row of any weight to judge by. Use fewer folds.")
