"""Models as ONNX: float64 in, the class, its scores and (where there are any) probabilities out.

The graph takes the features of training as a table of numbers. Texts and tables become features
outside it: ONNX's own words for that (lower-casing, splitting at words) follow other rules than
training did, so such models are exported for their features only, and only where that is requested.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.core.linear_form import linear_form
from separatrix.core.linear_model import pairs_of
from separatrix.storage.onnx_graph import Graph
from separatrix.storage.onnx_steps import kernel_values, lifted

__all__ = ["to_onnx", "write_onnx"]

_NAMES_KEPT = 100_000


def write_onnx(
    model: Any, path: str | os.PathLike[str], feature_names: Sequence[str] | None = None
) -> None:
    """Write the model as an ONNX file."""
    write_whole(path, to_onnx(model, feature_names).SerializeToString())


def to_onnx(model: Any, feature_names: Sequence[str] | None = None) -> Any:
    """Return the model as ONNX: input ``X``, outputs ``label``, ``scores``, ``probabilities``."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    graph = Graph(int(model.n_features_in_))
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    X = graph.input
    for step in steps[:-1]:
        X = lifted(graph, X, step)
    machine = steps[-1]
    scores = _scores(graph, X, machine)
    graph.output("label", _label(graph, scores, machine), _type_of(machine.classes_))
    graph.output("scores", scores, "double")
    shares = _probabilities(graph, scores, machine)
    if shares is not None:
        graph.output("probabilities", shares, "double")
    about = {"made_by": "separatrix", "model": type(machine).__name__}
    if feature_names is not None and len(feature_names) <= _NAMES_KEPT:
        about["feature_names"] = json.dumps([str(name) for name in feature_names])
    return graph.model(about)


def _type_of(classes: np.ndarray) -> str:
    return {"i": "int64", "u": "int64", "f": "double", "b": "bool"}.get(
        classes.dtype.kind, "string"
    )


def _scores(graph: Graph, X: str, machine: Any) -> str:
    """Return the scores as `decision_function` gives them, a column a class or one alone."""
    if hasattr(machine, "kernel_") and machine.kernel_.name != "linear":
        return _kernel_scores(graph, X, machine)
    if type(machine).__name__ == "LibsvmMachine":
        return _kernel_scores(graph, X, machine)
    form = linear_form(machine)
    found = graph.affine(X, form.weights.T, form.intercepts)
    if form.pairs is not None:
        return _votes(graph, found, form.pairs, len(form.classes))
    if type(machine).__name__ == "GaussianPlugIn" and len(form.classes) > 2:
        return graph.add("LogSoftmax", [found], axis=1)
    return found


def _kernel_scores(graph: Graph, X: str, machine: Any) -> str:
    values = kernel_values(graph, X, machine)
    found = graph.affine(values, machine.dual_coef_.T, np.asarray(machine.intercept_))
    k = len(machine.classes_)
    if k == 2 or getattr(machine, "multi_class", "ovr") != "ovo":
        return found
    if type(machine).__name__ == "LibsvmMachine":
        against_for = tuple((high, low) for low, high in pairs_of(k))
        return _votes(graph, found, against_for, k, ties=False)
    return _votes(graph, found, pairs_of(k), k)


def _votes(
    graph: Graph, scores: str, pairs: Sequence[tuple[int, int]], k: int, ties: bool = True
) -> str:
    """Return the votes of every class, ties parted by the sum of scores."""
    for_, against = np.zeros((len(pairs), k)), np.zeros((len(pairs), k))
    for row, (other, own) in enumerate(pairs):
        for_[row, own] = against[row, other] = 1.0
    up = graph.cast(graph.add("Greater", [scores, graph.constant(0.0)]), "double")
    down = graph.add("Sub", [graph.constant(1.0), up])
    won = graph.add(
        "Add",
        [
            graph.add("MatMul", [up, graph.constant(for_)]),
            graph.add("MatMul", [down, graph.constant(against)]),
        ],
    )
    if not ties:
        return won
    sums = graph.add("MatMul", [scores, graph.constant(for_ - against)])
    size = graph.add("Add", [graph.add("Abs", [sums]), graph.constant(1.0)])
    share = graph.add("Div", [sums, graph.add("Mul", [size, graph.constant(3.0)])])
    return graph.add("Add", [won, share])


def _label(graph: Graph, scores: str, machine: Any) -> str:
    if len(machine.classes_) == 2 and _columns(machine) == 1:
        up = graph.add("Greater", [scores, graph.constant(0.0)])
        code = graph.add("Squeeze", [graph.cast(up, "int64"), graph.constant(np.array([1]))])
    else:
        code = graph.add("ArgMax", [scores], axis=1, keepdims=0)
    return graph.add("Gather", [graph.constant(machine.classes_), code], axis=0)


def _columns(machine: Any) -> int:
    if hasattr(machine, "estimators_"):
        return len(machine.estimators_)
    return len(machine.dual_coef_ if hasattr(machine, "kernel_") else machine.coef_)


def _probabilities(graph: Graph, scores: str, machine: Any) -> str | None:
    calibration = getattr(machine, "_calibration", None)
    if calibration is None and "Logistic" not in type(machine).__name__:
        return None
    if getattr(machine, "multi_class", "ovr") == "ovo":
        return None
    two = _columns(machine) == 1
    if calibration is not None and not two:
        steep = graph.add(
            "Mul", [scores, graph.constant(np.full(_columns(machine), calibration.above))]
        )
        return graph.add("Softmax", [steep], axis=1)
    if calibration is not None:
        up = graph.add("Greater", [scores, graph.constant(0.0)])
        slopes = [graph.constant(calibration.above), graph.constant(calibration.below)]
        scores = graph.add("Mul", [scores, graph.add("Where", [up, *slopes])])
    if getattr(machine, "multi_class", "ovr") == "multinomial" and not two:
        return graph.add("Softmax", [scores], axis=1)
    shares = graph.add("Sigmoid", [scores])
    if two:
        rest = graph.add("Sigmoid", [graph.add("Neg", [scores])])
        return graph.add("Concat", [rest, shares], axis=1)
    total = graph.add("ReduceSum", [shares, graph.constant(np.array([1]))], keepdims=1)
    return graph.add("Div", [shares, total])
