"""What comes before the scores, as ONNX: scaling, lifts, and the values of kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.storage.onnx_graph import Graph

__all__ = ["kernel_values", "lifted"]

_MOST_PRODUCTS = 1 << 20


def lifted(graph: Graph, X: str, step: Any) -> str:
    """Add a step of a pipeline, or say that it has no form."""
    name = type(step).__name__
    if name not in _STEPS:
        raise ValueError(f"{name} has no form in ONNX here. Known: {', '.join(_STEPS)}.")
    return _STEPS[name](graph, X, step)


def _standard(graph: Graph, X: str, step: Any) -> str:
    if step.with_mean:
        X = graph.add("Sub", [X, graph.constant(step.mean_)])
    return graph.add("Div", [X, graph.constant(step.scale_)]) if step.with_std else X


def _min_max(graph: Graph, X: str, step: Any) -> str:
    X = graph.add("Mul", [X, graph.constant(step.scale_)])
    X = graph.add("Add", [X, graph.constant(step.min_)])
    if step.clip:
        low, high = (graph.constant(float(bound)) for bound in step.feature_range)
        X = graph.add("Min", [graph.add("Max", [X, low]), high])
    return X


def _max_abs(graph: Graph, X: str, step: Any) -> str:
    return graph.add("Div", [X, graph.constant(step.scale_)])


def _products(graph: Graph, X: str, step: Any) -> str:
    """Add all monomials: those of a degree are those of the one below, times a column each."""
    d, alone = int(step.n_features_in_), bool(step.interaction_only)
    if step.n_output_features_ > _MOST_PRODUCTS:
        raise ValueError(f"{step.n_output_features_:,} products are too many for an ONNX graph.")
    parts, values = [X], X
    level: list[tuple[int, ...]] = [(j,) for j in range(d)]
    for _ in range(1, int(step.degree)):
        parents, columns, longer = [], [], []
        for number, factors in enumerate(level):
            for j in range(factors[-1] + alone, d):
                parents.append(number)
                columns.append(j)
                longer.append((*factors, j))
        if not longer:
            break
        left = graph.add("Gather", [values, graph.constant(np.array(parents))], axis=1)
        right = graph.add("Gather", [X, graph.constant(np.array(columns))], axis=1)
        values, level = graph.add("Mul", [left, right]), longer
        parts.append(values)
    if step.include_bias:
        first = graph.add("Gather", [X, graph.constant(np.array([0]))], axis=1)
        none = graph.add("Mul", [first, graph.constant(0.0)])
        parts.insert(0, graph.add("Add", [none, graph.constant(1.0)]))
    return parts[0] if len(parts) == 1 else graph.add("Concat", parts, axis=1)


def _radial(graph: Graph, X: str, step: Any) -> str:
    return _gaussian(graph, X, step.centres_, 0.5 / float(step.width_) ** 2)


def _sigmoids(graph: Graph, X: str, step: Any) -> str:
    inside = graph.affine(X, float(step.slope_) * step.centres_.T, np.array(float(step.offset)))
    return graph.add("Tanh", [inside])


def _cosines(graph: Graph, X: str, step: Any) -> str:
    angles = graph.affine(X, step.directions_, step.offsets_)
    # A cosine as a sine: not every runtime has both for float64.
    shifted = graph.add("Add", [angles, graph.constant(math.pi / 2.0)])
    size = math.sqrt(2.0 / step.directions_.shape[1])
    # A scalar beside a product of matrices is fused into it by runtimes, and rounded to float32.
    sizes = graph.constant(np.full(step.directions_.shape[1], size))
    return graph.add("Mul", [graph.add("Sin", [shifted]), sizes])


def _nystrom(graph: Graph, X: str, step: Any) -> str:
    if callable(step.kernel):
        raise ValueError("The kernel is a function, and ONNX holds no code.")
    rows = _dense(step.components_)
    coef0, degree = float(step.coef0), int(step.degree)
    values = _values(graph, X, rows, step.kernel, float(step.gamma_), degree, coef0)
    return graph.add("MatMul", [values, graph.constant(step.normalization_)])


_STEPS = {
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "Polynomial": _products,
    "RadialBasis": _radial,
    "Sigmoid": _sigmoids,
    "RandomFourier": _cosines,
    "Nystrom": _nystrom,
}


# ---- kernels


def kernel_values(graph: Graph, X: str, machine: Any) -> str:
    """Add the kernel's values of every row with every support vector."""
    kernel = machine.kernel_
    if kernel.name == "callable":
        raise ValueError("The kernel is a function, and ONNX holds no code.")
    if kernel.name == "precomputed":
        return graph.add("Gather", [X, graph.constant(machine.support_)], axis=1)
    rows = _dense(machine.support_vectors_)
    return _values(graph, X, rows, kernel.name, kernel.gamma, kernel.degree, kernel.coef0)


def _values(
    graph: Graph, X: str, rows: np.ndarray, name: str, gamma: float, degree: int, coef0: float
) -> str:
    if name == "rbf":
        return _gaussian(graph, X, rows, gamma)
    if name == "linear":
        return graph.add("MatMul", [X, graph.constant(rows.T)])
    inside = graph.affine(X, gamma * rows.T, np.array(coef0))
    if name == "sigmoid":
        return graph.add("Tanh", [inside])
    return graph.add("Pow", [inside, graph.constant(float(degree))])


def _gaussian(graph: Graph, X: str, centres: np.ndarray, gamma: float) -> str:
    """Add exp(-gamma |x - c|^2), around the centres' mean, where the terms are small."""
    middle = centres.mean(axis=0)
    centres = centres - middle
    X = graph.add("Sub", [X, graph.constant(middle)])
    squares = graph.add(
        "ReduceSum", [graph.add("Mul", [X, X]), graph.constant(np.array([1]))], keepdims=1
    )
    products = graph.add("MatMul", [X, graph.constant(-2.0 * centres.T)])
    around = graph.add("Add", [products, graph.constant((centres**2).sum(axis=1))])
    distances = graph.add("Max", [graph.add("Add", [around, squares]), graph.constant(0.0)])
    return graph.add("Exp", [graph.add("Mul", [distances, graph.constant(-gamma)])])


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
