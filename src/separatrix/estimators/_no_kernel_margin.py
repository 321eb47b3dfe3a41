"""A hard margin that a kernel's space does not have: said with its witness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.certificates.kernel_gap import KernelGap, signs_of
from separatrix.certificates.kernel_separation import KernelOverlap, equal_pair
from separatrix.errors import NotSeparableError

__all__ = ["no_kernel_margin"]


# A margin below this share of the longest row is none that floating point can find.
_AS_GOOD_AS_NONE = 1e-6


def no_kernel_margin(X: Any, codes: np.ndarray, proof: KernelGap) -> NotSeparableError | None:
    """Return the error for a machine whose multipliers ran off because nothing bounds them.

    Equal rows of different classes are the better witness, since they need no rounding. Without
    them what is proved is that no margin is above a tiny share of the rows' length. None where not
    even that is: then the machine is merely unproved.
    """
    signs = np.where(proof.costs > 0.0, signs_of(codes, proof.positive, proof.negative), 0.0)
    alpha, same = proof.multipliers, equal_pair(X, signs)
    if same is not None:
        alpha = np.zeros(len(codes))
        alpha[list(same)] = 1.0
    witness = KernelOverlap.proved(
        X, codes, alpha, kernel=proof.kernel, positive=proof.positive, negative=proof.negative,
        data_sha256=proof.data_sha256, classes=proof.classes,
    )  # fmt: skip
    if same is not None:
        why = f"rows {same[0]} and {same[1]} are equal and of different classes"
        remedy = "Leave one of them out, or use a finite C, which lets rows stand inside the margin"
    elif witness.holds and witness.margin <= _AS_GOOD_AS_NONE * witness.length < math.inf:
        exact = "there is none" if witness.margin == 0.0 else "there is none that can be computed"
        why = f"{exact} ({witness})"
        remedy = (
            "Use a finite C, which lets rows stand inside the margin, or a larger gamma or degree"
        )
    else:
        return None
    return NotSeparableError(
        f"C=inf asks for a hard margin in the kernel's space, and {why}. {remedy}.", witness
    )
