"""The penalty on the weights, in words."""

from __future__ import annotations

__all__ = ["LASSO", "penalty_words"]

LASSO = 1.0  # its l1_ratio


def penalty_words(l1_ratio: float) -> str:
    """Name the penalty; nothing for the ridge, which is the usual one.

    >>> penalty_words(0.0), penalty_words(1.0), penalty_words(0.5)
    ('', 'lasso', 'elastic net 0.5')
    """
    if not l1_ratio:
        return ""
    return "lasso" if l1_ratio == LASSO else f"elastic net {l1_ratio:g}"
