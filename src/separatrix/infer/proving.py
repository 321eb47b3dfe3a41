"""From numbers to enclosures: points go to `certificates`, which proves what is reported."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from separatrix.certificates.enclosed_functions import quantile, tails
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.inference import Bounds, Coefficient, InferenceProof, Integers, Pair
from separatrix.certificates.likelihood_bounds import NoProof, Rows
from separatrix.infer.given import Given
from separatrix.infer.likelihood import normal_quantile
from separatrix.infer.model import Design, Numbers, Task
from separatrix.problem.fingerprint import named_rows
from separatrix.solvers.running.drive import one_thread

_ROOM = 1.0  # a claim is wider than what was found by so many times its width, to either side


def add_proof(result: Any, data: Given, design: Design, found: Numbers, task: Task) -> None:
    """Enclose what is reported, and keep the certificate; leave out what cannot be proved."""
    k = len(found.kept)
    ridge = np.zeros(k)
    if task.method == "ridge":
        ridge[int(design.intercept) :] = 1.0 / task.C
    metric = found.metric
    rows = metric.at.rows if metric is not None else _rows(design, found, ridge)
    direction = _main_direction(found, task)
    point = np.asarray(found.points.get("best", np.zeros(k)))
    bounds = Bounds(rows, task.method, task.level, quantile_guess(task), point, direction, metric)
    with one_thread():
        listed = _coefficients(bounds, found, task)
    _keep(result, found, task, listed)
    proved = all(each.estimate or np.isinf(found.estimate[j]) for j, each in
                 zip(found.kept, listed, strict=True))  # fmt: skip
    if not proved or task.groups is not None or not _has_top(bounds):
        return
    result.proof = "global" if bounds.is_global else "local"
    name, classes = "", tuple(result.classes)
    if not design.offset.any() and (task.method != "ridge" or task.C > 0.0):
        name, _ = named_rows(data.X, data.labels, design.weights)
    columns = data.used[found.kept[int(design.intercept) :] - int(design.intercept)]
    if design.intercept and (len(found.kept) == 0 or found.kept[0] != 0):
        return
    result.certificate = InferenceProof(
        intercept=design.intercept,
        data_sha256=name,
        n_rows=len(design.y),
        n_features=data.X.shape[1],
        classes=classes,
        method=task.method,
        level=task.level,
        C=task.C,
        quantile=quantile_guess(task),
        columns=tuple(int(j) for j in columns),
        point=tuple(point.tolist()),
        direction=direction,
        maximum=result.proof,
        coefficients=tuple(listed),
    )


def _has_top(bounds: Bounds) -> bool:
    """Whether the maximum itself is proved, or the supremum."""
    with suppress(NoProof):
        return bool(bounds.top.value.is_finite)
    return False


def _rows(design: Design, found: Numbers, ridge: np.ndarray) -> Rows:
    X = np.ascontiguousarray(design.X[:, found.kept])
    return Rows(X, design.y, design.weights, design.offset, ridge)


def quantile_guess(task: Task) -> float:
    """Return about the quantile of the level."""
    return normal_quantile(task.level) ** 2


def _main_direction(found: Numbers, task: Task) -> Integers:
    if task.method != "mle" or found.face is None:
        return ()
    return tuple(int(v) for v in found.face.direction)


def _wider(pair: Pair) -> Pair:
    """Widen a claim, so that sums in another order prove it too."""
    if not pair:
        return ()
    off = _ROOM * (pair[1] - pair[0]) + 4.0 * np.spacing(max(abs(pair[0]), abs(pair[1])))
    return float(pair[0] - off), float(pair[1] + off)


def _coefficients(bounds: Bounds, found: Numbers, task: Task) -> list[Coefficient]:
    if task.method == "firth":
        with suppress(NoProof):  # then nothing is proved, one by one
            bounds.expect([_points(found, place, int(j)) for place, j in enumerate(found.kept)])
    listed = []
    for place, j in enumerate(found.kept):
        listed.append(_coefficient(bounds, found, task, place, int(j)))
    return listed


def _points(found: Numbers, place: int, j: int) -> Coefficient:
    """Return the points of a coefficient alone."""
    made = {}
    for name, key in (("null", "null"), ("lower", "lower_point"), ("upper", "upper_point")):
        point = found.points.get((j, name))
        if point is not None:
            point = np.array(point)
            if name == "null":
                point[place] = 0.0
            made[key] = tuple(point.tolist())
    return Coefficient(**made)


def _coefficient(bounds: Bounds, found: Numbers, task: Task, place: int, j: int) -> Coefficient:
    """Prove what can be proved of one coefficient."""
    points, separated = found.points, any(bounds.direction)
    made: dict[str, Any] = {}
    try:
        estimate, error = bounds.estimate(place)
    except NoProof:
        return Coefficient()
    if not np.isinf(found.estimate[j]):
        made["estimate"], made["std_error"] = _wider(estimate), _positive(_wider(error))
    if task.errors != "information" or task.groups is not None:
        made.pop("std_error", None)
    face = points.get((j, "face"))
    if separated and face is not None:
        made["direction"] = _without(face.direction, place)
    null = points.get((j, "null"))
    if null is not None:
        null = np.array(null)
        null[place] = 0.0
        made["null"] = tuple(null.tolist())
    try:
        if null is not None or (separated and face is not None and not face.rows.any()):
            lr, p = bounds.lr(place, Coefficient(**made))
            made["lr"], made["p_value"] = _positive(_wider(lr)), _share(_wider(p))
    except NoProof:
        pass
    if task.intervals != "profile":
        return Coefficient(**made)
    for name, side, runs in (("lower", -1.0, "runs_down"), ("upper", 1.0, "runs_up")):
        away = points.get((j, f"{name} runs"))
        if away is not None:
            made[runs] = tuple(int(v) for v in away.direction)
            continue
        point = points.get((j, name))
        if point is None:
            continue
        point = np.array(point)
        try:
            if task.method == "firth":
                pair = _wider(bounds.firth_end(place, side, point.tolist()))
            else:
                pair = bounds.find_end(place, side, point.tolist(), made.get("direction", ()))
        except NoProof:
            continue
        if pair:
            made[name], made[f"{name}_point"] = pair, tuple(point.tolist())
    return Coefficient(**made)


def _without(direction: Integers, place: int) -> Integers:
    """Return a direction of the other coefficients as one of all, this one at zero."""
    if not direction:
        return ()
    listed = [int(v) for v in direction]
    return (*listed[:place], 0, *listed[place:])


def _positive(pair: Pair) -> Pair:
    return (max(pair[0], 0.0), pair[1]) if pair else ()


def _share(pair: Pair) -> Pair:
    return (max(pair[0], 0.0), min(pair[1], 1.0)) if pair else ()


def _moved_inside(table: dict[str, np.ndarray], bounds: Any) -> None:
    """Move numbers that rounding has put outside their enclosure to its nearer end."""
    for name, (low, high) in bounds.items():
        if name in table:
            inside = np.clip(table[name], low, high)
            table[name] = np.where(np.isnan(low), table[name], inside)


def _enclose_wald(out: dict[str, tuple[np.ndarray, np.ndarray]], task: Task) -> None:
    """Enclose Wald's intervals and p-values where estimate and error are enclosed."""
    both = np.flatnonzero(~np.isnan(out["estimate"][0] + out["std_error"][0]))
    one, error = (
        Enclosure(*(end[both] for end in out[name])) for name in ("estimate", "std_error")
    )
    off = Enclosure(*map(np.float64, quantile(task.level, quantile_guess(task)))).root() * error
    for name, ends in (("wald_lower", one - off), ("wald_upper", one + off)):
        out[name][0][both], out[name][1][both] = ends.low, ends.high
    ratio = (one / error).square()
    for j, low, high in zip(both, ratio.low.tolist(), ratio.high.tolist(), strict=True):
        out["p_wald"][0][j], out["p_wald"][1][j] = tails(low, high)


def _keep(result: Any, found: Numbers, task: Task, listed: list[Coefficient]) -> None:
    """Put the bounds on the result, beside the numbers; Wald's follow from them."""
    width = len(result.names)
    names = ("estimate", "std_error", "lower", "upper", "lr", "p_lr", "wald_lower", "wald_upper",
             "p_wald")  # fmt: skip
    out = {name: (np.full(width, np.nan), np.full(width, np.nan)) for name in names}

    def put(name: str, j: int, pair: Pair) -> None:
        if pair:
            out[name][0][j], out[name][1][j] = pair

    for j, each in zip(found.kept, listed, strict=True):
        for name in ("estimate", "std_error", "lower", "upper", "lr"):
            put(name, j, getattr(each, name))
        put("p_lr", j, each.p_value)
        for name, runs, value in (
            ("lower", each.runs_down, -np.inf),
            ("upper", each.runs_up, np.inf),
        ):
            if runs:
                put(name, j, (value, value))
    _enclose_wald(out, task)
    profile = task.intervals == "profile"
    out["p_value"] = out["p_lr" if profile else "p_wald"]
    if not profile:
        out["lower"], out["upper"] = out["wald_lower"], out["wald_upper"]
    _moved_inside(result.table, out)
    result.enclosures = out
