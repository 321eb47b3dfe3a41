"""The fingerprint of data: the name by which a certificate says of which rows it speaks.

It is a tree of SHA-256, defined in docs/certificates.md. A leaf is the hash of 4,096 rows,
dense or sparse as suits them, in the narrowest numbers that hold every value exactly. So
dense, sparse and float32 copies of the same numbers have the same fingerprint, one pass over the
rows makes it, and several threads may share it. Certificates of version 0.1 have another one
(`first_of_blocks`): every function here takes a name, and returns one of the same kind.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections import UserString, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix._sparse import sparse as sp
from separatrix.checker.exact import FEW_COLUMNS, LEAF_ROWS, MANY_COLUMNS, SECOND
from separatrix.errors import DataError
from separatrix.problem.canonical import (
    Problem,
    canonical_pieces,
    canonical_rows,
    codes_of,
    n_classes_of,
)
from separatrix.problem.device_rows import DeviceRows, host_blocks
from separatrix.problem.signed import as_matrix, entries_of

_AT_A_TIME = 1 << 17  # entries
_FIRST_TRIED = 64
_MOST_NAMED = 2_000_000  # entries
_MOST_THREADS = 16
_KINDS = {1: "u1", 4: "<f4", 8: "<f8"}


def fingerprint(problem: Problem, like: Any = SECOND, threads: int = 1) -> str:
    """Return the fingerprint of a problem's rows and class numbers, of the same kind as `like`."""
    return fingerprint_of_rows(problem.X, codes_of(problem), n_classes_of(problem), like, threads)


def fingerprint_of_rows(
    X: Any, codes: np.ndarray, n_classes: int, like: Any = SECOND, threads: int = 1
) -> str:
    """Return the fingerprint of rows, as `as_matrix` returns them, and their class numbers."""
    return fingerprint_of_blocks(lambda: [(X, codes)], X.shape, n_classes, like, threads)


def fingerprint_of_blocks(
    blocks: Callable[[], Iterable[tuple[Any, np.ndarray]]],
    shape: tuple[int, int],
    n_classes: int,
    like: Any = SECOND,
    threads: int = 1,
) -> str:
    """Return the fingerprint of all rows; `blocks` yields (X, class numbers), of any height."""
    if _is_first(like):
        return first_of_blocks(blocks, shape, n_classes)
    labels = hashlib.sha256()

    def rows() -> Iterator[Any]:
        for X, codes in blocks():
            labels.update(np.ascontiguousarray(codes, dtype="<u4").data)
            yield X

    leaves = _leaves(rows(), threads)
    return _root(b"separatrix-data-2\n", (*shape, n_classes), [labels.digest(), *leaves])


def fingerprint_on_device(
    source: Any, codes: np.ndarray, shape: tuple[int, int], n_classes: int
) -> str:
    """Return the fingerprint of rows on a device or in memory, a block at a time."""

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return ((block, codes[own]) for own, block in host_blocks(source))

    return fingerprint_of_blocks(blocks, shape, n_classes, threads=spare_threads())


def spare_threads() -> int:
    """Return how many threads may hash while a device computes."""
    return min(_MOST_THREADS, os.cpu_count() or 1)


def fingerprint_of_squares(X: Any, T: np.ndarray, s: np.ndarray, like: Any = SECOND) -> str:
    """Return the fingerprint of rows, targets and weights: those that least squares speak of."""
    if _is_first(like):
        return first_of_squares(X, T, s)
    parts = [hashlib.sha256(np.ascontiguousarray(part, "<f8").data).digest() for part in (T, s)]
    return _root(b"separatrix-least-squares-2\n", (*X.shape, T.shape[1]), [*parts, *_leaves([X])])


def named_rows(
    X: Any, y: Any, weights: np.ndarray, like: Any = SECOND
) -> tuple[str, tuple[str, ...]]:
    """Return the fingerprint and the classes by which a file can speak of these rows.

    Both are empty where it cannot: sample weights are in no data file, and large data are hashed
    for the certificates alone that need it.
    """
    if entries_of(X) > _MOST_NAMED or not (weights == 1.0).all():
        return "", ()
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    found = fingerprint_of_rows(as_matrix(X), codes, max(2, len(classes)), like)
    return found, tuple(str(name) for name in classes)


def _is_first(name: Any) -> bool:
    return not str(name).startswith(SECOND)


def _root(kind: bytes, shape: tuple[int, ...], hashes: list[bytes]) -> str:
    digest = hashlib.sha256(kind)
    digest.update(np.array(shape, dtype="<i8").tobytes())
    for part in hashes:
        digest.update(part)
    return SECOND + digest.hexdigest()


def _leaves(blocks: Iterable[Any], threads: int = 1) -> list[bytes]:
    """Return the hashes of all stretches of rows."""
    stretches = _stretches(blocks)
    if threads == 1:
        return [leaf(rows) for rows in stretches]
    found, waiting = list[bytes](), deque[Future[bytes]]()
    with ThreadPoolExecutor(threads) as pool:
        for rows in stretches:
            waiting.append(pool.submit(leaf, rows))
            if len(waiting) > 2 * threads:  # blocks that wait are in memory
                found.append(waiting.popleft().result())
        return found + [future.result() for future in waiting]


def _stretches(blocks: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of blocks of any height as stretches of LEAF_ROWS, the last one shorter."""
    parts, count = list[Any](), 0
    for X in blocks:
        begin = 0
        while begin < X.shape[0]:
            end = min(X.shape[0], begin + LEAF_ROWS - count)
            parts.append(_rows_between(X, begin, end))
            count, begin = count + end - begin, end
            if count == LEAF_ROWS:
                yield _joined(parts)
                parts, count = [], 0
    if parts:
        yield _joined(parts)


def _rows_between(X: Any, begin: int, end: int) -> Any:
    """Return some rows; of CSR without a copy."""
    if end - begin == X.shape[0]:
        return X
    if not sp.issparse(X) or X.format != "csr":
        return X[begin:end]
    first, last = X.indptr[begin], X.indptr[end]
    starts = X.indptr[begin : end + 1] - first
    return sp.csr_array(
        (X.data[first:last], X.indices[first:last], starts), (end - begin, X.shape[1])
    )


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


def leaf(rows: Any) -> bytes:
    """Return the hash of one stretch of rows."""
    if sp.issparse(rows):
        rows = canonical_rows(rows)
        width, stored = _width(_flat_pieces(rows.data)), rows.nnz
    else:
        width, stored = _width(_pieces(rows)), int(np.count_nonzero(rows))
    n, d = rows.shape
    column = 2 if d <= FEW_COLUMNS else 4 if d <= MANY_COLUMNS else 8
    is_dense = n * d * width <= 2 * (4 * n + stored * (column + width))
    digest = hashlib.sha256(bytes([is_dense, width]))
    if is_dense:
        for piece in _pieces(rows.toarray() if sp.issparse(rows) else rows):
            digest.update(_without_sign(piece, stored < n * d, width).data)
    else:
        counts, columns, values = _entries(rows)
        for part, kind in ((counts, "<u4"), (columns, f"<u{column}"), (values, _KINDS[width])):
            for piece in _flat_pieces(part):
                digest.update(np.ascontiguousarray(piece, dtype=kind).data)
    return digest.digest()


def _pieces(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a few rows at a time, stored row after row."""
    step = max(1, _AT_A_TIME // max(1, rows.shape[1]))
    for begin in range(0, rows.shape[0], step):
        yield np.ascontiguousarray(rows[begin : begin + step])


def _flat_pieces(values: np.ndarray) -> Iterator[np.ndarray]:
    for begin in range(0, len(values), _AT_A_TIME):
        yield values[begin : begin + _AT_A_TIME]


def _without_sign(piece: np.ndarray, has_zeros: bool, width: int) -> np.ndarray:
    """Return numbers of so many bytes; zero has no sign."""
    found = np.ascontiguousarray(piece, dtype=_KINDS[width])
    return found + found.dtype.type(0) if has_zeros and width > 1 else found


def _entries(rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many entries each row has, their columns and their values, row by row."""
    if sp.issparse(rows):
        return np.diff(rows.indptr), rows.indices, rows.data
    counts, columns, values = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    numbers = np.zeros(0, dtype=np.int64)
    for piece in _pieces(rows):
        numbers = numbers if numbers.size >= piece.size else _numbers_of_columns(*piece.shape)
        flat = piece.reshape(-1)
        places = np.flatnonzero(flat)
        counts.append(np.count_nonzero(piece, axis=1))
        columns.append(numbers[places])
        values.append(flat[places])
    return np.concatenate(counts), np.concatenate(columns), np.concatenate(values)


def _numbers_of_columns(rows: int, d: int) -> np.ndarray:
    """Return the columns of all numbers of so many rows."""
    return np.tile(np.arange(d), rows)


def _width(pieces: Iterable[np.ndarray]) -> int:
    """Return the least number of bytes that hold each of these numbers exactly: 1, 4 or 8."""
    width = 1
    for piece in pieces:
        values = piece.reshape(-1)
        if width == 1 and not _all(_are_bytes, values):
            width = 4
        if width == 4 and not _all(_are_singles, values):
            return 8
    return width


def _all(holds: Callable[[np.ndarray], bool], values: np.ndarray) -> bool:
    """Whether something holds for all values; most often the first few decide."""
    return holds(values[:_FIRST_TRIED]) and holds(values[_FIRST_TRIED:])


def _are_bytes(values: np.ndarray) -> bool:
    if not values.size:
        return True
    return bool(values.min() >= 0 and values.max() <= 255 and (values == values.astype("u1")).all())


def _are_singles(values: np.ndarray) -> bool:
    if values.dtype == np.float32:
        return True
    with np.errstate(over="ignore", under="ignore"):
        return bool((values.astype(np.float32) == values).all())


# ---- the fingerprint that certificates of version 0.1 have; they are checked as before
#
# It is the SHA-256 of class numbers, row starts, columns and values of the canonical form, 16 bytes
# an entry, so blocks are gone over four times.

_ROWS_AT_A_TIME = 65536


def first_of_blocks(
    blocks: Callable[[], Iterable[tuple[Any, np.ndarray]]], shape: tuple[int, int], n_classes: int
) -> str:
    """Return the first fingerprint of all rows; `blocks` yields (X, class numbers)."""

    def pieces() -> Iterator[Any]:
        return (piece for X, _ in blocks() for piece in canonical_pieces(X))

    digest = hashlib.sha256(b"separatrix-data-1\n")
    digest.update(np.array([*shape, n_classes], dtype="<i8").tobytes())
    for _, codes in blocks():
        digest.update(codes.astype("<i8").tobytes())
    counts = [np.diff(piece.indptr) for piece in pieces()]
    digest.update(np.cumsum(np.concatenate([[0], *counts]), dtype="<i8").data)
    for name, kind in (("indices", "<i8"), ("data", "<f8")):
        for piece in pieces():
            digest.update(np.ascontiguousarray(getattr(piece, name), dtype=kind).data)
    return digest.hexdigest()


def first_of_squares(X: Any, T: np.ndarray, s: np.ndarray) -> str:
    """Return the first fingerprint of rows, targets and weights."""
    digest = hashlib.sha256(b"separatrix-least-squares-1\n")
    digest.update(np.array([*X.shape, T.shape[1]], dtype="<i8").tobytes())
    for begin in range(0, X.shape[0], _ROWS_AT_A_TIME):
        piece = canonical_rows(X[begin : begin + _ROWS_AT_A_TIME])
        parts = (piece.indptr, "<i8"), (piece.indices, "<i8"), (piece.data, "<f8")
        for part, kind in parts:
            digest.update(np.ascontiguousarray(part, dtype=kind).data)
    for part in (T, s):
        digest.update(part.astype("<f8").tobytes())
    return digest.hexdigest()


# ---- the fingerprint of large data on a device, made where it is needed
#
# To hash a billion numbers can take longer than to solve and prove a model on a GPU. So their
# fingerprint is made when the certificate is written or kept in a model file. Until then the data
# must be there. The bounds are proved without it.

_MARKED_ROWS = 256
_NO_NAME = (
    "The data of this certificate are {}, and their fingerprint was not made while they were "
    "there. certificate_.check(X, y) proves it without one; to write it down, fit again and keep X "
    "as it is until it is written."
)


class LaterName(UserString):
    """The fingerprint of rows on a device: a text whose letters are made when they are read."""

    def __init__(self, rows: DeviceRows, codes: np.ndarray, n_classes: int) -> None:
        # The caller's data are not kept alive for the sake of a name; a copy of our own is.
        source = rows.source
        self._source: Callable[[], Any] = lambda: source
        self._mark = _mark_of(source)
        if rows.is_the_callers:
            self._source = weakref.ref(source)
        self._codes, self._shape, self._n_classes = codes, rows.shape, n_classes
        self._name = ""

    @property
    def data(self) -> str:  # type: ignore[override]
        """The name itself."""
        if not self._name:
            source = self._source()
            if source is None:
                raise DataError(_NO_NAME.format("gone"))
            if _mark_of(source) != self._mark:
                raise DataError(_NO_NAME.format("no longer what they were"))
            self._name = fingerprint_on_device(source, self._codes, self._shape, self._n_classes)
            self._source = lambda: None
        return self._name

    def result(self) -> LaterName:
        """Stand where a name is waited for that is being made."""
        return self

    def kept(self) -> str:
        """Return the name for a file or another process; none where it can no longer be made."""
        try:
            return self.data
        except DataError:
            return ""

    def __repr__(self) -> str:
        """Do not ask for the name, which takes long to make or can no longer be made."""
        return "LaterName()"

    def __deepcopy__(self, _: Any) -> LaterName:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (self.kept(),)


def _mark_of(source: Any) -> str:
    """Return a hash of some rows, spread over all: whether data have changed, in most cases."""
    places = np.unique(np.linspace(0, max(0, len(source) - 1), _MARKED_ROWS).astype(np.int64))
    rows = np.ascontiguousarray(on_host(source[places]))
    return hashlib.sha256(rows.tobytes()).hexdigest()
