"""The point of the convex hull of rows that is nearest the origin, by Wolfe's method.

    min |x|  subject to  x in conv {z_i : i alive}

If it is the origin, the few rows that carry it are a Gordan witness from which no row can be left
out; if not, x itself separates all rows. Fast on few columns and in floating point: what it says is
a proposal, made exact by ``solvers.witness`` and checked by ``certificates``.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled

__all__ = ["SEPARATED", "STALLED", "WITNESS", "nearest_point"]

SEPARATED, WITNESS, STALLED = 1, 0, -1

_ORIGIN = 1e-20  # square length of what counts as the origin; rows have length one
_GAIN = 1e-12
_POSITIVE = 1e-11
_CYCLES = 2000


@compiled
def _affine_minimum(rows, corral, size, system, out):  # type: ignore[no-untyped-def]
    """Solve (1 1' + S S') u = 1 by Cholesky; u over its sum is the nearest affine combination."""
    for a in range(size):
        for b in range(a + 1):
            total = 1.0
            for j in range(rows.shape[1]):
                total += rows[corral[a], j] * rows[corral[b], j]
            for k in range(b):
                total -= system[a, k] * system[b, k]
            if a == b:
                if total <= 1e-14:
                    return False
                system[a, a] = np.sqrt(total)
            else:
                system[a, b] = total / system[b, b]
    for a in range(size):
        total = 1.0
        for k in range(a):
            total -= system[a, k] * out[k]
        out[a] = total / system[a, a]
    for a in range(size - 1, -1, -1):
        total = out[a]
        for k in range(a + 1, size):
            total -= system[k, a] * out[k]
        out[a] = total / system[a, a]
    total = 0.0
    for a in range(size):
        total += out[a]
    for a in range(size):
        out[a] /= total
    return True


@compiled
def _shrink(corral, weights, target, size):  # type: ignore[no-untyped-def]
    """Go towards the target until a weight vanishes; drop those that have. Return the new size."""
    step = 1.0
    for a in range(size):
        if target[a] <= _POSITIVE:
            step = min(step, weights[a] / (weights[a] - target[a]))
    least, first = np.inf, 0
    for a in range(size):
        weights[a] += step * (target[a] - weights[a])
        if target[a] <= _POSITIVE and weights[a] < least:
            least, first = weights[a], a
    kept = 0
    for a in range(size):
        if a != first and weights[a] > _POSITIVE:
            corral[kept], weights[kept] = corral[a], weights[a]
            kept += 1
    return kept


@compiled
def nearest_point(rows, alive, corral, weights, x):  # type: ignore[no-untyped-def]
    """Find the nearest point x of the hull of the rows alive; rows have length one.

    Returns (outcome, size): the first `size` entries of `corral` and `weights` make x.
    """
    count, width = rows.shape
    system, target = np.empty((width + 2, width + 2)), np.empty(width + 2)
    size = 0
    for i in range(count):
        if alive[i]:
            corral[0], weights[0], size = i, 1.0, 1
            break
    if size == 0:
        return SEPARATED, 0
    for j in range(width):  # ``x[:] = rows[corral[0]]`` takes numba seconds to compile
        x[j] = rows[corral[0], j]
    for _ in range(_CYCLES):
        length = 0.0
        for j in range(width):
            length += x[j] * x[j]
        if length < _ORIGIN:
            return WITNESS, size
        worst, least = -1, np.inf
        for i in range(count):
            if alive[i]:
                total = 0.0
                for j in range(width):
                    total += rows[i, j] * x[j]
                if total < least:
                    worst, least = i, total
        if least > length * (1.0 - 1e-6) or (least > 0.0 and least > length - _GAIN):
            return SEPARATED, size
        for a in range(size):
            if corral[a] == worst:
                return (SEPARATED if least > 0.0 else STALLED), size
        if size > width:
            return STALLED, size
        corral[size], weights[size] = worst, 0.0
        size += 1
        while True:
            if not _affine_minimum(rows, corral, size, system, target):
                return STALLED, size
            smallest = np.inf
            for a in range(size):
                smallest = min(smallest, target[a])
            if smallest > _POSITIVE:
                break
            size = _shrink(corral, weights, target, size)
            if size == 0:
                return STALLED, 0
        for a in range(size):
            weights[a] = target[a]
        for j in range(width):
            total = 0.0
            for a in range(size):
                total += weights[a] * rows[corral[a], j]
            x[j] = total
    return STALLED, size
