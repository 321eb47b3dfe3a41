"""Rows before anything is learned of them: features are learned from some of them alone.

    raw = RawRows(table)
    learned = raw.learn("standard", rows, codes)
    learned.X          all rows, in features of which `rows` alone decided
    learned.encoding   what makes the same features of later data

Whatever a fold or a test must not know is learned here: vocabulary, categories, medians, scales,
ranks, knots and weights of words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix.data.encodings.column_codes import NumberCode
from separatrix.data.encodings.column_features import (
    COLUMN_FEATURES,
    GAMMAS,
    MOST_MULTIPLIED,
    FeatureEncoding,
    learn_columns,
    of_zero_and_one,
)
from separatrix.data.encodings.column_functions import INTERVALS, MOST_COLUMNS
from separatrix.data.encodings.columns import Column, Texts
from separatrix.data.encodings.encoding import IndexEncoding, TableEncoding, fit_encoding
from separatrix.data.encodings.grams import (
    TEXT_FEATURES,
    WITH_PIECES,
    GramEncoding,
    GramTable,
    GramWeights,
    count_grams,
    learn_weights,
    weighed,
    weightings,
)
from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.table import AS_READ, Table
from separatrix.errors import DataError

__all__ = ["Learned", "RawRows", "some_rows"]

_MOST_RANKED = 2_000  # columns
_MOST_WORK = 4_000_000_000  # products of one matrix of normal equations of splines, of all models
_MOST_PRODUCTS = 200_000_000  # values


@dataclass(frozen=True, eq=False)
class Learned:
    """All rows in the features that some of them taught."""

    X: Any
    _encoding: Callable[[], Any]
    _names: Sequence[str] | None = None

    @cached_property
    def encoding(self) -> Any:
        """What makes the same features of later data."""
        return self._encoding()

    @property
    def feature_names(self) -> Sequence[str]:
        """The names of the columns of X."""
        return self.encoding.feature_names if self._names is None else self._names


class RawRows:
    """A table whose features can be learned from any of its rows."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._grams: dict[str, GramTable] = {}

    @property
    def has_texts(self) -> bool:
        """Whether the rows are texts."""
        return self.table.texts is not None and isinstance(self.table.encoding, TextEncoding)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The features worth trying, the one to prefer first."""
        if self.has_texts:
            return ("characters", "joined", "ratios")
        other = ~of_zero_and_one(self.table.X)
        if not other.any():
            return ("standard",)  # the others are the same
        n, d = self.table.X.shape
        if isinstance(self.table.encoding, TableEncoding):
            words = self.table.encoding.words
            d -= int(words.sum())
            other &= ~words
        ranks = ("ranks",) if d < min(n, _MOST_RANKED) else ()
        made = INTERVALS * int(other.sum())
        models = 1 if len(self.table.classes) == 2 else len(self.table.classes)
        is_worth = ranks and made <= n and n * made**2 * models <= _MOST_WORK
        return ("standard", AS_READ, *ranks, *(("splines",) if is_worth else ()))

    @property
    def curves(self) -> tuple[str, ...]:
        """The features that bend the boundary, where they are worth trying."""
        n, d = self.table.X.shape
        if isinstance(self.table.encoding, TableEncoding):
            d -= int(self.table.encoding.words.sum())
        fits = 1 < d <= MOST_MULTIPLIED and d * n * (d + 3) // 2 <= _MOST_PRODUCTS
        if self.has_texts:
            return ()
        cosines = tuple(GAMMAS) if 0 < d <= MOST_COLUMNS else ()
        return (*(("products",) if fits else ()), *cosines)

    def learn(self, features: str, rows: NDArray[np.int64], codes: NDArray[np.int64]) -> Learned:
        """Learn features from some rows; `codes` number the classes of all rows."""
        known = (AS_READ, *TEXT_FEATURES) if self.has_texts else COLUMN_FEATURES
        if features not in known:
            data = "texts" if self.has_texts else "a table"
            raise DataError(
                f"features of {data} must be one of {', '.join(known)}; got {features!r}"
            )
        if self.has_texts:
            return self._texts(rows) if features == AS_READ else self._learn(features, rows, codes)
        inner, words, X = self._encoded(rows)
        columns = learn_columns(X[rows], features, words)
        # Arrays have names of their own, which no encoding keeps.
        given = self.table.feature_names if self.table.encoding is None else None
        if columns is None:
            return Learned(X, inner, given)
        names = None if given is None else columns.names(given)
        return Learned(columns.apply(X), lambda: FeatureEncoding(inner(), columns), names)

    # ---- texts

    def _texts(self, rows: NDArray[np.int64]) -> Learned:
        encoding, documents = self.table.encoding, self.table.texts or ()
        options = replace(encoding, vocabulary=(), idf=())
        learned, _ = fit_text([documents[row] for row in rows.tolist()], options)
        return Learned(learned.encode(documents), lambda: learned)

    def _learn(self, features: str, rows: NDArray[np.int64], codes: NDArray[np.int64]) -> Learned:
        tables = self._counted(features)
        ways = weightings(features)
        weights = [
            learn_weights(table, rows, codes, way, least)
            for table, way, least in zip(tables, ways, (1, 2), strict=False)
        ]
        parts = [
            weighed(table.counts, each, way)
            for table, each, way in zip(tables, weights, ways, strict=True)
        ]
        X = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
        return Learned(X, lambda: self._gram_encoding(features, tables, weights))

    def _counted(self, features: str) -> Sequence[GramTable]:
        kinds = ("words", "characters") if features in WITH_PIECES else ("words",)
        if any(kind not in self._grams for kind in kinds):
            found = count_grams(self.table.texts or (), features)
            self._grams.update(zip(kinds, found, strict=True))
        return [self._grams[kind] for kind in kinds]

    def _gram_encoding(
        self, features: str, tables: Sequence[GramTable], weights: Sequence[GramWeights]
    ) -> GramEncoding:
        old = self.table.encoding
        names = [
            tuple(table.names[at] for at in each.kept.tolist())
            for table, each in zip(tables, weights, strict=True)
        ]
        values = [tuple(each.weights.astype(float).tolist()) for each in weights]
        pieces = (names[1], values[1]) if len(names) > 1 else ((), ())
        return GramEncoding(
            names[0], (1, 2), classes=old.classes, column=old.column, target=old.target,
            features=features, weights=values[0], pieces=pieces[0], piece_weights=pieces[1],
        )  # fmt: skip

    # ---- tables

    def _encoded(self, rows: NDArray[np.int64]) -> tuple[Callable[[], Any], Any, Any]:
        """Return the encoding that some rows teach, which features are words, and all rows."""
        encoding, raw = self.table.encoding, self.table.raw
        if encoding is None:
            classes = tuple(self.table.classes.tolist())
            encoding = IndexEncoding(self.table.X.shape[1], 0, "x", classes)
        if raw is None or not isinstance(encoding, TableEncoding):
            return lambda: encoding, getattr(encoding, "words", None), self.table.X
        if self._has_numbers_alone:  # the same rows, whichever teach: only medians differ
            return lambda: self._taught(rows), None, self.table.X
        learned = self._taught(rows)
        columns = raw[0]
        return lambda: learned, learned.words, learned.apply(columns, len(columns[0]))[0]

    @cached_property
    def _has_numbers_alone(self) -> bool:
        codes = self.table.encoding.codes
        return all(isinstance(code, NumberCode) and not code.indicator for code in codes)

    def _taught(self, rows: NDArray[np.int64]) -> TableEncoding:
        """Return the encoding of a table that some of its rows teach."""
        assert self.table.raw is not None, "the columns as read are kept"
        encoding, (columns, options) = self.table.encoding, self.table.raw
        some: Any = [_SomeRows(column, rows) for column in columns]
        learned, _ = fit_encoding(some, encoding.target, encoding.classes, options)
        return replace(learned, single=encoding.single)


def some_rows(table: Table, rows: NDArray[np.int64]) -> Table:
    """Return a table of some rows; encodings stay as they were learned from all."""
    raw = table.raw
    if raw is not None:
        raw = ([_SomeRows(column, rows) for column in raw[0]], raw[1])
    texts = None if table.texts is None else [table.texts[row] for row in rows.tolist()]
    return replace(
        table,
        X=table.X[rows],
        y=table.y[rows],
        classes=np.unique(table.y[rows]),
        texts=texts,
        aside={name: values[rows] for name, values in table.aside.items()},
        raw=raw,
    )


class _SomeRows:
    """Some rows of a column."""

    def __init__(self, column: Column, rows: NDArray[np.int64]) -> None:
        self._column, self._rows = column, rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._column, name)

    def __len__(self) -> int:
        return len(self._rows)

    def numbers(self, missing: frozenset[str]) -> NDArray[np.float64] | None:
        """Return the cells as numbers, NaN where missing; None when they are texts."""
        found = self._column.numbers(missing)
        return None if found is None else found[self._rows]

    def texts(self, missing: frozenset[str]) -> Texts:
        """Return the cells as texts."""
        whole = self._column.texts(missing)
        codes = whole.codes[self._rows]
        there, places = np.unique(codes[codes >= 0], return_inverse=True)
        renumbered = np.full(len(codes), -1, dtype=np.int32)
        renumbered[codes >= 0] = places
        return Texts(renumbered, [whole.values[at] for at in there.tolist()])
