"""Tables to files: LIBSVM, CSV, TSV and Parquet."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from separatrix._sparse import sparse
from separatrix._write_aside import write_whole
from separatrix.data.readers.libsvm import write_libsvm
from separatrix.data.table import Table
from separatrix.errors import DataError

__all__ = ["FORMATS", "write_table"]

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
