"""LIBSVM / SVMlight files: an exact, threaded reader, and a writer whose files read back the same.

label [qid:number] index:value index:value ... [# comment]
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix._compiled import for_work
from separatrix._sparse import sparse
from separatrix._write_aside import write_whole
from separatrix.data.encodings.labels import tidy_labels
from separatrix.data.encodings.numbers import PARKED, settled
from separatrix.data.readers import libsvm_rows as lines
from separatrix.data.sources.progress import close_gaps, in_chunks, line_chunks
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

CHUNK = 4 << 20

_SENTENCES = {
    lines.NO_LABEL: "the line has no label; each line starts with one, as in '+1 3:0.5'",
    lines.BAD_INDEX: "expected a pair 'index:value' with a whole number before the colon, got {!r}",
    lines.INDEX_TOO_LARGE: f"the feature index in {{!r}} is over {lines.LARGEST_INDEX}, "
    "the largest a matrix here can have; renumber the features",
    lines.BAD_VALUE: "expected a number after the colon, got {!r}",
    lines.NOT_FINITE: "the value {!r} is too large for a float64; rescale the feature",
    lines.BAD_QUERY: "expected a whole number of at most 18 digits after 'qid:', got {!r}",
    lines.REPEATED_INDEX: "the feature of {!r} stands twice in the line; keep one",
    lines.NOT_ASCENDING: "the indices of a line must ascend, and {!r} comes too late; sort the "
    "pairs (or are two lines joined?)",
}


@dataclass(frozen=True)
class LibsvmData:
    """What a LIBSVM file says; ``query_ids`` is None when no line has one."""

    X: sparse.csr_matrix
    y: NDArray[Any]
    query_ids: NDArray[np.int64] | None
    zero_based: bool


def _token(source: Source, at: int) -> str:
    """Return the blank-separated token at a place, shortened for an error message."""
    found = re.compile(rb"[^ \t\r\n]*").match(source.data, at)
    octets = found.group() if found else b""
    text = octets[:40].decode("utf-8", "replace")
    return text + "..." if len(octets) > 40 else text


def _allocate(n_rows: int, n_pairs: int) -> lines.Rows:
    values = np.empty(n_pairs)
    places = [np.empty(n_rows, dtype=np.int64) for _ in range(4)]
    indices = np.empty(n_pairs, dtype=np.int32)
    return lines.Rows._make([np.empty(n_rows), *places, indices, values, values.view(np.int64)])


def _parse_chunks(source: Source, threads: int | None) -> tuple[lines.Rows, int]:
    """Read all chunks side by side; return the joined rows and their oddities."""
    text, chunks = source.octets, line_chunks(source.data, 0, CHUNK)
    parse_rows = for_work(lines.parse_rows, len(text))
    most = in_chunks(lambda k: lines.count_at_most(text, *chunks[k]), chunks, threads=threads)
    counts = np.array(most, dtype=np.int64).reshape(-1, 2)
    starts = np.vstack([[0, 0], np.cumsum(counts, axis=0)])
    rows = _allocate(*starts[-1])

    def parse(number: int) -> tuple[int, int, int, int, int]:
        (row, pair), (row_end, pair_end) = starts[number], starts[number + 1]
        parts: list[Any] = [field[row:row_end] for field in rows[:5]]
        parts += [field[pair:pair_end] for field in rows[5:]]
        return parse_rows(text, *chunks[number], lines.Rows._make(parts))

    results = in_chunks(parse, chunks, source.name, threads)
    for _, _, status, at, _ in results:
        if status != lines.DONE:
            raise source.error(_SENTENCES[status].format(_token(source, at)), at)
    used = np.array([result[:2] for result in results], dtype=np.int64).reshape(-1, 2)
    by_row = [close_gaps(field, starts[:-1, 0], used[:, 0]) for field in rows[:5]]
    indices, values = (close_gaps(field, starts[:-1, 1], used[:, 1]) for field in rows[5:7])
    joined = lines.Rows._make([*by_row, indices, values, values.view(np.int64)])
    return joined, reduce(or_, (result[4] for result in results), 0)


def _finish_parked(source: Source, rows: lines.Rows) -> None:
    """Let ``float()`` settle the few values that were parked."""
    for slot in np.flatnonzero(np.isnan(rows.values)):
        at = int(rows.bits[slot]) - PARKED
        rows.values[slot] = settled(source.data, at)
        if not np.isfinite(rows.values[slot]):
            raise source.error(_SENTENCES[lines.NOT_FINITE].format(_token(source, at)), at)


def _labels(source: Source, rows: lines.Rows) -> NDArray[Any]:
    """Return labels as whole numbers, numbers or text, whichever holds them all."""
    if np.isfinite(rows.labels).all():
        return tidy_labels(rows.labels)
    tokens: list[str] = []
    for start, end in zip(rows.label_starts.tolist(), rows.label_ends.tolist(), strict=True):
        try:
            tokens.append(source.data[start:end].decode())
        except UnicodeDecodeError as error:
            raise source.error("the label is not UTF-8 text", start + error.start) from None
    return tidy_labels(tokens)


def _matrix(
    source: Source, rows: lines.Rows, zero_based: bool, n_features: int | None
) -> sparse.csr_matrix:
    indices = rows.indices
    if not zero_based and len(indices):
        if indices.min() == 0:
            at = next(m.start(1) for m in re.finditer(rb"[ \t](0+:)", source.data))
            raise source.error("index 0 in a file declared to count from 1; read it 0-based", at)
        indices -= 1
    found = int(indices.max()) + 1 if len(indices) else 0
    if n_features is not None and found > n_features:
        raise source.error(
            f"the file has feature {found}, but {n_features} features are requested; "
            "raise n_features, or leave it out"
        )
    kind = np.int32 if len(indices) < 2**31 else np.int64
    indptr = np.zeros(len(rows.counts) + 1, dtype=kind)
    np.cumsum(rows.counts, out=indptr[1:])
    shape = (len(rows.counts), found if n_features is None else n_features)
    return sparse.csr_matrix((rows.values, indices, indptr), shape=shape, copy=False)


def parse_libsvm(
    source: Source,
    n_features: int | None = None,
    zero_based: bool | None = None,
    threads: int | None = None,
) -> LibsvmData:
    r"""Read the contents of a LIBSVM file; counting from 0 is detected by an index 0.

    >>> from separatrix.data.sources.streams import Source
    >>> data = parse_libsvm(Source("two.libsvm", b"+1 1:0.5 3:2\n-1 2:1e-3 # note"))
    >>> data.X.toarray().tolist(), data.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1, -1])
    """
    rows, oddities = _parse_chunks(source, threads)
    if not len(rows.labels):
        raise source.error("the file holds no rows", 0)
    if oddities & lines.SOME_PARKED:
        _finish_parked(source, rows)
    if zero_based is None:
        zero_based = bool(len(rows.indices)) and int(rows.indices.min()) == 0
    queries = rows.queries if (rows.queries >= 0).any() else None
    X = _matrix(source, rows, zero_based, n_features)
    return LibsvmData(X, _labels(source, rows), queries, zero_based)


def write_libsvm(
    path: str | os.PathLike[str],
    X: ArrayLike | sparse.spmatrix,
    y: ArrayLike,
    zero_based: bool = False,
    query_ids: ArrayLike | None = None,
) -> None:
    """Write rows so that reading them gives the same bits back; zeros are left out.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.libsvm"
    >>> write_libsvm(path, [[0.5, 0.0], [0.0, 1e-300]], [1, -1])
    >>> print(path.read_text())
    1 1:0.5
    -1 2:1e-300
    <BLANKLINE>
    """
    write_whole(path, libsvm_text(X, y, zero_based, query_ids))


# ---- writing


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
