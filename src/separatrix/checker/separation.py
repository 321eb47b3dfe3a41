"""Weights that separate, bounds on the largest margin, and witnesses that nothing separates.

A witness is positive multiples of rows that sum to zero: no hyperplane separates them.

The fewest training errors: those of a hyperplane, and a bound for every other.

Each Gordan witness holds a row that is wrong for every w. Weights on witnesses that load no row
beyond its own bound the errors from below, and a tree of cases (row right, row wrong) sharpens
that. In one to three dimensions all cells can be counted again instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cmp_to_key
from itertools import accumulate, combinations
from typing import Any, NamedTuple

from . import codec
from .codec import Claim, Refused, require, require_work
from .exact import (
    Data,
    at_least,
    at_most,
    distinct,
    integer_vectors,
    integers,
    margins,
    ratio,
    square,
)


def weight_vectors(
    data: Data, floats: list[list[float]] | None, whole: list[int] | None = None
) -> tuple[list[list[int]], int]:
    """Return one vector of integers, or one a class where there are more than two; the exponent."""
    count, length = (1 if data.n_classes == 2 else data.n_classes), 1 + data.n_features
    require((floats is None) != (whole is None), "the claim must hold either weights or integers")
    vectors, exponent = integer_vectors(floats or [])
    if whole is not None:
        vectors = [whole[k : k + length] for k in range(0, len(whole), length)]
    lengths = [len(vector) for vector in vectors]
    require(lengths == [length] * count, f"the weights must be {count} x {length} numbers")
    return vectors, exponent


def check_separation(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the weights put every row strictly on its own side."""
    weights, _ = weight_vectors(data, claim.weights, claim.integers)
    for row, margin in enumerate(margins(data, weights, intercept)):
        if not margin > 0:
            raise Refused(f"signed row {row} is not strictly on its own side")
    return f"the weights separate all {len(data.rows)} rows strictly"


def check_margin_bounds(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: lower <= min_r w.z_r / |w|, and no hyperplane has a margin above upper.

    For every unit u: min_r u.z_r <= sum a_r u.z_r / sum a_r <= |sum a_r z_r| / sum a_r.
    """
    lower, upper = Fraction(claim.lower), Fraction(claim.upper)
    weights, exponent = weight_vectors(data, claim.weights)
    # Without an intercept the bias is no part of w: it would make a margin below zero look small.
    counted = (w for vector in weights for w in vector[not intercept :])
    length = ratio(square(counted), 2 * exponent)
    require(length and lower <= upper, "zero weights have no margin, and bounds may not cross")
    # x |x| orders numbers as x does, without a root: least margin times its size, over |w|^2.
    least = ratio(min(margins(data, weights, intercept)), exponent + data.exponent)
    if least * abs(least) < lower * abs(lower) * length:
        raise Refused("a margin lies below the lower bound")
    multipliers, unit = integers(claim.multipliers)
    if any(m < 0 for m in multipliers) or not any(multipliers):
        raise Refused("multipliers must be at least zero, and not all zero")
    total = signed_sum(data, claim.rows, multipliers, intercept)
    mass = ratio(sum(multipliers), unit)
    if ratio(square(total), 2 * (unit + data.exponent)) > upper * abs(upper) * mass**2:
        raise Refused("the multipliers do not prove the upper bound")
    low, high = at_least(claim.lower, 9), at_most(claim.upper, 9)
    return f"the largest margin of any hyperplane lies in [{low}, {high}]"


def signed_sum(data: Data, rows: list[int], multipliers: list[int], intercept: bool) -> list[int]:
    """Return the coordinates of sum m z that may differ from zero, in units of the data."""
    rivals = max(1, data.n_classes - 1)
    distinct(rows, multipliers, len(data.rows) * rivals)
    blocks: list[list[tuple[int, int]]] = [[] for _ in range(data.n_classes)]
    for row, multiplier in zip(rows, multipliers, strict=True):
        sample, other = divmod(row, rivals)
        code = data.codes[sample]
        if data.n_classes == 2:
            blocks[0].append((sample, multiplier if code == 1 else -multiplier))
        else:
            blocks[code].append((sample, multiplier))
            blocks[other + (other >= code)].append((sample, -multiplier))
    total = [value for shares in blocks for value in data.combination(shares).values()]
    biases = [sum(share for _, share in shares) << -data.exponent for shares in blocks]
    return total + biases if intercept else total


def refuse_sum(data: Data, rows: list[int], multipliers: list[int], intercept: bool) -> None:
    """Refuse multipliers that are not positive, or whose multiples of rows do not sum to zero."""
    if data.n_classes != 2 or not multipliers or min(multipliers) <= 0:
        raise Refused("a witness needs two classes and positive multipliers")
    total = signed_sum(data, rows, multipliers, intercept)
    require(not any(total), "the multiples of the rows do not sum to zero")


def check_gordan(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: positive multiples of some rows sum to zero; so no w puts all of them off."""
    refuse_sum(data, claim.rows, claim.multipliers, intercept)
    return f"no hyperplane strictly separates these {len(claim.rows)} rows, nor all of the data"


def check_overlap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: a w that leaves no margin negative leaves every margin zero."""
    _refuse_loose(data, claim, set(range(len(data.rows))), intercept, may_span=True)
    return (
        f"the classes overlap: all {len(data.rows)} rows are on the boundary, or one is beyond it"
    )


def check_quasi(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the weights leave no margin negative, some positive, and the others are tied."""
    require(data.n_classes == 2, "a witness needs two classes")
    weights, _ = weight_vectors(data, None, claim.integers)
    signs = [(m > 0) - (m < 0) for m in margins(data, weights, intercept)]
    tight = {row for row, margin in enumerate(signs) if margin == 0}
    if min(signs) < 0 or max(signs) == 0:
        raise Refused("the weights must leave no margin negative, and some positive")
    _refuse_loose(data, claim, tight, intercept, may_span=False)
    return f"of {len(signs)} rows, {len(tight)} are on the boundary whenever none is beyond it"


def _refuse_loose(
    data: Data, claim: Claim, tight: set[int], intercept: bool, may_span: bool
) -> None:
    """Refuse multipliers that do not tie all of these rows to the boundary.

    Positive multiples sum to zero: of the rows named and, each taken `others` times, of the rest;
    or, if others is 0, of those named alone, which are all of them or have full rank.
    """
    rest = sorted(tight.difference(claim.rows))
    if not tight.issuperset(claim.rows) or claim.others < 0:
        raise Refused("a named row is not on the boundary, or others is below zero")
    rows, multipliers = claim.rows, claim.multipliers
    if claim.others:
        rows, multipliers = rows + rest, multipliers + [claim.others] * len(rest)
    refuse_sum(data, rows, multipliers, intercept)
    if rest and not claim.others:
        spans = may_span and rank(data, rows, intercept) == data.n_features + intercept
        require(spans, "the named rows do not span the others")


# The first divides no short sum of powers of two; the others are for determinants that it divides.
_PRIMES = (1425089352415399837, 1876932102566028323, 1923151465198308623)


def rank(data: Data, numbers: Iterable[int], intercept: bool) -> int:
    """Return the rank of some rows modulo primes: never more than their rank."""
    one, found = (1 << -data.exponent) * intercept, 0
    rows = [
        dict(zip([-1, *j], [one, *x], strict=True)) for j, x in (data.whole[n] for n in numbers)
    ]
    for prime in _PRIMES:
        found = max(found, _rank([row.copy() for row in rows], prime))
        if found == min(len(rows), data.n_features + intercept):
            break
    return found


def _rank(left: list[dict[int, int]], prime: int) -> int:
    found = steps = 0
    while left:
        row = {j: x % prime for j, x in left.pop().items() if x % prime}
        if not row:
            continue
        found, pivot = found + 1, next(iter(row))
        turned, steps = pow(row[pivot], -1, prime), steps + len(left)
        for other in left:
            if factor := other.get(pivot, 0) * turned % prime:
                steps += 4 * len(row)
                for j, x in row.items():
                    other[j] = (other.get(j, 0) - factor * x) % prime
                    if not other[j]:
                        del other[j]
        require_work(steps, "the rank of the named rows")
    return found


# ---- the fewest training errors: those of a hyperplane, and a bound for every other


Point = tuple[int, ...]
_MOST_TURNED = 50_000_000  # some minutes


def cases(value: Any) -> Claim | None:
    """Accept a tree of cases, or null."""
    if value is None:
        return None
    if type(value) is dict and "row" in value:
        return Claim(value, "a case", {"row": codec.count, "wrong": cases, "right": cases})
    return Claim(value, "a leaf", {"loads": codec.many(_load), "denominator": codec.integer})


def _load(value: Any) -> tuple[int, int]:
    witness, amount = codec.many(codec.anything)(value)
    return codec.count(witness), codec.integer(amount)


def check_errors(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the weights make `errors` training errors, and no hyperplane fewer than `lower`."""
    if claim.sample_weight_sha256 or claim.unit != [1, 1]:
        raise Refused(
            "it speaks of sample weights, which are not in the data file: "
            "certificate_.check(X, y, sample_weight) proves it"
        )
    if data.n_classes != 2 or intercept is not True:
        raise Refused("errors are counted for two classes, with an intercept")
    floats = None if claim.weights is None else [claim.weights]
    weights, _ = weight_vectors(data, floats, claim.integers)
    if sum(margin <= 0 for margin in margins(data, weights, True)) != claim.errors:
        raise Refused("the weights make another number of errors")
    used = claim.by == "witnesses" or (not claim.witnesses and claim.tree is None)
    require(used, "witnesses and a tree are given, and not used")
    if claim.by == "witnesses":
        _refuse_tree(data, claim)
    elif claim.lower > (_fewest(data) if claim.by == "cells" else 0):
        raise Refused("some hyperplane makes fewer errors, or nothing is given that rules it out")
    return f"{claim.errors} training errors, and every hyperplane makes {claim.lower} or more"


class Book(NamedTuple):
    """What a tree is checked against; equal rows of one class share a number and their fate."""

    room: Any  # the weight of every number
    sets: list[frozenset[Any]]
    keys: list[Any]
    lower: int


def _refuse_tree(data: Data, claim: Claim) -> None:
    keys = [(y, *j, *x) for y, (j, x) in zip(data.codes, data.whole, strict=True)]
    sets = []
    for witness in claim.witnesses:
        refuse_sum(data, witness.rows, witness.multipliers, True)
        sets.append(frozenset(keys[row] for row in witness.rows))
    refuse_case(Book(Counter(keys), sets, keys, claim.lower), claim.tree)


def refuse_case(
    book: Book, case: Any, wrong: frozenset[Any] = frozenset(), right: frozenset[Any] = frozenset()
) -> None:
    """Refuse a case that does not force the claimed number of errors."""
    if hasattr(case, "row"):
        require(0 <= case.row < len(book.keys), f"there is no row {case.row}")
        row = frozenset([book.keys[case.row]])
        refuse_case(book, case.wrong, wrong | row, right)
        refuse_case(book, case.right, wrong, right | row)
        return
    require(case is not None, "there is no tree, or a case of it is missing")
    load, total = Counter[Any](), 0
    numbers = [case.denominator, *(amount for _, amount in case.loads)]
    require(all(type(n) is int for n in numbers), "a leaf has loads that are no integers")
    for k, amount in case.loads:
        # Witnesses that hold a wrong row force no more, and rows taken to be right take no load.
        if not 0 <= k < len(book.sets) or amount < 0 or book.sets[k] & wrong:
            raise Refused(f"there is no witness {k} for such a load")
        total += amount
        load.update(dict.fromkeys(book.sets[k] - right, amount))
    if case.denominator <= 0 or len({k for k, _ in case.loads}) != len(case.loads):
        raise Refused("a leaf names a witness twice, or divides by zero")
    if any(amount > book.room[row] * case.denominator for row, amount in load.items()):
        raise Refused("a leaf loads a row beyond its weight")
    forced = sum(book.room[row] for row in wrong)
    if total <= (book.lower - 1 - forced) * case.denominator:  # errors are whole
        raise Refused("a leaf of the tree forces fewer errors than claimed")


# ---- cells


def _fewest(data: Data) -> int:
    """Return the fewest errors of any hyperplane, by the cells of hyperplanes that divide alike.

    A cheapest cell has a wall: in the plane a line turns about every point, in space a plane about
    the line through every two, and the points on the axis are divided by a threshold.
    """
    d = data.n_features
    require(1 <= d <= 3, "cells are counted in one to three dimensions")
    costs: dict[Point, list[int]] = {}  # of a point on the positive side, and on the other
    for code, place in zip(data.codes, zip(*data.columns, strict=True), strict=True):
        costs.setdefault(place, [0, 0])[code] += 1
    points = sorted(costs)
    costs_in_order = [costs[point] for point in points]
    best = min(map(sum, zip(*costs_in_order, strict=True)))
    if d == 1:
        return min(best, _on_a_line(costs_in_order))
    turned = math.comb(len(points), d - 1) * len(points)
    require(
        turned <= _MOST_TURNED, f"{turned:,} points to turn about are too many: separatrix verify"
    )
    for axis in combinations(points, d - 1):
        line, others = list[list[int]](), list[tuple[Point, int, int]]()
        for cost, image in zip(costs_in_order, _images(axis, points), strict=True):
            if any(image):
                others.append((image, cost[0], cost[1]))
            else:
                line.append(cost)
        best = min(best, _on_a_line(line) + _turned(others))
    return best


def _images(axis: tuple[Point, ...], points: list[Point]) -> list[Point]:
    """Return the flat images of points: the axis becomes the origin."""
    first, *second = axis
    if not second:
        return [(x - first[0], y - first[1]) for x, y in points]
    along = [b - a for a, b in zip(first, second[0], strict=True)]
    gone = next(k for k in range(3) if along[k])
    (j, k), p = {0, 1, 2} - {gone}, along[gone]
    to_j, to_k = (p * first[i] - along[i] * first[gone] for i in (j, k))
    return [
        (p * v[j] - along[j] * v[gone] - to_j, p * v[k] - along[k] * v[gone] - to_k) for v in points
    ]


def _least(changes: Sequence[int], start: int, total: int) -> int:
    """Return the least cost of divisions made one after another, or of the same turned round."""
    costs = list(accumulate(changes, initial=start))
    return min(*costs, total - max(costs))


def _on_a_line(costs: list[list[int]]) -> int:
    """Divide points, given in order along a line, by a threshold."""
    total, start = sum(map(sum, costs)), sum(up for up, _ in costs)
    return _least([down - up for up, down in costs], start, total)


def _turned(vectors: list[tuple[Point, int, int]]) -> int:
    """Turn a line about the origin by half a turn, past vectors none of which is zero."""
    upward, start, total = [], 0, 0
    for (x, y), up, down in vectors:
        total += up + down
        if y < 0 or (y == 0 and x < 0):
            x, y, up, down = -x, -y, down, up
        start += up
        upward.append((x, y, down - up))

    def turn(a: tuple[int, int, int], b: tuple[int, int, int]) -> int:
        return b[0] * a[1] - a[0] * b[1]

    with suppress(OverflowError):  # nearly in order, the exact order is found in one pass
        upward.sort(key=lambda v: -v[0] / v[1] if v[1] else -math.inf)
    upward.sort(key=cmp_to_key(turn))
    changes: list[int] = []
    for k, vector in enumerate(upward):
        if k and turn(upward[k - 1], vector) == 0:
            changes[-1] += vector[2]  # of one direction: they change sides together
        else:
            changes.append(vector[2])
    return _least(changes, start, total)
