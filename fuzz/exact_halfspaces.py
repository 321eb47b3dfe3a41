"""What can be separated, and what hyperplanes and witnesses do, in rationals and nothing else.

A signed row is ``s [1, x]``, or ``s [0, x]`` without an intercept. Feasibility is settled by a
simplex method with Bland's rule on exact rationals, so it always ends and is always right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from flint import fmpq, fmpq_mat

__all__ = [
    "boundary",
    "fewest_at_least",
    "infinite_is_possible",
    "is_cancelled",
    "kesler",
    "separates",
    "signed",
    "verdict",
]

Row = Sequence[fmpq]


def signed(rows: Sequence[Row], signs: Sequence[int], intercept: bool) -> list[list[fmpq]]:
    one = fmpq(1 if intercept else 0)
    return [[s * one, *(s * v for v in row)] for row, s in zip(rows, signs, strict=True)]


def kesler(
    rows: Sequence[Row], codes: Sequence[int], n_classes: int, intercept: bool
) -> list[list[fmpq]]:
    """Return one signed row for each row and each class that is not its own."""
    out = []
    for row, y in zip(rows, codes, strict=True):
        x = [fmpq(1 if intercept else 0), *row]
        for k in range(n_classes):
            if k != y:
                blocks = [fmpq(0)] * (n_classes * len(x))
                blocks[y * len(x) : (y + 1) * len(x)] = x
                blocks[k * len(x) : (k + 1) * len(x)] = [-v for v in x]
                out.append(blocks)
    return out


def dot(a: Row, b: Row) -> fmpq:
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), start=fmpq(0))


def separates(z: Sequence[Row], w: Row) -> bool:
    return all(dot(row, w) > 0 for row in z)


def has_nonnegative_solution(columns: Sequence[Row], right: Row) -> bool:
    """Whether ``sum_j a_j columns[j] = right`` for some a >= 0."""
    m = len(right)
    rows = [[column[i] for column in columns] + [right[i]] for i in range(m)]
    for i, row in enumerate(rows):
        if row[-1] < 0:
            rows[i] = [-v for v in row]
    count = len(columns)
    basis = list(range(count, count + m))  # artificial ones, which may leave and never come back
    cost = [-sum((row[j] for row in rows), start=fmpq(0)) for j in range(count + 1)]
    while True:
        enter = next((j for j in range(count) if cost[j] < 0), None)
        if enter is None:
            return bool(cost[-1] == 0)
        ratios = [
            (row[-1] / row[enter], basis[i], i) for i, row in enumerate(rows) if row[enter] > 0
        ]
        if not ratios:  # cannot be: the sum of the artificial ones is bounded below
            raise ArithmeticError("unbounded phase one")
        leave = min(ratios)[2]
        pivot = rows[leave] = [v / rows[leave][enter] for v in rows[leave]]
        for i, row in enumerate(rows):
            if i != leave and row[enter]:
                rows[i] = [v - row[enter] * p for v, p in zip(row, pivot, strict=True)]
        cost = [v - cost[enter] * p for v, p in zip(cost, pivot, strict=True)]
        basis[leave] = enter


def can_be_separated(z: Sequence[Row]) -> bool:
    """Whether some w has a positive product with every row (Gordan's alternative)."""
    if not z:
        return True
    columns = [[*row, fmpq(1)] for row in z]
    return not has_nonnegative_solution(columns, [fmpq(0)] * len(z[0]) + [fmpq(1)])


def boundary(z: Sequence[Row]) -> list[int]:
    """Return the rows of product 0 with every w that has no negative product."""
    return [
        i
        for i, row in enumerate(z)
        if has_nonnegative_solution([r for j, r in enumerate(z) if j != i], [-v for v in row])
    ]


def verdict(z: Sequence[Row]) -> tuple[str, list[int]]:
    """Return the kind, and the rows on the boundary."""
    tight = boundary(z)
    kinds = {0: "separable", len(z): "overlapping"}
    return kinds.get(len(tight), "quasi-separable"), tight


def is_cancelled(z: Sequence[Row], multipliers: Sequence[int]) -> bool:
    """Whether positive whole multiples of the rows sum to zero."""
    total = [
        sum((m * row[j] for m, row in zip(multipliers, z, strict=True)), fmpq(0))
        for j in range(len(z[0]))
    ]
    return bool(z) and all(m > 0 for m in multipliers) and not any(total)


def fewest_at_least(z: Sequence[Row], masses: Sequence[Any], bound: Any) -> bool:
    """Whether every w is wrong on rows of at least that mass: by trying all smaller sets."""
    n = len(z)
    for size in range(n + 1):
        for wrong in combinations(range(n), size):
            if sum((masses[i] for i in wrong), start=fmpq(0)) >= bound:
                continue
            rest = [z[i] for i in range(n) if i not in wrong and masses[i] > 0]
            if can_be_separated(rest):
                return False
    return True


def pivots_of(matrix: Sequence[Row]) -> tuple[list[int], list[list[fmpq]]]:
    """Return the pivot columns, and the reduced rows."""
    reduced, rank = fmpq_mat(len(matrix), len(matrix[0]), [v for row in matrix for v in row]).rref()
    rows = [list(row) for row in reduced.table()[:rank]]
    return [next(j for j, v in enumerate(row) if v) for row in rows], rows


def infinite_is_possible(z: Sequence[Row], tight: Sequence[int], infinite: Sequence[Any]) -> bool:
    """Whether the coefficients that run are those, with the signs that are possible.

    Columns that depend on columns to their left have no coefficient (NaN). Of the others those are
    finite that are 0 for every w of product 0 with the rows on the boundary. A coefficient that
    runs is "open" exactly if directions of both signs exist; "unknown" says only that it runs.
    """
    kept, _ = pivots_of(z)
    if any((v != v) == (j in kept) for j, v in enumerate(infinite)):
        return False
    inner = [[row[j] for j in kept] for row in z]
    claimed = [infinite[j] for j in kept]
    if len(tight) == len(z):
        return not any(claimed)
    held = [inner[i] for i in tight]
    fixed: list[list[fmpq]] = pivots_of(held)[1] if held else []
    for j, value in enumerate(claimed):
        unit = [fmpq(int(i == j)) for i in range(len(kept))]
        is_fixed = bool(fixed) and len(pivots_of([*fixed, unit])[0]) == len(fixed)
        if is_fixed != (value == 0.0):
            return False
    strict = [row for i, row in enumerate(inner) if i not in tight]

    def exists(place: int, sign: int) -> bool:
        """Whether some direction has this sign there."""
        unit = [fmpq(sign * int(i == place)) for i in range(len(kept))]
        columns = [[*row, fmpq(1)] for row in [*strict, unit]]
        columns += [[*(s * v for v in row), fmpq(0)] for row in held for s in (1, -1)]
        return not has_nonnegative_solution(columns, [fmpq(0)] * len(kept) + [fmpq(1)])

    expected = {(True, True): "open", (True, False): math.inf, (False, True): -math.inf}
    running = [j for j, value in enumerate(claimed) if value not in (0.0, "unknown")]
    return all(claimed[j] == expected.get((exists(j, 1), exists(j, -1))) for j in running)
