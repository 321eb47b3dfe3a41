"""Fitted values as plain JSON and arrays, and back: nothing is looked up by a name from the file.

Numbers, texts, lists and None stay what they are. All else is a pair ``{"is": kind, ...}`` with a
kind from the table below; an array's numbers go to the second part of the file, under a number.
Records are rebuilt field by field from the classes named in ``RECORDS``, and no other.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from separatrix.errors import ModelFileError

__all__ = ["RECORDS", "Packer", "Unpacker"]

# Record -> the module that holds it. A file can name these and nothing else.
RECORDS = {
    "Calibration": "separatrix.estimators._calibration",
    "DualityGap": "separatrix.certificates.duality_gap",
    "DualityGaps": "separatrix.certificates.duality_gap",
    "FewestErrors": "separatrix.certificates.errors",
    "FisherDirection": "separatrix.certificates.fisher",
    "Gaussians": "separatrix.solvers.gaussian",
    "Leaf": "separatrix.certificates.error_tree",
    "LeastSquaresOptimality": "separatrix.certificates.least_squares",
    "LowerBound": "separatrix.certificates.errors",
    "MarginBounds": "separatrix.certificates.margin_bounds",
    "MulticlassGap": "separatrix.certificates.multiclass_gap",
    "Novikoff": "separatrix.certificates.novikoff",
    "PairGaps": "separatrix.certificates.pair_gaps",
    "Partition": "separatrix.certificates.partition",
    "ScaledGap": "separatrix.certificates.scaled_gap",
    "Separation": "separatrix.certificates.separation",
    "Split": "separatrix.certificates.error_tree",
    "Violation": "separatrix.certificates.duality_gap",
    "Witness": "separatrix.estimators.verdict",
}
_PATHS = "separatrix.selection.path_table"
_DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")
_EXACT = 2**53


class Packer:
    """Turns values into JSON and gathers their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

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
        from separatrix.estimators.verdict import Verdict
        from separatrix.solvers._drive import Status

        if isinstance(value, Status):
            return {"is": "status", "name": value.name}
        if isinstance(value, str):
            return str(value)
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
            rest = [value.chosen, value.reason, value.fold_errors, value.notes]
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
        raise ModelFileError(
            f"{where} is a {name}, which a model file cannot hold. "
            "Use a plain number or text instead, and fit again."
        )

    def _pack_array(self, array: np.ndarray, where: str) -> Any:
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
    """Turns JSON and arrays back into values; anything unknown is refused."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays

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
        array = self.arrays[plain["number"]]
        if array.dtype.name not in _DTYPES:
            raise ModelFileError(f"the model file holds an array of type {array.dtype}.")
        return array.T if plain["columns"] else array

    def _texts(self, plain: Any) -> Any:
        items = plain["items"]
        if not all(isinstance(each, str) for each in items):
            raise ModelFileError("the model file holds a text that is none.")
        kind = {"object": object, "text": np.str_}[plain["of"]]
        return np.array(items, dtype=kind).reshape([int(size) for size in plain["shape"]])

    def _record(self, plain: Any) -> Any:
        name = plain["name"]
        kind = getattr(import_module(RECORDS[name]), name)
        return kind(**{key: self.unpack(each) for key, each in plain["fields"].items()})

    def _status(self, plain: Any) -> Any:
        from separatrix.solvers._drive import Status

        return Status[plain["name"]]

    def _verdict(self, plain: Any) -> Any:
        from separatrix.estimators.verdict import Verdict

        return Verdict.from_json(json.dumps(plain["json"]))

    def _path(self, plain: Any) -> Any:
        columns = {str(key): self._array(each) for key, each in plain["columns"].items()}
        chosen, reason, errors, notes = (self.unpack(each) for each in plain["rest"])
        if not 0 <= chosen < len(columns["C"]):
            raise ModelFileError("the model file has a path without its choice.")
        return import_module(_PATHS).PathTable(columns, chosen, reason, errors, notes)

    def _dict(self, plain: Any) -> Any:
        return {self.unpack(key): self.unpack(each) for key, each in plain["pairs"]}

    _KINDS: dict[str, Callable[[Any, Any], Any]] = {
        "array": _array,
        "texts": _texts,
        "record": _record,
        "status": _status,
        "verdict": _verdict,
        "dict": _dict,
        "path": _path,
        "tuple": lambda self, plain: tuple(self.unpack(each) for each in plain["items"]),
        "float": lambda self, plain: float.fromhex(plain["hex"]),
        "integer": lambda self, plain: int(plain["hex"], 16),
        "fraction": lambda self, plain: Fraction(*(int(part, 16) for part in plain["parts"])),
    }


def _hex(value: float) -> str:
    return value.hex() if math.isfinite(value) else repr(value)
