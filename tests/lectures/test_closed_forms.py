"""Least squares, Fisher's discriminant and the decision tasks, as the lectures define them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.datasets import load_iris

import separatrix as sx


def test_the_closed_form_of_least_squares():
    """W* = (X'X)^-1 X'T with 1-of-K targets, and the argmax of W*'x decides."""
    X, y = load_iris(return_X_y=True)
    homogeneous = np.column_stack([np.ones(len(X)), X])
    T = np.array([[1.0 if k == label else 0.0 for k in range(3)] for label in y])
    W = np.linalg.inv(homogeneous.T @ homogeneous) @ homogeneous.T @ T
    machine = sx.LeastSquares().fit(X, y)
    assert_allclose(np.vstack([machine.intercept_, machine.coef_.T]), W, rtol=1e-7, atol=1e-9)
    assert (machine.predict(X) == (homogeneous @ W).argmax(axis=1)).all()


def test_least_squares_is_not_robust_to_outliers():
    x = np.array([0.0, 1.0, 2.0, 3.0])[:, None]
    far = np.vstack([x, np.full((10, 1), 40.0)])
    labels = [0, 0, 1, 1] + [1] * 10
    assert sx.LeastSquares().fit(x, labels[:4]).score(x, labels[:4]) == 1.0
    moved = sx.LeastSquares().fit(far, labels)
    assert moved.score(far, labels) < 1.0
    assert moved.status_ == "optimal"
    assert sx.separability(far, labels).kind == "separable"


def test_fishers_discriminant_for_two_classes():
    """w = S_W^-1 (m_2 - m_1) and w_0 = w.m, on unequal classes."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:130], y[50:130]
    first, second = X[y == 1], X[y == 2]
    S_W = sum(
        np.outer(x - part.mean(axis=0), x - part.mean(axis=0))
        for part in (first, second)
        for x in part
    )
    w = np.linalg.solve(S_W, second.mean(axis=0) - first.mean(axis=0))
    machine = sx.Fisher().fit(X, y)
    assert_allclose(machine.coef_[0], w, rtol=1e-8)
    assert_allclose(-machine.intercept_[0], w @ X.mean(axis=0), rtol=1e-8)
    naive = sx.Fisher(direction="means").fit(X, y)
    assert_allclose(naive.coef_[0], second.mean(axis=0) - first.mean(axis=0), rtol=1e-10)

    def ratio(v):
        return (v @ (second.mean(axis=0) - first.mean(axis=0))) ** 2 / (v @ S_W @ v)

    assert ratio(machine.coef_[0]) > ratio(naive.coef_[0])
    assert machine.certificate_.ratio == pytest.approx(ratio(w), rel=1e-9)


def test_risk_is_minimised_for_the_losses_given():
    """R(q) = sum p(x, k) W(q(x), k): no threshold on the model's own classes loses less."""
    X, y = np.array([[-1.0], [1.0], [1.0], [3.0]]), [0, 0, 1, 1]
    machine = sx.GaussianPlugIn(priors=[0.7, 0.3], loss_matrix=[[0, 4], [1, 0]]).fit(X, y)

    def risk(x):
        return 0.7 * norm.sf(x) + 4 * 0.3 * norm.cdf(x - 2)

    chosen = -machine.intercept_[0] / machine.coef_[0, 0]
    assert risk(chosen) <= min(risk(x) for x in np.linspace(-3, 5, 2001)) + 1e-12
    assert_allclose(machine.error_rates_, [norm.sf(chosen), norm.cdf(chosen - 2)])


def test_two_textbook_examples_of_tasks_without_priors():
    X, y = np.array([[-1.0], [1.0], [1.0], [3.0]]), [0, 0, 1, 1]
    machine = sx.GaussianPlugIn(task="neyman-pearson", bound=0.05).fit(X, y)
    assert -machine.intercept_[0] / machine.coef_[0, 0] == pytest.approx(norm.isf(0.05))
    assert_allclose(machine.error_rates_, [0.05, norm.cdf(norm.isf(0.05) - 2)])
    machine = sx.GaussianPlugIn(task="minimax", loss_matrix=[[0, 3], [1, 0]]).fit(X, y)
    even = brentq(lambda x: norm.sf(x) - 3 * norm.cdf(x - 2), -5, 5)
    assert -machine.intercept_[0] / machine.coef_[0, 0] == pytest.approx(even)
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    machine = sx.GaussianPlugIn("full", task="minimax").fit(X, y)
    c = brentq(lambda c: 2 * norm.sf(c) - (2 * norm.cdf(c / 2) - 1), 0.1, 5)
    assert machine.threshold_ == pytest.approx(3 * c**2 / 8 - np.log(2))
    assert_allclose(machine.error_rates_, 2 * norm.sf(c))
    assert (machine.predict([[0.0], [c + 0.01], [-c - 0.01]]) == [0, 1, 1]).all()
