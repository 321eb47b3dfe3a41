"""Figures of one machine on rows with known labels: curves, calibration, margins, mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from separatrix.report import facts as f
from separatrix.report.excerpts import Excerpts
from separatrix.selection import bounds

__all__ = ["calibration_of", "curves_of", "margins_of", "mistakes_of", "own_margins"]

_POINTS = 300
_CLASSES = 8
_BINS = 10
_EDGES = 41
_MISTAKES = 12


def columns_of(scores: np.ndarray) -> np.ndarray:
    """Return a column of scores for each class that has its own: one for two classes."""
    return scores[:, None] if scores.ndim == 1 else scores


def own_margins(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return how far each row lies on its own side: y f(x), or its class's lead over the rest.

    >>> own_margins(np.array([-1.0, 2.0]), np.array([1, 1])).tolist()
    [-1.0, 2.0]
    """
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    return scores[rows, codes] - others.max(axis=1)


def _targets(scores: np.ndarray, codes: np.ndarray, names: list[str]) -> list[tuple[str, Any, Any]]:
    """Return the name, the scores and the rows of each class to be distinguished."""
    table = columns_of(scores)
    numbers = [1] if table.shape[1] == 1 else list(range(min(table.shape[1], _CLASSES)))
    place = {k: 0 if table.shape[1] == 1 else k for k in numbers}
    return [(names[k], table[:, place[k]], codes == k) for k in numbers]


def curves_of(scores: np.ndarray, codes: np.ndarray, names: list[str]) -> tuple[f.Curve, ...]:
    """Return ROC and precision-recall for each class, thinned to what an eye can see."""
    found = []
    for name, values, is_one in _targets(scores, codes, names):
        if is_one.all() or not is_one.any():
            continue
        false, true, _ = roc_curve(is_one, values)
        precision, recall, _ = precision_recall_curve(is_one, values, drop_intermediate=True)
        at, where = _thinned(len(false)), _thinned(len(recall))
        found.append(
            f.Curve(
                name=name,
                false_positive_rate=_floats(false[at]),
                true_positive_rate=_floats(true[at]),
                auc=float(roc_auc_score(is_one, values)),
                recall=_floats(recall[where]),
                precision=_floats(precision[where]),
                average_precision=float(average_precision_score(is_one, values)),
                prevalence=float(is_one.mean()),
            )
        )
    return tuple(found)


def _thinned(count: int) -> np.ndarray:
    if count <= _POINTS:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, _POINTS).round().astype(int))


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def calibration_of(
    probabilities: np.ndarray, codes: np.ndarray, names: list[str], how: str
) -> tuple[f.Calibration, ...]:
    """Compare what was foretold with what came true, in bins of equal numbers of rows."""
    numbers = [1] if len(names) == 2 else list(range(min(len(names), _CLASSES)))
    found = []
    for k in numbers:
        foretold, came = probabilities[:, k], (codes == k).astype(float)
        order = np.argsort(foretold, kind="stable")
        bins = []
        for rows in np.array_split(order, min(_BINS, max(1, len(order) // 5))):
            hits = int(came[rows].sum())
            around = bounds.binomial(hits, len(rows))
            bins.append(
                f.Bin(
                    predicted=float(foretold[rows].mean()),
                    observed=hits / len(rows),
                    count=len(rows),
                    low=around.lower,
                    high=around.upper,
                )
            )
        error = sum(one.count * abs(one.predicted - one.observed) for one in bins) / len(order)
        brier = float(np.mean((foretold - came) ** 2))
        found.append(f.Calibration(names[k], tuple(bins), how, brier, float(error)))
    return tuple(found)


def margins_of(
    parts: dict[str, tuple[np.ndarray, np.ndarray]], names: list[str]
) -> f.Margins | None:
    """Count rows by how far they lie on their own side, in each part and class."""
    margins = {part: own_margins(scores, codes) for part, (scores, codes) in parts.items()}
    together = np.concatenate(list(margins.values()))
    low, high = np.quantile(together, [0.005, 0.995])
    low, high = min(float(low), -1.5), max(float(high), 1.5)
    edges = np.linspace(low, high, _EDGES)
    counts = []
    for part, values in margins.items():
        inside = np.clip(values, low, high)
        for k, name in enumerate(names[:_CLASSES]):
            rows = parts[part][1] == k
            tally, _ = np.histogram(inside[rows], edges)
            counts.append(f.MarginsOf(part, name, tuple(int(count) for count in tally)))
    unit = "y (w.x + b)" if len(names) == 2 else "the lead of the row's own class"
    return f.Margins(_floats(edges), tuple(counts), unit)


def mistakes_of(
    scores: np.ndarray,
    codes: np.ndarray,
    rows: np.ndarray,
    names: list[str],
    excerpts: Excerpts,
) -> tuple[f.Mistake, ...]:
    """Name the rows that lie furthest on the wrong side; `rows` are their numbers in the table."""
    margins = own_margins(scores, codes)
    predicted = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    wrong = np.flatnonzero(predicted != codes)
    hardest = wrong[np.argsort(margins[wrong], kind="stable")][:_MISTAKES]
    return tuple(
        f.Mistake(
            row=int(rows[at]),
            true=names[int(codes[at])],
            predicted=names[int(predicted[at])],
            score=float(scores[at] if scores.ndim == 1 else margins[at]),
            excerpt=excerpts.of(int(rows[at])),
        )
        for at in hardest
    )
