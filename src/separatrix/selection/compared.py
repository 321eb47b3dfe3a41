"""A candidate of a study, and what its folds said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.problem.sparse_penalty import penalty_words
from separatrix.selection._cell import Arrays, Facts
from separatrix.selection.choice import standard_error
from separatrix.selection.folds import Fold
from separatrix.selection.path import FoundPath, Store
from separatrix.selection.path_table import PathTable
from separatrix.selection.scores import Measure

__all__ = ["Candidate", "Compared", "InMemory", "Kept", "held_out"]


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


class Kept:
    """Finished cells of one candidate on so many rows, in a store that holds those of all."""

    def __init__(self, store: Store, candidate: Candidate, n_rows: int, cut: int = 0) -> None:
        ratio = f"{candidate.l1_ratio.hex()}-" if candidate.l1_ratio else ""
        which = f"cut {cut}-" if cut else ""
        self.store = store
        self.name = f"{candidate.features}-{candidate.loss}-{ratio}{which}{n_rows}-"

    def get(self, key: tuple[str, int]) -> tuple[Facts, Arrays] | None:
        """Return what was put under this key, or None."""
        return self.store.get((self.name + key[0], key[1]))

    def put(self, key: tuple[str, int], facts: Facts, arrays: Arrays) -> None:
        """Keep a finished cell."""
        self.store.put((self.name + key[0], key[1]), facts, arrays)


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
