"""Newton's model of the objective where columns have groups.

    min over v    1/2 (v - w)' H (v - w) + g' (v - w) + l sum_g sqrt(p_g) |v_g| + r/2 |v|^2

One group after another goes to the minimum of a parabola that lies above the model, as steep as H
is at most in the group. This finds the groups that are zero. Where no group is at zero the model
is smooth, and Newton's steps on these groups finish.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled

__all__ = ["by_matrix"]

_ROUNDS, _EPOCHS, _NEWTON_STEPS, _HALVINGS = 60, 10, 10, 30
_JITTER = 1e-13


def by_matrix(
    H: np.ndarray,
    g: np.ndarray,
    w: np.ndarray,
    groups: np.ndarray,
    penalties: tuple[float, float],
    share: float,
) -> np.ndarray:
    """Return v; stop where a round lowers the model by less than a share of the first round's.

    `groups` numbers the group of each column from 0 on; penalties are l and r.
    """
    l1, ridge = penalties
    order = np.argsort(groups, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(groups)))
    costs = l1 * np.sqrt(np.diff(ends))
    H, v = np.ascontiguousarray(H[np.ix_(order, order)]), w[order].copy()
    slopes = g[order].copy()
    steepest = _steepest(H, ends)
    steepest = np.maximum(steepest, max(float(steepest.max(initial=0.0)) * 1e-14, 1e-300)) + ridge
    first = 0.0
    for _ in range(_ROUNDS):
        fall, is_settled = _descend(
            H, slopes, v, ends, costs, steepest, ridge, _EPOCHS, share * first
        )
        first = max(first, fall)
        if is_settled or not first > 0.0:
            break
        for _ in range(_NEWTON_STEPS):
            if not _newton_step(H, slopes, v, ends, costs, ridge):
                break
    found = np.empty_like(v)
    found[order] = v
    return found


@compiled
def _steepest(H, ends):  # type: ignore[no-untyped-def]
    """Return at least the largest eigenvalue of each block on the diagonal (Gershgorin)."""
    found = np.zeros(ends.shape[0] - 1)
    for a in range(found.shape[0]):
        for j in range(ends[a], ends[a + 1]):
            reach = 0.0
            for k in range(ends[a], ends[a + 1]):
                reach += abs(H[j, k])
            found[a] = max(found[a], reach)
    return found


@compiled
def _descend(H, slopes, v, ends, costs, steepest, ridge, epochs, enough):  # type: ignore[no-untyped-def]
    """Take one group after another down; return how far the model fell at least, and if enough."""
    total = 0.0
    for _ in range(epochs):
        fall = 0.0
        for a in range(costs.shape[0]):
            begin, end, bend = ends[a], ends[a + 1], steepest[a]
            length = 0.0
            for j in range(begin, end):
                target = v[j] - (slopes[j] + ridge * v[j]) / bend
                length += target * target
            length = np.sqrt(length)
            shrink = max(0.0, 1.0 - costs[a] / (bend * length)) if length > 0.0 else 0.0
            moved = 0.0
            steps = np.zeros(end - begin)
            for j in range(begin, end):
                target = v[j] - (slopes[j] + ridge * v[j]) / bend
                steps[j - begin] = shrink * target - v[j]
                moved += steps[j - begin] * steps[j - begin]
            if moved > 0.0:
                for j in range(begin, end):
                    step = steps[j - begin]
                    v[j] += step
                    row = H[j]
                    for k in range(v.shape[0]):
                        slopes[k] += step * row[k]
                fall += 0.5 * bend * moved
        total += fall
        if fall <= enough:
            return total, True
    return total, False


def _newton_step(
    H: np.ndarray,
    slopes: np.ndarray,
    v: np.ndarray,
    ends: np.ndarray,
    costs: np.ndarray,
    ridge: float,
) -> bool:
    """Step to the minimum for the groups that are not zero; return whether a whole step helped."""
    lengths = np.sqrt(np.add.reduceat(v * v, ends[:-1]))
    of_column = np.repeat(np.arange(len(costs)), np.diff(ends))
    support = np.flatnonzero(lengths[of_column] > 0.0)
    if not len(support):
        return False
    kept, part = v[support], of_column[support]
    bend = costs[part] / lengths[part]
    slope = slopes[support] + ridge * kept + bend * kept
    matrix = H[np.ix_(support, support)].copy()
    along = kept / lengths[part]
    same = part[:, None] == part[None, :]
    matrix -= np.where(same, np.outer(along * np.sqrt(bend), along * np.sqrt(bend)), 0.0)
    place = np.arange(len(support))
    matrix[place, place] += ridge + bend
    scale = 1.0 / np.sqrt(np.maximum(matrix[place, place], 1e-300))
    matrix *= np.outer(scale, scale)
    matrix[place, place] += _JITTER
    try:
        step = -scale * np.linalg.solve(matrix, scale * slope)
    except np.linalg.LinAlgError:
        return False
    promised = float(slope @ step)
    if not (np.isfinite(step).all() and promised < 0.0):
        return False
    curved = H[:, support] @ step
    squared = float(step @ curved[support]) + ridge * float(step @ step)
    linear = float((slopes[support] + ridge * kept) @ step)
    before = float(costs @ lengths)
    size = 1.0
    for _ in range(_HALVINGS):
        there = v.copy()
        there[support] += size * step
        after = float(costs @ np.sqrt(np.add.reduceat(there * there, ends[:-1])))
        if size * linear + 0.5 * size * size * squared + after - before <= 1e-4 * size * promised:
            v[:] = there
            slopes += size * curved
            return size == 1.0 and -promised > 1e-15 * before
        size *= 0.5
    return False
