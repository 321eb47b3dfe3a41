"""Floats as integers: a float64 is an integer times a power of two, so no sum here is rounded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain, islice, pairwise, repeat
from operator import mul, or_
from typing import Any

from .codec import Refused, require
from .fingerprint import SECOND, Row, fingerprint

Shares = list[tuple[int, int]]  # row numbers, and by what integer each row is multiplied
Whole = tuple[Sequence[int], list[int]]  # the same with integers in place of floats


def integers(values: Iterable[float]) -> tuple[list[int], int]:
    """Return integers m and one exponent e <= 0 with value = m * 2**e, exactly.

    >>> integers([0.5, 3.0])
    ([1, 6], -1)
    """
    listed = list(values)
    sizes = [abs(value) for value in listed if value]
    bits = max(0, 53 - math.frexp(min(sizes, default=1.0))[1])  # the least is then an integer
    if bits < 1000 and max(sizes, default=0.0) < 2.0 ** (1000 - bits):
        found = list(map(int, map(mul, listed, repeat(2.0**bits))))  # no product is rounded
    else:
        found = [n << bits >> (d.bit_length() - 1) for n, d in map(float.as_integer_ratio, listed)]
    together = reduce(or_, found, 1 << bits)
    spare = (together & -together).bit_length() - 1  # zeros at the end of all
    return [n >> spare for n in found] if spare else found, spare - bits


def integer_vectors(vectors: Sequence[Sequence[float]]) -> tuple[list[list[int]], int]:
    """Return the same of several vectors, which share the exponent."""
    flat, exponent = integers(chain.from_iterable(vectors))
    rest = iter(flat)
    return [list(islice(rest, len(vector))) for vector in vectors], exponent


def ratio(number: int, exponent: int) -> Fraction:
    """Return number * 2**exponent, for an exponent that is not above zero."""
    return Fraction(number, 1 << -exponent)


def square(numbers: Iterable[int]) -> int:
    """Return the sum of squares."""
    return sum(n * n for n in numbers)


@dataclass(frozen=True)
class Data:
    """Rows and class numbers, as exact as the stored floats; the names of classes, where known."""

    rows: Sequence[Row]
    codes: Sequence[int]
    n_features: int
    n_classes: int
    classes: tuple[str, ...] = ()

    @cached_property
    def _scaled(self) -> tuple[list[Whole], int]:
        found, exponent = integer_vectors([x for _, x in self.rows])
        return [(j, x) for (j, _), x in zip(self.rows, found, strict=True)], exponent

    @property
    def whole(self) -> list[Whole]:
        """All rows as integers, in units of ``2**exponent``."""
        return self._scaled[0]

    @property
    def exponent(self) -> int:
        """The exponent of the integers, not above zero."""
        return self._scaled[1]

    @cached_property
    def columns(self) -> list[list[int]]:
        """The same integers column by column, with the zeros between them."""
        found = [[0] * len(self.rows) for _ in range(self.n_features)]
        for i, row in enumerate(self.whole):
            for j, x in zip(*row, strict=True):
                found[j][i] = x
        return found

    def refuse_disorder(self) -> None:
        """Refuse rows, columns and class numbers that do not fit together."""
        if len(self.rows) != len(self.codes) or not self.rows:
            raise Refused("there must be rows, and a class for each")
        if any(not 0 <= code < self.n_classes for code in self.codes):
            raise Refused("every class number must be one of the classes")
        for j, x in self.rows:
            if len(j) != len(x) or any(a >= b for a, b in pairwise([-1, *j, self.n_features])):
                raise Refused("columns must be named once, in order, and be columns of the data")

    def fingerprint(self, like: str = SECOND) -> str:
        """Return the fingerprint of the data, of the same kind as `like`."""
        return fingerprint(self.rows, self.codes, self.n_features, self.n_classes, like)

    def scores(self, weights: Sequence[int], intercept: bool) -> Iterator[int]:
        """Yield b + w.x of every row in units of ``2**exponent``, for [b, w_1, ..., w_d]."""
        bias, w = (weights[0] << -self.exponent) * intercept, weights[1:]
        for columns, entries in self.whole:
            chosen = w if len(entries) == len(w) else map(w.__getitem__, columns)
            yield bias + sum(map(mul, entries, chosen))

    def products(self, number: int) -> Iterator[int]:
        """Yield the products of one row with every row, in units of ``2**(2 exponent)``."""
        columns, entries = self.whole[number]
        get, d = dict(zip(columns, entries, strict=True)).get, self.n_features
        for others, values in self.whole:
            full = len(values) == len(entries) == d
            yield sum(map(mul, values, entries if full else map(get, others, repeat(0))))

    def combination(self, shares: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Return sum s x over (row number, s), column by column, in units of ``2**exponent``."""
        listed = list(shares)
        rows = [self.whole[number] for number, _ in listed]
        if all(len(x) == self.n_features for _, x in rows):
            factors = [share for _, share in listed]
            columns = zip(*(x for _, x in rows), strict=True)
            return {j: sum(map(mul, factors, column)) for j, column in enumerate(columns)}
        total: dict[int, int] = {}
        get = total.get
        for (columns_of, x), (_, share) in zip(rows, listed, strict=True):
            for j, value in zip(columns_of, x, strict=True):
                total[j] = get(j, 0) + share * value
        return total


def margins(data: Data, weights: Sequence[Sequence[int]], intercept: bool) -> Iterator[int]:
    """Yield every signed margin w.z, in units of ``2**exponent`` of the data.

    With several weight vectors, one for each class: the row's own class against every other.
    """
    every = [data.scores(w, intercept) for w in weights]
    if len(every) == 1:
        yield from (z if code == 1 else -z for code, z in zip(data.codes, *every, strict=True))
        return
    for code, *scores in zip(data.codes, *every, strict=True):
        own = scores.pop(code)
        yield from (own - score for score in scores)


def distinct(rows: Sequence[int], values: Sequence[Any], among: int) -> None:
    """Refuse row numbers that are not different numbers of rows, with a value each."""
    require(len(rows) == len(values), "rows and multipliers must be of one length")
    if len(set(rows)) != len(rows) or any(row >= among for row in rows):
        raise Refused("a row is named twice, or is no row of the data")
