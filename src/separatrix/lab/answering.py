"""The process that computes: a method on the drawn points, or a verdict on their classes.

``python -m separatrix.lab.answering`` is started by the server. It reads questions from a pipe and
writes answers to another: four bytes of length, then JSON. It has no socket and no state, so the
server can end it when an answer takes too long, as no thread can be.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from itertools import combinations
from typing import Any, BinaryIO

import numpy as np

import separatrix as sx
from separatrix.checker import Data, Refused, check
from separatrix.checker.exact import at_least, at_most
from separatrix.errors import DataError, NotSeparableError
from separatrix.lab.building import (
    Request,
    build,
    can_replay,
    python_code,
    read_points,
    read_request,
)
from separatrix.lab.parameters import BadRequest, lift_formula
from separatrix.lab.workers import LENGTH_BYTES
from separatrix.plots.player.columns import (
    columns_of,
    finite,
    parts_of,
    rule_of,
    sides_of,
    support_of,
)

__all__ = ["answer", "facts_of", "main", "prove", "run"]

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


# ---- what a fit found


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
        "updates": int(np.max(machine.n_iter_)) if hasattr(machine, "n_iter_") else None,
        "proof": _proof(machine, X, request),
        "figures": _visits(machine, X) + _figures(machine),
    }
    if request.settings.get("reject_cost") is not None:
        facts["figures"].append(["rejected", f"{int(rejected.sum())} of {len(X)}"])
    novikoff = _novikoff(machine, request)
    if novikoff is not None:
        facts["novikoff"] = novikoff
    return facts


def _status(machine: Any) -> Any:
    """Return how the fit ended; of several machines, if all of them ended so."""
    if hasattr(machine, "status_"):
        return machine.status_
    each = {getattr(one, "status_", None) for one in getattr(machine, "estimators_", [])}
    return each.pop() if len(each) == 1 else None


def _visits(machine: Any, X: np.ndarray) -> list[list[str]]:
    """Return how many rows a perceptron looked at, one at a time."""
    if not hasattr(machine, "novikoff_") or not hasattr(machine, "n_passes_"):
        return []
    return [["rows visited", f"{round(machine.n_passes_ * len(X)):,}"]]


def _figures(machine: Any) -> list[list[str]]:
    found: list[list[str]] = []
    if hasattr(machine, "margin_bounds_"):
        low, high = machine.margin_bounds_
        found.append(["largest margin", f"between {at_least(low, 5)} and {at_most(high, 5)}"])
    elif np.ndim(getattr(machine, "margin_", [])) == 0:
        found.append(["margin, 1/|w|", f"{machine.margin_:.5g}"])
    if hasattr(machine, "support_"):
        found.append(["support vectors", f"{len(machine.support_)}"])
    if getattr(machine, "objective_", None) is not None and np.ndim(machine.objective_) == 0:
        found.append(["objective", f"{machine.objective_:.7g}"])
        found.append(["lower bound", at_least(machine.dual_objective_, 7)])
    if getattr(machine, "gap_", None) is not None and np.ndim(machine.gap_) == 0:
        found.append(["proved gap", at_most(machine.gap_, 2)])
    if hasattr(machine, "lower_bound_"):
        found.append(["lower bound on the errors, proved", f"{machine.lower_bound_}"])
    if hasattr(machine, "rank_"):
        found.append(["rank", f"{machine.rank_}"])
    return found


def _proof(machine: Any, X: np.ndarray, request: Request) -> str:
    proof = getattr(machine, "certificate_", None)
    if proof is not None:
        # An optimum that separates nothing is no claim refuted: it never said it would.
        words = str(proof)
        prefix = "refuted: "
        if words.startswith(prefix):
            return f"proved: these weights do not separate the points; {words.removeprefix(prefix)}"
        return words
    proofs = [proof for proof in getattr(machine, "certificates_", []) if proof is not None]
    if proofs:
        holding = sum(bool(getattr(proof, "holds", True)) for proof in proofs)
        return f"{holding} of {len(machine.estimators_)} models proved"
    return ""


def _novikoff(machine: Any, request: Request) -> dict[str, Any] | None:
    """Return the mistakes and the bound on them, as the perceptron keeps them."""
    bound = getattr(machine, "novikoff_", None)
    if bound is None or request.n_classes != 2 or request.settings.get("update") != "single":
        return None
    return {
        "mistakes": bound.mistakes,
        "bound": finite(bound.bound),
        "radius": finite(bound.radius),
        "margin": finite(bound.margin),
        "words": str(bound),
    }


# ---- whether the classes can be separated


SECONDS = 5.0


def prove(message: Any) -> dict[str, Any]:
    """Return a verdict for every pair of classes."""
    X, codes = read_points(message)
    deadline = time.perf_counter() + SECONDS
    present = [int(code) for code in np.unique(codes)]
    verdicts: list[dict[str, Any]] = []
    for pair in combinations(present, 2):
        if time.perf_counter() > deadline:
            return {"pairs": verdicts, "is_cut": True}
        rows = np.flatnonzero(np.isin(codes, pair))
        verdicts.append(_verdict(X[rows], (codes[rows] == pair[1]).astype(int), rows, pair))
    return {"pairs": verdicts, "is_cut": False}


def _verdict(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, pair: tuple[int, int]
) -> dict[str, Any]:
    verdict = sx.separability(X, y)
    written = json.loads(verdict.to_json())
    certificate = written["certificate"]
    witness = None
    if verdict.witness is not None:
        witness = {
            "rows": [int(rows[row]) for row in verdict.witness.rows],
            "multipliers": [str(multiplier) for multiplier in verdict.witness.multipliers],
        }
    return {
        "classes": list(pair),
        "rows": rows.tolist(),
        "kind": verdict.kind,
        "words": str(verdict),
        "weights": None
        if verdict.weights is None
        else [float(verdict.intercept), *map(float, verdict.weights)],
        "margin": verdict.margin,
        "infinite": written["infinite"],
        "witness": witness,
        "certificate": certificate,
        "python": checked_by_python(certificate, X, y),
    }


def checked_by_python(certificate: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return what the trusted kernel says of the certificate."""
    if certificate is None:
        return {"holds": False, "words": "there is no certificate"}
    rows = [([j for j, x in enumerate(row) if x], [x for x in row if x]) for row in X.tolist()]
    data = Data(rows, y.tolist(), X.shape[1], 2)
    try:
        return {"holds": True, "words": check(certificate, data)}
    except Refused as reason:
        return {"holds": False, "words": str(reason)}


# ---- the process


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, or an error in plain words."""
    work = {"run": run, "prove": prove}[question["do"]]
    try:
        return {"ok": work(question["message"])}
    except BadRequest as refusal:
        return {"refused": str(refusal)}
    except MemoryError:
        return {"refused": "That needs more memory than there is. Use fewer points."}
    except Exception as error:
        return {"fault": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer questions until the pipe is closed."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not stand among the answers
    while True:
        question = _read(questions)
        if question is None:
            return
        reply = json.dumps(answer(question), allow_nan=False, separators=(",", ":")).encode()
        answers.write(len(reply).to_bytes(LENGTH_BYTES, "big") + reply)
        answers.flush()


def _read(pipe: BinaryIO) -> dict[str, Any] | None:
    head = pipe.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    question: dict[str, Any] = json.loads(pipe.read(int.from_bytes(head, "big")))
    return question


if __name__ == "__main__":
    main()
