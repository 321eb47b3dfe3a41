"""Sequential minimal optimisation: two multipliers at a time.

    max over a   sum_i a_i - 1/2 sum_ij a_i y_i a_j y_j K_ij
    subject to   0 <= a_i <= c_i,   sum_i y_i a_i = 0

The balance lets no multiplier move alone, so a pair does: y_i a_i falls and y_j a_j grows by the
same t. With f_i = sum_j a_j y_j K_ij - y_i the dual's slope along the pair is f_i - f_j and its
curvature K_ii + K_jj - 2 K_ij, so the best t is their quotient, cut at the box. Row i is the one
with the largest f among those that may fall, row j the one whose step gains most (second-order
choice: Fan, Chen and Lin 2005). Optimal when no row that may fall has f above one that may grow.

Which end row i is taken from, and the later row among equals, are LIBSVM's: where the kernel is
not positive there are many stationary points, and the order of the pairs decides which is found.

`choose_rows` takes the worst of both ends for the next chunk, beside rows kept from the last one,
which would otherwise be undone at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.machine import KernelMachine

__all__ = [
    "CHUNK", "CURVED", "STEPS", "Part", "array_steps", "choose_rows", "choose_worst", "objectives",
    "pair_steps", "violation",
]  # fmt: skip

# Places in `counts`.
STEPS, CURVED, FIRST, SECOND = range(4)
# Curvature below this share of K_ii + K_jj is rounding, or a kernel that is not positive.
_NEGATIVE = -1e-4
CHUNK = 1024  # rows


class Part(NamedTuple):
    """The rows that are worked on: their kernel values, and where their multipliers stand."""

    K: np.ndarray
    flattest: float  # the least curvature of a pair, as a share of K_ii + K_jj
    diagonal: np.ndarray
    signs: np.ndarray
    costs: np.ndarray
    alpha: np.ndarray
    f: np.ndarray


@compiled
def pair_steps(part, target, budget, counts, before):  # type: ignore[no-untyped-def]
    """Make up to `budget` steps on the rows of K; return whether the violation is below `target`.

    `counts` receives the steps made, those that met negative curvature, and the last pair;
    `before` the multipliers of that pair before its step.
    """
    K, flattest, diagonal, signs, costs, alpha, f = part
    m = alpha.shape[0]
    made = 0
    while True:
        first, least, most = -1, np.inf, -np.inf
        for k in range(m):
            positive = signs[k] > 0.0
            if f[k] >= most and (alpha[k] > 0.0 if positive else alpha[k] < costs[k]):
                first, most = k, f[k]
            if f[k] < least and (alpha[k] < costs[k] if positive else alpha[k] > 0.0):
                least = f[k]
        if first < 0 or not most - least > target:
            return True
        if made == budget:
            return False
        row, own = K[first], diagonal[first]
        second, best = -1, 0.0
        for k in range(m):
            slope = most - f[k]
            if slope > 0.0:
                curvature = max(own + diagonal[k] - 2.0 * row[k], flattest * (own + diagonal[k]))
                curvature = max(curvature, 1e-300)
                gain = slope * slope / curvature
                if gain >= best and (alpha[k] < costs[k] if signs[k] > 0.0 else alpha[k] > 0.0):
                    second, best = k, gain
        if second < 0:
            return True
        other, both = K[second], own + diagonal[second]
        curvature = own + diagonal[second] - 2.0 * row[second]
        if curvature < _NEGATIVE * abs(both) or both < 0.0:
            counts[CURVED] += 1
        curvature = max(curvature, flattest * both, 1e-300)
        step = (most - f[second]) / curvature
        room_i = alpha[first] if signs[first] > 0.0 else costs[first] - alpha[first]
        room_j = costs[second] - alpha[second] if signs[second] > 0.0 else alpha[second]
        step = min(step, room_i, room_j)
        counts[FIRST], counts[SECOND] = first, second
        before[0], before[1] = alpha[first], alpha[second]
        # At the box exactly, so that a row there is seen to be there.
        if step == room_i:
            alpha[first] = 0.0 if signs[first] > 0.0 else costs[first]
        else:
            alpha[first] -= signs[first] * step
        if step == room_j:
            alpha[second] = costs[second] if signs[second] > 0.0 else 0.0
        else:
            alpha[second] += signs[second] * step
        for k in range(m):
            f[k] += step * (other[k] - row[k])
        made += 1
        counts[STEPS] += 1


@compiled
def objectives(signs, costs, alpha, f):  # type: ignore[no-untyped-def]
    """Return the bias between both ends of f, and both objectives, in one go."""
    low, high, total, square = np.inf, -np.inf, 0.0, 0.0
    for k in range(alpha.shape[0]):
        positive = signs[k] > 0.0
        if f[k] < low and (alpha[k] < costs[k] if positive else alpha[k] > 0.0):
            low = f[k]
        if f[k] > high and (alpha[k] > 0.0 if positive else alpha[k] < costs[k]):
            high = f[k]
        total += alpha[k]
        square += signs[k] * alpha[k] * f[k]
    bias = 0.0
    if np.isnan(square):
        return bias, np.nan, np.nan
    if np.isfinite(low) and np.isfinite(high):
        bias = -0.5 * (low + high)
    elif np.isfinite(low) or np.isfinite(high):
        bias = -low if np.isfinite(low) else -high
    square, lost = max(0.0, square + total), 0.0
    for k in range(alpha.shape[0]):
        if costs[k] > 0.0:
            lost += costs[k] * max(0.0, -signs[k] * (f[k] + bias))
    return bias, 0.5 * square + lost, total - 0.5 * square


def array_steps(
    part: Part, target: float, budget: int, counts: np.ndarray, before: np.ndarray
) -> bool:
    """Make the same steps by whole arrays: for where loops are not compiled.

    What may not grow has f raised to inf in `low`, what may not fall lowered to -inf in `high`:
    two comparisons a step instead of two a row.
    """
    K, flattest, diagonal, signs, costs, alpha, f = part
    positive = signs > 0.0
    wall_low = np.where(np.where(positive, alpha < costs, alpha > 0.0), 0.0, np.inf)
    wall_high = np.where(np.where(positive, alpha > 0.0, alpha < costs), 0.0, np.inf)
    low, high, curvature, gain, both = (np.empty(len(alpha)) for _ in range(5))
    K = K if K.dtype == np.float64 else K.astype(np.float64)
    part = part._replace(K=K)
    made = 0
    while True:
        np.add(f, wall_low, out=low)
        np.subtract(f, wall_high, out=high)
        first = _last_largest(high)
        most = float(high[first])
        if not most - float(low.min()) > target:
            return True
        if made == budget:
            return False
        np.add(diagonal, diagonal[first], out=both)
        np.multiply(K[first], -2.0, out=curvature)
        curvature += both
        both *= flattest
        np.maximum(curvature, both, out=curvature)
        np.maximum(curvature, 1e-300, out=curvature)
        np.subtract(most, low, out=low)
        np.maximum(low, 0.0, out=low)
        np.multiply(low, low, out=gain)
        gain /= curvature
        second = _last_largest(gain)
        if not gain[second] > 0.0:
            return True
        step = _pair_step(part, first, second, counts)
        counts[FIRST], counts[SECOND] = first, second
        before[0], before[1] = alpha[first], alpha[second]
        _move(part, first, second, step)
        for k in (first, second):
            up, down = alpha[k] < costs[k], alpha[k] > 0.0
            wall_low[k] = 0.0 if (up if positive[k] else down) else np.inf
            wall_high[k] = 0.0 if (down if positive[k] else up) else np.inf
        np.subtract(K[second], K[first], out=low)
        low *= step
        f += low
        made += 1
        counts[STEPS] += 1


def _last_largest(values: np.ndarray) -> int:
    return len(values) - 1 - int(values[::-1].argmax())


def _pair_step(part: Part, first: int, second: int, counts: np.ndarray) -> float:
    """Return how far the pair moves: to the best point of its line, or to the box."""
    both = float(part.diagonal[first] + part.diagonal[second])
    curvature = both - 2.0 * float(part.K[first, second])
    if curvature < _NEGATIVE * abs(both) or both < 0.0:
        counts[CURVED] += 1
    best = float(part.f[first] - part.f[second]) / max(curvature, part.flattest * both, 1e-300)
    return min(best, *_rooms(part, first, second))


def _rooms(part: Part, first: int, second: int) -> tuple[float, float]:
    """Return how far the first of a pair can fall, and the second grow."""
    signs, costs, alpha = part.signs, part.costs, part.alpha
    falls = alpha[first] if signs[first] > 0.0 else costs[first] - alpha[first]
    grows = costs[second] - alpha[second] if signs[second] > 0.0 else alpha[second]
    return float(falls), float(grows)


def _move(part: Part, first: int, second: int, step: float) -> None:
    """Move a pair; at the box exactly, so that a row there is seen to be there."""
    signs, costs, alpha = part.signs, part.costs, part.alpha
    falls, grows = _rooms(part, first, second)
    if step == falls:
        alpha[first] = 0.0 if signs[first] > 0.0 else costs[first]
    else:
        alpha[first] -= signs[first] * step
    if step == grows:
        alpha[second] = costs[second] if signs[second] > 0.0 else 0.0
    else:
        alpha[second] += signs[second] * step


# ---- which rows the next chunk works on: those furthest from where they should be


def movable(machine: KernelMachine, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows' y a may grow, and which rows' may fall."""
    above, below = alpha > 0.0, alpha < machine.costs
    positive = machine.signs > 0.0
    return (positive & below) | (~positive & above), (positive & above) | (~positive & below)


def violation(machine: KernelMachine, alpha: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Return the least f of rows that may grow and the largest f of rows that may fall."""
    low, high = _ends(machine.signs, machine.costs, alpha, f)
    return float(low), float(high)


@compiled
def _ends(
    signs: np.ndarray, costs: np.ndarray, alpha: np.ndarray, f: np.ndarray
) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for i in range(len(f)):
        if np.isnan(f[i]):
            return np.nan, np.nan
        above, below = alpha[i] > 0.0, alpha[i] < costs[i]
        grows, falls = (below, above) if signs[i] > 0.0 else (above, below)
        if grows and f[i] < low:
            low = f[i]
        if falls and f[i] > high:
            high = f[i]
    return low, high


def choose_rows(
    machine: KernelMachine, alpha: np.ndarray, f: np.ndarray, last: np.ndarray, size: int
) -> np.ndarray:
    """Return at most `size` rows, ascending; half of them from the `last` ones, newest first."""
    n = len(alpha)
    if n <= size:
        return np.flatnonzero(machine.costs > 0.0)
    grows, falls = movable(machine, alpha)
    free = np.ones(n, dtype=bool)
    kept = last[: min(size // 2, size - 2)]  # the worst of either end must find room
    free[kept] = False
    low = _least(np.flatnonzero(grows & free), f, (size - len(kept)) // 2)
    free[low] = False
    high = _least(np.flatnonzero(falls & free), -f, size - len(kept) - len(low))
    # The newest come first: they are the ones to keep.
    return np.concatenate([low, high, kept])


def choose_worst(violations: np.ndarray, last: np.ndarray, size: int) -> np.ndarray:
    """Return at most `size` rows of the largest violations; half of them from the `last` ones."""
    kept = last[: size // 2]
    free = violations > 0.0
    free[kept] = False
    return np.concatenate([_least(np.flatnonzero(free), -violations, size - len(kept)), kept])


def _least(rows: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return those `count` of the rows, ascending, whose values are smallest."""
    if count >= len(rows):
        return rows
    return np.sort(rows[np.argpartition(values[rows], count - 1)[:count]]) if count else rows[:0]
