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
from typing import Any, cast

import numpy as np

from separatrix._sparse import is_sparse
from separatrix.data.encodings.labels import Encoding
from separatrix.errors import ModelFileError, with_article
from separatrix.storage import kept_estimators
from separatrix.storage.model_checks import are_rows, require_kernel

# Record -> the module that holds it. A file can name these and nothing else.
RECORDS = {
    "Calibration": "separatrix.core.linear_model",
    "DualityGap": "separatrix.certificates.duality_gap",
    "DualityGaps": "separatrix.certificates.duality_gap",
    "FewestErrors": "separatrix.certificates.errors",
    "FisherDirection": "separatrix.certificates.fisher",
    "FisherDirections": "separatrix.certificates.fisher",
    "GaussianEstimates": "separatrix.certificates.gaussian_estimates",
    "Gaussians": "separatrix.solvers.closed_forms.gaussian",
    "Kernel": "separatrix.problem.kernels",
    "KernelGap": "separatrix.certificates.kernel_gap",
    "KernelGaps": "separatrix.certificates.kernel_gap",
    "KernelMulticlassGap": "separatrix.certificates.kernel_gap",
    "KernelSeparation": "separatrix.certificates.kernel_separation",
    "Leaf": "separatrix.certificates.errors",
    "LeastSquaresOptimality": "separatrix.certificates.least_squares",
    "LowerBound": "separatrix.certificates.errors",
    "MarginBounds": "separatrix.certificates.separation",
    "Mixtures": "separatrix.solvers.closed_forms.mixtures",
    "MulticlassGap": "separatrix.certificates.multiclass_gap",
    "NonNegativeOptimality": "separatrix.certificates.nonnegative_squares",
    "Novikoff": "separatrix.core.novikoff",
    "PairGaps": "separatrix.certificates.duality_gap",
    "Partition": "separatrix.certificates.partition",
    "ScaledGap": "separatrix.certificates.duality_gap",
    "Separation": "separatrix.certificates.separation",
    "SoftmaxGap": "separatrix.certificates.softmax_gap",
    "SparseGap": "separatrix.certificates.sparse_gap",
    "SparseSoftmaxGap": "separatrix.certificates.sparse_softmax_gap",
    "Split": "separatrix.certificates.errors",
    "Violation": "separatrix.problem.signed",
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
        named = self._NAMED.get((type(value).__name__, type(value).__module__))
        if named is not None:
            return named(self, value, where)
        for kinds, form in self._FORMS:
            if isinstance(value, kinds):
                return form(self, value, where)
        return self._pack_object(value, where)

    def _pack_object(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if isinstance(value, Encoding):
            return {"is": "encoding", "of": cast(Any, value).to_dict()}
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
            f"{where} is {with_article(name)}, which a model file cannot hold. "
            "Use a plain number or text instead, and fit again."
        )

    def _pack_integer(self, value: Any, where: str) -> Any:
        whole = int(value)
        return whole if abs(whole) <= _EXACT else {"is": "integer", "hex": hex(whole)}

    def _pack_fraction(self, value: Fraction, where: str) -> Any:
        return {"is": "fraction", "parts": [hex(value.numerator), hex(value.denominator)]}

    def _pack_list(self, value: Any, where: str) -> Any:
        if type(value) not in (list, tuple):
            return self._pack_object(value, where)
        items = [self.pack(each, f"{where}[{k}]") for k, each in enumerate(value)]
        return items if isinstance(value, list) else {"is": "tuple", "items": items}

    def _pack_dict(self, value: dict[Any, Any], where: str) -> Any:
        pairs = [
            [self.pack(k, where), self.pack(each, f"{where}[{k!r}]")] for k, each in value.items()
        ]
        return {"is": "dict", "pairs": pairs}

    def _pack_path(self, value: Any, where: str) -> Any:
        columns = {key: self._pack_array(value[key], where) for key in value.columns}
        rest = [value.chosen, value.reason, value.fold_errors, value.notes, value.loss]
        packed = [self.pack(each, where) for each in rest]
        return {"is": "path", "columns": columns, "rest": packed}

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
            items = [str(each) for each in array.ravel().tolist()]
            return {"is": "texts", "of": kind, "shape": list(array.shape), "items": items}
        if array.dtype.name not in _DTYPES:
            raise ModelFileError(
                f"{where} holds values of type {array.dtype}, which a model file cannot hold."
            )
        number = str(len(self.arrays))
        fortran = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        # Products round by the order of memory: what is stored by columns comes back so.
        self.arrays[number] = np.ascontiguousarray(array.T if fortran else array)
        return {"is": "array", "number": number, "columns": bool(fortran)}

    _NAMED: dict[tuple[str, str], Callable[[Any, Any, str], Any]] = {
        ("Status", "separatrix.solvers.running.drive"): lambda self, value, where: {
            "is": "status", "name": value.name,
        },
        ("Verdict", "separatrix.core.verdict"): lambda self, value, where: {
            "is": "verdict", "json": json.loads(value.to_json()),
        },
        ("ClassVerdict", "separatrix.core.class_verdict"): lambda self, value, where: {
            "is": "class-verdict", "json": json.loads(value.to_json()),
        },
        ("PathTable", _PATHS): _pack_path,
    }  # fmt: skip
    _FORMS: tuple[tuple[Any, Callable[[Any, Any, str], Any]], ...] = (
        (type(None), lambda self, value, where: None),
        ((bool, np.bool_), lambda self, value, where: bool(value)),
        ((int, np.integer), _pack_integer),
        ((float, np.floating), lambda self, value, where: {"is": "float", "hex": _hex(value)}),
        (np.ndarray, _pack_array),
        (Fraction, _pack_fraction),
        (str, lambda self, value, where: str(value)),
        (UserString, lambda self, value, where: value.kept()),  # a name of data, made when needed
        ((list, tuple), _pack_list),
        (dict, _pack_dict),
    )


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
        if not are_rows(data, indices, indptr, shape):
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
            require_kernel(record)
        if hasattr(record, "in_words"):
            from separatrix.certificates.two_bounds import from_file

            from_file(record)
        return record

    def _status(self, plain: Any) -> Any:
        from separatrix.solvers.running.drive import Status

        return Status[plain["name"]]

    def _verdict(self, plain: Any) -> Any:
        from separatrix.core.verdict import Verdict

        return Verdict.from_json(json.dumps(plain["json"]))

    def _class_verdict(self, plain: Any) -> Any:
        from separatrix.core.class_verdict import ClassVerdict

        return ClassVerdict.from_json(json.dumps(plain["json"]))

    def _encoding(self, plain: Any) -> Any:
        from separatrix.data.table import encoding_from_dict

        return encoding_from_dict(plain["of"])

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
        "class-verdict": _class_verdict,
        "dict": _dict,
        "path": _path,
        "encoding": _encoding,
        "tuple": lambda self, plain: tuple(self.unpack(each) for each in plain["items"]),
        "float": lambda self, plain: float.fromhex(plain["hex"]),
        "integer": lambda self, plain: _whole(plain["hex"], _MOST_DIGITS),
        "fraction": lambda self, plain: Fraction(
            *(_whole(part, _MOST_FRACTION_DIGITS) for part in plain["parts"])
        ),
    }


def _hex(value: Any) -> str:
    value = float(value)
    return value.hex() if math.isfinite(value) else repr(value)


def _whole(text: str, most: int) -> int:
    if len(text) > most:
        raise ModelFileError("the model file holds a number of too many digits.")
    return int(text, 16)
