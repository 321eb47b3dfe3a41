"""Which features and which loss: candidates compared on the same folds.

    choose (features, loss, C) to minimise   mean over folds f of  error on f's rows

Features are learned inside each fold, from the rows that train there (`data/raw_rows.py`). They are
compared by the squared hinge, whose paths cost least; hinge and logistic loss are tried on the
features that won, at three values of C (by the log loss, on their own grid: calibrated scores of
the squared hinge prefer another C). A loss that is then behind by more than a standard error of the
difference is dropped; of the others, C is refined. Of many rows a sample compares the features.
Where columns are many for the rows, few of them may matter, and the lasso of the logistic loss then
errs far less often than dense weights. It is tried last, on the features that won; columns as read
are standardised first, since the lasso punishes a weight by the unit of its column. More than two
classes are fitted at once.

C is counted in units of 1 / mean |x|^2, so that one grid serves columns of any scale; columns as
read, whose scales differ, go beyond it while that helps. With many rows the least error wins. With
few, the errors of the folds are rough: a later candidate must then be better than one before it by
a quarter of a standard error of the difference. (Chosen on 25 tables, where a whole one kept
plainer features too often: test errors were 5 % larger.) And with few rows the candidates near the
best are judged again, at their C, on two further cuts of the rows into folds: those that are behind
by at most a standard error of the difference, and those that are ahead of all these afterwards.
Where no features halve the errors of naming the commonest class, the log loss chooses from there on
(`compared.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from separatrix.data.encodings.column_features import GAMMAS
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import AS_READ
from separatrix.problem.signed import as_matrix
from separatrix.problem.sparse_penalty import LASSO
from separatrix.selection._cell import Setting
from separatrix.selection.compared import (
    AT_ONCE,
    LOG_LOSS,
    Candidate,
    Compared,
    FoldRows,
    FoldSetting,
    InMemory,
    by_log_loss,
    cells_of,
    chosen_of,
    held_out,
    is_hard,
    is_near,
    mean_square,
    middle_of_best,
    sees_something,
)
from separatrix.selection.folds import Fold, Folding, folds_of
from separatrix.selection.kernel_candidate import KERNEL, KernelCompared, compare_kernel
from separatrix.selection.path import FoundPath, Store, cross_validate
from separatrix.selection.refinement import grid as checked_grid
from separatrix.selection.refinement import least_within_one_error, sparse_grid
from separatrix.selection.scores import Measure

__all__ = ["LOSSES", "Search"]

_STANDARD = "standard"
SPLINES = "splines"  # of which C is refined only where they are near the best
LOSSES = ("squared_hinge", "hinge", "logistic")
_SAMPLE, _LEAST_SAMPLE = 20_000, 2_000  # rows that compare features
_WORK = 4e9  # products of one matrix of normal equations, of all models: above, fewer rows compare
_TEXT_GRID = (0.1, 1.0, 10.0, 100.0)
_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
_SPLINE_GRID = (0.1, 1.0, 10.0)  # the best was 1 on most generated tables
_BEYOND = (1e3, 1e4, 1e5, 1e6)  # of columns as read
_BEYOND_CURVES = (1e3, 1e4)  # of cosines
_AROUND = (0.1, 1.0, 10.0)
_SPARSE_VALUES = 12
_FEW = 1_000  # below so many rows folds are cut more than once
_CUTS = 3
_APART = 1_000_003  # between the seeds of two cuts
_HINGE_ENTRIES = 5_000_000  # of the training rows of all models: above, only one loss is tried
_SPARSE_ENTRIES = 20_000_000  # the same, of the lasso where columns outnumber rows
_SPLINE_ENTRIES = 1_000_000  # the same, of the lasso of splines, for two classes
_MANY_COLUMNS = 0.2  # of the rows: from so many columns on, the lasso is tried


class Search:
    """The comparison of candidates on some rows of a table."""

    def __init__(
        self,
        raw: RawRows,
        rows: np.ndarray,
        codes: np.ndarray,
        classes: np.ndarray,
        *,
        folds: int | Folding = 5,
        seed: int = 0,
        workers: int = 1,
        class_weight: Any = None,
        Cs: Sequence[float] | int | None = None,
        rule: str = "best",
        deadline: float = np.inf,
        measure: Measure | None = None,
        is_given: bool = False,
        l1: float | None = None,
        store: Store | None = None,
        progress: Callable[[str, float, float], None] | None = None,
    ) -> None:
        self.raw, self.rows, self.codes, self.classes = raw, rows, codes, classes
        self.folding = folds if isinstance(folds, Folding) else Folding(folds)
        self.seed, self.workers = seed, workers
        self.class_weight, self.progress = class_weight, progress
        self.Cs, self.rule, self.deadline = Cs, rule, deadline
        self.values, self._given = checked_grid(Cs)  # refuses what is no C
        self.measure, self.is_given = measure, is_given  # also where it is the error
        self.l1 = l1  # of every candidate; None: the lasso is one of them where columns are many
        self.store: Store = InMemory() if store is None else store
        self.compared: list[Compared] = []
        self.kernel: KernelCompared | None = None
        self.learned: dict[tuple[str, int, int], dict[int, Any]] = {}

    def best(self, features: Sequence[str], losses: Sequence[str] = LOSSES) -> Compared:
        """Compare features, then losses, and return the best of all."""
        chosen = self._best_features(features, losses[0])
        if self._is_hard(losses):
            chosen = self._by_log_loss() or chosen
        final = [chosen]
        for loss in losses[1:]:
            if self._has_time and self._is_worth(loss, chosen):
                around = not self._given and self.measure != LOG_LOSS
                Cs = tuple(chosen.C * c for c in self._around) if around else None
                again = replace(chosen.candidate, loss=loss)
                final.append(self.compare(again, self.rows, Cs, _least(final)))
        if self._has_time and self._is_worth_sparse(chosen, losses):
            own = features_of_sparse(chosen.candidate.features, features)
            lasso = Candidate(own, "logistic", LASSO)
            final.append(self.compare(lasso, self.rows, rival=_least(final)))
        if self._is_cut_again:
            final = self._judged_again()
        cuts = final[0].cuts
        return final[chosen_of([each.losses for each in final], len(self.rows), cuts)]

    def _is_hard(self, losses: Sequence[str]) -> bool:
        """Whether errors are many, nobody said what chooses, and there is something to choose."""
        usual = self.measure is None and not self.is_given and self.rule == "best"
        usual = usual and self.class_weight is None and losses[0] != "hinge"
        more = len(self.compared) > 1 or (len(losses) > 1 and self._has_time)
        if not usual or not more or self.raw.has_texts or len(self._sample()) < len(self.rows):
            return False
        return is_hard(min(each.error for each in self.compared), self.codes[self.rows])

    def _by_log_loss(self) -> Compared | None:
        """Judge the features by their log loss, and what is tried from now on; return the best.

        None where none of them sees anything: then nothing changes.
        """
        codes, folds = self.codes[self.rows], self._folds(self.rows)
        judged = [by_log_loss(each, self.store, folds, codes) for each in self.compared]
        if not sees_something(_least(judged), folds, codes):
            return None
        self.compared, self.measure = judged, LOG_LOSS
        return judged[chosen_of([each.losses for each in judged], len(self.rows))]

    def _best_features(self, features: Sequence[str], loss: str) -> Compared:
        """Compare features by one loss, on a sample of many rows; C is chosen on all."""
        sample, ratio = self._sample(), self.l1 or 0.0
        if len(features) > 1:
            found: list[Compared] = []
            for each in features:
                if not found or (self._has_time and self._is_worth_comparing(each)):
                    rival = _least(found) if found and each == SPLINES else None
                    found.append(self.compare(Candidate(each, loss, ratio), sample, rival=rival))
            chosen = found[chosen_of([each.losses for each in found], len(sample))]
        if len(features) == 1 or len(sample) < len(self.rows):
            name = features[0] if len(features) == 1 else chosen.candidate.features
            chosen = self.compare(Candidate(name, loss, ratio), self.rows)
        return chosen

    def _is_worth_comparing(self, features: str) -> bool:
        """Whether features are compared: where all weights are sparse, splines take too long."""
        return features != SPLINES or not self.l1 or len(self.classes) == 2

    @property
    def _is_cut_again(self) -> bool:
        """Whether few rows and folds drawn at random leave the choice to chance."""
        plain = self.folding.groups is None and self.folding.times is None
        plain = plain and not self.raw.has_texts
        usual = self.measure is None and self.rule == "best"
        return plain and usual and self._has_time and len(self.rows) < _FEW

    def _judged_again(self) -> list[Compared]:
        """Judge the candidates near the best on further cuts; return them, the first preferred.

        Those that are then ahead of the best by the first cut alone are judged again too.
        """
        own = {k: c for k, c in enumerate(self.compared) if c.n_rows == len(self.rows)}
        best = _least(list(own.values()))
        near = [k for k, each in own.items() if is_near(best, each.losses)]
        if len(near) == 1:
            return [own[near[0]]]
        judged: dict[int, Compared] = {}
        while near:
            judged |= {k: self._on_all_cuts(own[k]) for k in near}
            least = min(each.losses.mean() for each in judged.values())
            near = [k for k, c in own.items() if k not in judged and c.losses.mean() < least]
        if not self._has_time:  # some were judged roughly
            return [own[k] for k in sorted(judged)]
        for k, each in judged.items():
            self.compared[k] = each
        return [judged[k] for k in sorted(judged)]

    def _on_all_cuts(self, each: Compared) -> Compared:
        """Judge a candidate at its C on the folds of further cuts."""
        begun = time.perf_counter()
        more: list[float] = []
        for cut in range(1, _CUTS):
            found = self._walked(each.candidate, self.rows, cut, np.array([each.C]), rounds=0)
            more += found.losses[0].tolist()
        seconds = each.seconds + time.perf_counter() - begun
        return replace(each, more=tuple(more), seconds=seconds)

    def compare(
        self,
        candidate: Candidate,
        rows: np.ndarray,
        Cs: Sequence[float] | None = None,
        rival: np.ndarray | None = None,
    ) -> Compared:
        """Walk the path of one candidate; far behind the losses of a `rival`, it is not refined."""
        begun = time.perf_counter()
        folds = self._folds(rows)
        learned = FoldRows(self, candidate, rows, folds)
        grid, beyond = self._grid(candidate.features, learned.square)
        if candidate.l1_ratio and not self._given:
            grid, beyond = _values_of_sparse(learned.setting(0), self.Cs), ()
        if Cs is not None:
            grid, beyond = np.array(Cs), ()
        found = self._walked(
            candidate, rows, 0, grid, learned=learned, rounds=int(not self._given), beyond=beyond,
            is_worth=None if rival is None else partial(is_near, rival),
        )  # fmt: skip
        losses = found.losses
        by_error = self.rule == "one_standard_error"
        chosen = least_within_one_error(losses) if by_error else middle_of_best(losses)
        C, store = float(found.table["C"][chosen]), cells_of(self.store, candidate, len(rows))
        done = Compared(
            candidate, found, chosen, held_out(store, C, folds), learned.n_features, len(rows),
            time.perf_counter() - begun, self.measure,
        )  # fmt: skip
        self.compared.append(done)
        return done

    def _walked(
        self,
        candidate: Candidate,
        rows: np.ndarray,
        cut: int,
        Cs: np.ndarray,
        learned: FoldRows | None = None,
        **how: Any,
    ) -> FoundPath:
        """Walk a path on the folds of one cut."""
        if learned is None:
            learned = FoldRows(self, candidate, rows, self._folds(rows, cut), cut)
        say, name = self.progress, f"{candidate}, cut {cut + 1}" if cut else str(candidate)
        workers = self.workers if len(rows) * learned.n_features > AT_ONCE else 0
        return cross_validate(
            FoldSetting((), **learned.common, of_fold=learned.setting), Cs, workers=workers,
            from_least=bool(candidate.l1_ratio), stop_early=not cut,
            store=cells_of(self.store, candidate, len(rows), cut),
            progress=say and (lambda done, total, text: say(f"{name}: {text}", done, total)),
            **how,
        )  # fmt: skip

    def compare_kernel(self) -> KernelCompared | None:
        """Fit an RBF kernel on the folds on which features were compared; None of texts."""
        rows = self._sample()
        if self.raw.has_texts or not self._has_time:
            return None
        folds = self._folds(rows)
        own = rows[folds[0].train > 0.0]
        X = self.raw.learn(_STANDARD, own, self.codes).X[rows]
        square = mean_square(as_matrix(X), folds[0])
        self.kernel = compare_kernel(self, Candidate(KERNEL, "hinge"), rows, folds, square)
        return self.kernel

    def _folds(self, rows: np.ndarray, cut: int = 0) -> tuple[Fold, ...]:
        codes = self.codes[rows]
        cv, groups = self.folding.cv(rows, codes), self.folding.groups_of(rows)
        some = np.zeros((len(rows), 1))
        seed = self.seed + _APART * cut
        return tuple(folds_of(cv, some, codes, self.classes, groups=groups, seed=seed))

    @property
    def _around(self) -> Sequence[float]:
        """Return where other losses are tried, in units of the C chosen: no more than `Cs`."""
        few = self.Cs is not None and len(self.values) < len(_AROUND)
        return _AROUND[1 : 1 + len(self.values)] if few else _AROUND

    @property
    def _has_time(self) -> bool:
        return time.perf_counter() < self.deadline

    def _sample(self) -> np.ndarray:
        """Return the rows that compare features: fewer of wide tables with many classes."""
        models = 1 if len(self.classes) == 2 else len(self.classes)
        a_row = 1.0 if self.raw.has_texts else float(self.raw.table.X.shape[1]) ** 2 * models
        most = int(np.clip(_WORK / a_row, _LEAST_SAMPLE, _SAMPLE))
        if len(self.rows) <= most:
            return self.rows
        some = np.random.default_rng(self.seed).permutation(len(self.rows))[:most]
        return self.rows[np.sort(some)]

    def _grid(self, features: str, square: float) -> tuple[np.ndarray, Sequence[float]]:
        """Return values of C, and those beyond that are tried while the largest is the best."""
        if self._given:
            return self.values, ()
        if self.Cs is not None:
            n = len(self.values)
            spaced: list[float] = np.geomspace(_GRID[0], _GRID[-1], n).tolist()
            units: Sequence[float] = spaced if n > 1 else (1.0,)
        else:
            units = _TEXT_GRID if self.raw.has_texts and features != AS_READ else _GRID
            units = _SPLINE_GRID if features == SPLINES else units
        beyond = _BEYOND if features == AS_READ else _BEYOND_CURVES if features in GAMMAS else ()
        grid, more = ([float(f"{c / square:.3g}") for c in each] for each in (units, beyond))
        return np.array(grid), more

    def _is_worth(self, loss: str, chosen: Compared) -> bool:
        if self.raw.has_texts:
            return False  # the others never won on texts
        if loss == "hinge" and self.measure is not None:
            return False  # its scores know one threshold only
        models = 1 if len(self.classes) == 2 else len(self.classes)
        if loss == "hinge" and models > 1 and chosen.candidate.features == SPLINES:
            return False  # so many columns times classes take too long
        return chosen.n_features * len(self.rows) * models <= _HINGE_ENTRIES

    def _is_worth_sparse(self, chosen: Compared, losses: Sequence[str]) -> bool:
        """Whether the lasso is tried: where columns are many, and nobody fixed the loss."""
        n, d = len(self.rows), chosen.n_features
        if self.l1 is not None or self.raw.has_texts or len(losses) == 1:
            return False
        if chosen.candidate.features in GAMMAS:
            return False  # that a random cosine has no weight says nothing of a column
        models = 1 if len(self.classes) == 2 else len(self.classes)
        most = _SPARSE_ENTRIES if d > n else _HINGE_ENTRIES
        if chosen.candidate.features == SPLINES:
            most = _SPLINE_ENTRIES if models == 1 else 0
        return d > _MANY_COLUMNS * n and d * n * models <= most


def _least(compared: Sequence[Compared]) -> np.ndarray:
    """Return the losses of the best candidate so far, fold by fold."""
    return min((each.losses for each in compared), key=np.mean)


def features_of_sparse(chosen: str, features: Sequence[str]) -> str:
    """Return the features on which the lasso is tried beside the ones chosen.

    >>> features_of_sparse("raw", ("standard", "raw")), features_of_sparse("ranks", ("ranks",))
    ('standard', 'ranks')
    """
    return _STANDARD if chosen == AS_READ and _STANDARD in features else chosen


def _values_of_sparse(setting: Setting, Cs: Any) -> np.ndarray:
    """Return values of C from the largest that leaves all weights of the first fold zero."""
    least = setting.largest_cost_of_zero(setting.fold_weights(0))
    values, _ = sparse_grid(_SPARSE_VALUES if Cs is None else Cs, least, setting.matrix)
    return np.array([float(f"{C:.3g}") for C in values])
