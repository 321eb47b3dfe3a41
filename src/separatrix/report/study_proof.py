"""The certificates of a study, all in one file, proved again from the data it was made of."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from separatrix.certificates.reading import from_json
from separatrix.checker import NO_INTERCEPT, Refused
from separatrix.checker.codec import Claim, Reader, anything, many, record, refusing, text
from separatrix.core.thresholds import AlarmBound
from separatrix.core.verdict import Verdict
from separatrix.errors import DataError
from separatrix.storage.certificate_files import NOT_THESE, SHORTEST, prove_again
from separatrix.storage.claims_of_halfspaces import require_alarm_bound
from separatrix.storage.fitted_values import Mismatch, are_same

__all__ = ["STUDY_FORMAT", "labels_of", "prove_study", "prove_verdict", "training_rows"]

STUDY_FORMAT = "separatrix-study-certificates-1"
_ILL_FORMED = "not a well-formed certificate"
_MOST_ROWS = 2**62
_FIELDS: dict[str, Reader] = {
    "format": text,
    "data": record("data", {"target": text, "columns": many(text)}),
}
_FIELDS |= dict.fromkeys(["verdict", "machine", "training_rows", "positive"], anything)
_OPTIONAL = ("data", "threshold", "encoding")
_FIELDS |= dict.fromkeys(_OPTIONAL[1:], anything)


def labels_of(y: np.ndarray, positive: str | None) -> np.ndarray:
    """Return the labels; with a positive class, that against all others.

    Of two classes the other keeps its name.
    """
    if positive is None:
        return y
    chosen = np.array([str(label) == positive for label in y.tolist()])
    if not chosen.any():
        known = ", ".join(str(name) for name in np.unique(y)[:12])
        raise DataError(f"there is no class {positive!r}; the classes are {known}.")
    others = {str(label) for label in y[~chosen].tolist()}
    return np.where(chosen, positive, others.pop() if len(others) == 1 else f"not {positive}")


def training_rows(whole: dict[str, Any]) -> np.ndarray:
    """Return the numbers of the rows trained on; refuse what is no list of such."""
    said = _listed(whole, "training_rows")
    sound = all(type(row) is int and 0 <= row < _MOST_ROWS for row in said)
    if not sound or len(set(said)) != len(said):
        raise Refused(f"{_ILL_FORMED}: training_rows must be numbers of rows, each once")
    return np.array(said, dtype=np.int64)


def _listed(whole: dict[str, Any], name: str) -> list[Any]:
    found = whole.get(name)
    if not isinstance(found, list):
        raise Refused(f"{_ILL_FORMED}: {name} must be a list")
    return found


def prove_study(whole: dict[str, Any], X: Any, y: Any, features: Any = None) -> str:
    """Return what is proved, in a sentence; raise `Refused` where any part is not.

    `features` are the rows as the model takes them, where it learned its own (`encoding`).

    The verdict and the machine speak of the rows that were trained on; of more than two classes
    there is a verdict for each, against all others.
    """
    with refusing():
        Claim(whole, "the file", _FIELDS, _OPTIONAL)
    rows, positive = training_rows(whole), whole.get("positive")
    verdicts, machines = (_listed(whole, name) for name in ("verdict", "machine"))
    if positive is not None and not isinstance(positive, str):
        raise Refused(f"{_ILL_FORMED}: positive must be the name of a class")
    claims = [Verdict.from_json(json.dumps(verdict)) for verdict in verdicts]
    if not len(rows) or rows.max() >= X.shape[0]:
        raise Refused("these data have fewer rows than the study was made of")
    labels = labels_of(np.asarray(y), positive)
    classes, codes = np.unique(labels, return_inverse=True)
    all_features, all_labels = X if features is None else features, labels
    learned = all_features[rows]
    X, labels, codes = X[rows], labels[rows], codes[rows]
    if len(claims) != (1 if len(classes) == 2 else len(classes)):
        raise Refused("there must be a verdict for each class, and one for two")
    said = 0
    for k, claim in enumerate(claims):
        signs = np.where(codes == (1 if len(classes) == 2 else k), 1, 0)
        if claim.kind == "undecided":  # which claims nothing but its witness
            if claim.witness is not None and not claim.witness_holds(X, signs):
                raise Refused(NOT_THESE)
            continue
        if not claim.check(X, signs):
            raise Refused(NOT_THESE)
        said += 1
    if not machines:
        raise Refused("there is no certificate of the model")
    _require_one_a_class(machines, len(classes))
    sentences = [prove_again(machine, learned, labels) for machine in machines]
    more = _proved_threshold(whole, all_features, all_labels, rows)
    verdict = f"{said} of {len(claims)} verdicts" if len(claims) > 1 else "the verdict"
    verdict = verdict if said else "no verdict (it was undecided)"
    model = sentences[0] if len(machines) == 1 else _of_all(machines, sentences)
    return f"{verdict}, and the model: {model}; on the {len(rows)} rows trained on{more}"


def _of_all(machines: list[Any], sentences: list[str]) -> str:
    """Return what is proved of every model: what is, of the one that is farthest from its best.

    They must answer one question, of one loss, C and penalty, each for its class.
    """
    gaps = [from_json(machine, "duality-gap", "sparse-gap") for machine in machines]
    shared = ("kind", "loss", "costs", "ridge", "l1", "groups", "intercept", "bias_penalty")
    for name in shared:
        values = [getattr(gap, name, None) for gap in gaps]
        if not all(are_same(value, values[0]) for value in values):
            raise Refused(f"{name} of the models must be the same for every class")
    worst = int(np.argmax([gap.gap for gap in gaps]))
    return f"{len(gaps)} models, of which the farthest from its best: {sentences[worst]}"


def _require_one_a_class(machines: Any, n_classes: int) -> None:
    """Require a model for all classes, or one for each class against the rest, in order."""
    try:
        known = [machine["claim"].get("positive") for machine in machines]
    except (LookupError, TypeError, AttributeError) as error:
        raise Refused("not a well-formed certificate: the models") from error
    each = [1] if n_classes == 2 else list(range(n_classes))
    if known not in ([None], each):
        raise Refused("there must be a model for each class against the rest, in order")


def _proved_threshold(
    whole: dict[str, Any], X: Any, labels: np.ndarray, trained: np.ndarray
) -> str:
    """Return what is said of the threshold, proved where it bounds false alarms."""
    said = whole.get("threshold")
    if said is None:
        return ""
    try:
        value = float(said["value"])
        claim = AlarmBound.from_dict(said)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise Refused("not a well-formed certificate: the threshold") from error
    if not math.isfinite(value) or len(whole["machine"]) != 1:
        raise Refused("the threshold is not one number for one score")
    if claim is None:
        return f"; the threshold {value:.6g}, chosen on held-out scores, is not proved"
    weights = np.asarray(from_json(whole["machine"][0], "duality-gap", "sparse-gap").weights)
    try:
        require_alarm_bound(claim, value, X, labels, trained, weights[1:], float(weights[0]))
    except Mismatch as reason:
        raise Refused(str(reason)) from reason
    return f"; {claim}"


def prove_verdict(whole: dict[str, Any], X: Any, labels: Any) -> str:
    """Return what a verdict says, proved again; raise `Refused` where any part of it is not."""
    verdict = Verdict.from_json(json.dumps(whole))
    if not verdict.check(X, labels):
        raise Refused(NOT_THESE)
    proof = verdict.certificate
    said = verdict.in_words() + NO_INTERCEPT * (proof is not None and not proof.intercept)
    return said + SHORTEST * bool(getattr(proof, "decimals", ()))
