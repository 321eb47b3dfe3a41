"""``sx.read``: any supported file, folder or frame becomes a Table.

    table = sx.read("adult.csv", target="income")
    table.X, table.y, table.feature_names

What a file is, is seen from its contents: its first bytes, then its first lines.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix._write_aside import write_whole
from separatrix.data.encodings.column_features import ColumnFeatures, FeatureEncoding
from separatrix.data.encodings.encoding import IndexEncoding, TableEncoding, indexed, of_kind
from separatrix.data.encodings.grams import GramEncoding
from separatrix.data.encodings.labels import Encoding, classes_of, tidy_labels
from separatrix.data.encodings.prepared import encode_columns, text_options
from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.options import ReadOptions
from separatrix.data.readers.arff import read_arff
from separatrix.data.readers.array_files import ARRAYS, parse_idx, read_labels_beside
from separatrix.data.readers.class_files import read_classes
from separatrix.data.readers.delimited import parse_delimited
from separatrix.data.readers.embeddings import arrays_of, check_finite, labels_of_rows, read_labels
from separatrix.data.readers.excel import read_excel
from separatrix.data.readers.json_records import read_json
from separatrix.data.readers.kinds import kind_or_refusal, naming
from separatrix.data.readers.libsvm import parse_libsvm, write_libsvm
from separatrix.data.readers.text import Documents, parse_labelled_lines
from separatrix.data.readers.typed_tables import (
    frame_to_arrow,
    is_frame,
    parse_arrow_file,
    parse_parquet,
    read_typed,
    with_labels,
)
from separatrix.data.sources.streams import STDIN, Source, open_source
from separatrix.errors import DataError

AS_READ = "raw"  # features: columns, or counts of words, as they were read


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of features with labels, and where they came from.

    Attributes
    ----------
    X : array or CSR matrix
        The features, a row for each row read.
    y : array
        The labels.
    feature_names : list of str
        The names of the columns of X.
    classes : array
        The distinct labels, sorted.
    kind, source, sha256 : str
        The format read, where from, and the SHA-256 of the file ("" for a frame).
    target : str or None
        The column of labels.
    encoding : object or None
        What turns later raw data into the same features.
    notes : list of str
        What was decided or repaired while reading.
    query_ids : array or None
        The query numbers of a LIBSVM file that has them.
    texts : list of str or None
        The texts themselves, where words are the features.
    aside : dict of arrays
        Columns that are no features.
    raw : object or None
        The columns as read, from which features can be learned again.

    See Also
    --------
    read : makes it.
    Encoder : the same encoding, as a transformer for pipelines.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import separatrix as sx
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("a,b,class\\n0,2,up\\n2,0,down\\n")
    >>> table = sx.read(path)
    >>> table.X.tolist(), table.y.tolist(), table.feature_names, table.target
    ([[0.0, 2.0], [2.0, 0.0]], ['up', 'down'], ['a', 'b'], 'class')
    """

    X: Any
    y: NDArray[Any]
    feature_names: Sequence[str]
    classes: NDArray[Any]
    kind: str
    source: str
    sha256: str
    target: str | None = None
    encoding: Any = None
    notes: list[str] = field(default_factory=list)
    query_ids: NDArray[Any] | None = None
    texts: Sequence[str] | None = None
    aside: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    raw: Any = field(default=None, repr=False)

    @property
    def columns_used(self) -> list[str] | None:
        """The columns of the file or frame that became features; None where they have no names."""
        if self.raw is not None:
            columns, options = self.raw
            return [each.name for each in columns if each.name not in (self.target, *options.drop)]
        column = getattr(self.encoding, "column", None)
        return [str(column)] if column is not None else None

    @property
    def column_groups(self) -> list[list[int]]:
        """The columns of X that one column of the file became: `groups` of sparse weights."""
        return [] if self.encoding is None else list(self.encoding.column_groups)

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"Table({rows} rows x {columns} features, {len(self.classes)} classes, "
            f"kind={self.kind!r}, source={self.source!r})"
        )


def read(source: Any, target: str | int | None = None, **options: Any) -> Table:
    r"""Read a file, a folder, several files (one per class) or a frame.

    Parameters
    ----------
    source : path, list of paths or frame
        A file of any format the library knows (the suffix may name a compression), a folder or
        several files with the texts of one class each, or a pandas, polars or pyarrow frame.
    target : str, int or None, default=None
        The column of labels: its name, or its number from 1. None guesses it where it can.
    **options
        Further options, such as drop, categorical, missing, max_categories, text, kind and
        sheet: the fields of ``separatrix.data.options.ReadOptions``.

    Returns
    -------
    Table
        Features, labels, their names, and what was decided while reading.

    See Also
    --------
    Table : the answer, field by field.
    open_partitions : rows that do not fit in memory.
    Encoder : the same encoding, as a transformer for pipelines.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.csv"
    >>> _ = path.write_text("age,job,class\n39,clerk,+1\n?,none,-1\n50,clerk,-1\n")
    >>> table = read(path)
    >>> table.feature_names
    ['age', 'age=(missing)', 'job=clerk', 'job=none']
    >>> table.X.toarray().tolist(), table.y.tolist()
    ([[39.0, 0.0, 1.0, 0.0], [44.5, 1.0, 0.0, 1.0], [50.0, 0.0, 1.0, 0.0]], [1, -1, -1])
    """
    chosen = ReadOptions(target=target, **options)
    table = Table(**_find_reader(source)(source, chosen, None))
    if chosen.aside and not table.aside:
        names = ", ".join(repr(name) for name in chosen.aside)
        raise DataError(f"there is no column {names}: the data have no named columns", table.source)
    return table


def read_as(source: Any, encoding: Any, /, **options: Any) -> Table:
    """Read raw data and encode them as training data were; ``y`` is empty where there is none."""
    if isinstance(encoding, FeatureEncoding):
        table = read_as(source, encoding.inner, **options)
        X, names = encoding.columns.apply(table.X), encoding.feature_names
        return replace(table, X=X, feature_names=names, encoding=encoding)
    chosen = ReadOptions(target=encoding.target, **options)
    return Table(**_find_reader(source)(source, chosen, encoding))


Encoding.read_as = staticmethod(read_as)


def _find_reader(source: Any) -> Any:
    if isinstance(source, list | tuple):
        return read_texts_by_class if len(source) != 1 else _read_only
    if isinstance(source, str | os.PathLike):
        if os.fspath(source) != STDIN and os.path.isdir(source):
            return read_texts_by_class
        return read_file
    if is_frame(source):
        return read_frame
    raise TypeError(
        f"expected a path, several paths or a frame, got {type(source).__name__}; "
        "arrays need no reading"
    )


def _read_only(source: Sequence[Any], options: ReadOptions, encoding: Any) -> dict[str, Any]:
    fields: dict[str, Any] = _find_reader(source[0])(source[0], options, encoding)
    return fields


def encoding_from_dict(plain: dict[str, Any]) -> Any:
    """Return the encoding of any kind that plain data describe."""
    if plain["kind"] == "features":
        inner = encoding_from_dict(plain["inner"])
        return FeatureEncoding(inner, ColumnFeatures.from_dict(plain))
    return ENCODINGS[plain["kind"]].from_dict(plain)


# ---- one reader for each kind of source


Fields = dict[str, Any]


ENCODINGS: dict[str, Any] = {
    "table": TableEncoding,
    "text": TextEncoding,
    "grams": GramEncoding,
    "index": IndexEncoding,
}


def read_file(path: Any, options: ReadOptions, encoding: Any) -> Fields:
    """Read one file of any kind."""
    source = open_source(path, options.max_bytes)
    if not source.data or (isinstance(source.data, bytes) and source.data.isspace()):
        raise source.error("the file is empty", 0)
    if source.suffix in (".pos", ".neg") and options.kind is None:
        raise source.error(
            "these look like the texts of one class; give the files of all classes, or the folder "
            "that holds them",
            0,
        )
    kind = options.kind or kind_or_refusal(source)
    if options.labels is not None and kind in ("libsvm", "text"):
        raise source.error("the labels stand in the file itself: leave labels (--labels) out", 0)
    if kind not in ARRAYS and not isinstance(source.data, bytes):
        source = replace(source, data=bytes(source.data))  # `kind` overrides its look
    try:
        fields = BY_KIND[kind](source, options, encoding)
    except DataError as error:
        raise naming(error, kind, source.name) from None
    return {"kind": kind, "source": source.name, "sha256": source.sha256, **fields}


def _read_libsvm(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    zero_based = options.zero_based
    if isinstance(encoding, IndexEncoding) and zero_based is None:
        zero_based = encoding.first == 0
    data = parse_libsvm(source, options.n_features, zero_based)
    first = 0 if data.zero_based else 1
    return indexed(data.X, data.y, first, "", encoding) | {"query_ids": data.query_ids}


def _read_idx(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    images = parse_idx(source)
    if images.ndim < 2:
        raise source.error("this is a file of labels; give the file of images beside it")
    if options.labels is not None:
        y = read_labels(options.labels, len(images), options.max_bytes)
    else:
        y = read_labels_beside(source, len(images), options.max_bytes)
    X = images.reshape(len(images), -1).astype(np.float32)
    return indexed(X, y, 0, "pixel", encoding)


def _read_arrays(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    X, held = arrays_of(source, options)
    check_finite(X, source.name)
    y = labels_of_rows(held, len(X), source, options, encoding is None)
    return indexed(X, y, 0, "x", encoding)


def _read_csv(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    decimal = options.decimal or getattr(encoding, "decimal", None)
    table = parse_delimited(source, options.separator, options.header, options.encoding, decimal)
    if options.labels is not None:
        fields = encode_columns(*with_labels(table.columns, source, options), encoding)
    else:
        if options.target is None and table.target is not None:
            options = replace(options, target=table.target)
        fields = encode_columns(table.columns, source.name, options, encoding)
    return fields | {"notes": [*table.notes, *fields["notes"]]}


def _read_parquet(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    return read_typed(parse_parquet(source, options.max_bytes), source, options, encoding)


def _read_arrow(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    return read_typed(parse_arrow_file(source), source, options, encoding)


def read_frame(frame: Any, options: ReadOptions, encoding: Any) -> Fields:
    """Read a frame in memory; it has no digest."""
    whole = Source("frame", b"")
    fields = read_typed(frame_to_arrow(frame), whole, options, encoding)
    return {"kind": "frame", "source": "frame", "sha256": "", **fields}


def _read_labelled(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    return _texts(parse_labelled_lines(source, options.encoding), options, encoding)


def read_texts_by_class(where: Any, options: ReadOptions, encoding: Any) -> Fields:
    """Read a folder, or several files, that hold the texts of one class each."""
    if options.labels is not None:
        raise DataError("the files say the labels of their texts: leave labels (--labels) out")
    documents = read_classes(where, options.encoding, options.max_bytes, options.kind)
    name = ", ".join(map(str, where)) if isinstance(where, list | tuple) else str(where)
    fields = _texts(documents, options, encoding)
    return {"kind": "text", "source": name, "sha256": documents.sha256, **fields}


def _texts(documents: Documents, options: ReadOptions, encoding: Any) -> Fields:
    y = tidy_labels(documents.labels)
    if encoding is None:
        encoding, X = fit_text(documents.texts, text_options(options), options.max_features)
        encoding = replace(encoding, classes=tuple(classes_of(y).tolist()))
    else:
        X = of_kind(encoding, TextEncoding).encode(documents.texts)
    return {"X": X, "y": y, "feature_names": encoding.feature_names, "classes": classes_of(y),
            "encoding": encoding, "notes": documents.notes,
            "texts": documents.texts}  # fmt: skip


BY_KIND = {
    "libsvm": _read_libsvm,
    "csv": _read_csv,
    "text": _read_labelled,
    "json": read_json,
    "arff": read_arff,
    "excel": read_excel,
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "idx": _read_idx,
    "npy": _read_arrays,
    "npz": _read_arrays,
    "safetensors": _read_arrays,
}


# ---- writing


FORMATS = ("libsvm", "csv", "tsv", "parquet")
_MOST_CELLS = 200_000_000
_ALSO_CALLED = {"svm": "libsvm", "svmlight": "libsvm", "txt": "libsvm", "t": "libsvm"}


def _arrow_table(table: Table) -> Any:
    """Return the features and, as the last column, the labels."""
    import pyarrow as pa

    rows, features = table.X.shape
    if rows * features > _MOST_CELLS:
        raise DataError(
            f"{rows:,} rows x {features:,} features are too many cells to write out in full; "
            "convert to libsvm, which leaves zeros out"
        )
    X: Any = table.X.tocsc() if sparse.issparse(table.X) else np.asarray(table.X)
    columns = [
        pa.array(X[:, [at]].toarray().ravel() if sparse.issparse(X) else X[:, at].copy())
        for at in range(features)
    ]
    names = list(table.feature_names)
    target = table.target or "target"
    while target in names:
        target += "_"
    return pa.table([*columns, pa.array(table.y.tolist())], names=[*names, target])


def write_table(table: Table, path: str | os.PathLike[str], to: str) -> None:
    """Write a table, whole or not at all."""
    to = _ALSO_CALLED.get(to, to)
    if to not in FORMATS:
        raise DataError(f"cannot write {to!r}; choose one of {', '.join(FORMATS)} (--to)")
    if to == "libsvm":
        write_libsvm(path, table.X, table.y, query_ids=table.query_ids)
        return
    from pyarrow import csv, parquet

    buffer = io.BytesIO()
    if to == "parquet":
        parquet.write_table(_arrow_table(table), buffer)
    else:
        options = csv.WriteOptions(delimiter="," if to == "csv" else "\t", quoting_style="needed")
        csv.write_csv(_arrow_table(table), buffer, options)
    write_whole(path, [buffer.getvalue()])
