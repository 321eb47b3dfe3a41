"""``sx.read``: any supported file, folder or frame becomes a Table.

    table = sx.read("adult.csv", target="income")
    table.X, table.y, table.feature_names

What a file is, is seen from its contents: its first bytes, then its first lines.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from separatrix.data.encodings.column_features import ColumnFeatures, FeatureEncoding
from separatrix.data.options import ReadOptions
from separatrix.data.readers import by_kind as readers
from separatrix.data.readers.frames import is_frame
from separatrix.data.sources.streams import STDIN

__all__ = ["Table", "encoding_from_dict", "read", "read_as"]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of features with labels, and where they came from.

    ``X`` is dense or CSR; ``classes`` are the distinct labels of ``y`` in order; ``encoding`` turns
    later raw data into the same features; ``notes`` say what was decided or repaired on the way.
    ``texts`` are the texts themselves, where words are the features; ``raw`` holds the columns as
    they were read, from which features can be learned anew (`separatrix.data.raw_rows`).

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
    raw: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"Table({rows} rows x {columns} features, {len(self.classes)} classes, "
            f"kind={self.kind!r}, source={self.source!r})"
        )


def read(source: Any, target: str | int | None = None, **options: Any) -> Table:
    r"""Read a file, a folder, several files (one per class) or a frame.

    ``target`` names the column of labels, or gives its number from 1; it is guessed where it can
    be. The other options are those of ``separatrix.data.options.ReadOptions``.

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
    return Table(**_find_reader(source)(source, chosen, None))


def read_as(source: Any, encoding: Any, /, **options: Any) -> Table:
    """Read raw data and encode them as training data were; ``y`` is empty where there is none."""
    if isinstance(encoding, FeatureEncoding):
        table = read_as(source, encoding.inner, **options)
        X, names = encoding.columns.apply(table.X), encoding.feature_names
        return replace(table, X=X, feature_names=names, encoding=encoding)
    chosen = ReadOptions(target=encoding.target, **options)
    return Table(**_find_reader(source)(source, chosen, encoding))


def _find_reader(source: Any) -> Any:
    if isinstance(source, list | tuple):
        return readers.read_texts_by_class if len(source) != 1 else _read_only
    if isinstance(source, str | os.PathLike):
        if os.fspath(source) != STDIN and os.path.isdir(source):
            return readers.read_texts_by_class
        return readers.read_file
    if is_frame(source):
        return readers.read_frame
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
    return readers.ENCODINGS[plain["kind"]].from_dict(plain)
