"""Points of the adversary's search: problems, weights and dual variables that floats dislike.

A point is a dictionary of arrays and settings. `moved` changes one of them a little, or much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.nasty import nasty

__all__ = ["Point", "balanced", "cancelling", "costs_of_rows", "data", "finite", "in_proportion"]
__all__ += ["moved", "near_one", "numbers", "of_penalty", "opposite", "scale"]

Point = dict[str, Any]
_FACTORS = (1.0 + 2.0**-52, 1.0 - 2.0**-53, 2.0, 0.5, -1.0, 10.0, 1e30, 1e-30)
_FIXED = ("codes", "exponents", "groups")


def scale(rng: Any, reach: float = 150.0) -> float:
    wide = rng.random() < 0.3
    return float(10.0 ** rng.uniform(-reach, reach) if wide else 10.0 ** rng.uniform(-6, 6))


def numbers(rng: Any, shape: Any) -> np.ndarray:
    """Draw numbers: any, or whole ones, or of many sizes; all times one scale."""
    values = rng.normal(size=shape)
    if rng.random() < 0.5:
        values = np.rint(values * 4.0)
    if rng.random() < 0.3:
        values = np.ldexp(values, rng.integers(-30, 30, size=shape))
    return np.asarray(values * scale(rng))


def data(rng: Any, n_classes: int = 2, largest: float = 100.0) -> Point:
    """Draw rows and classes, in some dtype and layout (`layout` is the seed that makes it)."""
    given = nasty(rng, n_classes, False, largest)
    return {"X": given.dense[:8, :4], "codes": _all_there(given.codes[:8], n_classes, rng)} | {
        "layout": int(rng.integers(2**31))
    }


def _all_there(codes: np.ndarray, n_classes: int, rng: Any) -> np.ndarray:
    codes = codes.copy()
    codes[rng.permutation(len(codes))[:n_classes]] = np.arange(n_classes)
    return codes


def costs_of_rows(rng: Any, n: int, mixed: bool = True) -> np.ndarray:
    """Draw costs: equal or not, tiny to the largest float, infinite, or some of them infinite."""
    kind = rng.random()
    costs = np.full(n, scale(rng, 300.0))
    if kind < 0.15:
        costs = np.full(n, rng.uniform(1e307, 1.7e308))
    elif kind < 0.25:
        costs = np.full(n, 10.0 ** rng.uniform(-323, -290))
    if rng.random() < 0.3:
        costs = costs * rng.random(n)
    if rng.random() < 0.1:
        costs = np.full(n, np.inf)
        if mixed and rng.random() < 0.5:
            some = rng.random(n) < 0.5
            costs[some] = scale(rng)
    elif mixed and rng.random() < 0.1:
        costs[rng.integers(n)] = np.inf
    if rng.random() < 0.05:
        costs[rng.integers(n)] = 0.0
    return costs


def balanced(rng: Any, signs: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Draw dual variables up to `most` whose signed sum is exactly zero."""
    size = np.where(np.isfinite(most), most, scale(rng)) * (1.0 - 2.0**-30)
    grid = np.ldexp(1.0, np.frexp(size[size > 0.0].min(initial=1.0))[1] - 20)
    with np.errstate(all="ignore"):
        units = np.floor(np.minimum(size / grid, 2.0**40) * rng.random(len(size)))
    units = np.where(np.isfinite(units), units, 0.0)
    left, right = units[signs > 0.0].sum(), units[signs < 0.0].sum()
    heavier = signs > 0.0 if left > right else signs < 0.0
    excess = abs(left - right)
    for i in np.flatnonzero(heavier):
        taken = min(units[i], excess)
        units[i], excess = units[i] - taken, excess - taken
    return np.asarray(units * grid)


def near_one(rng: Any, X: np.ndarray, weights: np.ndarray, margin: float) -> np.ndarray | None:
    """Return classes by the side of each row, scaling `weights` so that the nearest has `margin`.

    The bias is set to 0. None where no side has rows.
    """
    scores = X @ weights[1:]
    nearest = abs(scores).min()
    if not (np.isfinite(nearest) and nearest > 0.0 and len(set(scores > 0.0)) == 2):
        return None
    weights[0] = 0.0
    weights[1:] *= margin / nearest
    return (scores > 0.0).astype(int)


def in_proportion(point: Point, weights: np.ndarray, shares: np.ndarray) -> None:
    """Scale the rows by a power of two so that both parts of the dual objective are of one size."""
    with np.errstate(all="ignore"):
        ratio = np.sqrt(abs(shares).max()) / abs(shares @ point["X"]).max()
        factor = 2.0 ** np.rint(np.log2(ratio)) if 1e-300 < ratio < 1e300 else 0.0
        X, w = point["X"] * factor, weights[1:] / factor
    if factor and abs(X).max() < 1e100 and np.isfinite(w).all():
        point["X"], weights[1:] = X, w


def cancelling(rng: Any, X: np.ndarray, weights: np.ndarray) -> None:
    """Make one row's score a small rest of large terms, which bias and weights cancel."""
    i, size = int(rng.integers(len(X))), 10.0 ** rng.uniform(2, 15)
    terms = X[i] * weights[1:]
    largest = abs(terms).max()
    if np.isfinite(largest) and largest > 0.0:
        weights[1:] *= size / largest
        weights[0] = float(rng.normal()) - X[i] @ weights[1:]


def opposite(rng: Any, point: Point, alpha: np.ndarray) -> np.ndarray:
    """Put rows of both classes side by side, nearly equal, with equal dual variables."""
    X, codes = point["X"].copy(), point["codes"].copy()
    off, pairs = 10.0 ** rng.uniform(-15, -2), len(X) // 2
    for k in range(pairs):
        X[2 * k + 1] = X[2 * k] * (1.0 + off * rng.normal(size=X.shape[1]))
        codes[2 * k], codes[2 * k + 1] = 0, 1
        alpha[2 * k : 2 * k + 2] = alpha[2 * k : 2 * k + 2].min()
    alpha[2 * pairs :] = 0.0
    point["X"], point["codes"] = X, codes
    return alpha


def of_penalty(rng: Any, tilt: float, gain: float) -> float:
    """Return a penalty on the bias for which a tilt of the dual costs a part of its gain."""
    with np.errstate(all="ignore"):
        penalty = float(np.float64(tilt) * tilt / gain * 10.0 ** rng.uniform(-0.5, 2.0))
    return penalty if 1e-300 < penalty < 1e300 else scale(rng, 100)


def carried_over(point: Point, rng: Any) -> Point:
    """Return the point with some of a dual variable carried over to another, below zero or not.

    The signed sum stays the same.
    """
    alpha, codes = point["alpha"].copy(), point["codes"]
    i, j = (int(k) for k in rng.integers(len(alpha), size=2))
    part = alpha[i] * float(rng.choice([0.25, 0.5, 1.0, 2.0, -1.0, -4.0]))
    if i != j and np.isfinite(part):
        alpha[i] -= part
        alpha[j] += part if codes[i] == codes[j] else -part
    return point | {"alpha": alpha}


def finite(point: Point) -> Point:
    """Return the point with the largest numbers in place of infinite ones, but for costs."""
    return {
        name: np.clip(np.nan_to_num(value), -1e300, 1e300)
        if isinstance(value, np.ndarray) and value.dtype == float and name != "costs"
        else value
        for name, value in point.items()
    }


def moved(point: Point, rng: Any) -> Point:
    """Return a point nearby: one number of it, or all of one name, changed."""
    other = dict(point)
    names = [
        k for k, v in point.items()
        if isinstance(v, float | np.ndarray) and np.size(v) and k not in _FIXED
    ]  # fmt: skip
    if rng.random() < 0.1:
        return other | {"layout": int(rng.integers(2**31))}
    name = names[int(rng.integers(len(names)))]
    if name == "alpha" and rng.random() < 0.4 and len(point["alpha"]) == len(point["codes"]):
        return carried_over(other, rng)
    values = np.array(other[name], dtype=float)
    everywhere = values.size and rng.random() < 0.2
    at: Any = ... if everywhere else tuple(int(rng.integers(size)) for size in values.shape)
    way = int(rng.integers(6))
    with np.errstate(all="ignore"):
        if way == 0:
            values[at] = np.nextafter(values[at], rng.choice([-np.inf, np.inf]))
        elif way == 1 and values.size > 1:
            values[at] = values.ravel()[rng.integers(values.size)]
        elif way == 2:
            values[at] *= 1.0 + 10.0 ** rng.uniform(-16, 0) * rng.normal()
        else:
            values[at] *= rng.choice(_FACTORS)
    if name == "costs":
        values = abs(values)
    if name != "costs" or not np.isinf(point["costs"]).any():
        values = np.where(np.isfinite(values), values, point[name])
    other[name] = float(values) if values.ndim == 0 else np.clip(values, *_reach(name))
    return other


def _reach(name: str) -> tuple[float, float]:
    return (-1e100, 1e100) if name == "X" else (-np.inf, np.inf)
