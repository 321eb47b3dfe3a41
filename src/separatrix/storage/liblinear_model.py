"""LIBLINEAR's model files, read and written: predictions are those of its own programs.

Two classes: the first label wins where ``w.x`` is above zero. Several: the largest score. Classes
are sorted here, as scikit-learn's metrics need them. So where scores are equal to the last bit the
first of the sorted labels wins, and LIBLINEAR takes the first of the file: such are rows without
any value where there is no bias. The bias is one more feature of the value `bias`, absent where
that is negative.

What LIBLINEAR's and LIBSVM's model files have in common: a head of words, then numbers.

Their own loaders trust the file and crash on a damaged one; here every count is checked against
what is there before anything is made of it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.core.explanation import linear_form
from separatrix.errors import ModelFileError
from separatrix.storage.kept_estimators import class_of

_LOGISTIC = ("L2R_LR", "L1R_LR", "L2R_LR_DUAL")
_HINGES = {
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "MCSVM_CS": "hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
}
_LINES_AT_ONCE = 4096


def read_liblinear(path: str | os.PathLike[str], *, plain: bool = False) -> Any:
    """Return the model of a LIBLINEAR model file: `LinearSVM` or `LogisticRegression`.

    Classes are sorted, and two classes have one score. There is no certificate: the file holds no
    proof.
    """
    return read_peer(path, "w", lambda head: _read(head, plain))


def _read(head: Head, plain: bool) -> Any:
    kind = head.text("solver_type")
    if kind not in _LOGISTIC and kind not in _HINGES:
        raise ModelFileError(
            f"the solver {kind!r:.40} is no classifier that is known here "
            "(regression and one-class models are not read)."
        )
    k, d = head.class_count(), head.whole("nr_feature", 1)
    labels = head.wholes("label", k)
    bias = head.number("bias")
    columns = 1 if k == 2 and kind != "MCSVM_CS" else k
    rows = d + (bias >= 0.0)
    tokens = b" ".join(head.lines).split() if rows * columns <= _size(head) else []
    if len(tokens) != rows * columns or len(set(labels)) != k:
        raise ModelFileError(f"there must be {rows} x {columns} weights, and {k} labels.")
    table = finite(tokens, "weights").reshape(rows, columns)
    intercepts = table[d] * bias if bias >= 0.0 else np.zeros(columns)
    coef, intercepts = _of_sorted(table[:d].T, intercepts, np.argsort(labels))
    fitted = {"classes_": np.sort(labels), "coef_": coef, "intercept_": intercepts}
    model = as_read(_unfitted(kind, plain), d, **fitted)
    model.solver_ = "liblinear"
    return model


def _of_sorted(
    coef: np.ndarray, intercepts: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the sorted classes: one a class, of two classes the second's alone."""
    if len(coef) == 1:  # above zero for the first label of the file
        sign = -1.0 if order[0] == 0 else 1.0
        return np.ascontiguousarray(sign * coef), sign * intercepts
    if len(coef) == 2:
        low, high = order
        return coef[[high]] - coef[[low]], intercepts[[high]] - intercepts[[low]]
    return np.ascontiguousarray(coef[order]), intercepts[order]


def _size(head: Head) -> int:
    return sum(len(line) + 1 for line in head.lines) // 2 + 1


def _unfitted(kind: str, plain: bool) -> Any:
    name, settings = "LogisticRegression", dict[str, Any](multi_class="ovr")
    if kind.startswith("L1R"):
        settings["l1_ratio"] = 1.0
    if kind in _HINGES:
        name, form = "LinearSVM", "direct" if kind == "MCSVM_CS" else "ovr"
        settings |= {"loss": _HINGES[kind], "multi_class": form}
    return class_of(name, settings, plain)(**settings)


# ---- writing


def write_liblinear(
    model: Any, path: str | os.PathLike[str], *, number_classes: bool = False
) -> None:
    """Write a linear model as LIBLINEAR's programs read it.

    With `number_classes` the classes are written as 0, 1, 2, ... in their order.

    >>> import pathlib, tempfile, separatrix as sx
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.model"
    >>> write_liblinear(sx.LinearSVM().fit([[0.0], [1.0], [3.0]], [-1, -1, 1]), path)
    >>> read_liblinear(path).predict([[0.5], [2.5]]).tolist()
    [-1, 1]
    """
    whole = linear_form(model).decided_by_weights("LIBLINEAR")
    form = whole.at_zero
    if form.pairs is not None:
        raise ValueError(
            "Models of pairs vote, and LIBLINEAR's programs do not. "
            "Fit with multi_class='ovr' or 'direct'."
        )
    if not (np.isfinite(form.weights).all() and np.isfinite(form.intercepts).all()):
        raise ValueError("LIBLINEAR's files hold finite weights only.")
    labels = label_texts(form.classes, number_classes)
    two = len(form.weights) == 1
    biased = bool(form.intercepts.any())
    head = [
        f"solver_type {_solver_of(model, two, whole.threshold != 0.0)}",
        f"nr_class {len(labels)}",
        f"label {' '.join(labels[::-1] if two else labels)}",
        f"nr_feature {form.weights.shape[1]}",
        f"bias {1 if biased else -1}",
        "w",
    ]
    table = np.vstack([form.weights.T, form.intercepts[None]]) if biased else form.weights.T
    write_whole(path, _pieces(head, table))


def _pieces(head: list[str], table: np.ndarray) -> Iterator[bytes]:
    yield ("\n".join(head) + "\n").encode()
    for begin in range(0, len(table), _LINES_AT_ONCE):
        lines = [
            " ".join(number_text(value) for value in row) + " "
            for row in table[begin : begin + _LINES_AT_ONCE].tolist()
        ]
        yield ("\n".join(lines) + "\n").encode()


def _solver_of(model: Any, two: bool, moved: bool) -> str:
    """Return LIBLINEAR's word for the model; of others only the prediction is the same.

    Where the threshold `moved` the intercept, LIBLINEAR would make other probabilities of it: the
    word of a model without them is taken.
    """
    steps = getattr(model, "steps", None)
    model = steps[-1][1] if steps else model
    lasso = getattr(model, "l1_ratio", getattr(model, "l1_ratio_", 0.0)) == 1.0
    lasso &= getattr(model, "groups", None) is None
    if "Logistic" in type(model).__name__ and not moved:
        return "L1R_LR" if lasso else "L2R_LR"
    if getattr(model, "multi_class", "ovr") == "direct" and not two:
        return "MCSVM_CS"
    squared = getattr(model, "loss", "hinge") == "squared_hinge"
    if squared and lasso:
        return "L1R_L2LOSS_SVC"
    return "L2R_L2LOSS_SVC_DUAL" if squared else "L2R_L1LOSS_SVC_DUAL"


# ---- what LIBLINEAR's and LIBSVM's model files have in common: a head of words, then numbers


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
