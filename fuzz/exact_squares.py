"""The least squared error, and the largest ratio of scatters, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flint import arb, fmpq, fmpq_mat

from fuzz.exact_judge import INFINITE, dot

__all__ = ["largest_ratio", "least_error", "perturbation", "ratio", "squared_error"]

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


def perturbation(
    rows: Sequence[Row],
    T: Sequence[Row],
    s: Row,
    W: Sequence[Row],
    b: Row,
    ridge: fmpq,
    intercept: bool,
    centred: bool,
) -> arb:
    """Return the least share by which data must differ to have these weights as their solution.

    The least of the three ways that `certificates.least_squares` names, for the worst
    output: columns turned towards the residual (Stewart), other targets, other weights.
    """
    mass, d = sum(s, start=fmpq(0)), len(rows[0])
    means = [fmpq(0)] * d
    if centred:
        means = [sum((w * r[j] for r, w in zip(rows, s, strict=True)), fmpq(0)) / mass
                 for j in range(d)]  # fmt: skip
    columns = [[row[j] - means[j] for row in rows] for j in range(d)]
    lengths = [ridge + _weighted(s, column, column) for column in columns]
    above = squared_error(rows, T, s, W, b, ridge) - least_error(rows, T, s, ridge, intercept)
    worst = arb(0)
    for k, (w, bias) in enumerate(zip(W, b, strict=True)):
        residual = [dot(row, w) + bias - t[k] for row, t in zip(rows, T, strict=True)]
        square = _weighted(s, residual, residual) + ridge * dot(w, w)
        if square == 0:
            continue
        pulls = [_weighted(s, c, residual) + ridge * v for c, v in zip(columns, w, strict=True)]
        shares = [g * g / (n * square) for g, n in zip(pulls, lengths, strict=True) if n]
        if intercept:
            total = sum((v * r for v, r in zip(s, residual, strict=True)), start=fmpq(0))
            shares.append(total * total / (mass * square))
        ways = [max(shares, default=fmpq(0))]
        targets = [t[k] for t in T]
        if intercept and any(t != targets[0] for t in targets):
            mean = sum((v * t for v, t in zip(s, targets, strict=True)), start=fmpq(0)) / mass
            targets = [t - mean for t in targets]
        size = _weighted(s, targets, targets)
        ways += [square / size] if size else []
        unit = sum((n * v * v for n, v in zip(lengths, w, strict=True)), start=fmpq(0))
        ways += [above / unit] if unit else []
        worst = worst.max(arb(min(ways)).sqrt())
    return worst


def _weighted(s: Row, a: Row, b: Row) -> fmpq:
    return sum((w * x * y for w, x, y in zip(s, a, b, strict=True)), start=fmpq(0))


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


def scatters(
    rows: Sequence[Row], codes: Sequence[int], s: Row
) -> tuple[list[list[fmpq]], list[list[fmpq]]]:
    """Return the scatter between classes and the scatter within them, of any number of classes."""
    d, mass = len(rows[0]), sum(s, start=fmpq(0))
    centre = [_weighted(s, [r[j] for r in rows], [fmpq(1)] * len(s)) / mass for j in range(d)]
    between = [[fmpq(0)] * d for _ in range(d)]
    within = [[fmpq(0)] * d for _ in range(d)]
    for k in set(codes):
        own = [i for i, y in enumerate(codes) if y == k]
        part = [s[i] for i in own]
        total = sum(part, start=fmpq(0))
        mean = [sum((s[i] * rows[i][j] for i in own), fmpq(0)) / total for j in range(d)]
        for i in range(d):
            for j in range(d):
                between[i][j] += total * (mean[i] - centre[i]) * (mean[j] - centre[j])
                within[i][j] += sum(
                    (s[n] * (rows[n][i] - mean[i]) * (rows[n][j] - mean[j]) for n in own), fmpq(0)
                )
    return between, within


def ratios_above(between: Sequence[Row], within: Sequence[Row], level: fmpq) -> tuple[int, int]:
    """Return how many ratios are above the level, and how many are it: by Descartes' rule.

    S_B - level S_W is symmetric: all roots of its characteristic polynomial are real, so its
    changes of sign count the positive ones exactly, and there are as many as ratios above.
    """
    d = len(between)
    moved = [b - level * w for r, t in zip(between, within, strict=True)
             for b, w in zip(r, t, strict=True)]  # fmt: skip
    found = list(fmpq_mat(d, d, moved).charpoly().coeffs())
    signs = [v > 0 for v in found if v != 0]
    # Directions along which nothing varies have no ratio: they are zero at every level.
    both = [b + w for r, t in zip(between, within, strict=True)
            for b, w in zip(r, t, strict=True)]  # fmt: skip
    zeros = _zero_roots(found) - _zero_roots(list(fmpq_mat(d, d, both).charpoly().coeffs()))
    return sum(a != b for a, b in pairwise(signs)), zeros


def _zero_roots(coefficients: Sequence[fmpq]) -> int:
    return next(i for i, v in enumerate(coefficients) if v != 0)


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
