import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB
from tests.amounts import cases
from tests.naive import gaussian_plug_in as naive

import separatrix as sx


def clouds(seed, K=3, d=3, n=90):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(K), d + 3), rng.integers(0, K, size=n)])
    shapes = rng.normal(size=(K, d, d)) + 2.0 * np.eye(d)
    return np.array([shapes[k] @ rng.normal(size=d) + k for k in y]), y


def test_equals_the_peers_where_they_define_the_same():
    for seed in cases(15):
        X, y = clouds(seed, K=2 + seed % 3)
        form = sp.csr_array(X) if seed % 2 else X
        linear = sx.GaussianPlugIn().fit(form, y)
        peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
        assert_allclose(linear.predict_proba(form), peer.predict_proba(X), rtol=1e-6, atol=1e-9)
        naive_bayes = sx.GaussianPlugIn("diagonal").fit(form, y)
        peer = GaussianNB(var_smoothing=0.0).fit(X, y)
        assert_allclose(
            naive_bayes.predict_proba(form), peer.predict_proba(X), rtol=1e-5, atol=1e-8
        )
        quadratic = sx.GaussianPlugIn("full").fit(form, y)
        peer = QuadraticDiscriminantAnalysis(tol=1e-9).fit(X, y)
        assert_allclose(quadratic.predict_proba(form), peer.predict_proba(X), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
@pytest.mark.parametrize("K", [2, 3])
def test_least_expected_loss_decides(covariance, K):
    X, y = clouds(4, K)
    rng = np.random.default_rng(K)
    loss = rng.uniform(1.0, 5.0, size=(K, K)) * (1 - np.eye(K))
    priors = rng.dirichlet(np.ones(K))
    machine = sx.GaussianPlugIn(covariance, priors=priors, loss_matrix=loss).fit(X, y)
    expected = naive.posteriors(X, naive.estimates(X, y, covariance), priors)
    assert_allclose(machine.predict_proba(X), expected, rtol=1e-5, atol=1e-9)
    assert (machine.predict(X) == naive.decisions(expected, loss)).all()
    assert_allclose(machine.expected_loss(X), expected @ loss.T, rtol=1e-5, atol=1e-8)
    assert machine.linear_ == (covariance == "shared" and K == 2)
    assert hasattr(machine, "coef_") == machine.linear_


def test_a_shared_covariance_gives_a_linear_rule_and_says_so():
    X, y = load_iris(return_X_y=True)
    many = sx.GaussianPlugIn().fit(X, y)
    assert many.coef_.shape == (3, 4)
    assert ((X @ many.coef_.T + many.intercept_).argmax(axis=1) == many.predict(X)).all()
    two = sx.GaussianPlugIn(loss_matrix=[[0, 3], [1, 0]]).fit(X[50:], y[50:])
    assert_allclose((X @ two.coef_.T + two.intercept_).ravel(), two.decision_function(X), atol=1e-8)
    assert "rule     linear" in str(two)
    assert "weights" in str(two)
    assert "if the estimates were the truth" in str(two)
    assert "quadratic" in str(sx.GaussianPlugIn("full").fit(X, y))
    assert str(sx.GaussianPlugIn()) == repr(sx.GaussianPlugIn())
    frame = sx.GaussianPlugIn("full").fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert "rule" in frame._repr_mimebundle_()["text/html"]
    assert str(pickle.loads(pickle.dumps(frame))) == str(frame)
    assert two.certificate_.check(X[50:], y[50:])


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y = load_iris(return_X_y=True)
    machine = sx.GaussianPlugIn().fit(X, y)
    machine.set_params(covariance="full").fit(X, y)
    assert not hasattr(machine, "coef_")


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_doubtful_rows_are_rejected(labels):
    X, y = clouds(1, K=2)
    y = np.array(labels)[y]
    machine = sx.GaussianPlugIn("full", reject_cost=0.2).fit(X, y)
    doubt = machine.predict_proba(X).max(axis=1) < 0.8
    assert doubt.any()
    assert not doubt.all()
    assert (machine.rejected(X) == doubt).all()
    decided = machine.predict(X)
    assert (decided[doubt] == "reject").all()
    plain = sx.GaussianPlugIn("full").fit(X, y).predict(X)
    assert (decided[~doubt] == plain[~doubt]).all()
    assert machine.score(X, y) == pytest.approx(np.mean((plain == y) & ~doubt))
    assert machine.error_rates_ is None
    assert not sx.GaussianPlugIn("full", reject_cost=1.0).fit(X, y).rejected(X).any()


def test_minimax_and_neyman_pearson_by_closed_forms():
    X, y = clouds(2, K=2)
    bayes = sx.GaussianPlugIn(priors=[0.5, 0.5]).fit(X, y)
    D = np.sqrt(bayes.coef_[0] @ (bayes.means_[1] - bayes.means_[0]))
    minimax = sx.GaussianPlugIn(task="minimax").fit(X, y)
    assert_allclose(minimax.error_rates_, norm.cdf(-D / 2), rtol=1e-9)
    assert_allclose(minimax.priors_, 0.5)
    test = sx.GaussianPlugIn(task="neyman-pearson", bound=0.01).fit(X, y)
    assert_allclose(test.error_rates_, [0.01, norm.cdf(norm.isf(0.01) - D)], rtol=1e-9)
    assert_allclose(test.coef_, bayes.coef_)
    other = sx.GaussianPlugIn(task="neyman-pearson", bound=0.01, bounded_class=1).fit(X, y)
    assert_allclose(other.error_rates_[::-1], test.error_rates_, rtol=1e-9)
    for machine in (minimax, test, other):
        likely = machine.predict_proba(X)[:, 1] > 0.5
        assert (likely == (machine.predict(X) == 1)).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"covariance": "round"}, "covariance must be one of"),
        ({"task": "guess"}, "task must be one of"),
        ({"bound": 0.0}, "bound"),
        ({"bound": 1.0}, "below 1"),
        ({"reject_cost": -1.0}, "reject_cost"),
        ({"priors": [1.0, 1.0]}, "priors must be 2 numbers"),
        ({"loss_matrix": [[0.0]]}, "a row for each decision"),
        ({"loss_matrix": [[0.0, np.inf], [1.0, 0.0]]}, "finite"),
        ({"shrinkage": 2.0}, "at most 1"),
        ({"task": "minimax", "reject_cost": 0.1}, "go with task='bayes'"),
        ({"task": "neyman-pearson", "bounded_class": 7}, "bounded_class must be one of"),
    ],
)
def test_bad_parameters_get_one_clear_error(settings, words):
    with pytest.raises(ValueError, match=words):
        sx.GaussianPlugIn(**settings).fit(*clouds(0, K=2))


def test_tasks_without_priors_are_for_two_classes():
    with pytest.raises(ValueError, match="Only binary classification"):
        sx.GaussianPlugIn(task="minimax").fit(*clouds(0, K=3))


def test_rows_beyond_all_bounds_are_still_decided():
    X, y = clouds(0, K=2)
    machine = sx.GaussianPlugIn("full").fit(X, y)
    shares = machine.predict_proba([[1e300, -1e300, 1e308]])
    assert np.isfinite(shares).all()


def test_a_class_without_prior_is_never_decided_for():
    X, y = clouds(0, K=2)
    machine = sx.GaussianPlugIn(priors=[1.0, 0.0]).fit(X, y)
    assert (machine.predict(X) == 0).all()
    assert_allclose(machine.predict_proba(X)[:, 1], 0.0)


@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
@pytest.mark.parametrize("shrinkage", ["auto", "ledoit-wolf", 0.0])
def test_constant_columns_leave_the_frequencies(covariance, shrinkage):
    X, y = np.ones((5, 2)), np.array(["a", "b", "b", "a", "b"])
    model = sx.GaussianPlugIn(covariance, shrinkage=shrinkage).fit(X, y)
    assert model.certificate_.check(X, y)
    assert_allclose(model.predict_proba(X), np.tile([0.4, 0.6], (5, 1)))


@pytest.mark.parametrize("model", [sx.GaussianPlugIn(), sx.Fisher()])
def test_weights_that_leave_no_scatter_are_refused_by_name(model):
    """Its directions overflowed, and NumPy found no eigenvalues."""
    X = [[8.5467064e10], [8.54670809e10], [8.54662749e10], [8.54678017e10], [8.54677842e10]]
    with pytest.raises(sx.DataError, match="Divide large columns"):
        model.fit(X, [0, 0, -1, 1, 1], [1e-300, 1e12, 1.0, 1e-300, 1.0])
