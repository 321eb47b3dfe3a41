"""Stacks of small matrices, enclosed: lengths, products, determinants, and what inverts them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from separatrix.certificates.enclosed_functions import log
from separatrix.certificates.enclosed_sums import stacked_products
from separatrix.certificates.enclosure import Enclosure, safely
from separatrix.certificates.likelihood_bounds import NoProof, widened


def lengths_of(stack: Enclosure) -> np.ndarray:
    """Bound the length of each matrix or vector of a stack, all its numbers taken together."""
    far = stack.size().high.reshape(stack.shape[0], -1)
    return np.asarray(safely(np.sqrt(np.einsum("ka,ka->k", far, far))))


def from_left(A: np.ndarray, B: Enclosure) -> Enclosure:
    """Enclose A_k'B_k."""
    return stacked_products(np.ascontiguousarray(A.transpose(0, 2, 1)), B)


def turned(G: np.ndarray, B: Enclosure) -> Enclosure:
    """Enclose G_k'B_k G_k for symmetric B."""
    return from_left(G, from_left(G, B)._each(lambda ends: ends.transpose(0, 2, 1)))


def totals(stack: Enclosure) -> Enclosure:
    """Enclose the sum of each vector of a stack."""
    ones = np.ones((1, 1, stack.shape[1]))
    return stacked_products(ones, stack[:, :, None])[:, 0, 0]


def trace(stack: Enclosure) -> Enclosure:
    """Enclose the trace of each matrix of a stack."""
    places = np.arange(stack.shape[1])
    return totals(stack[:, places, places])


def stacked_products_both(A: Enclosure, B: Any) -> Enclosure:
    """Enclose A_k B_k for enclosed factors on both sides."""
    found = stacked_products(A.middle, B)
    radius = A.radius
    if not radius.any():
        return found
    sizes = B.size().high if isinstance(B, Enclosure) else abs(B)
    return widened(found, stacked_products(radius, sizes).high)


def inverses(stack: np.ndarray) -> np.ndarray:
    """Return about the inverse of each matrix, NaN for one that has none."""
    try:
        return np.linalg.inv(stack)
    except np.linalg.LinAlgError:
        found = np.full(stack.shape, np.nan)
        for k, matrix in enumerate(stack):
            with suppress(np.linalg.LinAlgError):
                found[k] = np.linalg.inv(matrix)
        return found


def nearly_identities(H: Enclosure) -> tuple[np.ndarray, Enclosure]:
    """Return upper triangular G for which G'HG is nearly the identity, and the rest."""
    try:
        L = np.linalg.cholesky(H.middle)
    except np.linalg.LinAlgError:
        raise NoProof("the information is singular") from None
    eye = np.broadcast_to(np.eye(L.shape[1]), L.shape)
    G = np.ascontiguousarray(np.triu(np.linalg.solve(L, eye).transpose(0, 2, 1)))
    return G, turned(G, H) - np.eye(L.shape[1])


def usable(eps: np.ndarray) -> np.ndarray:
    """Keep bounds on |G'HG - 1| that are below one half; no bound is NaN."""
    return np.where(eps < 0.5, eps, np.nan)


def log_determinants(H: Enclosure) -> Enclosure:
    """Enclose the logarithms of the determinants of a stack of matrices."""
    G, excess = nearly_identities(H)
    return log_determinant(G, trace(excess), usable(lengths_of(excess)))


def log_determinant(G: np.ndarray, trace: Enclosure, eps: np.ndarray) -> Enclosure:
    """Enclose log |1 + excess| - 2 log |G|: the trace, give or take eps^2 / (2 (1 - eps))."""
    places = np.arange(G.shape[1])
    off = safely(eps * eps / (2.0 * (1.0 - eps)))
    scales = totals(log(np.ascontiguousarray(abs(G[:, places, places]))))
    return widened(trace, off) - scales.scaled(1)
