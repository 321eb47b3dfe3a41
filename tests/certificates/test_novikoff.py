"""Novikoff's bound speaks of the rows as they were given."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

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


def test_products_that_vanish_are_no_mistakes():
    """Every margin of the run is computed as 0: it updates for ever on rows that are right."""
    X = np.array([[0.0, 0.0, 1.5154458377915636e-235], [-9.2e-301, 0.0, -8.8e-236]])
    options = {"average": True, "fit_intercept": False, "max_updates": 2000}
    with pytest.warns(ConvergenceWarning):
        model = sx.Perceptron(**options).fit(X, [1, 0])
    assert model.certificate_.holds
    assert model.n_iter_ == 2000
    assert model.novikoff_ is None
