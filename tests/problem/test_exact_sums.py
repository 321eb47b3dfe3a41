"""Sums of integers that would not fit int64."""

import numpy as np
import pytest

from separatrix.problem import exact_sums
from separatrix.problem.exact_sums import column_sums, exact_margin_signs


@pytest.mark.parametrize("columns", [2**17, 2**18])
def test_many_columns_of_short_integers_do_not_wrap(columns):
    """2^18 products of 16 and 30 bits have 64 bits, and their sum changed its sign."""
    X = np.full((2, columns), 65535.0)
    X[1] *= -1.0
    weights = [0, *[(2**30 - 1) << 1200] * (columns - 1), 1]
    assert exact_margin_signs(X, np.array([1.0, -1.0]), weights, True).tolist() == [1, 1]


def test_sums_of_rows_are_taken_in_stretches(monkeypatch):
    X = np.array([[0.5, 3.0], [2.0**40, -1.0], [2.0**-40, 7.0]])
    signs = np.array([1.0, -1.0, 1.0])
    whole = column_sums(X, signs)
    monkeypatch.setattr(exact_sums, "_ROWS_AT_A_TIME", 2)
    assert column_sums(X, signs) == whole
