"""A threshold whose share of false alarms is bounded: Neyman and Pearson's task, with confidence.

    find the least t  such that  P(P(score > t | negative) > level) <= 1 - confidence

The scores s_(1) <= ... <= s_(n) are of negative rows that had no part in the model. The k-th has a
false alarm rate above the level with a probability of at most

    P(Bin(n, 1 - level) >= k)

whatever the distribution of scores is; with equality where it is continuous. The threshold is the
s_(k) of the least k for which that is small enough (Tong, Feng and Li, 2018: the umbrella
algorithm). It exists only if (1 - level)^n <= 1 - confidence.

The rows must be drawn as later rows will be, and must have had no part in fitting or choosing the
model. Scores of folds are not enough: they belong to models of fewer rows. So a study sets rows
apart for the threshold.

Losses of decisions: W(decision, state), a row for each decision and a column for each class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.checker.exact import at_least, at_most
from separatrix.errors import DataError

CONFIDENCE = 0.95
RULE = "false_alarms"
WITHOUT_PROMISE = ("balanced", "f1", "mcc", "cost", "minimax")  # best on held-out scores
_FIELDS = {"rule", "level", "confidence", "positive", "rows"}
_SHARE = 1.0 / 3.0  # of the training rows, set apart for the threshold
_MOST = 0.5
_LEAST = 2.0**-52  # 1 less a smaller level is 1
_ROOM_OF_SUMS = 4 * 2.0**-53  # times the products of a sum and their size


def check_level(level: float) -> None:
    """Refuse a share of false alarms that is none."""
    if not _LEAST < level < 1.0:
        raise DataError(
            f"the share of false alarms must lie between 0 and 1, such as 0.01. Got {level:g}."
        )


def rows_needed(level: float, confidence: float = CONFIDENCE) -> int:
    """Return the least number of negative rows from which a threshold can be had.

    >>> rows_needed(0.01), rows_needed(0.05)
    (299, 59)
    """
    check_level(level)
    return max(1, math.ceil(math.log(1.0 - confidence) / math.log1p(-level)))


def order_statistic(n: int, level: float, confidence: float = CONFIDENCE) -> int | None:
    """Return the least k with P(Bin(n, 1 - level) >= k) <= 1 - confidence, or None.

    >>> order_statistic(299, 0.01), order_statistic(298, 0.01), order_statistic(1000, 0.05)
    (299, None, 962)
    """
    from scipy.special import bdtrc

    if n < rows_needed(level, confidence):
        return None
    ks = np.arange(1, n + 1)
    enough = np.flatnonzero(bdtrc(ks - 1, n, 1.0 - level) <= 1.0 - confidence)
    return int(ks[enough[0]]) if len(enough) else None


def room_of_scores(X: Any, weights: np.ndarray, intercept: float) -> float:
    """Return how far two ways of adding up may bring the scores ``w.x + b`` of a row apart."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.asarray(abs(X) @ abs(weights)).max() + abs(intercept)
    return _ROOM_OF_SUMS * (len(weights) + 2) * float(sizes)


def bounded_threshold(
    scores: np.ndarray,
    codes: np.ndarray,
    positive: int,
    level: float,
    confidence: float,
    room: float = 0.0,
) -> float | None:
    """Return the threshold of a model from scores of rows set apart; None where they are too few.

    The second class is predicted above it. `positive` is the class whose calls are the alarms.
    With `room` for rounding, rows of that very score are no alarm wherever they are scored again.
    """
    sign = 1.0 if positive == 1 else -1.0
    negative = np.sort(sign * scores[codes != positive])
    k = order_statistic(len(negative), level, confidence)
    if k is None:
        return None
    found = sign * (float(negative[k - 1]) + room)
    # A score equal to the threshold is no alarm, on whichever side alarms are.
    return found if positive == 1 else float(np.nextafter(found, -np.inf))


def rows_apart(
    negatives: int, rows: int, level: float, name: str, confidence: float = CONFIDENCE
) -> int:
    """Return how many of the training rows to set apart; `negatives` of them are of class `name`.

    A third, or more where that is too few for the level, but at most half.

    >>> rows_apart(3000, 4000, 0.01, "no"), rows_apart(700, 1000, 0.01, "no")
    (1333, 429)
    """
    needed = rows_needed(level, confidence)
    whole = math.ceil((needed + 1) * rows / max(negatives, 1))
    if whole > _MOST * rows:
        raise DataError(
            f"at most {level:g} false alarms with confidence {confidence:g} need {needed:,} rows "
            f"of class {name} apart from training. Half of the {negatives:,} there are is too few: "
            f"give at least {2 * (needed + 1):,} of them, or allow more false alarms."
        )
    return max(whole, round(_SHARE * rows))


@dataclass(frozen=True, eq=False)
class AlarmBound:
    """The claim that at most `level` of later rows of the other class are called `positive`.

    It is made with `confidence`, from the scores of `rows` of the data, which did not train.
    """

    level: float
    confidence: float
    positive: str
    rows: np.ndarray

    def threshold(
        self, scores: np.ndarray, codes: np.ndarray, names: Sequence[str], room: float = 0.0
    ) -> float | None:
        """Return the threshold, from scores and class numbers of the rows; `names` the classes.

        The names are in the order of the model: the second is predicted above the threshold.
        """
        if len(names) != 2 or self.positive not in names:
            return None
        positive = list(names).index(self.positive)
        return bounded_threshold(scores, codes, positive, self.level, self.confidence, room)

    def allows(self, value: float, again: float, names: Sequence[str], room: float) -> bool:
        """Whether a threshold is the one found `again`, or higher by what rounding may do.

        Never lower: of rows that share a score, each would be an alarm.
        """
        sign = 1.0 if list(names).index(self.positive) == 1 else -1.0
        return bool(0.0 <= sign * (value - again) <= 2.0 * room)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that say the same."""
        return {
            "rule": RULE,
            "level": self.level,
            "confidence": self.confidence,
            "positive": self.positive,
            "rows": self.rows.tolist(),
        }

    @classmethod
    def from_dict(cls, plain: Any) -> AlarmBound | None:
        """Return the claim that plain data make; None where there is none to prove.

        Data of any other form are refused.
        """
        if plain is None:
            return None
        if not isinstance(plain, dict):
            raise ValueError("the claim about the threshold is not well-formed")
        if plain.get("rule") in WITHOUT_PROMISE and set(plain) <= {"rule", "value"}:
            return None
        if plain.get("rule") != RULE or set(plain) - {"value"} != _FIELDS:
            raise ValueError("the claim about the threshold is not well-formed")
        level, confidence = float(plain["level"]), float(plain["confidence"])
        rows = np.array(plain["rows"], dtype=np.int64)
        sound = _LEAST < level < 1.0 and 0.5 <= confidence < 1.0 and rows.ndim == 1
        if not sound or len(np.unique(rows)) != len(rows):
            raise ValueError("the claim about false alarms is not well-formed")
        return cls(level, confidence, str(plain["positive"]), rows)

    def __str__(self) -> str:
        return (
            f"if the {len(self.rows):,} rows set apart were drawn as later rows will be, with "
            f"confidence {at_least(as_written(self.confidence), 6)} at most "
            f"{at_most(100 * as_written(self.level), 6)} % of later rows of the "
            f"other class are called {self.positive}"
        )


def as_written(value: float) -> Fraction:
    """Return the decimal that somebody wrote, not the float nearest to it.

    >>> as_written(0.05), at_most(100 * as_written(0.07), 6)
    (Fraction(1, 20), '7')
    """
    return Fraction(repr(float(value)))


# ---- losses of decisions: W(decision, state), a row for each decision and a column for each class


def as_loss_matrix(loss: Any, n_classes: int) -> np.ndarray:
    """Return the loss as numbers, or say what is wrong with it; None is one for every error.

    >>> as_loss_matrix(None, 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if loss is None:
        return 1.0 - np.eye(n_classes)
    matrix = np.asarray(loss, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"the loss must have a row for each decision and a column for each of the {n_classes} "
            f"classes. Got the shape {matrix.shape} instead."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("the loss must hold finite numbers.")
    return matrix


def as_priors(priors: Any, n_classes: int) -> np.ndarray:
    """Return prior probabilities that sum to 1, or say what is wrong with them.

    >>> as_priors([1, 3], 2).tolist()
    Traceback (most recent call last):
    ValueError: priors must be 2 numbers at least 0 that sum to 1. Got [1.0, 3.0] instead.
    """
    shares = np.asarray(priors, dtype=np.float64)
    good = shares.shape == (n_classes,) and (shares >= 0.0).all()
    if not good or not math.isclose(float(shares.sum()), 1.0, rel_tol=1e-9):
        raise ValueError(
            f"priors must be {n_classes} numbers at least 0 that sum to 1. "
            f"Got {shares.tolist()} instead."
        )
    return shares / shares.sum()


def log_odds_threshold(loss: np.ndarray) -> float:
    """Return the log-odds of the second class above which deciding for it loses less.

    >>> round(log_odds_threshold(np.array([[0.0, 10.0], [1.0, 0.0]])), 6)
    -2.302585
    """
    false_alarm, miss = loss[1, 0] - loss[0, 0], loss[0, 1] - loss[1, 1]
    if not (false_alarm > 0.0 and miss > 0.0):
        raise ValueError(
            "each error must lose more than the right decision for the same class: "
            "loss[1, 0] > loss[0, 0] and loss[0, 1] > loss[1, 1]."
        )
    return math.log(false_alarm) - math.log(miss)
