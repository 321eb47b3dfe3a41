"""Tables that have types, with the labels and the embedding that stand in their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data.encodings.columns import TypedColumn
from separatrix.data.encodings.index_encoding import IndexEncoding, indexed
from separatrix.data.encodings.prepared import encode_columns
from separatrix.data.encodings.target import (
    check_classes,
    choose_target,
    known_column,
    target_labels,
)
from separatrix.data.options import ReadOptions
from separatrix.data.readers.embeddings import (
    check_finite,
    is_vector,
    labels_of_rows,
    read_labels,
    vectors_of,
)
from separatrix.data.readers.frames import columns_of_arrow
from separatrix.data.readers.typed_commas import with_decimal_commas
from separatrix.data.sources.streams import Source

__all__ = ["read_typed", "with_labels"]


def read_typed(table: Any, source: Source, options: ReadOptions, encoding: Any) -> dict[str, Any]:
    """Read an Arrow table: a column of lists is an embedding, others are features."""
    columns = columns_of_arrow(table, source.name)
    vectors = [each for each in columns if is_vector(each) and each.name not in options.drop]
    if isinstance(encoding, IndexEncoding):
        vectors = [each for each in vectors if each.name == encoding.prefix] or vectors
    elif encoding is not None:
        vectors = []
    if vectors:
        return _embedded(columns, vectors, source, options, encoding)
    written = with_decimal_commas(columns, options, encoding)
    return encode_columns(*with_labels(written, source, options), encoding)


def with_labels(
    columns: Sequence[Any], source: Source, options: ReadOptions
) -> tuple[Sequence[Any], str, ReadOptions]:
    """Add the labels of a file beside a table as its last column, where there is such a file."""
    if options.labels is None or not columns:
        return columns, source.name, options
    import pyarrow as pa

    y = read_labels(options.labels, len(columns[0]), options.max_bytes)
    name = "label" if "label" not in {each.name for each in columns} else f"label {len(columns)}"
    beside = TypedColumn(name, len(columns) + 1, pa.chunked_array([pa.array(y.tolist())]), "")
    return [*columns, beside], source.name, replace(options, target=name)


def _embedded(
    columns: Sequence[TypedColumn],
    vectors: Sequence[TypedColumn],
    source: Source,
    options: ReadOptions,
    encoding: Any,
) -> dict[str, Any]:
    """Read the embedding of a table, with the labels that stand in another column."""
    if len(vectors) > 1:
        names = ", ".join(repr(each.name) for each in vectors[:6])
        raise source.error(
            f"several columns hold embeddings: {names}; leave out all but one with drop=[...] "
            "(--drop)"
        )
    chosen = vectors[0]
    if not len(chosen):
        raise source.error("the table has no rows")
    X = vectors_of(chosen, source)
    check_finite(X, source.name)
    others = [each for each in columns if each is not chosen and each.name not in options.drop]
    notes: list[str] = []
    target, y = _labels_among(others, len(X), source, options, encoding, notes)
    left = [each.name for each in others if each.name != target]
    if left:
        notes.append(f"beside the embedding {chosen.name!r}, left out: {', '.join(left[:5])}")
    fields = indexed(X, y, 0, chosen.name if encoding is None else encoding.prefix, encoding)
    if encoding is None:
        fields["encoding"] = replace(fields["encoding"], target=target)
    return fields | {"target": target, "notes": [*notes, *fields["notes"]]}


def _labels_among(
    others: Sequence[TypedColumn],
    n_rows: int,
    source: Source,
    options: ReadOptions,
    encoding: Any,
    notes: list[str],
) -> tuple[str | None, Any]:
    """Return the name of the target and the labels; for later data they need not be there."""
    if options.labels is not None or (not others and encoding is None):
        return None, labels_of_rows(None, n_rows, source, options, encoding is None)
    if encoding is not None:
        named = [each for each in others if each.name == encoding.target]
        if not named:
            return None, np.empty(0, dtype=np.int64)
        return named[0].name, target_labels(named[0], frozenset(), notes, encoding.classes)
    if options.target is not None:
        column = known_column(options.target, others, source.name)
    else:
        column, reason = choose_target(others, source.name)
        notes.append(reason)
    y = target_labels(column, frozenset(options.missing), notes)
    check_classes(column, y, source.name)
    return column.name, y
