"""What every kernel machine is given: its rows, how far to go, and where values are computed."""

from __future__ import annotations

import inspect
import math
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.problem.kernels import Kernel
from separatrix.solvers.kernels import factored_kernel
from separatrix.solvers.kernels.device_kernel import device_kernel_rows
from separatrix.solvers.kernels.kernel_rows import kernel_rows
from separatrix.solvers.kernels.smo import pair_steps

__all__ = [
    "LEAST_FACTORED_TOL",
    "KernelData",
    "KernelEffort",
    "chunks_at",
    "inner_tolerance",
    "is_small",
    "rows_at",
]

LEAST_FACTORED_TOL = 1e-10
_AIM = 0.9  # of the tolerance: what float32 hides must fit into the rest
_SMALL, _SMALL_TOL = 300, 1e-11


@dataclass(frozen=True, eq=False)
class KernelData:
    """The rows, their kernel, and what a certificate says of them."""

    kernel: Kernel
    X: Any
    fingerprint: Future[str]
    classes: tuple[str, ...]
    order: np.ndarray | None = None  # which row as given each one is, where they are sorted
    device: Any = None  # where kernel values are computed; None: on the processor


@dataclass(frozen=True)
class KernelEffort:
    """How far to go, when to stop, and with how much memory and how many threads."""

    tol: float
    cache_bytes: int
    workers: int
    deadline: float = math.inf  # of time.perf_counter


def rows_at(
    device: Any, kernel: Kernel, X: Any, effort: KernelEffort, pool: Any, precise: bool = False
) -> Any:
    """Return rows of the kernel matrix, made on a device or, where that is None, here."""
    if device is None:
        return kernel_rows(kernel, X, effort.cache_bytes, pool, precise=precise)
    return device_kernel_rows(kernel, X, device, effort.cache_bytes, precise)


def chunks_at(device: Any) -> dict[str, Any]:
    """Return how chunks are worked on beside a device: where no loop is compiled, by arrays."""
    if device is None:
        return {}
    return {"by_arrays": inspect.isfunction(pair_steps)}


def is_small(kernel: Kernel, n_rows: int) -> bool:
    """Whether the kernel matrix can be factored."""
    return n_rows <= factored_kernel.MOST_ROWS and bool(kernel.is_positive)


def inner_tolerance(effort: KernelEffort, n_rows: int) -> float:
    """Return the gap to stop at before the first proof."""
    # Where exactness costs next to nothing, weight 2 and two copies agree to all digits.
    tol = min(effort.tol, _SMALL_TOL) if n_rows <= _SMALL else effort.tol
    return _AIM * tol
