"""Exercises of the lectures, and the reply to an answer: right, or what is wrong with it.

An exercise is a function: its docstring is the text, and it yields values with a hint each. A
value without a hint is right. The others are wrong answers that come to mind, each with a sentence
that helps and does not give the answer away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from separatrix.lectures.forms import Form, Unreadable

__all__ = ["LECTURES", "Exercise", "Reply", "Sheet", "check", "exercise", "exercises"]

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
