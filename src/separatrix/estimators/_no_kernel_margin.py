"""A hard margin that a kernel's space does not have: said with its witness."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.kernel_gap import KernelGap, signs_of
from separatrix.certificates.kernel_overlap import equal_rows, prove_kernel_overlap
from separatrix.errors import NotSeparableError

__all__ = ["no_kernel_margin"]


def no_kernel_margin(X: Any, codes: np.ndarray, proof: KernelGap) -> NotSeparableError:
    """Return the error for a machine whose multipliers ran off because nothing bounds them.

    Equal rows of different classes are the better witness, since they need no rounding.
    """
    signs = np.where(proof.costs > 0.0, signs_of(codes, proof.positive, proof.negative), 0.0)
    alpha, same = proof.multipliers, equal_rows(X, signs)
    if same is not None:
        alpha = np.zeros(len(codes))
        alpha[list(same)] = 1.0
    witness = prove_kernel_overlap(
        proof.kernel, X, codes, proof.positive, proof.negative, alpha,
        data_sha256=proof.data_sha256, classes=proof.classes,
    )  # fmt: skip
    if same is not None:
        why = f"rows {same[0]} and {same[1]} are equal and of different classes"
        remedy = "Leave one of them out, or use a finite C, which lets rows stand inside the margin"
    else:
        why = f"there is none ({witness})" if witness.holds else "none was found"
        remedy = (
            "Use a finite C, which lets rows stand inside the margin, or a larger gamma or degree"
        )
    return NotSeparableError(
        f"C=inf asks for a hard margin in the kernel's space, and {why}. {remedy}.",
        witness if witness.holds else None,
    )
