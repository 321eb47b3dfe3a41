"""``sx.inference``: estimates of logistic regression with errors, intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.core.checks import one_of, positive
from separatrix.errors import DataError
from separatrix.infer.given import Given, given
from separatrix.infer.likelihood import METHODS, chi_squared_tail, normal_quantile, two_sided
from separatrix.infer.model import Numbers, Task, fit_numbers
from separatrix.infer.profile import face_of
from separatrix.infer.result import Inference, measures

__all__ = ["inference"]

_NAMES_SHOWN = 8


def inference(
    X: Any,
    y: Any = None,
    method: str = "mle",
    *,
    sample_weight: Any = None,
    terms: Any = None,
    level: float = 0.95,
    intervals: str | None = None,
    reference: Mapping[str, str] | None = None,
    feature_names: Sequence[str] | None = None,
    offset: Any = None,
    groups: Any = None,
    errors: str = "information",
    C: float = 1.0,
    fit_intercept: bool = True,
    each: Any = None,
    prove: bool = True,
) -> Any:
    """Estimate a logistic regression: coefficients, errors, intervals and tests by name.

    Parameters
    ----------
    X : array, sparse matrix, frame or `sx.Table`
        A frame may hold categories: each gives a column for every level but the reference.
    y : array, str or None, default=None
        Labels of two classes, or the name of a column of the frame. The probability of
        the second label in sorted order is modelled.
    method : {"mle", "firth", "ridge"}, default="mle"
        Maximum likelihood; Firth's penalised likelihood, whose estimates are always finite; or the
        ridge ``1/(2 C) |w|^2``, the intercept not penalised.
    sample_weight : array or None, default=None
        Counts of rows; weight k equals k copies.
    terms : list of str, str or None, default=None
        Names of columns, or a formula (with the package formulaic). None takes all columns.
    level : float, default=0.95
        The confidence level of the intervals.
    intervals : {"profile", "wald"} or None, default=None
        What `lower`, `upper` and `p_value` are: ends of the profile likelihood with the
        likelihood-ratio test, or Wald's. With groups only Wald's.
    reference : dict or None, default=None
        The reference level of categories, such as ``{"smoker": "no"}``.
    feature_names : list of str or None, default=None
        The names of the columns of an array.
    offset : array or None, default=None
        A known part of the linear predictor, one number for each row.
    groups : array or None, default=None
        Names of clusters, for cluster-robust (sandwich) errors.
    errors : {"information", "augmented"}, default="information"
        Firth's errors from the inverse information, as brglm2 has them, or with the weights of the
        augmented rows, as some other programs have them.
    C : float, default=1.0
        The C of the ridge.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    each : array or None, default=None
        Columns to be tested one at a time.
        A matrix with a column for each test; X holds the covariates that all share. The answer is
        a `Scan`.
    prove : bool, default=True
        Whether to enclose what is reported.

    Returns
    -------
    Inference or Scan
        A table by name: ``found["dose"]["estimate"]``, `to_frame()`, `certificate`. A `Scan` with
        `each`.

    See Also
    --------
    LogisticRegression : predictions, without standard errors.
    separability : which estimates are infinite, and why.

    Examples
    --------
    >>> import separatrix as sx
    >>> dose = [[1], [2], [3], [4], [5], [6], [7], [8]]
    >>> died = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> found = sx.inference(dose, died, feature_names=["dose"])
    >>> found["dose"]["estimate"], found["dose"]["lower"] > 0      # doctest: +ELLIPSIS
    (1.2..., True)
    >>> apart = sx.inference(dose, [0, 0, 0, 0, 1, 1, 1, 1], feature_names=["dose"])
    >>> apart["dose"]["estimate"], apart["dose"]["lower"] > 0, apart.separation
    (inf, True, 'separable')
    """
    one_of("method", method, METHODS)
    one_of("errors", errors, ("information", "augmented"))
    positive("C", C)
    if not 1e-9 <= level < 1.0:
        raise ValueError(f"level must be between 0 and 1, not below 1e-9. Got {level!r} instead.")
    if intervals is None:
        intervals = "profile" if groups is None else "wald"
    one_of("intervals", intervals, ("profile", "wald"))
    if groups is not None and intervals == "profile":
        raise ValueError("With groups the intervals are Wald's: set intervals='wald'.")
    if errors == "augmented" and method != "firth":
        raise ValueError("errors='augmented' is for method='firth'.")
    data = given(
        X,
        y,
        sample_weight=sample_weight,
        terms=terms,
        reference=reference,
        feature_names=feature_names,
        offset=offset,
        groups=groups,
        fit_intercept=bool(fit_intercept),
    )
    task = Task(method, float(C), float(level), intervals, errors, data.groups)
    if each is not None:
        from separatrix.infer.scan import scan

        return scan(data, each, task)
    try:
        with np.errstate(all="ignore"):  # what leaves the range is not proved, or refused below
            return _result(data, task, prove)
    except (np.linalg.LinAlgError, OverflowError, ValueError) as error:
        # All that was given has been read: a ValueError is SciPy's, of numbers that left the range.
        raise DataError(
            "Next to float64's limits the fit has no value: columns, weights or C differ too much "
            f"in size, or some column is nearly a sum of others ({error}). Scale the columns, "
            "leave one out, or use method='ridge'."
        ) from error


def _result(data: Given, task: Task, prove: bool) -> Inference:
    design = data.design()
    found = fit_numbers(design, task)
    names = data.model_names
    aliased = [names[j] for j in np.setdiff1d(np.arange(len(names)), found.kept)]
    assert found.face is not None
    assert found.fitted is not None
    assert found.covariance is not None
    separation = face_of(design.X, design.signs).kind if aliased else found.face.kind
    result = Inference(
        names=names,
        table=_table(found, task),
        method=task.method,
        level=task.level,
        intervals=task.intervals,
        errors="cluster" if task.groups is not None else task.errors,
        classes=(str(data.classes[0]), str(data.classes[1])),
        n_rows=len(design.y),
        aliased=aliased,
        separation=separation,
        sentence=_sentence(found, names, task) + _left_out(aliased, separation),
        measures=measures(design, found.log_likelihood, found.fitted, len(found.kept)),
        covariance=found.covariance,
        maxima=found.maxima,
        notes=[*data.notes, *found.failures],
    )
    if prove:
        from separatrix.infer.proving import add_proof

        add_proof(result, data, design, found, task)
    return result


def _table(found: Numbers, task: Task) -> dict[str, np.ndarray]:
    z_level = normal_quantile(task.level)
    with np.errstate(all="ignore"):
        z = np.where(np.isfinite(found.std_error), found.estimate / found.std_error, np.nan)
        half = z_level * np.where(np.isfinite(found.std_error), found.std_error, np.nan)
        wald = found.estimate - half, found.estimate + half
        tests = {
            "p_wald": two_sided(z),
            "p_lr": chi_squared_tail(found.lr),
            "p_score": chi_squared_tail(found.score),
        }
        odds = np.exp(found.estimate)
    profile = task.intervals == "profile"
    lower, upper = (found.lower, found.upper) if profile else wald
    return {
        "estimate": found.estimate,
        "std_error": found.std_error,
        "lower": lower,
        "upper": upper,
        "p_value": tests["p_lr"] if profile else tests["p_wald"],
        "z": z,
        "p_wald": tests["p_wald"],
        "lr": found.lr,
        "p_lr": tests["p_lr"],
        "score": found.score,
        "p_score": tests["p_score"],
        "odds_ratio": odds,
        "wald_lower": wald[0],
        "wald_upper": wald[1],
    }


def _sentence(found: Numbers, names: list[str], task: Task) -> str:
    """Say what separation does to the estimates."""
    assert found.face is not None
    kind = found.face.kind
    if kind == "overlapping":
        return "The classes overlap: the likelihood has one maximum, and it is finite."
    if kind == "undecided":
        return "Whether the classes are separated was not decided."
    start = f"The classes are {kind}: the likelihood has no maximum"
    if task.method != "mle":
        return f"{start}; the penalty makes the estimates finite."
    runs = [names[j] for j in np.flatnonzero(np.isinf(found.estimate))]
    more = f" and {len(runs) - _NAMES_SHOWN} more" if len(runs) > _NAMES_SHOWN else ""
    listed = ", ".join(runs[:_NAMES_SHOWN]) + more
    return (
        f"{start}. Infinite estimates: {listed}. Their intervals have one finite end; Firth's "
        "penalty (method='firth', --firth) gives finite estimates."
    )


def _left_out(aliased: list[str], separation: str) -> str:
    """Say that columns were left out, and how the classes are with them."""
    if not aliased:
        return ""
    return f" This is without {', '.join(aliased)}; with all columns they are {separation}."
