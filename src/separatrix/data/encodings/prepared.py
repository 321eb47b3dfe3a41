"""Columns to the fields of a Table: the target split off, the rest encoded, prose as words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from separatrix.data.encodings.columns import MISSING_WORDS, Column
from separatrix.data.encodings.encoding import TableEncoding, fit_encoding
from separatrix.data.encodings.grams import is_prose
from separatrix.data.encodings.labels import (
    check_classes,
    choose_target,
    classes_of,
    known_column,
    known_columns,
    labels_there,
    target_labels,
)
from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.options import ReadOptions
from separatrix.errors import DataError

Fields = dict[str, Any]


def encode_columns(
    columns: Sequence[Column],
    file: str,
    options: ReadOptions,
    encoding: Any = None,
) -> Fields:
    """Choose the target, read the labels and encode the other columns."""
    if not columns or not len(columns[0]):
        raise DataError("the table has no rows", file=file, line=1, column=1)
    if encoding is None:
        return _fit(columns, file, options)
    return _apply(columns, file, encoding, options)


def _fit(columns: Sequence[Column], file: str, options: ReadOptions) -> Fields:
    kept_aside = {str(name): known_column(name, columns, file) for name in options.aside}
    left_out = [column.name for column in kept_aside.values()]
    options = replace(
        options,
        drop=[*known_columns(options.drop, columns, file), *left_out],
        categorical=[known_column(name, columns, file).name for name in options.categorical],
    )
    notes: list[str] = []
    kept = [column for column in columns if column.name not in options.drop]
    if options.target is None:
        target, reason = choose_target(kept, file)
        notes.append(reason)
    else:
        target = known_column(options.target, columns, file)
    if target.name in left_out:
        raise DataError(f"the target {target.name!r} cannot be kept aside too", file=file)
    if target.name in options.drop:
        raise DataError(
            f"the column {target.name!r} is the target, and drop leaves it out: name another "
            "column in one of them",
            file=file,
        )
    missing = MISSING_WORDS | set(options.missing)
    aside = {name: aside_values(column, missing) for name, column in kept_aside.items()}
    y = target_labels(target, MISSING_WORDS | set(options.missing), notes)
    classes = check_classes(target, y, file)
    labels = tuple(classes.tolist())
    encoding, X, texts = fit_columns(columns, target.name, labels, file, options, notes)
    return {"X": X, "y": y, "feature_names": encoding.feature_names, "classes": classes,
            "target": target.name, "encoding": encoding, "notes": notes,
            "texts": texts, "aside": aside,
            "raw": (columns, options) if texts is None else None}  # fmt: skip


def fit_columns(
    columns: Sequence[Column],
    target: str | None,
    labels: Sequence[Any],
    file: str,
    options: ReadOptions,
    notes: list[str],
) -> tuple[Any, Any, list[str] | None]:
    """Learn how columns become features: the encoding, the features, and the texts if words are."""
    features = [each for each in columns if each.name not in (target, *options.drop)]
    if not features:
        raise DataError("there is no column of features beside the target", file=file, line=1)
    prose = _column_of_prose(features, file, options, notes)
    if prose is not None:
        texts = _texts_of(prose)
        learned, X = fit_text(texts, text_options(options), options.max_features)
        return replace(learned, column=prose.name, target=target, classes=tuple(labels)), X, texts
    encoding, said = fit_encoding(columns, target, labels, options)
    X, _ = encoding.apply(columns, len(columns[0]))
    notes += said
    return encoding, X, None


def aside_values(column: Column, missing: frozenset[str]) -> np.ndarray:
    """Return the numbers or the texts of a column that is no feature; none may be missing."""
    numbers = column.numbers(missing)
    if numbers is not None:
        absent = np.flatnonzero(np.isnan(numbers))
        values: np.ndarray = numbers
    else:
        texts = column.texts(missing)
        absent = np.flatnonzero(texts.codes < 0)
        values = np.array([*texts.values, ""], dtype=str)[texts.codes]
    if len(absent):
        raise column.error(
            f"the column {column.name!r} has no value here (and in {len(absent) - 1} more rows); "
            "fill it in, or remove the rows",
            int(absent[0]),
        )
    return values


def text_options(options: ReadOptions) -> TextEncoding:
    """Return the options about texts, as an encoding that has learned nothing yet."""
    stop = options.stop_words
    words = (stop,) if isinstance(stop, str) and stop else tuple(stop)
    low, high = options.ngrams
    return TextEncoding((), (low, high), options.weighting, words, options.hashing)


def _column_of_prose(
    features: Sequence[Column], file: str, options: ReadOptions, notes: list[str]
) -> Column | None:
    """Return the column to read as words: the one named, or the only one, if it holds prose."""
    if options.text is not None:
        return known_column(options.text, features, file)
    if len(features) != 1 or features[0].share_of_numbers(MISSING_WORDS) > 0:
        return None
    if not is_prose(features[0].texts(MISSING_WORDS)):
        return None
    notes.append(f"{features[0].name}: sentences, read as words")
    return features[0]


def _texts_of(column: Column) -> list[str]:
    texts = column.texts(frozenset())
    values = [*texts.values, ""]
    return [values[code] for code in texts.codes.tolist()]


def _apply(columns: Sequence[Column], file: str, encoding: Any, options: ReadOptions) -> Fields:
    expected = expected_columns(encoding)
    if not expected:
        raise DataError("the data are of another kind than those of training", file=file)
    by_name = {column.name: column for column in columns}
    if not any(name in by_name for name in expected):
        raise DataError(
            f"none of the columns of training is here: {', '.join(expected[:5])}...; "
            "the first line must hold their names",
            file=file,
            line=1,
            column=1,
        )
    absent = [name for name in expected if name not in by_name]
    if absent and not options.allow_missing:
        raise missing_columns(absent, list(by_name), file)
    notes: list[str] = []
    texts = None
    target = by_name.get(encoding.target)
    y = np.empty(0, dtype=np.int64)
    if target is not None:
        try:
            read = labels_there if options.some_labels else target_labels
            y = read(target, MISSING_WORDS, notes, encoding.classes)
        except DataError as error:
            notes.append(f"labels were not used: {error.message}")
    if isinstance(encoding, TableEncoding):
        X, said = encoding.apply(columns, len(columns[0]))
        notes += said
    else:
        texts = _texts_of(by_name[expected[0]])
        X = encoding.encode(texts)
    return {"X": X, "y": y, "feature_names": encoding.feature_names, "classes": classes_of(y),
            "target": None if target is None else encoding.target, "encoding": encoding,
            "notes": notes, "texts": texts}  # fmt: skip


def expected_columns(encoding: Any) -> list[str]:
    """Return the columns that later data must have; none where rows are no named columns."""
    if isinstance(encoding, TableEncoding):
        return [code.name for code in encoding.codes]
    if isinstance(encoding, TextEncoding) and encoding.column is not None:
        return [encoding.column]
    return []


def missing_columns(absent: list[str], names: list[str], file: str) -> DataError:
    """Return the error that names the columns of training that are not there."""
    shown = ", ".join(repr(name) for name in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    column = "column" if len(absent) == 1 else "columns"
    folded = {name.casefold(): name for name in names}
    close = get_close_matches(absent[0].casefold(), list(folded), n=1)
    hint = f" ({folded[close[0]]!r} is there)" if close else ""
    return DataError(
        f"the {column} {shown}{more} of training cannot be found here{hint}. Add what is absent, "
        "or have it taken as missing: --allow-missing (allow_missing=True)",
        file=file,
        line=1,
        column=1,
    )
