"""An interval for a measure on test rows: exact where it is made of shares, resampled elsewhere.

The error, a share of one class, the mean of two recalls, the larger of two error rates and the mean
cost are made of binomial shares, one a class. Their exact intervals (Clopper and Pearson), each at
the confidence that two need to hold together, give one that holds at least as often as it says.

F1, Matthews' correlation, AUC, log loss, and the balanced accuracy of several classes are
resampled: rows are drawn again within each class, and the interval leaves out as many draws at
either end. Draws of a few rows are nearly the same: where a class has fewer than ten, F1 and
Matthews' correlation of two classes, which grow with both recalls, take the exact ends of these;
any other measure has no interval but that of all its values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.selection import bounds
from separatrix.selection.scores import Measure, loss_of_counts

__all__ = ["EXACT", "RESAMPLED", "TOO_FEW", "interval_of"]

EXACT = "exact, from the binomial shares of the classes"
RESAMPLED = "resampled, 1,000 draws within each class"
TOO_FEW = "too few rows of a class for an interval"
_FEW = 10
_DRAWS = 1_000
_OF_SHARES = ("balanced", "cost", "minimax", "misses")


def interval_of(
    measure: Measure,
    scores: np.ndarray,
    codes: np.ndarray,
    threshold: float,
    shares: Any = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float, str]:
    """Return the ends of the interval, as the measure is shown, and how it was made."""
    if measure.scoring == "error":
        called = scores[:, 0] > threshold if scores.shape[1] == 1 else scores.argmax(axis=1)
        found = bounds.binomial(int(np.count_nonzero(called != codes)), len(codes), confidence)
        return found.lower, found.upper, EXACT
    if scores.shape[1] == 1 and measure.scoring in _OF_SHARES:
        low, high = _of_shares(measure, scores[:, 0], codes, threshold, confidence)
        return low, high, EXACT
    if measure.scoring != "log_loss" and np.bincount(codes).min() < _FEW:
        if scores.shape[1] == 1 and measure.scoring in ("f1", "mcc"):
            low, high = _of_recalls(measure, scores[:, 0], codes, threshold, confidence)
            return low, high, EXACT
        most = measure.costs.largest if measure.scoring == "cost" else 1.0
        return (-1.0 if measure.scoring == "mcc" else 0.0), most, TOO_FEW
    losses = _resampled(measure, scores, codes, threshold, shares, seed)
    ends = np.quantile(measure.shown(losses), [(1.0 - confidence) / 2, (1.0 + confidence) / 2])
    return float(ends[0]), float(ends[1]), RESAMPLED


def _of_recalls(
    measure: Measure, scores: np.ndarray, codes: np.ndarray, threshold: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of a figure that grows with the recalls of both classes."""
    called = np.where(scores > threshold, 1, 0)
    each = 1.0 - 0.5 * (1.0 - confidence)
    ends = []
    for k in (0, 1):
        own = codes == k
        n = int(own.sum())
        found = bounds.binomial(int(np.count_nonzero(called[own] == k)), n, each) if n else None
        ends.append((n, 0.0, 1.0) if found is None else (n, found.lower, found.upper))
    (others, *low_high), (ones, *ones_low_high) = ends[1 - measure.positive], ends[measure.positive]
    low, high = (
        measure.shown(
            loss_of_counts(
                ones * found, others * (1.0 - passed), others * passed, ones * (1.0 - found),
                measure.scoring,
            )
        )
        for passed, found in zip(low_high, ones_low_high, strict=True)
    )  # fmt: skip
    return float(low), float(high)


def _of_shares(
    measure: Measure, scores: np.ndarray, codes: np.ndarray, threshold: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of a figure that grows with both shares of wrong rows, or with one."""
    called = np.where(scores > threshold, 1, 0)
    one_alone = measure.scoring == "misses"
    each = confidence if one_alone else 1.0 - 0.5 * (1.0 - confidence)
    ends = {}
    for k in (0, 1):
        own = codes == k
        wrong, n = int(np.count_nonzero(called[own] != k)), int(own.sum())
        found = bounds.binomial(wrong, n, each) if n else None
        ends[k] = (0.0, 1.0, 0) if found is None else (found.lower, found.upper, n)
    missed, alarms = ends[measure.positive], ends[1 - measure.positive]
    if one_alone:
        return missed[0], missed[1]
    if measure.scoring == "minimax":
        return max(missed[0], alarms[0]), max(missed[1], alarms[1])
    if measure.scoring == "balanced":
        return 1.0 - 0.5 * (missed[1] + alarms[1]), 1.0 - 0.5 * (missed[0] + alarms[0])
    prices = measure.costs.missed * missed[2], measure.costs.false_alarm * alarms[2]
    low, high = ((prices[0] * missed[end] + prices[1] * alarms[end]) / len(codes) for end in (0, 1))
    return low, high


def _resampled(
    measure: Measure,
    scores: np.ndarray,
    codes: np.ndarray,
    threshold: float,
    shares: Any,
    seed: int,
) -> np.ndarray:
    """Return the losses of rows drawn again within each class."""
    draw = np.random.default_rng(seed)
    classes = [np.flatnonzero(codes == k) for k in np.unique(codes)]
    found = []
    for _ in range(_DRAWS):
        rows = np.concatenate([draw.choice(own, len(own)) for own in classes])
        again = None if shares is None else shares[rows]
        found.append(measure.loss(scores[rows], codes[rows], threshold, again))
    return np.array(found)
