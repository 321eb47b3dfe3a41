"""Scores of a kernel machine on a device, in float64, with their errors bounded.

The same sums as `kernel_scores`, and the same bounds, which hold whatever the order of sums: a
device only has to follow IEEE arithmetic in products and sums, and to have exp and tanh right to
eight units in the last place. Nothing here is shared with the solvers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.certificates.kernel_scores import Scores, score_errors
from separatrix.certificates.kernel_values import KernelRowsInProof

__all__ = ["device_scores"]

_WIDTH = 4096
_ENTRIES_AT_A_TIME = 1 << 25


def device_scores(rows: KernelRowsInProof, shares: np.ndarray, device: Any) -> Scores:
    """Return the scores of every row for every column of `shares`, one a machine."""
    torch = torch_module()
    n, machines = shares.shape
    support = np.flatnonzero(shares.any(axis=1))
    values = np.zeros((n, machines))
    parts = [support[k : k + _WIDTH] for k in range(0, len(support), _WIDTH)]
    X = torch.as_tensor(rows.X, dtype=torch.float64, device=device)
    squares = torch.as_tensor(rows.squares, dtype=torch.float64, device=device)
    turned = []
    for part in parts:
        places = torch.as_tensor(part, device=device)
        share = torch.as_tensor(shares[part], dtype=torch.float64, device=device)
        turned.append((X[places].T, squares[places], share))
    step = max(1, _ENTRIES_AT_A_TIME // min(_WIDTH, max(1, len(support))))
    for begin in range(0, n, step):
        left, own = X[begin : begin + step], squares[begin : begin + step]
        total = torch.zeros((len(left), machines), dtype=torch.float64, device=device)
        for right, other, share in turned:
            total += _values(rows.kernel, left @ right, own, other) @ share
        values[begin : begin + step] = total.cpu().numpy()
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        wrong, size = rows.bounds(support)
        terms = min(_WIDTH, len(support)) + len(parts) + 5.0
        errors = score_errors(wrong, size, terms, shares)
    return Scores(values, errors, np.zeros(n, dtype=bool))


def _values(kernel: Any, products: Any, own: Any, other: Any) -> Any:
    """Return the kernel's values from products of rows and their squares."""
    if kernel.name == "rbf":
        products *= 2.0
        products -= own[:, None]
        products -= other
        return products.clamp_(max=0.0).mul_(kernel.gamma).exp_()
    if kernel.name == "linear":
        return products
    products.mul_(kernel.gamma).add_(kernel.coef0)
    if kernel.name == "sigmoid":
        return products.tanh_()
    values = products.new_ones(products.shape)
    for _ in range(kernel.degree):  # as the bound has it: a product a degree
        values *= products
    return values
