"""The rows of every fold, in the features that its training rows taught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix._sparse import sparse
from separatrix.core.proving import Effort
from separatrix.data.raw_rows import Learned
from separatrix.problem.signed import as_matrix
from separatrix.selection._cell import Arrays, Facts, Setting, setting_of
from separatrix.selection.folds import Fold

if TYPE_CHECKING:
    from separatrix.selection.candidates import Search
    from separatrix.selection.compared import Candidate

__all__ = ["AT_ONCE", "FoldRows", "FoldSetting", "is_softmax", "mean_square"]

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
