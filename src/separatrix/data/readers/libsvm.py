"""LIBSVM / SVMlight files: an exact, threaded reader, and a writer whose files read back the same.

    label [qid:number] index:value index:value ... [# comment]

The text is cut into chunks at line ends. A first pass counts what a chunk can hold at most, so that
all chunks write into the final arrays; the second pass reads. Chunks run side by side in threads.

A value that only ``float()`` can settle is parked (`numbers.PARKED`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix._compiled import compiled, for_work
from separatrix._sparse import sparse
from separatrix._write_aside import write_whole
from separatrix.data.encodings.labels import tidy_labels
from separatrix.data.encodings.numbers import (
    EXACT,
    NOT_A_NUMBER,
    PARKED,
    UNFINISHED,
    Octets,
    scan_number,
    settled,
    to_float,
)
from separatrix.data.sources.progress import close_gaps, in_chunks, line_chunks
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

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


# ---- a line, by compiled loops


DONE, NO_LABEL, BAD_INDEX, INDEX_TOO_LARGE, BAD_VALUE, NOT_FINITE, BAD_QUERY = range(7)
REPEATED_INDEX, NOT_ASCENDING = 7, 8
LARGEST_INDEX = 2**31 - 2
SOME_PARKED = 1  # an oddity of a chunk that the caller must see to

_NEWLINE, _TAB, _RETURN, _BLANK, _HASH, _COLON = 10, 9, 13, 32, 35, 58


class Rows(NamedTuple):
    """Where a chunk writes: one entry per line, then one per pair ``index:value``."""

    labels: NDArray[np.float64]  # NaN where the label is no plain number
    label_starts: NDArray[np.int64]
    label_ends: NDArray[np.int64]
    queries: NDArray[np.int64]  # -1 where none is given
    counts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    bits: NDArray[np.int64]  # the same memory as values


def count_at_most(text: Octets, begin: int, end: int) -> tuple[int, int]:
    """Count lines and colons: no chunk has more rows or pairs."""
    part = text[begin:end]
    return int(np.count_nonzero(part == _NEWLINE)) + 1, int(np.count_nonzero(part == _COLON))


@compiled
def _is_blank(octet: np.uint8) -> bool:
    return octet in (_BLANK, _TAB, _RETURN)


@compiled
def _ends_token(octet: np.uint8) -> bool:
    return octet in (_BLANK, _NEWLINE, _HASH, _TAB, _RETURN)


@compiled
def _skip_to_newline(text: Octets, at: int, end: int) -> int:
    while at < end and text[at] != _NEWLINE:
        at += 1
    return at


@compiled
def _scan_label(text: Octets, at: int, end: int) -> tuple[float, int]:
    """Read the label: return its value, NaN if no plain number, and the place after, -1 if none."""
    value, after, status = scan_number(text, at, end)
    if status == EXACT and (after == end or _ends_token(text[after])):
        return value, after
    while at < end and not _ends_token(text[at]):
        if text[at] == _COLON:
            return np.nan, -1
        at += 1
    return np.nan, at


@compiled
def _scan_query(text: Octets, at: int, end: int) -> tuple[int, int, int]:
    """Read ``qid:12`` at ``at``; return the number, the place after it, and a status."""
    if end - at < 5 or text[at + 1] != 105 or text[at + 2] != 100 or text[at + 3] != _COLON:
        return -1, at, BAD_INDEX
    after = at + 4
    query = 0
    while after < end and 48 <= text[after] <= 57 and after - at < 23:
        query = query * 10 + int(text[after]) - 48
        after += 1
    if after == at + 4 or after == at + 23 or (after < end and not _ends_token(text[after])):
        return -1, at, BAD_QUERY
    return query, after, DONE


@compiled
def _significant(text: Octets, first: int, after: int) -> int:
    """Count the digits from the first that is not zero."""
    while first < after and (text[first] == 48 or text[first] == 46):
        first += 1
    return after - first


@compiled
def _parse_pairs(
    text: Octets,
    at: int,
    end: int,
    pair: int,
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    bits: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Read ``index:value`` to the line's end; return pairs so far, the place, status, oddities.

    Digits are read in place: a call, even inlined, takes half the time of the number itself.
    """
    previous = -1
    oddities = 0
    while True:
        while at < end and _is_blank(text[at]):
            at += 1
        if at >= end or text[at] == _NEWLINE or text[at] == _HASH:
            return pair, at, DONE, oddities

        first = at
        index = 0
        while at < end and 48 <= text[at] <= 57 and index <= LARGEST_INDEX:
            index = index * 10 + int(text[at]) - 48
            at += 1
        if index > LARGEST_INDEX:
            return pair, first, INDEX_TOO_LARGE, oddities
        if at in (first, end) or text[at] != _COLON:
            return pair, first, BAD_INDEX, oddities
        if index == previous:
            return pair, first, REPEATED_INDEX, oddities
        if index < previous:
            return pair, first, NOT_ASCENDING, oddities
        previous = index

        at += 1
        start = at
        negative = at < end and text[at] == 45
        if negative:
            at += 1
        first = at
        mantissa = 0
        while at < end and 48 <= text[at] <= 57:
            mantissa = mantissa * 10 + int(text[at]) - 48
            at += 1
        digits = at - first
        power = 0
        if at < end and text[at] == 46:
            at += 1
            power = at
            while at < end and 48 <= text[at] <= 57:
                mantissa = mantissa * 10 + int(text[at]) - 48
                at += 1
            power -= at
            digits -= power
        if (
            digits > 0
            and (at == end or _ends_token(text[at]))
            and (digits <= 18 or _significant(text, first, at) <= 18)
        ):
            value = to_float(mantissa, power)
            values[pair] = -value if negative else value
        else:
            value, at, status = scan_number(text, start, end)
            if status == NOT_A_NUMBER or (at < end and not _ends_token(text[at])):
                return pair, start, BAD_VALUE, oddities
            if not -np.inf < value < np.inf:
                return pair, start, NOT_FINITE, oddities
            values[pair] = value
            if status == UNFINISHED:
                bits[pair] = PARKED + start
                oddities |= SOME_PARKED
        indices[pair] = index
        pair += 1


@compiled
def parse_rows(text: Octets, begin: int, end: int, rows: Rows) -> tuple[int, int, int, int, int]:
    """Read the lines of a chunk; return rows, pairs, status, place of the fault, oddities."""
    labels, starts, ends, queries = rows.labels, rows.label_starts, rows.label_ends, rows.queries
    counts, indices, values, bits = rows.counts, rows.indices, rows.values, rows.bits
    at = begin
    row = 0
    pair = 0
    oddities = 0
    while True:
        while at < end and (text[at] == _NEWLINE or _is_blank(text[at])):
            at += 1
        if at >= end:
            return row, pair, DONE, at, oddities
        if text[at] == _HASH:
            at = _skip_to_newline(text, at, end)
            continue
        starts[row] = at
        labels[row], at = _scan_label(text, at, end)
        ends[row] = at
        if at < 0:
            return row, pair, NO_LABEL, starts[row], oddities
        while at < end and _is_blank(text[at]):
            at += 1
        queries[row] = -1
        if at < end and text[at] == 113:
            queries[row], at, status = _scan_query(text, at, end)
            if status != DONE:
                return row, pair, status, at, oddities
        first_pair = pair
        pair, at, status, found = _parse_pairs(text, at, end, pair, indices, values, bits)
        if status != DONE:
            return row, pair, status, at, oddities
        if at < end and text[at] == _HASH:
            at = _skip_to_newline(text, at, end)
        oddities |= found
        counts[row] = pair - first_pair
        row += 1


# ---- the whole file: chunks side by side, joined into one matrix


CHUNK = 4 << 20

_SENTENCES = {
    NO_LABEL: "the line has no label; each line starts with one, as in '+1 3:0.5'",
    BAD_INDEX: "expected a pair 'index:value' with a whole number before the colon, got {!r}",
    INDEX_TOO_LARGE: f"the feature index in {{!r}} is over {LARGEST_INDEX}, "
    "the largest a matrix here can have; renumber the features",
    BAD_VALUE: "expected a number after the colon, got {!r}",
    NOT_FINITE: "the value {!r} is too large for a float64; rescale the feature",
    BAD_QUERY: "expected a whole number of at most 18 digits after 'qid:', got {!r}",
    REPEATED_INDEX: "the feature of {!r} stands twice in the line; keep one",
    NOT_ASCENDING: "the indices of a line must ascend, and {!r} comes too late; sort the "
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


def _allocate(n_rows: int, n_pairs: int) -> Rows:
    values = np.empty(n_pairs)
    places = [np.empty(n_rows, dtype=np.int64) for _ in range(4)]
    indices = np.empty(n_pairs, dtype=np.int32)
    return Rows._make([np.empty(n_rows), *places, indices, values, values.view(np.int64)])


def _parse_chunks(source: Source, threads: int | None) -> tuple[Rows, int]:
    """Read all chunks side by side; return the joined rows and their oddities."""
    text, chunks = source.octets, line_chunks(source.data, 0, CHUNK)
    parse_all = for_work(parse_rows, len(text))
    most = in_chunks(lambda k: count_at_most(text, *chunks[k]), chunks, threads=threads)
    counts = np.array(most, dtype=np.int64).reshape(-1, 2)
    starts = np.vstack([[0, 0], np.cumsum(counts, axis=0)])
    rows = _allocate(*starts[-1])

    def parse(number: int) -> tuple[int, int, int, int, int]:
        (row, pair), (row_end, pair_end) = starts[number], starts[number + 1]
        parts: list[Any] = [field[row:row_end] for field in rows[:5]]
        parts += [field[pair:pair_end] for field in rows[5:]]
        return parse_all(text, *chunks[number], Rows._make(parts))

    results = in_chunks(parse, chunks, source.name, threads)
    for _, _, status, at, _ in results:
        if status != DONE:
            raise source.error(_SENTENCES[status].format(_token(source, at)), at)
    used = np.array([result[:2] for result in results], dtype=np.int64).reshape(-1, 2)
    by_row = [close_gaps(field, starts[:-1, 0], used[:, 0]) for field in rows[:5]]
    indices, values = (close_gaps(field, starts[:-1, 1], used[:, 1]) for field in rows[5:7])
    joined = Rows._make([*by_row, indices, values, values.view(np.int64)])
    return joined, reduce(or_, (result[4] for result in results), 0)


def _finish_parked(source: Source, rows: Rows) -> None:
    """Let ``float()`` settle the few values that were parked."""
    for slot in np.flatnonzero(np.isnan(rows.values)):
        at = int(rows.bits[slot]) - PARKED
        rows.values[slot] = settled(source.data, at)
        if not np.isfinite(rows.values[slot]):
            raise source.error(_SENTENCES[NOT_FINITE].format(_token(source, at)), at)


def _labels(source: Source, rows: Rows) -> NDArray[Any]:
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
    source: Source, rows: Rows, zero_based: bool, n_features: int | None
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
    if oddities & SOME_PARKED:
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
