"""How good held-out scores are, by the measure that matters, and the threshold that serves it.

    error      share of rows misclassified          balanced   1 - mean recall of the classes
    f1         1 - F1 of the positive class         mcc        1 - Matthews' correlation
    auc        1 - area under the ROC curve         log_loss   of calibrated probabilities
    cost       mean cost of the mistakes, with a price for a miss and one for a false alarm

All are losses: less is better. For two classes, balanced, f1, mcc and cost use the threshold that
is best for them on all held-out scores together. The model is fitted without class weights: in
trials that was better than weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import DataError

__all__ = ["SCORINGS", "Costs", "best_threshold", "loss_of", "parse_costs"]

SCORINGS = ("error", "balanced", "f1", "mcc", "auc", "log_loss", "cost")
WITH_THRESHOLD = ("balanced", "f1", "mcc", "cost")


@dataclass(frozen=True)
class Costs:
    """What a missed positive row and a false alarm cost; right answers cost nothing."""

    missed: float = 1.0
    false_alarm: float = 1.0


def parse_costs(text: str) -> Costs:
    """Read "5:1", or "missed:false_alarm = 5:1".

    >>> parse_costs("missed:false_alarm = 5:1")
    Costs(missed=5.0, false_alarm=1.0)
    """
    numbers = text.rsplit("=", 1)[-1].split(":")
    names = [name.strip() for name in text.split("=")[0].split(":")] if "=" in text else None
    try:
        first, second = (float(number) for number in numbers)
    except ValueError:
        first = second = -1.0
    if names not in (None, ["missed", "false_alarm"], ["false_alarm", "missed"]) or not (
        0.0 < first < np.inf and 0.0 < second < np.inf
    ):
        raise DataError(
            "costs must be two numbers above 0: of a missed row of the positive class and of a "
            f"false alarm, such as 5:1. Got {text!r}."
        )
    return Costs(second, first) if names == ["false_alarm", "missed"] else Costs(first, second)


def best_threshold(
    scores: np.ndarray, positive: np.ndarray, scoring: str, costs: Costs | None = None
) -> float:
    """Return the threshold of least loss for two classes; 0 where the measure needs none.

    It lies halfway between two scores. Of several the one nearest to 0 is taken.

    >>> best_threshold(np.array([-2.0, -1.0, 1.0]), np.array([False, True, True]), "balanced")
    -1.5
    """
    if scoring not in WITH_THRESHOLD:
        return 0.0
    order = np.argsort(scores, kind="stable")
    ordered, is_positive = scores[order], positive[order]
    cuts = np.flatnonzero(np.diff(ordered) > 0.0) + 1  # rows before a cut are called negative
    cuts = np.concatenate([[0], cuts, [len(scores)]])
    missed = np.concatenate([[0], np.cumsum(is_positive)])[cuts]
    passed = np.concatenate([[0], np.cumsum(~is_positive)])[cuts]  # negative rows called negative
    true = is_positive.sum() - missed
    false = (~is_positive).sum() - passed
    losses = _of_counts(true, false, passed, missed, scoring, costs or Costs())
    places = np.concatenate([[ordered[0] - 1.0], ordered, [ordered[-1] + 1.0]])
    # Halves first: the sum of two large scores may overflow.
    thresholds = 0.5 * places[cuts] + 0.5 * places[cuts + 1]
    best = np.flatnonzero(losses <= losses.min() + 1e-12)
    return float(thresholds[best[np.argmin(np.abs(thresholds[best]))]])


def _of_counts(tp: Any, fp: Any, tn: Any, fn: Any, scoring: str, costs: Costs) -> np.ndarray:
    """Return a loss from counts of right and wrong answers, arrays or numbers."""
    tp, fp, tn, fn = (np.asarray(each, dtype=np.float64) for each in (tp, fp, tn, fn))
    n = tp + fp + tn + fn
    if scoring == "error":
        return (fp + fn) / n
    if scoring == "cost":
        return (costs.missed * fn + costs.false_alarm * fp) / n
    if scoring == "balanced":
        return 1.0 - 0.5 * (_share(tp, tp + fn) + _share(tn, tn + fp))
    if scoring == "f1":
        return 1.0 - _share(2.0 * tp, 2.0 * tp + fp + fn)
    # Roots one by one: the product of four counts may overflow.
    spread = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    return 1.0 - _share(tp * tn - fp * fn, spread)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)


def loss_of(
    scores: np.ndarray,
    codes: np.ndarray,
    scoring: str,
    threshold: float = 0.0,
    costs: Costs | None = None,
    probabilities: Callable[[np.ndarray], np.ndarray] | None = None,
) -> float:
    """Return the loss of held-out scores, a column a model; less is better."""
    if scoring == "log_loss":
        assert probabilities is not None, "log loss is that of probabilities"
        own = probabilities(scores)[np.arange(len(codes)), codes]
        return float(-np.log(np.maximum(own, np.finfo(float).tiny)).mean())
    if scores.shape[1] == 1:
        return _of_two(scores[:, 0], codes == 1, scoring, threshold, costs or Costs())
    if scoring == "auc":
        each = [_auc(scores[:, k], codes == k) for k in range(scores.shape[1])]
        return 1.0 - float(np.mean(each))
    return _of_many(scores.argmax(axis=1), codes, scores.shape[1], scoring)


def _of_two(
    scores: np.ndarray, positive: np.ndarray, scoring: str, threshold: float, costs: Costs
) -> float:
    if scoring == "auc":
        return 1.0 - _auc(scores, positive)
    called = scores > threshold
    right, wrong = called & positive, called & ~positive
    passed, missed = ~called & ~positive, ~called & positive
    tp, fp, tn, fn = (int(each.sum()) for each in (right, wrong, passed, missed))
    return float(_of_counts(tp, fp, tn, fn, scoring, costs))


def _auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve: how often a positive row has the larger score."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1.0))[places]
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return 0.5
    return float((ranks[positive].sum() - 0.5 * n * (n + 1.0)) / (n * m))


def _of_many(predicted: np.ndarray, codes: np.ndarray, n_classes: int, scoring: str) -> float:
    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (codes, predicted), 1.0)
    right, true, called = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    if scoring in ("error", "cost"):
        return 1.0 - float(right.sum() / table.sum())
    if scoring == "balanced":
        there = true > 0.0
        return 1.0 - float((right[there] / true[there]).mean())
    if scoring == "f1":
        return 1.0 - float(_share(2.0 * right, true + called).mean())
    n = table.sum()
    spread = np.sqrt(n * n - (called**2).sum()) * np.sqrt(n * n - (true**2).sum())
    return 1.0 - float(_share(np.asarray(right.sum() * n - called @ true), np.asarray(spread)))
