"""Rows of a kernel matrix as seen from a point in the middle of the kernel's space.

    K_z(x, x') = (phi(x) - z).(phi(x') - z),    z the mean of some of the rows

Where multipliers balance, both make the same machine with other biases. What all rows have in
common, which may be most of K, is then gone, and visits to single rows get on faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.problem.kernels import Kernel

__all__ = ["CentredRows", "centred_rows"]

_SAMPLE = 256


def centred_rows(kernel_rows: Any, kernel: Kernel, X: Any) -> CentredRows:
    """Return the rows seen from the mean of up to 256 of them, spread over all."""
    n = X.shape[0]
    sample = np.unique(np.linspace(0, n - 1, _SAMPLE).astype(np.int64))
    if kernel.name == "precomputed":
        values = np.asarray(X[:, sample], dtype=np.float64)
    else:
        values = np.asarray(kernel.block(X, X[sample]), dtype=np.float64)
    products = values.mean(axis=1)
    return CentredRows(kernel_rows, products, float(products[sample].mean()))


class CentredRows:
    """`kernel_rows` less their products with z, plus |z|^2."""

    def __init__(self, kernel_rows: Any, products: np.ndarray, square: float) -> None:
        self.kernel_rows, self.products, self.square = kernel_rows, products, square
        self.diagonal = np.maximum(kernel_rows.diagonal - 2.0 * products + square, 0.0)
        self.capacity = kernel_rows.capacity

    @property
    def is_float32(self) -> bool:
        """Whether values carry seven digits only."""
        return bool(self.kernel_rows.is_float32)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the values between the given rows."""
        values = self.kernel_rows.block(rows)
        products = self.products[rows]
        off = (products - 0.5 * self.square).astype(values.dtype)
        values -= off
        values -= off[:, None]
        return np.asarray(values)

    def add(self, rows: np.ndarray, steps: np.ndarray, f: np.ndarray) -> None:
        """Add rows times steps to f."""
        n = len(self.products)
        self.kernel_rows.add(rows, steps, [(0, n, 0)], f)
        total = float(steps.sum())
        f -= total * self.products
        f -= float(steps @ self.products[rows]) - total * self.square
