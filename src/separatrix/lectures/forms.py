"""The forms of an answer: numbers, or a set of words. Each reads and compares generously.

A number may be an int, a float, a fraction, or a text such as "1/3". Three digits are enough. The
general slips (a sign, a factor of two, the order) have sentences here; an exercise adds its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Form", "Members", "Numbers", "Unreadable"]

Array = NDArray[np.float64]
_TOL = 6e-3  # a number rounded to three digits is at most 5e-3 off


class Unreadable(Exception):
    """The answer is not of the form that the exercise needs; the message says which form it is."""


@dataclass(frozen=True)
class Numbers:
    """One number, or several in a fixed order.

    Parameters
    ----------
    names : tuple of str
        What the numbers are, in order; empty for a single number.
    up_to : "nothing", "length" or "factor", default="nothing"
        What does not count: the length of a vector, or its length and sign.
    whole : bool, default=False
        Whether only the exact integers are right.
    sign : str, default=""
        A question that helps where only the sign is wrong.
    """

    names: tuple[str, ...] = ()
    up_to: Literal["nothing", "length", "factor"] = "nothing"
    whole: bool = False
    sign: str = ""

    def read(self, given: Any) -> Array:
        """Return the numbers given, nested or not."""
        try:
            found = np.array([_number(each) for each in _flat(given)])
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            raise Unreadable(f"This is not a number. {self.needed}") from None
        if len(found) != max(len(self.names), 1):
            raise Unreadable(f"The count of numbers is not right. {self.needed}")
        if not np.isfinite(found).all():
            raise Unreadable(f"Every number must be finite. {self.needed}")
        if self.up_to != "nothing" and not found.any():
            raise Unreadable(f"A vector of zeros has no direction. {self.needed}")
        return found

    @property
    def needed(self) -> str:
        """Say what the answer must be."""
        if not self.names:
            return "Give a whole number." if self.whole else "Give a number."
        return f"Give {', '.join(self.names)}, in this order."

    def same(self, given: Array, answer: Any) -> bool:
        """Say whether the numbers are those of the answer."""
        target = self.read(answer)
        if self.whole:
            return bool((given == target).all())
        if self.up_to == "nothing":
            return _near(given, target)
        given, target = given / np.linalg.norm(given), target / np.linalg.norm(target)
        return _near(given, target) or (self.up_to == "factor" and _near(-given, target))

    def slip(self, given: Array, answer: Any) -> str | None:
        """Return a sentence on a general slip, if it is one."""
        target = self.read(answer)
        several = len(target) > 1
        if self.same(-given, target):
            return f"The sign is wrong{': ' + self.sign if self.sign else '.'}"
        if self.up_to == "nothing" and (_near(given, 2 * target) or _near(2 * given, target)):
            return "Off by a factor of two."
        if several and self.same(np.sort(given), np.sort(target)):
            return f"The numbers are right, their order is not. {self.needed}"
        if several and self.up_to == "nothing" and _parallel(given, target):
            return "The direction is right, the length is not."
        if not several and not self.whole and _near(given * target, np.ones(1)):
            return "This is the reciprocal."
        if not several and not self.whole and target > 0 and _near(given, target**2):
            return "This is the square."
        if not several and not self.whole and target > 0 and _near(given, np.sqrt(target)):
            return "This is the square root."
        if not self.whole and _near(given, target, 10 * _TOL):
            return "Near, but not near enough: keep more digits."
        if not several and self.whole and abs(given[0] - target[0]) == 1:
            return "Off by one."
        return None


@dataclass(frozen=True)
class Members:
    """A set of words, in any order.

    Parameters
    ----------
    what : str
        What the members are: 'letters, such as "a c"', say.
    """

    what: str

    def read(self, given: Any) -> frozenset[str]:
        """Return the members given; a text is split at spaces and commas."""
        if isinstance(given, str):
            given = given.replace(",", " ").split()
        if not isinstance(given, Iterable) or isinstance(given, dict):
            raise Unreadable(f"This is not a set. {self.needed}")
        members = list(given)
        if not all(isinstance(each, str) for each in members):
            raise Unreadable(f"Every member must be a text. {self.needed}")
        return frozenset(each.strip() for each in members)

    @property
    def needed(self) -> str:
        """Say what the answer must be."""
        return f"Give a set of {self.what}."

    def same(self, given: frozenset[str], answer: Any) -> bool:
        """Say whether both sets have the same members."""
        return given == self.read(answer)

    def slip(self, given: frozenset[str], answer: Any) -> str | None:
        """Return a sentence on a general slip."""
        target = self.read(answer)
        if given < target:
            return "All of these belong, but some are missing."
        if given > target:
            return "All that belong are here, but others are too."
        if not given & target:
            return "None of these belongs."
        return "Some of these belong, some do not, and some are missing."


Form = Numbers | Members


def _flat(given: Any) -> list[Any]:
    """Return the numbers of a nested list, an array, a column, or one number."""
    if hasattr(given, "tolist"):  # of NumPy, pandas or polars
        given = given.tolist()
    if isinstance(given, list | tuple):
        return [number for each in given for number in _flat(each)]
    return [given]


def _number(each: Any) -> float:
    if isinstance(each, bool | np.bool_):
        raise TypeError
    if isinstance(each, str):
        return float(Fraction(each.strip()))
    if isinstance(each, Real) or hasattr(each, "__float__"):
        return float(each)
    raise TypeError


def _near(given: Array, target: Array, tol: float = _TOL) -> bool:
    """Say whether no number is further off than a share of the largest."""
    scale = float(np.abs(target).max()) or 1.0
    return bool((np.abs(given - target) <= tol * scale).all())


def _parallel(given: Array, target: Array) -> bool:
    lengths = float(np.linalg.norm(given)), float(np.linalg.norm(target))
    return min(lengths) > 0 and _near(given / lengths[0], target / lengths[1])
