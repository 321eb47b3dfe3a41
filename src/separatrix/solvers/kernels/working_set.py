"""Which rows the next chunk works on: those furthest from where they should be.

Rows whose y a may grow want a large f, rows whose y a may fall a small one; the worst of both ends
are taken, beside rows kept from the last chunk, which would otherwise be undone at once.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.machine import KernelMachine

__all__ = ["CHUNK", "choose_rows", "choose_worst", "violation"]

CHUNK = 1024  # rows


def movable(machine: KernelMachine, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows' y a may grow, and which rows' may fall."""
    above, below = alpha > 0.0, alpha < machine.costs
    positive = machine.signs > 0.0
    return np.where(positive, below, above), np.where(positive, above, below)


def violation(machine: KernelMachine, alpha: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Return the least f of rows that may grow and the largest f of rows that may fall."""
    grows, falls = movable(machine, alpha)
    return (
        float(f[grows].min(initial=np.inf)),
        float(f[falls].max(initial=-np.inf)),
    )


def choose_rows(
    machine: KernelMachine, alpha: np.ndarray, f: np.ndarray, last: np.ndarray, size: int
) -> np.ndarray:
    """Return at most `size` rows, ascending; half of them from the `last` ones, newest first."""
    n = len(alpha)
    if n <= size:
        return np.flatnonzero(machine.costs > 0.0)
    grows, falls = movable(machine, alpha)
    taken = np.zeros(n, dtype=bool)
    kept = last[: min(size // 2, size - 2)]  # the worst of either end must find room
    taken[kept] = True
    half = (size - len(kept)) // 2
    low = _least(np.where(grows & ~taken, f, np.inf), half)
    taken[low] = True
    high = _least(np.where(falls & ~taken, -f, np.inf), size - len(kept) - len(low))
    # The newest come first: they are the ones to keep.
    return np.concatenate([low, high, kept])


def choose_worst(violations: np.ndarray, last: np.ndarray, size: int) -> np.ndarray:
    """Return at most `size` rows of the largest violations; half of them from the `last` ones."""
    kept = last[: size // 2]
    open_to = np.where(violations > 0.0, -violations, np.inf)
    open_to[kept] = np.inf
    return np.concatenate([_least(open_to, size - len(kept)), kept])


def _least(values: np.ndarray, count: int) -> np.ndarray:
    """Return where the smallest finite values are."""
    count = min(count, int(np.isfinite(values).sum()))
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    if count < len(values):
        places = np.argpartition(values, count - 1)[:count]
    else:
        places = np.arange(len(values))
    return np.sort(places)
