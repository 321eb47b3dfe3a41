"""What can be said of a table before anything is fitted to it."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix.data.encodings.encoding import TableEncoding
from separatrix.data.table import Table


def _compact(X: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return X as columns, without those that hold nothing; also their numbers."""
    if not sparse.issparse(X):
        return np.asfortranarray(X), np.arange(X.shape[1])
    used, columns = np.unique(X.indices, return_inverse=True)
    narrow = sparse.csr_matrix((X.data, columns, X.indptr), shape=(X.shape[0], max(1, len(used))))
    narrow = narrow.tocsc()
    narrow.eliminate_zeros()
    return narrow, used


def _column_contents(columns: Any, number: int) -> tuple[bytes, NDArray[Any]]:
    """Return what identifies a column, and its values."""
    if not sparse.issparse(columns):
        values = columns[:, number]
        return values.tobytes(), values
    part = slice(columns.indptr[number], columns.indptr[number + 1])
    values = columns.data[part]
    return columns.indices[part].tobytes() + values.tobytes(), values


def _columns(X: Any) -> dict[str, Any]:
    """Find constant and repeated columns, and how far their scales spread."""
    columns, used = _compact(X)
    n_rows, width = X.shape
    first_seen: dict[bytes, int] = {}
    constant: list[int] = []
    repeated: list[tuple[int, int]] = []
    largest = []
    for place, number in enumerate(used.tolist()):
        contents, values = _column_contents(columns, place)
        full = len(values) == n_rows
        if not len(values) or (full and (values == values[0]).all()):
            constant.append(number)
            continue
        largest.append(float(np.abs(values).max()))
        earlier = first_seen.setdefault(contents, number)
        if earlier != number:
            repeated.append((earlier, number))
    empty = width - len(used)
    spread = max(largest) / min(largest) if largest and min(largest) > 0 else 1.0
    return {
        "constant_columns": len(constant) + empty,
        "constant_examples": constant[:5],
        "duplicate_columns": len(repeated),
        "duplicate_column_examples": repeated[:5],
        "scale_spread": spread,
    }


def _rows(X: Any, y: NDArray[Any]) -> dict[str, Any]:
    """Count rows that occur again, and those that occur again with another label."""
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, copy=True)
        X.eliminate_zeros()
        ends = X.indptr.tolist()
        contents = (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(ends))
    else:
        contents = (row.tobytes() for row in np.ascontiguousarray(X))
    labels: dict[bytes, list[Any]] = defaultdict(list)
    for row, label in zip(contents, y.tolist(), strict=True):
        labels[row].append(label)
    opposed = sum(len(group) for group in labels.values() if len(set(group)) > 1)
    return {"duplicate_rows": X.shape[0] - len(labels), "opposed_rows": opposed}


def _with_missing(encoding: Any) -> list[str]:
    """Name the raw columns in which values were missing."""
    if not isinstance(encoding, TableEncoding):
        return []
    ending = "=(missing)"
    return [name[: -len(ending)] for name in encoding.feature_names if name.endswith(ending)]


def summarise(table: Table) -> dict[str, Any]:
    """Return shape, balance, oddities of columns and rows, as plain data."""
    n_rows, n_features = table.X.shape
    stored = table.X.count_nonzero() if sparse.issparse(table.X) else np.count_nonzero(table.X)
    labels, counts = np.unique(table.y, return_counts=True)
    return {
        "source": table.source,
        "kind": table.kind,
        "sha256": table.sha256,
        "rows": n_rows,
        "features": n_features,
        "nonzeros": int(stored),
        "density": float(stored / max(1, n_rows * n_features)),
        "sparse": bool(sparse.issparse(table.X)),
        "target": table.target,
        "classes": {str(k): int(v) for k, v in zip(labels.tolist(), counts, strict=True)},
        "columns_with_missing": _with_missing(table.encoding),
        **_columns(table.X),
        **_rows(table.X, table.y),
        "notes": list(table.notes),
    }
