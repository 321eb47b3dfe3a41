"""One pass over the data for many classes: all scores, and the sums of rows that shares make.

scores_ik = w_k.x_i + b_k,      totals_k = sum_i a_ik x_i
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.enclosed_sums import sums_both_ways
from separatrix.certificates.enclosure import Enclosure

__all__ = ["ClassPass", "class_pass", "shortfalls"]


@dataclass(frozen=True, eq=False)
class ClassPass:
    """By how much each row falls short, and the totals."""

    short: Enclosure  # max_k (1[k != y] + score_k - score_y), n
    slopes: np.ndarray  # 1[k != y] + score_k, n x K, about: no claim rests on them
    totals: Enclosure  # d x K


def class_pass(
    X: Any,
    codes: np.ndarray,
    W: np.ndarray,
    bias: np.ndarray,
    shares: Any,
    way: str = "plain",
    wide: float = 1.0,
) -> ClassPass:
    """Enclose what W (d x K), the biases and the shares a (n x K, sparse) come to on the data.

    A share in a row's own class is a sum of up to K multipliers, and rounded as often.
    """
    scores, totals = sums_both_ways(X, W, (), shares, way, wide, rounded=W.shape[1])
    scores = scores + bias
    slopes = scores.middle + 1.0
    slopes[np.arange(len(codes)), codes] -= 1.0
    return ClassPass(shortfalls(scores, codes), slopes, totals)


def shortfalls(scores: Enclosure, codes: np.ndarray) -> Enclosure:
    """Enclose how far rows fall short of a margin of 1 over every other class."""
    own = np.arange(len(codes)), codes
    away = scores + 1.0 - scores[own][:, None]
    for end in (away.low, away.high):
        end[own] = 0.0  # a row is at no distance from its own class
    return away.column_max()
