"""What a model file holds, as plain data and in plain words."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from separatrix.storage.model_file import ModelFile
from separatrix.storage.model_proof import has_proof

__all__ = ["describe", "lines"]

_SHOWN = 10


def describe(whole: ModelFile, path: str) -> dict[str, Any]:
    """Return what the file says, ready for JSON."""
    model = whole.model
    steps = [step for _, step in getattr(model, "steps", [])] or [model]
    machine = steps[-1]
    classes = getattr(model, "classes_", None)
    told: dict[str, Any] = {
        "file": path,
        "bytes": os.path.getsize(path),
        "model": " > ".join(repr(step).replace("\n", "") for step in steps),
        "features": int(model.n_features_in_),
        "classes": None if classes is None else [str(name) for name in classes.tolist()],
        "reads": getattr(whole.encoding, "kind_of_data", None),
        "status": str(machine.status_) if hasattr(machine, "status_") else None,
        "proof": _proof(machine) if has_proof(model) else None,
        "rows": None if whole.rows is None else len(whole.rows),
        "about": whole.about,
    }
    if hasattr(machine, "coef_"):
        told["weights"] = int(np.count_nonzero(machine.coef_))
    if hasattr(machine, "support_vectors_"):
        told["support_vectors"] = len(machine.support_)
    return told


def _proof(machine: Any) -> str:
    if hasattr(machine, "certificates_"):
        return f"{len(machine.certificates_)} certificates, one a machine"
    return str(machine.certificate_)


def lines(told: dict[str, Any]) -> list[str]:
    """Put the description into plain words."""
    size = f"{told['bytes']:,} bytes"
    said = [f"{told['file']}: a model of Separatrix, {size}", told["model"]]
    features = f"{told['features']:,} features"
    if told["classes"] is not None:
        names = told["classes"]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        features += f"; classes {', '.join(names[:_SHOWN])}{more}"
    said.append(features)
    if told.get("weights") is not None:
        said.append(f"{told['weights']:,} weights other than zero")
    if told.get("support_vectors") is not None:
        said.append(f"{told['support_vectors']:,} support vectors")
    about = told["about"]
    if about.get("source"):
        digest = str(about.get("data_sha256", ""))[:12]
        rows = "" if told["rows"] is None else f", {told['rows']:,} of its rows"
        said.append(f"trained on {about['source']} (SHA-256 {digest}...){rows}")
    said.append(str(told["proof"]) if told["proof"] else "no proof")
    said += [f"{word}: {about[word]}" for word in ("made_with",) if word in about]
    reads = told["reads"]
    if reads is None:
        said.append("it was trained on arrays: sx.load and predict in Python")
    else:
        said.append(f"next: separatrix predict -m {told['file']} DATA   (DATA: {reads})")
    return said
