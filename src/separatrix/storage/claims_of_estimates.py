"""What estimates in closed form must hold: `GaussianPlugIn`, and `Fisher` of several classes.

Their certificates prove the parameters. What a fit makes of them is made again, up to rounding.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix.core.models import fresh
from separatrix.problem.decision import as_loss_matrix, as_priors
from separatrix.solvers.running.drive import Status
from separatrix.storage.fitted_values import Mismatch, Values, are_same
from separatrix.storage.training_rows import TrainingRows

__all__ = ["require_fisher_classes", "require_gaussian"]

_ROUNDING = 1e-6
_LAST_BITS = 1e-14  # exp and log differ by as much between machines
_RECORD = "method_", "n_iter_", "n_passes_"


def require_gaussian(values: Values, data: TrainingRows) -> None:
    """Require densities, priors, losses and threshold: those proved, and the rule made of them."""
    model, proof = values.model, values.model.certificate_
    if proof.limit is not None and not are_same(model.priors_, proof.priors):
        raise Mismatch("the certificate speaks of other priors than the model")
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
    names = ["means_", "priors_", "threshold_"]
    _require_near(values, again, _LAST_BITS, *names, *["coef_", "intercept_"] * again.linear_)
    _require_status(values, proof)


def require_fisher_classes(values: Values, data: TrainingRows) -> None:
    """Require weights and directions: those proved; and the thresholds and means."""
    model, proof = values.model, values.model.certificate_
    again = _fitted_again(model, data)
    count = again.scalings_.shape[1]
    values.same(coef_=proof.weights, scalings_=proof.directions[:, :count], shrinkage_=0.0)
    names = "intercept_", "means_", "xbar_", "explained_variance_ratio_"
    _require_near(values, again, _ROUNDING, *names)
    values.same_as(again, "_n_features_out")
    _require_status(values, proof)


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
            values.near(name, expected, share * np.max(np.abs(expected), initial=0.0))


def _require_status(values: Values, proof: Any) -> None:
    good = Status.OPTIMAL if proof.holds else Status.UNPROVED
    values.require(values.model.status_ is good, "status_")
    values.record(*_RECORD)
