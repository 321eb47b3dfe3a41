"""How good held-out scores are, by the measure that matters, and the threshold that serves it.

    error      share of rows misclassified          balanced   1 - mean recall of the classes
    f1         1 - F1 of the positive class         mcc        1 - Matthews' correlation
    auc        1 - area under the ROC curve         log_loss   of calibrated probabilities
    cost       mean cost of the mistakes, with a price for a miss and one for a false alarm
    minimax    the larger error rate of two classes
    misses     share of positive rows missed, where at most a given share of the others is called

All are losses: less is better. For two classes, those but error, auc and log_loss use the threshold
that is best for them on all held-out scores together. Of several classes, f1 is the mean over
classes, auc that of each class against the rest, and cost that of the class of least expected cost,
by probabilities whose slopes are those of all held-out scores together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.linear_model import least_cost
from separatrix.errors import DataError

__all__ = [
    "SCORINGS", "Costs", "Measure", "best_threshold", "loss_of", "loss_of_counts", "parse_costs",
]  # fmt: skip

SCORINGS = ("error", "balanced", "f1", "mcc", "auc", "log_loss", "cost")
WITH_THRESHOLD = ("balanced", "f1", "mcc", "cost", "minimax", "misses")
_ONLY_TWO = {"cost": "costs need", "minimax": "a minimax threshold needs"}
# Measure -> its name where it is shown; those of the second tuple are shown as 1 - loss.
TITLES = {
    "error": "error", "balanced": "balanced accuracy", "f1": "F1", "mcc": "Matthews correlation",
    "auc": "AUC", "log_loss": "log loss", "cost": "cost a row", "minimax": "larger class error",
    "misses": "share missed at {:g} % false alarms",
}  # fmt: skip
_LEAST, _MOST = 1e-100, 1e100  # of a cost: sums and quotients of such stay finite
_OF_ANY_ROWS = ("error", "cost", "log_loss")  # the others need rows of two classes
_LARGER_IS_BETTER = ("balanced", "f1", "mcc", "auc")


@dataclass(frozen=True)
class Costs:
    """What a missed positive row and a false alarm cost; right answers cost nothing.

    Of several classes, `named` holds the true class, the predicted one and the cost of each mistake
    that was named, and `matrix` the costs of all: a row a true class, a column a predicted one.
    """

    missed: float = 1.0
    false_alarm: float = 1.0
    named: tuple[tuple[str, str, float], ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()

    def of_classes(self, names: Sequence[str], positive: int = 1) -> Costs:
        """Return the costs by the numbers of the classes; a mistake that is not named costs 1."""
        if not self.named:
            return self
        table = 1.0 - np.eye(len(names))
        for true, predicted, cost in self.named:
            for name in (true, predicted):
                if name not in names:
                    known = ", ".join(list(names)[:12])
                    raise DataError(f"costs name {name!r}, and the classes are {known}.")
            table[names.index(true), names.index(predicted)] = cost
        if len(names) == 2:
            return Costs(float(table[positive, 1 - positive]), float(table[1 - positive, positive]))
        return Costs(named=self.named, matrix=tuple(tuple(row) for row in table.tolist()))

    @property
    def largest(self) -> float:
        """The cost of the worst mistake."""
        return max((max(row) for row in self.matrix), default=max(self.missed, self.false_alarm))


def parse_costs(text: str) -> Costs:
    """Read "5:1", "missed:false_alarm = 5:1", or the mistakes by class, "a>b = 5, a>c = 2".

    >>> found = parse_costs("missed:false_alarm = 5:1")
    >>> found.missed, found.false_alarm
    (5.0, 1.0)
    >>> parse_costs("a>b = 5, a>c = 2").named
    (('a', 'b', 5.0), ('a', 'c', 2.0))
    """
    if ">" in text:
        return Costs(named=_by_class(text))
    numbers = text.rsplit("=", 1)[-1].split(":")
    names = [name.strip() for name in text.split("=")[0].split(":")] if "=" in text else None
    try:
        first, second = (float(number) for number in numbers)
    except ValueError:
        first = second = -1.0
    if names not in (None, ["missed", "false_alarm"], ["false_alarm", "missed"]) or not (
        _LEAST <= first <= _MOST and _LEAST <= second <= _MOST
    ):
        raise DataError(
            "costs must be two numbers above 0, from 1e-100 to 1e100: of a missed row of the "
            f"positive class and of a false alarm, such as 5:1. Got {text!r}."
        )
    return Costs(second, first) if names == ["false_alarm", "missed"] else Costs(first, second)


def _by_class(text: str) -> tuple[tuple[str, str, float], ...]:
    """Read the cost of mistakes by the true class and the predicted one."""
    found: list[tuple[str, str, float]] = []
    for part in text.split(","):
        names, _, number = part.rpartition("=")
        true, _, predicted = (word.strip() for word in names.partition(">"))
        try:
            cost = float(number)
        except ValueError:
            cost = -1.0
        twice = (true, predicted) in [(first, second) for first, second, _ in found]
        if not true or not predicted or true == predicted or twice or not _LEAST <= cost <= _MOST:
            raise DataError(
                'costs by class must be as "a>b = 5, a>c = 2": the true class, the predicted one, '
                "and a number above 0, from 1e-100 to 1e100, each mistake once. "
                f"Got {part.strip()!r}."
            )
        found.append((true, predicted, cost))
    return tuple(found)


@dataclass(frozen=True)
class Measure:
    """What a choice is made by: a measure, and what it needs to know.

    `positive` is the number of the positive class, of two. `level` is the largest share of false
    alarms allowed, for `misses`.
    """

    scoring: str = "error"
    costs: Costs = Costs()
    positive: int = 1
    level: float = 0.0

    @property
    def title(self) -> str:
        """Its name where it is shown.

        >>> Measure("misses", level=0.07).title
        'share missed at 7 % false alarms'
        """
        return TITLES[self.scoring].format(100.0 * self.level)

    def shown(self, loss: Any) -> Any:
        """Return a loss as the measure is usually given: accuracy, F1 and their like grow."""
        return 1.0 - loss if self.scoring in _LARGER_IS_BETTER else loss

    @property
    def larger_is_better(self) -> bool:
        """Whether it is shown as a figure that should be large."""
        return self.scoring in _LARGER_IS_BETTER

    def check_classes(self, n_classes: int) -> None:
        """Refuse a measure that several classes have no meaning for."""
        if n_classes > 2 and self.scoring in _ONLY_TWO and not self.costs.matrix:
            by_class = ' give costs by class, --costs "a>b = 5, a>c = 2",'
            more = by_class if self.scoring == "cost" else ""
            raise DataError(
                f"{_ONLY_TWO[self.scoring]} two classes, and there are {n_classes}. Name one with "
                f"--positive to set it against all others,{more} or use --scoring balanced."
            )

    def has_threshold(self, n_models: int) -> bool:
        """Whether it is taken at a threshold of its own: of two classes, a measure of calls."""
        return n_models == 1 and self.scoring in WITH_THRESHOLD

    def judges(self, codes: np.ndarray) -> bool:
        """Whether rows of these classes define it: most measures need two classes or more."""
        return self.scoring in _OF_ANY_ROWS or len(np.unique(codes)) > 1

    def threshold(self, scores: np.ndarray, codes: np.ndarray) -> float:
        """Return the threshold of least loss of held-out scores, a column a model."""
        if not self.has_threshold(scores.shape[1]):
            return 0.0
        sign = 1.0 if self.positive == 1 else -1.0
        found = best_threshold(
            sign * scores[:, 0], codes == self.positive, self.scoring, self.costs, self.level
        )
        # Of the class below, a row at the threshold is not called.
        return found if self.positive == 1 else float(np.nextafter(-found, -np.inf))

    def loss(
        self, scores: np.ndarray, codes: np.ndarray, threshold: float = 0.0, shares: Any = None
    ) -> float:
        """Return the loss of scores at a threshold.

        `shares` are probabilities: of the log loss, and of the class of least expected cost.
        """
        if self.scoring == "cost" and self.costs.matrix and shares is not None:
            matrix = np.array(self.costs.matrix)
            return float(matrix[codes, least_cost(shares, matrix)].mean())
        if self.scoring == "log_loss":
            own = shares[np.arange(len(codes)), codes]
            return float(-np.log(np.maximum(own, np.finfo(float).tiny)).mean())
        if scores.shape[1] == 1 and self.positive == 0:
            # A row at the threshold is of the first class.
            flipped, own = -scores, np.nextafter(-threshold, -np.inf)
            return loss_of(flipped, 1 - codes, self.scoring, own, self.costs)
        return loss_of(scores, codes, self.scoring, threshold, self.costs)

    def losses(
        self, parts: Sequence[tuple[np.ndarray, np.ndarray]], kind: str = "hinge"
    ) -> np.ndarray:
        """Return the loss of every fold, from the scores and class numbers of its held-out rows.

        Threshold and slopes of probabilities are those of all folds together. `kind` says how
        scores become probabilities: "softmax", "logistic", or else by fitted slopes. A fold whose
        rows do not define the measure has NaN.
        """
        scores = np.concatenate([part[0] for part in parts])
        codes = np.concatenate([part[1] for part in parts])
        threshold = self.threshold(scores, codes)
        shares: list[Any] = [None] * len(parts)
        if self.scoring == "log_loss" or (self.scoring == "cost" and self.costs.matrix):
            ends = np.cumsum([len(part[1]) for part in parts])[:-1]
            shares = np.split(probabilities(scores, codes, kind), ends)
        found = [
            self.loss(*part, threshold, own) if self.judges(part[1]) else np.nan
            for part, own in zip(parts, shares, strict=True)
        ]
        if np.isnan(found).all():
            raise DataError(
                f"{self.title} needs rows of two classes, and none of the {len(parts)} folds holds "
                "such among its held-out rows. Use fewer folds, or choose by the error."
            )
        return np.array(found)


def probabilities(scores: np.ndarray, codes: np.ndarray, kind: str) -> np.ndarray:
    """Return the probability of every class, from scores with a column a model."""
    from scipy.special import expit, softmax

    from separatrix.core.linear_model import fitted_slopes

    if kind == "softmax":
        return np.asarray(softmax(scores, axis=1))
    if kind != "logistic":
        slopes = fitted_slopes(scores, codes, np.ones(len(codes)))
        return slopes.probabilities(scores[:, 0] if scores.shape[1] == 1 else scores)
    if scores.shape[1] == 1:
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])
    each = np.maximum(expit(scores), np.finfo(float).tiny)
    return np.asarray(each / each.sum(axis=1, keepdims=True))


def best_threshold(
    scores: np.ndarray,
    positive: np.ndarray,
    scoring: str,
    costs: Costs | None = None,
    level: float = 0.0,
) -> float:
    """Return the threshold of least loss for two classes; 0 where the measure needs none.

    It lies halfway between two scores. Of several the one nearest to 0 is taken.

    >>> best_threshold(np.array([-2.0, -1.0, 1.0]), np.array([False, True, True]), "balanced")
    -1.5
    """
    if scoring not in WITH_THRESHOLD or not len(scores):
        return 0.0
    order = np.argsort(scores, kind="stable")
    ordered, is_positive = scores[order], positive[order]
    cuts = np.flatnonzero(np.diff(ordered) > 0.0) + 1  # rows before a cut are called negative
    cuts = np.concatenate([[0], cuts, [len(scores)]])
    missed = np.concatenate([[0], np.cumsum(is_positive)])[cuts]
    passed = np.concatenate([[0], np.cumsum(~is_positive)])[cuts]  # negative rows called negative
    true = is_positive.sum() - missed
    false = (~is_positive).sum() - passed
    losses = loss_of_counts(true, false, passed, missed, scoring, costs)
    if scoring == "misses":
        losses = np.where(false <= level * max(1, false[0]), losses, np.inf)
    outside = 1.0 + abs(ordered[[0, -1]])
    places = np.concatenate([[ordered[0] - outside[0]], ordered, [ordered[-1] + outside[1]]])
    below, above = places[cuts], places[cuts + 1]
    middle = 0.5 * below + 0.5 * above  # halves first: the sum of two large scores may overflow
    thresholds = np.where(middle < above, middle, below)
    best = np.flatnonzero(losses <= losses.min() + 1e-12)
    return float(thresholds[best[np.argmin(np.abs(thresholds[best]))]])


def loss_of_counts(
    tp: Any, fp: Any, tn: Any, fn: Any, scoring: str, costs: Costs | None = None
) -> np.ndarray:
    """Return a loss from counts of right and wrong answers, arrays or numbers."""
    costs = costs or Costs()
    tp, fp, tn, fn = (np.asarray(each, dtype=np.float64) for each in (tp, fp, tn, fn))
    n = tp + fp + tn + fn
    if scoring == "error":
        return (fp + fn) / n
    if scoring == "cost":
        return (costs.missed * fn + costs.false_alarm * fp) / n
    if scoring == "balanced":
        there = (tp + fn > 0.0).astype(float) + (tn + fp > 0.0)
        return 1.0 - (_share(tp, tp + fn) + _share(tn, tn + fp)) / there
    if scoring == "f1":
        return 1.0 - _share(2.0 * tp, 2.0 * tp + fp + fn)
    if scoring == "misses":
        return _share(fn, tp + fn)
    if scoring == "minimax":
        return np.maximum(_share(fn, tp + fn), _share(fp, tn + fp))
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
) -> float:
    """Return the loss of held-out scores, a column a model; less is better."""
    if scores.shape[1] == 1:
        return _of_two(scores[:, 0], codes == 1, scoring, threshold, costs or Costs())
    if scoring == "auc":
        each = [
            _auc(scores[:, k], codes == k)
            for k in range(scores.shape[1])
            if 0 < np.count_nonzero(codes == k) < len(codes)
        ]
        return 1.0 - float(np.mean(each)) if each else 0.5
    return _of_many(scores.argmax(axis=1), codes, scores.shape[1], scoring, costs or Costs())


def _of_two(
    scores: np.ndarray, positive: np.ndarray, scoring: str, threshold: float, costs: Costs
) -> float:
    if scoring == "auc":
        return 1.0 - _auc(scores, positive)
    called = scores > threshold
    right, wrong = called & positive, called & ~positive
    passed, missed = ~called & ~positive, ~called & positive
    tp, fp, tn, fn = (int(each.sum()) for each in (right, wrong, passed, missed))
    return float(loss_of_counts(tp, fp, tn, fn, scoring, costs))


def _auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve: how often a positive row has the larger score."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1.0))[places]
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return 0.5
    return float((ranks[positive].sum() - 0.5 * n * (n + 1.0)) / (n * m))


def _of_many(
    predicted: np.ndarray, codes: np.ndarray, n_classes: int, scoring: str, costs: Costs
) -> float:
    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (codes, predicted), 1.0)
    right, true, called = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    if scoring == "error":
        return 1.0 - float(right.sum() / table.sum())
    if scoring == "cost":
        return float((table * np.array(costs.matrix)).sum() / table.sum())
    if scoring == "balanced":
        there = true > 0.0
        return 1.0 - float((right[there] / true[there]).mean())
    if scoring == "f1":
        there = true + called > 0.0
        return 1.0 - float((2.0 * right[there] / (true + called)[there]).mean())
    assert scoring == "mcc", "others are refused before (`Measure.check_classes`)"
    n = table.sum()
    spread = np.sqrt(n * n - (called**2).sum()) * np.sqrt(n * n - (true**2).sum())
    return 1.0 - float(_share(np.asarray(right.sum() * n - called @ true), np.asarray(spread)))
