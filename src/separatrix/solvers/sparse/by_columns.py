"""Newton's model on a large working set, minimised without its matrix.

    min over v    1/2 (v - w)' H (v - w) + g' (v - w) + l |v|_1 + r/2 |v|^2,    H = X' D X

Coordinate descent finds the signs of v, conjugate gradients then the minimum for these signs. A
weight that would change its sign stops at zero. Coordinate descent alone is slow where columns are
alike: its rate is that of the condition number, conjugate gradients have its square root.

What is kept is D X (v - w), a number a row. The bias is eliminated: H has the mean of columns
taken out, weighted by the curvatures D of the rows.

The soft threshold: the least point of a parabola plus |v|.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled, compiled_in_order, inlined

__all__ = [
    "combined",
    "minimised",
    "scored",
    "shrunk",
]


_HALVINGS = 6
_ENOUGH_CG = 0.03  # of the first residual
_FLAT = 1e-14  # of the curvature that a step could have


@compiled
def minimised(starts, indices, values, places, bends, g, w, l1, ridge, total, share, epochs):  # type: ignore[no-untyped-def]
    """Return v, and how many times all its columns were passed over.

    Stops where a round over all columns lowers the model by less than a share of the first one.
    `total` is the sum of the curvatures, 0 where there is no bias.
    """
    m = places.shape[0]
    v = w.copy()
    heights, diagonal = np.zeros(m), np.zeros(m)
    most = 0.0
    for a in range(m):
        for k in range(starts[places[a]], starts[places[a] + 1]):
            part = bends[indices[k]] * values[k]
            heights[a] += part
            diagonal[a] += part * values[k]
        if total > 0.0:
            diagonal[a] -= heights[a] * heights[a] / total
        most = max(most, diagonal[a])
    for a in range(m):
        diagonal[a] = max(diagonal[a], 1e-14 * most, 1e-300) + ridge
    curved = np.zeros(bends.shape[0])  # D X (v - w)
    level = np.zeros(1)  # its sum: what the bias takes back
    columns = (starts, indices, values, places)
    model = (bends, heights, diagonal, g, l1, ridge, total)
    first, used = 0.0, 0
    active = np.arange(m)
    rows = (np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
    while True:
        fall = _round(columns, model, active, v, curved, level)
        used += 1
        first = max(first, fall)
        if fall <= share * first or used >= epochs:
            return v, used
        nonzero = np.flatnonzero(v)
        for _ in range(3):
            fall = _round(columns, model, nonzero, v, curved, level)
            used += 1
            if fall <= share * first:
                break
        if fall > share * first:
            if not rows[1].shape[0]:
                rows = _by_rows(starts, indices, values, places, bends.shape[0])
            slopes = g + combined(starts, indices, values, places, curved) + ridge * v
            if total > 0.0:
                slopes -= heights * (level[0] / total)
            used += _along_the_face(rows, model, slopes, v, curved, level, epochs - used)


@compiled_in_order
def _round(columns, model, active, v, curved, level):  # type: ignore[no-untyped-def]
    """Minimise over one weight after another; return how far the model fell."""
    starts, indices, values, places = columns
    bends, heights, diagonal, g, l1, ridge, total = model
    fall = 0.0
    for a in active:
        old, bend = v[a], diagonal[a]
        begin, end = starts[places[a]], starts[places[a] + 1]
        slope = g[a]
        for k in range(begin, end):
            slope += values[k] * curved[indices[k]]
        if total > 0.0:
            slope -= heights[a] * level[0] / total
        target = old - (slope + ridge * old) / bend
        new = shrunk(target, l1 / bend)
        step = new - old
        if step != 0.0:
            for k in range(begin, end):
                curved[indices[k]] += step * values[k] * bends[indices[k]]
            level[0] += step * heights[a]
            v[a] = new
            fall += 0.5 * bend * step * step
    return fall


@compiled
def _along_the_face(rows, model, slopes, v, curved, level, most):  # type: ignore[no-untyped-def]
    """Go to the minimum for the signs of v, by conjugate gradients; return the passes made.

    `slopes` are those of the model without |v|_1.
    """
    bends, heights, diagonal, _, l1, ridge, total = model
    m = v.shape[0]
    residual, inverse = np.zeros(m), np.zeros(m)
    for a in range(m):
        if v[a] != 0.0:
            residual[a] = -slopes[a] - (l1 if v[a] > 0.0 else -l1)
            inverse[a] = 1.0 / diagonal[a]
    step, ahead = np.zeros(m), residual * inverse
    size = residual @ ahead
    enough = _ENOUGH_CG * _ENOUGH_CG * size
    used = 0
    along, moved = np.zeros(m), np.zeros(bends.shape[0])
    while used < most and size > enough:
        _curved_along(rows, bends, ahead, along)
        used += 1
        if total > 0.0:
            along -= heights * ((heights @ ahead) / total)
        along += ridge * ahead
        curvature, reach = ahead @ along, 0.0
        for a in range(m):
            reach += ahead[a] * ahead[a] * diagonal[a]
        if not curvature > _FLAT * reach:
            if used == 1:
                step[:] = ahead
            break
        length = size / curvature
        step += length * ahead
        residual -= length * along
        new = 0.0
        for a in range(m):
            new += residual[a] * residual[a] * inverse[a]
        ahead = residual * inverse + (new / size) * ahead
        size = new
    for _ in range(_HALVINGS):
        # A weight that would change its sign stops at zero.
        change, gain = np.zeros(m), 0.0
        for a in range(m):
            if v[a] != 0.0:
                there = v[a] + step[a]
                there = there if there * v[a] > 0.0 else 0.0
                change[a] = there - v[a]
                gain += slopes[a] * change[a] + l1 * (abs(there) - abs(v[a]))
        lift = heights @ change
        bend = _moved(rows, bends, change, moved) + ridge * (change @ change)
        if total > 0.0:
            bend -= lift * lift / total
        used += 1
        if gain + 0.5 * bend < 0.0:
            for a in range(m):
                if v[a] != 0.0:
                    there = v[a] + step[a]
                    v[a] = there if there * v[a] > 0.0 else 0.0
            curved += moved
            level[0] += lift
            return used
        step *= 0.25
    return used


@compiled_in_order
def _curved_along(rows, bends, step, found):  # type: ignore[no-untyped-def]
    """Write X' D X step."""
    starts, columns, values = rows
    found[:] = 0.0
    for i in range(bends.shape[0]):
        part = 0.0
        for k in range(starts[i], starts[i + 1]):
            part += values[k] * step[columns[k]]
        part *= bends[i]
        if part != 0.0:
            for k in range(starts[i], starts[i + 1]):
                found[columns[k]] += part * values[k]


@compiled_in_order
def _moved(rows, bends, step, moved):  # type: ignore[no-untyped-def]
    """Write D X step; return step' X' D X step."""
    starts, columns, values = rows
    total = 0.0
    for i in range(bends.shape[0]):
        part = 0.0
        for k in range(starts[i], starts[i + 1]):
            part += values[k] * step[columns[k]]
        moved[i] = bends[i] * part
        total += moved[i] * part
    return total


@compiled
def _by_rows(starts, indices, values, places, n):  # type: ignore[no-untyped-def]
    """Return the columns at these places laid out by rows."""
    begins = np.zeros(n + 1, dtype=np.int64)
    for a in range(places.shape[0]):
        for k in range(starts[places[a]], starts[places[a] + 1]):
            begins[indices[k] + 1] += 1
    for i in range(n):
        begins[i + 1] += begins[i]
    following = begins[:-1].copy()
    columns, entries = np.empty(begins[n], dtype=np.int32), np.empty(begins[n])
    for a in range(places.shape[0]):
        for k in range(starts[places[a]], starts[places[a] + 1]):
            at = following[indices[k]]
            columns[at], entries[at] = a, values[k]
            following[indices[k]] = at + 1
    return begins, columns, entries


@compiled_in_order
def combined(starts, indices, values, places, shares):  # type: ignore[no-untyped-def]
    """Return sum_i s_i x_ij for the columns j at these places."""
    found = np.zeros(places.shape[0])
    for a in range(places.shape[0]):
        part = 0.0
        for k in range(starts[places[a]], starts[places[a] + 1]):
            part += values[k] * shares[indices[k]]
        found[a] = part
    return found


@compiled
def scored(starts, indices, values, places, w, n):  # type: ignore[no-untyped-def]
    """Return w.x_i of every row, w the weights of these columns."""
    found = np.zeros(n)
    for a in range(places.shape[0]):
        part = w[a]
        if part != 0.0:
            for k in range(starts[places[a]], starts[places[a] + 1]):
                found[indices[k]] += part * values[k]
    return found


# ---- the soft threshold: the least point of a parabola plus |v|


@inlined
def shrunk(target, by):  # type: ignore[no-untyped-def]
    """Return the target moved so far towards zero, or zero: argmin (v - target)^2 / 2 + by |v|.

    >>> shrunk(3.0, 1.0), shrunk(-3.0, 1.0), shrunk(0.5, 1.0)
    (2.0, -2.0, 0.0)
    """
    if target > by:
        return target - by
    if target < -by:
        return target + by
    return 0.0
