"""Where to look: which loss, the grid of C, what stands between its values, when to give up.

    choose C to minimise   mean over folds f of  error(C, f)

The error over log C is flat or falls to a valley and rises again; between values a factor of ten
apart there may be a better one, so the two geometric means next to the best are tried too, as the
lecture finds 0.32 between 0.1 and 1.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.core.checks import positive

__all__ = [
    "best_of",
    "fitting_loss",
    "grid",
    "is_hopeless",
    "least_within_one_error",
    "refined",
    "sparse_grid",
    "standard_error",
]

_LOWEST, _HIGHEST, _VALUES = 1e-2, 1e3, 6
_SPARSE_VALUES = 50
_LARGEST = 1e300  # of the values of C, where the first is not larger
# So many standard errors above the best, twice in a row, and an end of the path is given up.
_HOPELESS = 4.0
_LARGE_ENTRIES, _WIDE = 3_000_000, 2000


def fitting_loss(X: Any) -> tuple[str, str]:
    """Return the loss to search with, and a remark where it is not the hinge.

    >>> import numpy as np
    >>> fitting_loss(np.zeros((100, 3)))
    ('hinge', '')
    """
    entries = getattr(X, "nnz", X.size)
    if entries <= _LARGE_ENTRIES or X.shape[1] > _WIDE:
        return "hinge", ""
    return "logistic", (
        f"The data are large ({entries:,} values), so the loss is logistic; --loss hinge asks for "
        "the support vector machine, which takes about ten times as long."
    )


def grid(Cs: Any) -> tuple[np.ndarray, bool]:
    """Return the values of C to try, ascending, and whether they were given one by one.

    >>> grid(None)[0].tolist()
    [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
    >>> grid([1, 0.5])
    (array([0.5, 1. ]), True)
    """
    if Cs is None:
        Cs = _VALUES
    if isinstance(Cs, numbers.Integral) and not isinstance(Cs, bool):
        positive("Cs", Cs, whole=True)
        if Cs == 1:
            return np.ones(1), False
        values = np.geomspace(_LOWEST, _HIGHEST, int(Cs))
        # Powers of ten are written as people write them, not with the rounding of a logarithm.
        return np.array([float(f"{value:.12g}") for value in values]), False
    try:
        values = np.unique(np.asarray(Cs, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        values = np.zeros(0)
    if not len(values) or not (np.isfinite(values).all() and (values > 0.0).all()):
        raise ValueError(
            "Cs must be a number of values or a list of numbers above 0 and below inf (the hard "
            f"margin is LinearSVM(C=inf)). Got {Cs!r} instead."
        )
    return values, True


def sparse_grid(Cs: Any, least: float, X: Any) -> tuple[np.ndarray, bool]:
    """Return the values of C for sparse weights, from the largest that leaves all of them zero.

    An int asks for as many values up to 1000 times that, or 100 times where columns outnumber rows.
    Columns of unlike sizes come in one after another, and the values go further: a column a
    thousand times as small as the first comes in at a thousand times its C.

    >>> sparse_grid(3, 0.5, np.ones((1, 2)))[0].tolist()
    [0.5, 5.0, 50.0]
    """
    if Cs is None:
        Cs = _SPARSE_VALUES
    if not isinstance(Cs, numbers.Integral) or isinstance(Cs, bool):
        return grid(Cs)
    positive("Cs", Cs, whole=True)
    if not np.isfinite(least):
        return np.ones(1), False  # no column matters at any C
    span = (100.0 if X.shape[1] > X.shape[0] else 1000.0) * max(1.0, _spread(X))
    most = max(1.0, _LARGEST / max(float(least), 1.0))
    return least * np.geomspace(1.0, min(span, most), int(Cs)), False


def _spread(X: Any) -> float:
    """Return how much larger the largest column is than the middle one: at most a million."""
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        else:
            squares = np.var(X, axis=0, dtype=np.float64)
    sizes = np.sqrt(squares[np.isfinite(squares) & (squares > 0.0)])
    return float(min(1e6, sizes.max() / np.median(sizes))) if len(sizes) else 1.0


def refined(Cs: np.ndarray, best: int) -> list[float]:
    """Return the geometric means of the best value and its neighbours.

    >>> [round(C, 3) for C in refined(np.array([0.1, 1.0, 10.0]), 1)]
    [0.316, 3.162]
    >>> [round(C, 3) for C in refined(np.array([0.1, 1.0, 10.0]), 0)]
    [0.316]
    """
    near = [k for k in (best - 1, best + 1) if 0 <= k < len(Cs)]
    means = [float(np.sqrt(Cs[k]) * np.sqrt(Cs[best])) for k in near]
    return [C for C in means if C not in Cs]


def best_of(losses: np.ndarray) -> int:
    """Return the row of least mean, the first of equals: the smallest C.

    >>> best_of(np.array([[0.3, 0.3], [0.1, 0.2], [0.2, 0.1]]))
    1
    """
    means = losses.mean(axis=1)
    # Equal means may differ by the rounding of their sums.
    return int(np.argmax(means <= means.min() + 1e-12 * (abs(means.min()) + 1e-3)))


def least_within_one_error(losses: np.ndarray) -> int:
    """Return the first row whose mean is within one standard error of the best row's mean.

    >>> least_within_one_error(np.array([[0.9, 0.9], [0.3, 0.1], [0.2, 0.0]]))
    1
    """
    best = best_of(losses)
    means = losses.mean(axis=1)
    return int(np.argmax(means <= means[best] + standard_error(losses[best])))


def is_hopeless(losses: np.ndarray, judged: float) -> bool:
    """Whether a walk along C may end: its last two values are far worse than its best.

    Far is four standard errors: the larger of those of the two rows compared and of what as many
    coin throws as rows were `judged` would have. And the last must not be better than the one
    before it.

    >>> is_hopeless(np.array([[0.10, 0.12], [0.3, 0.31], [0.4, 0.38]]), 1000)
    True
    >>> is_hopeless(np.array([[0.10, 0.12], [0.3, 0.31], [0.2, 0.2]]), 1000)
    False
    """
    if len(losses) < 3 or losses.shape[1] < 2:
        return False
    best = losses[best_of(losses)]
    last, before = losses[-1], losses[-2]
    if last.mean() < before.mean():
        return False
    share = float(np.clip(best.mean(), 0.0, 1.0))
    coins = np.sqrt((share * (1.0 - share) + 1.0 / max(judged, 1.0)) / max(judged, 1.0))
    for row in (last, before):
        error = max(standard_error(best), standard_error(row), float(coins))
        if not row.mean() - best.mean() > _HOPELESS * error:
            return False
    return True


def standard_error(values: np.ndarray, cuts: int = 1) -> float:
    """Return the standard error of the mean; 0 of one value.

    The rows are the same in every cut into folds: more cuts count as one.

    >>> once = np.array([0.1, 0.2, 0.3])
    >>> abs(standard_error(np.tile(once, 100), 100) / standard_error(once) - 0.8165) < 0.01
    True
    """
    return float(values.std(ddof=1) / np.sqrt(len(values) / cuts)) if len(values) > 1 else 0.0
