"""Exercises of the lectures, and the reply to an answer: right, or what is wrong with it.

An exercise is a function: its docstring is the text, and it yields values with a hint each. A
value without a hint is right. The others are wrong answers that come to mind, each with a sentence
that helps and does not give the answer away.

The forms of an answer: numbers, or a set of words. Each reads and compares generously.

A number may be an int, a float, a fraction, or a text such as "1/3". Three digits are enough. The
general slips (a sign, a factor of two, the order) have sentences here; an exercise adds its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Exercise",
    "Form",
    "LECTURES",
    "Members",
    "Numbers",
    "Reply",
    "Sheet",
    "Unreadable",
    "check",
    "exercise",
    "exercises",
]


LECTURES = {
    "000": 'Federico Chiariotti, "Linear classification"',
    "001": 'lecture notes, "Linear predictors"',
    "002": 'V. Hlaváč, J. Matas, O. Drbohlav, "Learning and Linear Classifiers"',
    "003": 'Luca Iocchi, "Linear models for classification"',
    "004": 'lecture notes, "Module 6: Linear Classification"',
}
Values = Iterator[tuple[Any, str]]


@dataclass(frozen=True)
class Exercise:
    """The text of an exercise, where its matter stands in the lecture, and how it is checked."""

    section: str
    text: str
    form: Form
    values: Callable[[], Values]


@dataclass(frozen=True, repr=False)
class Reply:
    """What `check` says to an answer. It is true where the answer is right.

    >>> reply = Reply(False, "The sign is wrong.")
    >>> bool(reply), reply
    (False, The sign is wrong.)
    """

    right: bool
    text: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.text


class Sheet(dict[str, str]):
    """The exercises of a lecture: the text of each by its name."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {text}" for name, text in self.items())


def exercise(section: str, form: Form) -> Callable[[Callable[[], Values]], Exercise]:
    """Make an exercise of a function that yields right and wrong answers."""

    def made(values: Callable[[], Values]) -> Exercise:
        return Exercise(section, " ".join((values.__doc__ or "").split()), form, values)

    return made


def exercises(lecture: str | None = None) -> Sheet:
    """Return the ten exercises of a lecture, or those of all five, by name.

    Parameters
    ----------
    lecture : "000" to "004", default None
        The number of the lecture; None for all of them.

    Examples
    --------
    >>> import separatrix as sx
    >>> sheet = sx.lectures.exercises("003")
    >>> len(sheet), list(sheet)[0]
    (10, '003.1')
    """
    if lecture is not None and lecture not in LECTURES:
        raise ValueError(f"lecture must be one of {', '.join(LECTURES)}. Got {lecture!r} instead.")
    return Sheet(
        (f"{number}.{k}", each.text)
        for number in ([lecture] if lecture else LECTURES)
        for k, each in enumerate(sheet_of(number), 1)
    )


def check(name: str, answer: Any) -> Reply:
    """Say whether an answer is right, or what is wrong with it.

    Numbers may be floats, fractions or texts such as "1/3"; three digits are enough. The reply does
    not give the answer away.

    Parameters
    ----------
    name : str
        The lecture and the exercise: "004.3". `exercises` lists them.
    answer : number, sequence or set
        What the text of the exercise says.

    Returns
    -------
    Reply
        True where the answer is right; printed, it is a sentence.

    Examples
    --------
    >>> import separatrix as sx
    >>> print(sx.lectures.exercises("001")["001.3"])
    Let w = (3, 4) and b = -10. At which height does the hyperplane cross the vertical axis?
    >>> sx.lectures.check("001.3", -2.5)
    The sign is wrong: on the hyperplane, w.x + b is zero.
    >>> bool(sx.lectures.check("001.3", "5/2"))
    True
    """
    found = by_name(name)
    if answer is None or answer is ...:
        return Reply(False, "Put your answer in place of the dots.")
    try:
        given = found.form.read(answer)
    except Unreadable as unreadable:
        return Reply(False, str(unreadable))
    right, wrong = solved(found)
    form: Any = found.form  # it reads what it compares
    if any(form.same(given, value) for value in right):
        return Reply(True, "Right.")
    for value, hint in wrong:
        if form.same(given, value):
            return Reply(False, hint)
    general = form.slip(given, right[0])
    return Reply(False, general or f'This is not right. The lecture has it in "{found.section}".')


def by_name(name: str) -> Exercise:
    """Return the exercise of that name."""
    lecture, _, number = str(name).partition(".")
    if lecture in LECTURES and number.isdecimal() and 1 <= int(number) <= len(sheet_of(lecture)):
        return sheet_of(lecture)[int(number) - 1]
    raise ValueError(
        f"There is no exercise {name!r}: they are named '000.1' to '004.10', and "
        "sx.lectures.exercises() lists them."
    )


def sheet_of(lecture: str) -> tuple[Exercise, ...]:
    """Return the exercises of a lecture in order."""
    found: tuple[Exercise, ...] = import_module(f"separatrix.lectures.lecture_{lecture}").EXERCISES
    return found


@cache
def solved(exercise: Exercise) -> tuple[list[Any], list[tuple[Any, str]]]:
    """Return the right answers, and the wrong ones with their hints."""
    values = list(exercise.values())
    return [value for value, hint in values if not hint], [pair for pair in values if pair[1]]


# ---- the forms of an answer: numbers, or a set of words. Each reads and compares generously


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
