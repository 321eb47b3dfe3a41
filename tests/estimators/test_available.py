"""Methods that some estimators or settings have not: absent to hasattr, and the error helps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV

import separatrix as sx

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 2.5], [3.0, 0.0], [4.0, 3.5], [5.0, 1.5]])
Y = np.array([0, 0, 1, 0, 1, 1])


def _error(estimator, name):
    assert not hasattr(estimator, name)
    with pytest.raises(AttributeError) as caught:
        getattr(estimator, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("estimator", "name", "what_to_do"),
    [
        (sx.LinearSVM(), "predict_proba", "Fit LinearSVM(probability=True)"),
        (sx.LinearSVM(), "predict_log_proba", "Fit LinearSVM(probability=True)"),
        (sx.SGD(), "predict_proba", "Fit SGD(loss='logistic')"),
        (sx.LogisticRegression(multi_class="ovo"), "predict_proba", "multi_class='ovr'"),
        (sx.KernelSVM(), "predict_proba", "Fit KernelSVM(probability=True)"),
        (sx.Perceptron(), "predict_log_proba", "probability=True"),
        (sx.LinearSVMCV(), "predict_proba", "LogisticRegression()"),
        (sx.OneVsRest(sx.Kozinec()), "predict_proba", "CalibratedClassifierCV"),
        (sx.LeastSquares(task="regression"), "decision_function", "Use predict"),
        (sx.Perceptron(scale=True), "partial_fit", "Scale the rows before"),
        (sx.OneVsRest(object()), "decision_function", "Wrap an estimator that has"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_error_itself_says_what_to_do(estimator, name, what_to_do):
    said = _error(estimator, name)
    assert said.startswith(f"This '{type(estimator).__name__}' has no {name}: ")
    assert what_to_do in said


def test_the_setting_brings_the_method_back():
    machine = sx.SGD()
    assert "predict_proba" in _error(machine, "predict_proba")
    machine.set_params(loss="logistic").fit(X, Y)
    assert machine.predict_proba(X).shape == (6, 2)
    assert type(machine).predict_proba(machine, X).shape == (6, 2)
    with pytest.raises(AttributeError, match=r"Fit SGD\(loss='logistic'\)"):
        type(machine).predict_proba(sx.SGD(), X)
    assert sx.SGD.predict_proba.__doc__ is not None


def test_what_the_error_names_works():
    many = np.tile(X, (5, 1)) + np.arange(60).reshape(30, 2) / 1e3
    found = CalibratedClassifierCV(sx.KernelSVM(), cv=3).fit(many, np.tile(Y, 5))
    assert found.predict_proba(many).shape == (30, 2)
