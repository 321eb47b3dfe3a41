"""An order of rows drawn from what they hold: however the rows stand, it is the same.

Equal rows of one class have one key, so that they come one after another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["row_keys", "shuffled_by"]

_BLOCK = 1 << 20
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
_SHIFTS = np.array([30, 27, 31], dtype=np.uint64)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> _SHIFTS[0])) * _ODD[1]
    words = (words ^ (words >> _SHIFTS[1])) * _ODD[2]
    return np.asarray(words ^ (words >> _SHIFTS[2]))


def _entry_keys(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    keys = _mixed(bits + _mixed(columns.astype(np.uint64) * _ODD[0] + _ODD[1]))
    return np.where(values != 0.0, keys, np.uint64(0))


def row_keys(X: Any, codes: np.ndarray) -> np.ndarray:
    """Return a key for every row and its class; zeros count for nothing, stored or not.

    >>> import scipy.sparse as sp
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> keys = row_keys(X, np.array([0, 0, 0]))
    >>> len(set(keys.tolist())), np.array_equal(keys, row_keys(sp.csr_array(X), [0, 0, 0]))
    (2, True)
    """
    n, d = X.shape
    keys = np.zeros(n, dtype=np.uint64)
    step = max(1, _BLOCK // max(1, d)) if not sp.issparse(X) else max(1, n)
    for begin in range(0, n, step):
        part = X[begin : begin + step]
        if sp.issparse(X):
            sums = np.zeros(len(X.data) + 1, dtype=np.uint64)
            np.cumsum(_entry_keys(X.indices, X.data), out=sums[1:])
            keys[:] = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        else:
            columns = np.broadcast_to(np.arange(d), part.shape)
            keys[begin : begin + step] = _entry_keys(columns, part).sum(axis=1, dtype=np.uint64)
    return _mixed(keys + np.asarray(codes).astype(np.uint64) * _ODD[0])


def shuffled_by(keys: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return the order of a pass: rows by their keys, mixed with the seed and the pass's number."""
    salt = _mixed(np.array([seed, number], dtype=np.uint64) * _ODD[:2] + _ODD[2])
    return np.argsort(_mixed(keys ^ salt[0] ^ (salt[1] >> _SHIFTS[2])), kind="stable")
