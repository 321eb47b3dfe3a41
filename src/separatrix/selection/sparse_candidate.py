"""Sparse weights among the candidates of a study: where they are tried, and at which values of C.

Where columns are many for the rows, few of them may matter, and the lasso of the logistic loss then
errs far less often than dense weights. It is tried last, on the features that won; columns as read
are standardised first, since the lasso punishes a weight by the unit of its column. More than two
classes are fitted at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.data.table import AS_READ
from separatrix.selection._cell import Setting
from separatrix.selection.refinement import sparse_grid

__all__ = ["features_of_sparse", "values_of_sparse"]

_VALUES = 12
_STANDARD = "standard"


def features_of_sparse(chosen: str, features: Sequence[str]) -> str:
    """Return the features on which the lasso is tried beside the ones chosen.

    >>> features_of_sparse("raw", ("standard", "raw")), features_of_sparse("ranks", ("ranks",))
    ('standard', 'ranks')
    """
    return _STANDARD if chosen == AS_READ and _STANDARD in features else chosen


def values_of_sparse(setting: Setting, Cs: Any) -> np.ndarray:
    """Return values of C from the largest that leaves all weights of the first fold zero."""
    least = setting.largest_cost_of_zero(setting.fold_weights(0))
    values, _ = sparse_grid(_VALUES if Cs is None else Cs, least, setting.matrix)
    return np.array([float(f"{C:.3g}") for C in values])
