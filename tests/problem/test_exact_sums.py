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
    monkeypatch.setattr(exact_sums, "_FEW", 0)
    whole = column_sums(X, signs)
    monkeypatch.setattr(exact_sums, "_ROWS_AT_A_TIME", 2)
    assert column_sums(X, signs) == whole


def test_few_entries_in_pythons_integers_sum_to_the_same(monkeypatch):
    draw = np.random.default_rng(0)
    for _ in range(20):
        X = np.ldexp(draw.normal(size=(6, 3)), draw.integers(-1074, 60, size=(6, 3)))
        X[draw.random(X.shape) < 0.3] = 0.0
        signs, weights = draw.choice([-1.0, 1.0], 6), [3, -(7**30), 2**900, 5]
        few = column_sums(X, signs), exact_margin_signs(X, signs, weights, True).tolist()
        with monkeypatch.context() as patched:
            patched.setattr(exact_sums, "_FEW", 0)
            many = column_sums(X, signs), exact_margin_signs(X, signs, weights, True).tolist()
        assert few == many
