"""An RBF kernel SVM on the folds of a study: what a curve would gain over the hyperplane.

    min over f   1/2 |f|^2 + C sum over rows i of the fold  hinge(y_i (f(x_i) + b))

C and gamma come from a small grid. Columns are standardised by the rows that train, in each fold.
For one gamma C goes upwards, each model starting from the dual variables of the last. Of many rows
a sample trains, in every fold; all rows that the fold holds out are scored. The models are solved
and not proved: nothing is claimed of them but these errors.

What this curve and others gain over the best hyperplane is said in sentences.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.checks import class_factors
from separatrix.core.linear_model import pairs_of, tally
from separatrix.core.proving import Effort
from separatrix.data.encodings.column_features import GAMMAS
from separatrix.problem.canonical import signs_of
from separatrix.problem.kernels import Kernel
from separatrix.problem.machine import KernelMachine
from separatrix.problem.signed import as_matrix
from separatrix.selection.folds import Fold
from separatrix.selection.refinement import standard_error
from separatrix.selection.scores import Measure
from separatrix.solvers.running.drive import one_thread

if TYPE_CHECKING:
    from separatrix.selection.candidates import Search
    from separatrix.selection.compared import Candidate, Compared

__all__ = ["KERNEL", "KernelCompared", "compare_kernel", "curve_gains", "solved_upwards"]

KERNEL = "kernel"  # the name of its features
_CS = (1.0, 10.0, 100.0)
_GAMMAS = (0.1, 0.3, 1.0)  # in units of 1 / mean |x|^2
_MOST_TRAINING = 4_000  # rows
_TOL = 1e-3
_CACHE = 400_000_000  # bytes
_STEPS, _STEPS_A_ROW = 100_000, 1_000
_SLICE = 1 << 14
_CURVES = ("products", *GAMMAS)


@dataclass(frozen=True, eq=False)
class KernelCompared:
    """The pair of C and gamma with the least loss on the folds."""

    candidate: Candidate
    C: float
    gamma: float
    errors: np.ndarray  # of each fold
    losses: np.ndarray  # the same, or those of the measure
    n_features: int
    n_rows: int
    n_trained: int  # rows that train in a fold, at most
    seconds: float
    measure: Measure | None = None


def compare_kernel(
    search: Search, candidate: Candidate, rows: np.ndarray, folds: Sequence[Fold], square: float
) -> KernelCompared | None:
    """Return the best of the grid on the folds of these rows; None where time ends before."""
    begun = time.perf_counter()
    codes = search.codes[rows]
    gammas = [float(f"{unit / square:.3g}") for unit in _GAMMAS]
    found: list[tuple[float, float, list[np.ndarray]]] = [(g, C, []) for g in gammas for C in _CS]
    width = trained = 0
    for number, fold in enumerate(folds):
        some = _training(fold, search.seed)
        held = np.flatnonzero(fold.validation > 0.0)
        name = f"{candidate.features}-{candidate.loss}-{len(rows)}-{len(some)}"
        kept = search.store.get((name, number))
        if kept is None:
            if not time.perf_counter() < search.deadline:
                return None
            if search.progress is not None:
                search.progress(f"{candidate}: fold {number + 1}", number, len(folds))
            own = rows[np.flatnonzero(fold.train > 0.0)]
            X = search.raw.learn("standard", own, search.codes).X[rows[np.r_[some, held]]]
            work = _Fold(search, as_matrix(X), codes[np.r_[some, held]], len(some))
            kept = {"columns": int(X.shape[1])}, {"scores": work.scores(gammas)}
            search.store.put((name, number), *kept)
        width, trained = int(kept[0]["columns"]), max(trained, len(some))
        for each, scores in zip(found, kept[1]["scores"], strict=True):
            each[2].append(scores)
    truth = [codes[np.flatnonzero(fold.validation > 0.0)] for fold in folds]
    losses = [_losses(search.measure, scores, truth) for _, _, scores in found]
    best = int(np.argmin([np.mean(each) for each in losses]))
    gamma, C, scores = found[best]
    return KernelCompared(
        candidate, C, gamma, _losses(None, scores, truth), losses[best], width, len(rows),
        trained, time.perf_counter() - begun, search.measure,
    )  # fmt: skip


def _training(fold: Fold, seed: int) -> np.ndarray:
    """Return the rows that train, or a sample of them."""
    some = np.flatnonzero(fold.train > 0.0)
    if len(some) <= _MOST_TRAINING:
        return some
    return np.sort(np.random.default_rng(seed).permutation(some)[:_MOST_TRAINING])


def _losses(
    measure: Measure | None, scores: Sequence[np.ndarray], truth: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the loss of every fold; without a measure, its error."""
    if measure is not None:
        found = measure.losses(list(zip(scores, truth, strict=True)))
        return found[np.isfinite(found)]
    called = [
        (each[:, 0] > 0.0).astype(int) if each.shape[1] == 1 else each.argmax(axis=1)
        for each in scores
    ]
    return np.array([np.mean(a != b) for a, b in zip(called, truth, strict=True)])


class _Fold:
    """The rows of a fold: those that train come first, then those held out."""

    def __init__(self, search: Search, X: Any, codes: np.ndarray, n_trained: int) -> None:
        self.search, self.X, self.codes, self.n_trained = search, X, codes, n_trained
        self.classes = search.classes
        weights = np.zeros(len(codes))
        weights[:n_trained] = 1.0
        if search.class_weight is not None:
            counts = np.bincount(codes, weights, minlength=len(self.classes))
            weights *= class_factors(self.classes, counts, search.class_weight)[codes]
        self.weights = weights

    def scores(self, gammas: Sequence[float]) -> np.ndarray:
        """Return the scores of the rows held out, for every gamma and C, in order."""
        from separatrix.solvers.kernels.kernel_rows import kernel_rows  # few studies need them

        found = []
        effort = Effort(_TOL, deadline=self.search.deadline, workers=self.search.workers)
        with one_thread(), ThreadPoolExecutor(max(1, effort.workers)) as pool:
            for gamma in gammas:
                kernel = Kernel("rbf", gamma=gamma)
                found += self._path(kernel_rows(kernel, self.X, _CACHE, pool), effort)
        return np.array(found)

    def _path(self, rows: Any, effort: Effort) -> list[np.ndarray]:
        """Return the scores of each C, going upwards; of several classes, votes of pairs."""
        pairs, held = pairs_of(len(self.classes)), slice(self.n_trained, None)
        found = []
        for states in solved_upwards(
            rows,
            self.codes,
            [(high, low) for low, high in pairs],
            self.weights,
            _CS,
            effort,
            _SLICE,
        ):
            each = [state.f[held] + state.machine.signs[held] + state.bias for state in states]
            scores = np.column_stack(each)
            two = len(self.classes) == 2
            found.append(scores if two else tally(scores, pairs, len(self.classes)))
        return found


def solved_upwards(
    rows: Any,
    codes: np.ndarray,
    pairs: Sequence[tuple[int, int]],
    weights: np.ndarray,
    Cs: Sequence[float],
    effort: Effort,
    slice_size: int,
    **how: Any,
) -> Iterator[list[Any]]:
    """Yield the states of the models for every C, going upwards; the next C changes them.

    A pair is a class and the one it is set against, -1 for all others. Each model starts from the
    dual variables of the last, which stay feasible. The clock is first looked at after `slice_size`
    steps of a model.
    """
    from separatrix.solvers.kernels import chunking  # few studies need it

    states, members = list[Any](), np.arange(len(codes))
    for C in Cs:
        for number, pair in enumerate(pairs):
            signs = signs_of(codes, *pair)
            model = KernelMachine(signs, np.where(signs != 0.0, C * weights, 0.0), members)
            if len(states) == number:
                states.append(chunking.start(model, kernel_rows=rows, tol=effort.tol, **how))
            else:
                states[number].machine = model
                g = states[number].f + signs
                chunking.resume(states[number], states[number].alpha, g, effort.tol)
            budget = _STEPS + _STEPS_A_ROW * len(codes)
            effort.go_on(chunking, states[number], budget, None, slice_size)
            states[number].kept = None
        yield states


def curve_gains(
    compared: Sequence[Compared], kernel: KernelCompared | None = None
) -> tuple[str, ...]:
    """Say what each curve gains over the best hyperplane, where both met the same folds.

    The interval is Student's, of the differences over the folds.
    """
    first = [each for each in compared if each.n_rows == compared[0].n_rows]
    planes = [each for each in first if each.candidate.features not in _CURVES]
    if not planes:
        return ()
    plane = min(planes, key=lambda one: one.first_errors.mean())
    said = []
    for name, features in (("Products of columns", ("products",)), ("Random cosines", GAMMAS)):
        curves = [each for each in first if each.candidate.features in features]
        if curves:
            curve = min(curves, key=lambda one: one.first_errors.mean())
            said.append(_gain(name, curve.first_errors, plane))
    if kernel is not None:
        limit = f", trained on {kernel.n_trained:,} rows of a fold"
        sampled = limit if kernel.n_trained < 0.9 * _trained(kernel) else ""
        name = f"An RBF kernel (C = {kernel.C:g}, gamma = {kernel.gamma:g}{sampled})"
        said.append(_gain(name, kernel.errors, plane))
    return tuple(said)


def _trained(kernel: KernelCompared) -> float:
    folds = len(kernel.errors)
    return kernel.n_rows * (folds - 1.0) / folds


def _gain(name: str, errors: np.ndarray, plane: Compared) -> str:
    from scipy.special import stdtrit

    gain = plane.first_errors - errors
    folds = len(gain)
    room = float(stdtrit(folds - 1, 0.975)) * standard_error(gain) if folds > 1 else np.inf
    mean, best = float(gain.mean()), float(plane.first_errors.mean())
    verb = "has" if name.startswith("An ") else "have"
    low, high = (100.0 * (mean - room), 100.0 * (mean + room))
    return (
        f"{name} {verb} an error of {100.0 * errors.mean():.2f} %, the best hyperplane "
        f"{100.0 * best:.2f} %: the curved boundary gains {100.0 * mean:.2f} percentage "
        f"points (95 %: {low:.2f} to {high:.2f})."
    )
