"""One run of the library for the page: fit, replay, and say what came out."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.errors import DataError, NotSeparableError
from separatrix.lab.asked import Asked, read_asked
from separatrix.lab.building import build, can_replay, python_code
from separatrix.lab.facts import facts_of
from separatrix.lab.lifts import lift_told
from separatrix.lab.parameters import BadRequest
from separatrix.plots.player.columns import columns_of, parts_of
from separatrix.plots.player.rules import rule_of, sides_of, support_of

__all__ = ["run"]

_CHECKED_IN_THE_PAGE = ("separation", "margin-bounds")


def run(message: Any) -> dict[str, Any]:
    """Return everything that the page shows of one method on one set of points."""
    asked = read_asked(message)
    lift, machine = build(asked)
    X = asked.X
    answer: dict[str, Any] = {"method": asked.method.name, "code": python_code(asked)}
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            X = asked.X if lift is None else lift.fit_transform(asked.X)
            machine.fit(X, asked.codes)
        except (NotSeparableError, DataError, ValueError) as refusal:
            return {**answer, "refused": _refusal(refusal), "replay": None}
        answer["replay"] = _replay(asked, machine, X)
        answer["facts"] = facts_of(machine, X, asked)
    answer["remarks"] = list(dict.fromkeys(str(warning.message) for warning in told))
    rule = rule_of(machine, asked.n_classes, asked.many)
    if lift is not None:
        rule["features"] = lift_told(asked.lift, lift)
    answer["rule"] = rule
    answer["support"] = np.asarray(getattr(machine, "support_", [])).tolist()
    answer["hard"] = bool(np.isinf(asked.settings.get("C", 0.0)))
    answer["certificate"] = _certificate(machine, asked)
    return answer


def _replay(asked: Asked, machine: Any, X: np.ndarray) -> dict[str, Any] | None:
    if not can_replay(asked):
        return None
    try:
        frames = sx.replay(machine, X, asked.codes)
        if asked.n_classes > 2 and asked.many != "direct":
            return {"parts": _parts(asked, machine, frames)}
        return columns_of(frames, len(X))
    except (DataError, ValueError):
        return None  # what is wrong with the data, `fit` has said


def _parts(asked: Asked, machine: Any, frames: Any) -> list[dict[str, Any]]:
    """Return the run of every machine, and which classes it sets apart."""
    sides = sides_of(np.unique(asked.codes).tolist(), asked.many)
    parts = parts_of(frames, len(asked.X), len(sides))
    return [
        {**part, "sides": sides[k], "support": support_of(machine, k)}
        for k, part in enumerate(parts)
    ]


def _refusal(refusal: ValueError) -> str:
    if isinstance(refusal, BadRequest):
        raise refusal
    return str(refusal)


def _certificate(machine: Any, asked: Asked) -> dict[str, Any] | None:
    """Return the proof where the page can check it: of the plane's own points."""
    proof = getattr(machine, "certificate_", None)
    if proof is None or asked.lift != "none" or not getattr(proof, "holds", False):
        return None
    if not hasattr(proof, "to_json"):
        return None
    written: dict[str, Any] = json.loads(proof.to_json())
    return written if written.get("kind") in _CHECKED_IN_THE_PAGE else None
