"""What a model file holds, as plain data and in plain words."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from separatrix.core.explanation import weights_by_name
from separatrix.core.linear_form import linear_form
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
