"""LIBSVM, read the slow and obvious way."""

from __future__ import annotations

import numpy as np


def read_libsvm(data: bytes) -> tuple[np.ndarray, list[str], list[int | None]]:
    """Return a dense X, the labels as text and the query numbers."""
    rows: list[dict[int, float]] = []
    labels: list[str] = []
    queries: list[int | None] = []
    for line in data.decode().split("\n"):
        tokens = line.split("#")[0].split()
        if not tokens:
            continue
        labels.append(tokens[0])
        pairs = [token.split(":") for token in tokens[1:]]
        named = [int(value) for name, value in pairs if name == "qid"]
        queries.append(named[0] if named else None)
        rows.append({int(name): float(value) for name, value in pairs if name != "qid"})
    indices = [index for row in rows for index in row]
    first = 0 if 0 in indices else 1
    X = np.zeros((len(rows), max(indices) - first + 1 if indices else 0))
    for number, row in enumerate(rows):
        for index, value in row.items():
            X[number, index - first] = value
    return X, labels, queries
