"""The path over C on rows in blocks: every C on every fold, each started where the last ended.

    choose C to minimise   mean over folds f of  error of the best (w, b) for (C, f) on f's rows

A row's fold follows from its number alone, so that folds need no vector of all rows and no copy of
any: the rows of the fold cost nothing while a machine is trained, and alone are counted after.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.checks import class_factors
from separatrix.core.partitioned import Rows, fit_rows, refuse_sparse
from separatrix.errors import DataError
from separatrix.problem.blocks import Block, Posed, Sums
from separatrix.problem.losses import CODES, HINGE
from separatrix.problem.products import scores
from separatrix.problem.rows import base_rows
from separatrix.selection.path_table import PathTable
from separatrix.selection.refinement import best_of, grid, least_within_one_error, refined
from separatrix.solvers.linear.blocks.block_newton import Point, Run
from separatrix.solvers.running.drive import one_thread

__all__ = ["fit_path_on_rows"]

_WARM_WIDTH = 0.3


@dataclass(frozen=True)
class Cell:
    """One C on one fold."""

    validation: float
    training: float
    margin: float
    gap: float
    seconds: float
    points: tuple[Point, ...]


def fold_errors(block: Block, posed: Posed, weights: np.ndarray) -> Sums:
    """Count rows and errors: of the fold held out, and of all others."""
    values = np.column_stack([scores(base_rows(block.X), w[1:]) + w[0] for w in weights])
    if len(weights) == 1:
        predicted = (values[:, 0] > 0.0).astype(np.int64)
    else:
        predicted = np.argmax(values, axis=1)
    wrong, held = predicted != block.codes, block.fold_numbers(posed) == posed.fold
    return int(held.sum()), int(wrong[held].sum()), int((~held).sum()), int(wrong[~held].sum())


def fold_counts(block: Block, posed: Posed, n_classes: int) -> Sums:
    """Count the rows of every class in every fold."""
    counts = np.zeros((posed.folds, n_classes), dtype=np.int64)
    np.add.at(counts, (block.fold_numbers(posed), block.codes), 1)
    return (counts,)


def fit_path_on_rows(machine: Any, rows: Rows, loss: str) -> Any:
    """Choose C by the errors of the folds, then fit on all rows and prove that."""
    machine._check_parameters(loss)
    refuse_sparse(type(machine).__name__, max(machine._ratios()))
    folds = machine.cv
    if not isinstance(folds, int | np.integer) or isinstance(folds, bool) or folds < 2:
        raise ValueError(f"with partitions cv is a number of folds, 2 or more. Got {folds!r}.")
    if machine.scoring is not None:
        raise ValueError("with partitions C is chosen by errors: scoring must be None.")
    Cs, given = grid(machine.Cs)
    walk = _Walk(machine, rows, loss, int(folds))
    walk.refuse_missing_classes()
    with one_thread():
        for C in Cs.tolist():
            walk.try_out(C)
        for _ in range(0 if given else int(machine.refine)):
            for C in refined(walk.tried, best_of(walk.errors())):
                walk.try_out(C)
    machine.path_ = walk.table(machine.rule)
    machine.C_ = machine.path_.C
    return fit_rows(machine, rows, loss)


class _Walk:
    def __init__(self, machine: Any, rows: Rows, loss: str, folds: int) -> None:
        self.machine, self.rows, self.loss, self.folds = machine, rows, loss, folds
        self.effort = machine._effort()
        self.factors = class_factors(rows.classes, rows.counts, machine.class_weight)
        self.cells: dict[float, list[Cell]] = {}

    @property
    def tried(self) -> np.ndarray:
        return np.array(sorted(self.cells))

    def errors(self) -> np.ndarray:
        """Return the error of every fold, a row a C."""
        return np.array([[cell.validation for cell in self.cells[C]] for C in self.tried])

    def refuse_missing_classes(self) -> None:
        """Refuse folds of which one holds all rows of a class: none would be left to train on."""
        posed = self._posed(1.0, 0, 0)
        (counts,) = self.rows.engine.reduce(fold_counts, posed, len(self.rows.classes))
        missing = np.argwhere(counts == counts.sum(axis=0))
        if len(missing):
            fold, number = missing[0]
            raise DataError(
                f"Fold {fold} has no row of class {self.rows.classes.tolist()[number]!r} to train "
                "on. Use fewer folds or another random_state, or add rows to that class."
            )

    def try_out(self, C: float) -> None:
        """Train and judge one C on every fold, from the nearest C below that is there."""
        below = [known for known in self.cells if known < C]
        near = self.cells[max(below)] if below else None
        self.cells[C] = [
            self._cell(C, fold, near[fold].points if near else None) for fold in range(self.folds)
        ]

    def _posed(self, C: float, number: int, fold: int) -> Posed:
        return Posed(
            CODES[self.loss],
            number,
            C * np.asarray(self.factors, dtype=np.float64),
            bool(self.machine.fit_intercept),
            float(self.machine.intercept_penalty),
            fold,
            self.folds,
            self.effort.seed,
        )

    def _cell(self, C: float, fold: int, starts: tuple[Point, ...] | None) -> Cell:
        begun, engine = time.perf_counter(), self.rows.engine
        count = len(self.rows.classes)
        runs = []
        for place, number in enumerate([1] if count == 2 else range(count)):
            posed = self._posed(C, number, fold)
            run = Run(engine, posed, self.effort.tol, starts[place] if starts else None)
            run.go_on(self.effort.tol, self.effort.deadline)
            runs.append(run)
        weights = np.array([run.best.w for run in runs])
        held, wrong_held, used, wrong_used = engine.reduce(fold_errors, runs[0].posed, weights)
        lengths = np.linalg.norm(weights[:, 1:], axis=1)
        width = _WARM_WIDTH if runs[0].posed.loss == HINGE else 0.0
        return Cell(
            validation=wrong_held / max(held, 1),
            training=wrong_used / max(used, 1),
            margin=float(1.0 / lengths.max()) if lengths.max() > 0.0 else np.inf,
            gap=max(run.gap for run in runs),
            seconds=time.perf_counter() - begun,
            points=tuple(Point(run.best.w, width) for run in runs),
        )

    def table(self, rule: str) -> PathTable:
        """Return the path, and in it the C chosen."""
        errors, Cs = self.errors(), self.tried
        best = best_of(errors)
        chosen = best if rule == "best" else least_within_one_error(errors)
        spread = errors.std(axis=1, ddof=1)

        def mean(name: str) -> np.ndarray:
            return np.array([np.mean([getattr(c, name) for c in self.cells[C]]) for C in Cs])

        columns = {
            "C": Cs,
            "validation_error": errors.mean(axis=1),
            "validation_spread": spread,
            "standard_error": spread / np.sqrt(self.folds),
            "training_error": mean("training"),
            "margin": mean("margin"),
            "gap": np.array([max(cell.gap for cell in self.cells[C]) for C in Cs]),
            "seconds": mean("seconds") * self.folds,
            "n_folds": np.full(len(Cs), float(self.folds)),
        }
        reason = f"C = {Cs[chosen]:.4g} has the least validation error, {errors[best].mean():.4f}."
        if chosen != best:
            reason = (
                f"C = {Cs[chosen]:.4g} is the smallest within one standard error of the best, "
                f"{Cs[best]:.4g}."
            )
        notes = ("The gaps of the folds are those the solver saw; that of the last fit is proved.",)
        return PathTable(columns, chosen, reason, errors, notes, self.loss)
