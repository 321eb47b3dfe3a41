"""What `LeastSquares` and `Fisher` must hold, computed again from the rows and the weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.certificates.least_squares import targets_of
from separatrix.core.models import fresh
from separatrix.problem.decision import as_loss_matrix, as_priors, log_odds_threshold
from separatrix.solvers.running.drive import Status
from separatrix.storage.claims_of_halfspaces import require_same_weights
from separatrix.storage.fitted_values import Mismatch, Values
from separatrix.storage.training_rows import TrainingRows

__all__ = ["require_fisher", "require_least_squares"]

_ROUNDING, _SCALE = 1e-9, 1e-6


def require_least_squares(values: Values, data: TrainingRows) -> None:
    """Require that the weights, the ridge and the errors of rows left out are those proved."""
    model, proof = values.model, values.model.certificate_
    for found, expected, name in (
        (proof.ridge, model.ridge_, "ridge_"),
        (proof.task, model.task, "task"),
        (proof.intercept, bool(model.fit_intercept), "fit_intercept"),
        (proof.tolerance, float(model.tol), "tol"),
    ):
        if found != expected:
            raise Mismatch(f"{name} of the model is not the one that its certificate speaks of")
    require_same_weights(values, np.array(proof.weights), True)
    again = fresh(model)
    X = np.asarray(data.X, dtype=np.float64) if isinstance(data.X, np.ndarray) else data.X
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    again._choose_ridge(again._checked(), X, targets_of(data.y, model.task), weights)
    values.same_as(again, "ridge_")
    for name in ("loo_error_", "loo_mistakes_"):
        value = getattr(again, name)
        if value is None:
            values.same(**{name: None})
        else:
            values.near(name, value, _SCALE * (1.0 + abs(value)))
    good = Status.OPTIMAL if proof.holds else (Status.UNPROVED, Status.BUDGET)
    values.require(model.status_ is good or (not proof.holds and model.status_ in good), "status_")
    values.record("method_", "rank_", "_deficient", "n_iter_", "n_passes_")


def require_fisher(values: Values, data: TrainingRows) -> None:
    """Require direction, side, length and threshold: the proof is of the direction alone."""
    model, proof = values.model, values.model.certificate_
    w = np.array(proof.weights)
    values.require(model.coef_.shape == (1, len(w)) and (model.coef_[0] == w).all(), "coef_")
    if model.direction != "fisher" or model.shrinkage not in ("auto", "ledoit-wolf", 0):
        raise Mismatch("the certificate speaks of another direction than the parameters")
    if isinstance(model.threshold, str) and model.threshold not in ("mean", "gaussian"):
        raise Mismatch(f"there is no threshold={model.threshold!r}")
    if proof.squares.tolerance != _ROUNDING:
        raise Mismatch("the certificate is held to another tolerance than a fit asks for")
    values.same(shrinkage_=0.0)
    s = np.ones(data.n_rows) if data.weights is None else data.weights
    facts = _facts(data, s, w)
    largest = np.asarray(abs(data.X).max(axis=0))
    largest = largest.toarray().ravel() if hasattr(largest, "toarray") else np.ravel(largest)
    values.near("xbar_", facts.mean, _ROUNDING * largest)
    values.near("means_", facts.means, _ROUNDING * largest)
    _require_side_and_length(values, facts)
    _require_threshold(values, facts, w, largest)
    _require_projection(values, facts, w)
    values.require(model.status_ is (Status.OPTIMAL if proof.holds else Status.UNPROVED), "status_")
    values.record("method_", "n_iter_", "n_passes_")


class _Facts:
    """Means of rows and classes, and what the scores w.x have within the classes."""

    mean: np.ndarray
    means: np.ndarray
    masses: np.ndarray
    apart: float
    within: float


def _facts(data: TrainingRows, s: np.ndarray, w: np.ndarray) -> _Facts:
    facts = _Facts()
    member = np.zeros((data.n_rows, 2))
    member[np.arange(data.n_rows), data.codes] = s
    facts.masses = member.sum(axis=0)
    facts.means = np.asarray((data.X.T @ (member / facts.masses)).T)
    facts.mean = np.asarray(data.X.T @ (s / s.sum()))
    centred = data.X @ w - (facts.means @ w)[data.codes]
    facts.within = float(s @ centred**2)
    facts.apart = float(w @ (facts.means[1] - facts.means[0]))
    return facts


def _require_side_and_length(values: Values, facts: _Facts) -> None:
    """Require S_W w = m_2 - m_1 along w, or that of the covariance: the ratio sees neither."""
    covariance = not _is_at_mean(values.model)
    scatter = facts.within / facts.masses.sum() if covariance else facts.within
    good = facts.apart >= 0.0 and abs(scatter - facts.apart) <= _SCALE * max(scatter, facts.apart)
    values.require(good, "coef_")


def _is_at_mean(model: Any) -> bool:
    return isinstance(model.threshold, str) and model.threshold == "mean"


def _require_threshold(values: Values, facts: _Facts, w: np.ndarray, largest: np.ndarray) -> None:
    """Require the intercept of the threshold given."""
    model = values.model
    if _is_at_mean(model):
        expected = -facts.mean @ w
    else:
        shift = 0.0
        if not isinstance(model.threshold, str):
            shift = log_odds_threshold(as_loss_matrix(model.threshold, 2))
        shares = facts.masses if model.priors is None else as_priors(model.priors, 2)
        odds = math.log(shares[1]) - math.log(shares[0])
        expected = odds - shift - 0.5 * float(w @ facts.means.sum(axis=0))
    room = _ROUNDING * (float(abs(w) @ largest) + 1.0) if not _is_at_mean(model) else (
        _ROUNDING * float(abs(w) @ largest)
    )  # fmt: skip
    values.near("intercept_", [expected], room)


def _require_projection(values: Values, facts: _Facts, w: np.ndarray) -> None:
    """Require the one direction of `transform`: w with unit variance within the classes."""
    model = values.model
    width = math.sqrt(facts.within / facts.masses.sum())
    values.require(model.n_components in (None, 1), "scalings_")
    if width > _ROUNDING * float(np.linalg.norm(w)):
        values.near("scalings_", w[:, None] / width, _SCALE * abs(w[:, None]).max() / width)
    else:
        values.record("scalings_")
    values.same(_n_features_out=1)
    values.near("explained_variance_ratio_", [1.0 if facts.apart > 0.0 else 0.0], _ROUNDING)
