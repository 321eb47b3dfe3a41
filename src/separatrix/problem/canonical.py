"""The data a certificate speaks of, in canonical form: for the checker, and for the fingerprint.

The canonical form is CSR without stored zeros, columns ascending, values as float64; classes are
numbered in their sorted order. Dense and sparse copies of the same numbers are the same data.

Rows that are equal, and whole sample weights: what errors are counted with, exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix._sparse import sparse as sp
from separatrix.checker import Data, Row, integers
from separatrix.problem.signed import KeslerProblem, SignedProblem, as_matrix

Problem = SignedProblem | KeslerProblem

_ENTRIES_AT_A_TIME = 1 << 17


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


def numbered(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in sorted order, and the class number of every label.

    >>> numbered([["b"], ["a"]])[1].tolist()  # a column of labels
    [1, 0]
    """
    y = np.asarray(on_host(y))
    return np.unique(y.ravel() if y.shape[1:] == (1,) else y, return_inverse=True)


def problem_from(X: Any, y: Any, intercept: bool) -> Problem:
    """Pose the problem that labels y set, numbering classes in sorted order."""
    classes, codes = numbered(y)
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
    if not found.data.all():
        found = found.copy()
        found.eliminate_zeros()
    found.sort_indices()
    return found


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


def targets_of(y: Any, task: str) -> np.ndarray:
    """Return what is to be fitted: signs for two classes, 1-of-K codes for more, or the values.

    Several labels a row, a column of 0 and 1 for each, are a column of signs for each.

    >>> targets_of(["a", "c", "b"], "classification").tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if task == "regression":
        values = np.asarray(y, dtype=np.float64)
        return values.reshape(len(values), -1)
    y = np.asarray(y)
    if y.ndim == 2:
        return np.where(y > 0, 1.0, -1.0)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) <= 2:
        return np.where(codes == len(classes) - 1, 1.0, -1.0)[:, None]
    return np.eye(len(classes))[codes]


# ---- rows that are equal, and whole sample weights: what errors are counted with, exactly


_MOST_WEIGHT = 2**53


def row_keys(X: Any) -> list[bytes]:
    """Return bytes that are the same for equal rows and for no others."""
    if not sp.issparse(X):
        dense = np.asarray(X, dtype=np.float64) + 0.0  # there is one zero
        return [row.tobytes() for row in np.ascontiguousarray(dense)]
    rows = sp.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    columns, ends = rows.indices.astype(np.int64), rows.indptr.tolist()
    return [columns[a:b].tobytes() + b"|" + rows.data[a:b].tobytes() for a, b in pairwise(ends)]


def equal_rows(X: Any, signs: np.ndarray) -> np.ndarray:
    """Number the rows so that equal rows of one class, and no others, share a number."""
    keys: dict[tuple[bytes, bool], int] = {}
    pairs = zip(row_keys(X), (signs > 0.0).tolist(), strict=True)
    return np.array([keys.setdefault(pair, len(keys)) for pair in pairs], dtype=np.int64)


def locations(
    X: Any, signs: np.ndarray, masses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the different points, and what it costs to have each on the positive side or not."""
    dense = (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(np.float64) + 0.0
    points, at = np.unique(dense, axis=0, return_inverse=True)
    up, down = np.zeros(len(points), dtype=np.int64), np.zeros(len(points), dtype=np.int64)
    np.add.at(up, at.ravel()[signs < 0], masses[signs < 0])
    np.add.at(down, at.ravel()[signs > 0], masses[signs > 0])
    return points, up, down


def equal_pair(X: Any, signs: np.ndarray) -> tuple[int, int] | None:
    """Return two equal rows of different signs, the first there are; None where there are none."""
    members = np.flatnonzero(signs)
    first: dict[tuple[bytes, float], int] = {}
    for row, key in zip(members.tolist(), row_keys(X[members]), strict=True):
        other = first.get((key, -float(signs[row])))
        if other is not None:
            return other, row
        first.setdefault((key, float(signs[row])), row)
    return None


def whole_weights(sample_weight: Any, count: int) -> tuple[np.ndarray, Fraction]:
    """Return sample weights as integers times a unit, a power of two.

    >>> whole_weights([0.5, 2.0], 2)
    (array([1, 4]), Fraction(1, 2))
    """
    if sample_weight is None:
        return np.ones(count, dtype=np.int64), Fraction(1)
    values = np.asarray(sample_weight, dtype=np.float64)
    if values.shape != (count,) or not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(f"sample_weight must be {count} finite numbers, none below 0.")
    numbers, exponent = integers(values.tolist())
    shift = max(exponent, 0) if any(numbers) else 0  # whole numbers are counted in ones
    unit = Fraction(2) ** (exponent - shift)
    if sum(numbers) << shift >= _MOST_WEIGHT:
        raise ValueError(
            "sample_weight must be whole numbers (or share a power of two, like 0.5 and 0.25), so "
            "that errors can be counted exactly. Round the weights, or multiply them first."
        )
    return np.array([v << shift for v in numbers], dtype=np.int64), unit


def weights_fingerprint(sample_weight: Any, masses: np.ndarray, unit: Fraction) -> str:
    """Return the SHA-256 of the sample weights, or nothing where there are none."""
    if sample_weight is None:
        return ""
    return hashlib.sha256(f"{unit} ".encode() + masses.astype("<i8").tobytes()).hexdigest()
