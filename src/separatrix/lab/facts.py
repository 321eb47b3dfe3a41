"""What a fit found, as a few labelled figures and one sentence of proof."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.certificates.separation import check_novikoff
from separatrix.lab.request import Request
from separatrix.plots.player.columns import finite
from separatrix.problem.signed import SignedProblem

__all__ = ["facts_of"]

REJECTED = "reject"  # what the library says of rows that it does not decide


def facts_of(machine: Any, X: np.ndarray, request: Request) -> dict[str, Any]:
    """Return status, figures and the proof in words."""
    status = _status(machine)
    decided = machine.predict(X)
    rejected = np.zeros(len(X), dtype=bool)
    if request.settings.get("reject_cost") is not None:
        rejected = np.array([label == REJECTED for label in decided.tolist()])
    facts: dict[str, Any] = {
        "errors": int(((decided != request.codes) & ~rejected).sum()),
        "points": len(X),
        "status": None if status is None else str(status),
        "cause": "" if status is None else status.cause,
        "remedy": "" if status is None else status.remedy,
        "updates": getattr(machine, "n_iter_", None),
        "proof": _proof(machine, X, request),
        "figures": _figures(machine),
    }
    if request.settings.get("reject_cost") is not None:
        facts["figures"].append(["rejected", f"{int(rejected.sum())} of {len(X)}"])
    novikoff = _novikoff(machine, X, request)
    if novikoff is not None:
        facts["novikoff"] = novikoff
    return facts


def _status(machine: Any) -> Any:
    """Return how the fit ended; of several machines, if all of them ended so."""
    if hasattr(machine, "status_"):
        return machine.status_
    each = {getattr(one, "status_", None) for one in getattr(machine, "estimators_", [])}
    return each.pop() if len(each) == 1 else None


def _figures(machine: Any) -> list[list[str]]:
    found: list[list[str]] = []
    if hasattr(machine, "margin_bounds_"):
        low, high = machine.margin_bounds_
        found.append(["largest margin", f"between {low:.5g} and {high:.5g}"])
    elif np.ndim(getattr(machine, "margin_", [])) == 0:
        found.append(["half the street, 1/|w|", f"{machine.margin_:.5g}"])
    if hasattr(machine, "support_"):
        found.append(["support vectors", f"{len(machine.support_)}"])
    if getattr(machine, "objective_", None) is not None and np.ndim(machine.objective_) == 0:
        found.append(["objective", f"{machine.objective_:.7g}"])
        found.append(["no lower than", f"{machine.dual_objective_:.7g}"])
    if getattr(machine, "gap_", None) is not None and np.ndim(machine.gap_) == 0:
        found.append(["proved gap", f"{machine.gap_:.2g}"])
    if hasattr(machine, "lower_bound_"):
        found.append(["fewest errors, proved at least", f"{machine.lower_bound_}"])
    if hasattr(machine, "rank_"):
        found.append(["rank", f"{machine.rank_}"])
    return found


def _proof(machine: Any, X: np.ndarray, request: Request) -> str:
    proof = getattr(machine, "certificate_", None)
    if proof is not None:
        return str(proof)
    proofs = [proof for proof in getattr(machine, "certificates_", []) if proof is not None]
    if proofs:
        holding = sum(bool(getattr(proof, "holds", True)) for proof in proofs)
        return f"{holding} of {len(machine.estimators_)} machines proved"
    return ""


def _novikoff(machine: Any, X: np.ndarray, request: Request) -> dict[str, Any] | None:
    """Return the mistakes and the bound on them, by the widest margin at hand: Kozinec's."""
    bound = getattr(machine, "novikoff_", None)
    if bound is None or request.n_classes != 2 or request.settings.get("update") != "single":
        return None
    # In scaled columns or through the origin the run is another's: its own bound must do.
    plain = request.settings["fit_intercept"] and not request.settings["scale"]
    if math.isfinite(bound.bound) and plain:
        signs = np.where(request.codes == machine.classes_[1], 1.0, -1.0)
        wide = sx.Kozinec(epsilon=0.05 * bound.margin + 1e-9, max_updates=20_000).fit(X, signs)
        problem = SignedProblem(np.ascontiguousarray(X), signs)
        w = problem.homogeneous(wide.coef_, wide.intercept_)
        rate = float(request.settings["learning_rate"])
        first = machine.init if isinstance(machine.init, list) else None
        if first is not None or machine.init == "zeros":
            start = None if first is None else np.array(first)
            wider = check_novikoff(problem, w, bound.mistakes, start, rate)
            bound = min(bound, wider, key=lambda one: one.bound)
    return {
        "mistakes": bound.mistakes,
        "bound": finite(bound.bound),
        "radius": finite(bound.radius),
        "margin": finite(bound.margin),
        "words": str(bound),
    }
