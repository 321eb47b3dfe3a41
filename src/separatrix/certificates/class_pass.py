"""One pass over the data for many classes: all scores, and the sums of rows that masses make.

    scores_ik = w_k.x_i + b_k,      totals_k = sum_i a_ik x_i,     each with a bound on its rounding

The bounds are those of `data_pass`: a sum of k products errs by at most k u / (1 - k u) times the
sum of the absolute products, and sums of blocks carry their errors along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.certificates.data_pass import LEAST, UNIT, Total, blocks, gamma

__all__ = ["ClassPass", "class_pass", "shortfalls"]

_ENTRIES_AT_A_TIME = 1 << 17
_SPARSE_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class ClassPass:
    """By how much each row may fall short at most, and the totals with their errors.

    `spread` bounds the length of the error of `totals` as one long vector, beyond `errors`.
    """

    short: np.ndarray  # at least max_k (1[k != y] + score_k - score_y)
    slopes: np.ndarray  # 1[k != y] + score_k, n x K, as computed
    totals: np.ndarray  # d x K
    errors: np.ndarray
    spread: float


def class_pass(
    X: Any,
    codes: np.ndarray,
    W: np.ndarray,
    bias: np.ndarray,
    shares: Any,
    by_column: bool,
    wider: float = 1.0,
) -> ClassPass:
    """Return what W (d x K), the biases and the shares a (n x K, sparse) come to on the data.

    By column, every entry's own absolute sum bounds its error; otherwise, for sparse rows, the
    lengths of rows and weights do, in half the time. Errors are stated `wider` times as large.
    """
    (n, d), K = X.shape, W.shape[1]
    short, slopes = np.empty(n), np.empty((n, K))
    total, errors, sizes = Total((d, K)), np.zeros((d, K)), np.zeros((d, K))
    lengths = np.zeros(n)
    most = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        size_W = abs(W)
        length_W = np.sqrt((W * W).sum(axis=0)) * (1.0 + gamma(d + 4.0))
        length_W += math.sqrt(LEAST) * (d + 2.0)
        for rows, block, entries in blocks(X, _ENTRIES_AT_A_TIME if by_column else _SPARSE_ENTRIES):
            part = np.asarray(shares[rows].toarray())
            height = float(rows.stop - rows.start)
            scores = np.asarray(block @ W) + bias
            if by_column:
                off = gamma(entries + 4.0) * (np.asarray(abs(block) @ size_W) + abs(bias))
            else:
                lengths[rows] = _lengths(block, d)
                off = lengths[rows, None] * length_W + abs(bias)
                off *= 1.01 * gamma(entries + 4.0)
            off = wider * (off + 8.0 * (d + 2.0) * LEAST)
            short[rows], slopes[rows] = shortfalls(scores, off, codes[rows])
            if part.any():
                total.add(np.asarray(block.T @ part))
                most = max(most, height)
                if by_column:
                    absolute = np.asarray(abs(block).T @ abs(part))
                    sizes += absolute
                    # The share of a row's own class is itself a rounded sum of K terms.
                    errors += gamma(height + K + 2.0) * absolute
        u = total.value + total.carried
        errors = 1.01 * (errors + total.share * sizes + 2.0 * UNIT * abs(u))
        errors += 8.0 * (n + 2.0) * LEAST
        spread = 0.0
        if not by_column:
            reach = float(np.asarray(abs(shares).sum(axis=1)).ravel() @ lengths)
            spread = 1.01 * (gamma(most + K + 2.0) + total.share) * reach * (1.0 + gamma(n + 4.0))
            spread += 8.0 * (n + 2.0) * (d + 2.0) * LEAST * K
    return ClassPass(short, slopes, u, wider * errors, wider * spread)


def _lengths(block: Any, d: int) -> np.ndarray:
    """Return lengths of rows, from above."""
    if sp.issparse(block):
        counts = np.diff(block.indptr)
        squares = np.add.reduceat(np.append(block.data * block.data, 0.0), block.indptr[:-1])
        squares = np.where(counts > 0, squares, 0.0)
    else:
        squares = (block * block).sum(axis=1)
    return np.asarray(np.sqrt(squares) * (1.0 + gamma(d + 4.0)) + math.sqrt(LEAST) * (d + 2.0))


def shortfalls(
    scores: np.ndarray, off: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far rows fall short of a margin of 1, from above, and the slopes."""
    own = np.arange(len(codes)), codes
    slopes = scores + 1.0
    slopes[own] = scores[own]
    upper = slopes + off
    mine = (scores - off)[own]
    upper[own] = mine  # a row is at no distance from its own class
    away = (upper - mine[:, None]).max(axis=1)
    size = abs(upper).max(axis=1) + abs(mine) + 1.0
    short = np.where(away > 0.0, away + 8.0 * UNIT * size, 0.0)
    return np.where(np.isfinite(size), short, math.inf), slopes
