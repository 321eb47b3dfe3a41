"""One row in a few words: its text, or its values by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["Excerpts"]

_LONGEST = 240
_NAMED = 8
_FEW_COLUMNS = 10


class Excerpts:
    """Tells rows of a table; where columns are many, those of most weight first."""

    def __init__(self, X: Any, names: Sequence[str], texts: Sequence[str] | None = None) -> None:
        self.X, self.names, self.texts = X, names, texts
        self.importance: np.ndarray | None = None

    def of(self, row: int) -> str:
        """Return the text of a row, or its values by name.

        >>> Excerpts(np.array([[1.5, 1.0]]), ["age", "job=clerk"]).of(0)
        'age 1.5, job=clerk'
        """
        if self.texts is not None:
            return _shortened(" ".join(str(self.texts[row]).split()))
        columns, values = self._entries(row)
        parts = [_named(self.names[int(j)], float(v)) for j, v in zip(columns, values, strict=True)]
        more = len(parts) - _NAMED
        if more > 2:
            order = self._order(columns, values)[:_NAMED]
            kept = [parts[k] for k in sorted(order.tolist())]
            return _shortened(f"{', '.join(kept)} and {more} more")
        return _shortened(", ".join(parts) or "all values are zero")

    def _entries(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        if sparse.issparse(self.X):
            part = slice(self.X.indptr[row], self.X.indptr[row + 1])
            columns, values = self.X.indices[part], self.X.data[part]
            kept = values != 0.0
            return columns[kept], values[kept]
        values = np.asarray(self.X[row])
        columns = np.arange(len(values))
        if len(values) > _FEW_COLUMNS:
            columns = np.flatnonzero(values)
        return columns, values[columns]

    def _order(self, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        if self.importance is None:
            return np.arange(len(columns))
        return np.argsort(-abs(self.importance[columns] * values), kind="stable")


def _named(name: str, value: float) -> str:
    # A category or a word is said by its name alone.
    if value == 1.0 and "=" in str(name):
        return str(name)
    return f"{name} {value:.6g}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
