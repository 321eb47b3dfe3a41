"""A graph of ONNX under construction: nodes by their operator, numbers as float64."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Graph"]

_OPSET = 17
_MISSING = (
    "ONNX is not installed. Install it with the extra: pip install 'separatrix[onnx]', "
    "or export to another format."
)


class Graph:
    """Nodes and constants that turn the input ``X``, a table of float64, into outputs."""

    def __init__(self, n_features: int) -> None:
        try:
            import onnx
        except ImportError:
            raise ValueError(_MISSING) from None
        self._onnx, self._helper = onnx, onnx.helper
        self._types = {
            "double": onnx.TensorProto.DOUBLE,
            "int64": onnx.TensorProto.INT64,
            "bool": onnx.TensorProto.BOOL,
            "string": onnx.TensorProto.STRING,
        }
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self.input, self.width = "X", n_features

    def _name(self, word: str) -> str:
        return f"{word}_{len(self._nodes) + len(self._constants)}"

    def add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node; return the name of what it gives."""
        name = self._name(operator.lower())
        self._nodes.append(self._helper.make_node(operator, inputs, [name], **attributes))
        return name

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
        taken = helper.make_tensor_value_info("X", self._types["double"], [None, self.width])
        graph = helper.make_graph(
            self._nodes, "separatrix", [taken], self._outputs, self._constants
        )
        made = helper.make_model(
            graph,
            producer_name="separatrix",
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=8,
        )
        helper.set_model_props(made, about)
        self._onnx.checker.check_model(made)
        return made
