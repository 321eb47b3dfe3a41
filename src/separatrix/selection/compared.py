"""The candidates of a study: what their folds said of them, and which one is taken.

The least mean loss wins. With few rows a small lead does not count: the candidate that was tried
before another is the simpler one, and is kept.

On tables where every candidate errs often, the log loss of held-out rows chooses:

    error of the best features  >  1/2 error of always naming the commonest class

Most of so many errors are chance, and their number tells candidates apart badly: a row near the
boundary counts fully or not at all. The log loss of calibrated probabilities sees how far every row
is on its side. The paths of the features are there already, and are judged again without a fit;
further losses are then compared as `--scoring log_loss` compares them. (On 50 generated tables of
weak signals test errors fall by 0.8 %: `benchmarks.study_rules --weak`.)

The features of least log loss must be better than the frequencies of the classes by three standard
errors. Where there is nothing to learn, all are alike by it, and the errors prefer the model that
always names the commonest class.

The rows of every fold, in the features that its training rows taught.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix._sparse import sparse
from separatrix.core.proving import Effort
from separatrix.data.raw_rows import Learned
from separatrix.problem.signed import as_matrix
from separatrix.problem.sparse_penalty import penalty_words
from separatrix.selection._cell import Arrays, Facts, Setting, setting_of
from separatrix.selection.folds import Fold
from separatrix.selection.path import FoundPath, PartOfStore, Store, with_measure
from separatrix.selection.path_table import PathTable
from separatrix.selection.refinement import standard_error
from separatrix.selection.scores import Measure

if TYPE_CHECKING:
    from separatrix.selection.candidates import Search

__all__ = [
    "AT_ONCE",
    "Candidate",
    "Compared",
    "FoldRows",
    "FoldSetting",
    "InMemory",
    "LOG_LOSS",
    "by_log_loss",
    "cells_of",
    "chosen_of",
    "held_out",
    "is_hard",
    "is_near",
    "is_softmax",
    "mean_square",
    "middle_of_best",
    "rule_of_choice",
    "sees_something",
]


LOG_LOSS = Measure("log_loss")
_MANY, _LEAD = 2_000, 0.25  # below so many rows a lead counts from so many standard errors on
_BEHIND = 1.0  # standard errors of the difference: a loss so far behind is dropped
_HARD = 0.5
_SEEN = 3.0  # standard errors


@dataclass(frozen=True)
class Candidate:
    """What is tried."""

    features: str
    loss: str
    l1_ratio: float = 0.0

    def __str__(self) -> str:
        parts = [self.features, self.loss.replace("_", " "), penalty_words(self.l1_ratio)]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, eq=False)
class Compared:
    """A candidate and its path over C."""

    candidate: Candidate
    found: FoundPath
    chosen: int  # the row of its path
    scores: np.ndarray  # of every row, by the models of the fold that held it out
    n_features: int
    n_rows: int
    seconds: float
    measure: Measure | None = None  # what chose its C; None for the error
    more: tuple[float, ...] = ()  # errors on the folds of further cuts, where it was near the best

    @property
    def path(self) -> PathTable:
        """Its path over C, with the reason for the choice of features, loss and C."""
        table = self.found.table
        others = {name: table[name] for name in table.columns}
        reason = (
            f"Of the candidates, {self.candidate} at C = {self.C:.4g} has the error "
            f"{100.0 * self.error:.2f} % on held-out rows"
            f"{f' of {self.cuts} cuts into folds' if self.more else ''}."
        )
        if self.measure is not None:
            figure = f"{self.measure.shown(self.losses.mean()):.4f}"
            at = " at its threshold" if self.measure.has_threshold(self.scores.shape[1]) else ""
            reason = f"{reason[:-1]}{at}, and the {self.measure.title} {figure}, which chose it."
        return PathTable(
            others, self.chosen, reason, table.fold_errors, table.notes, table.loss,
            table.fold_losses,
        )  # fmt: skip

    @property
    def C(self) -> float:
        """The C chosen."""
        return float(self.found.table["C"][self.chosen])

    @property
    def cuts(self) -> int:
        """How often the rows were cut into folds."""
        return 1 + len(self.more) // len(self.first_errors)

    @property
    def first_errors(self) -> np.ndarray:
        """The error of its C on each fold of the first cut."""
        return np.asarray(self.found.table.fold_errors[self.chosen])

    @property
    def errors(self) -> np.ndarray:
        """The error of its C on each fold, of all cuts."""
        return np.concatenate([self.first_errors, self.more])

    @property
    def losses(self) -> np.ndarray:
        """What was to be small, on each fold: the errors, or the losses of the measure."""
        return np.concatenate([self.found.losses[self.chosen], self.more])

    @property
    def score(self) -> tuple[float, float] | tuple[()]:
        """The measure that chose, as it is shown, and its standard error; nothing for the error."""
        if self.measure is None:
            return ()
        return float(self.measure.shown(self.losses.mean())), standard_error(self.losses)

    @property
    def error(self) -> float:
        """The mean error over the folds."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of that mean."""
        return standard_error(self.errors, self.cuts)

    @property
    def n_nonzero(self) -> int | None:
        """How many columns have a weight, the mean over the folds; None of dense weights."""
        if not self.candidate.l1_ratio:
            return None
        return round(float(self.found.table["n_nonzero"][self.chosen]))


def cells_of(store: Store, candidate: Candidate, n_rows: int, cut: int = 0) -> Store:
    """Return the finished cells of one candidate on so many rows, in a store that holds all."""
    ratio = f"{candidate.l1_ratio.hex()}-" if candidate.l1_ratio else ""
    which = f"cut {cut}-" if cut else ""
    return PartOfStore(store, f"{candidate.features}-{candidate.loss}-{ratio}{which}{n_rows}-")


class InMemory(dict[tuple[str, int], tuple[Facts, Arrays]]):
    """Finished cells in memory."""

    def put(self, key: tuple[str, int], facts: Facts, arrays: Arrays) -> None:
        """Keep a finished cell, its scores alone: the weights go on to the next by themselves."""
        self[key] = facts, {"scores": arrays["scores"]}


def held_out(store: Store, C: float, folds: Sequence[Fold]) -> np.ndarray:
    """Return a score for every row from the fold that held it out; NaN where none did."""
    parts = [store.get((C.hex(), number)) for number in range(len(folds))]
    scores = None
    for fold, part in zip(folds, parts, strict=True):
        assert part is not None, "every cell of a path is kept"
        found = part[1]["scores"]
        if scores is None:
            scores = np.full((len(fold.train), found.shape[1]), np.nan)
        scores[fold.validation > 0.0] = found
    assert scores is not None, "there is a fold"
    return scores


# ---- which one is taken


def middle_of_best(errors: np.ndarray) -> int:
    """Return the row of least mean error; of several in a line, the one in their middle.

    >>> middle_of_best(np.array([[0.3], [0.1], [0.1], [0.1], [0.2]]))
    2
    """
    means = errors.mean(axis=1)
    best = np.flatnonzero(means <= means.min() + 1e-12)
    around = np.convolve(np.pad(means, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid")
    best = best[around[best] <= around[best].min() + 1e-12]
    return int(best[(len(best) - 1) // 2])


def is_near(rival: np.ndarray, losses: np.ndarray) -> bool:
    """Whether a candidate is not far behind a rival, by the losses of both on the same folds.

    >>> rival = np.array([0.20, 0.22, 0.18])
    >>> is_near(rival, np.array([0.21, 0.20, 0.20])), is_near(rival, rival + [0.02, 0.03, 0.02])
    (True, False)
    """
    behind = losses - rival
    return bool(behind.mean() <= _BEHIND * standard_error(behind))


def chosen_of(errors: Sequence[np.ndarray], n_rows: int, cuts: int = 1) -> int:
    """Return the place of the candidate to take; `errors` are those of folds, the first preferred.

    Rows may have been cut into folds several times.

    >>> errors = [np.array([0.20, 0.22, 0.18]), np.array([0.19, 0.22, 0.19])]
    >>> chosen_of(errors, 100), chosen_of([errors[0], errors[0] - 0.05], 100)
    (0, 1)
    """
    share = _LEAD if n_rows < _MANY else 0.0
    best = int(np.argmin([each.mean() for each in errors]))
    for place, each in enumerate(errors[:best]):
        lead = each - errors[best]
        if lead.mean() <= share * standard_error(lead, cuts):
            return place
    return best


def rule_of_choice(
    n_rows: int, measure: Measure | None = None, cuts: int = 1, is_hard: bool = False
) -> str:
    """Say what chose among the candidates, and how small leads were settled.

    `is_hard`: nobody gave the measure, the many errors did.

    >>> rule_of_choice(5_000)
    'Chosen by the least error on held-out rows.'
    """
    end = "highest" if measure is not None and measure.larger_is_better else "least"
    what = f"Chosen by the {end} {'error' if measure is None else measure.title} on held-out rows"
    if is_hard:
        what += ", since all features left so many errors that their number says little"
    if n_rows >= _MANY:
        return f"{what}."
    again = f" Candidates near the best were judged on {cuts} cuts into folds." if cuts > 1 else ""
    return (
        f"{what}; a lead of at most a quarter of its standard error does not count, and the "
        f"simpler candidate, tried before, wins.{again}"
    )


# ---- where all err often


def is_hard(error: float, codes: np.ndarray) -> bool:
    """Whether an error is above half of that of naming the commonest class.

    >>> codes = np.array([0, 0, 0, 1])
    >>> is_hard(0.1, codes), is_hard(0.2, codes)
    (False, True)
    """
    return bool(error > _HARD * (1.0 - np.bincount(codes).max() / len(codes)))


def by_log_loss(each: Compared, store: Store, folds: Sequence[Fold], codes: np.ndarray) -> Compared:
    """Return a candidate at its C of least log loss, of those walked for their errors."""
    kept = cells_of(store, each.candidate, each.n_rows)
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


# ---- the rows of every fold, in the features that its training rows taught


# So few entries are laid out densely, without threads, which would wait more than they work.
AT_ONCE = 1 << 15
_TOL = 1e-3  # of the models of the folds: their errors alone count
_KEPT_ENTRIES = 10_000_000  # of the rows of all folds: above, features are learned again


@dataclass(frozen=True, eq=False)
class FoldSetting(Setting):
    """Cells whose rows differ from fold to fold, since each fold learned its own features."""

    of_fold: Callable[[int], Setting] | None = None

    def solve(self, C: float, fold: int, first: Arrays | None) -> tuple[Facts, Arrays]:
        """Solve the models of one C on one fold; keep the scores of its rows."""
        assert self.of_fold is not None, "a setting of each fold is given"
        setting = self.of_fold(fold)
        facts, arrays = setting.solve(C, fold, first)
        if "scores" in arrays:
            return facts, arrays
        X = setting.matrix
        W, held = arrays["weights"], np.flatnonzero(self.folds[fold].validation > 0.0)
        return facts, arrays | {"scores": np.asarray(X[held] @ W[:, 1:].T + W[:, 0])}

    @property
    def probabilities(self) -> str:
        """How scores become probabilities."""
        return "softmax" if is_softmax(self.loss, len(self.classes)) else self.loss

    def averaged(self, cells: list[Arrays]) -> Arrays:
        """Return no start: the weights of the folds belong to other features."""
        return {}


class FoldRows:
    """The rows of each fold in the features that its training rows taught."""

    def __init__(
        self, search: Search, candidate: Candidate, rows: np.ndarray, folds: Any, cut: int = 0
    ) -> None:
        self.search, self.features, self.rows, self.folds = search, candidate.features, rows, folds
        self.cut = cut
        self.softmax = is_softmax(candidate.loss, len(search.classes))
        self.common: dict[str, Any] = {
            "codes": search.codes[rows],
            "classes": search.classes,
            "weights": np.ones(len(rows)),
            "folds": folds,
            "loss": candidate.loss,
            "l1_ratio": candidate.l1_ratio,
            "effort": Effort(_TOL, deadline=search.deadline, seed=search.seed, for_errors=True),
            "class_weight": search.class_weight,
            "measure": search.measure,
        }
        self.known: dict[int, Setting] = {}
        X = self.matrix(0)
        self.n_features, self.square = X.shape[1], mean_square(X, folds[0])
        self.known[0] = self.posed(X)

    def matrix(self, fold: int) -> Any:
        """Return all rows in the features of a fold; those of another loss are taken over."""
        kept = self.search.learned.setdefault((self.features, len(self.rows), self.cut), {})
        if fold in kept:
            return kept[fold]
        train = self.rows[self.folds[fold].train > 0.0]
        learned: Learned = self.search.raw.learn(self.features, train, self.search.codes)
        X = as_matrix(learned.X[self.rows])
        if getattr(X, "nnz", X.size) * len(self.folds) <= _KEPT_ENTRIES:
            kept[fold] = X
        return X

    def posed(self, X: Any) -> Setting:
        """Return the problems of a fold; few entries are laid out densely."""
        if sparse.issparse(X) and X.shape[0] * X.shape[1] <= AT_ONCE:
            X = as_matrix(X.toarray())
        return setting_of(X, self.softmax, **self.common)

    def setting(self, fold: int) -> Setting:
        """Return the problems of a fold, made when first needed."""
        if fold not in self.known:
            self.known[fold] = self.posed(self.matrix(fold))
        return self.known[fold]


def is_softmax(loss: str, n_classes: int) -> bool:
    """Whether all classes are fitted at once; by any other loss each is against the rest."""
    return loss == "logistic" and n_classes > 2


def mean_square(X: Any, fold: Fold) -> float:
    """Return the mean squared distance of the training rows from their mean; sparse, from 0."""
    some = X[np.flatnonzero(fold.train > 0.0)]
    if sparse.issparse(some):
        total = float((some.data.astype(np.float64) ** 2).sum())
    else:
        away = some - some.mean(axis=0, dtype=np.float64)
        total = float(np.einsum("ij,ij->", away, away))
    return total / some.shape[0] or 1.0
