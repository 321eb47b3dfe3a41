"""The certificates of kernel machines from their JSON form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.certificates.kernel_gap import KernelGap
from separatrix.certificates.kernel_multiclass_gap import KernelMulticlassGap
from separatrix.certificates.multiclass_reading import named_from_json
from separatrix.certificates.refusal import opened
from separatrix.certificates.two_bounds import costs_from_json
from separatrix.checker import Refused
from separatrix.problem.kernels import KERNELS, MOST_DEGREE, Kernel

__all__ = ["kernel_from_json", "kernel_gap_from_json", "kernel_multiclass_gap_from_json"]


def kernel_gap_from_json(
    text: str | dict[str, Any], function: Callable[[Any, Any], Any] | None = None
) -> KernelGap:
    """Read a certificate; it proves nothing by itself: call its ``check(X, y)``.

    A kernel that was a function is not in the file: hand it over as `function`.
    """
    with opened(text, "kernel-gap") as whole:
        return _kernel_gap(whole["claim"], whole["data"], function)


def _kernel_gap(claim: dict[str, Any], about: dict[str, Any], function: Any) -> KernelGap:
    n, d = _size(about)
    rows, multipliers = np.array(claim["rows"], dtype=np.int64), np.zeros(n)
    if any(type(row) is not int for row in claim["rows"]):
        raise Refused("rows must be whole numbers")
    if len(set(claim["rows"])) != len(rows) or not ((rows >= 0) & (rows < n)).all():
        raise Refused("rows must be different numbers of rows")
    multipliers[rows] = [float.fromhex(value) for value in claim["multipliers"]]
    if type(claim["curved"]) is not bool:
        raise Refused("curved must be true or false")
    if type(claim["positive"]) is not int or type(claim["negative"]) is not int:
        raise Refused("positive and negative must number classes")
    return KernelGap(
        primal=float.fromhex(claim["primal"]),
        dual=float.fromhex(claim["dual"]),
        violation=float.fromhex(claim["violation"]),
        kernel=kernel_from_json(claim["kernel"], function),
        bias=float.fromhex(claim["bias"]),
        multipliers=multipliers,
        costs=costs_from_json(claim["costs"], n),
        positive=claim["positive"],
        negative=claim["negative"],
        smallest=float.fromhex(claim["smallest"]),
        curved=claim["curved"],
        data_sha256=str(about["sha256"]),
        n_rows=n,
        n_features=d,
        classes=tuple(str(name) for name in about["classes"]),
    )


def kernel_multiclass_gap_from_json(
    text: str | dict[str, Any], function: Callable[[Any, Any], Any] | None = None
) -> KernelMulticlassGap:
    """Read the certificate of a direct machine with a kernel; call its ``check(X, y)``.

    A kernel that was a function is not in the file: hand it over as `function`.
    """
    with opened(text, "kernel-multiclass-gap") as whole:
        return _kernel_multiclass_gap(whole["claim"], whole["data"], function)


def _kernel_multiclass_gap(
    claim: dict[str, Any], about: dict[str, Any], function: Any
) -> KernelMulticlassGap:
    (n, d), K = _size(about), len(about["classes"])
    biases = np.array([float.fromhex(value) for value in claim["biases"]])
    if K < 2 or biases.shape != (K,) or not np.isfinite(biases).all():
        raise Refused("biases must be finite numbers, one for each of two classes or more")
    return KernelMulticlassGap(
        primal=float.fromhex(claim["primal"]),
        dual=float.fromhex(claim["dual"]),
        kernel=kernel_from_json(claim["kernel"], function),
        biases=biases,
        costs=costs_from_json(claim["costs"], n, finite=True),
        smallest=float.fromhex(claim["smallest"]),
        data_sha256=str(about["sha256"]),
        n_rows=n,
        n_features=d,
        classes=tuple(str(name) for name in about["classes"]),
        **named_from_json(claim, n, K)._asdict(),
    )


def _size(about: dict[str, Any]) -> tuple[int, int]:
    n, d = about["rows"], about["features"]
    if type(n) is not int or type(d) is not int or not (0 < n < 2**40 and 0 < d < 2**40):
        raise Refused("the certificate must say how many rows and features there are")
    if about["intercept"] is not True:
        raise Refused("the biases of kernel machines are free")
    return n, d


def kernel_from_json(claim: dict[str, Any], function: Any) -> Kernel:
    """Return the kernel of a claim; a function is not in the file."""
    name, degree = claim["name"], claim["degree"]
    gamma, coef0 = float.fromhex(claim["gamma"]), float.fromhex(claim["coef0"])
    if name not in (*KERNELS, "callable") or type(degree) is not int:
        raise Refused(f"no kernel is called {name!r}, or its degree is not a whole number")
    if not 0 <= degree <= MOST_DEGREE:
        raise Refused(f"the degree must lie between 0 and {MOST_DEGREE}")
    if not (0.0 < gamma < math.inf and math.isfinite(coef0)):
        raise Refused("gamma must be above 0, and coef0 finite")
    if name == "callable" and function is None:
        raise Refused("the kernel was a function: hand it over to be able to check")
    return Kernel(name, gamma, degree, coef0, function)
