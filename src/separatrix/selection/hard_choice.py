"""Tables on which every candidate errs often: the log loss of held-out rows chooses.

    error of the best features  >  1/2 error of always naming the commonest class

Most of so many errors are chance, and their number tells candidates apart badly: a row near the
boundary counts fully or not at all. The log loss of calibrated probabilities sees how far every row
is on its side. The paths of the features are there already, and are judged again without a fit;
further losses are then compared as `--scoring log_loss` compares them. (On 50 generated tables of
weak signals test errors fall by 0.8 %: `benchmarks.study_rules --weak`.)

The features of least log loss must be better than the frequencies of the classes by three standard
errors. Where there is nothing to learn, all are alike by it, and the errors prefer the model that
always names the commonest class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from separatrix.selection.choice import standard_error
from separatrix.selection.compared import Compared, Kept, held_out
from separatrix.selection.fold_rows import is_softmax
from separatrix.selection.folds import Fold
from separatrix.selection.path import Store, with_measure
from separatrix.selection.scores import Measure

__all__ = ["LOG_LOSS", "by_log_loss", "is_hard", "sees_something"]

LOG_LOSS = Measure("log_loss")
_HARD = 0.5
_SEEN = 3.0  # standard errors


def is_hard(error: float, codes: np.ndarray) -> bool:
    """Whether an error is above half of that of naming the commonest class.

    >>> codes = np.array([0, 0, 0, 1])
    >>> is_hard(0.1, codes), is_hard(0.2, codes)
    (False, True)
    """
    return bool(error > _HARD * (1.0 - np.bincount(codes).max() / len(codes)))


def by_log_loss(each: Compared, store: Store, folds: Sequence[Fold], codes: np.ndarray) -> Compared:
    """Return a candidate at its C of least log loss, of those walked for their errors."""
    kept = Kept(store, each.candidate, each.n_rows)
    several = len(np.unique(codes))
    kind = "softmax" if is_softmax(each.candidate.loss, several) else each.candidate.loss
    held = [fold.validation > 0.0 for fold in folds]

    def losses(scores: np.ndarray) -> np.ndarray:
        return LOG_LOSS.losses([(scores[rows], codes[rows]) for rows in held], kind)

    scores = [held_out(kept, C, folds) for C in each.found.table["C"].tolist()]
    found = with_measure(each.found, LOG_LOSS, np.array([losses(one) for one in scores]))
    place = found.table.chosen
    return replace(each, found=found, chosen=place, scores=scores[place], measure=LOG_LOSS, more=())


def sees_something(losses: np.ndarray, folds: Sequence[Fold], codes: np.ndarray) -> bool:
    """Whether log losses of folds are below those of the frequencies of the classes.

    >>> folds = [Fold(1.0 - held, held) for held in np.eye(2).repeat(2, axis=0).T]
    >>> sees_something(np.array([0.1, 0.11]), folds, np.array([0, 1, 0, 1]))
    True
    >>> sees_something(np.array([0.6, 0.8]), folds, np.array([0, 1, 0, 1]))
    False
    """
    logs = np.log(np.maximum(np.bincount(codes) / len(codes), np.finfo(float).tiny))
    gain = np.array([-logs[codes[fold.validation > 0.0]].mean() for fold in folds]) - losses
    return bool(gain.mean() > _SEEN * standard_error(gain))
