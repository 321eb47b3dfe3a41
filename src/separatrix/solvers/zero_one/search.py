"""Few errors quickly: exact steps along many directions.

    min over t  sum_i s_i [ (w + t v).z_i <= 0 ]       for one direction v after another

On a line of hyperplanes the count of errors changes only where a row is met, so sorting finds the
best t. Directions are random ones, single columns and rows that are wrong; a step to an equal
count is taken too, which walks across plateaus. Starts: the squared hinge on all rows, and again
on the rows that were right. Then rows change places: a few that are wrong are fitted with those
that are right, a few of these are left out, and the walk begins again from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from separatrix._compiled import compiled
from separatrix.solvers.separability.row_generation import minimise

__all__ = ["few_errors"]

_BATCH = 128
_STILL = 6
_ASIDE = (0.02, 0.1, 0.4)
_ASIDE_SHARE = 0.25
_WORSE_SHARE = 0.1
_TAKEN_IN, _LEFT_OUT = 4, 6  # rows that change places, at most


@compiled
def cost_of(rows, masses, w):  # type: ignore[no-untyped-def]
    """Return the weight of the rows that w does not put strictly on their own side."""
    total = 0.0
    for i in range(rows.shape[0]):
        margin = 0.0
        for j in range(rows.shape[1]):
            margin += rows[i, j] * w[j]
        if not margin > 0.0:
            total += masses[i]
    return total


@compiled
def best_step(margins, slopes, masses):  # type: ignore[no-untyped-def]
    """Return the least cost along a line, and the middle of the widest stretch that has it."""
    count = margins.shape[0]
    at = np.empty(count)
    change = np.empty(count)
    cost, met = 0.0, 0
    for i in range(count):
        if abs(slopes[i]) <= 1e-14:
            if not margins[i] > 0.0:
                cost += masses[i]
            continue
        at[met] = -margins[i] / slopes[i]
        change[met] = -masses[i] if slopes[i] > 0.0 else masses[i]
        if slopes[i] > 0.0:
            cost += masses[i]
        met += 1
    if met == 0:
        return cost, 0.0
    order = np.argsort(at[:met])
    best, best_at, widest = cost, at[order[0]] - 1.0, 1.0
    for k in range(met):
        cost += change[order[k]]
        here = at[order[k]]
        width = at[order[k + 1]] - here if k + 1 < met else 1.0
        if width > 1e-12 * (1.0 + abs(here)) and (cost < best or (cost == best and width > widest)):
            best, widest = cost, width
            best_at = here + 0.5 * width
    return best, best_at


@compiled
def walk(rows, masses, w, directions):  # type: ignore[no-untyped-def]
    """Try every direction in turn; a direction of zeros stands for a row that is wrong."""
    count, width = rows.shape
    margins, slopes = np.empty(count), np.empty(count)
    current = cost_of(rows, masses, w)
    v = np.empty(width)
    for number in range(directions.shape[0]):
        size = 0.0
        for j in range(width):
            v[j] = directions[number, j]
            size += abs(v[j])
        wrong = 0
        for i in range(count):
            margin = 0.0
            for j in range(width):
                margin += rows[i, j] * w[j]
            margins[i] = margin
            if not margin > 0.0:
                wrong += 1
                if size == 0.0 and number % wrong == 0:
                    for j in range(width):  # ``v[:] = rows[i]`` takes numba seconds to compile
                        v[j] = rows[i, j]
        for i in range(count):
            slope = 0.0
            for j in range(width):
                slope += rows[i, j] * v[j]
            slopes[i] = slope
        cost, step = best_step(margins, slopes, masses)
        if cost <= current:
            longest = 0.0
            for j in range(width):
                w[j] += step * v[j]
                longest = max(longest, abs(w[j]))
            if longest > 0.0:
                for j in range(width):
                    w[j] /= longest
            current = cost
    return cost_of(rows, masses, w)


def few_errors(
    rows: np.ndarray,
    masses: np.ndarray,
    seconds: float,
    seed: int = 0,
    stale: int = 50,
    start: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return a low cost and the weights that have it; rows are signed, and of like size.

    Ends when `stale` tries in a row found nothing better.
    """
    rng = np.random.default_rng(seed)
    end = perf_counter() + seconds
    masses = masses.astype(np.float64)
    best, best_w = float(masses.sum()), np.zeros(rows.shape[1])
    for w in _starts(rows, masses) if start is None else (start.copy(),):
        cost = _walked(rows, masses, w, rng, _STILL, end)
        if cost < best:
            best, best_w = cost, w
    here, here_w, tries = best, best_w, 0
    while best > 1.0 and tries < stale and perf_counter() < end:
        w = _aside(here_w, rng) if rng.random() < _ASIDE_SHARE else _swapped(rows, here_w, rng)
        cost = _walked(rows, masses, w, rng, 1, end)
        tries = 0 if cost < best else tries + 1
        # One more error at times, or the search stays in the first valley for ever.
        if cost <= here + (1.0 if rng.random() < _WORSE_SHARE else 0.0):
            here, here_w = cost, w
        if cost < best:
            best, best_w = cost, w.copy()
    return best, best_w


def _aside(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Start from a little aside: valleys of few errors lie close to each other."""
    length = rng.choice(_ASIDE) * np.linalg.norm(w) / np.sqrt(len(w))
    return np.asarray(w + length * rng.normal(size=len(w)))


def _swapped(rows: np.ndarray, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Fit the rows that are right and a few that are wrong, less a few; their sizes at random."""
    right = rows @ w > 0.0
    chosen = right.copy()
    for numbers, most in ((np.flatnonzero(~right), _TAKEN_IN), (np.flatnonzero(right), _LEFT_OUT)):
        count = min(len(numbers), int(rng.integers(0, most + 1)))
        chosen[rng.choice(numbers, size=count, replace=False)] ^= True
    if not chosen.any():
        return w.copy()
    scale = 0.2 + np.sqrt(rng.exponential(size=len(rows)))
    return _fitted((rows * scale[:, None])[chosen])


def _walked(
    rows: np.ndarray,
    masses: np.ndarray,
    w: np.ndarray,
    rng: np.random.Generator,
    patience: int,
    end: float,
) -> float:
    """Walk until nothing was gained for a while; return the cost."""
    still, cost = 0, float(cost_of(rows, masses, w))
    while still < patience and perf_counter() < end:
        before, cost = cost, float(walk(rows, masses, w, _directions(rows, rng)))
        still = 0 if cost < before else still + 1
    return cost


def _starts(rows: np.ndarray, masses: np.ndarray) -> Iterator[np.ndarray]:
    """Fit the squared hinge to all rows, then to those that were right."""
    first = _fitted(rows * np.sqrt(masses)[:, None])
    yield first.copy()
    right = rows @ first > 0.0
    if right.any():
        yield _fitted(rows[right])


def _fitted(rows: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        w = minimise(rows).w
    return np.where(np.isfinite(w), w, 0.0)


def _directions(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random directions, single columns, and zeros for rows that are wrong."""
    width = rows.shape[1]
    directions = rng.normal(size=(_BATCH, width))
    directions[::4] = np.eye(width)[rng.integers(0, width, size=len(directions[::4]))]
    directions[1::4] = 0.0
    directions[2::4] *= rng.random(size=(len(directions[2::4]), width)) < 0.3
    return directions
