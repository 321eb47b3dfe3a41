"""The facts reported of a fitted machine, wherever its rows are."""

from __future__ import annotations

from typing import Any

__all__ = ["machine_facts"]


def machine_facts(machine: Any) -> dict[str, Any]:
    """Return what a fit found, as plain data."""
    import numpy as np

    facts: dict[str, Any] = {
        "machine": type(machine).__name__,
        "C": machine.C,
        "status": str(machine.status_),
        "solver": machine.solver_,
        "iterations": int(machine.n_iter_),
        "passes": float(machine.n_passes_),
        "objective": np.asarray(machine.objective_).tolist(),
        "lower_bound": np.asarray(machine.dual_objective_).tolist(),
        "gap": float(machine.gap_),
        "classes": [str(name) for name in machine.classes_],
        "intercept": machine.intercept_.tolist(),
    }
    if hasattr(machine, "support_"):
        facts["support_vectors"] = [int(count) for count in machine.n_support_]
    return facts
