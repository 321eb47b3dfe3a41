"""Positive multiples of rows that sum to zero: no hyperplane separates, and which rows are tied."""

from __future__ import annotations

from collections.abc import Iterable

from .codec import Claim, Refused, counts, integer, integers_of
from .exact import Data, margins
from .separation import signed_sum, weight_vectors

_TIED = "on the boundary whenever none is beyond it"
WITNESS = {"rows": counts, "multipliers": integers_of}
OVERLAP = WITNESS | {"others": integer}
QUASI = OVERLAP | {"integers": integers_of}


def refuse_sum(data: Data, rows: list[int], multipliers: list[int], intercept: bool) -> None:
    """Refuse multipliers that are not positive, or whose multiples of rows do not sum to zero."""
    if data.n_classes != 2 or not multipliers or min(multipliers) <= 0:
        raise Refused("a witness needs two classes and positive multipliers")
    if any(signed_sum(data, rows, multipliers, intercept)):
        raise Refused("the multiples of the rows do not sum to zero")


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
    if data.n_classes != 2:
        raise Refused("a witness needs two classes")
    weights, _ = weight_vectors(data, None, claim.integers)
    signs = list(margins(data, weights, intercept))
    tight = {row for row, margin in enumerate(signs) if margin == 0}
    if min(signs) < 0 or max(signs) == 0:
        raise Refused("the weights must leave no margin negative, and some positive")
    _refuse_loose(data, claim, tight, intercept, may_span=False)
    return f"of {len(signs)} rows, {len(tight)} are {_TIED}"


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
    if rest and not claim.others and not spans:
        raise Refused("the named rows do not span the others")


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
