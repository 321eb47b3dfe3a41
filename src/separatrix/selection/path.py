"""The path over C: every C on every fold, each machine started where its neighbour ended.

    choose C to minimise   mean over folds f of  error of the best (w, b) for (C, f) on f's rows

The walk begins in the middle of the grid and goes both ways, in every fold on its own; threads take
whatever cell is ready, and X is shared by all. Where two values in a row are hopeless, the rest of
that end is left out. Then the neighbourhood of the best C is refined.

A cell's start depends only on the cell before it, never on timing or threads: the same data give
the same bits. Cells can be kept in a `store` and are never computed twice:

    store.get(key)                  -> (facts, arrays), or None
    store.put(key, facts, arrays)

with key = (C.hex(), fold number), facts a dictionary that JSON can hold and arrays a dictionary of
float64 arrays: the weights and multipliers, from which the next cell starts. Since they come back
as they were, what follows a resume equals the run without a break, to the bit. Both are called
from the calling thread alone. What the folds and the settings are, the store's owner must know: a
store belongs to one call with one set of arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from separatrix.selection._cell import Arrays, Facts, Setting
from separatrix.selection.path_table import PathTable
from separatrix.selection.refinement import (
    best_of,
    is_hopeless,
    least_within_one_error,
    refined,
)
from separatrix.selection.scores import Measure
from separatrix.solvers.running.drive import AtOnce, one_thread

__all__ = [
    "OUT_OF_TIME",
    "RULES",
    "FoundPath",
    "PartOfStore",
    "Store",
    "cross_validate",
    "of_a_ratio",
    "with_measure",
]

RULES = ("best", "one_standard_error")
OUT_OF_TIME = "for want of time"
_AT_THE_END = "The best C is the"
Key = tuple[str, int]
CellToDo = tuple[float, int, Arrays | None]  # C, fold, and where to start
Progress = Callable[[int, int, str], None]


class Store(Protocol):
    """Where finished cells are kept."""

    def get(self, key: Key) -> tuple[Facts, Arrays] | None:
        """Return what was put under this key, or None."""

    def put(self, key: Key, facts: Facts, arrays: Arrays) -> None:
        """Keep a finished cell."""


class PartOfStore:
    """The cells whose keys begin with a name, in a store that holds others too."""

    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name = store, name

    def get(self, key: Key) -> tuple[Facts, Arrays] | None:
        """Return what was put under this key, or None."""
        return self.store.get((self.name + key[0], key[1]))

    def put(self, key: Key, facts: Facts, arrays: Arrays) -> None:
        """Keep a finished cell."""
        self.store.put((self.name + key[0], key[1]), facts, arrays)


def of_a_ratio(store: Store, ratio: float) -> Store:
    """Return the cells of one l1_ratio; the whole store for the ridge, ratio 0."""
    return PartOfStore(store, f"l1 {ratio.hex()} ") if ratio else store


@dataclass(frozen=True, eq=False)
class FoundPath:
    """The table, its cells, and where a machine on all the rows may start."""

    table: PathTable
    cells: tuple[Facts, ...]
    start: Arrays
    losses: np.ndarray  # what was to be small, a row a C and a column a fold

    @property
    def C(self) -> float:
        """The C chosen."""
        return self.table.C


def cross_validate(
    setting: Setting,
    Cs: np.ndarray,
    *,
    rounds: int = 1,
    stop_early: bool = True,
    rule: str = "best",
    beyond: Sequence[float] = (),
    from_least: bool = False,
    is_worth: Callable[[np.ndarray], bool] | None = None,
    workers: int = 1,
    store: Store | None = None,
    progress: Progress | None = None,
) -> FoundPath:
    """Walk the path, refine it `rounds` times around its best, and choose a C by the rule.

    The walk begins in the middle of the grid, or `from_least`.
    No `workers`, no threads: the cells are solved one after another.
    Values `beyond` the grid, ascending, are tried one by one while the largest C is the best. The
    path is refined where it `is_worth` it, by what is to be small on each fold at the best C.
    """
    with one_thread():  # so that the number of threads changes no bit
        walk = _Walk(setting, workers, store, progress)
        try:
            notes = walk.outwards([float(C) for C in Cs], stop_early, from_least)
            for C in beyond:
                if walk.done and walk.best == len(walk.done) - 1:
                    walk.around([float(C)])
            for _ in range(rounds):
                if is_worth is not None and not is_worth(walk.losses(walk.done)[walk.best]):
                    break
                walk.around(refined(np.array(walk.done), walk.best))
        finally:
            walk.close()
        return _found(walk, rule, notes)


class _Walk:
    """The cells so far, and the threads that make more."""

    def __init__(
        self, setting: Setting, workers: int, store: Store | None, progress: Progress | None
    ) -> None:
        self.setting, self.store, self.progress = setting, store, progress
        self.n_folds = len(setting.folds)
        self.pool: Executor = ThreadPoolExecutor(workers) if workers else AtOnce()
        self.facts: dict[float, dict[int, Facts]] = {}
        self.arrays: dict[float, dict[int, Arrays]] = {}
        self.scores: dict[float, dict[int, np.ndarray]] = {}
        self.measured: dict[float, np.ndarray] = {}
        self.running: dict[Future[tuple[Facts, Arrays]], tuple[float, int]] = {}
        self.done: list[float] = []  # the values of C that count, ascending
        self.finished = self.planned = 0
        self.first = np.nan  # the C that is solved for, roughly if need be, when time is out
        self.out_of_time = False

    # ---- what is known

    def losses(self, Cs: list[float]) -> np.ndarray:
        """Return what is to be small, a row a C and a column a fold that judges."""
        if self.setting.measure is not None:
            found = np.array([self.measure(C) for C in Cs])
            return found[:, ~np.isnan(found).any(axis=0)]  # of the folds that define the measure
        name = "validation_error" if self.setting.judge is None else "score"
        sign = 1.0 if self.setting.judge is None else -1.0
        folds = range(self.n_folds)
        return np.array([[sign * self.facts[C][f][name] for f in folds] for C in Cs])

    def measure(self, C: float) -> np.ndarray:
        """Return the loss of every fold by the measure that counts."""
        setting = self.setting
        assert setting.measure is not None, "only called where there is one"
        if C not in self.measured:
            parts = [
                (self.scores[C][f], setting.codes[setting.held_out(f)]) for f in range(self.n_folds)
            ]
            self.measured[C] = setting.measure.losses(parts, setting.probabilities)
        return self.measured[C]

    def move(self, C: float) -> None:
        """Count the errors of this C at the threshold that the measure takes."""
        measure, setting = self.setting.measure, self.setting
        if measure is None or not measure.has_threshold(self.scores[C][0].shape[1]):
            return
        held = [setting.codes[setting.held_out(f)] for f in range(self.n_folds)]
        scores = np.concatenate([self.scores[C][f] for f in range(self.n_folds)])
        threshold = measure.threshold(scores, np.concatenate(held))
        for f, facts in self.facts[C].items():
            errors = setting.errors_at(threshold, f, self.arrays[C][f])
            both = dict(zip(("validation_error", "training_error"), errors, strict=True))
            self.facts[C][f] = facts | both

    @property
    def best(self) -> int:
        """The place of the best C among those that count."""
        return best_of(self.losses(self.done))

    def is_whole(self, C: float) -> bool:
        """Whether every fold of this C is finished."""
        return len(self.facts.get(C, ())) == self.n_folds

    def is_cut_short(self, C: float) -> bool:
        """Whether time ran out on a machine of this C: its errors are no measure of C."""
        short = any(facts["status"] == "budget" for facts in self.facts[C].values())
        self.out_of_time |= short
        return short

    def accept(self, C: float) -> None:
        """Count this C; only the best one's arrays are kept from now on."""
        self.done = sorted([*self.done, C])
        kept = self.done[self.best]
        for other in self.done:
            if other != kept:
                self.arrays.pop(other, None)

    # ---- walking

    def outwards(
        self, Cs: list[float], stop_early: bool, from_least: bool = False
    ) -> tuple[str, ...]:
        """Go from the middle of the grid to both ends; say where an end was left out."""
        middle = 0 if from_least else (len(Cs) - 1) // 2
        self.first = Cs[middle]
        sides = {+1: Cs[middle:], -1: Cs[middle::-1]}
        place = {C: (side, k) for side, line in sides.items() for k, C in enumerate(line)}
        ends = dict.fromkeys(sides, len(Cs))
        next_row = dict.fromkeys(sides, 1)
        self.planned += len(Cs) * self.n_folds
        begin: list[CellToDo] = [(Cs[middle], f, None) for f in range(self.n_folds)]

        def following(C: float, fold: int, arrays: Arrays) -> list[CellToDo]:
            steps = sides if Cs[middle] == C else (place[C][0],)
            found: list[CellToDo] = []
            for side in steps:
                k = (0 if Cs[middle] == C else place[C][1]) + 1
                if k < min(len(sides[side]), ends[side]):
                    found.append((sides[side][k], fold, arrays))
            return found

        def judge() -> None:
            if self.is_whole(Cs[middle]) and not self.done:
                self.accept(Cs[middle])
            for side, line in sides.items():
                while self.done and next_row[side] < min(len(line), ends[side]):
                    k = next_row[side]
                    if not self.is_whole(line[k]):
                        break
                    if self.is_cut_short(line[k]):
                        ends[side] = k
                        break
                    self.accept(line[k])
                    next_row[side] += 1
                    if stop_early and is_hopeless(self.losses(line[: k + 1]), self.judged):
                        ends[side] = k + 1
                        self.planned -= (len(line) - k - 1) * self.n_folds

        self.run(begin, following, judge)
        return _notes(sides, self.done, self.out_of_time)

    def around(self, Cs: list[float]) -> None:
        """Solve for these values too, each started from the best."""
        if not Cs or not self.done:
            return
        start = self.arrays.get(self.done[self.best], {})
        self.planned += len(Cs) * self.n_folds
        cells: list[CellToDo] = [(C, f, start.get(f)) for C in Cs for f in range(self.n_folds)]
        self.run(cells, lambda C, fold, arrays: [], lambda: None)
        for C in Cs:
            if self.is_whole(C) and not self.is_cut_short(C):
                self.accept(C)

    @property
    def judged(self) -> float:
        """How many rows judge, in all folds together."""
        return float(sum((fold.validation > 0.0).sum() for fold in self.setting.folds))

    # ---- running

    def run(
        self,
        cells: list[CellToDo],
        following: Callable[[float, int, Arrays], list[CellToDo]],
        judge: Callable[[], None],
    ) -> None:
        """Make these cells and those that follow from them, until none is left."""
        ready = list(cells)
        while ready or self.running:
            while ready:
                C, fold, first = ready.pop(0)
                stored = None if self.store is None else self.store.get((C.hex(), fold))
                if stored is not None:
                    self.keep(C, fold, *stored)
                    judge()
                    ready += following(C, fold, stored[1])
                elif time.perf_counter() >= self.setting.effort.deadline and self.first != C:
                    self.out_of_time = True
                else:
                    future = self.pool.submit(self.setting.solve, C, fold, first)
                    self.running[future] = (C, fold)
            if not self.running:
                break
            over, _ = wait(self.running, return_when=FIRST_COMPLETED)
            for future in over:
                C, fold = self.running.pop(future)
                facts, arrays = future.result()
                if self.store is not None:
                    self.store.put((C.hex(), fold), facts, arrays)
                self.keep(C, fold, facts, arrays)
                judge()
                ready += following(C, fold, arrays)

    def keep(self, C: float, fold: int, facts: Facts, arrays: Arrays) -> None:
        """Take a finished cell over, and tell."""
        self.facts.setdefault(C, {})[fold] = facts
        self.arrays.setdefault(C, {})[fold] = arrays
        if self.setting.measure is not None:
            self.scores.setdefault(C, {})[fold] = arrays["scores"]
            if self.is_whole(C):
                self.move(C)
        self.finished += 1
        if self.progress is not None:
            text = f"C = {C:.4g}, fold {fold + 1} of {self.n_folds}"
            self.progress(self.finished, max(self.planned, self.finished), text)

    def close(self) -> None:
        """End the threads; those at work notice within a fraction of a second."""
        if self.running:
            self.setting.cancelled.set()
        self.pool.shutdown(wait=True, cancel_futures=True)


def _notes(sides: dict[int, list[float]], done: list[float], out_of_time: bool) -> tuple[str, ...]:
    """Say which values of C were left out, and on which side."""
    notes = []
    for side, line in sides.items():
        left = sorted(C for C in line if C not in done)
        if left:
            names = ", ".join(f"{C:.4g}" for C in left)
            last = max(done, key=lambda C: side * C)
            where = f"{'above' if side > 0 else 'below'} {last:.4g}"
            why = OUT_OF_TIME if out_of_time else "where the error had become hopeless"
            notes.append(f"Left out, {where} {why}: C = {names}.")
    return tuple(notes)


def _found(walk: _Walk, rule: str, notes: tuple[str, ...]) -> FoundPath:
    Cs, losses = walk.done, walk.losses(walk.done)
    best = best_of(losses)
    chosen = best if rule == "best" else least_within_one_error(losses)
    folds = range(walk.n_folds)
    cells = tuple(walk.facts[C][f] for C in Cs for f in folds)
    errors = _table_of(walk, "validation_error")
    columns = {
        "C": np.array(Cs),
        "validation_error": errors.mean(axis=1),
        "validation_spread": _spread(errors),
        "standard_error": _spread(errors) / np.sqrt(walk.n_folds),
    }
    if walk.setting.judge is not None:
        scores = _table_of(walk, "score")
        columns |= {"validation_score": scores.mean(axis=1), "score_spread": _spread(scores)}
    if (measure := walk.setting.measure) is not None:
        columns |= _of_measure(measure, losses)
    for name in ("training_error", "n_support", "margin"):
        columns[name] = _table_of(walk, name).mean(axis=1)
    if walk.setting.l1_ratio:
        columns["n_nonzero"] = _table_of(walk, "n_nonzero").mean(axis=1)
    columns["gap"] = _table_of(walk, "gap").max(axis=1)
    columns["seconds"] = _table_of(walk, "seconds").sum(axis=1)
    columns["n_folds"] = np.full(len(Cs), walk.n_folds)
    reason, more = _reason(walk, losses, best, chosen)
    by_fold = None if measure is None else np.array([walk.measure(C) for C in Cs])
    table = PathTable(columns, chosen, reason, errors, (*notes, *more), walk.setting.loss, by_fold)
    start = walk.setting.averaged([walk.arrays[Cs[best]][f] for f in folds])
    return FoundPath(table, cells, start, losses)


def _of_measure(measure: Measure, losses: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns that a measure adds."""
    shown = np.asarray(measure.shown(losses))
    spread = _spread(shown)
    error = spread / np.sqrt(shown.shape[1])
    return {"validation_score": shown.mean(axis=1), "score_spread": spread, "score_error": error}


def with_measure(found: FoundPath, measure: Measure, losses: np.ndarray) -> FoundPath:
    """Return a path that was walked by its errors, judged by a measure: its losses, a row a C."""
    old, means = found.table, losses.mean(axis=1)
    columns: dict[str, np.ndarray] = {}
    for name in old.columns:
        columns[name] = old[name]
        if name == "standard_error":
            columns |= _of_measure(measure, losses)
    notes = tuple(each for each in old.notes if not each.startswith(_AT_THE_END))
    notes += _note_of_end(means)
    table = PathTable(
        columns, int(means.argmin()), old.reason, old.fold_errors, notes, old.loss, losses
    )
    return replace(found, table=table, losses=losses)


def _table_of(walk: _Walk, name: str) -> np.ndarray:
    folds = range(walk.n_folds)
    return np.array([[float(walk.facts[C][f][name]) for f in folds] for C in walk.done])


def _spread(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation over folds; 0 where there is one fold."""
    return values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.zeros(len(values))


def _reason(walk: _Walk, losses: np.ndarray, best: int, chosen: int) -> tuple[str, tuple[str, ...]]:
    Cs, means = walk.done, losses.mean(axis=1)
    measure, by_score = walk.setting.measure, walk.setting.judge is not None
    what = "mean validation score" if by_score else "mean validation error"
    shown = f"{-means[best]:.4f}" if by_score else f"{100.0 * means[best]:.2f} %"
    if measure is not None:
        what, shown = f"mean validation {measure.title}", f"{measure.shown(means[best]):.4f}"
        by_score = measure.larger_is_better
    end = "highest" if by_score else "least"
    reason = f"C = {Cs[best]:.4g} has the {end} {what}, {shown}."
    if chosen != best:
        reason = (
            f"C = {Cs[chosen]:.4g} is the smallest C within one standard error of the "
            f"{end} {what}, {shown} at C = {Cs[best]:.4g}."
        )
    notes = []
    if measure is not None and losses.shape[1] < walk.n_folds:
        notes.append(
            f"The {measure.title} is the mean over {losses.shape[1]} of {walk.n_folds} folds: the "
            "others hold out rows of one class alone, which do not define it."
        )
    ties = int((means == means[best]).sum())
    if chosen == best and ties > 1:
        reason = reason[:-1] + f"; of {ties} values that share it, the smallest is taken."
    return reason, (*notes, *_note_of_end(means))


def _note_of_end(means: np.ndarray) -> tuple[str, ...]:
    """Say where the best C is the smallest or the largest tried."""
    best = int(means.argmin())
    if len(means) == 1 or best not in (0, len(means) - 1) or (means == means[best]).sum() > 1:
        return ()
    end = "smallest" if best == 0 else "largest"
    return (f"{_AT_THE_END} {end} tried: a wider range of Cs may hold a better one.",)
