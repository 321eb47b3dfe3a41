"""What a model file holds, as plain data and in plain words.

The weights of a linear model by name, as a CSV: one line a feature, one column a score.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.core.explanation import LinearForm, linear_form, weights_by_name
from separatrix.core.models import shown
from separatrix.errors import with_article
from separatrix.storage.model_file import ModelFile, has_proof

_SHOWN = 10


def describe(whole: ModelFile, path: str) -> dict[str, Any]:
    """Return what the file says, ready for JSON."""
    model = whole.model
    steps = [step for _, step in getattr(model, "steps", [])] or [model]
    last = steps[-1]
    classes = getattr(model, "classes_", None)
    facts: dict[str, Any] = {
        "file": path,
        "bytes": os.path.getsize(path),
        "model": " > ".join(_shown(step) for step in steps),
        "features": int(model.n_features_in_),
        "classes": None if classes is None else [str(name) for name in classes.tolist()],
        "reads": getattr(whole.encoding, "kind_of_data", None),
        "status": str(last.status_) if hasattr(last, "status_") else None,
        "proof": _proof(last) if has_proof(model) else None,
        "rows": None if whole.rows is None else len(whole.rows),
        "about": whole.about,
    }
    if getattr(type(last), "threshold_", None) is not None and last.threshold_ != 0.0:
        facts["threshold"] = last.threshold_
    if getattr(last, "costs_", None) is not None:
        facts["costs"] = last.costs_.tolist()
    if hasattr(last, "coef_"):
        facts["weights"] = int(np.count_nonzero(last.coef_))
    if hasattr(last, "support_vectors_"):
        facts["support_vectors"] = len(last.support_)
    facts["heaviest"] = _heaviest(whole)
    return facts


def _shown(step: Any) -> str:
    """Write a step as the call that makes it, on one line."""
    return " ".join(shown(step).split())


def _heaviest(whole: ModelFile) -> dict[str, list[dict[str, Any]]]:
    """Return the weights of most effect of every score, by the class it speaks for."""
    try:
        form = linear_form(whole.model)
    except ValueError:
        return {}
    encoding = whole.encoding
    names = whole.feature_names if encoding is None else encoding.feature_names
    found = {}
    for number, title in enumerate(form.titles[:_SHOWN]):
        heaviest = weights_by_name(
            whole.model,
            names,
            spreads=whole.spreads,
            encoding=encoding,
            machine=number,
            most=_SHOWN,
        )
        found[title] = [asdict(weight) for weight in heaviest]
    return found


def _proof(last: Any) -> str:
    if hasattr(last, "certificates_"):
        return f"{len(last.certificates_)} certificates, one a model"
    return str(last.certificate_)


def lines(facts: dict[str, Any]) -> list[str]:
    """Put the description into plain words."""
    size = f"{facts['bytes']:,} bytes"
    said = [f"{facts['file']}: a model of Separatrix, {size}", facts["model"]]
    features = f"{facts['features']:,} features"
    if facts["classes"] is not None:
        names = facts["classes"]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        features += f"; classes {', '.join(names[:_SHOWN])}{more}"
    said.append(features)
    if facts.get("threshold") is not None:
        said.append(f"{facts['classes'][1]} where the score is above {facts['threshold']:.6g}")
    if facts.get("costs") is not None:
        said.append("the class of least expected cost is predicted")
    if facts.get("weights") is not None:
        said.append(f"{facts['weights']:,} weights other than zero")
    if facts.get("support_vectors") is not None:
        said.append(f"{facts['support_vectors']:,} support vectors")
    for title, weights in facts["heaviest"].items():
        said.append(f"towards {title}:")
        said += [f"  {_weight_line(weight)}" for weight in weights]
    about = facts["about"]
    if about.get("source"):
        digest = str(about.get("data_sha256", ""))[:12]
        rows = "" if facts["rows"] is None else f", {facts['rows']:,} of its rows"
        said.append(f"trained on {about['source']} (SHA-256 {digest}...){rows}")
    said.append(str(facts["proof"]) if facts["proof"] else "no proof")
    said += [f"{word}: {about[word]}" for word in ("made_with",) if word in about]
    reads = facts["reads"]
    if reads is None:
        said.append("it was trained on arrays: sx.load and predict in Python")
    else:
        said.append(f"next: separatrix predict -m {facts['file']} DATA   (DATA: {reads})")
    return said


def _weight_line(weight: dict[str, Any]) -> str:
    """Say one weight: what it is for, how much it matters, and what it does to the odds."""
    line = f"{weight['name']}: {weight['weight']:+.4g} {with_article(weight['unit'])}"
    if weight["unit"] == "where it is so":
        line = f"{weight['name']}: {weight['weight']:+.4g} where it is so"
    if weight["importance"] is not None:
        line += f", {weight['importance']:+.4g} a standard deviation"
    if weight["odds_ratio"] is not None:
        line += f", odds times {weight['odds_ratio']:.4g}"
    return line


# ---- the weights of a linear model by name, as a CSV: one line a feature, one column a score


_LINES_AT_ONCE = 8192


def write_coefficients(
    model: Any, path: str | os.PathLike[str], feature_names: Sequence[str] | None = None
) -> None:
    """Write names and weights, the intercept first; names that look like formulas are defused.

    A line for the threshold follows the intercept where it is not 0.

    >>> import pathlib, tempfile, separatrix as sx
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "weights.csv"
    >>> write_coefficients(sx.Kozinec().fit([[0.0], [2.0]], [0, 1]), path, ["=cmd()"])
    >>> print(path.read_text().splitlines()[2].split(",")[0])
    '=cmd()
    """
    form = linear_form(model).decided_by_weights("a table of weights")
    names = feature_names
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{k}" for k in range(form.weights.shape[1])]
    if len(names) != form.weights.shape[1]:
        raise ValueError(f"There are {form.weights.shape[1]} features, but {len(names)} names.")
    write_whole(path, _pieces(form, names))


def _pieces(form: LinearForm, names: Sequence[str]) -> Iterator[bytes]:
    yield _lines([["feature", *(f"weight for {title}" for title in form.titles)]])
    yield _lines([["(intercept)", *form.intercepts.tolist()]])
    if form.threshold:
        yield _lines([["(threshold)", form.threshold]])
    for begin in range(0, len(names), _LINES_AT_ONCE):
        part = slice(begin, begin + _LINES_AT_ONCE)
        weights = np.asarray(form.weights[:, part].T).tolist()
        rows = zip(names[part], weights, strict=True)
        yield _lines([[defused(str(name)), *numbers] for name, numbers in rows])


def _lines(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defused(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would take for a formula; numbers stay.

    >>> [defused(text) for text in ("age", "=1+1", "-0.5", "@SUM(A1)", "+1")]
    ['age', "'=1+1", '-0.5', "'@SUM(A1)", '+1']
    """
    if not text.lstrip(" ").startswith(_STARTS_A_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text
