"""The certificate of a kernel machine from its JSON form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.certificates.checker import Refused
from separatrix.certificates.kernel_gap import KernelGap
from separatrix.certificates.reading import spread
from separatrix.certificates.refusal import opened
from separatrix.problem.kernels import KERNELS, Kernel

__all__ = ["kernel_gap_from_json"]


def kernel_gap_from_json(
    text: str | dict[str, Any], function: Callable[[Any, Any], Any] | None = None
) -> KernelGap:
    """Read a certificate; it proves nothing by itself: call its ``check(X, y)``.

    A kernel that was a function is not in the file: hand it over as `function`.
    """
    with opened(text, "kernel-gap") as whole:
        return _kernel_gap(whole["claim"], whole["data"], function)


def _kernel_gap(claim: dict[str, Any], about: dict[str, Any], function: Any) -> KernelGap:
    n, d = about["rows"], about["features"]
    if type(n) is not int or type(d) is not int or not (0 < n < 2**40 and 0 < d < 2**40):
        raise Refused("the certificate must say how many rows and features there are")
    costs = np.array([float.fromhex(value) for value in claim["costs"]])
    if not (len(costs) in (1, n) and (costs >= 0.0).all() and (costs > 0.0).any()):
        raise Refused("costs must be one number above zero, or one for each row")
    rows, multipliers = np.array(claim["rows"], dtype=np.int64), np.zeros(n)
    if any(type(row) is not int for row in claim["rows"]):
        raise Refused("rows must be whole numbers")
    if len(set(claim["rows"])) != len(rows) or not ((rows >= 0) & (rows < n)).all():
        raise Refused("rows must be different numbers of rows")
    multipliers[rows] = [float.fromhex(value) for value in claim["multipliers"]]
    if type(claim["curved"]) is not bool or about["intercept"] is not True:
        raise Refused("curved must be true or false, and the bias free")
    if type(claim["positive"]) is not int or type(claim["negative"]) is not int:
        raise Refused("positive and negative must number classes")
    return KernelGap(
        primal=float.fromhex(claim["primal"]),
        dual=float.fromhex(claim["dual"]),
        violation=float.fromhex(claim["violation"]),
        kernel=_kernel(claim["kernel"], function),
        bias=float.fromhex(claim["bias"]),
        multipliers=multipliers,
        costs=spread(costs, n),
        positive=claim["positive"],
        negative=claim["negative"],
        smallest=float.fromhex(claim["smallest"]),
        curved=claim["curved"],
        data_sha256=str(about["sha256"]),
        n_rows=n,
        n_features=d,
        classes=tuple(str(name) for name in about["classes"]),
    )


def _kernel(claim: dict[str, Any], function: Any) -> Kernel:
    name, degree = claim["name"], claim["degree"]
    gamma, coef0 = float.fromhex(claim["gamma"]), float.fromhex(claim["coef0"])
    if name not in (*KERNELS, "callable") or type(degree) is not int or degree < 0:
        raise Refused(f"no kernel is called {name!r}, or its degree is not a whole number")
    if not (0.0 < gamma < math.inf and math.isfinite(coef0)):
        raise Refused("gamma must be above 0, and coef0 finite")
    if name == "callable" and function is None:
        raise Refused("the kernel was a function: hand it over to be able to check")
    return Kernel(name, gamma, degree, coef0, function)
