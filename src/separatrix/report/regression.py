"""The coefficients of a study of two classes, as statisticians report them: with intervals."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from separatrix.report import facts as f

if TYPE_CHECKING:
    from separatrix.report.study import Study

__all__ = ["regression_facts"]

_MOST_ROWS, _MOST_COLUMNS = 5000, 16
_FEWEST_A_COLUMN = 5  # rows of the smaller class: with fewer, intervals say nothing


def regression_facts(work: Study) -> f.Regression | None:
    """Fit a logistic regression without a penalty to the training rows, columns as they were read.

    Where the classes are separated the estimates would be infinite, and Firth's penalty is taken.
    None where there are more than two classes, or too many rows or columns.
    """
    X, codes = work.X_train, work.codes_train
    smaller = int(np.bincount(codes, minlength=2).min())
    usual = len(work.names) == 2 and len(codes) <= _MOST_ROWS and X.shape[1] <= _MOST_COLUMNS
    if not usual or work.table.texts or smaller < _FEWEST_A_COLUMN * X.shape[1]:
        return None
    from separatrix.infer.inference import inference

    rows = dataclasses.replace(work.table, X=X, y=work.y_train, notes=[])
    try:
        found = inference(rows, feature_names=work.table.feature_names)
        if found.separation != "overlapping":
            found = inference(rows, method="firth", feature_names=work.table.feature_names)
    except (ValueError, ArithmeticError):
        return None
    listed = []
    for name in found.names:
        row = found[name]
        if not math.isnan(row["estimate"]):
            low, high = row["lower"], row["upper"]
            listed.append(f.Coefficient(name, row["estimate"], low, high, row["p_value"]))
    return f.Regression(
        coefficients=tuple(listed),
        positive=work.names[1],
        method=found.method,
        rows=len(codes),
        level=found.level,
        proof=found.proof,
        separation=found.separation,
        aliased=tuple(found.aliased),
    )
