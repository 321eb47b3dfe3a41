"""Rows to LIBSVM lines, with the shortest digits that read back as the same float64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix._sparse import sparse
from separatrix.errors import DataError

__all__ = ["libsvm_text"]

_ROWS_AT_ONCE = 16384


def _label_texts(y: NDArray[Any]) -> Any:
    """Return labels as an Arrow array of strings, each distinct one checked."""
    import pyarrow as pa

    distinct, codes = np.unique(y, return_inverse=True)
    texts = [repr(label) if isinstance(label, float) else str(label) for label in distinct.tolist()]
    for text in texts:
        _refuse_label(text)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts)).dictionary_decode()


def _block(rows: sparse.csr_matrix, labels: Any, first_index: int) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    indices = pa.array(rows.indices.astype(np.int64) + first_index).cast(pa.string())
    values = pa.array(rows.data).cast(pa.string())
    pairs = pc.binary_join_element_wise(indices, values, ":")
    grouped = pa.ListArray.from_arrays(pa.array(rows.indptr.astype(np.int32)), pairs)
    whole = pc.binary_join_element_wise(labels, pc.binary_join(grouped, " "), " ")
    text = pc.utf8_rtrim(whole, characters=" ")
    return b"".join(piece.encode() + b"\n" for piece in text.to_pylist())


def libsvm_text(
    X: ArrayLike | sparse.spmatrix,
    y: ArrayLike,
    zero_based: bool = False,
    query_ids: ArrayLike | None = None,
) -> Iterator[bytes]:
    """Yield the lines, a block of rows at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = sparse.csr_matrix(X, dtype=np.float64)
    if not np.isfinite(rows.data).all():
        raise DataError("a LIBSVM file holds finite numbers only; replace NaN and infinity first")
    if rows.shape[0] != len(np.asarray(y)):
        raise DataError(f"X has {rows.shape[0]} rows, but there are {len(np.asarray(y))} labels")
    labels = _label_texts(np.asarray(y))
    if query_ids is not None:
        queries = pa.array(np.asarray(query_ids, dtype=np.int64)).cast(pa.string())
        labels = pc.binary_join_element_wise(labels, queries, " qid:")
    for start in range(0, rows.shape[0], _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        if not part.has_canonical_format or (part.data == 0).any():
            part.sum_duplicates()
            part.eliminate_zeros()
        yield _block(part, labels[start : start + _ROWS_AT_ONCE], 0 if zero_based else 1)


def _refuse_label(label: str) -> None:
    """Raise for a label that a LIBSVM line cannot hold."""
    if not label or re.search(r"[\s#:]", label):
        raise DataError(
            f"the label {label!r} cannot be written to a LIBSVM file: it is empty or holds a "
            "blank, ':' or '#'; rename it"
        )
