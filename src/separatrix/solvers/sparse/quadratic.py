"""Newton's model of the objective on a small working set, with its matrix.

    min over v    1/2 (v - w)' H (v - w) + g' (v - w) + l |v|_1 + r/2 |v|^2

H has the bias eliminated from it. After a few rounds of coordinates the signs are right more often
than not, and a direct solve on the nonzero weights finishes. `by_columns` is for large sets.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled
from separatrix.solvers.sparse.threshold import shrunk

__all__ = ["by_matrix"]

_ROUNDS = 40
_EPOCHS = 5
_MOST_PIVOTS, _PRODUCTS = 50, 5_000_000
_JITTER = 1e-13
_AT_ZERO = 1e-12  # of a weight: what is left of it by rounding


def by_matrix(
    H: np.ndarray, g: np.ndarray, w: np.ndarray, penalties: tuple[float, float], share: float
) -> np.ndarray:
    """Return v; stop where a round lowers the model by less than a share of the first round's."""
    l1, ridge = penalties
    v, slopes = w.copy(), g.copy()
    diagonal = np.ascontiguousarray(np.diag(H)) + ridge
    least = max(float(diagonal.max(initial=0.0)) * 1e-14, 1e-300)
    np.maximum(diagonal, least, out=diagonal)
    first = 0.0
    for _ in range(_ROUNDS):
        # About as long as the direct solve takes, so that neither is waited for.
        epochs = max(_EPOCHS, np.count_nonzero(v) // 12)
        fall, is_settled = _descend(H, slopes, v, diagonal, l1, ridge, epochs, share * first, share)
        first = max(first, fall)
        if is_settled or not first > 0.0:
            break
        support = max(int(np.count_nonzero(v)), 1)
        for _ in range(min(_MOST_PIVOTS, max(1, _PRODUCTS // support**3))):
            if not _solve_directly(H, slopes, v, diagonal, l1, ridge):
                break
    return v


def _solve_directly(
    H: np.ndarray,
    slopes: np.ndarray,
    v: np.ndarray,
    diagonal: np.ndarray,
    l1: float,
    ridge: float,
) -> bool:
    """Go to the minimum for the signs of v; return whether a weight came to zero before."""
    support = np.flatnonzero(v)
    if not len(support):
        return False
    scale = 1.0 / np.sqrt(diagonal[support])
    matrix = H[np.ix_(support, support)] * np.outer(scale, scale)
    place = np.arange(len(support))
    matrix[place, place] = 1.0 + _JITTER
    kept = v[support]
    slope = slopes[support] + ridge * kept + l1 * np.sign(kept)
    try:
        step = -scale * np.linalg.solve(matrix, scale * slope)
    except np.linalg.LinAlgError:
        return False
    along = float(slope @ step)
    curved = H[:, support] @ step
    bend = float(step @ curved[support]) + ridge * float(step @ step)
    if not (np.isfinite(step).all() and along < 0.0 and bend > 0.0):
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.where(step * kept < 0.0, -kept / step, np.inf)
    nearest = float(crossings.min())
    size = min(-along / bend, nearest)
    v[support] = kept + size * step
    v[support[crossings <= size * (1.0 + _AT_ZERO)]] = 0.0
    slopes += size * curved
    return size == nearest


@compiled
def _descend(H, slopes, v, diagonal, l1, ridge, epochs, enough, share):  # type: ignore[no-untyped-def]
    """Minimise over one weight after another; return how far the model fell, and if to the end."""
    total, first = 0.0, 0.0
    is_full = True
    for _ in range(epochs):
        fall = 0.0
        for j in range(v.shape[0]):
            old, bend = v[j], diagonal[j]
            if not is_full and old == 0.0:
                continue
            target = old - (slopes[j] + ridge * old) / bend
            new = shrunk(target, l1 / bend)
            step = new - old
            if step != 0.0:
                row = H[j]
                for k in range(v.shape[0]):
                    slopes[k] += step * row[k]
                v[j] = new
                fall += 0.5 * bend * step * step
        total += fall
        first = max(first, fall)
        if is_full and fall <= max(enough, share * first):
            return total, True
        is_full = not is_full and fall <= 0.3 * max(enough, share * first)
    return total, False
