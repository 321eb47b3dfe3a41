"""The threshold of a model file, proved again from the rows that were set apart for it.

Where the file says that its threshold bounds false alarms, the rows named must not be those of
training, and the threshold must be the score that the bound takes (`core.thresholds`). How those
rows were drawn nothing can prove: the claim is made on that condition, and says so. Any other
threshold is a number that nothing proves: it is named as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.thresholds import AlarmBound
from separatrix.storage.claims_of_gaps import THRESHOLD
from separatrix.storage.fitted_values import Mismatch, require

__all__ = ["HOW_DRAWN", "proved_threshold", "require_alarm_bound"]

HOW_DRAWN = "how the rows set apart were drawn"

_ROUNDING = 1e-9


def proved_threshold(whole: Any, X: Any, labels: np.ndarray, not_proved: list[str]) -> str:
    """Return what the threshold of a file is proved to do, or nothing; X and labels are all rows.

    What was named as not proved, and is proved here, is taken off that list.
    """
    claim = _read(whole.about.get("threshold"))
    if claim is None:
        return ""
    model = whole.model
    require(hasattr(type(model), "threshold_"), "the model has no threshold to make claims about")
    trained = np.arange(len(labels)) if whole.rows is None else whole.rows
    require_alarm_bound(
        claim, float(model.threshold_), X, labels, trained, model.coef_[0], model.intercept_[0]
    )
    if THRESHOLD in not_proved:
        not_proved.remove(THRESHOLD)
    not_proved.append(HOW_DRAWN)
    return f"; {claim}"


def _read(plain: Any) -> AlarmBound | None:
    try:
        return AlarmBound.from_dict(plain)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise Mismatch("the claim about the threshold is not well-formed") from error


def require_alarm_bound(
    claim: AlarmBound,
    threshold: float,
    X: Any,
    labels: np.ndarray,
    trained: np.ndarray,
    weights: np.ndarray,
    intercept: float,
) -> None:
    """Require that the threshold is the one that the rows set apart give."""
    rows = claim.rows
    inside = bool(len(rows)) and rows.min() >= 0 and rows.max() < len(labels)
    require(inside, "the rows set apart for the threshold are not in these data")
    apart = not np.isin(rows, trained).any()
    require(apart, "rows set apart for the threshold were trained on")
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(X[rows] @ weights).ravel() + intercept
        room = _ROUNDING * (float((abs(X[rows]) @ abs(weights)).max()) + abs(intercept) + 1.0)
    classes, codes = np.unique(labels, return_inverse=True)
    again = claim.threshold(scores, codes[rows], [str(name) for name in classes.tolist()])
    near = again is not None and abs(again - threshold) <= room
    require(near, "threshold_ of the model does not follow from the rows set apart for it")
