"""The encoding of a table: how raw columns became features, kept with the model.

    encoding.transform("new.csv").X

applies what was learned on the training table to raw data: unseen categories, missing and extra
columns are handled, and what was done is said in ``notes``.

Features that are numbered: LIBSVM, images and embeddings keep nothing but their width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix.data.encodings.column_codes import CategoryCode, Code, NumberCode, Slots, fit_code
from separatrix.data.encodings.columns import MISSING_WORDS, Column, TypedColumn
from separatrix.data.encodings.grams import ProseCode
from separatrix.data.encodings.labels import (
    Encoding,
    Numbered,
    classes_of,
    labels,
    maybe_text,
    numbers,
    required,
    texts,
)
from separatrix.data.encodings.labels import labels as plain_labels
from separatrix.data.options import ReadOptions
from separatrix.errors import DataError

_ROWS_AT_A_TIME = 4096

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class TableEncoding(Encoding):
    """How the columns of a table become features."""

    kind_of_data = "a table with the columns of training"

    codes: tuple[Code, ...]
    missing: frozenset[str] = MISSING_WORDS
    target: str | None = None
    dropped: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    single: bool = False
    decimal: str | None = None

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, in the order of the columns of X."""
        return [name for code in self.codes for name in code.feature_names]

    @property
    def column_groups(self) -> list[list[int]]:
        """The features that one column became, where there are several; words are apart.

        >>> job = CategoryCode("job", ("clerk", "cook"), False, True)
        >>> encoding = TableEncoding((job, NumberCode("age", 30.0, False)))
        >>> encoding.feature_names, encoding.column_groups
        (['job=clerk', 'job=cook', 'job=(missing)', 'age'], [[0, 1, 2]])
        """
        groups, first = [], 0
        for code in self.codes:
            count = len(code.feature_names)
            if count > 1 and not isinstance(code, ProseCode):
                groups.append(list(range(first, first + count)))
            first += count
        return groups

    def apply(self, columns: Sequence[Column], n_rows: int) -> tuple[Any, list[str]]:
        """Turn columns, in any order, into X; also return what had to be said."""
        notes: list[str] = []
        by_name = {column.name: column for column in columns}
        slots: Slots = []
        words: list[sparse.csr_matrix] = []
        first = 0
        for code in self.codes:
            column = by_name.pop(code.name, None)
            if column is None:
                notes.append(f"{code.name}: the column is not there; taken as missing")
                found = code.absent(n_rows)
            else:
                found = code.apply(column, self.missing, notes)
            if isinstance(found, list):
                slots += [(features + first, values) for features, values in found]
                first += len(code.feature_names)
            else:
                words.append(found)
        known = {self.target, *self.dropped}
        extra = [name for name in by_name if name not in known]
        if extra:
            notes.append(f"not used in training, left out: {', '.join(extra[:5])}")
        if all(code.dense for code in self.codes):
            return self._dense(slots, n_rows), notes
        if words:
            others = [_sparse(slots, n_rows, first)] if slots else []
            return sparse.hstack([*others, *words], format="csr"), notes
        return _sparse(slots, n_rows, first), notes

    @property
    def words(self) -> NDArray[np.bool_]:
        """Mark the features that are words of a column of texts; they stand last."""
        marks = [[isinstance(code, ProseCode)] * len(code.feature_names) for code in self.codes]
        return np.array([mark for each in marks for mark in each], dtype=bool)

    def _dense(self, slots: Slots, n_rows: int) -> NDArray[Any]:
        X = np.empty((n_rows, len(slots)), dtype=np.float32 if self.single else np.float64)
        for begin in range(0, n_rows, _ROWS_AT_A_TIME):  # few enough to stay in the cache
            rows = slice(begin, begin + _ROWS_AT_A_TIME)
            for place, (_, values) in enumerate(slots):
                X[rows, place] = values[rows]
        return X

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        plain = {
            "kind": "table",
            "columns": [code.to_dict() for code in self.codes],
            "missing": sorted(self.missing),
            "target": self.target,
            "dropped": list(self.dropped),
            "classes": list(self.classes),
            "single": self.single,
        }
        return plain if self.decimal is None else plain | {"decimal": self.decimal}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> TableEncoding:
        """Return the encoding that plain data describe.

        >>> encoding = TableEncoding((CategoryCode("job", ("clerk",), False, True),))
        >>> TableEncoding.from_dict(encoding.to_dict()) == encoding
        True
        """
        required(isinstance(plain["columns"], list), "columns must be a list")
        required(plain.get("decimal") in (None, ",", "."), "decimal must be a comma or a point")
        return cls(
            tuple(_code_from(column) for column in plain["columns"]),
            frozenset(texts(plain["missing"], "missing must be words")),
            maybe_text(plain["target"], "target must be a name"),
            texts(plain["dropped"], "dropped must be names"),
            labels(plain["classes"]),
            bool(plain["single"]),
            plain.get("decimal"),
        )


def _code_from(plain: dict[str, Any]) -> Code:
    kind, fields = plain["kind"], {key: value for key, value in plain.items() if key != "kind"}
    required(type(fields["name"]) is str, "a column must have a name")
    if kind == "number":
        numbers([fields["median"]], "a median must be a number")
        required(type(fields["indicator"]) is bool, "indicator must be true or false")
        required(type(fields.get("sign", "")) is str, "a sign must be a text")
        return NumberCode(**fields)
    if kind == "category":
        values = texts(fields["values"], "categories must be texts")
        flags = [type(fields[name]) is bool for name in ("other", "missing")]
        required(all(flags), "other and missing must be true or false")
        return CategoryCode(**{**fields, "values": values})
    if kind == "prose":
        return ProseCode.from_fields(fields)
    raise DataError(f"the encoding has a column of an unknown kind, {kind!r}")


def _sparse(slots: Slots, n_rows: int, n_features: int) -> sparse.csr_matrix:
    """Gather the slots, row by row, into CSR; zeros are left out."""
    parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        values = np.column_stack([values[rows] for _, values in slots])
        features = np.empty(values.shape, dtype=np.int32)
        for place, (feature, _) in enumerate(slots):
            features[:, place] = feature[rows] if isinstance(feature, np.ndarray) else feature
        kept = values != 0
        parts.append((features[kept], values[kept], kept.sum(axis=1)))
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.concatenate([counts for _, _, counts in parts]), out=indptr[1:])
    indices = np.concatenate([indices for indices, _, _ in parts])
    data = np.concatenate([values for _, values, _ in parts])
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    return sparse.csr_matrix((data, indices, indptr), shape=(n_rows, n_features))


def fit_encoding(
    columns: Sequence[Column],
    target: str | None,
    classes: Sequence[Any],
    options: ReadOptions | None = None,
) -> tuple[TableEncoding, list[str]]:
    """Decide how each column becomes features; also return what had to be said."""
    options = options or ReadOptions()
    drop, decimal = options.drop, options.decimal
    words = MISSING_WORDS | set(options.missing)
    notes: list[str] = []
    used = [column for column in columns if column.name != target and column.name not in drop]
    found = [
        fit_code(column, words, options.max_categories, column.name in options.categorical, notes)
        for column in used
    ]
    codes = [code for code in found if code is not None]
    codes.sort(key=lambda code: isinstance(code, ProseCode))  # words stand last
    if not codes:
        raise DataError("there is no column of features beside the target")
    left_out = {column.name for column in used} - {code.name for code in codes}
    if decimal is None and any(column.decimal_commas for column in used):
        decimal = ","
    single = all(isinstance(column, TypedColumn) and column.is_float32 for column in used)
    encoding = TableEncoding(
        tuple(codes), words, target, (*drop, *sorted(left_out)), tuple(classes), single, decimal
    )
    return encoding, notes


# ---- features that are numbered: LIBSVM, images and embeddings keep nothing but their width


@dataclass(frozen=True)
class IndexEncoding(Encoding):
    """Features that are numbered already: only the width is kept."""

    kind_of_data = "numbered features, as LIBSVM files have them"

    n_features: int
    first: int = 0
    prefix: str = ""
    classes: tuple[Any, ...] = ()
    target: str | None = None

    @property
    def feature_names(self) -> Sequence[str]:
        """The numbers of the features, as the file has them."""
        return Numbered(self.prefix, self.first, self.n_features)

    def fitted(self, X: Any) -> tuple[Any, list[str]]:
        """Return X in the width of training; sparse features that were not there are left out."""
        if not sparse.issparse(X) and X.shape[1] != self.n_features:
            raise DataError(
                f"the rows have {X.shape[1]:,} features, and those of training had "
                f"{self.n_features:,}; they must come from the same model"
            )
        if X.shape[1] > self.n_features:
            extra = X.shape[1] - self.n_features
            return X[:, : self.n_features], [f"{extra} features not in training were left out"]
        if X.shape[1] < self.n_features and sparse.issparse(X):
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], self.n_features))
        return X, []

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        return {"kind": "index", **self.__dict__, "classes": list(self.classes)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> IndexEncoding:
        """Return the encoding that plain data describe.

        >>> IndexEncoding.from_dict(IndexEncoding(3, 1).to_dict()) == IndexEncoding(3, 1)
        True
        """
        fields = {key: value for key, value in plain.items() if key != "kind"}
        n_features, first = fields["n_features"], fields["first"]
        whole = type(n_features) is int and type(first) is int
        required(whole and 0 < n_features < 2**31 and first in (0, 1), "features must be numbered")
        required(type(fields["prefix"]) is str, "prefix must be a text")
        maybe_text(fields["target"], "target must be a name")
        return cls(**{**fields, "classes": plain_labels(fields["classes"])})


def indexed(X: Any, y: Any, first: int, prefix: str, encoding: Any) -> dict[str, Any]:
    """Return the fields of a Table whose features are numbered."""
    classes = classes_of(y)
    notes: list[str] = []
    if encoding is None:
        encoding = IndexEncoding(X.shape[1], first, prefix, tuple(classes.tolist()))
    else:
        X, notes = of_kind(encoding, IndexEncoding).fitted(X)
    names = encoding.feature_names
    return {"X": X, "y": y, "feature_names": names, "classes": classes, "encoding": encoding,
            "notes": notes}  # fmt: skip


def of_kind(encoding: Any, kind: type) -> Any:
    """Return an encoding, if it is of the kind that these data need."""
    if not isinstance(encoding, kind):
        raise DataError("the data are of another kind than those of training")
    return encoding
