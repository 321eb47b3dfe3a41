"""What the certificates of kernel rules claim, set against the exact value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from flint import arb, fmpq

from fuzz import exact_judge as judge
from fuzz.exact_certificates import Book, Facts, values_of
from fuzz.exact_judge import INFINITE, ball, exact, vector
from fuzz.exact_kernels import product, summed, times

__all__ = ["kernel_overlap", "kernel_separation"]

_ROOM = 1e-9  # of the length of the longest row, which is stated as computed
_LEAST = 1e-150  # lengths whose squares may vanish


def kernel_separation(book: Book, proof: Any, facts: Facts) -> None:
    """Compare how many rows are right, and both bounds on the margin."""
    signs, shares = [1 if y == 1 else -1 for y in facts.codes], vector(proof.shares)
    b = exact(proof.bias)

    @judge.kept
    def K() -> Any:
        return values_of(proof.kernel, facts)

    def margins() -> list[Any]:
        scores = times(K(), shares)
        return [product(fmpq(s), summed([g, b])) for s, g in zip(signs, scores, strict=True)]

    def length() -> arb:
        """Return the length of [bias, w]."""
        return root(summed([square_of(K(), shares), b * b]))

    def lower() -> Any:
        least = margins()[0]
        for m in margins()[1:]:
            least = ball(least).min(ball(m))
        long = length()
        return fmpq(0) if long.is_zero() else ball(least) / long

    def upper() -> Any:
        if not any(shares) or any(s * v < 0 for s, v in zip(signs, shares, strict=True)):
            return INFINITE
        total = sum(shares, fmpq(0))
        return root(summed([square_of(K(), shares), total * total])) / arb(sum(map(abs, shares)))

    book.at_most("right", proof.right, lambda: number_above_zero(margins()))
    none = proof.kernel.is_positive is not True  # then there are no hyperplanes to speak of
    book.at_most("lower", proof.lower, lambda: fmpq(-1) if none else lower())
    book.at_least("upper", proof.upper, lambda: INFINITE if none else upper())


def number_above_zero(values: Sequence[Any]) -> Any:
    """Return how many numbers are above zero: a ball where some cannot be distinguished from 0."""
    sure = sum(bool(v > 0) for v in values)
    open_ = sum(isinstance(v, arb) and not v > 0 and not v <= 0 for v in values)
    return arb(sure).union(arb(sure + open_)) if open_ else fmpq(sure)


def root(value: Any) -> arb:
    """Return the square root of what is not below zero."""
    return ball(value).nonnegative_part().sqrt()


def square_of(K: Any, shares: Sequence[fmpq]) -> Any:
    """Return |w|^2."""
    return summed([product(s, g) for s, g in zip(shares, times(K, shares), strict=True)])


def kernel_overlap(book: Book, proof: Any, facts: Facts) -> None:
    """Compare the bound on all margins, and the length of the longest row."""
    rest, kernel = proof.negative < 0, proof.kernel
    signs = [
        1 if y == proof.positive else -1 if rest or y == proof.negative else 0 for y in facts.codes
    ]
    alpha = [fmpq(0)] * len(signs)
    for row, value in zip(proof.rows, vector(proof.multipliers), strict=True):
        alpha[row] += value
    shares = [s * a for s, a in zip(signs, alpha, strict=True)]

    @judge.kept
    def K() -> Any:
        return values_of(kernel, facts)

    def margin() -> Any:
        outside = any(a and not s for a, s in zip(alpha, signs, strict=True))
        if outside or any(a < 0 for a in alpha) or not any(alpha) or sum(shares, fmpq(0)):
            return INFINITE
        if cancel(facts, shares):
            return fmpq(0)
        if kernel.is_positive is False:
            return INFINITE
        square, size = square_of(K(), shares), sum(alpha, fmpq(0))
        if square < 0:  # the kernel, assumed to have a space, has none: rounding may hide that
            largest = arb(0)
            for value in (value for row in K() for value in row):
                largest = largest.max(abs(ball(value)))
            hidden = arb(_ROOM) * arb(size) * arb(size) * largest
            return fmpq(0) if -ball(square) <= hidden else INFINITE
        return root(square) / arb(size)

    def longest() -> Any:
        values = K()
        found = arb(0)
        for i, s in enumerate(signs):
            if s:
                found = found.max(ball(values[i][i]))
        return root(found)

    book.true("rows are named twice", len(set(proof.rows)) == len(proof.rows))
    book.at_least("margin", proof.margin, margin)
    if kernel.is_positive and proof.length < float("inf"):  # squares may overflow
        stated = proof.length * (1.0 - _ROOM) - _LEAST
        book.at_most("length about", min(stated, 1e300), longest)


def cancel(facts: Facts, shares: Sequence[fmpq]) -> bool:
    """Whether the shares of equal rows sum to zero."""
    groups: Any = defaultdict(fmpq)
    for row, share in zip(facts.rows, shares, strict=True):
        groups[tuple((int(v.p), int(v.q)) for v in row)] += share
    return not any(groups.values())
