"""Rows of the kernel matrix made and kept on a device, for the chunks of the kernel model.

    values of rows I with all rows      one product X_I X^T on the device, then exp or a power
    f += sum over moved rows i of s_i K_i        on the device: float32 values, float64 sums

A chunk meets the device three times: its own values come over (m x m), the multipliers it changed
go there, and what they add to f comes back. The pairs inside a chunk are chosen on the processor,
where a step takes microseconds and no device has to be waited for.

Distances do not change when the rows are centred, and lose fewer digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._device import free_bytes, product_precision, rows_on, torch_module
from separatrix.errors import DeviceError
from separatrix.problem.kernels import Kernel
from separatrix.solvers.kernels.kernel_rows import Recent, Span
from separatrix.solvers.kernels.kernel_sources import LARGEST, LARGEST_EXPONENT, LEAST

__all__ = ["KERNELS_ON_DEVICE", "DeviceKernelRows", "device_kernel_rows", "device_kernel_scores"]

KERNELS_ON_DEVICE = ("linear", "poly", "rbf", "sigmoid")
_SHARE_OF_MEMORY = 0.5  # of what is free, for rows kept
_ENTRIES_AT_A_TIME = 1 << 27  # of kernel values, while they are made
_ADDED_AT_A_TIME = 1 << 25  # and while they are laid out in float64


def device_kernel_rows(kernel: Kernel, X: Any, device: Any, cache_bytes: int, precise: bool) -> Any:
    """Return the rows of a kernel over dense X, in float32 where that does and else in float64."""
    if kernel.name not in KERNELS_ON_DEVICE:
        raise DeviceError(
            f"A {kernel.name} kernel is not computed on {device}: rbf, poly, sigmoid and linear "
            "are. Use device='cpu'."
        )
    torch = torch_module()
    rows = None if precise else _prepared(kernel, X, device, torch.float32)
    if rows is None or not _float32_does(kernel, *rows):
        rows = _prepared(kernel, X, device, torch.float64)
    return DeviceKernelRows(kernel, *rows, kernel.diagonal(X), cache_bytes)


def _prepared(kernel: Kernel, X: Any, device: Any, kind: Any) -> tuple[Any, Any]:
    """Return the rows, centred where only distances count, and their squares."""
    torch = torch_module()
    # In float32 large numbers become infinite: these rows are then made in float64, and checked.
    rows = rows_on(X, device, kind, check=kind is torch.float64)
    if kernel.name == "rbf":
        mean = torch.zeros(rows.shape[1], dtype=torch.float64, device=device)
        step = max(1, _ADDED_AT_A_TIME // max(1, rows.shape[1]))
        for begin in range(0, len(rows), step):
            mean += rows[begin : begin + step].double().sum(dim=0)
        rows = rows - (mean / len(rows)).to(kind)
    squares = torch.empty(len(rows), dtype=torch.float64, device=device)
    step = max(1, _ADDED_AT_A_TIME // max(1, rows.shape[1]))
    for begin in range(0, len(rows), step):
        squares[begin : begin + step] = rows[begin : begin + step].double().square().sum(dim=1)
    return rows, squares


def _float32_does(kernel: Kernel, rows: Any, squares: Any) -> bool:
    """Whether seven digits tell what they should."""
    largest = float(squares.max()) if len(squares) else 0.0
    if not math.isfinite(largest):
        return False
    if kernel.name == "rbf":
        return kernel.gamma * largest < LARGEST_EXPONENT
    with np.errstate(over="ignore"):
        inside = np.float64(kernel.gamma * largest + abs(kernel.coef0))
        size = inside**kernel.degree if kernel.name == "poly" else np.float64(largest)
    return bool(float(rows.abs().max()) < LARGEST and LEAST < size < LARGEST)


class DeviceKernelRows:
    """The rows of the kernel matrix used last, on a device; others are computed when needed."""

    def __init__(
        self, kernel: Kernel, rows: Any, squares: Any, diagonal: np.ndarray, cache_bytes: int
    ) -> None:
        torch = torch_module()
        n, size = len(diagonal), rows.dtype.itemsize
        self.device, self.diagonal, self.computed = rows.device, diagonal, 0
        self.is_float32 = rows.dtype is torch.float32
        if self.device.type == "cuda":
            cache_bytes = int(_SHARE_OF_MEMORY * free_bytes(self.device))
        self.capacity = max(2, min(n, cache_bytes // (size * max(1, n))))
        self.store = torch.empty((self.capacity, n), dtype=rows.dtype, device=self.device)
        self._kernel, self._rows, self._squares = kernel, rows, squares.to(rows.dtype)
        self._recent = Recent(n, self.capacity)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the values between the given rows, on the processor."""
        places = self._there(rows)
        self.computed += len(rows) ** 2
        return np.asarray(self._values(places, self._rows[places], self._squares[places]).cpu())

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return where the rows stand in `store`, after computing those that are missing."""
        return self._recent.fetch(rows, self._fill)

    def _fill(self, rows: np.ndarray, slots: np.ndarray) -> None:
        n = len(self.diagonal)
        step = max(1, _ENTRIES_AT_A_TIME // max(1, n))
        for begin in range(0, len(rows), step):
            places = self._there(rows[begin : begin + step])
            self.store[self._there(slots[begin : begin + step])] = self._values(
                places, self._rows, self._squares
            )
        self.computed += len(rows) * n

    def add(self, rows: np.ndarray, steps: np.ndarray, spans: list[Span], f: np.ndarray) -> None:
        """Add rows times steps to f, which holds the columns of the spans one after another."""
        torch = torch_module()
        slots = self._there(self.fetch(rows))
        shares = torch.as_tensor(steps, dtype=torch.float64, device=self.device)
        width = max(1, _ADDED_AT_A_TIME // max(1, len(rows)))
        for first, last, at in spans:
            total = torch.empty(last - first, dtype=torch.float64, device=self.device)
            for begin in range(first, last, width):
                end = min(begin + width, last)
                values = self.store[:, begin:end].index_select(0, slots).double()
                total[begin - first : end - first] = shares @ values
            f[at : at + last - first] += total.cpu().numpy()

    def _there(self, places: np.ndarray) -> Any:
        return torch_module().as_tensor(places, device=self.device)

    def _values(self, left: Any, right: Any, right_squares: Any) -> Any:
        """Return the kernel's values of rows `left` with those on the right."""
        with product_precision(fast=False):
            products = self._rows[left] @ right.T
        return _from_products(self._kernel, products, self._squares[left], right_squares)


def _from_products(kernel: Kernel, values: Any, left_squares: Any, right_squares: Any) -> Any:
    """Return the kernel's values where products of rows stand; of distances, with their squares."""
    if kernel.name == "rbf":
        values *= 2.0
        values -= left_squares[:, None]
        values -= right_squares
        return values.clamp_(max=0.0).mul_(kernel.gamma).exp_()
    if kernel.name == "linear":
        return values
    values.mul_(kernel.gamma).add_(kernel.coef0)
    return values.tanh_() if kernel.name == "sigmoid" else values.pow_(kernel.degree)


def device_kernel_scores(
    kernel: Kernel, X: Any, vectors: np.ndarray, shares: np.ndarray, device: Any
) -> np.ndarray:
    """Return sum_i s_i K(x_i, x) for every row x of a tensor, in float64, where it is."""
    torch = torch_module()
    right = torch.as_tensor(np.asarray(vectors, dtype=np.float64), device=device)
    turned = torch.as_tensor(shares.T, dtype=torch.float64, device=device)
    centre = right.mean(dim=0) if kernel.name == "rbf" and len(right) else 0.0
    right = right - centre
    squares = right.square().sum(dim=1)
    scores = np.zeros((len(X), len(shares)))
    step = max(1, _ADDED_AT_A_TIME // max(1, len(right), right.shape[1]))
    for begin in range(0, len(X) if len(right) else 0, step):
        left = X[begin : begin + step].to(device).double() - centre
        values = _from_products(kernel, left @ right.T, left.square().sum(dim=1), squares)
        scores[begin : begin + step] = (values @ turned).cpu().numpy()
    return scores
