"""Weights that separate, bounds on the largest margin, and witnesses that nothing separates.

A witness is positive multiples of rows that sum to zero: no hyperplane separates them.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from .codec import Claim, Refused, require
from .exact import Data, distinct, integer_vectors, integers, margins, ratio, square


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
    length = ratio(square(w for vector in weights for w in vector), 2 * exponent)
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
    return f"the largest margin of any hyperplane lies in [{claim.lower:.9g}, {claim.upper:.9g}]"


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
    signs = list(margins(data, weights, intercept))
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
    spans = may_span and rank(data, rows, intercept) == data.n_features + intercept
    require(not rest or claim.others or spans, "the named rows do not span the others")


def rank(data: Data, numbers: Iterable[int], intercept: bool) -> int:
    """Return the rank of some rows modulo a prime: never more than their rank."""
    prime, found = 2**61 - 1, 0
    one = (1 << -data.exponent) * intercept
    left = [
        dict(zip([-1, *j], [one, *x], strict=True)) for j, x in (data.whole[n] for n in numbers)
    ]
    while left:
        row = {j: x % prime for j, x in left.pop().items() if x % prime}
        found += bool(row)
        for other in left if row else []:
            pivot = next(iter(row))
            factor = other.get(pivot, 0) * pow(row[pivot], -1, prime) % prime
            for j, x in row.items():
                other[j] = (other.get(j, 0) - factor * x) % prime
    return found
