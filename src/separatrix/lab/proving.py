"""Whether the drawn classes can be separated: verdict, witness and certificate, pair by pair."""

from __future__ import annotations

import json
import time
from itertools import combinations
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.checker import Data, Refused, check
from separatrix.lab.request import read_points

__all__ = ["prove"]

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
