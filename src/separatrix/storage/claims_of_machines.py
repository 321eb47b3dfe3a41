"""What a regularised linear model must hold: everything a fit keeps, made again from its proof."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGap, DualityGaps, PairGaps
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.scaled_gap import ScaledGap
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.core.keeping import (
    keep_direct,
    keep_gaps,
    keep_pairs,
    keep_softmax,
    keep_support,
    keep_support_of_pairs,
)
from separatrix.core.linear_model import VotingModel
from separatrix.core.machine import machine_of_a_pair
from separatrix.core.models import fresh
from separatrix.problem.equilibrate import divided_columns
from separatrix.solvers.running.drive import Status
from separatrix.storage.fitted_values import Mismatch, Values, are_same
from separatrix.storage.training_rows import TrainingRows

__all__ = ["require_gap_of_model", "require_status"]

RUN = ("solver_", "n_iter_", "n_passes_", "intercept_interval_", "path_")
ROW_WEIGHTS = "the sample weights, which are taken from the certificate"
_KEPT = ("coef_", "intercept_", "objective_", "dual_objective_", "gap_")
_SUPPORT = ("support_", "dual_coef_", "n_support_", "margin_")
_SEPARATED = ("separable", "quasi-separable")
_NEARLY_FREE = 1e6
_ROUNDING = 1e-9


def require_gap_of_model(values: Values, data: TrainingRows) -> None:
    """Require that a `LinearSVM`, a `LogisticRegression`, their CV or `SGD` is what is proved."""
    model, proof = values.model, values.model.certificate_
    _require_form(model, proof, len(data.classes))
    again = _adopted(model, proof, data)
    for name in _KEPT:
        values.same_as(again, name)
    if hasattr(again, "support_"):
        values.same_as(again, *_SUPPORT)
    loss = getattr(model, "loss", "logistic")
    separated = _require_verdicts(values, proof, data)
    C = _chosen_C(values)
    weights = data.row_weights(model.class_weight)
    taken = False
    for number, (machine, rows) in enumerate(_each(proof, data)):
        own = weights if rows is None else weights[rows]
        costs, ridge = _costs(C, own, loss, separated[number] if separated else False)
        taken |= data.require_costs(machine.costs, costs, rows)
        _require_posed(model, machine, loss, ridge)
        own_rows = data if rows is None else data.part(rows)
        _require_margins(machine, own_rows, getattr(proof, "exponents", None))
    if taken:
        values.name(ROW_WEIGHTS)
    require_status(values, proof.gap <= model.tol, any(separated))
    _require_calibration(values, data)
    values.record(*RUN, "_centre", "_stream")
    if any(getattr(machine, "violations", ()) for machine, _ in _each(proof, data)):
        values.name("certificate_.violations")


def require_status(values: Values, optimal: bool, infinite: bool = False) -> None:
    """Require that the status says "optimal" where, and only where, the tolerance is met."""
    status = values.model.status_
    if infinite:
        good = status is Status.INFINITE
    elif optimal:
        good = status is Status.OPTIMAL
    else:
        good = status in (Status.UNPROVED, Status.BUDGET, Status.STATIONARY)
    values.require(good, "status_")


def _require_form(model: Any, proof: Any, n_classes: int) -> None:
    """Require the kind of certificate that the parameters ask for."""
    form = getattr(model, "multi_class", "ovr")
    inner = proof
    if isinstance(proof, ScaledGap):
        if not getattr(model, "scale", False):
            raise Mismatch("the certificate is of divided columns, and the model is not")
        inner = proof.inner
    expected: Any = {
        "direct": MulticlassGap,
        "multinomial": SoftmaxGap,
        "ovr": DualityGap if n_classes == 2 else DualityGaps,
        "ovo": DualityGap if n_classes == 2 else PairGaps,
    }.get(form)
    if expected is None or not isinstance(inner, expected):
        raise Mismatch(f"multi_class={form!r} is not what the certificate speaks of")


def _adopted(model: Any, proof: Any, data: TrainingRows) -> Any:
    """Return a model of the same parameters that holds what a fit with this proof keeps."""
    again = fresh(model)
    again.classes_ = data.classes
    if isinstance(proof, MulticlassGap):
        keep_direct(again, proof, Status.OPTIMAL, data.codes)
    elif isinstance(proof, SoftmaxGap):
        keep_softmax(again, proof, Status.OPTIMAL)
    elif isinstance(proof, PairGaps):
        parts = [_adopted_pair(model, *each, data) for each in _each(proof, data)]
        keep_pairs(again, parts, proof.pairs)
        if model.keeps_support:
            keep_support_of_pairs(again, parts, proof.pairs, data.codes)
    else:
        _adopt_gaps(again, model, proof, data)
    return again


def _adopted_pair(model: Any, machine: Any, rows: Any, data: TrainingRows) -> Any:
    return _adopted(machine_of_a_pair(model), machine, data.part(rows))


def _adopt_gaps(again: Any, model: Any, proof: Any, data: TrainingRows) -> None:
    gaps = list(getattr(proof, "machines", (proof,)))
    if isinstance(proof, ScaledGap):
        weights = np.array([gap.weights for gap in gaps])
        weights[:, 1:] = np.ldexp(weights[:, 1:], -proof.exponents)
    else:
        weights = np.array([gap.weights for gap in gaps])
    fits: Any = [
        SimpleNamespace(
            proof=gap,
            weights=w,
            signs=np.where(data.codes == gap.positive, 1.0, -1.0),
            status=Status.OPTIMAL,
            solver="",
            updates=0,
            passes=0.0,
            bias_interval=None,
        )
        for gap, w in zip(gaps, weights, strict=True)
    ]
    if isinstance(again, VotingModel):
        keep_gaps(again, fits)
        if again.keeps_support:
            keep_support(again, fits, data.codes)
        return
    again.coef_ = weights[:, 1:].copy()
    again.intercept_ = weights[:, 0] if model.fit_intercept else np.zeros(len(gaps))
    several = len(gaps) > 1
    primal, dual = [gap.primal for gap in gaps], [gap.dual for gap in gaps]
    again.objective_ = np.array(primal) if several else primal[0]
    again.dual_objective_ = np.array(dual) if several else dual[0]
    again.gap_ = max(gap.gap for gap in gaps)


def _each(proof: Any, data: TrainingRows) -> list[tuple[Any, Any]]:
    """Return the certificates of single problems, each with the rows it is about, None for all."""
    if isinstance(proof, PairGaps):
        return [
            (machine, np.flatnonzero(np.isin(data.codes, pair)))
            for machine, pair in zip(proof.machines, proof.pairs, strict=True)
        ]
    return [(machine, None) for machine in getattr(proof, "machines", (proof,))]


def _costs(C: float, weights: np.ndarray, loss: str, separated: bool) -> tuple[np.ndarray, float]:
    """Return what each row costs, and whether |w|^2 is charged for, by the parameters."""
    if not math.isinf(C):
        return C * weights, 1.0
    if loss == "logistic":
        return (_NEARLY_FREE * weights, 1.0) if separated else (weights, 0.0)
    return np.where(weights > 0.0, np.inf, 0.0), 1.0


def _require_posed(model: Any, machine: Any, loss: str, ridge: float) -> None:
    """Require that loss, intercept and penalties of the certificate are those of the model."""
    penalty = float(getattr(model, "intercept_penalty", 0.0))
    own = {MulticlassGap: "hinge", SoftmaxGap: "logistic"}.get(type(machine))
    for found, expected, name in (
        (own or machine.loss, loss, "loss"),
        (machine.intercept, bool(model.fit_intercept), "fit_intercept"),
        (machine.bias_penalty, penalty, "intercept_penalty"),
        (getattr(machine, "ridge", ridge), ridge, "C"),
    ):
        if found != expected:
            raise Mismatch(f"{name} of the model is not the one that its certificate speaks of")


def _require_margins(machine: Any, data: TrainingRows, exponents: np.ndarray | None) -> None:
    """Require that the margins kept beside the proof are those of the rows."""
    if isinstance(machine, MulticlassGap):
        _require_slack(machine, data)
    margins = getattr(machine, "margins", np.zeros(0))
    if not len(margins) or not isinstance(machine, DualityGap):
        return
    X, w = data.X, machine.weights
    if exponents is not None:
        X = divided_columns(X, exponents)
    bias = w[0] if machine.intercept else 0.0
    signs = np.where(data.codes == machine.positive, 1.0, -1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        room = _ROUNDING * (abs(X) @ abs(w[1:]) + abs(bias) + 1.0)
        near = abs(signs * (X @ w[1:] + bias) - margins) <= room
    if margins.shape != (data.n_rows,) or not near.all():
        raise Mismatch("the margins kept with the certificate are not those of the rows")


def _require_slack(machine: MulticlassGap, data: TrainingRows) -> None:
    """Require by how much each row's class falls short of beating the others by 1."""
    W, X = machine.weights, data.X
    bias = W[:, 0] if machine.intercept else np.zeros(len(W))
    with np.errstate(over="ignore", invalid="ignore"):
        scores, at = np.asarray(X @ W[:, 1:].T) + bias, np.arange(data.n_rows)
        room = _ROUNDING * (np.asarray(abs(X) @ abs(W[:, 1:]).T).max(axis=1) + abs(bias).max() + 1)
        short = 1.0 + scores - scores[at, data.codes][:, None]
    short[at, data.codes] = 0.0
    slack = np.maximum(short.max(axis=1), 0.0)
    if machine.slack.shape != slack.shape or not (abs(slack - machine.slack) <= 2 * room).all():
        raise Mismatch("the slack kept with the certificate is not that of the rows")


def _require_verdicts(values: Values, proof: Any, data: TrainingRows) -> list[bool]:
    """Prove the verdicts of a likelihood without penalty; return which problems are separated."""
    model = values.model
    if "verdict_" not in vars(model):
        return []
    verdict = model.verdict_
    free = math.isinf(getattr(model, "C_", None) or model.C)
    verdicts = [] if verdict is None else verdict if isinstance(verdict, list) else [verdict]
    problems = _each(proof, data)
    good = len(verdicts) == (len(problems) if free else 0)
    for each, (machine, rows) in zip(verdicts, problems, strict=False):
        own = data if rows is None else data.part(rows)
        used = np.flatnonzero(machine.costs > 0.0)
        positive = machine.positive if len(own.classes) > 2 or rows is None else 1
        signs = np.where(own.codes == positive, 1.0, -1.0)[used]
        good = good and each.certificate is not None and bool(each.check(own.X[used], signs))
        good = good and each.certificate.intercept == bool(model.fit_intercept)
    values.require(good, "verdict_")
    return [each.kind in _SEPARATED for each in verdicts]


def _chosen_C(values: Values) -> float:
    """Return C: where a path chose it, it must be the one that the path names."""
    model = values.model
    if not hasattr(model, "C_"):
        return float(model.C)
    chosen = getattr(model.path_, "chosen", None)
    named = chosen is None or bool(model.path_["C"][chosen] == model.C_)
    values.require(type(model.C_) is float and model.C_ > 0.0 and named, "C_")
    return float(model.C_)


def _require_calibration(values: Values, data: TrainingRows) -> None:
    """Require the slopes of held-out folds where these can be made again; else list them."""
    model = values.model
    if "_calibration" not in vars(model):
        return
    found = model._calibration
    if not getattr(model, "probability", False) or found is None:
        values.same(_calibration=None)
        return
    slopes = (found.below, found.above)
    sound = all(type(slope) is float and 0.0 < slope < math.inf for slope in slopes)
    values.require(sound, "_calibration")
    if found.held_out == "fit" and ROW_WEIGHTS not in values.not_proved:
        from separatrix.estimators.linear_svm import held_out_calibration

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = held_out_calibration(model, data.X, data.y, data.weights)
        values.require(are_same(again, found), "_calibration")
    else:
        values.require(found.held_out in ("fit", "path"), "_calibration")
        values.name("the probabilities, made of folds that are not kept")
