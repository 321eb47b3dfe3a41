"""Floats as integers: a float64 is an integer times a power of two, so no sum here is rounded.

The fingerprint of data, defined in docs/certificates.md: a tree of SHA-256.

Certificates of version 0.1 have another one, without `2-` in front.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, chain, islice, pairwise, repeat
from operator import mul, or_
from typing import Any

from .codec import Refused, require, require_work, words

SECOND = "2-"  # the fingerprint of this version begins so
LEAF_ROWS = 4096
_KEPT = 64  # a word that is kept in memory counts for so many steps
FEW_COLUMNS, MANY_COLUMNS = 1 << 16, 1 << 32  # column numbers of two and of four bytes

Row = tuple[Sequence[int], Sequence[float]]  # column numbers, ascending, and their non-zero values


def is_fingerprint(name: object) -> bool:
    """Whether this could be a fingerprint of either kind.

    >>> is_fingerprint("2-" + "0" * 64), is_fingerprint("0" * 64), is_fingerprint("")
    (True, True, False)
    """
    return re.fullmatch("(2-)?[0-9a-f]{64}", str(name)) is not None


def _leaf(rows: Sequence[Row], d: int) -> bytes:
    """Return the hash of some rows, dense or sparse as suits them."""
    values = [x for _, entries in rows for x in entries]
    if all(0.0 <= x <= 255.0 and x == int(x) for x in values):
        kind, values = "B", [int(x) for x in values]
    else:
        kind = "f" if array("f", values).tolist() == values else "d"
    column = "H" if d <= FEW_COLUMNS else "I" if d <= MANY_COLUMNS else "Q"
    width, per_entry = (array(letter).itemsize for letter in (kind, column))
    sparse_bytes = 4 * len(rows) + len(values) * (per_entry + width)
    is_dense = len(rows) * d * width <= 2 * sparse_bytes
    digest = hashlib.sha256(bytes([is_dense, width]))
    if is_dense:
        full: list[float] = [0] * (len(rows) * d)
        places = (i * d + j for i, (columns, _) in enumerate(rows) for j in columns)
        for place, value in zip(places, values, strict=True):
            full[place] = value
        digest.update(_bytes(kind, full))
    else:
        digest.update(_bytes("I", [len(entries) for _, entries in rows]))
        digest.update(_bytes(column, [j for columns, _ in rows for j in columns]))
        digest.update(_bytes(kind, values))
    return digest.digest()


def _bytes(kind: str, numbers: Iterable[float]) -> bytes:
    """Return numbers as little-endian bytes."""
    part = array(kind, numbers)
    if sys.byteorder == "big":
        part.byteswap()
    return part.tobytes()


# ---- floats as integers: a float64 is an integer times a power of two, so no sum here is rounded


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


def at_least(value: float | Fraction, digits: int) -> str:
    """Return a number in so many digits that is not above the given one.

    >>> at_least(0.09649, 2), at_most(0.09641, 2), at_most(Fraction(1, 3), 4)
    ('0.096', '0.097', '0.3334')
    """
    return _in_digits(value, Context(digits, ROUND_FLOOR))


def at_most(value: float | Fraction, digits: int) -> str:
    """Return a number in so many digits that is not below the given one."""
    return _in_digits(value, Context(digits, ROUND_CEILING))


def _in_digits(value: float | Fraction, rounding: Context) -> str:
    if not (isinstance(value, Fraction) or math.isfinite(value)):
        return str(value)
    rounded = rounding.divide(*map(Decimal, value.as_integer_ratio()))
    near = float(rounded)  # which has as many digits, unless it is hardly a float
    is_float = not rounded or sys.float_info.min <= abs(near) < math.inf
    return f"{near if is_float else rounded:.{rounding.prec}g}"


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
    def long(self) -> int:
        """In words of 64 bits, the longest integer."""
        return max((_longest(x) for _, x in self.whole), default=1)

    @property
    def work(self) -> int:
        """In words, what one pass over all rows and their entries takes."""
        return self.long * (len(self.rows) + sum(len(x) for _, x in self.whole))

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
        shape = _bytes("q", [len(self.rows), self.n_features, self.n_classes])
        if like.startswith(SECOND):
            digest = hashlib.sha256(b"separatrix-data-2\n" + shape)
            digest.update(hashlib.sha256(_bytes("I", self.codes)).digest())
            for begin in range(0, len(self.rows), LEAF_ROWS):
                digest.update(_leaf(self.rows[begin : begin + LEAF_ROWS], self.n_features))
            return SECOND + digest.hexdigest()
        digest = hashlib.sha256(b"separatrix-data-1\n" + shape + _bytes("q", self.codes))
        columns, values = (chain.from_iterable(parts) for parts in zip(*self.rows, strict=True))
        starts = accumulate((len(entries) for _, entries in self.rows), initial=0)
        for kind, numbers in (("q", starts), ("q", columns), ("d", values)):
            digest.update(_bytes(kind, numbers))
        return digest.hexdigest()

    def scores_of(self, vectors: Sequence[Sequence[int]], intercept: bool) -> list[Iterator[int]]:
        """Return the scores of each weight vector, if they are not too much work."""
        require_work(sum(self.work * _longest(w) for w in vectors), "the scores of all rows")
        return [self.scores(w, intercept) for w in vectors]

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
        entries, long = sum(len(x) for _, x in rows), _longest(share for _, share in listed)
        kept = _KEPT * min(entries, self.n_features)
        require_work((entries + kept) * long, "the sums of columns")
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


def _longest(numbers: Iterable[int]) -> int:
    """Return the words of 64 bits of the longest number."""
    return words(max(map(abs, numbers), default=0).bit_length())


def margins(data: Data, weights: Sequence[Sequence[int]], intercept: bool) -> Iterator[int]:
    """Yield every signed margin w.z, in units of ``2**exponent`` of the data.

    With several weight vectors, one for each class: the row's own class against every other.
    """
    every = data.scores_of(weights, intercept)
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
