"""The fields of a certificate: each is read by a rule of its own, and no other field may be there.

Floats are C99 hexadecimal text, long integers hexadecimal text, counts and row numbers JSON
integers. What does not fit is `Refused`, with the name of the field. Labels are compared as the
numbers that are written, where they are numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

FLOAT = re.compile(r"-?0x[01](\.[0-9a-f]{1,13})?p[+-]?[0-9]{1,4}")
INTEGER = re.compile(r"-?0x[0-9a-f]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
VERIFY = "separatrix verify CERTIFICATE DATA reads more forms of files"
_LONGEST, _LONGEST_INTEGER = 1000, 1 << 18  # characters

Reader = Callable[[Any], Any]


class Refused(ValueError):
    """The certificate does not prove its claim; the message says where."""


def require(holds: Any, reason: str) -> None:
    """Refuse, for this reason, unless it holds."""
    if not holds:
        raise Refused(reason)


MOST_STEPS = 1 << 33  # products of 64 bits: about fifteen minutes


def require_work(steps: int, what: str) -> None:
    """Refuse, before it begins, what would take hours or more memory than there is."""
    require(steps <= MOST_STEPS, f"{what}: too much work for this checker, separatrix verify")


def words(bits: int) -> int:
    """Return in how many words of 64 bits a number of so many bits is held."""
    return (bits >> 6) + 1


class Claim:
    """The fields of one JSON object, as attributes; the optional ones that are absent are None."""

    kind: str  # of what is said of the data: that of the certificate

    def __init__(self, value: Any, where: str, fields: dict[str, Reader], optional: Any = ()):
        require(type(value) is dict, f"{where} must be a JSON object")
        lacks, holds = fields.keys() - value - set(optional), value - fields.keys()
        for word, names in (("lacks", lacks), ("must not hold", holds)):
            require(not names, f"{where} {word} {', '.join(sorted(map(repr, names)))}")
        for name, reader in fields.items():
            try:
                setattr(self, name, reader(value[name]) if name in value else None)
            except Refused as reason:
                raise Refused(f"{where}, {name}: {reason}") from None

    def __getattr__(self, name: str) -> Any:  # for the type checker: fields are set above
        raise AttributeError(name)


@contextmanager
def refusing() -> Iterator[None]:
    """Refuse, as no certificate, whatever is stumbled on."""
    try:
        yield
    except RecursionError:
        raise Refused("the certificate is nested too deeply") from None
    except Refused:
        raise
    except (ArithmeticError, ValueError, MemoryError) as error:
        raise Refused(f"not a well-formed certificate: {type(error).__name__} {error}") from None


def parsed(text: str) -> Any:
    """Return what JSON text says; a name said twice, NaN and deep nesting are refused."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise Refused("the certificate is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "a JSON object names a field twice")
    return found


def _no_constant(name: str) -> Any:
    raise Refused(f"{name} is no number")


def _of(kind: type, what: str, least: Any = None) -> Reader:
    """Accept what JSON has as this type, and where it is a number none below the least."""

    def read(value: Any) -> Any:
        if type(value) is not kind or not (least is None or value >= least):
            got = type(value).__name__ if isinstance(value, list | dict) else str(value)[:40]
            raise Refused(f"expected {what}, got {got}")
        return value

    return read


text, flag = _of(str, "text"), _of(bool, "true or false")
whole, count = _of(int, "a whole number"), _of(int, "a whole number, at least 0", 0)


def _fitting(value: Any, fits: Callable[[str], Any], what: str) -> str:
    if not fits(text(value)):
        raise Refused(f"expected {what}, got {value[:40]!r}")
    return str(value)


def number(value: Any) -> float:
    """Accept a finite float64 in hexadecimal."""
    try:
        return float.fromhex(_fitting(value, FLOAT.fullmatch, "a finite number in hexadecimal"))
    except OverflowError:
        raise Refused(f"{value[:40]!r} is too large for a float64") from None


def cost(value: Any) -> float:
    """Accept a number that is not below zero, or inf."""
    found = math.inf if value == "inf" else number(value)
    require(found >= 0.0, "a cost must not be below zero")
    return found


def share(value: Any) -> float | None:
    """Accept a number, or nan where there is none."""
    return None if value == "nan" else number(value)


def integer(value: Any) -> int:
    """Accept an integer in hexadecimal."""
    require(len(text(value)) <= _LONGEST_INTEGER, "an integer has more than a million bits")
    return int(_fitting(value, INTEGER.fullmatch, "an integer in hexadecimal"), 16)


def one_of(*names: str) -> Reader:
    """Accept one of some words."""
    return lambda value: _fitting(value, names.__contains__, f"one of {', '.join(names)}")


def many(reader: Reader) -> Reader:
    """Accept a list of such values."""

    def read(value: Any) -> list[Any]:
        require(type(value) is list, "expected a list")
        return [reader(each) for each in value]

    return read


def record(where: str, fields: dict[str, Reader]) -> Reader:
    """Accept a JSON object of such fields."""
    return lambda value: Claim(value, where, fields)


def anything(value: Any) -> Any:
    """Leave a value to its own reader."""
    return value


def as_number(label: str) -> Fraction | None:
    """Return the number a label is, without rounding; None where it is text."""
    return Fraction(label) if len(label) <= _LONGEST and NUMBER.fullmatch(label) else None


def same_label(written: str, name: str) -> bool:
    """Whether two labels mean one class: the same text, or the same number.

    >>> same_label("+1", "1.0"), same_label("9007199254740992", "9007199254740993")
    (True, False)
    """
    number = as_number(written)
    return written == name or (number is not None and number == as_number(name))


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
