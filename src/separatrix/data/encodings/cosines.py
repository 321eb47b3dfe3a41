"""Random cosines of standardised columns, the same bits on every computer.

    cos 2 pi (u_k . z + t_k)    for k = 1 ... D,  z the standardised row

The mean over k of the product of two rows' cosines is about exp(-gamma |z - z'|^2) / 2 (Rahimi and
Recht, 2007): a hyperplane in these features is about an RBF kernel's curve in the columns. The part
that a coordinate has in a direction u_k is a sum of twelve uniform numbers less 6, which is nearly
normal, times sqrt(2 gamma) / (2 pi): gamma is that of the kernel.

No rounding depends on the computer:

- random numbers are 32-bit halves of PCG64's own stream, whose sums are exact;
- z is held within 256 and rounded to multiples of 2^-16, u_k and t_k to multiples of 2^-18, so that
  the products of at most 255 columns and all their partial sums fit 53 bits. They are exact in any
  order, fused or not, and so is the turn that is left after whole turns are taken off;
- the cosine of that turn is a polynomial in plain products and sums, one operation at a time. It is
  within 1e-15 of the cosine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.base import required

__all__ = ["FARTHEST", "MOST_COLUMNS", "PER_UNIT", "TERMS", "Cosines", "cosine_of_turns"]

MOST_COLUMNS = 255
FARTHEST, PER_UNIT = 256.0, 2.0**16  # of a standardised value
_PARTS = 2.0**18  # of a turn, and of a direction
_WIDEST = 1.0  # of a direction's deviation: twelve uniform numbers less 6 stay below 8 then
_MOST = 4096  # cosines
_AT_A_TIME = 1 << 22  # values


def _terms() -> tuple[float, ...]:
    """Return the coefficients of sin 2 pi q = c_1 q + c_3 q^3 + ..., the first one first."""
    turn = 2.0 * math.pi
    found = [turn]
    for power in range(3, 23, 2):
        found.append(-found[-1] * turn / power * turn / (power - 1))
    return tuple(found)


TERMS = _terms()


def cosine_of_turns(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cos(2 pi t), with an error below 1e-15; the array given is used up.

    >>> cosine_of_turns(np.array([0.0, 0.25, 0.5, -7.125])).round(12).tolist()
    [1.0, 0.0, -1.0, 0.707106781187]
    """
    turns -= np.rint(turns)  # exact
    np.abs(turns, out=turns)
    quarter = np.subtract(0.25, turns, out=turns)  # cos 2 pi t = sin 2 pi (1/4 - |t|)
    square = quarter * quarter
    sine = np.full_like(square, TERMS[-1])
    for term in TERMS[-2::-1]:
        sine *= square
        sine += term
    sine *= quarter
    return sine


@dataclass(frozen=True, eq=False)
class Cosines:
    """Cosines of some columns, for the kernel exp(-gamma |z - z'|^2 / variance).

    `variance` is about that of the columns together: 1 of a standardised one, and at most 1/4 of
    one that holds 0 and 1. Together the cosines are as large as the columns are.
    """

    columns: tuple[int, ...]
    count: int
    gamma: float
    variance: float

    @property
    def speed(self) -> float:
        """The deviation of a direction's parts, in turns."""
        return min(_WIDEST, math.sqrt(2.0 * self.gamma / self.variance) / (2.0 * math.pi))

    @property
    def size(self) -> float:
        """The largest value of a cosine."""
        return math.sqrt(2.0 * self.variance / self.count)

    @cached_property
    def drawn(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The directions, a column each, and the offsets, in turns."""
        width = len(self.columns)
        halves = np.random.PCG64(0).random_raw(6 * width * self.count).view(np.uint32)
        sums = halves.reshape(width, self.count, 12).sum(axis=2, dtype=np.uint64)
        normal = sums.astype(np.float64) / 2.0**32 - 6.0
        directions = np.rint(normal * self.speed * _PARTS) / _PARTS
        steps = np.random.PCG64(1).random_raw(self.count) >> np.uint64(46)
        return directions, steps.astype(np.float64) / _PARTS

    def apply(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cosines of standardised rows."""
        directions, offsets = self.drawn
        found = np.empty((len(Z), self.count))
        step = max(1, _AT_A_TIME // self.count)
        for at in range(0, len(Z), step):
            some = np.clip(Z[at : at + step, list(self.columns)], -FARTHEST, FARTHEST)
            turns = (np.rint(some * PER_UNIT) / PER_UNIT) @ directions
            turns += offsets
            found[at : at + step] = cosine_of_turns(turns)
        found *= self.size
        return found

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [f"cosine {number + 1}" for number in range(self.count)]

    def to_list(self) -> list[Any]:
        """Return plain data, ready for JSON, that say the same."""
        return [list(self.columns), self.count, self.gamma, self.variance]

    @classmethod
    def from_list(cls, plain: Any, width: int) -> Cosines:
        """Return what plain data describe, of a table with so many columns."""
        required(isinstance(plain, list) and len(plain) == 4, "cosines must be four things")
        columns, count, gamma, variance = plain
        required(
            isinstance(columns, list)
            and 0 < len(columns) <= MOST_COLUMNS
            and all(type(at) is int and 0 <= at < width for at in columns),
            "cosines must be those of columns",
        )
        required(type(count) is int and 0 < count <= _MOST, "cosines must be counted")
        sound = all(type(each) is float and 1e-9 < each < 1e9 for each in (gamma, variance))
        required(sound, "cosines must have a gamma and a variance")
        return cls(tuple(columns), count, gamma, variance)
