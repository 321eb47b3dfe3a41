"""Rows that are equal, and whole sample weights: what errors are counted with, exactly."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.checker import integers

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
