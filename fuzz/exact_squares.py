"""The least squared error, and the largest ratio of scatters, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq, fmpq_mat

from fuzz.exact_judge import INFINITE, dot

__all__ = ["largest_ratio", "least_error", "ratio", "squared_error"]

Row = Sequence[fmpq]


def squared_error(
    rows: Sequence[Row], T: Sequence[Row], s: Row, W: Sequence[Row], b: Row, ridge: fmpq
) -> fmpq:
    """Return sum_i s_i |W x_i + b - t_i|^2 + ridge |W|^2."""
    total = ridge * sum((dot(w, w) for w in W), start=fmpq(0))
    for row, t, weight in zip(rows, T, s, strict=True):
        for w, bias, target in zip(W, b, t, strict=True):
            off = dot(row, w) + bias - target
            total += weight * off * off
    return total


def least_error(
    rows: Sequence[Row], T: Sequence[Row], s: Row, ridge: fmpq, intercept: bool
) -> fmpq:
    """Return the least squared error there is: by the normal equations, whatever their rank."""
    full = [[*row, fmpq(1)] if intercept else list(row) for row in rows]
    d = len(full[0])
    normal = [
        [sum((w * a[i] * a[j] for a, w in zip(full, s, strict=True)), fmpq(0)) for j in range(d)]
        for i in range(d)
    ]
    for j in range(len(rows[0])):
        normal[j][j] += ridge
    total = fmpq(0)
    for k in range(len(T[0])):
        right = [
            sum((w * a[i] * t[k] for a, w, t in zip(full, s, T, strict=True)), fmpq(0))
            for i in range(d)
        ]
        found = solved(normal, right)
        assert found is not None, "normal equations always have a solution"
        total += sum((w * t[k] * t[k] for w, t in zip(s, T, strict=True)), fmpq(0)) - dot(
            right, found
        )
    return total


def solved(matrix: Sequence[Row], right: Row) -> list[fmpq] | None:
    """Return some solution, or None where there is none."""
    d = len(right)
    wide = fmpq_mat(d, d + 1, [v for row, r in zip(matrix, right, strict=True) for v in (*row, r)])
    reduced, rank = wide.rref()
    out = [fmpq(0)] * d
    for row in reduced.table()[:rank]:
        place = next(j for j, v in enumerate(row) if v)
        if place == d:
            return None
        out[place] = row[d]
    return out


def scatter(
    rows: Sequence[Row], codes: Sequence[int], s: Row
) -> tuple[list[fmpq], list[list[fmpq]]]:
    """Return the difference of the class means, and the scatter within classes."""
    d, means = len(rows[0]), []
    for k in (0, 1):
        mass = sum((w for w, y in zip(s, codes, strict=True) if y == k), fmpq(0))
        means.append(
            [
                sum((w * r[j] for r, w, y in zip(rows, s, codes, strict=True) if y == k), fmpq(0))
                / mass
                for j in range(d)
            ]
        )
    within = [[fmpq(0)] * d for _ in range(d)]
    for row, w, y in zip(rows, s, codes, strict=True):
        off = [v - m for v, m in zip(row, means[y], strict=True)]
        for i in range(d):
            for j in range(d):
                within[i][j] += w * off[i] * off[j]
    return [b - a for a, b in zip(*means, strict=True)], within


def ratio(rows: Sequence[Row], codes: Sequence[int], s: Row, w: Row) -> Any:
    """Return (w.(m_2 - m_1))^2 / (w' S_W w)."""
    apart, within = scatter(rows, codes, s)
    along, width = dot(w, apart), dot(w, [dot(row, w) for row in within])
    if width == 0:
        return INFINITE if along else fmpq(0)
    return along * along / width


def largest_ratio(rows: Sequence[Row], codes: Sequence[int], s: Row) -> Any:
    apart, within = scatter(rows, codes, s)
    best = solved(within, apart)
    return INFINITE if best is None else dot(best, apart)
