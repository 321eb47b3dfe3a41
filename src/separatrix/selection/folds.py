"""Which rows train and which judge: k folds, or whatever splitter or lists of rows are given.

A fold is kept as how often each row trains and how often it judges, so that a fold needs no copy of
the data: the other rows get the cost 0, which is the same as leaving them out.

Every fold trains on every class. A class of 2 rows or more, but fewer than folds, is judged in as
many folds as it has rows, as `StratifiedKFold` does it; the only row of a class trains in every
fold and is judged in none. One warning says so. Folds given as a splitter or as lists of rows are
used as they are, and refused where one lacks a class to train on.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.errors import DataError

__all__ = ["Fold", "Folding", "folds_of"]

_FOLDS = 5  # as scikit-learn's, where no number is given
_NAMED = 5  # classes that a warning lists


@dataclass(frozen=True, eq=False)
class Fold:
    """How often each row trains, and how often it judges."""

    train: np.ndarray
    validation: np.ndarray


@dataclass(frozen=True, eq=False)
class Folding:
    """How many folds, and what they keep apart: groups, or earlier rows from later ones.

    `groups` and `times` have a value for every row of the data; a fold is made of some of them.
    """

    k: int
    groups: np.ndarray | None = None
    times: np.ndarray | None = None

    def cv(self, rows: np.ndarray, codes: np.ndarray) -> Any:
        """Return what `folds_of` takes as `cv` for these rows; `codes` are their classes."""
        return self.k if self.times is None else forward(self.k, self.times[rows], codes)

    def groups_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the groups of these rows."""
        return None if self.groups is None else self.groups[rows]


def forward(k: int, times: np.ndarray, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return folds that train on earlier rows and judge by later ones.

    The rows are cut into k + 1 stretches of time. Each but the first is judged by models of all
    rows before it. The first reaches until a row of every class has been seen, at the least; rows
    of one moment stay together.

    >>> [(train.tolist(), held.tolist()) for train, held in
    ...  forward(2, np.arange(6), np.array([0, 1, 0, 1, 0, 1]))]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    order = np.argsort(times, kind="stable")
    moments, n = times[order], len(order)
    seen = max(int(np.flatnonzero(codes[order] == c)[0]) for c in np.unique(codes)) + 1
    first = max(round(n / (k + 1)), seen)
    places = np.round(np.linspace(first, n, k + 1)).astype(int)
    # A cut inside a moment moves behind it.
    cuts = [
        n if at >= n else int(np.searchsorted(moments, moments[at - 1], "right")) for at in places
    ]
    if any(after <= before for before, after in pairwise(cuts)):
        raise DataError(
            f"{k} folds forward in time need more rows after the first {cuts[0]} of {n}, which "
            "hold the first row of every class. Use fewer folds."
        )
    return [(np.sort(order[:a]), np.sort(order[a:b])) for a, b in pairwise(cuts)]


def folds_of(
    cv: Any,
    X: Any,
    codes: np.ndarray,
    classes: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    groups: Any = None,
    seed: int | None = 0,
) -> list[Fold]:
    """Return the folds that `cv` asks for: a number, a splitter, or pairs of lists of rows.

    A number asks for stratified folds, shuffled by the seed, or in the order of the rows if it is
    None; None asks for five. Rows of weight 0 are in no fold.

    >>> y = np.array([0, 1] * 4)
    >>> folds = folds_of(2, np.zeros((8, 1)), y, np.array([0, 1]))
    >>> [([y == 0, y == 1] @ fold.validation).tolist() for fold in folds]
    [[2.0, 2.0], [2.0, 2.0]]
    """
    n = len(codes)
    weights = np.ones(n) if weights is None else weights
    cv = _FOLDS if cv is None else cv
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        pairs: Any = _stratified(int(cv), codes, classes, weights, groups, seed)
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
    if isinstance(cv, numbers.Integral):
        _warn_of_few_rows(int(cv), codes[weights > 0.0], classes)
    return folds


def _stratified(
    k: int,
    codes: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    groups: Any,
    seed: int | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if k < 2:
        raise ValueError(f"cv must be at least 2 folds. Got {k} instead.")
    used = weights > 0.0
    counts = np.bincount(codes[used], minlength=len(classes))
    _refuse_more_folds_than_rows(k, counts, classes)
    # With groups no row may train while its group is held out: that fold is refused later.
    only = used & (counts[codes] == 1) if groups is None else np.zeros(len(codes), dtype=bool)
    rows, always = np.flatnonzero(used & ~only), np.flatnonzero(only)
    if groups is None:
        held_out = _fold_numbers(k, codes[rows], seed)
        pairs = [(np.flatnonzero(held_out != f), np.flatnonzero(held_out == f)) for f in range(k)]
    else:
        pairs = _grouped(k, codes[rows], _as_groups(groups, len(codes))[rows], seed)
    return ((np.append(rows[train], always), rows[held]) for train, held in pairs)


def _fold_numbers(k: int, codes: np.ndarray, seed: int | None) -> np.ndarray:
    """Return the fold in which each row judges, as scikit-learn's `StratifiedKFold` deals them."""
    classes, first = np.unique(codes, return_index=True)
    dealt = np.repeat(np.arange(len(classes)), np.bincount(codes)[codes[np.sort(first)]])
    dice = None if seed is None else np.random.RandomState(seed)
    numbers = np.empty(len(codes), dtype=np.int64)
    for place, row in enumerate(np.sort(first)):
        share = [np.count_nonzero(dealt[fold::k] == place) for fold in range(k)]
        own = np.repeat(np.arange(k), share)
        if dice is not None:
            dice.shuffle(own)
        numbers[codes == codes[row]] = own
    return numbers


def _grouped(
    k: int, codes: np.ndarray, groups: np.ndarray, seed: int | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import StratifiedGroupKFold

    if len(np.unique(groups)) < k:
        raise DataError(
            f"{k} folds need {k} groups, and there are {len(np.unique(groups))}. Use fewer folds."
        )
    found = StratifiedGroupKFold(n_splits=k, shuffle=seed is not None, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `_warn_of_few_rows` names the classes
        return list(found.split(np.zeros(len(codes)), codes, groups))


def _refuse_more_folds_than_rows(k: int, counts: np.ndarray, classes: np.ndarray) -> None:
    largest = int(np.argmax(counts))
    most = int(counts[largest])
    if most < k:
        remedy = f"Use {most} folds or fewer, or add rows." if most > 1 else "Add rows."
        raise DataError(
            f"{k} folds need {k} rows of some class, and the largest, "
            f"{classes.tolist()[largest]!r}, has {most}. {remedy}"
        )


def _warn_of_few_rows(k: int, codes: np.ndarray, classes: np.ndarray) -> None:
    counts = np.bincount(codes, minlength=len(classes))
    few = np.flatnonzero(counts < k)
    if not len(few):
        return
    names = [f"{classes.tolist()[c]!r} ({counts[c]})" for c in few[:_NAMED]]
    names += [f"{len(few) - _NAMED} more"] if len(few) > _NAMED else []
    what = (
        f"{k} folds are more than these classes have rows: {', '.join(names)}. "
        "Not every fold validates them. "
    )
    if counts.min() == 1:
        what += "The only row of a class is always trained on and never validated. "
        what += "Add rows to them, or merge them with other classes."
    else:
        what += f"Use {counts.min()} folds or fewer, or add rows to them."
    warnings.warn(what, UserWarning, stacklevel=3)


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
            f"Fold {number} has no row of class {absent!r} to train on. Use fewer folds, a "
            "number of folds without groups, or groups that mix the classes."
        )
    if not (fold.validation * weights).any():
        raise DataError(f"Fold {number} has no row of any weight to judge by. Use fewer folds.")
