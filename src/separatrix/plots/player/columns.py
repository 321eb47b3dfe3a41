"""A replay as columns of numbers: what `sx.replay` yields, to the last bit.

JSON writes a float64 with as many digits as are needed to read the same float64 again, so nothing
is lost on the way to the page. Columns are shorter than objects, and a kernel machine's
multipliers are sent as the two that change.

A fitted machine as numbers with which the page decides as the library does.

A rule is one or several scores, linear in (lifted) coordinates or in kernel values, and how they
decide: by sign, by the largest, by the votes of pairs, or by the least expected loss.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from separatrix.core.linear_model import pairs_of

__all__ = [
    "columns_of",
    "finite",
    "parts_of",
    "rule_of",
    "sides_of",
    "support_of",
]


MOST_FRAMES = 5_001
MOST_FRAMES_OF_A_PART = 1_001
MOST_NUMBERS = 250_000
SECONDS = 4.0
_MOST_ROWS = 1_000


def columns_of(frames: Iterable[Any], n_rows: int, *, multipliers: bool = True) -> dict[str, Any]:
    """Return the frames as columns, cut where they become too many to send."""
    deadline = time.perf_counter() + SECONDS
    return _cut(frames, n_rows, MOST_FRAMES, MOST_NUMBERS, deadline, multipliers)


def parts_of(
    frames: Iterable[Any], n_rows: int, n_parts: int, *, multipliers: bool = True
) -> list[dict[str, Any]]:
    """Return the columns of every machine, where several follow one another."""
    deadline = time.perf_counter() + SECONDS
    most, room = min(MOST_FRAMES, MOST_FRAMES_OF_A_PART), MOST_NUMBERS // n_parts
    return [
        _cut(part, n_rows, most, room, deadline, multipliers)
        for _, part in groupby(frames, attrgetter("machine"))
    ]


def _cut(
    frames: Iterable[Any],
    n_rows: int,
    most: int,
    room: int,
    deadline: float,
    multipliers: bool,
) -> dict[str, Any]:
    kept: list[Any] = []
    is_cut = False
    for frame in frames:
        room -= _size(frame, n_rows, multipliers)
        if len(kept) >= most or room < 0 or time.perf_counter() > deadline:
            is_cut = True
            break
        kept.append(frame)
    status = kept[-1].status if kept else None
    return {
        "columns": _columns(kept, n_rows, multipliers) if kept else {},
        "is_cut": is_cut,
        "status": None if status is None else str(status),
    }


def _size(frame: Any, n_rows: int, multipliers: bool) -> int:
    numbers = 12 if not hasattr(frame, "weights") else 8 + frame.weights.size
    return numbers + (n_rows if multipliers and _sends_multipliers(frame, n_rows) else 0)


def _sends_multipliers(frame: Any, n_rows: int) -> bool:
    """All of them: of an interior point, or of a rule that may change every one at each step."""
    return hasattr(frame, "alpha") and not hasattr(frame, "pair") and n_rows <= _MOST_ROWS


def _columns(frames: list[Any], n_rows: int, multipliers: bool) -> dict[str, Any]:
    first = frames[0]
    columns: dict[str, Any] = {
        "update": [frame.update for frame in frames],
        "errors": [frame.errors for frame in frames],
    }
    for name in ("margin", "bound", "gap", "primal", "dual", "bias"):
        if hasattr(first, name):
            columns[name] = [finite(getattr(frame, name)) for frame in frames]
    if hasattr(first, "pair"):
        columns["pair"] = [list(frame.pair) for frame in frames]
        columns["after"] = [list(frame.after) for frame in frames]
        return columns
    if hasattr(first, "weights"):
        columns["weights"] = [_finite_list(frame.weights) for frame in frames]
    if hasattr(first, "row"):
        columns["row"] = [frame.row for frame in frames]
    if multipliers and _sends_multipliers(first, n_rows):
        columns["alpha"] = [_finite_list(frame.alpha) for frame in frames]
    return columns


def _finite_list(values: np.ndarray) -> list[float | None]:
    flat: list[float | None] = values.ravel().tolist()
    return flat if np.isfinite(values).all() else [finite(value) for value in values.ravel()]


def finite(value: float) -> float | None:
    """Return the number, or None where JSON has no word for it."""
    return float(value) if math.isfinite(value) else None


# ---- a fitted model as numbers with which the page decides as the library does


_QUADRATIC = [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]


def rule_of(machine: Any, n_classes: int, many: str) -> dict[str, Any]:
    """Return the rule of a fitted machine; `many` is "ovr", "ovo" or "direct"."""
    ones = getattr(machine, "estimators_", None)
    if ones is not None:
        parts = [rule_of(one, 2, many) for one in ones]
        rule: dict[str, Any] = {"decide": "argmax" if many == "ovr" else "votes"}
        if many == "ovo":
            rule["pairs"] = [list(pair) for pair in pairs_of(n_classes)]
        return {**rule, **_joined(parts)}
    rule = {"decide": "sign" if n_classes == 2 else "argmax"}
    if n_classes > 2 and getattr(machine, "multi_class", "") == "ovo":
        rule = {"decide": "votes", "pairs": [list(pair) for pair in pairs_of(n_classes)]}
    if hasattr(machine, "kernel_"):
        return {**rule, "kernel": _kernel(machine)}
    if hasattr(machine, "gaussians_") and not machine.linear_:
        return _gaussian(machine, rule)
    coef = np.atleast_2d(machine.coef_)
    intercept = np.atleast_1d(machine.intercept_)
    return {**rule, "weights": np.column_stack([intercept, coef]).tolist()}


def sides_of(classes: list[int], many: str) -> list[list[int | None]]:
    """Return what each machine sets apart: a class (None: all others) from its positive class.

    >>> sides_of([0, 2, 5], "ovr"), sides_of([0, 2, 5], "ovo")
    ([[None, 0], [None, 2], [None, 5]], [[0, 2], [0, 5], [2, 5]])
    """
    if many == "ovr":
        return [[None, code] for code in classes]
    return [[classes[low], classes[high]] for low, high in pairs_of(len(classes))]


def support_of(machine: Any, number: int) -> list[int]:
    """Return the support vectors of one machine among several."""
    shares = getattr(machine, "dual_coef_", None)
    if shares is None or not hasattr(machine, "support_"):
        return []
    rows: list[int] = np.asarray(machine.support_)[shares[number] != 0.0].tolist()
    return rows


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
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


def _gaussian(machine: Any, rule: dict[str, Any]) -> dict[str, Any]:
    """Return quadratic scores; with losses between many classes or rejection, how to weigh them."""
    weighs = machine.reject_cost is not None or (
        len(machine.classes_) > 2 and machine.loss_matrix is not None
    )
    if weighs:
        rule = {"decide": "losses", "losses": machine.loss_matrix_.tolist()}
        rule["reject"] = machine.reject_cost

    def scores(places: np.ndarray) -> np.ndarray:
        log_densities: np.ndarray = machine.gaussians_.log_densities(places)
        if machine.threshold_ is not None and not weighs:
            return log_densities[:, 1:] - log_densities[:, :1] - machine.threshold_
        with np.errstate(divide="ignore"):
            return log_densities + np.maximum(np.log(machine.priors_), -1e300)

    return {**rule, **_quadratic(scores, np.asarray(machine.means_))}


def _quadratic(scores: Any, means: np.ndarray) -> dict[str, Any]:
    """Return quadratic functions, found from their values at six points.

    A quadratic of two variables has six coefficients, so that six values say all.
    """
    spread, centre = means.std(axis=0) + 1.0, means.mean(axis=0)
    places = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]]) * spread + centre
    terms = np.column_stack(
        [np.ones(6), *(places[:, 0] ** p * places[:, 1] ** q for p, q in _QUADRATIC)]
    )
    return {
        "features": {"kind": "polynomial", "powers": _QUADRATIC},
        "weights": np.linalg.solve(terms, scores(places)).T.tolist(),
    }
