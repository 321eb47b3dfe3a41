"""Which C of a path, and which of several candidates, by their losses on the same folds.

The least mean loss wins. With few rows a small lead does not count: the candidate that was tried
before another is the simpler one, and is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.selection.scores import Measure

__all__ = ["chosen_of", "is_near", "middle_of_best", "rule_of_choice", "standard_error"]

_MANY, _LEAD = 2_000, 0.25  # below so many rows a lead counts from so many standard errors on
_BEHIND = 1.0  # standard errors of the difference: a loss so far behind is dropped


def middle_of_best(errors: np.ndarray) -> int:
    """Return the row of least mean error; of several in a line, the one in their middle.

    >>> middle_of_best(np.array([[0.3], [0.1], [0.1], [0.1], [0.2]]))
    2
    """
    means = errors.mean(axis=1)
    best = np.flatnonzero(means <= means.min() + 1e-12)
    around = np.convolve(np.pad(means, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid")
    best = best[around[best] <= around[best].min() + 1e-12]
    return int(best[(len(best) - 1) // 2])


def is_near(rival: np.ndarray, losses: np.ndarray) -> bool:
    """Whether a candidate is not far behind a rival, by the losses of both on the same folds.

    >>> rival = np.array([0.20, 0.22, 0.18])
    >>> is_near(rival, np.array([0.21, 0.20, 0.20])), is_near(rival, rival + [0.02, 0.03, 0.02])
    (True, False)
    """
    behind = losses - rival
    return bool(behind.mean() <= _BEHIND * standard_error(behind))


def chosen_of(errors: Sequence[np.ndarray], n_rows: int, cuts: int = 1) -> int:
    """Return the place of the candidate to take; `errors` are those of folds, the first preferred.

    Rows may have been cut into folds several times.

    >>> errors = [np.array([0.20, 0.22, 0.18]), np.array([0.19, 0.22, 0.19])]
    >>> chosen_of(errors, 100), chosen_of([errors[0], errors[0] - 0.05], 100)
    (0, 1)
    """
    share = _LEAD if n_rows < _MANY else 0.0
    best = int(np.argmin([each.mean() for each in errors]))
    for place, each in enumerate(errors[:best]):
        lead = each - errors[best]
        if lead.mean() <= share * standard_error(lead, cuts):
            return place
    return best


def rule_of_choice(
    n_rows: int, measure: Measure | None = None, cuts: int = 1, is_hard: bool = False
) -> str:
    """Say what chose among the candidates, and how small leads were settled.

    `is_hard`: nobody gave the measure, the many errors did (`hard_choice.py`).

    >>> rule_of_choice(5_000)
    'Chosen by the least error on held-out rows.'
    """
    end = "highest" if measure is not None and measure.larger_is_better else "least"
    what = f"Chosen by the {end} {'error' if measure is None else measure.title} on held-out rows"
    if is_hard:
        what += ", since all features left so many errors that their number says little"
    if n_rows >= _MANY:
        return f"{what}."
    again = f" Candidates near the best were judged on {cuts} cuts into folds." if cuts > 1 else ""
    return (
        f"{what}; a lead of at most a quarter of its standard error does not count, and the "
        f"simpler candidate, tried before, wins.{again}"
    )


def standard_error(values: np.ndarray, cuts: int = 1) -> float:
    """Return the standard error of the mean; 0 of one value.

    The rows are the same in every cut into folds: more cuts count as one.

    >>> once = np.array([0.1, 0.2, 0.3])
    >>> abs(standard_error(np.tile(once, 100), 100) / standard_error(once) - 0.8165) < 0.01
    True
    """
    return float(values.std(ddof=1) / np.sqrt(len(values) / cuts)) if len(values) > 1 else 0.0
