"""Fitted values as plain JSON and arrays, and back: nothing is looked up by a name from the file.

Numbers, texts, lists and None stay what they are. All else is a pair ``{"is": kind, ...}`` with a
kind from the table below; an array's numbers go to the second part of the file, under a number.
Records are rebuilt field by field from the classes named in ``RECORDS``, and no other.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import UserString
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from separatrix._sparse import is_sparse
from separatrix.errors import ModelFileError
from separatrix.storage import kept_estimators

__all__ = ["RECORDS", "Packer", "Unpacker"]

# Record -> the module that holds it. A file can name these and nothing else.
RECORDS = {
    "Calibration": "separatrix.core.linear_model",
    "DualityGap": "separatrix.certificates.duality_gap",
    "DualityGaps": "separatrix.certificates.duality_gap",
    "FewestErrors": "separatrix.certificates.errors",
    "FisherDirection": "separatrix.certificates.fisher",
    "FisherDirections": "separatrix.certificates.fisher_classes",
    "GaussianEstimates": "separatrix.certificates.gaussian_estimates",
    "Gaussians": "separatrix.solvers.closed_forms.gaussian",
    "Kernel": "separatrix.problem.kernels",
    "KernelGap": "separatrix.certificates.kernel_gap",
    "KernelGaps": "separatrix.certificates.kernel_gap",
    "KernelMulticlassGap": "separatrix.certificates.kernel_multiclass_gap",
    "KernelSeparation": "separatrix.certificates.kernel_separation",
    "Leaf": "separatrix.certificates.error_tree",
    "LeastSquaresOptimality": "separatrix.certificates.least_squares",
    "LowerBound": "separatrix.certificates.errors",
    "MarginBounds": "separatrix.certificates.margin_bounds",
    "MulticlassGap": "separatrix.certificates.multiclass_gap",
    "Novikoff": "separatrix.certificates.novikoff",
    "PairGaps": "separatrix.certificates.duality_gap",
    "Partition": "separatrix.certificates.partition",
    "ScaledGap": "separatrix.certificates.scaled_gap",
    "Separation": "separatrix.certificates.separation",
    "SoftmaxGap": "separatrix.certificates.softmax_gap",
    "Split": "separatrix.certificates.error_tree",
    "Violation": "separatrix.certificates.duality_gap",
    "Witness": "separatrix.core.separability",
}
_PATHS = "separatrix.selection.path_table"
_DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")
_EXACT = 2**53
_MOST_DIGITS = 1 << 18  # hexadecimal, of an integer; a fraction, to be shortened, has fewer
_MOST_FRACTION_DIGITS = 1 << 14
_SMALL_TEXTS = 16 << 20
_SPARSE = ("csr_array", "csr_matrix")


class Packer:
    """Turns values into JSON and gathers their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._numbers: dict[int, dict[str, Any]] = {}  # what stands in two places is kept once
        self._alive: list[np.ndarray] = []  # so that no two arrays have one identity

    def pack(self, value: Any, where: str) -> Any:
        """Return plain data that say the same; refuse by name what has no form in the file."""
        if value is None or isinstance(value, bool | np.bool_):
            return None if value is None else bool(value)
        if isinstance(value, int | np.integer):
            whole = int(value)
            return whole if abs(whole) <= _EXACT else {"is": "integer", "hex": hex(whole)}
        if isinstance(value, float | np.floating):
            return {"is": "float", "hex": _hex(float(value))}
        if isinstance(value, np.ndarray):
            return self._pack_array(value, where)
        if isinstance(value, Fraction):
            parts = [hex(value.numerator), hex(value.denominator)]
            return {"is": "fraction", "parts": parts}
        return self._pack_whole(value, where)

    def _pack_whole(self, value: Any, where: str) -> Any:
        from separatrix.core.verdict import Verdict
        from separatrix.solvers.running.drive import Status

        if isinstance(value, Status):
            return {"is": "status", "name": value.name}
        if isinstance(value, str):
            return str(value)
        if isinstance(value, UserString):  # the name of data, made when it is needed
            return value.kept()  # type: ignore[attr-defined]
        if isinstance(value, Verdict):
            return {"is": "verdict", "json": json.loads(value.to_json())}
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            items = [self.pack(each, f"{where}[{k}]") for k, each in enumerate(value)]
            return items if isinstance(value, list) else {"is": "tuple", "items": items}
        if isinstance(value, dict):
            pairs = [
                [self.pack(k, where), self.pack(each, f"{where}[{k!r}]")]
                for k, each in value.items()
            ]
            return {"is": "dict", "pairs": pairs}
        name = type(value).__name__
        if (name, type(value).__module__) == ("PathTable", _PATHS):
            columns = {key: self._pack_array(value[key], where) for key in value.columns}
            rest = [value.chosen, value.reason, value.fold_errors, value.notes, value.loss]
            return {
                "is": "path",
                "columns": columns,
                "rest": [self.pack(each, where) for each in rest],
            }
        if RECORDS.get(name) == type(value).__module__ and dataclasses.is_dataclass(value):
            fields = {
                field.name: self.pack(getattr(value, field.name), f"{where}.{field.name}")
                for field in dataclasses.fields(value)
            }
            return {"is": "record", "name": name, "fields": fields}
        if is_sparse(value) and name in _SPARSE:
            parts = [self.pack(part, where) for part in (value.data, value.indices, value.indptr)]
            return {"is": "sparse", "of": name, "shape": list(value.shape), "parts": parts}
        is_model = name in kept_estimators.ESTIMATORS or hasattr(value, "get_params")
        if is_model and not isinstance(value, type):
            return {"is": "estimator", **kept_estimators.packed(self, value, where)}
        if callable(value):
            raise ModelFileError(
                f"{where} is a function, and a model file holds no code. Use one of the kernels "
                'that have a name, or "precomputed" with the matrix of its values.'
            )
        raise ModelFileError(
            f"{where} is a {name}, which a model file cannot hold. "
            "Use a plain number or text instead, and fit again."
        )

    def _pack_array(self, array: np.ndarray, where: str) -> Any:
        if id(array) not in self._numbers:
            self._alive.append(array)
            self._numbers[id(array)] = self._pack_new(array, where)
        return self._numbers[id(array)]

    def _pack_new(self, array: np.ndarray, where: str) -> dict[str, Any]:
        if array.dtype.kind == "U" or (
            array.dtype == object and all(isinstance(each, str) for each in array.flat)
        ):
            kind = "object" if array.dtype == object else "text"
            return {
                "is": "texts",
                "of": kind,
                "shape": list(array.shape),
                "items": [str(each) for each in array.ravel().tolist()],
            }
        if array.dtype.name not in _DTYPES:
            raise ModelFileError(
                f"{where} holds values of type {array.dtype}, which a model file cannot hold."
            )
        number = str(len(self.arrays))
        fortran = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        # Products round by the order of memory: what is stored by columns comes back so.
        self.arrays[number] = np.ascontiguousarray(array.T if fortran else array)
        return {"is": "array", "number": number, "columns": bool(fortran)}


class Unpacker:
    """Turns JSON and arrays back into values; anything unknown is refused.

    With `plain`, estimators come back as the models without scikit-learn, where there are such.
    """

    def __init__(self, arrays: dict[str, np.ndarray], plain: bool = False) -> None:
        self.arrays, self.plain = arrays, plain
        self._by_columns: dict[str, np.ndarray] = {}

    @contextmanager
    def plainly(self, is_plain: bool) -> Iterator[None]:
        """Unpack what stands inside a value as plain models only where that value is one."""
        before = self.plain
        self.plain = before and is_plain
        try:
            yield
        finally:
            self.plain = before

    def unpack(self, plain: Any) -> Any:
        """Return the value that plain data describe."""
        if plain is None or isinstance(plain, bool | int | str):
            return plain
        if isinstance(plain, list):
            return [self.unpack(each) for each in plain]
        if not isinstance(plain, dict) or plain.get("is") not in self._KINDS:
            raise ModelFileError("the model file holds a value of an unknown kind.")
        return self._KINDS[plain["is"]](self, plain)

    def _array(self, plain: Any) -> Any:
        number = plain["number"]
        array = self.arrays[number]
        if array.dtype.name not in _DTYPES:
            raise ModelFileError(f"the model file holds an array of type {array.dtype}.")
        if not plain["columns"]:
            return array
        return self._by_columns.setdefault(number, array.T)

    def _sparse(self, plain: Any) -> Any:
        data, indices, indptr = (self._array(part) for part in plain["parts"])
        shape = [int(size) for size in plain["shape"]]
        if not _are_rows(data, indices, indptr, shape):
            raise ModelFileError("the model file holds sparse rows that do not fit together.")
        if plain["of"] not in _SPARSE:
            raise ModelFileError("the model file holds sparse rows of an unknown kind.")
        from scipy import sparse

        return getattr(sparse, plain["of"])((data, indices, indptr), shape=shape)

    def _texts(self, plain: Any) -> Any:
        items = plain["items"]
        if not all(isinstance(each, str) for each in items):
            raise ModelFileError("the model file holds a text that is none.")
        kind = {"object": object, "text": np.str_}[plain["of"]]
        longest, total = max(map(len, items), default=0), sum(map(len, items))
        # As an array every text takes as much as the longest.
        if kind is np.str_ and 4 * longest * len(items) > max(_SMALL_TEXTS, 64 * total):
            raise ModelFileError("the model file holds texts of too different lengths.")
        return np.array(items, dtype=kind).reshape([int(size) for size in plain["shape"]])

    def _record(self, plain: Any) -> Any:
        name = plain["name"]
        kind = getattr(import_module(RECORDS[name]), name)
        record = kind(**{key: self.unpack(each) for key, each in plain["fields"].items()})
        if name == "Kernel":
            _require_kernel(record)
        return record

    def _status(self, plain: Any) -> Any:
        from separatrix.solvers.running.drive import Status

        return Status[plain["name"]]

    def _verdict(self, plain: Any) -> Any:
        from separatrix.core.verdict import Verdict

        return Verdict.from_json(json.dumps(plain["json"]))

    def _path(self, plain: Any) -> Any:
        columns = {str(key): self._array(each) for key, each in plain["columns"].items()}
        chosen, reason, errors, notes, loss = (self.unpack(each) for each in plain["rest"])
        if not 0 <= chosen < len(columns["C"]):
            raise ModelFileError("the model file has a path without its choice.")
        return import_module(_PATHS).PathTable(columns, chosen, reason, errors, notes, loss)

    def _dict(self, plain: Any) -> Any:
        return {self.unpack(key): self.unpack(each) for key, each in plain["pairs"]}

    _KINDS: dict[str, Callable[[Any, Any], Any]] = {
        "array": _array,
        "sparse": _sparse,
        "estimator": kept_estimators.built,
        "texts": _texts,
        "record": _record,
        "status": _status,
        "verdict": _verdict,
        "dict": _dict,
        "path": _path,
        "tuple": lambda self, plain: tuple(self.unpack(each) for each in plain["items"]),
        "float": lambda self, plain: float.fromhex(plain["hex"]),
        "integer": lambda self, plain: _whole(plain["hex"], _MOST_DIGITS),
        "fraction": lambda self, plain: Fraction(
            *(_whole(part, _MOST_FRACTION_DIGITS) for part in plain["parts"])
        ),
    }


def _hex(value: float) -> str:
    return value.hex() if math.isfinite(value) else repr(value)


def _are_rows(data: Any, indices: Any, indptr: Any, shape: list[int]) -> bool:
    """Whether loops can follow these numbers: SciPy's own check passes some that they cannot."""
    return bool(
        data.ndim == indices.ndim == indptr.ndim == 1
        and data.dtype.kind == "f"
        and indices.dtype.kind == indptr.dtype.kind == "i"
        and len(shape) == 2
        and shape[0] >= 0
        and 0 <= shape[1] < 2**31
        and len(indptr) == shape[0] + 1
        and indptr[0] == 0
        and (np.diff(indptr) >= 0).all()
        and indptr[-1] == len(indices) == len(data)
        and (indices >= 0).all()
        and (indices < shape[1]).all()
    )


def _whole(text: str, most: int) -> int:
    if len(text) > most:
        raise ModelFileError("the model file holds a number of too many digits.")
    return int(text, 16)


def _require_kernel(kernel: Any) -> None:
    """Refuse a kernel that none of ours is."""
    from separatrix.problem.kernels import KERNELS, MOST_DEGREE

    good = (
        kernel.name in KERNELS
        and kernel.function is None
        and type(kernel.degree) is int
        and 0 <= kernel.degree <= MOST_DEGREE
        and type(kernel.gamma) is type(kernel.coef0) is float
        and 0.0 < kernel.gamma < math.inf
        and math.isfinite(kernel.coef0)
    )
    if not good:
        raise ModelFileError("the model file holds a kernel that is not known.")
