"""Certificates of every kind from their JSON form.

The fields are those of the checker's table, each read by its rule there, and no others may be
there. What is read proves nothing by itself: call its ``check(X, y)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGap, DualityGaps, ScaledGap
from separatrix.certificates.errors import FewestErrors, tree_of
from separatrix.certificates.inference import Coefficient, InferenceProof
from separatrix.certificates.kernel_gap import KernelGap, KernelMulticlassGap
from separatrix.certificates.kernel_separation import KernelOverlap, KernelSeparation
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.partition import Partition
from separatrix.certificates.separation import Separation
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.certificates.sparse_gap import SparseGap
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.certificates.two_bounds import TwoBounds, from_file
from separatrix.checker.codec import Claim, parsed, refusing, require
from separatrix.checker.kinds import opened
from separatrix.problem.kernels import Kernel

VERDICTS = ("separation", "quasi", "overlap")
_LARGEST_EXPONENT = 1100  # of any float, and a little more
_MOST_ROWS = 2**40
# So many numbers may be laid out for a file that names none, and so many more for each named.
_NUMBERS_OF_NONE, _NUMBERS_OF_EACH = 2**25, 2**12
_WHOLE = ("rows", "rivals", "zeros")


def from_json(
    text: str | dict[str, Any], *kinds: str, function: Callable[[Any, Any], Any] | None = None
) -> Any:
    """Read a certificate, of one of some kinds where these are named.

    A kernel that was a function is not in the file: hand it over as `function`.
    """
    with refusing():
        about, claim = opened(parsed(text) if isinstance(text, str) else text)
        kind = about.kind
        require(
            kind in (kinds or _READERS),
            f"the kind must be {' or '.join(kinds or _READERS)}, and is {kind!r}",
        )
        common = {
            "intercept": about.intercept,
            "data_sha256": about.sha256,
            "n_rows": about.rows,
            "n_features": about.features,
            "classes": tuple(about.classes),
        }
        if kind in VERDICTS:
            common |= {"decimals": tuple(about.decimals or ()), "kind": kind}
        return from_file(_READERS[kind](dict(vars(claim)), common, function))


def _record(record: Any, values: dict[str, Any], common: dict[str, Any], function: Any) -> Any:
    """Return a certificate, its lists as arrays or tuples; refuse parts that do not fit."""
    values = {name: value for name, value in values.items() if value is not None}
    held, n = {field.name: field.type for field in fields(record)}, common["n_rows"]
    require(0 < n < _MOST_ROWS, "the certificate must say how many rows there are")
    for name, value in values.items():
        if isinstance(value, list) and held.get(name, "np.ndarray") == "np.ndarray":
            values[name] = np.array(value, np.int64 if name in _WHOLE else np.float64)
        elif isinstance(value, list):
            values[name] = _tuples(value)
    if len(values.get("costs", ())) == 1:  # claimed of a trillion rows, it takes no memory for them
        values["costs"] = np.broadcast_to(values["costs"], (n,))
    if "kernel" in values:
        kernel = vars(values["kernel"])
        require(
            kernel["name"] != "callable" or function is not None,
            "the kernel was a function: hand it over to be able to check",
        )
        values["kernel"] = Kernel(**kernel, function=function)
    if "rows" in values.keys() - held:
        rows, name = values.pop("rows"), "shares" if "shares" in values else "multipliers"
        require(
            len(rows) == len(values[name]) == len(np.unique(rows)) and (rows < n).all(),
            "rows must be different numbers of rows, with a multiplier each",
        )
        _require_named(n, len(rows))
        listed, values[name] = values[name], np.zeros(n)
        values[name][rows] = listed
    found = record(**values, **common)
    if isinstance(found, TwoBounds):
        found.require_sound()
    return found


def _require_named(count: int, named: int) -> None:
    """Refuse to lay out very many numbers for a file that names few of them."""
    require(
        count <= _NUMBERS_OF_NONE + _NUMBERS_OF_EACH * named,
        f"of {count:,} numbers more than {named:,} must be named, to be laid out",
    )


def _tuples(value: Any) -> Any:
    """Return lists, and the fields of records, as tuples."""
    listed = vars(value).values() if isinstance(value, Claim) else value
    return tuple(map(_tuples, listed)) if isinstance(value, list | Claim) else value


def _scaled(values: dict[str, Any], common: dict[str, Any], _: Any) -> ScaledGap:
    exponents, models = values["exponents"], [vars(each) for each in values["machines"]]
    _require_named(common["n_rows"] * len(models), sum(len(each["rows"]) for each in models))
    machines = tuple(_record(DualityGap, each, common, None) for each in models)
    require(
        machines
        and len(exponents) == common["n_features"]
        and all(abs(e) <= _LARGEST_EXPONENT for e in exponents),
        "exponents must be whole numbers, one a column, of one model or more",
    )
    inner = machines[0] if len(machines) == 1 else DualityGaps(machines)
    return ScaledGap(np.array(exponents, dtype=np.int64), inner)


def _verdict(values: dict[str, Any], common: dict[str, Any], _: Any) -> Partition | Separation:
    if common["kind"] == "separation":
        _require_either(values)
        if values["integers"] is None:
            require(not common.pop("decimals"), "decimals: the weights must be integers")
            del common["kind"]
            return _record(Separation, values, common, None)
    return _record(Partition, values | {"weights": values.pop("integers", None)}, common, None)


def _errors(values: dict[str, Any], common: dict[str, Any], _: Any) -> FewestErrors:
    _require_either(values)
    require(len(values["unit"]) == 2, "the unit is a fraction")
    values["weights_sha256"] = values.pop("sample_weight_sha256")
    values |= {"unit": Fraction(*values["unit"]), "tree": tree_of(values["tree"])}
    return _record(FewestErrors, values, common, None)


def _inference(values: dict[str, Any], common: dict[str, Any], _: Any) -> InferenceProof:
    require(0.0 < values["level"] < 1.0, "the level must be between 0 and 1")
    require(values["C"] > 0.0, "C must be above 0")
    values["coefficients"] = [Coefficient(*_tuples(each)) for each in values["coefficients"]]
    return _record(InferenceProof, values, common, None)


def _require_either(values: dict[str, Any]) -> None:
    one = (values["weights"] is None) != (values["integers"] is None)
    require(one, "the claim must hold either weights or integers")


_RECORDS = DualityGap, SparseGap, MulticlassGap, SoftmaxGap, SparseSoftmaxGap
_OF_KERNELS = KernelGap, KernelMulticlassGap, KernelSeparation, KernelOverlap
_READERS: dict[str, Any] = {
    record.kind: partial(_record, record) for record in (*_RECORDS, *_OF_KERNELS)
}
_READERS |= dict.fromkeys(VERDICTS, _verdict) | {"scaled-gap": _scaled, "errors": _errors}
_READERS["inference"] = _inference
