"""What a model must hold whose proof is exact: which rows its hyperplane has on the right side.

The threshold of a model file, proved again from the rows that were set apart for it.

Where the file says that its threshold bounds false alarms, the rows named must not be those of
training, and the threshold must be the score that the bound takes (`core.thresholds`). How those
rows were drawn nothing can prove: the claim is made on that condition, and says so. Any other
threshold is a number that nothing proves: it is named as such.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix.certificates.errors import FewestErrors, errors_of
from separatrix.certificates.partition import Partition, is_witness
from separatrix.certificates.separation import (
    MarginBounds,
    Separation,
    check_separation,
)
from separatrix.core.models import fresh
from separatrix.core.novikoff import mistake_bound
from separatrix.core.thresholds import AlarmBound, room_of_scores
from separatrix.problem.canonical import problem_from, whole_weights
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status
from separatrix.storage.claims_of_gaps import THRESHOLD
from separatrix.storage.fitted_values import (
    Mismatch,
    TrainingRows,
    Values,
    are_same,
    require,
)

__all__ = [
    "HOW_DRAWN",
    "proved_threshold",
    "require_alarm_bound",
]


_ROUNDING, _OPTIMUM = 1e-9, 1e-6


def require_same_weights(values: Values, weights: np.ndarray, intercept: bool) -> None:
    """Require these weights, a row [b, w_1 ... w_d] for each score."""
    model = values.model
    expected = weights[:, 0] if intercept else np.zeros(len(weights))
    flat = model.coef_.ndim == 1
    coef, bias = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    good = np.array_equal(coef, weights[:, 1:]) and np.array_equal(bias, expected)
    values.require(good and not (flat and len(weights) > 1), "coef_", "intercept_")


def _require_halfspace(values: Values, data: TrainingRows) -> None:
    """Require that a model proved by `Separation` or `MarginBounds` is what is proved."""
    model, proof = values.model, values.model.certificate_
    margins = proof if isinstance(proof, MarginBounds) else None
    separation = proof.separation if margins else proof
    same = separation.intercept == bool(model.fit_intercept)
    require(same, "fit_intercept of the model is not the one of its certificate")
    if isinstance(proof, Partition):
        _require_linear_program(values, data)
        return
    weights = np.array(separation.weights)
    require_same_weights(values, weights, separation.intercept)
    _require_separation(separation, data)
    if margins:
        _require_margin_bounds(values, margins, data)
    name = type(model).__name__
    if name == "Perceptron":
        _require_perceptron(values, separation, data)
    elif name == "LinearProgramHalfspace":
        _require_linear_program(values, data)
    elif name == "SGD":
        values.same(objective_=None, dual_objective_=None, gap_=None)
        values.require(model.status_ is Status.SEPARATED, "status_")
        values.record("_centre", "_stream", "validation_errors_")
    elif name == "DeltaRule":
        values.record("loss_", "learning_rate_", "status_")
    values.record("n_iter_", "n_passes_")


def _require_separation(proof: Separation, data: TrainingRows) -> None:
    """Require every field of the certificate; floating-point bounds may be more careful."""
    problem = problem_from(data.X, data.y, proof.intercept)
    again = check_separation(problem, np.array(proof.weights).ravel(), data.names())
    exact = ("holds", "weights", "intercept", "n_rows", "n_features", "classes", "data_sha256")
    good = all(are_same(getattr(proof, name), getattr(again, name)) for name in exact)
    agrees = good and proof.worst_row is not None and proof.agrees(problem, again)
    require(agrees, "the certificate says of its rows what they are not")


def _require_margin_bounds(values: Values, proof: MarginBounds, data: TrainingRows) -> None:
    """Require what `Kozinec` keeps: its coefficients, and what they prove of the margin."""
    model = values.model
    alpha = np.zeros(data.n_rows)
    alpha[list(proof.rows)] = proof.multipliers
    values.same(dual_coef_=alpha, margin_bounds_=(proof.lower, proof.upper))
    wide = proof.upper - proof.lower
    good = {
        Status.SEPARATED: proof.holds and model.epsilon is None,
        Status.EPSILON: proof.holds and model.epsilon is not None and wide <= model.epsilon,
    }
    values.require(good.get(model.status_, True), "status_")
    if model.status_ not in good:
        values.name("status_")


def _require_perceptron(values: Values, proof: Separation, data: TrainingRows) -> None:
    """Require the errors and the bound on mistakes; how many there were, only the run knows."""
    model = values.model
    values.require(model.errors_ == 0 if proof.holds else model.errors_ > 0, "errors_")
    allowed = (Status.SEPARATED, Status.BUDGET) if model.average else (Status.SEPARATED,)
    values.require(not proof.holds or model.status_ in allowed, "status_")
    if vars(model)["novikoff_"] is None:
        values.same(novikoff_=None)
    else:
        values.require(_bounds_mistakes(model, proof, data), "novikoff_")
    kept = model._stream[1]
    good = are_same(kept, np.array(proof.weights).ravel())
    values.require(good, "_stream")
    values.name("_stream")


_SAME = 1.0 + 1e-9  # less than a bound is loosened by: another processor may find other last digits


def _bounds_mistakes(model: Any, proof: Separation, data: TrainingRows) -> bool:
    """Whether the bound that a perceptron keeps is no less than the one its weights prove."""
    run = fresh(model)._run(data.X, data.y)
    if model.update != "single" or model.decay != 0.0:
        return False
    w = run.from_given(np.array(proof.weights).ravel())
    first, rate = run.settings["first"], float(model.learning_rate)
    again, kept = mistake_bound(run.problem, w, model.n_iter_, first, rate), model.novikoff_
    return bool(
        kept.mistakes == model.n_iter_
        and kept.radius >= again.radius
        and kept.margin <= again.margin * _SAME
        and kept.bound * _SAME >= again.bound
    )


def _require_linear_program(values: Values, data: TrainingRows) -> None:
    """Require the slack of every row, and that the mean violation is the least, up to rounding."""
    from separatrix.solvers.separability.linear_program import are_balanced

    model, proof = values.model, values.model.certificate_
    signs = np.where(data.codes == 1, 1.0, -1.0)
    problem = SignedProblem(data.X, signs, bool(model.fit_intercept))
    w = problem.homogeneous(model.coef_, model.intercept_)
    sizes = np.where(signs > 0.0, (signs > 0.0).sum(), (signs < 0.0).sum())
    with np.errstate(over="ignore", invalid="ignore"):
        slack = np.maximum(0.0, 1.0 - problem.margins(w))
        room = _ROUNDING * (abs(problem.X) @ abs(w[1:]) + abs(w[0]) + 1.0)
    values.near("slack_", slack, room)
    duals = model.dual_coef_
    values.require(duals.shape == slack.shape and duals.min() >= -_OPTIMUM, "dual_coef_")
    values.near("dual_objective_", duals.sum(), _ROUNDING * (1.0 + abs(duals).sum()))
    values.record("n_iter_", "n_passes_")
    if model.status_ is Status.SEPARATED and not model.slack:
        separates = isinstance(proof, Separation) or check_separation(problem, w).holds
        values.require(separates, "coef_", "intercept_", "status_")
        values.same(objective_=0.0, witness_=None)
        return
    expected = Status.OPTIMAL if model.slack else Status.NOT_SEPARABLE
    values.require(model.status_ is expected, "status_")
    least = float(slack @ (1.0 / sizes))
    values.near("objective_", least, _OPTIMUM * (1.0 + least))
    good = (duals <= 1.0 / sizes + _OPTIMUM).all() and least - duals.sum() <= _OPTIMUM * (1 + least)
    values.require(bool(good) and are_balanced(problem, duals), "coef_", "intercept_")
    _require_witness(values, problem)


def _require_witness(values: Values, problem: SignedProblem) -> None:
    """Require that the rows kept as witness are none, or cannot be separated."""
    found = values.model.witness_
    good = found is None or is_witness(problem, found.rows, found.multipliers)
    values.require(good, "witness_")


def _require_fewest_errors(values: Values, data: TrainingRows) -> None:
    """Require that `ZeroOne` holds the errors, the bound and the rows that are proved."""
    model, proof = values.model, values.model.certificate_
    problem = problem_from(data.X, data.y, True)
    assert isinstance(problem, SignedProblem), "the certificate was checked for two classes"
    masses, _ = whole_weights(data.weights, data.n_rows)
    if proof.weights:
        require_same_weights(values, np.array([proof.weights]), True)
    w = problem.homogeneous(model.coef_, model.intercept_)
    again = fresh(model)
    again.classes_ = data.classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again._tell(problem, w, proof, masses, proof.errors)
    values.same_as(again, "errors_", "lower_bound_", "misclassified_", "status_")
    if not proof.weights:  # the proof is of integers that floats cannot hold: these must do as well
        values.require(errors_of(problem, masses, w) == proof.errors, "coef_", "intercept_")
    believed = model.lower_bound_ <= model.solver_bound_ <= model.errors_
    values.require(bool(believed), "solver_bound_")
    values.record("n_iter_")


CLAIMS = {
    **dict.fromkeys((MarginBounds, Separation, Partition), _require_halfspace),
    FewestErrors: _require_fewest_errors,
}


# ---- the threshold of a model file, proved again from the rows that were set apart for it


HOW_DRAWN = "how the rows set apart were drawn"


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
    # No more: scores may lie close together.
    room = room_of_scores(X[rows], weights, intercept)
    classes, codes = np.unique(labels, return_inverse=True)
    names = [str(name) for name in classes.tolist()]
    again = claim.threshold(scores, codes[rows], names)
    follows = again is not None and claim.allows(threshold, again, names, room)
    require(follows, "threshold_ of the model does not follow from the rows set apart for it")
