"""LIBLINEAR's model files, read and written: predictions are those of its own programs.

Two classes: the first label wins where ``w.x`` is above zero. Several: the largest score, the first
of equals. The bias is one more feature of the value `bias`, absent where that is negative.
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
from separatrix.storage.peer_text import Head, finite, label_texts, number_text, read_head

__all__ = ["read_liblinear", "write_liblinear"]

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
    """Return the machine of a LIBLINEAR model file: `LinearSVM` or `LogisticRegression`.

    Classes stand in LIBLINEAR's order. There is no certificate: the file holds no proof.
    """
    try:
        return _read(read_head(path, "w"), plain)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def _read(head: Head, plain: bool) -> Any:
    kind = head.text("solver_type")
    if kind not in _LOGISTIC and kind not in _HINGES:
        raise ModelFileError(
            f"the solver {kind!r:.40} is no classifier that is known here "
            "(regression and one-class machines are not read)."
        )
    k, d = head.whole("nr_class", 2), head.whole("nr_feature", 1)
    labels = head.wholes("label", k)
    bias = head.number("bias")
    machines = 1 if k == 2 and kind != "MCSVM_CS" else k
    rows = d + (bias >= 0.0)
    tokens = b" ".join(head.lines).split() if rows * machines <= _size(head) else []
    if len(tokens) != rows * machines or len(set(labels)) != k:
        raise ModelFileError(f"there must be {rows} x {machines} weights, and {k} labels.")
    table = finite(tokens, "weights").reshape(rows, machines)
    intercepts = table[d] * bias if bias >= 0.0 else np.zeros(machines)
    # Of two classes LIBLINEAR gives a positive score to the first, we to the second.
    classes = np.array(labels[::-1] if machines == 1 else labels)
    return _machine(kind, classes, np.ascontiguousarray(table[:d].T), intercepts, plain)


def _size(head: Head) -> int:
    return sum(len(line) + 1 for line in head.lines) // 2 + 1


def _machine(
    kind: str, classes: np.ndarray, coef: np.ndarray, intercepts: np.ndarray, plain: bool
) -> Any:
    from separatrix.solvers.running.drive import Status

    machine: Any
    if kind in _LOGISTIC:
        machine = class_of("LogisticRegression", {}, plain)()
    else:
        settings = {
            "loss": _HINGES[kind],
            "multi_class": "direct" if kind == "MCSVM_CS" else "ovr",
        }
        machine = class_of("LinearSVM", settings, plain)(**settings)
    machine.classes_, machine.coef_, machine.intercept_ = classes, coef, intercepts
    machine.n_features_in_ = coef.shape[1]
    machine.certificate_, machine.status_ = None, Status.READ
    machine.n_iter_, machine.n_passes_, machine.solver_ = 0, 0.0, "liblinear"
    return machine


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
    form = linear_form(model)
    if form.pairs is not None:
        raise ValueError(
            "Machines of pairs vote, and LIBLINEAR's programs do not. "
            "Fit with multi_class='ovr' or 'direct'."
        )
    if not (np.isfinite(form.weights).all() and np.isfinite(form.intercepts).all()):
        raise ValueError("LIBLINEAR's files hold finite weights only.")
    labels = label_texts(form.classes, number_classes)
    two = len(form.weights) == 1
    biased = bool(form.intercepts.any())
    head = [
        f"solver_type {_solver_of(model, two)}",
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


def _solver_of(model: Any, two: bool) -> str:
    """Return LIBLINEAR's word for the machine; of others only the prediction is the same."""
    steps = getattr(model, "steps", None)
    model = steps[-1][1] if steps else model
    if "Logistic" in type(model).__name__:
        return "L2R_LR"
    if getattr(model, "multi_class", "ovr") == "direct" and not two:
        return "MCSVM_CS"
    squared = getattr(model, "loss", "hinge") == "squared_hinge"
    return "L2R_L2LOSS_SVC_DUAL" if squared else "L2R_L1LOSS_SVC_DUAL"
