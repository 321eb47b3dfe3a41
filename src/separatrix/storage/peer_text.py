"""What LIBLINEAR's and LIBSVM's model files have in common: a head of words, then numbers.

Their own loaders trust the file and crash on a damaged one; here every count is checked against
what is there before anything is made of it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from separatrix.errors import ModelFileError

_LARGEST = 2**31 - 2
_MOST_BYTES = 1 << 34


class Head:
    """The words of the head, each with its values, and the lines that follow it."""

    def __init__(self, words: dict[str, list[str]], lines: list[bytes]) -> None:
        self._words, self.lines = words, lines

    def text(self, word: str) -> str:
        """Return the one value of a word."""
        values = self._words.get(word, [])
        if len(values) != 1:
            raise ModelFileError(f"the head must give one value of {word}.")
        return values[0]

    def has(self, word: str) -> bool:
        """Whether the head gives this word."""
        return word in self._words

    def _texts(self, word: str, count: int) -> list[str]:
        values = self._words.get(word, [])
        if len(values) != count:
            raise ModelFileError(f"the head must give {count} values of {word}.")
        return values

    def whole(self, word: str, least: int = 0) -> int:
        """Return the one value of a word as a whole number."""
        return _whole(self.text(word), word, least)

    def class_count(self) -> int:
        """Return the number of classes, which is two at least."""
        count = self.whole("nr_class")
        if count < 2:
            raise ModelFileError(
                f"nr_class is {count}: the model was trained on one class and answers that for "
                "every row. There is nothing to tell apart, and it is not read."
            )
        return count

    def wholes(self, word: str, count: int) -> list[int]:
        """Return so many whole numbers."""
        return [_whole(value, word, -_LARGEST) for value in self._texts(word, count)]

    def numbers(self, word: str, count: int) -> np.ndarray:
        """Return so many finite numbers."""
        return finite(self._texts(word, count), word)

    def number(self, word: str) -> float:
        """Return one finite number."""
        return float(self.numbers(word, 1)[0])


def read_peer(path: str | os.PathLike[str], last: str, read: Callable[[Head], Any]) -> Any:
    """Return what `read` makes of a file; a fault names the file."""
    try:
        return read(read_head(path, last))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def as_read(model: Any, n_features: int, **fitted: Any) -> Any:
    """Give a model the values that a file holds; it carries no certificate."""
    from separatrix.solvers.running.drive import Status

    known = {"certificate_": None, "status_": Status.READ, "n_iter_": 0, "n_passes_": 0.0}
    for name, value in {**fitted, "n_features_in_": n_features, **known}.items():
        setattr(model, name, value)
    return model


def read_head(path: str | os.PathLike[str], last: str) -> Head:
    """Read a file whole; the head ends with the word `last` alone on its line."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > _MOST_BYTES:
            raise ModelFileError("the file is larger than any model of this kind.")
        lines = file.read().split(b"\n")
    words: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        if number > 64:
            break
        parts = line.decode("latin-1").split()
        if parts == [last]:
            return Head(words, lines[number + 1 :])
        if parts:
            if parts[0] in words:
                raise ModelFileError(f"the head gives {parts[0]!r:.40} twice.")
            words[parts[0]] = parts[1:]
    raise ModelFileError(f"the head does not end with {last!r}: not a model file of this kind.")


def _whole(text: str, word: str, least: int) -> int:
    digits = text[1:] if text[:1] in "+-" else text
    if digits.isascii() and digits.isdigit() and len(digits) <= 10:
        value = int(text)
        if least <= value <= _LARGEST:
            return value
    raise ModelFileError(f"{word} must be a whole number. Got {text!r:.40} instead.")


def finite(values: Iterable[Any], what: str) -> np.ndarray:
    """Return texts as finite numbers.

    >>> finite(["1", "-2.5e3"], "rho").tolist()
    [1.0, -2500.0]
    """
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        raise ModelFileError(f"{what} must be numbers.") from None
    if not np.isfinite(numbers).all():
        raise ModelFileError(f"{what} must be finite numbers.")
    return numbers


def number_text(value: float) -> str:
    """Write a float so that it reads back the same, as C's ``%.17g`` would.

    >>> number_text(0.5), number_text(1.0), number_text(1e-300)
    ('0.5', '1', '1e-300')
    """
    whole = math.isfinite(value) and abs(value) < 1e15 and value % 1 == 0
    return str(int(value)) if whole else repr(value)


def label_texts(classes: np.ndarray, numbered: bool) -> list[str]:
    """Write classes as the whole numbers that the peers' files hold, or say that they are none."""
    if numbered:
        return [str(number) for number in range(len(classes))]
    found = []
    for name in classes.tolist():
        try:
            value = float(name)
        except (TypeError, ValueError):
            value = math.nan
        if isinstance(name, bool) or not (value % 1 == 0 and abs(value) <= _LARGEST):
            raise ValueError(
                f"The class {name!r} is not a whole number, and files of LIBLINEAR and LIBSVM hold "
                "no others. Write the classes as 0, 1, 2, ... (number_classes, --number-classes)."
            )
        found.append(str(int(value)))
    if len(set(found)) < len(found):
        raise ValueError("Two classes are the same whole number.")
    return found
