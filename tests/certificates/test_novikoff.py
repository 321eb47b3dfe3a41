"""Novikoff's bound speaks of the rows as they were given."""

import numpy as np

import separatrix as sx


def test_columns_that_lose_digits_when_divided_get_no_bound():
    """The run is then on other rows: 3e-310 / 2^10 is rounded."""
    X = np.array([[1e5, 3e-310], [-1e5, 1e-5], [2e5, 1.0], [-2e5, 2e5]])
    y = [1, 0, 1, 0]
    model = sx.Perceptron(scale=True).fit(X, y)
    assert model.certificate_.holds
    assert model.novikoff_ is None
    X[0, 1] = 0.5
    assert sx.Perceptron(scale=True).fit(X, y).novikoff_.holds
