"""Peel off rows that a single column puts strictly on their own side.

On the live rows, a column whose values for one class all lie at or above all values of the other
gives a direction ``s (x_j - c)`` with no negative margin, c being the value the classes share or
the middle of the gap. Rows with ``x_j != c`` are strictly off and leave; then further columns may
qualify. When one class remains, the intercept alone puts the rest off. No arithmetic beyond
comparisons, so the levels are exact; ``merge`` adds them up with powers of two, later levels least.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.problem.exact import SignedRows

__all__ = ["Level", "merge", "peel"]

Exact = dict[int, Fraction]


@dataclass(frozen=True)
class Level:
    """A direction (coefficient -> exact value) and the rows it puts strictly off."""

    direction: Exact
    rows: np.ndarray


def peel(rows: SignedRows) -> tuple[list[Level], np.ndarray]:
    """Return the levels, first to last, and the rows that remain."""
    live = np.arange(len(rows))
    levels: list[Level] = []
    X = rows.X.tocsc() if rows.is_sparse else rows.X
    positive = rows.signs > 0
    while live.size:
        level = _one_class(rows, live) or _columns(rows, X, positive, live)
        if level is None:
            break
        levels.append(level)
        keep = np.ones(len(rows), dtype=bool)
        keep[level.rows] = False
        live = live[keep[live]]
    return levels, live


def _one_class(rows: SignedRows, live: np.ndarray) -> Level | None:
    sign = rows.signs[live[0]]
    if not rows.fit_intercept or not (rows.signs[live] == sign).all():
        return None
    return Level({0: Fraction(int(sign))}, live)


def _columns(rows: SignedRows, X: Any, positive: np.ndarray, live: np.ndarray) -> Level | None:
    at = live[positive[live]], live[~positive[live]]
    if rows.is_sparse:
        mask = np.zeros(len(rows), dtype=np.int8)
        mask[at[0]], mask[at[1]] = 1, 2
        kind = mask[X.indices]
        bounds = [_sparse_bounds(X, kind == k, len(at[k - 1])) for k in (1, 2)]
    else:
        bounds = [_dense_bounds(X, part) for part in at]
    (low_p, high_p), (low_n, high_n) = bounds
    if not rows.fit_intercept:  # the threshold must be 0, as if both classes had a row there
        low_p, high_p = np.minimum(low_p, 0.0), np.maximum(high_p, 0.0)
        low_n, high_n = np.minimum(low_n, 0.0), np.maximum(high_n, 0.0)
    constant = (low_p == high_p) & (low_n == high_n) & (low_p == low_n)
    upward = (low_p >= high_n) & ~constant
    downward = (high_p <= low_n) & ~constant & ~upward
    if not (upward.any() or downward.any()):
        return None
    gap = np.where(upward, low_p > high_n, downward & (high_p < low_n))
    if gap.any():  # one column separates all that is live
        best = int(np.argmax(gap))
        chosen = np.array([best])
    else:
        chosen = np.flatnonzero(upward | downward)
    edges = np.where(upward, low_p, high_p)[chosen], np.where(upward, high_n, low_n)[chosen]
    off = live if gap.any() else _off_rows(rows, X, chosen, edges[0], live)
    size = np.maximum(
        np.maximum(np.abs(low_p), np.abs(high_p)), np.maximum(np.abs(low_n), np.abs(high_n))
    )
    signs = np.where(upward[chosen], 1, -1)
    return Level(_direction(rows.fit_intercept, chosen, edges, signs, size[chosen]), off)


def _direction(
    intercept: bool,
    chosen: np.ndarray,
    edges: tuple[np.ndarray, np.ndarray],
    signs: np.ndarray,
    size: np.ndarray,
) -> Exact:
    direction: Exact = {}
    bias = Fraction(0)
    exponents = np.frexp(size)[1].tolist()
    for j, a, b, sign, exponent in zip(
        chosen.tolist(),
        edges[0].tolist(),
        edges[1].tolist(),
        signs.tolist(),
        exponents,
        strict=True,
    ):
        weight = sign * (Fraction(1, 1 << exponent) if exponent >= 0 else Fraction(1 << -exponent))
        direction[j + intercept] = weight
        if a != 0.0 or b != 0.0:
            bias -= weight * (Fraction(a) + Fraction(b)) / 2
    if bias:
        direction[0] = bias
    return direction


def _dense_bounds(X: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if part.size == 0:
        return np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    values = X if part.size == len(X) else X[part]
    return values.min(axis=0), values.max(axis=0)


def _sparse_bounds(X: Any, chosen: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest value of each column over some rows, absent entries counting as 0."""
    columns = X.shape[1]
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    if count == 0:
        return low, high
    data = X.data[chosen]
    ends = np.concatenate([[0], np.cumsum(chosen)])[X.indptr]
    stored = np.diff(ends)
    filled = np.flatnonzero(stored)
    if filled.size:
        starts = ends[:-1][filled]
        low[filled] = np.minimum.reduceat(data, starts)
        high[filled] = np.maximum.reduceat(data, starts)
    partly = stored < count
    low[partly] = np.minimum(low[partly], 0.0)
    high[partly] = np.maximum(high[partly], 0.0)
    return low, high


def _off_rows(
    rows: SignedRows, X: Any, chosen: np.ndarray, shared: np.ndarray, live: np.ndarray
) -> np.ndarray:
    if not rows.is_sparse:
        return live[(X[np.ix_(live, chosen)] != shared).any(axis=1)]
    off = np.zeros(len(rows), dtype=bool)
    plain = chosen[shared == 0.0]
    part = X[:, plain]
    off[part.indices[part.data != 0.0]] = True
    for j, value in zip(chosen[shared != 0.0], shared[shared != 0.0], strict=True):
        column = np.zeros(len(rows))
        span = slice(X.indptr[j], X.indptr[j + 1])
        column[X.indices[span]] = X.data[span]
        off |= column != value
    return live[off[live]]


def merge(rows: SignedRows, levels: list[Level], core: Exact) -> Exact:
    """Add the levels to the core's direction so that no earlier row loses its strict side."""
    total = dict(core)
    for level in reversed(levels):
        boost = Fraction(2) ** _boost(rows.take(level.rows), level.direction, total)
        for j, value in level.direction.items():
            total[j] = total.get(j, Fraction(0)) + boost * value
    return total


def _boost(part: SignedRows, own: Exact, later: Exact) -> int:
    """Return k such that ``2**k own + later`` has positive margins wherever own has."""
    if not later:
        return 0
    units = _unit(own), _unit(later)
    w, v = (_floats(d, part.width, unit) for d, unit in zip((own, later), units, strict=True))
    with np.errstate(all="ignore"):
        size = SignedRows(abs(part.X), np.ones(len(part)), part.fit_intercept).margins(abs(w))
        margins, against = part.margins(w), np.abs(part.margins(v))
        sure = (margins > 1e-6 * size) & (size > 1e-250) & np.isfinite(size)
        ratio = against / margins
        sure &= np.isfinite(ratio)
        if sure.all():
            return int(np.frexp(ratio)[1].max()) + 1 + units[1] - units[0]
    (first, shift), (second, other_shift) = _whole(part, own), _whole(part, later)
    fraction, exponent = part.integers.times([first, second]).floats()
    bits = (exponent[:, 1] - exponent[:, 0])[fraction[:, 1] != 0.0]
    return int(bits.max()) + 2 + shift - other_shift if bits.size else 0


def _whole(part: SignedRows, direction: Exact) -> tuple[list[int], int]:
    """Return the direction in integer columns as integers over ``2**shift``, and the shift."""
    exponents = part.integers.exponents.tolist()
    scaled = [direction.get(j, Fraction(0)) * Fraction(2) ** e for j, e in enumerate(exponents)]
    shift = max(v.denominator for v in scaled).bit_length() - 1
    return [int(v * 2**shift) for v in scaled], shift


def _unit(direction: Exact) -> int:
    """Return about the exponent of the largest coefficient, to keep floats in range."""
    sizes = (v.numerator.bit_length() - v.denominator.bit_length() for v in direction.values() if v)
    return max(sizes, default=0)


def _floats(direction: Exact, width: int, unit: int) -> np.ndarray:
    w = np.zeros(width)
    scale = Fraction(2) ** unit
    for j, value in direction.items():
        w[j] = float(value / scale)
    return w
