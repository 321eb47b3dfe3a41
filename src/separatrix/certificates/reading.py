"""Certificates of every kind from their JSON form, as records that check themselves against arrays.

The fields are those of the checker's table, each read by its rule there, and no others may be
there. What is read proves nothing by itself: call its ``check(X, y)``.


A certificate of any kind from its JSON form, proved again from arrays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix import checker
from separatrix.certificates.canonical import as_checker_data, problem_from
from separatrix.certificates.duality_gap import DualityGap, DualityGaps, ScaledGap
from separatrix.certificates.errors import FewestErrors, tree_of
from separatrix.certificates.kernel_gap import KernelGap, KernelMulticlassGap
from separatrix.certificates.kernel_separation import KernelOverlap, KernelSeparation
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.partition import Partition
from separatrix.certificates.separation import Separation
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.certificates.two_bounds import require
from separatrix.checker import Refused
from separatrix.checker.codec import Claim, parsed, refusing
from separatrix.checker.kinds import opened
from separatrix.problem.decimals import times_powers_of_ten
from separatrix.problem.kernels import Kernel

VERDICTS = ("separation", "quasi", "overlap")
_GAPS: dict[str, Any] = {
    record.kind: record
    for record in (DualityGap, MulticlassGap, SoftmaxGap, KernelGap, KernelMulticlassGap)
}
_LARGEST_EXPONENT = 1100  # of any float, and a little more
_MOST_ROWS = 2**40


def from_json(
    text: str | dict[str, Any],
    *kinds: str,
    function: Callable[[Any, Any], Any] | None = None,
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
        if kind in _GAPS:
            return _gap(_GAPS[kind], claim, common, function)
        if kind in ("kernel-separation", "kernel-overlap"):
            return _READERS[kind](claim, common, function)
        if kind in VERDICTS:
            common["decimals"] = tuple(about.decimals or ())
        return _READERS[kind](claim, common, kind)


def _gap(record: Any, claim: Claim, common: dict[str, Any], function: Any = None) -> Any:
    """Return a certificate by two bounds, its lists as arrays; refuse parts that do not fit."""
    values, n = dict(vars(claim)), common["n_rows"]
    require(0 < n < _MOST_ROWS, "the certificate must say how many rows there are")
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = np.array(value, np.int64 if name in ("rows", "rivals") else np.float64)
    if len(values["costs"]) == 1:  # a file that claims a trillion rows takes no memory for them
        values["costs"] = np.broadcast_to(values["costs"], (n,))
    if "kernel" in values:
        values["kernel"] = _kernel(claim.kernel, function)
        values["smallest"] = math.nan if claim.smallest is None else claim.smallest
    if "rows" in values.keys() - {field.name for field in fields(record)}:
        values["multipliers"] = _for_every_row(values.pop("rows"), values["multipliers"], n)
    found = record(**values, **common)
    found.require_sound()
    return found


def _kernel(claim: Claim, function: Any) -> Kernel:
    require(
        claim.name != "callable" or function is not None,
        "the kernel was a function: hand it over to be able to check",
    )
    return Kernel(**vars(claim), function=function)


def _kernel_separation(claim: Claim, common: dict[str, Any], function: Any) -> KernelSeparation:
    require(0 < common["n_rows"] < _MOST_ROWS, "the certificate must say how many rows there are")
    rows, shares = np.array(claim.rows, np.int64), np.array(claim.shares)
    return KernelSeparation(
        kernel=_kernel(claim.kernel, function),
        shares=_for_every_row(rows, shares, common["n_rows"]),
        bias=claim.bias,
        right=claim.right,
        lower=-math.inf if claim.lower is None else claim.lower,
        upper=math.inf if claim.upper is None else claim.upper,
        **common,
    )


def _kernel_overlap(claim: Claim, common: dict[str, Any], function: Any) -> KernelOverlap:
    values = vars(claim) | {name: tuple(vars(claim)[name]) for name in ("rows", "multipliers")}
    return KernelOverlap(**values | {"kernel": _kernel(claim.kernel, function)}, **common)


def _for_every_row(rows: np.ndarray, multipliers: np.ndarray, n: int) -> np.ndarray:
    require(
        len(rows) == len(multipliers) == len(np.unique(rows)) and (rows < n).all(),
        "rows must be different numbers of rows, with a multiplier each",
    )
    every = np.zeros(n)
    every[rows] = multipliers
    return every


def _scaled(claim: Claim, common: dict[str, Any], _: str) -> ScaledGap:
    machines = tuple(_gap(DualityGap, each, common) for each in claim.machines)
    require(
        machines
        and len(claim.exponents) == common["n_features"]
        and all(abs(e) <= _LARGEST_EXPONENT for e in claim.exponents),
        "exponents must be whole numbers, one a column, of one model or more",
    )
    inner = machines[0] if len(machines) == 1 else DualityGaps(machines)
    return ScaledGap(np.array(claim.exponents, dtype=np.int64), inner)


def _verdict(claim: Claim, common: dict[str, Any], kind: str) -> Partition | Separation:
    values = dict(vars(claim))
    if kind == "separation":
        require(
            (claim.weights is None) != (claim.integers is None),
            "the claim must hold either weights or integers",
        )
        if claim.weights is not None:
            require(not common.pop("decimals"), "decimals: the weights must be integers")
            return Separation(weights=tuple(map(tuple, claim.weights)), **common)
        values = {"rows": (), "multipliers": (), "others": 0, "integers": claim.integers}
    weights = tuple(values.pop("integers", ()))
    values |= {name: tuple(values[name]) for name in ("rows", "multipliers")}
    return Partition(kind=kind, weights=weights, **values, **common)


def _errors(claim: Claim, common: dict[str, Any], _: str) -> FewestErrors:
    values = dict(vars(claim))
    weights, integers = (tuple(values.pop(name) or ()) for name in ("weights", "integers"))
    require(
        (claim.weights is None) != (claim.integers is None) and len(claim.unit) == 2,
        "weights are either floats or integers, and the unit is a fraction",
    )
    values |= {
        "unit": Fraction(*claim.unit),
        "weights_sha256": values.pop("sample_weight_sha256"),
        "witnesses": tuple((tuple(w.rows), tuple(w.multipliers)) for w in claim.witnesses),
        "tree": tree_of(claim.tree),
    }
    return FewestErrors(weights=weights, integers=integers, **values, **common)


_READERS: dict[str, Any] = _GAPS | dict.fromkeys(VERDICTS, _verdict)
_READERS |= {"scaled-gap": _scaled, "errors": _errors, "kernel-separation": _kernel_separation}
_READERS["kernel-overlap"] = _kernel_overlap


NOT_THESE = "the claim does not hold for these data"
_ENTRIES = 2_000_000
_BY_CHECKER = (*VERDICTS, "margin-bounds", "gordan", "least-squares", "fisher", "fisher-directions")


def prove_again(whole: Any, X: Any, labels: Any) -> str:
    """Return what is proved, in a sentence; raise `Refused` where it is not.

    Verdicts and margins are checked by `separatrix.checker`; for large data by the same check in
    NumPy with exact integers. The others are checked as docs/certificates.md says.
    """
    about = checker.about(whole)
    _require_about(about, X, labels)
    is_large = getattr(X, "nnz", X.size) > _ENTRIES
    if about.kind not in _BY_CHECKER or (is_large and about.kind in VERDICTS):
        proof = from_json(whole)
        if not proof.check(X, labels):
            raise Refused(NOT_THESE)
        if about.kind in VERDICTS:
            return f"{about.kind}, checked on {X.shape[0]} rows"
        return str(proof).removeprefix("proved: ")
    if about.decimals:
        try:
            X = times_powers_of_ten(problem_from(X, labels, True).X, tuple(about.decimals))
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from error
    return checker.check(whole, as_checker_data(problem_from(X, labels, about.intercept)))


def _require_about(about: Any, X: Any, labels: Any) -> None:
    """Refuse what a certificate says of its data where it is not so, whatever its kind claims."""
    names = [str(name) for name in np.unique(np.asarray(labels))]
    if about.classes != names:
        raise Refused(f"the certificate is about other classes than {', '.join(names[:8])}")
    for name, found in zip(("rows", "features"), X.shape, strict=True):
        if getattr(about, name) != found:
            raise Refused(f"the certificate is about another number of {name} than {found}")
    if not re.fullmatch("[0-9a-f]{64}", about.sha256):
        raise Refused("the certificate does not name its data by a SHA-256")
