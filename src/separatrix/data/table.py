"""Files in, tables out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import DataError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and labels with their names."""

    X: Any
    y: np.ndarray
    feature_names: list[str]
    classes: list[Any]
    kind: str
    source: str
    sha256: str


def read(path: str, target: str | None = None) -> Table:
    """Read a CSV of numbers with a header line, or LIBSVM text; the target is the last column."""
    file = Path(path)
    if not file.is_file():
        raise DataError("there is no such file. Check the path.", file=path)
    is_csv = file.suffix.lower() in (".csv", ".tsv")
    X, y, names = _read_csv(file, target) if is_csv else _read_libsvm(file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    kind = "csv" if is_csv else "libsvm"
    return Table(X, y, names, np.unique(y).tolist(), kind, str(path), digest)


def _read_csv(file: Path, target: str | None) -> tuple[Any, np.ndarray, list[str]]:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    try:
        frame = arrow_csv.read_csv(file, parse_options=arrow_csv.ParseOptions(delimiter=delimiter))
    except pa.ArrowInvalid as error:
        raise DataError(f"not a well-formed table: {error}.", file=str(file)) from error
    target = frame.column_names[-1] if target is None else target
    if target not in frame.column_names:
        raise DataError(
            f"no column {target!r}. The columns are {', '.join(frame.column_names)}.", str(file)
        )
    names = [name for name in frame.column_names if name != target]
    for name in names:
        kind = frame.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise DataError(f"column {name!r} holds {kind}, not numbers. Leave it out.", str(file))
    X = np.column_stack([frame[name].to_numpy().astype(np.float64) for name in names])
    return X, np.asarray(frame[target].to_pylist()), names


def _read_libsvm(file: Path) -> tuple[Any, np.ndarray, list[str]]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(file))
    except ValueError as error:
        raise DataError(f"not well-formed LIBSVM text: {error}.", file=str(file)) from error
    return X, y, [f"x{j + 1}" for j in range(X.shape[1])]
