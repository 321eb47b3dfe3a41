"""What closed forms must hold: `LeastSquares`, `Fisher` and `GaussianPlugIn`.

Their certificates prove weights, a direction or the parameters of densities. What a fit makes of
these is computed again from the rows, up to rounding.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from separatrix.certificates.fisher import FisherDirection, FisherDirections
from separatrix.certificates.gaussian_estimates import GaussianEstimates
from separatrix.certificates.least_squares import LeastSquaresOptimality
from separatrix.certificates.nonnegative_squares import NonNegativeOptimality
from separatrix.core.models import fresh
from separatrix.core.thresholds import as_loss_matrix, as_priors, log_odds_threshold
from separatrix.problem.canonical import targets_of
from separatrix.problem.centred import nearer_zero
from separatrix.problem.equilibrate import column_sizes
from separatrix.solvers.running.drive import Status
from separatrix.storage.claims_of_halfspaces import require_same_weights
from separatrix.storage.fitted_values import TrainingRows, Values, are_same, require

_ROUNDING, _SCALE = 1e-9, 1e-6
_ULPS = 16 * 2.0**-53  # times the root of the number of terms: what a sum is off, and more


def _require_least_squares(values: Values, data: TrainingRows) -> None:
    """Require that the weights, the ridge and the errors of rows left out are those proved."""
    model, proof = values.model, values.model.certificate_
    for found, expected, name in (
        (proof.ridge, model.ridge_, "ridge_"),
        (proof.task, model.task, "task"),
        (proof.intercept, bool(model.fit_intercept), "fit_intercept"),
        (proof.tolerance, float(model.tol), "tol"),
    ):
        said = f"{name} of the model is not the one that its certificate speaks of"
        require(found == expected, said)
    bounded = isinstance(proof, NonNegativeOptimality) == bool(model.positive)
    require(bounded, "positive of the model is not what its certificate speaks of")
    require_same_weights(values, np.array(proof.weights), True)
    labels = model.task == "classification" and np.ndim(data.y) == 2
    values.same(_has_many_labels=labels)
    again = fresh(model)
    again._has_many_labels = labels
    if model.task == "classification":
        again.classes_ = model.classes_
    X = np.asarray(data.X, dtype=np.float64) if isinstance(data.X, np.ndarray) else data.X
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    if model.class_weight is not None:
        weights = data.row_weights(model.class_weight)
    ridges, T = again._checked(), targets_of(data.y, model.task)
    if model.cv is None:
        again._choose_ridge(ridges, X, data.y, T, weights)
        values.same_as(again, "ridge_")
        _require_near(values, again, _SCALE, "cv_scores_")
    else:
        # Folds may be drawn at random: the choice is the record of the run.
        values.require(model.ridge_ in ridges, "ridge_")
        again.loo_error_ = again.loo_mistakes_ = None
        values.record("ridge_", "cv_scores_")
    for name in ("loo_error_", "loo_mistakes_"):
        value = getattr(again, name)
        if value is None:
            values.same(**{name: None})
        else:
            values.near(name, value, _SCALE * (1.0 + abs(value)))
    good = Status.OPTIMAL if proof.holds else (Status.UNPROVED, Status.BUDGET)
    values.require(model.status_ is good or (not proof.holds and model.status_ in good), "status_")
    values.record("method_", "rank_", "_deficient", "n_iter_", "n_passes_")


def _require_fisher(values: Values, data: TrainingRows) -> None:
    """Require direction, side, length and threshold: the proof is of the direction alone."""
    model, proof = values.model, values.model.certificate_
    w = np.array(proof.weights)
    values.require(model.coef_.shape == (1, len(w)) and (model.coef_[0] == w).all(), "coef_")
    _require_rule(model)
    agreed = proof.squares.tolerance == _ROUNDING
    require(agreed, "the certificate is held to another tolerance than a fit asks for")
    values.same(shrinkage_=0.0)
    s = np.ones(data.n_rows) if data.weights is None else data.weights
    facts = _facts(data, s, w)
    _require_means(values, facts.about)
    _require_side_and_length(values, facts)
    _require_threshold(values, facts.about, w)
    _require_projection(values, facts, w)
    _require_covariance(values, data, s)
    values.require(model.status_ is (Status.OPTIMAL if proof.holds else Status.UNPROVED), "status_")
    values.record("method_", "n_iter_", "n_passes_")


def _require_rule(model: Any) -> None:
    """Require parameters that ask for what the certificates of `Fisher` prove."""
    same = model.direction == "fisher" and model.shrinkage in ("auto", "ledoit-wolf", 0)
    require(same, "the certificate speaks of another direction than the parameters")
    known = not isinstance(model.threshold, str) or model.threshold in ("mean", "gaussian")
    require(known, f"there is no threshold={model.threshold!r}")


def _require_covariance(values: Values, data: TrainingRows, s: np.ndarray) -> None:
    """Require the covariance of the rows where one was kept."""
    if not values.model.store_covariance:
        return
    again = fresh(values.model)
    again.classes_ = data.classes
    for name in ("gaussians_", "shrinkage_"):
        if hasattr(values.model, name):
            setattr(again, name, getattr(values.model, name))
    X = np.asarray(data.X, dtype=np.float64) if isinstance(data.X, np.ndarray) else data.X
    again._keep_covariance(X, data.codes, s)
    # A column of large values hides nothing of the others: each entry has the room of its columns.
    found = np.asarray(again.covariance_)
    variances = found.shape[-1] != found.shape[-2] or _has_variances(values.model)
    spreads = np.sqrt(found if variances else np.diagonal(found, axis1=-2, axis2=-1))
    sizes = spreads**2 if variances else spreads[..., :, None] * spreads[..., None, :]
    values.near("covariance_", found, _ROUNDING * sizes)


def _has_variances(model: Any) -> bool:
    """Whether classes have a row of variances each, and no covariances."""
    held = getattr(model, "gaussians_", None)
    return held is not None and held.linear is None and getattr(held, "variances", None) is not None


class _Means(NamedTuple):
    """Means of rows and classes, what the classes weigh, and how far columns may be off."""

    mean: np.ndarray
    means: np.ndarray
    masses: np.ndarray
    room: np.ndarray


def _means(data: TrainingRows, s: np.ndarray) -> _Means:
    """Return the means; rows far from the origin are moved there first, for sums to round less."""
    is_dense = isinstance(data.X, np.ndarray)
    X: Any = np.asarray(data.X, dtype=np.float64) if is_dense else data.X
    first = X[0].copy() if is_dense else 0.0
    member = np.zeros((data.n_rows, len(data.classes)))
    member[np.arange(data.n_rows), data.codes] = s
    masses, moved = member.sum(axis=0), X - first if is_dense else X
    means = first + np.asarray((moved.T @ (member / masses)).T)
    room = _ULPS * math.sqrt(data.n_rows) * column_sizes(X)
    return _Means(first + np.asarray(moved.T @ (s / s.sum())), means, masses, room)


def _require_means(values: Values, about: _Means) -> None:
    values.near("xbar_", about.mean, about.room)
    values.near("means_", about.means, about.room)


class _Facts(NamedTuple):
    """The means, and what the scores w.x have between and within the two classes."""

    about: _Means
    apart: float
    within: float


def _facts(data: TrainingRows, s: np.ndarray, w: np.ndarray) -> _Facts:
    means, centred = _scores(data, s, w)
    return _Facts(_means(data, s), float(means[1] - means[0]), float(s @ centred**2))


def _scores(data: TrainingRows, s: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of classes along W, all off by one vector, and the scores less these.

    Far from the origin differences lose their digits: dense rows are moved first.
    """
    X: Any = data.X
    if isinstance(X, np.ndarray):
        X = nearer_zero(X, s)[0]
    member = np.zeros((data.n_rows, len(data.classes)))
    member[np.arange(data.n_rows), data.codes] = s
    scores = np.asarray(X @ W)
    means = (member / member.sum(axis=0)).T @ scores
    return means, scores - means[data.codes]


def _require_side_and_length(values: Values, facts: _Facts) -> None:
    """Require S_W w = m_2 - m_1 along w, or that of the covariance: the ratio sees neither."""
    covariance = not _is_at_mean(values.model)
    scatter = facts.within / facts.about.masses.sum() if covariance else facts.within
    good = facts.apart >= 0.0 and abs(scatter - facts.apart) <= _SCALE * max(scatter, facts.apart)
    values.require(good, "coef_")


def _is_at_mean(model: Any) -> bool:
    return isinstance(model.threshold, str) and model.threshold == "mean"


def _require_threshold(values: Values, about: _Means, w: np.ndarray) -> None:
    """Require the intercept of the threshold given."""
    model = values.model
    if _is_at_mean(model):
        expected = -about.mean @ w
    else:
        shift = 0.0
        if not isinstance(model.threshold, str):
            shift = log_odds_threshold(as_loss_matrix(model.threshold, 2))
        shares = about.masses if model.priors is None else as_priors(model.priors, 2)
        odds = math.log(shares[1]) - math.log(shares[0])
        expected = odds - shift - 0.5 * float(w @ about.means.sum(axis=0))
    # Far from the origin the intercept is large, and a small share of it moves the threshold. A fit
    # solves for each class by itself: that rounding shows in the distance of the means along w.
    apart = abs(float(w @ (about.means[1] - about.means[0])))
    room = float(abs(w) @ about.room) + (not _is_at_mean(model)) * _ROUNDING * (1.0 + apart)
    values.near("intercept_", [expected], room)


def _require_thresholds(values: Values, about: _Means, W: np.ndarray) -> None:
    """Require the intercepts of several classes, at their weights, a row each."""
    model, K = values.model, len(about.means)
    shares = np.full(K, 1.0 / K)
    if not _is_at_mean(model):
        shares = about.masses / about.masses.sum()
        shares = shares if model.priors is None else as_priors(model.priors, K)
    with np.errstate(divide="ignore"):
        odds = np.log(shares)
    expected = odds - 0.5 * np.einsum("kj,kj->k", W, about.means + about.mean)
    values.near("intercept_", expected, abs(W) @ about.room + _ROUNDING)


def _require_projection(values: Values, facts: _Facts, w: np.ndarray) -> None:
    """Require the one direction of `transform`: w with unit variance within the classes."""
    model = values.model
    width = math.sqrt(facts.within / facts.about.masses.sum())
    values.require(model.n_components in (None, 1), "scalings_")
    if width > _ROUNDING * float(np.linalg.norm(w)):
        values.near("scalings_", w[:, None] / width, _SCALE * abs(w[:, None]) / width)
    else:
        values.record("scalings_")
    values.same(_n_features_out=1)
    values.near("explained_variance_ratio_", [1.0 if facts.apart > 0.0 else 0.0], _ROUNDING)


_LAST_BITS = 1e-14  # exp and log differ by as much between machines
_RECORD = "method_", "n_iter_", "n_passes_"


def _require_gaussian(values: Values, data: TrainingRows) -> None:
    """Require densities, priors, losses and threshold: those proved, and the rule made of them."""
    model, proof = values.model, values.model.certificate_
    same = proof.limit is None or are_same(model.priors_, proof.priors)
    require(same, "the certificate speaks of other priors than the model")
    _require_shares(model, proof.gaussians, data)
    again = fresh(model)
    again.classes_, again.loss_matrix_ = data.classes, as_loss_matrix(
        model.loss_matrix, len(data.classes)
    )  # fmt: skip
    s = np.ones(data.n_rows) if data.weights is None else data.weights
    again.priors_ = np.bincount(data.codes, s / s.sum())
    if model.priors is not None:
        again.priors_ = as_priors(model.priors, len(data.classes))
    again._settle(proof.gaussians)
    again.means_ = proof.gaussians.class_means(data.X)
    values.same(gaussians_=proof.gaussians, loss_matrix_=again.loss_matrix_)
    values.same(linear_=again.linear_)
    values.require(are_same(proof.loss, again.loss_matrix_), "loss_matrix_")
    values.require(proof.limit in (None, model.threshold_), "threshold_")
    _require_covariance(values, data, s)
    _require_near(values, again, _LAST_BITS, "priors_", "threshold_")
    sizes = column_sizes(data.X)
    values.near("means_", again.means_, _LAST_BITS * sizes)
    if again.linear_:
        _require_near(values, again, _LAST_BITS, "intercept_")
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        most = (abs(again.coef_) * sizes).max(
            axis=1, keepdims=True
        )  # that a column adds to a score
        values.near("coef_", again.coef_, _LAST_BITS * most / sizes)
    _require_status(values, proof)


def _require_shares(model: Any, held: Any, data: TrainingRows) -> None:
    """Require the kind of covariance and the shrinkage that the parameters make of the rows."""
    again = _fitted_again(model, data).gaussians_
    near = held.kind == again.kind and all(
        len(one) == len(other) and bool(np.allclose(one, other, rtol=_SCALE, atol=0.0))
        for one, other in ((held.shares, again.shares), (held.pooled, again.pooled))
    )
    require(near, "the certificate speaks of another covariance or shrinkage than the parameters")


def _require_fisher_classes(values: Values, data: TrainingRows) -> None:
    """Require weights and directions: those proved; and lengths, signs, thresholds and means."""
    model, proof = values.model, values.model.certificate_
    _require_rule(model)
    again = _fitted_again(model, data)
    count = again.scalings_.shape[1]
    values.same(coef_=proof.weights, scalings_=proof.directions[:, :count], shrinkage_=0.0)
    _require_near(values, again, _SCALE, "explained_variance_ratio_")
    _require_scalings(values, data)
    s = np.ones(data.n_rows) if data.weights is None else data.weights
    about = _means(data, s)
    _require_means(values, about)
    _require_thresholds(values, about, proof.weights)
    _require_covariance(values, data, s)
    values.same_as(again, "_n_features_out")
    _require_status(values, proof)


def _require_scalings(values: Values, data: TrainingRows) -> None:
    """Require V'CV = I, V' S_B V diagonal and descending, and the last class above the first.

    The ratios proved are those of the spans of the first directions, whatever their lengths.
    """
    s = np.ones(data.n_rows) if data.weights is None else data.weights
    with np.errstate(all="ignore"):
        means, centred = _scores(data, s, values.model.scalings_)
        shares = np.bincount(data.codes, s) / s.sum()
        away = means - shares @ means
        within = (centred * s[:, None]).T @ centred / s.sum()
        between = (away * shares[:, None]).T @ away
        worths, apart = np.diag(between), means[-1] - means[0]
        room = _SCALE * np.maximum.outer(worths, worths) + _ROUNDING * worths[0]
        # The fit is orthogonal to within rounding of the largest ratio.
        level = _SCALE + _ULPS * worths[0] / np.sqrt(np.multiply.outer(worths, worths))
        good = (abs(within - np.eye(len(within))) <= level).all()
        good = good and (abs(between - np.diag(worths)) <= room).all()
        good = good and (np.diff(worths) <= np.diag(room)[1:]).all()
        good = good and (apart >= -_SCALE * abs(apart).max(initial=0.0)).all()
    values.require(bool(good), "scalings_")


def _fitted_again(model: Any, data: TrainingRows) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fresh(model).fit(data.X, data.y, data.weights)


def _require_near(values: Values, again: Any, share: float, *names: str) -> None:
    """Require values to within a share of their size."""
    for name in names:
        expected = getattr(again, name)
        if expected is None:
            values.same(**{name: None})
        else:
            values.near(
                name, expected, share * np.abs(expected)[np.isfinite(expected)].max(initial=0.0)
            )


def _require_status(values: Values, proof: Any) -> None:
    good = Status.OPTIMAL if proof.holds else Status.UNPROVED
    values.require(values.model.status_ is good, "status_")
    values.record(*_RECORD)


SQUARES = (LeastSquaresOptimality, NonNegativeOptimality)
CLAIMS = {
    NonNegativeOptimality: _require_least_squares,
    LeastSquaresOptimality: _require_least_squares,
    FisherDirection: _require_fisher,
    FisherDirections: _require_fisher_classes,
    GaussianEstimates: _require_gaussian,
}
