"""What a kernel machine must hold: everything a fit keeps, made again from its proof."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from separatrix.certificates.kernel_gap import KernelGap, KernelGaps
from separatrix.certificates.kernel_multiclass_gap import KernelMulticlassGap
from separatrix.core.models import fresh
from separatrix.problem.kernels import kernel_of
from separatrix.solvers.running.drive import Status
from separatrix.storage.claims_of_machines import ROW_WEIGHTS, require_status
from separatrix.storage.fitted_values import Mismatch, Values
from separatrix.storage.training_rows import TrainingRows

__all__ = ["require_kernel_machine", "require_kernel_rule"]

_KEPT = (
    "objective_", "dual_objective_", "gap_", "intercept_", "support_", "dual_coef_",
    "support_vectors_", "n_support_",
)  # fmt: skip
_ROUNDING = 1e-9


def require_kernel_machine(values: Values, data: TrainingRows) -> None:
    """Require that a `KernelSVM` or its CV is what is proved."""
    model, proof = values.model, values.model.certificate_
    _require_pairs(model, proof, data)
    C = model.C
    if hasattr(model, "C_"):  # C and gamma of the parent are no parameters of the one that chooses
        values.same(C=1.0, gamma="scale")
        C = model.C_
    machines: Any = getattr(proof, "machines", (proof,))
    weights = _require_costs(values, machines, data, float(C))
    _require_kernel(values, machines, data, weights)
    values.same_as(_adopted(model, proof, machines, data), *_KEPT)
    if hasattr(model, "C_"):
        table = model.path_
        chosen = (table["C"] == model.C_) & (table["gamma"] == model.gamma_)
        values.require(type(C) is float and bool(chosen.any()), "C_")
        values.require(model.gamma_ == model.kernel_.gamma, "gamma_")
    convex = all(machine.is_convex for machine in machines)
    require_status(values, convex and proof.gap <= model.tol)
    values.require((model.status_ is Status.STATIONARY) <= (not convex), "status_")
    _require_margins(machines, data)
    values.record("n_iter_", "n_passes_", "path_")
    values.name("certificate_.margins")


def require_kernel_rule(values: Values, data: TrainingRows) -> None:
    """Require that a `KernelPerceptron` or `KernelKozinec` is the function that is proved."""
    model, proof = values.model, values.model.certificate_
    _require_kernel(values, (proof,), data, None)
    again = fresh(model)
    again.kernel_, again.intercept_ = model.kernel_, np.array([proof.bias])
    again._keep_support(data.X, proof.shares[None, :])
    values.same_as(again, "intercept_", "support_", "dual_coef_", "support_vectors_")
    ended_well = model.status_ in (Status.SEPARATED, Status.EPSILON)
    values.require(proof.holds or not ended_well, "status_")
    if hasattr(model, "margin_bounds_"):
        bounds = (proof.lower, proof.upper)
        if np.isfinite(bounds).all():
            values.same(margin_bounds_=bounds)
        values.record("margin_bounds_")
    values.record("n_iter_", "n_passes_")


def _require_pairs(model: Any, proof: Any, data: TrainingRows) -> None:
    """Require that the machines tell apart what `multi_class` says: votes are counted by it."""
    direct = model.multi_class == "direct"
    if model.multi_class not in ("ovo", "ovr", "direct"):
        raise Mismatch(f"there is no multi_class={model.multi_class!r}")
    several = len(data.classes) > 2
    expected: Any = KernelMulticlassGap if direct else KernelGaps if several else KernelGap
    fits = isinstance(proof, expected)
    if fits and not direct:
        machines = getattr(proof, "machines", (proof,))
        found = [(machine.positive, machine.negative) for machine in machines]
        fits = found == model._pairs()
    if not fits:
        raise Mismatch(f"multi_class={model.multi_class!r} is not what the certificate speaks of")


def _require_costs(values: Values, machines: Any, data: TrainingRows, C: float) -> Any:
    """Compare costs with C and the weights of classes; return the sample weights, None for none."""
    weights = data.row_weights(values.model.class_weight)
    costs = np.where(weights > 0.0, np.inf, 0.0) if np.isinf(C) else C * weights
    taken = np.zeros(data.n_rows)
    for machine in machines:
        part = np.ones(data.n_rows, dtype=bool)
        if getattr(machine, "negative", -1) >= 0:
            part = np.isin(data.codes, (machine.positive, machine.negative))
        if data.require_costs(machine.costs[part], costs[part], np.flatnonzero(part)):
            with np.errstate(invalid="ignore"):
                taken[part] = np.where(np.isinf(costs[part]), 1.0, machine.costs[part] / C)
        if machine.costs[~part].any():
            raise Mismatch("the certificate charges for rows that have no part in it")
    if not taken.any():
        return data.weights
    values.name(ROW_WEIGHTS)
    return taken


def _require_kernel(values: Values, machines: Any, data: TrainingRows, weights: Any) -> None:
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
        and all(machine.kernel == found for machine in machines),
        "kernel_",
    )


def _adopted(model: Any, proof: Any, machines: Any, data: TrainingRows) -> Any:
    """Return a model of the same parameters that holds what a fit with this proof keeps."""
    again = fresh(model)
    again.classes_, again.kernel_ = data.classes, model.kernel_
    run = {"status": Status.OPTIMAL, "updates": 0, "passes": 0}
    if isinstance(proof, KernelMulticlassGap):
        from separatrix.core.kernel_direct import keep_direct

        keep_direct(again, data.X, data.codes, SimpleNamespace(proof=proof, **run))  # type: ignore[arg-type]
    else:
        fits: Any = [SimpleNamespace(proof=machine, **run) for machine in machines]
        again._keep(data.X, data.codes, fits, None)
    return again


def _require_margins(machines: Any, data: TrainingRows) -> None:
    """Require margins for all rows or none, and a bias: every kernel machine has one."""
    for machine in machines:
        if machine.margins.shape not in ((0,), (data.n_rows,)) or machine.intercept is not True:
            raise Mismatch("the margins kept with the certificate are not those of the rows")
