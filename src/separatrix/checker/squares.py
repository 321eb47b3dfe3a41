"""Least squares and Fisher's discriminant: their optima without rounding, by elimination.

    f(W, b) = sum_i |W x_i + b - t_i|^2 + ridge |W|^2         t: signs of two classes, 1-of-K codes
    min f   = t't - g' G^-1 g,   G = A'A + ridge,   g = A't,   A the rows [1, x_i]

The ratios of scatters above t are as many as the eigenvalues of S_B - t S_W above zero. Symmetric
matrices of integers are eliminated without a fraction (Bareiss 1968).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from operator import mul
from typing import NamedTuple

from .codec import Claim, Refused, require, require_work
from .exact import Data, at_least, at_most, integers, ratio, square

Matrix = list[list[int]]
MOST_COLUMNS = 100  # numbers grow with every column that is eliminated
_MOST_WORK = 1 << 50  # minutes: the squared bits of all products


def refuse_wide(columns: int) -> None:
    """Refuse data whose matrix would take hours."""
    if columns > MOST_COLUMNS:
        raise Refused(f"elimination without rounding is done for {MOST_COLUMNS} columns at most")


def _refuse_long(rows: Matrix) -> None:
    """Refuse a matrix whose elimination would take hours: it multiplies its numbers' bits."""
    longest = len(rows) * max((abs(x).bit_length() for row in rows for x in row), default=0)
    if len(rows) ** 3 * longest**2 > _MOST_WORK:
        raise Refused("the numbers are of sizes too different for elimination without rounding")


def _eliminated(rows: Matrix, top: list[int], at: int, before: int) -> Matrix:
    """Return the rows less their multiples of the top one, whose pivot is in column `at`."""
    return [
        [(top[at] * x - row[at] * y) // before for x, y in zip(row, top, strict=True)]
        for row in rows
    ]


def rest(matrix: Matrix, size: int) -> list[list[Fraction]]:
    """Return what is left of a matrix whose first `size` rows are eliminated.

    [[A, B], [B', C]] leaves C - B' A^-1 B. A must be positive semidefinite and B in its range: a
    pivot of zero then has a row of zeros, which is passed over.

    >>> rest([[2, 1], [1, 1]], 1)
    [[Fraction(1, 2)]]
    """
    _refuse_long(matrix)
    rows, before = [row[:] for row in matrix], 1
    for k in range(size):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][k:])):
            raise Refused("a scatter is not positive semidefinite, or leaves a target open")
        if pivot:
            rows[k + 1 :] = _eliminated(rows[k + 1 :], rows[k], k, before)
            before = pivot
    return [[Fraction(x, before) for x in row[size:]] for row in rows[size:]]


def independent(columns: Sequence[Sequence[int]]) -> list[int]:
    """Return the numbers of the columns that are no combination of those before them.

    >>> independent([[1, 2], [2, 4], [0, 1]])
    [0, 2]
    """
    rows, before, kept = [[sum(map(mul, a, b)) for b in columns] for a in columns], 1, []
    _refuse_long(rows)
    for k in range(len(rows)):
        if rows[k][k]:
            rows[k + 1 :] = _eliminated(rows[k + 1 :], rows[k], k, before)
            before = rows[k][k]
            kept.append(k)
    return kept


def positive_eigenvalues(matrix: Matrix) -> int:
    """Return how many eigenvalues are above zero (Sylvester's inertia).

    >>> positive_eigenvalues([[0, 1], [1, 0]]), positive_eigenvalues([[1, 1], [1, 1]])
    (1, 1)
    """
    _refuse_long(matrix)
    rows, before, above = [row[:] for row in matrix], 1, 0
    while rows:
        size = range(len(rows))
        at = next((k for k in size if rows[k][k]), None)
        if at is None:
            pair = next(((i, j) for i in size for j in size if rows[i][j]), None)
            if pair is None:
                break
            at, other = pair
            # A row and its column are added to others: the signs of eigenvalues stay.
            rows[at] = [x + y for x, y in zip(rows[at], rows[other], strict=True)]
            for row in rows:
                row[at] += row[other]
        top = rows.pop(at)
        above += (top[at] > 0) == (before > 0)
        rows = [row[:at] + row[at + 1 :] for row in _eliminated(rows, top, at, before)]
        before = top[at]
    return above


def error_in_words(ridge: float) -> str:
    """Name the objective.

    >>> error_in_words(0.0), error_in_words(2.0)
    ('the squared error', 'the squared error plus 2.0 |w|^2')
    """
    return "the squared error" + (f" plus {ridge!r} |w|^2" if ridge else "")


def check_least_squares(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: f(weights) <= objective, min f >= least, and f - min f <= gap f."""
    refuse_wide(data.n_features)
    K, ridge = data.n_classes, Fraction(claim.ridge)
    outputs = 1 if K == 2 else K
    if ridge < 0 or [len(w) for w in claim.weights] != [1 + data.n_features] * outputs:
        raise Refused("ridge must not be below 0, and weights be one list an output")
    flat = intercept or not any(w[0] for w in claim.weights)
    require(flat, "without an intercept the biases must be 0")
    n, width = len(data.rows), data.n_features + outputs
    require_work(n * data.long * width**2, "the sums of squares")
    targets = [[int(code == k) for code in data.codes] for k in range(K)]
    if K == 2:
        targets = [[2 * code - 1 for code in data.codes]]
    found = Fraction(0)
    for w, t in zip(claim.weights, targets, strict=True):
        whole, unit = integers(w)
        fine = unit + data.exponent
        scores = data.scores(whole, True)
        missed = square(score - (one << -fine) for score, one in zip(scores, t, strict=True))
        found += ratio(missed, 2 * fine) + ridge * ratio(square(whole[1:]), 2 * unit)
    least = _least(data, targets, ridge, intercept)
    if found > Fraction(claim.objective) or least < Fraction(claim.least):
        raise Refused("the squared error is above the objective, or its least below the bound")
    if found - least > Fraction(claim.gap) * found:
        raise Refused("the squared error is further above its least than the gap says")
    gap, objective = at_most(claim.gap, 3), at_most(claim.objective, 9)
    return (
        f"{error_in_words(claim.ridge)}, at most {objective}, is within {gap} of itself "
        f"of the least possible, at least {at_least(claim.least, 9)}"
    )


def _least(data: Data, targets: list[list[int]], ridge: Fraction, intercept: bool) -> Fraction:
    """Return min f."""
    top, bottom = ridge.as_integer_ratio()
    one = 1 << -data.exponent
    columns = [[one] * len(data.rows)] * intercept + data.columns
    every = columns + [[t * one for t in target] for target in targets]
    matrix = [[bottom * sum(map(mul, a, b)) for b in every] for a in every]
    for j in range(intercept, len(columns)):
        matrix[j][j] += top << (-2 * data.exponent)
    left = rest(matrix, len(columns))
    found = sum((left[k][k] for k in range(len(targets))), Fraction(0))
    return found / bottom / (1 << -2 * data.exponent)


class Scatters(NamedTuple):
    """S_W and S_B times `scale`, in squared units of the data; sums and counts of the classes."""

    within: Matrix
    between: Matrix
    scale: int
    sums: list[list[int]]
    counts: list[int]


def scatters(data: Data) -> Scatters:
    """Return the scatter within and between classes, of the columns that vary."""
    refuse_wide(data.n_features)
    K, d = data.n_classes, data.n_features
    sizes = Counter(data.codes)
    counts = [sizes[k] for k in range(K)]
    require(all(counts), "every class needs a row")
    require_work((len(data.codes) * data.long + K) * d**2, "the scatters")
    scale = lcm(len(data.codes), *counts)
    columns, sums, whole = data.columns, [[0] * d for _ in range(K)], list(map(sum, data.columns))
    for j, column in enumerate(columns):
        for code, x in zip(data.codes, column, strict=True):
            sums[code][j] += x
    within, between = [[0] * d for _ in range(d)], [[0] * d for _ in range(d)]
    for i in range(d):
        for j in range(i + 1):
            own = sum(scale // n * s[i] * s[j] for n, s in zip(counts, sums, strict=True))
            within[i][j] = within[j][i] = scale * sum(map(mul, columns[i], columns[j])) - own
            between[i][j] = between[j][i] = own - scale // len(data.codes) * whole[i] * whole[j]
    return Scatters(within, between, scale, sums, counts)


def check_fisher(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: J(w) >= ratio, and no direction has a J above bound; J = (w.(m_2 - m_1))^2 / w'S_W w.

    With two classes S_B = N_1 N_2 / N (m_2 - m_1)(m_2 - m_1)', so ratios are J times N_1 N_2 / N.
    """
    if data.n_classes != 2 or len(claim.weights) != data.n_features:
        raise Refused("two classes are needed, and one weight a column")
    found = scatters(data)
    share = Fraction(found.counts[0] * found.counts[1], len(data.rows))
    whole, _ = integers(claim.weights)
    wide, apart = _form(found.within, whole), _form(found.between, whole)
    if wide <= 0 or Fraction(apart, wide) < Fraction(claim.ratio) * share:
        raise Refused("the direction's ratio is below the one claimed")
    above = _above(found, Fraction(claim.bound) * share)
    require(not above, "some direction has a larger ratio than the bound")
    ratio, bound = at_least(claim.ratio, 9), at_most(claim.bound, 9)
    return f"the ratio of scatters is at least {ratio}, and no direction has more than {bound}"


def check_fisher_directions(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the k-th largest ratio lies in [lower_k, upper_k], and the weights are C^-1 (m_k - m).

    The last for class means moved by at most `moved` standard deviations, C = S_W / N.
    """
    found, d = scatters(data), data.n_features
    known = len(claim.lower)
    if not (0 < known == len(claim.upper) == len(claim.directions) < data.n_classes):
        raise Refused("there must be a lower and an upper bound for every direction")
    if [len(v) for v in claim.weights + claim.directions] != [d] * (data.n_classes + known):
        raise Refused("weights of a class and directions must have one number a column")
    if known > sum(any(row) for row in found.within):
        raise Refused("there are fewer ratios than bounds: too few columns vary")
    directions = [integers(v)[0] for v in claim.directions]
    for k, (low, high) in enumerate(zip(claim.lower, claim.upper, strict=True)):
        require(0.0 <= low <= high, f"the bounds of ratio {k} cross, or are below 0")
        # Where that holds, k + 1 ratios or more are above the lower bound (Courant and Fischer).
        if low > 0.0 and not _are_at_least(found, directions[: k + 1], Fraction(low)):
            raise Refused(f"along the first {k + 1} directions a ratio is below the lower bound")
        if _above(found, Fraction(high)) > k:
            raise Refused(f"the ratio {k} is above its upper bound")
    _refuse_moved(data, claim, found)
    return f"the {known} largest ratios of scatters are within their bounds, the first of them " + (
        f"{at_least(claim.lower[0], 9)} to {at_most(claim.upper[0], 9)}"
    )


def _refuse_moved(data: Data, claim: Claim, found: Scatters) -> None:
    """Refuse weights that are not those of means moved by so little."""
    n, unit = len(data.rows), ratio(1, data.exponent)
    mean = [Fraction(sum(column), n) for column in data.columns]
    require(claim.moved >= 0.0, "moved must not be below 0")
    most = Fraction(claim.moved) ** 2
    for k, w in enumerate(claim.weights):
        whole, fine = integers(w)
        for j, row in enumerate(found.within):
            # In units of the data: C w, then m_k - m.
            product = Fraction(sum(map(mul, row, whole)), found.scale * n << -fine) * unit
            away = product * unit - (Fraction(found.sums[k][j], found.counts[k]) - mean[j]) * unit
            variance = Fraction(row[j], found.scale * n) * unit**2
            if away**2 > most * variance:
                raise Refused("the weights belong to means that are moved by more")


def _form(matrix: Matrix, v: list[int]) -> int:
    return sum(x * sum(map(mul, row, v)) for x, row in zip(v, matrix, strict=True))


def _are_at_least(found: Scatters, directions: Matrix, t: Fraction) -> bool:
    """Whether these are independent, and every direction in their span has a ratio above t."""
    less = _less(found, t, range(len(found.within)))
    images = [[sum(map(mul, row, v)) for row in less] for v in directions]
    inner = [[sum(map(mul, image, v)) for v in directions] for image in images]
    return positive_eigenvalues(inner) == len(directions)


def _less(found: Scatters, t: Fraction, kept: Sequence[int]) -> Matrix:
    """Return S_B - t S_W of these columns, times the denominator of t."""
    top, bottom = t.as_integer_ratio()
    return [[bottom * found.between[i][j] - top * found.within[i][j] for j in kept] for i in kept]


def _above(found: Scatters, t: Fraction) -> int:
    """Return how many ratios are above t: of columns that vary within classes.

    Where a column does not vary within classes but between them, ratios have no bound.
    """
    kept = [j for j, row in enumerate(found.within) if row[j]]
    if any(found.between[j][j] for j in range(len(found.within)) if j not in kept):
        raise Refused("a column varies between classes and not within them")
    return positive_eigenvalues(_less(found, t, kept))
