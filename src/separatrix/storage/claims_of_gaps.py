"""What a regularised model must hold, linear or with a kernel: all of it is made from its proof."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGap, DualityGaps, PairGaps, ScaledGap
from separatrix.certificates.kernel_gap import KernelGap, KernelGaps, KernelMulticlassGap
from separatrix.certificates.kernel_separation import KernelSeparation
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.certificates.sparse_gap import SparseGap
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.core.checks import checked_groups, ratio_of
from separatrix.core.class_verdict import ClassVerdict
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
from separatrix.problem.kernels import kernel_of
from separatrix.solvers.running.drive import Status
from separatrix.storage.fitted_values import Mismatch, TrainingRows, Values, are_same, require
from separatrix.storage.model_checks import sound_costs

RUN = (
    "solver_", "n_iter_", "n_passes_", "intercept_interval_", "path_", "scores_", "coefs_paths_",
)  # fmt: skip
ROW_WEIGHTS = "the sample weights, which are taken from the certificate"
_KEPT = ("coef_", "intercept_", "objective_", "dual_objective_", "gap_")
_SUPPORT = ("support_", "dual_coef_", "n_support_", "margin_")
_SEPARATED = ("separable", "quasi-separable")
_NEARLY_FREE = 1e6
_ROUNDING = 1e-9
COSTS = "the costs of mistakes, as they were given"
THRESHOLD = "the threshold, chosen on scores that are not kept"
_OTHER_MARGINS = "the margins kept with the certificate are not those of the rows"


def _require_linear_model(values: Values, data: TrainingRows) -> None:
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
    for number, (gap, rows) in enumerate(each_problem(proof, data)):
        own = weights if rows is None else weights[rows]
        costs, ridge = _costs(C, own, loss, separated[number] if separated else False)
        ridge = _require_sparsity(values, gap, ridge)
        taken |= data.require_costs(gap.costs, costs, rows)
        _require_posed(model, gap, loss, ridge)
        own_rows = data if rows is None else data.part(rows)
        _require_margins(gap, own_rows, getattr(proof, "exponents", None))
    if taken:
        values.name(ROW_WEIGHTS)
    _require_status(values, proof.gap <= model.tol, any(separated))
    _require_calibration(values, data)
    _require_threshold(values)
    _require_costs(values)
    values.record(*RUN, "_centre", "_stream", "validation_errors_")
    if any(getattr(gap, "violations", ()) for gap, _ in each_problem(proof, data)):
        values.name("certificate_.violations")


def _require_sparsity(values: Values, gap: Any, ridge: float) -> float:
    """Return what |w|^2 costs; require that |w|_1 costs what `l1_ratio` says."""
    model = values.model
    ratio = ratio_of(model)
    found = gap.l1 if isinstance(gap, SparseGap | SparseSoftmaxGap) else 0.0
    if "l1_ratio_" in vars(model):
        chosen = model.l1_ratio_
        values.require(type(chosen) is float and chosen == found, "l1_ratio_")
    require(found == ratio, "l1_ratio of the model is not the one that its certificate speaks of")
    if ratio:
        groups = checked_groups(getattr(model, "groups", None), gap.n_features)
        listed = () if groups is None else tuple(groups.tolist())
        require(gap.groups == listed, "groups of the model are not those of its certificate")
    return 1.0 - ratio if ratio else ridge


def _require_status(values: Values, optimal: bool, infinite: bool = False) -> None:
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
        scaled = bool(getattr(model, "scale", False))
        require(scaled, "the certificate is of divided columns, and the model is not")
        inner = proof.inner
    expected: Any = {
        "direct": MulticlassGap,
        "multinomial": SoftmaxGap,
        # Rows in partitions are fitted with each class against the rest.
        "auto": DualityGap if n_classes == 2 else (SoftmaxGap, DualityGaps),
        "ovr": DualityGap if n_classes == 2 else DualityGaps,
        "ovo": DualityGap if n_classes == 2 else PairGaps,
    }.get(form)
    fits = expected is not None and isinstance(inner, expected)
    require(fits, f"multi_class={form!r} is not what the certificate speaks of")


def _adopted(model: Any, proof: Any, data: TrainingRows) -> Any:
    """Return a model of the same parameters that holds what a fit with this proof keeps."""
    again = fresh(model)
    again.classes_ = data.classes
    if isinstance(proof, MulticlassGap):
        keep_direct(again, proof, Status.OPTIMAL, data.codes)
    elif isinstance(proof, SoftmaxGap):
        keep_softmax(again, proof, Status.OPTIMAL)
    elif isinstance(proof, PairGaps):
        parts = [_adopted_pair(model, *each, data) for each in each_problem(proof, data)]
        keep_pairs(again, parts, proof.pairs)
        if model.keeps_support:
            keep_support_of_pairs(again, parts, proof.pairs, data.codes)
    else:
        _adopt_gaps(again, model, proof, data)
    return again


def _adopted_pair(model: Any, gap: Any, rows: Any, data: TrainingRows) -> Any:
    return _adopted(machine_of_a_pair(model), gap, data.part(rows))


def _adopt_gaps(again: Any, model: Any, proof: Any, data: TrainingRows) -> None:
    gaps = list(getattr(proof, "machines", (proof,)))
    weights = np.array([gap.weights for gap in gaps])
    if isinstance(proof, ScaledGap):
        weights[:, 1:] = np.ldexp(weights[:, 1:], -proof.exponents)
    run: Any = {"status": Status.OPTIMAL, "solver": "", "updates": 0, "passes": 0.0}
    fits: Any = [
        SimpleNamespace(proof=gap, weights=w, signs=_signs(gap, data), bias_interval=None, **run)
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


def each_problem(proof: Any, data: TrainingRows) -> list[tuple[Any, Any]]:
    """Return the certificates of single problems, each with the rows it is about, None for all."""
    if isinstance(proof, PairGaps):
        return [
            (gap, np.flatnonzero(np.isin(data.codes, pair)))
            for gap, pair in zip(proof.machines, proof.pairs, strict=True)
        ]
    return [(gap, None) for gap in getattr(proof, "machines", (proof,))]


def _signs(gap: Any, data: TrainingRows) -> np.ndarray:
    return np.where(data.codes == gap.positive, 1.0, -1.0)


def _costs(C: float, weights: np.ndarray, loss: str, separated: bool) -> tuple[np.ndarray, float]:
    """Return what each row costs, and whether |w|^2 is charged for, by the parameters."""
    if not math.isinf(C):
        return C * weights, 1.0
    if loss == "logistic":
        return (_NEARLY_FREE * weights, 1.0) if separated else (weights, 0.0)
    return np.where(weights > 0.0, np.inf, 0.0), 1.0


def _require_posed(model: Any, gap: Any, loss: str, ridge: float) -> None:
    """Require that loss, intercept and penalties of the certificate are those of the model."""
    penalty = float(getattr(model, "intercept_penalty", 0.0))
    softmax = dict.fromkeys((SoftmaxGap, SparseSoftmaxGap), "logistic")
    own = {MulticlassGap: "hinge", **softmax}.get(type(gap))
    for found, expected, name in (
        (own or gap.loss, loss, "loss"),
        (gap.intercept, bool(model.fit_intercept), "fit_intercept"),
        (gap.bias_penalty, penalty, "intercept_penalty"),
        (getattr(gap, "ridge", ridge), ridge, "C"),
    ):
        said = f"{name} of the model is not the one that its certificate speaks of"
        require(found == expected, said)


def _require_margins(gap: Any, data: TrainingRows, exponents: np.ndarray | None) -> None:
    """Require that the margins kept beside the proof are those of the rows."""
    if isinstance(gap, MulticlassGap):
        _require_slack(gap, data)
    margins = getattr(gap, "margins", np.zeros(0))
    if not len(margins) or not isinstance(gap, DualityGap):
        return
    X, w = data.X, gap.weights
    if exponents is not None:
        X = divided_columns(X, exponents)
    bias = w[0] if gap.intercept else 0.0
    signs = _signs(gap, data)
    with np.errstate(over="ignore", invalid="ignore"):
        room = _ROUNDING * (abs(X) @ abs(w[1:]) + abs(bias) + 1.0)
        near = abs(signs * (X @ w[1:] + bias) - margins) <= room
    require(margins.shape == (data.n_rows,) and bool(near.all()), _OTHER_MARGINS)


def _require_slack(gap: MulticlassGap, data: TrainingRows) -> None:
    """Require by how much each row's class falls short of beating the others by 1."""
    W, X = gap.weights, data.X
    bias = W[:, 0] if gap.intercept else np.zeros(len(W))
    with np.errstate(over="ignore", invalid="ignore"):
        scores, at = np.asarray(X @ W[:, 1:].T) + bias, np.arange(data.n_rows)
        room = _ROUNDING * (np.asarray(abs(X) @ abs(W[:, 1:]).T).max(axis=1) + abs(bias).max() + 1)
        short = 1.0 + scores - scores[at, data.codes][:, None]
    short[at, data.codes] = 0.0
    slack = np.maximum(short.max(axis=1), 0.0)
    near = gap.slack.shape == slack.shape and bool((abs(slack - gap.slack) <= 2 * room).all())
    require(near, "the slack kept with the certificate is not that of the rows")


def _require_verdicts(values: Values, proof: Any, data: TrainingRows) -> list[bool]:
    """Prove the verdicts of a likelihood without penalty; return which problems are separated."""
    model = values.model
    if "verdict_" not in vars(model):
        return []
    verdict = model.verdict_
    free = math.isinf(getattr(model, "C_", None) or model.C)
    verdicts = [] if verdict is None else verdict if isinstance(verdict, list) else [verdict]
    if isinstance(proof, SoftmaxGap) and free:
        return _require_class_verdict(values, proof, data)
    problems = each_problem(proof, data)
    good = len(verdicts) == (len(problems) if free else 0)
    for each, (gap, rows) in zip(verdicts, problems, strict=False):
        own = data if rows is None else data.part(rows)
        used = np.flatnonzero(gap.costs > 0.0)
        positive = gap.positive if len(own.classes) > 2 or rows is None else 1
        signs = np.where(own.codes == positive, 1.0, -1.0)[used]
        good = good and each.certificate is not None and bool(each.check(own.X[used], signs))
        good = good and each.certificate.intercept == bool(model.fit_intercept)
    values.require(good, "verdict_")
    return [each.kind in _SEPARATED for each in verdicts]


def _require_class_verdict(values: Values, proof: SoftmaxGap, data: TrainingRows) -> list[bool]:
    """Prove the verdict of a multinomial likelihood; return whether the classes are separated."""
    model, used = values.model, np.flatnonzero(proof.costs > 0.0)
    verdict = model.verdict_
    good = isinstance(verdict, ClassVerdict) and verdict.certificate is not None
    good = good and verdict.fit_intercept is bool(model.fit_intercept)
    values.require(good and verdict.check(data.X[used], data.y[used]), "verdict_")
    return [verdict.kind in _SEPARATED]


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


def _require_threshold(values: Values) -> None:
    """Require a number for one score; why it is this one, the certificate does not say."""
    model = values.model
    if "threshold_" not in vars(model):
        return
    value = model.threshold_
    sound = type(value) is float and math.isfinite(value) and len(model.coef_) == 1
    values.require(sound, "threshold_")
    values.name(THRESHOLD)


def _require_costs(values: Values) -> None:
    """Require a matrix over the classes; what mistakes cost, nobody proves."""
    if "costs_" in vars(values.model):
        values.require(sound_costs(values.model), "costs_")
        values.name(COSTS)


_KEPT_OF_KERNELS = (
    "objective_", "dual_objective_", "gap_", "intercept_", "support_", "dual_coef_",
    "support_vectors_", "n_support_",
)  # fmt: skip


def _require_kernel_model(values: Values, data: TrainingRows) -> None:
    """Require that a `KernelSVM` or its CV is what is proved."""
    model, proof = values.model, values.model.certificate_
    _require_pairs(model, proof, data)
    C = model.C
    if hasattr(model, "C_"):  # C and gamma of the parent are no parameters of the one that chooses
        values.same(C=1.0, gamma="scale", solver="auto")
        C = model.C_
    gaps: Any = getattr(proof, "machines", (proof,))
    weights = _require_kernel_costs(values, gaps, data, float(C))
    _require_kernel(values, gaps, data, weights)
    values.same_as(_adopted_kernel(model, proof, gaps, data), *_KEPT_OF_KERNELS)
    if hasattr(model, "C_"):
        table = model.path_
        chosen = (table["C"] == model.C_) & (table["gamma"] == model.gamma_)
        values.require(type(C) is float and bool(chosen.any()), "C_")
        values.require(model.gamma_ == model.kernel_.gamma, "gamma_")
    convex = all(gap.is_convex for gap in gaps)
    _require_status(values, convex and proof.gap <= model.tol)
    values.require((model.status_ is Status.STATIONARY) <= (not convex), "status_")
    _require_kernel_margins(gaps, data)
    _require_calibration(values, data)
    values.record("n_iter_", "n_passes_", "kernel_rows_", "path_")
    values.name("certificate_.margins")


def _require_kernel_rule(values: Values, data: TrainingRows) -> None:
    """Require that a `KernelPerceptron` or `KernelKozinec` is the function that is proved."""
    model, proof = values.model, values.model.certificate_
    _require_kernel(values, (proof,), data, None)
    again = fresh(model)
    again.kernel_, again.intercept_ = model.kernel_, np.array([proof.bias])
    again._keep_support(data.X, proof.shares[None, :])
    values.same_as(again, "intercept_", "support_", "dual_coef_", "support_vectors_")
    ended_well = model.status_ in (Status.SEPARATED, Status.EPSILON)
    values.require(proof.holds or not ended_well, "status_")
    if not ended_well:
        values.name("status_")
    if hasattr(model, "margin_bounds_"):
        if model.kernel_.is_positive:
            values.same(margin_bounds_=(proof.lower, proof.upper))
        values.record("margin_bounds_")
    values.record("n_iter_", "n_passes_")


def _require_pairs(model: Any, proof: Any, data: TrainingRows) -> None:
    """Require that the models tell apart what `multi_class` says: votes are counted by it."""
    direct = model.multi_class == "direct"
    known = model.multi_class in ("ovo", "ovr", "direct")
    require(known, f"there is no multi_class={model.multi_class!r}")
    several = len(data.classes) > 2
    expected: Any = KernelMulticlassGap if direct else KernelGaps if several else KernelGap
    fits = isinstance(proof, expected)
    if fits and not direct:
        found = [(gap.positive, gap.negative) for gap in getattr(proof, "machines", (proof,))]
        fits = found == model._pairs()
    require(fits, f"multi_class={model.multi_class!r} is not what the certificate speaks of")


def _require_kernel_costs(values: Values, gaps: Any, data: TrainingRows, C: float) -> Any:
    """Compare costs with C and the weights of classes; return the sample weights, None for none."""
    weights = data.row_weights(values.model.class_weight)
    costs = np.where(weights > 0.0, np.inf, 0.0) if np.isinf(C) else C * weights
    taken = np.zeros(data.n_rows)
    for gap in gaps:
        part = np.ones(data.n_rows, dtype=bool)
        if getattr(gap, "negative", -1) >= 0:
            part = np.isin(data.codes, (gap.positive, gap.negative))
        if data.require_costs(gap.costs[part], costs[part], np.flatnonzero(part)):
            with np.errstate(invalid="ignore"):
                taken[part] = np.where(np.isinf(costs[part]), 1.0, gap.costs[part] / C)
        charged = bool(gap.costs[~part].any())
        require(not charged, "the certificate charges for rows that have no part in it")
    if not taken.any():
        return data.weights
    values.name(ROW_WEIGHTS)
    return taken


def _require_kernel(values: Values, gaps: Any, data: TrainingRows, weights: Any) -> None:
    """Require the kernel that the parameters describe on these rows, in model and certificate."""
    model = values.model
    gamma = getattr(model, "gamma_", model.gamma)
    try:
        expected = kernel_of(model.kernel, data.X, gamma, model.degree, model.coef0, weights)
    except ValueError as error:
        raise Mismatch(str(error)) from None
    found = model.kernel_
    room = _ROUNDING * expected.gamma if isinstance(model.gamma, str) else 0.0
    values.require(
        (found.name, found.degree, found.coef0) == (expected.name, expected.degree, expected.coef0)
        and abs(found.gamma - expected.gamma) <= room
        and all(gap.kernel == found for gap in gaps),
        "kernel_",
    )


def _adopted_kernel(model: Any, proof: Any, gaps: Any, data: TrainingRows) -> Any:
    """Return a model of the same parameters that holds what a fit with this proof keeps."""
    again = fresh(model)
    again.classes_, again.kernel_ = data.classes, model.kernel_
    run = {"status": Status.OPTIMAL, "updates": 0, "passes": 0}
    if isinstance(proof, KernelMulticlassGap):
        from separatrix.core.kernel_direct import keep_direct

        keep_direct(again, data.X, data.codes, SimpleNamespace(proof=proof, **run))  # type: ignore[arg-type]
    else:
        fits: Any = [SimpleNamespace(proof=gap, **run) for gap in gaps]
        again._keep(data.X, data.codes, fits, None)
    return again


def _require_kernel_margins(gaps: Any, data: TrainingRows) -> None:
    """Require margins for all rows or none, and a bias: every model with a kernel has one."""
    for gap in gaps:
        good = gap.margins.shape in ((0,), (data.n_rows,)) and gap.intercept is True
        require(good, _OTHER_MARGINS)


CLAIMS = {
    **dict.fromkeys(
        (
            DualityGap,
            DualityGaps,
            PairGaps,
            ScaledGap,
            MulticlassGap,
            SoftmaxGap,
            SparseGap,
            SparseSoftmaxGap,
        ),
        _require_linear_model,
    ),
    **dict.fromkeys((KernelGap, KernelGaps, KernelMulticlassGap), _require_kernel_model),
    KernelSeparation: _require_kernel_rule,
}
