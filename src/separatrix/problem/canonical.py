"""The data a certificate speaks of, in canonical form: for the checker, and for the fingerprint.

The canonical form is CSR without stored zeros, columns ascending, values as float64; classes are
numbered in their sorted order. Dense and sparse copies of the same numbers are the same data.

To hash a billion numbers takes longer than to solve and prove a model on a GPU. So the fingerprint
of large data on a device is made where it is needed (`LaterName`): when the certificate is written
or kept in a model file. Until then the data must be there. The bounds are proved without it.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import UserString
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix._sparse import sparse as sp
from separatrix.checker import Data, Row
from separatrix.errors import DataError
from separatrix.problem.device_rows import DeviceRows, host_blocks
from separatrix.problem.multiclass import KeslerProblem
from separatrix.problem.signed import SignedProblem, as_matrix

_MARKED_ROWS = 256
_NO_NAME = (
    "The data of this certificate are {}, and their fingerprint was not made while they were "
    "there. certificate_.check(X, y) proves it without one; to write it down, fit again and keep X "
    "as it is until it is written."
)
Problem = SignedProblem | KeslerProblem

_ENTRIES_AT_A_TIME = 1 << 17
_MOST_NAMED = 2_000_000  # entries
_ROWS_AT_A_TIME = 65536


def codes_of(problem: Problem) -> np.ndarray:
    """Return class numbers: for two classes 0 and 1, the second being the positive one."""
    if isinstance(problem, KeslerProblem):
        return problem.codes
    return (problem.signs > 0).astype(np.int64)


def n_classes_of(problem: Problem) -> int:
    """Return how many classes there are; a signed problem has two even if one has no rows."""
    return problem.n_classes if isinstance(problem, KeslerProblem) else 2


def data_of(X: Any, codes: np.ndarray, n_classes: int, intercept: bool) -> Problem:
    """Return the data that a certificate speaks of, from class numbers."""
    if n_classes > 2:
        return KeslerProblem(X, codes, n_classes, intercept)
    return SignedProblem(X, np.where(codes == 1, 1.0, -1.0), intercept)


def problem_from(X: Any, y: Any, intercept: bool) -> Problem:
    """Pose the problem that labels y set, numbering classes in sorted order."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) > 2:
        return KeslerProblem(X, codes, len(classes), intercept)
    return SignedProblem(X, np.where(codes == len(classes) - 1, 1.0, -1.0), intercept)


def signs_of(codes: np.ndarray, positive: int, negative: int) -> np.ndarray:
    """Return +1 for the positive class, -1 for the negative one (-1: every other), else 0."""
    if negative < 0:
        return np.where(codes == positive, 1.0, -1.0)
    return np.where(codes == positive, 1.0, np.where(codes == negative, -1.0, 0.0))


def canonical_pieces(X: Any) -> Iterable[Any]:
    """Yield blocks of rows as canonical CSR, so that dense data need no full copy."""
    n = X.shape[0]
    entries = X.nnz if sp.issparse(X) else X.size
    step = max(1, n * _ENTRIES_AT_A_TIME // max(1, entries))
    for begin in range(0, n, step):
        yield canonical_rows(X[begin : begin + step])


def canonical_rows(X: Any) -> Any:
    """Return rows as canonical CSR."""
    found = sp.csr_array(X, dtype=np.float64)
    if found.nnz and (found.data == 0.0).any():
        found = found.copy()
        found.eliminate_zeros()
    found.sort_indices()
    return found


def sha256(problem: Problem) -> str:
    """Return the SHA-256 of the canonical form; the checker computes the same on its own."""
    X, codes = problem.X, codes_of(problem)
    shape = (problem.n_samples, X.shape[1])
    if isinstance(X, np.ndarray) and 0 < X.size <= _ENTRIES_AT_A_TIME and X.all():
        return _sha256_without_zeros(X, codes, n_classes_of(problem))
    if not (sp.issparse(X) and X.format == "csr" and X.has_canonical_format and X.data.all()):
        return sha256_of_blocks(lambda: [(X, codes)], shape, n_classes_of(problem))
    digest = _begun(shape, n_classes_of(problem))
    digest.update(codes.astype("<i8").tobytes())
    for array, kind in ((X.indptr, "<i8"), (X.indices, "<i8"), (X.data, "<f8")):
        for begin in range(0, len(array), _ENTRIES_AT_A_TIME):
            piece = array[begin : begin + _ENTRIES_AT_A_TIME]
            digest.update(np.ascontiguousarray(piece, dtype=kind).data)
    return digest.hexdigest()


def _sha256_without_zeros(X: np.ndarray, codes: np.ndarray, n_classes: int) -> str:
    """Return the SHA-256 of a dense array in one piece: every row has an entry in every column."""
    n, d = X.shape
    digest = _begun(X.shape, n_classes)
    digest.update(codes.astype("<i8").tobytes())
    digest.update(np.arange(0, (n + 1) * d, d, dtype="<i8").data)
    digest.update(np.arange(d, dtype="<i8").tobytes() * n)
    digest.update(np.ascontiguousarray(X, dtype="<f8").data)
    return digest.hexdigest()


def _begun(shape: tuple[int, int], n_classes: int) -> Any:
    """Return a digest that knows what is coming."""
    digest = hashlib.sha256(b"separatrix-data-1\n")
    digest.update(np.array([*shape, n_classes], dtype="<i8").tobytes())
    return digest


def sha256_of_blocks(
    blocks: Callable[[], Iterable[tuple[Any, np.ndarray]]], shape: tuple[int, int], n_classes: int
) -> str:
    """Return the SHA-256 of the canonical form of all rows; `blocks` yields (X, class numbers).

    It is that of `sha256` for the same rows in one piece. Class numbers come first, then
    the counts, the columns and the values: the blocks are gone over four times.
    """
    digest = _begun(shape, n_classes)
    for _, codes in blocks():
        digest.update(codes.astype("<i8").tobytes())
    digest.update(np.zeros(1, "<i8").tobytes())
    end = 0
    for X, _ in blocks():
        for piece in _stretches(X):
            ends = end + np.cumsum(_counts(piece), dtype="<i8")
            digest.update(ends.tobytes())
            end = int(ends[-1]) if len(ends) else end
    for part, kind in ((_columns, "<i8"), (_values, "<f8")):
        for X, _ in blocks():
            for piece in _stretches(X):
                digest.update(np.ascontiguousarray(part(piece), dtype=kind).data)
    return digest.hexdigest()


def _stretches(X: Any) -> Iterable[Any]:
    """Yield short stretches of rows: dense ones as they are, sparse ones as canonical CSR."""
    if sp.issparse(X):
        yield from canonical_pieces(X)
    else:
        step = max(1, _ENTRIES_AT_A_TIME // max(1, X.shape[1]))
        for begin in range(0, X.shape[0], step):
            yield X[begin : begin + step]


def _counts(block: Any) -> np.ndarray:
    """Return how many entries each row has."""
    if sp.issparse(block):
        return np.diff(block.indptr)
    full = bool(block.all())
    return np.full(*block.shape) if full else np.count_nonzero(block, axis=1)


def _columns(block: Any) -> np.ndarray:
    """Return the columns of the entries, row by row."""
    if sp.issparse(block):
        return np.asarray(block.indices)
    columns = _columns_of_all(*block.shape)
    places = _entries(block)
    return columns if places is None else columns[places]


def _values(block: Any) -> np.ndarray:
    """Return the entries, row by row."""
    if sp.issparse(block):
        return np.asarray(block.data)
    flat, places = np.ravel(block), _entries(block)
    return flat if places is None else flat[places]


def _entries(block: np.ndarray) -> np.ndarray | None:
    """Return where numbers other than zero stand, row by row; None where all are."""
    return None if block.all() else np.flatnonzero(np.ravel(block) != 0.0)


@lru_cache(maxsize=4)
def _columns_of_all(rows: int, d: int) -> np.ndarray:
    """Return the columns of all numbers of so many rows."""
    return np.tile(np.arange(d), rows)


def row_of(X: Any, number: int) -> Row:
    """Return one row as the checker wants it."""
    row = X[[number], :].toarray()[0] if sp.issparse(X) else X[number]
    columns = np.flatnonzero(row)
    return columns.tolist(), np.asarray(row, dtype=np.float64)[columns].tolist()


def as_checker_data(problem: Problem) -> Data:
    """Return all the data as the checker wants them: for small data and for tests."""
    rows: list[Row] = []
    for piece in canonical_pieces(problem.X):
        for begin, end in zip(piece.indptr[:-1], piece.indptr[1:], strict=True):
            rows.append((piece.indices[begin:end].tolist(), piece.data[begin:end].tolist()))
    return Data(rows, codes_of(problem).tolist(), problem.X.shape[1], n_classes_of(problem))


def counted_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return rows, labels and weights of the rows that count: those of a weight above 0."""
    X, y = as_matrix(X), np.asarray(y)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    s = np.ascontiguousarray(np.broadcast_to(s, len(y)))
    return (X, y, s) if (s > 0.0).all() else (X[s > 0.0], y[s > 0.0], s[s > 0.0])


def named_rows(X: Any, y: Any, weights: np.ndarray) -> tuple[str, tuple[str, ...]]:
    """Return the fingerprint and the classes by which a file can speak of these rows.

    Both are empty where it cannot: sample weights are in no data file, and large data are hashed
    for the certificates alone that need it.
    """
    entries = X.nnz if sp.issparse(X) else X.size
    if entries > _MOST_NAMED or not (weights == 1.0).all():
        return "", ()
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    found = sha256(data_of(X, codes, len(classes), True))
    return found, tuple(str(name) for name in classes)


def sha256_of_squares(X: Any, T: np.ndarray, s: np.ndarray) -> str:
    """Return the SHA-256 of rows, targets and weights: those that least squares speak of."""
    digest = hashlib.sha256(b"separatrix-least-squares-1\n")
    digest.update(np.array([*X.shape, T.shape[1]], dtype="<i8").tobytes())
    for begin in range(0, X.shape[0], _ROWS_AT_A_TIME):
        piece = X[begin : begin + _ROWS_AT_A_TIME]
        pieces = [canonical_rows(piece)] if sp.issparse(piece) else list(_stretches(piece))
        counts = np.concatenate([_counts(part) for part in pieces])
        digest.update(np.concatenate([[0], np.cumsum(counts)]).astype("<i8").data)
        for part, form in ((_columns, "<i8"), (_values, "<f8")):
            for stretch in pieces:
                digest.update(np.ascontiguousarray(part(stretch), dtype=form).data)
    digest.update(T.astype("<f8").tobytes())
    digest.update(s.astype("<f8").tobytes())
    return digest.hexdigest()


def fingerprint_of(source: Any, codes: np.ndarray, shape: tuple[int, int], n_classes: int) -> str:
    """Return the SHA-256 of data on a device or in memory, a stretch of rows at a time."""
    return sha256_of_blocks(
        lambda: ((block, codes[own]) for own, block in host_blocks(source)), shape, n_classes
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
            self._name = fingerprint_of(source, self._codes, self._shape, self._n_classes)
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
