"""A fitted machine as numbers with which the page decides as the library does.

A rule is one or several scores, linear in (lifted) coordinates or in kernel values, and how they
decide: by sign, by the largest, or by the votes of pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators._votes import pairs_of

__all__ = ["rule_of"]

_QUADRATIC = [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]


def rule_of(machine: Any, n_classes: int, many: str) -> dict[str, Any]:
    """Return the rule of a fitted machine."""
    ones = getattr(machine, "estimators_", None)
    if ones is not None:
        parts = [rule_of(one, 2, many) for one in ones]
        rule: dict[str, Any] = {"decide": "argmax" if many == "ovr" else "votes"}
        if many == "ovo":
            rule["pairs"] = [list(pair) for pair in pairs_of(n_classes)]
        return {**rule, **_joined(parts, ones)}
    rule = {"decide": "sign" if n_classes == 2 else "argmax"}
    if n_classes > 2 and getattr(machine, "multi_class", "") == "ovo":
        rule = {"decide": "votes", "pairs": [list(pair) for pair in pairs_of(n_classes)]}
    if hasattr(machine, "kernel_"):
        return {**rule, "kernel": _kernel(machine)}
    if hasattr(machine, "gaussians_") and not machine.linear_:
        return {**rule, **_quadratic(machine)}
    coef = np.atleast_2d(machine.coef_)
    intercept = np.atleast_1d(machine.intercept_)
    return {**rule, "weights": np.column_stack([intercept, coef]).tolist()}


def _joined(parts: list[dict[str, Any]], ones: list[Any]) -> dict[str, Any]:
    if "kernel" in parts[0]:
        # Every machine has its own rows: they are named by their coordinates.
        return {"kernels": [part["kernel"] for part in parts]}
    joined = {"weights": [part["weights"][0] for part in parts]}
    if "features" in parts[0]:
        joined["features"] = parts[0]["features"]
    return joined


def _kernel(machine: Any) -> dict[str, Any]:
    kernel = machine.kernel_
    return {
        "name": kernel.name,
        "gamma": kernel.gamma,
        "degree": kernel.degree,
        "coef0": kernel.coef0,
        "rows": np.asarray(machine.support_vectors_).tolist(),
        "shares": machine.dual_coef_.tolist(),
        "biases": np.atleast_1d(machine.intercept_).tolist(),
    }


def _quadratic(machine: Any) -> dict[str, Any]:
    """Return the scores of Gaussians as quadratic functions, found from their values at six points.

    A quadratic of two variables has six coefficients, so that six values say all.
    """
    spread = np.asarray(machine.means_).std(axis=0) + 1.0
    centre = np.asarray(machine.means_).mean(axis=0)
    places = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]]) * spread + centre
    terms = np.column_stack(
        [np.ones(6), *(places[:, 0] ** p * places[:, 1] ** q for p, q in _QUADRATIC)]
    )
    log_densities = machine.gaussians_.log_densities(places)
    if machine.threshold_ is not None:
        values = log_densities[:, 1:] - log_densities[:, :1] - machine.threshold_
    else:
        with np.errstate(divide="ignore"):
            values = log_densities + np.maximum(np.log(machine.priors_), -1e300)
    weights = np.linalg.solve(terms, values).T
    return {
        "features": {"kind": "polynomial", "powers": _QUADRATIC},
        "weights": weights.tolist(),
    }
