"""Columns that stand in one row only, folded into that row.

If column j is used by row i alone, with the value v, then at every a of the dual w_j = a_i y_i v,
and its part of 1/2 |w|^2 is 1/2 v^2 a_i^2: a diagonal term of row i. So such a column needs
no place in the vectors of length d; in pairs of words three columns of four are of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import compiled
from separatrix.problem.rows import SparseRows

__all__ = ["Fold", "folded"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows without their lone columns, and where those were."""

    base: SparseRows
    kept: np.ndarray  # the columns that remain
    lone: np.ndarray  # the columns that were folded, with the row and the value of each
    rows: np.ndarray
    values: np.ndarray
    squares: np.ndarray  # of each row, the sum of v^2 over its lone columns

    def unfolded(self, w: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the w of all columns, where share_i = y_i a_i."""
        whole = np.empty(len(self.kept) + len(self.lone))
        whole[self.kept] = w
        whole[self.lone] = share[self.rows] * self.values
        return whole


def folded(X: Any, base: Any) -> Fold | None:
    """Fold the lone columns of X, whose rows are `base`; None where that would not pay."""
    if not sp.issparse(X) or X.nnz > 10 * X.shape[1]:
        return None
    is_lone = used_once(base.indices, X.shape[1]) == 1
    lone = np.flatnonzero(is_lone)
    if len(lone) <= X.shape[1] // 2:
        return None
    kept = np.flatnonzero(~is_lone)
    # A kept column's new number, a lone column's place among the lone ones.
    place = np.empty(X.shape[1], dtype=X.indices.dtype)
    place[kept], place[lone] = np.arange(len(kept)), np.arange(len(lone))
    count = X.nnz - len(lone)
    values, indices = np.empty(count, dtype=X.dtype), np.empty(count, dtype=base.indices.dtype)
    starts = np.zeros(X.shape[0] + 1, dtype=base.starts.dtype)
    rows, alone = np.empty(len(lone), dtype=np.int64), np.empty(len(lone))
    squares = np.zeros(X.shape[0])
    given = (base.values, base.indices, base.starts)
    split(*given, is_lone, place, values, indices, starts, rows, alone, squares)
    for array in (values, indices, starts):
        array.flags.writeable = False
    return Fold(SparseRows(values, indices, starts), kept, lone, rows, alone, squares)


@compiled
def used_once(indices, d):  # type: ignore[no-untyped-def]
    """Count the uses of every column: 0, 1, or 2 for more."""
    uses = np.zeros(d, dtype=np.uint8)
    for k in range(indices.shape[0]):
        if uses[indices[k]] < 2:
            uses[indices[k]] += 1
    return uses


@compiled
def split(  # type: ignore[no-untyped-def]
    values, indices, starts, is_lone, place, kept, kept_indices, kept_starts, rows, alone, squares
):
    """Send every entry to the kept ones or to the lone ones."""
    count = 0
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            j = indices[k]
            if is_lone[j]:
                value = np.float64(values[k])
                rows[place[j]], alone[place[j]] = i, value
                squares[i] += value * value
            else:
                kept[count], kept_indices[count] = values[k], place[j]
                count += 1
        kept_starts[i + 1] = count
