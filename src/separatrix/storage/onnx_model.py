"""Models as ONNX: float64 in, the class, its scores and (where there are any) probabilities out.

The graph takes the features of training as a table of numbers, or raw columns where it is given
their encoding (`onnx_encoding`). Texts become features outside it: ONNX's own words for that
(lower-casing, splitting at words) follow other rules than training did, so such models are exported
for their features only, and only where that is requested.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix._write_aside import write_whole
from separatrix.core.explanation import linear_form
from separatrix.core.linear_model import VotingModel, is_multinomial, pairs_of

_NAMES_KEPT = 100_000


def write_onnx(
    model: Any,
    path: str | os.PathLike[str],
    feature_names: Sequence[str] | None = None,
    encoding: Any = None,
) -> None:
    """Write the model as an ONNX file."""
    write_whole(path, to_onnx(model, feature_names, encoding).SerializeToString())


def to_onnx(model: Any, feature_names: Sequence[str] | None = None, encoding: Any = None) -> Any:
    """Return the model as ONNX: input ``X``, outputs ``label``, ``scores``, ``probabilities``.

    With the `encoding` of a table the graph takes its columns as they are before they are encoded.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    graph, about = Graph(), dict[str, str]()
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    if encoding is None:
        X = graph.table(int(model.n_features_in_))
    else:
        from separatrix.storage.onnx_encoding import features_of

        X, about = features_of(graph, encoding)
    for step in steps[:-1]:
        X = lifted(graph, X, step)
    last = steps[-1]
    scores = _scores(graph, X, last)
    shares = _probabilities(graph, scores, last)
    graph.output("label", _label(graph, scores, shares, last), _type_of(last.classes_))
    graph.output("scores", scores, "double")
    if shares is not None:
        graph.output("probabilities", shares, "double")
    about |= {"made_by": "separatrix", "model": type(last).__name__}
    if feature_names is not None and len(feature_names) <= _NAMES_KEPT:
        about["feature_names"] = json.dumps([str(name) for name in feature_names])
    return graph.model(about)


def _type_of(classes: np.ndarray) -> str:
    return {"i": "int64", "u": "int64", "f": "double", "b": "bool"}.get(
        classes.dtype.kind, "string"
    )


def _scores(graph: Graph, X: str, model: Any) -> str:
    """Return the scores as `decision_function` gives them, a column a class or one alone."""
    if hasattr(model, "kernel_") and model.kernel_.name != "linear":
        return _kernel_scores(graph, X, model)
    if type(model).__name__ == "LibsvmMachine":
        return _kernel_scores(graph, X, model)
    form = linear_form(model)
    found = graph.affine(X, form.weights.T, form.intercepts)
    if form.pairs is not None:
        return _votes(graph, found, form.pairs, len(form.classes))
    if type(model).__name__ == "GaussianPlugIn" and len(form.classes) > 2:
        return graph.add("LogSoftmax", [found], axis=1)
    return found


def _kernel_scores(graph: Graph, X: str, model: Any) -> str:
    values = kernel_values(graph, X, model)
    found = graph.affine(values, model.dual_coef_.T, np.asarray(model.intercept_))
    k = len(model.classes_)
    if k == 2 or getattr(model, "multi_class", "ovr") != "ovo":
        return found
    if type(model).__name__ == "LibsvmMachine":
        from separatrix.storage.libsvm_model import file_order

        codes = file_order(model)
        against_for = tuple((int(codes[high]), int(codes[low])) for low, high in pairs_of(k))
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


def _label(graph: Graph, scores: str, shares: str | None, model: Any) -> str:
    costs = getattr(model, "costs_", None)
    if costs is not None:
        assert shares is not None, "costs are of a model with probabilities"
        gains = graph.add("MatMul", [shares, graph.constant(-costs)])
        code = graph.add("ArgMax", [gains], axis=1, keepdims=0)
        return graph.add("Gather", [graph.constant(model.classes_), code], axis=0)
    if len(model.classes_) == 2 and _columns(model) == 1:
        threshold = model.threshold_ if isinstance(model, VotingModel) else 0.0
        up = graph.add("Greater", [scores, graph.constant(threshold)])
        code = graph.add("Squeeze", [graph.cast(up, "int64"), graph.constant(np.array([1]))])
    else:
        classes = model.classes_
        if type(model).__name__ == "LibsvmMachine":  # of equals the first label of its file
            from separatrix.storage.libsvm_model import file_order

            order = file_order(model)
            scores = graph.add("Gather", [scores, graph.constant(order)], axis=1)
            classes = classes[order]
        code = graph.add("ArgMax", [scores], axis=1, keepdims=0)
        return graph.add("Gather", [graph.constant(classes), code], axis=0)
    return graph.add("Gather", [graph.constant(model.classes_), code], axis=0)


def _columns(model: Any) -> int:
    if hasattr(model, "estimators_"):
        return len(model.estimators_)
    return len(model.dual_coef_ if hasattr(model, "kernel_") else model.coef_)


def _probabilities(graph: Graph, scores: str, model: Any) -> str | None:
    calibration = getattr(model, "_calibration", None)
    if calibration is None and "Logistic" not in type(model).__name__:
        return None
    if calibration is None and getattr(model, "multi_class", "ovr") == "ovo":
        return None
    two = _columns(model) == 1
    if calibration is not None and not two:
        slope = graph.constant(np.full(len(model.classes_), calibration.above))
        steep = graph.add("Mul", [scores, slope])
        return graph.add("Softmax", [steep], axis=1)
    if calibration is not None:
        up = graph.add("Greater", [scores, graph.constant(0.0)])
        slopes = [graph.constant(calibration.above), graph.constant(calibration.below)]
        scores = graph.add("Mul", [scores, graph.add("Where", [up, *slopes])])
    if not two and is_multinomial(model):
        return graph.add("Softmax", [scores], axis=1)
    shares = graph.add("Sigmoid", [scores])
    if two:
        rest = graph.add("Sigmoid", [graph.add("Neg", [scores])])
        return graph.add("Concat", [rest, shares], axis=1)
    total = graph.add("ReduceSum", [shares, graph.constant(np.array([1]))], keepdims=1)
    return graph.add("Div", [shares, total])


# ---- what comes before the scores: scaling, lifts, kernels


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


def _monomials(graph: Graph, X: str, step: Any) -> str:
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


def _sigmoid(graph: Graph, X: str, step: Any) -> str:
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
    "Polynomial": _monomials,
    "RadialBasis": _radial,
    "Sigmoid": _sigmoid,
    "RandomFourier": _cosines,
    "Nystrom": _nystrom,
}


# ---- kernels


def kernel_values(graph: Graph, X: str, model: Any) -> str:
    """Add the kernel's values of every row with every support vector."""
    kernel = model.kernel_
    if kernel.name == "callable":
        raise ValueError("The kernel is a function, and ONNX holds no code.")
    if kernel.name == "precomputed":
        return graph.add("Gather", [X, graph.constant(model.support_)], axis=1)
    rows = _dense(model.support_vectors_)
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


# ---- the graph


_OPSET = 17
_ML_OPSET = 3
_MISSING = "ONNX is not installed. Install it with pip install onnx, or export to another format."


class Graph:
    """Nodes and constants that turn inputs, a table of float64 or columns, into outputs."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise ValueError(_MISSING) from None
        self._onnx, self._helper = onnx, onnx.helper
        self._types = {
            "double": onnx.TensorProto.DOUBLE,
            "float": onnx.TensorProto.FLOAT,
            "int64": onnx.TensorProto.INT64,
            "bool": onnx.TensorProto.BOOL,
            "string": onnx.TensorProto.STRING,
        }
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._domains = {"": _OPSET}

    def table(self, width: int) -> str:
        """Add the input ``X``, a table of numbers."""
        return self._take("X", "double", width)

    def column(self, name: str, kind: str) -> str:
        """Add a column of numbers or of texts as an input."""
        return self._take(name, kind, 1)

    def _take(self, name: str, kind: str, width: int) -> str:
        shape = [None, width]
        self._inputs.append(self._helper.make_tensor_value_info(name, self._types[kind], shape))
        return name

    def _name(self, word: str) -> str:
        return f"{word}_{len(self._nodes) + len(self._constants)}"

    def add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node; return the name of what it gives."""
        name = self._name(operator.lower())
        self._nodes.append(self._helper.make_node(operator, inputs, [name], **attributes))
        return name

    def add_ml(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node of ONNX's operators for machine learning."""
        self._domains["ai.onnx.ml"] = _ML_OPSET
        return self.add(operator, inputs, domain="ai.onnx.ml", **attributes)

    def constant(self, value: Any) -> str:
        """Add a number, an array of numbers or of texts; return its name."""
        array = np.asarray(value)
        name = self._name("constant")
        if array.dtype.kind in "OU":
            texts: Any = [str(each).encode("utf-8") for each in array.ravel().tolist()]
            tensor = self._helper.make_tensor(name, self._types["string"], array.shape, texts)
        else:
            kind = {"b": np.bool_, "i": np.int64, "u": np.int64}.get(array.dtype.kind, np.float64)
            plain: np.ndarray = np.ascontiguousarray(array, dtype=kind).reshape(array.shape)
            tensor = self._onnx.numpy_helper.from_array(plain, name)
        self._constants.append(tensor)
        return name

    def affine(self, X: str, weights: np.ndarray, offsets: np.ndarray) -> str:
        """Add ``X weights + offsets``."""
        product = self.add("MatMul", [X, self.constant(weights)])
        return self.add("Add", [product, self.constant(offsets)])

    def cast(self, name: str, kind: str) -> str:
        """Add a change of type."""
        return self.add("Cast", [name], to=self._types[kind])

    def output(self, name: str, what: str, kind: str) -> None:
        """Give a result a name of its own."""
        self._nodes.append(self._helper.make_node("Identity", [what], [name]))
        shape = [None] if name == "label" else [None, None]
        self._outputs.append(self._helper.make_tensor_value_info(name, self._types[kind], shape))

    def model(self, about: dict[str, str]) -> Any:
        """Return the whole, checked by ONNX itself."""
        helper = self._helper
        graph = helper.make_graph(
            self._nodes, "separatrix", self._inputs, self._outputs, self._constants
        )
        made = helper.make_model(
            graph,
            producer_name="separatrix",
            opset_imports=[helper.make_opsetid(*each) for each in self._domains.items()],
            ir_version=8,
        )
        helper.set_model_props(made, about)
        self._onnx.checker.check_model(made)
        return made
