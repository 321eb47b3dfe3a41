"""The fewest training errors: those of a hyperplane, and a bound for every other.

Each Gordan witness holds a row that is wrong for every w. Weights on witnesses that load no row
beyond its own bound the errors from below, and a tree of cases (row right, row wrong) sharpens
that. In one to three dimensions all cells can be counted again instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cmp_to_key
from itertools import accumulate, combinations
from typing import Any, NamedTuple

from . import codec
from .codec import Claim, Refused, require
from .exact import Data, margins
from .separation import refuse_sum, weight_vectors

Point = tuple[int, ...]


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
    best = min(sum(c[0] for c in costs.values()), sum(c[1] for c in costs.values()))
    if d == 1:
        return min(best, _on_a_line([costs[p] for p in points]))
    for axis in combinations(points, d - 1):
        line, others = list[list[int]](), list[tuple[Point, int, int]]()
        for point in points:
            image = _image_along(axis, point)
            if any(image):
                others.append((image, costs[point][0], costs[point][1]))
            else:
                line.append(costs[point])
        best = min(best, _on_a_line(line) + _turned(others))
    return best


def _image_along(axis: tuple[Point, ...], point: Point) -> Point:
    """Return the flat image of a point: the axis becomes the origin."""
    v = tuple(a - b for a, b in zip(point, axis[0], strict=True))
    if len(axis) == 1:
        return v
    along = tuple(a - b for a, b in zip(axis[1], axis[0], strict=True))
    gone = next(k for k in range(3) if along[k])
    return tuple(along[gone] * v[k] - v[gone] * along[k] for k in range(3) if k != gone)


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

    upward.sort(key=cmp_to_key(turn))
    changes: list[int] = []
    for k, vector in enumerate(upward):
        if k and turn(upward[k - 1], vector) == 0:
            changes[-1] += vector[2]  # of one direction: they change sides together
        else:
            changes.append(vector[2])
    return _least(changes, start, total)
