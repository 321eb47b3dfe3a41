"""Gaussian classes of one row have no covariance to estimate, and a warning says so."""

import warnings

import numpy as np
import pytest

import separatrix as sx

ROWS = np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 1.5], [5.0, 6.0]])
LABELS = ["many", "many", "many", "one"]


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_one_row_of_a_class_is_said(covariance):
    with pytest.warns(UserWarning, match="one row only of class 'one'"):
        model = sx.GaussianPlugIn(covariance).fit(ROWS, LABELS)
    assert model.predict(ROWS).tolist() == LABELS


def test_a_shared_covariance_needs_two_rows_of_any_class():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sx.GaussianPlugIn("shared").fit(ROWS, LABELS)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        sx.GaussianPlugIn("shared").fit([[0.0], [1.0]], ["a", "b"])
    assert any("one row only of class 'a', 'b'" in str(one.message) for one in seen)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_copies_and_rows_of_weight_zero_do_not_count(covariance):
    weights = [1.0, 1.0, 1.0, 1.0, 0.0]
    with pytest.warns(UserWarning, match="one row only of class 'one'"):
        sx.GaussianPlugIn(covariance).fit(
            np.vstack([ROWS, [[7.0, 7.0]]]), [*LABELS, "one"], sample_weight=weights
        )
