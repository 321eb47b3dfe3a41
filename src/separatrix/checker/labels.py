"""Labels and numbers as they are written, and the order of classes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST = 1000


def as_number(label: str) -> Fraction | None:
    """Return the number a label is, without rounding; None where it is text."""
    if len(label) > _LONGEST or not NUMBER.fullmatch(label):
        return None
    return Fraction(label)


def same_label(written: str, name: str) -> bool:
    """Whether two labels mean one class: the same text, or the same number.

    >>> same_label("+1", "1.0"), same_label("9007199254740992", "9007199254740993")
    (True, False)
    """
    return written == name or (
        as_number(written) is not None and as_number(written) == as_number(name)
    )


def in_order(labels: Iterable[str]) -> dict[str, int]:
    """Return the class number of every label: by value if all are numbers, else as text.

    >>> in_order(["10", "+9", "9"])
    {'10': 1, '+9': 0, '9': 0}
    """
    spelled = dict.fromkeys(labels)
    numbers = {label: as_number(label) for label in spelled}
    if any(number is None for number in numbers.values()):
        return {label: code for code, label in enumerate(sorted(spelled))}
    places = {number: code for code, number in enumerate(sorted(set(numbers.values())))}  # type: ignore[type-var]
    return {label: places[numbers[label]] for label in spelled}
