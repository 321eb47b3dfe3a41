"""One run of the library for the page: fit, replay, and say what came out."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.errors import DataError, NotSeparableError
from separatrix.lab.building import build, can_replay, python_code
from separatrix.lab.facts import facts_of
from separatrix.lab.lifts import lift_formula
from separatrix.lab.parameters import BadRequest
from separatrix.lab.request import Request, read_request
from separatrix.plots.player.columns import columns_of, parts_of
from separatrix.plots.player.rules import rule_of, sides_of, support_of

__all__ = ["run"]

_CHECKED_IN_THE_PAGE = ("separation", "margin-bounds")


def run(message: Any) -> dict[str, Any]:
    """Return everything that the page shows of one method on one set of points."""
    request = read_request(message)
    lift, machine = build(request)
    X = request.X
    answer: dict[str, Any] = {"method": request.method.name, "code": python_code(request)}
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            X = request.X if lift is None else lift.fit_transform(request.X)
            machine.fit(X, request.codes)
        except (NotSeparableError, DataError, ValueError) as refusal:
            return {**answer, "refused": _refusal(refusal), "replay": None}
        answer["replay"] = _replay(request, machine, X)
        answer["facts"] = facts_of(machine, X, request)
    answer["remarks"] = list(dict.fromkeys(str(warning.message) for warning in caught))
    rule = rule_of(machine, request.n_classes, request.many)
    if lift is not None:
        rule["features"] = lift_formula(request.lift, lift)
    answer["rule"] = rule
    answer["support"] = np.asarray(getattr(machine, "support_", [])).tolist()
    answer["hard"] = bool(np.isinf(request.settings.get("C", 0.0)))
    answer["certificate"] = _certificate(machine, request)
    return answer


def _replay(request: Request, machine: Any, X: np.ndarray) -> dict[str, Any] | None:
    if not can_replay(request):
        return None
    try:
        frames = sx.replay(machine, X, request.codes)
        if request.n_classes > 2 and request.many != "direct":
            return {"parts": _parts(request, machine, frames)}
        return columns_of(frames, len(X))
    except (DataError, ValueError):
        return None  # what is wrong with the data, `fit` has said


def _parts(request: Request, machine: Any, frames: Any) -> list[dict[str, Any]]:
    """Return the run of every machine, and which classes it sets apart."""
    sides = sides_of(np.unique(request.codes).tolist(), request.many)
    parts = parts_of(frames, len(request.X), len(sides))
    return [
        {**part, "sides": sides[k], "support": support_of(machine, k)}
        for k, part in enumerate(parts)
    ]


def _refusal(refusal: ValueError) -> str:
    if isinstance(refusal, BadRequest):
        raise refusal
    return str(refusal)


def _certificate(machine: Any, request: Request) -> dict[str, Any] | None:
    """Return the proof where the page can check it: of the plane's own points."""
    proof = getattr(machine, "certificate_", None)
    if proof is None or request.lift != "none" or not getattr(proof, "holds", False):
        return None
    if not hasattr(proof, "to_json"):
        return None
    written: dict[str, Any] = json.loads(proof.to_json())
    return written if written.get("kind") in _CHECKED_IN_THE_PAGE else None
