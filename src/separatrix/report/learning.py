"""The learning curve of a study: the chosen candidate on parts of its training rows, in words.

Would more rows help? What held-out rows say when a quarter, a half and more of them train.

    for each share s and fold f     fit on the share s of f's training rows, at the same C
                                    error = mistakes on f's validation rows

The folds are those that chose C. Parts are drawn class by class, and a smaller part lies within a
larger one. Features are learned from the rows of the part alone. Another measure than the error is
taken as on the path: at one threshold for the folds of a share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.checks import ratio_of
from separatrix.core.linear_model import is_multinomial
from separatrix.core.proving import Effort
from separatrix.problem.signed import as_matrix
from separatrix.report import facts as f
from separatrix.report.words import fixed, number, whole
from separatrix.selection._cell import setting_of
from separatrix.selection.folds import Fold
from separatrix.selection.path_table import PathTable
from separatrix.selection.scores import Measure
from separatrix.solvers.running.drive import cores, one_thread

if TYPE_CHECKING:
    from separatrix.report.study import Study

__all__ = [
    "SHARES",
    "errors_on_parts",
    "learning_facts",
    "part_of",
    "reading_of_curve",
]


_MOST_ENTRIES = 5_000_000  # of the training rows, for all models: above, it would take too long
_FEWEST = 16  # rows of the smallest class: below, a quarter of them teaches nothing
_SURE, _LIKELY = 2.0, 1.0  # standard errors of the difference


def learning_facts(work: Study, model: Any, path: PathTable) -> f.LearningCurve:
    """Return what chose, on held-out rows, when 1/4, 1/2, 3/4 and all training rows train."""
    reason = _reason_against(work)
    measure = work.measure
    by_fold = path.fold_errors if measure is None else path.fold_losses
    assert by_fold is not None, "a path by a measure has the losses of its folds"
    all_rows = np.asarray(by_fold[path.chosen], dtype=np.float64)
    if not reason and not np.isfinite(path.fold_errors[path.chosen]).all():
        reason = "the path ended early"
    if reason:
        return f.LearningCurve((), "", f"No learning curve was drawn: {reason}.")
    header, arrays = work.journal.step("learning", lambda: _measured(work, model))
    sizes = [*header["rows"], header["all"]]
    losses = np.array([*arrays["errors"], all_rows])
    losses = losses[:, ~np.isnan(losses).any(axis=0)]  # of the folds that define the measure
    points = tuple(
        _point(int(rows), float(each.mean()), _standard_error(each), measure)
        for rows, each in zip(sizes, losses, strict=True)
    )
    return reading_of_curve(points, losses[1] - losses[-1], measure)


def _point(rows: int, loss: float, spread: float, measure: Measure | None) -> f.LearningPoint:
    if measure is None:
        return f.LearningPoint(rows, loss, spread)
    return f.LearningPoint(rows, None, score=float(measure.shown(loss)), score_error=spread)


def _reason_against(work: Study) -> str:
    models = 1 if len(work.names) == 2 else len(work.names)
    X = work.model_train
    if getattr(X, "nnz", X.size) * models > _MOST_ENTRIES:
        return "the data are so large that it would take too long"
    fewest = max(_FEWEST, work.settings.folds)
    if np.bincount(work.codes_train).min() < fewest:
        return f"the smallest class has fewer than {fewest} training rows"
    return ""


def _measured(work: Study, model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:

    settings, codes, classes = work.settings, work.codes_train, np.arange(len(work.names))
    folds = work.folds()
    features = next((each.features for each in work.candidates if each.chosen), None)

    def matrix(rows: np.ndarray) -> Any:
        if features is None or settings.features == "raw":
            return work.model_train
        train = work.parts.train
        return work.raw.learn(features, train[rows], work.codes).X[train]

    found = errors_on_parts(
        matrix, codes, classes, folds,
        loss=getattr(model, "loss", "logistic"), C=float(model.C), l1_ratio=ratio_of(model),
        seed=settings.seed,
        multinomial=len(classes) > 2 and is_multinomial(model),
        class_weight="balanced" if settings.balanced else None, workers=cores(),
        measure=work.measure,
    )  # fmt: skip
    whole_fold = round(float(np.mean([np.count_nonzero(fold.train > 0.0) for fold in folds])))
    return (
        {"rows": [rows for rows, _ in found], "all": whole_fold},
        {"errors": np.array([errors for _, errors in found])},
    )


def reading_of_curve(
    points: tuple[f.LearningPoint, ...], gained: np.ndarray, measure: Measure | None = None
) -> f.LearningCurve:
    """Say what the last doubling of the rows changed; `gained` is its gain on every fold.

    >>> points = tuple(f.LearningPoint(n, e) for n, e in ((100, 0.2), (400, 0.061), (800, 0.049)))
    >>> reading_of_curve(points, np.array([0.012, 0.011, 0.013])).sentence[:70]
    'Doubling the rows from 400 to 800 lowered the error from 6.1 to 4.9 %:'
    """
    half = min(points[:-1], key=lambda each: abs(2 * each.rows - points[-1].rows))
    last = points[-1]
    gain, noise = float(gained.mean()), _standard_error(gained)
    is_better, is_worse = ("lowered", "raised")
    if measure is not None and measure.larger_is_better:
        is_better, is_worse = is_worse, is_better
    verb = is_better if gain > 0.0 else is_worse if gain < 0.0 else "left"
    name = "error" if measure is None else measure.title
    change = _change(half, last, bool(gain))
    said = (
        f"Doubling the rows from {whole(half.rows)} to {whole(last.rows)} {verb} the {name} "
        f"{change}"
    )
    if gain > _SURE * noise:
        return f.LearningCurve(points, "helps", f"{said}: more rows would help.", name)
    if gain > _LIKELY * noise:
        return f.LearningCurve(points, "may help", f"{said}: more rows may help.", name)
    within = ", within its noise" if 0.0 < abs(gain) <= _SURE * noise else ""
    return f.LearningCurve(points, "no gain", f"{said}{within}: no gain seen.", name)


def _change(half: f.LearningPoint, last: f.LearningPoint, moved: bool) -> str:
    if half.error is None or last.error is None:
        ends = [number(each.score) for each in (half, last)]
        return f"from {ends[0]} to {ends[1]}" if moved else f"at {ends[1]}"
    places = 1 if max(half.error, last.error) >= 0.01 else 2
    ends = [fixed(100.0 * rate, places) for rate in (half.error, last.error)]
    return f"from {ends[0]} to {ends[1]} %" if moved else f"at {ends[1]} %"


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


# ---- would more rows help? What held-out rows say when a quarter, a half and more of them train


SHARES = (0.25, 0.5, 0.75)
_TOL = 1e-3  # the errors alone count


def errors_on_parts(
    matrix: Callable[[np.ndarray], Any],
    codes: np.ndarray,
    classes: np.ndarray,
    folds: Sequence[Fold],
    *,
    loss: str,
    C: float,
    l1_ratio: float = 0.0,
    multinomial: bool = False,
    class_weight: Any = None,
    seed: int = 0,
    workers: int = 1,
    measure: Measure | None = None,
) -> list[tuple[int, np.ndarray]]:
    """Return for each share how many rows train, and the error, or the loss, on every fold.

    `matrix(rows)` gives all rows in the features that `rows` teach.
    """

    def solved(task: tuple[float, int]) -> tuple[int, float, Any]:
        share, number = task
        fold = folds[number]
        train = part_of(np.flatnonzero(fold.train > 0.0), codes, share, [seed, number])
        rows = np.concatenate([train, np.flatnonzero(fold.validation > 0.0)])
        is_train = np.arange(len(rows)) < len(train)
        X, labels = as_matrix(matrix(train)[rows]), codes[rows]
        part = Fold(is_train.astype(float), np.where(is_train, 0.0, fold.validation[rows]))
        setting = setting_of(
            X,
            multinomial,
            codes=labels,
            classes=classes,
            weights=np.ones(len(rows)),
            folds=(part,),
            loss=loss,
            l1_ratio=l1_ratio,
            effort=Effort(_TOL, seed=seed, for_errors=True),
            class_weight=class_weight,
            measure=measure,
        )
        facts, arrays = setting.solve(C, 0, None)
        scored = None if measure is None else (arrays["scores"], labels[setting.held_out(0)])
        return len(train), float(facts["validation_error"]), scored

    tasks = [(share, number) for share in SHARES for number in range(len(folds))]
    with one_thread(), ThreadPoolExecutor(max(1, workers)) as pool:
        found = list(pool.map(solved, tasks))
    by_share = [found[at : at + len(folds)] for at in range(0, len(found), len(folds))]
    sizes = [round(float(np.mean([n for n, _, _ in part]))) for part in by_share]
    if measure is None:
        losses = [np.array([rate for _, rate, _ in part]) for part in by_share]
    else:
        kind = "softmax" if multinomial else loss
        losses = [measure.losses([scored for *_, scored in part], kind) for part in by_share]
    return list(zip(sizes, losses, strict=True))


def part_of(rows: np.ndarray, codes: np.ndarray, share: float, seed: Any) -> np.ndarray:
    """Return a share of some rows, class by class, in order; a smaller one lies within a larger.

    >>> rows, codes = np.arange(8), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> small, large = (part_of(rows, codes, share, 0) for share in (0.5, 0.75))
    >>> len(small), int(codes[small].sum()), set(small) <= set(large)
    (4, 2, True)
    """
    order = np.random.default_rng(seed).permutation(len(rows))
    kept = []
    for k in np.unique(codes[rows]).tolist():
        own = order[codes[rows][order] == k]
        kept.append(own[: int(np.ceil(share * len(own)))])
    return np.asarray(rows[np.sort(np.concatenate(kept))])
