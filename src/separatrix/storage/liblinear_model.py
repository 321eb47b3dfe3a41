"""LIBLINEAR's model files, read and written: predictions are those of its own programs.

Two classes: the first label wins where ``w.x`` is above zero. Several: the largest score. Classes
are sorted here, as scikit-learn's metrics need them. So where scores are equal to the last bit the
first of the sorted labels wins, and LIBLINEAR takes the first of the file: such are rows without
any value where there is no bias. The bias is one more feature of the value `bias`, absent where
that is negative.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.core.linear_form import linear_form
from separatrix.errors import ModelFileError
from separatrix.storage.kept_estimators import class_of
from separatrix.storage.peer_text import (
    Head,
    as_read,
    finite,
    label_texts,
    number_text,
    read_peer,
)

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
