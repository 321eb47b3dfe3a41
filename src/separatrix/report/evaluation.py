"""Figures of one machine on rows with known labels: curves, calibration, margins, mistakes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.report import facts as f
from separatrix.selection import bounds

__all__ = [
    "Excerpts",
    "calibration_of",
    "curves_of",
    "importance_of",
    "margins_of",
    "mistakes_of",
    "own_margins",
]

_LONGEST = 240
_NAMED = 8
_FEW_COLUMNS = 10
_POINTS, _LEAST_POINTS = 2_400, 24  # of all curves, and of one
_MOST_POINTS = 300  # of one
_HISTOGRAMS = 8  # classes whose margins are counted apart
_BINS = 10
_EDGES = 41
_MISTAKES = 12
_INTERVAL = re.compile(r" from \S+ to \S+$")  # of the part of a spline


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
    numbers = [1] if table.shape[1] == 1 else list(range(min(table.shape[1], f.MOST_CLASSES)))
    place = {k: 0 if table.shape[1] == 1 else k for k in numbers}
    return [(names[k], table[:, place[k]], codes == k) for k in numbers]


def curves_of(scores: np.ndarray, codes: np.ndarray, names: list[str]) -> tuple[f.Curve, ...]:
    """Return ROC and precision-recall for each class, thinned to what an eye can see."""
    found = []
    targets = _targets(scores, codes, names)
    most = min(_MOST_POINTS, max(_LEAST_POINTS, _POINTS // max(1, len(targets))))
    for name, values, is_one in targets:
        if is_one.all() or not is_one.any():
            continue
        false, true = roc_points(is_one, values)
        recall, precision = recall_points(is_one, values)
        at, where = _thinned(len(false), most), _thinned(len(recall), most)
        found.append(
            f.Curve(
                name=name,
                false_positive_rate=_floats(false[at]),
                true_positive_rate=_floats(true[at]),
                auc=_area(false, true),
                recall=_floats(recall[where]),
                precision=_floats(precision[where]),
                average_precision=average_precision(is_one, values),
                prevalence=float(is_one.mean()),
            )
        )
    return tuple(found)


def _counts(is_one: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return false and true positives at every threshold, the largest first."""
    order = np.argsort(scores, kind="stable")[::-1]
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    true = np.cumsum(is_one[order], dtype=np.float64)[last]
    return 1.0 + last - true, true


def roc_points(is_one: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the ROC curve: false and true positive rates, as scikit-learn does.

    >>> [rates.tolist() for rates in roc_points(np.array([True, False]), np.array([2.0, 1.0]))]
    [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    false, true = _counts(is_one, scores)
    if len(false) > 2:
        turns = (np.diff(false, 2) != 0.0) | (np.diff(true, 2) != 0.0)
        kept = np.concatenate([[True], turns, [True]])
        false, true = false[kept], true[kept]
    return np.append(0.0, false) / false[-1], np.append(0.0, true) / true[-1]


def _area(x: np.ndarray, y: np.ndarray) -> float:
    """Return the area under straight lines between points."""
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2.0).sum())


def recall_points(
    is_one: np.ndarray, scores: np.ndarray, every: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return recall, falling, and precision; of one recall only the ends, unless `every` is set.

    >>> [part.tolist() for part in recall_points(np.array([True, False]), np.array([2.0, 1.0]))]
    [[1.0, 1.0, 0.0], [0.5, 1.0, 1.0]]
    """
    false, true = _counts(is_one, scores)
    if len(false) > 2 and not every:
        turns = (np.diff(true[:-1]) != 0.0) | (np.diff(true[1:]) != 0.0)
        kept = np.concatenate([[True], turns, [True]])
        false, true = false[kept], true[kept]
    recall, precision = true / true[-1], true / (true + false)
    return np.append(recall[::-1], 0.0), np.append(precision[::-1], 1.0)


def average_precision(is_one: np.ndarray, scores: np.ndarray) -> float:
    """Return the mean precision, weighed by the steps of recall."""
    recall, precision = recall_points(is_one, scores, every=True)
    return float(max(0.0, -np.sum(np.diff(recall) * precision[:-1])))


def _thinned(count: int, most: int) -> np.ndarray:
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(int))


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def calibration_of(
    probabilities: np.ndarray, codes: np.ndarray, names: list[str], how: str
) -> tuple[f.Calibration, ...]:
    """Compare predicted probabilities with observed frequencies, in bins of equally many rows."""
    numbers = [1] if len(names) == 2 else list(range(min(len(names), f.MOST_CLASSES)))
    found = []
    for k in numbers:
        predicted, observed = probabilities[:, k], (codes == k).astype(float)
        order = np.argsort(predicted, kind="stable")
        bins = []
        for rows in np.array_split(order, min(_BINS, max(1, len(order) // 5))):
            hits = int(observed[rows].sum())
            around = bounds.binomial(hits, len(rows))
            bins.append(
                f.Bin(
                    predicted=float(predicted[rows].mean()),
                    observed=hits / len(rows),
                    count=len(rows),
                    low=around.lower,
                    high=around.upper,
                )
            )
        error = sum(one.count * abs(one.predicted - one.observed) for one in bins) / len(order)
        brier = float(np.mean((predicted - observed) ** 2))
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
        codes = np.minimum(parts[part][1], _HISTOGRAMS)
        for k, name in enumerate([*names[:_HISTOGRAMS], "all others"][: len(names)]):
            tally, _ = np.histogram(inside[codes == k], edges)
            counts.append(f.MarginsOf(part, name, tuple(int(count) for count in tally)))
    unit = "y (w.x + b)" if len(names) == 2 else "the lead of the row's own class"
    return f.Margins(_floats(edges), tuple(counts), unit)


def mistakes_of(
    scores: np.ndarray,
    codes: np.ndarray,
    rows: np.ndarray,
    names: list[str],
    excerpts: Excerpts,
    threshold: float = 0.0,
    predicted: np.ndarray | None = None,
) -> tuple[f.Mistake, ...]:
    """Name the rows that lie furthest on the wrong side; `rows` are their numbers in the table.

    `predicted` are class numbers where more than the scores decided.
    """
    margins = own_margins(scores - threshold, codes)
    if predicted is None:
        predicted = (scores > threshold).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
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


# ---- one row in a few words


class Excerpts:
    """Tells rows of a table; where columns are many, those of most weight first."""

    def __init__(self, X: Any, names: Sequence[str], texts: Sequence[str] | None = None) -> None:
        self.X, self.names, self.texts = X, names, texts
        self.importance: np.ndarray | None = None

    def of(self, row: int) -> str:
        """Return the text of a row, or its values by name.

        >>> Excerpts(np.array([[1.5, 1.0]]), ["age", "job=clerk"]).of(0)
        'age 1.5, job=clerk'
        """
        if self.texts is not None:
            return _shortened(" ".join(str(self.texts[row]).split()))
        columns, values = self._entries(row)
        parts = [_named(self.names[int(j)], float(v)) for j, v in zip(columns, values, strict=True)]
        more = len(parts) - _NAMED
        if more > 2:
            order = self._order(columns, values)[:_NAMED]
            kept = [parts[k] for k in sorted(order.tolist())]
            return _shortened(f"{', '.join(kept)} and {more} more")
        return _shortened(", ".join(parts) or "all values are zero")

    def _entries(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        if sparse.issparse(self.X):
            part = slice(self.X.indptr[row], self.X.indptr[row + 1])
            columns, values = self.X.indices[part], self.X.data[part]
            kept = values != 0.0
            return columns[kept], values[kept]
        values = np.asarray(self.X[row])
        columns = np.arange(len(values))
        if len(values) > _FEW_COLUMNS:
            columns = np.flatnonzero(values)
        return columns, values[columns]

    def _order(self, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        if self.importance is None:
            return np.arange(len(columns))
        return np.argsort(-abs(self.importance[columns] * values), kind="stable")


def importance_of(coef: np.ndarray, names: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """Return what each column as read weighs most with, by its name and those of its functions.

    >>> names = ["a", "rank of b", "c from 0 to 2.5"]
    >>> importance_of(np.array([[1.0, -3.0, 2.0]]), names, ["a", "b", "c"]).tolist()
    [1.0, 3.0, 2.0]
    """
    known = set(map(str, columns))
    weights: dict[str, float] = {}
    for name, weight in zip(names, abs(coef).max(axis=0).tolist(), strict=False):
        column = str(name)
        if column not in known:
            column = _INTERVAL.sub("", column.removeprefix("rank of "))
        weights[column] = max(weight, weights.get(column, 0.0))
    return np.array([weights.get(str(name), 0.0) for name in columns])


def _named(name: str, value: float) -> str:
    # A category or a word is said by its name alone.
    if value == 1.0 and "=" in str(name):
        return str(name)
    return f"{name} {value:.6g}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
