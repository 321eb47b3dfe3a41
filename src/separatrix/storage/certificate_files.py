"""The proof of a certificate file of any kind, from arrays: which check serves for which kind.

How data differ from those that a certificate or a model was made of, where a proof is refused.

A certificate holds the number of rows, features and classes, and one digest of all values and
labels. A model file also holds the deviation of every feature, and so tells values from labels.
Nothing here proves anything: it says where to look.

The certificate of a great many rows, written piece by piece, so that little is in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from separatrix import checker
from separatrix.certificates.reading import VERDICTS, from_json
from separatrix.checker import Refused
from separatrix.checker.exact import is_fingerprint
from separatrix.data.encodings.column_features import deviations
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.exact import times_powers_of_ten
from separatrix.problem.fingerprint import fingerprint
from separatrix.storage.model_file import ModelFile, last_step

__all__ = [
    "since_certificate",
    "since_model",
]


SHORTEST = " (of the shortest decimals of the stored numbers)"
NOT_THESE = "the claim does not hold for these data"
_ENTRIES = 2_000_000
_BY_CHECKER = (*VERDICTS, "margin-bounds", "gordan", "least-squares", "fisher", "fisher-directions")


def prove_again(whole: Any, X: Any, labels: Any) -> str:
    """Return what is proved, in a sentence; raise `Refused` where it is not.

    Verdicts and margins are checked by `separatrix.checker`; for large data by the same check in
    NumPy with exact integers. The others are checked as docs/certificates.md says.
    """
    about = checker.about(whole)
    _require_about(about, X, labels)
    is_large = getattr(X, "nnz", X.size) > _ENTRIES
    if about.kind not in _BY_CHECKER or (is_large and about.kind in VERDICTS):
        proof = from_json(whole)
        if not proof.check(X, labels):
            raise Refused(NOT_THESE)
        if about.kind in VERDICTS:
            said = f"{about.kind}, checked on {X.shape[0]} rows"
            said += checker.NO_INTERCEPT * (not about.intercept)
            return said + SHORTEST * bool(about.decimals)
        return str(proof.in_words()).removeprefix("proved: ")
    if about.decimals:
        try:
            X = times_powers_of_ten(problem_from(X, labels, True).X, tuple(about.decimals))
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from error
    said = checker.check(whole, as_checker_data(problem_from(X, labels, about.intercept)))
    return said + SHORTEST * bool(about.decimals)


def _require_about(about: Any, X: Any, labels: Any) -> None:
    """Refuse what a certificate says of its data where it is not so, whatever its kind claims."""
    names = [str(name) for name in np.unique(np.asarray(labels))]
    if about.classes != names:
        raise Refused(f"the certificate is about other classes than {', '.join(names[:8])}")
    for name, found in zip(("rows", "features"), X.shape, strict=True):
        if getattr(about, name) != found:
            raise Refused(f"the certificate is about another number of {name} than {found}")
    if not is_fingerprint(about.sha256):
        raise Refused("the certificate does not name its data by a SHA-256")


# ---- how data differ from those that a certificate was made of, where a proof is refused


_SHOWN = 5
_ROUNDING = 1e-9


def since_model(whole: ModelFile, table: Any, labels: np.ndarray) -> str:
    """Say how the file of a table differs from the one that a model file names."""
    named = str(whole.about.get("data_sha256", ""))
    if not re.fullmatch("[0-9a-f]{64}", named):
        return ""
    if table.sha256 == named:
        return "The file is the one that the model names, by its SHA-256: the model was altered"
    X, rows, trained = table.X, whole.rows, _rows_of(whole.model)
    found = list[str]()
    if rows is not None and (not len(labels) or rows.max(initial=0) >= len(labels)):
        found.append(f"{len(labels):,} rows, and row {int(rows.max()):,} was trained on")
    elif rows is None and trained not in (None, len(labels)):
        found.append(f"{len(labels):,} rows, where {trained:,} were")
    elif rows is not None:
        X, labels = X[rows], labels[rows]
    classes = getattr(last_step(whole.model)[0], "classes_", None)
    found += [] if classes is None else _classes([str(name) for name in classes], labels)
    if not found and whole.spreads is not None and X.shape[1] == len(whole.spreads):
        again = deviations(X)
        room = _ROUNDING * (abs(again) + abs(X).max(axis=0))
        far = np.flatnonzero(np.asarray(abs(again - whole.spreads) > room).ravel())
        names = [str(table.feature_names[j]) for j in far[:_SHOWN]]
        more = f" and {len(far) - _SHOWN} more" if len(far) > _SHOWN else ""
        found += [f"values of {', '.join(names)}{more}"] if len(far) else []
    return _sentence(found or ["labels, or the order of rows"])


def since_certificate(whole: Any, X: Any, labels: np.ndarray) -> str:
    """Say how rows differ from those that a certificate was made of."""
    if not isinstance(whole, dict):
        return ""
    rows = whole.get("training_rows")
    if isinstance(rows, list) and all(type(row) is int for row in rows) and rows:
        if max(rows) >= len(labels):
            said = f"{len(labels):,} rows, and row {max(rows):,} was trained on"
            return _sentence([said])
        return ""
    about = whole.get("data")
    if not isinstance(about, dict) or not isinstance(about.get("classes"), list):
        return ""
    found = list[str]()
    for name, there in zip(("rows", "features"), X.shape, strict=True):
        if type(about.get(name)) is int and about[name] != there:
            word = name if there != 1 else name.removesuffix("s")
            found.append(f"{there:,} {word}, where {about[name]:,} were")
    found += _classes([str(name) for name in about["classes"]], labels)
    if found:
        return _sentence(found)
    if about.get("decimals") or type(about.get("intercept")) is not bool:
        return ""
    named = about.get("sha256")
    if fingerprint(problem_from(X, labels, about["intercept"]), named) == named:
        return "The data are those that the certificate names: the certificate was altered"
    return _sentence(["values or labels, or the order of rows"])


def _sentence(found: list[str]) -> str:
    return f"The file differs from the one that was proved: {'; '.join(found)}"


def _classes(before: list[str], labels: np.ndarray) -> list[str]:
    now = [str(name) for name in np.unique(labels).tolist()]
    new, gone = [each for each in now if each not in before], [x for x in before if x not in now]
    said = [f"labels that were not there: {', '.join(new[:_SHOWN])}"] if new else []
    return said + ([f"labels that are not there: {', '.join(gone[:_SHOWN])}"] if gone else [])


def _rows_of(model: Any) -> int | None:
    """Return how many rows the certificate of a model speaks of."""
    model = last_step(model)[0]
    proof = getattr(model, "certificate_", None)
    proof = getattr(proof, "separation", getattr(proof, "squares", proof))
    rows = getattr(proof, "n_rows", None)
    return rows if type(rows) is int else None


# ---- the certificate of a great many rows, written piece by piece, so that little is in memory


_AT_A_TIME = 10_000


def json_pieces(proof: Any, about: dict[str, Any] | None = None) -> Iterator[bytes]:
    """Yield a duality gap as its `to_json` writes it, a stretch of rows at a time.

    `about` adds to what is said of the data.
    """
    rows = np.flatnonzero(proof.multipliers)
    # With no row at all, everything else is short: its lists are then filled in.
    short = replace(proof, multipliers=np.zeros(len(proof.multipliers)))
    whole = json.loads(short.to_json())
    whole["data"] |= about or {}
    text = json.dumps(whole, indent=1)
    before, between, after = re.split(r'(?<="rows": \[)\]|(?<="multipliers": \[)\]', text)
    yield before.encode()
    yield from _listed(map(str, rows.tolist()))
    yield ("]" + between).encode()
    yield from _listed(f'"{float(proof.multipliers[row]).hex()}"' for row in rows)
    yield ("]" + after + "\n").encode()


def _listed(words: Iterable[str]) -> Iterator[bytes]:
    """Yield words with commas between them, many at a time."""
    words, comma = iter(words), ""
    while some := list(islice(words, _AT_A_TIME)):
        yield (comma + ", ".join(some)).encode()
        comma = ",\n "
