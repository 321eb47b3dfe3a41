import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from tests.amounts import cases

import separatrix as sx


def clouds(seed, K=3, d=4, n=90):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(K), rng.integers(0, K, size=n - K)])
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(K, d))[y], y


def same_scores(ours, peer, X):
    """Scores of many classes are known up to a constant for each row."""
    mine, theirs = ours.decision_function(X), peer.decision_function(X)
    if mine.ndim > 1:
        mine, theirs = mine - mine[:, :1], theirs - theirs[:, :1]
    assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def test_gaussian_thresholds_equal_linear_discriminant_analysis():
    for seed in cases(40):
        K = 2 + seed % 3
        X, y = clouds(seed, K)
        form = sp.csr_array(X) if seed % 2 else X
        ours = sx.Fisher("gaussian").fit(form, y)
        peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
        same_scores(ours, peer, X)
        assert (ours.predict(form) == peer.predict(X)).all()
        projected = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).transform(X)
        projected = projected - projected.mean(axis=0)  # the peer leaves the mean where it is
        mine = ours.transform(form)
        signs = np.sign((mine * projected).sum(axis=0))
        assert_allclose(mine * signs, projected, rtol=1e-5, atol=1e-5)


def test_priors_move_the_gaussian_threshold():
    X, y = clouds(1, K=2)
    even = sx.Fisher("gaussian", priors=[0.5, 0.5]).fit(X, y)
    rare = sx.Fisher("gaussian", priors=[0.9, 0.1]).fit(X, y)
    assert_allclose(rare.coef_, even.coef_)
    assert rare.intercept_[0] - even.intercept_[0] == pytest.approx(np.log(1 / 9))


def test_shrinkage_equals_the_peers_on_columns_of_unit_variance():
    X, y = clouds(7, K=2, d=5)
    for k in (0, 1):
        X[y == k] -= X[y == k].mean(axis=0)
    X = X / X.std(axis=0) + np.outer(y, [1.0, 0.3, 0.0, -0.5, 0.2])
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.25).fit(X, y)
    same_scores(sx.Fisher("gaussian", shrinkage=0.25).fit(X, y), peer, X)


def test_the_lectures_threshold_and_its_generalisation():
    X, y = load_iris(return_X_y=True)
    X2, y2 = X[50:140], y[50:140]  # unequal classes: the global mean is not half way
    machine = sx.Fisher().fit(X2, y2)
    assert machine.decision_function(X2.mean(axis=0, keepdims=True))[0] == pytest.approx(
        0, abs=1e-12
    )
    many = sx.Fisher().fit(X, y)
    assert many.coef_.shape == (3, 4)
    within = (X - many.means_[y]) @ many.scalings_
    assert_allclose(within.T @ within / 150, np.eye(2), atol=1e-9)
    projected = many.transform(X)[:, None] - (many.means_ - many.xbar_) @ many.scalings_
    assert (many.predict(X) == (projected**2).sum(axis=2).argmin(axis=1)).all()
    assert many.score(X, y) > 0.97
    assert many.certificate_.holds
    assert many.certificate_.check(X, y)


def test_a_loss_moves_the_threshold():
    X, y = clouds(3, K=2)
    even = sx.Fisher("gaussian").fit(X, y)
    dear = sx.Fisher([[0.0, 10.0], [1.0, 0.0]]).fit(X, y)
    assert_allclose(dear.coef_, even.coef_)
    assert dear.intercept_[0] - even.intercept_[0] == pytest.approx(np.log(10.0))
    assert (dear.predict(X) == 1).sum() >= (even.predict(X) == 1).sum()


def test_what_is_done_about_a_singular_scatter_is_said():
    X, y = load_breast_cancer(return_X_y=True)
    few = np.r_[0:12, 20:32]
    machine = sx.Fisher().fit(X[few], y[few])
    assert 0.0 < machine.shrinkage_ < 1.0
    assert "Ledoit-Wolf shrinkage" in str(machine)
    assert machine.certificate_ is None
    assert "pseudo-inverse of rank" in str(
        sx.Fisher(shrinkage="pseudo-inverse").fit(X[few], y[few])
    )
    plain = sx.Fisher().fit(X, y)
    assert plain.shrinkage_ == 0.0
    assert plain.certificate_.holds
    assert "no direction has more than" in str(plain)
    assert pickle.loads(pickle.dumps(plain)).certificate_.check(X, y)


def test_wide_sparse_data_stay_sparse():
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 60_000), density=1e-3, rng=rng, format="csr")
    y = rng.integers(0, 2, size=200)
    machine = sx.Fisher(shrinkage=0.5).fit(X, y)
    assert machine.method_.endswith("n x n")
    assert machine.score(X, y) > 0.9
    assert machine.transform(X).shape == (200, 1)


def test_components_are_named_and_counted():
    X, y = load_iris(return_X_y=True)
    machine = sx.Fisher(n_components=1).fit(X, y)
    assert machine.transform(X).shape == (150, 1)
    assert machine.get_feature_names_out().tolist() == ["fisher0"]
    assert sx.Fisher().fit(X, y).explained_variance_ratio_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"threshold": "median"}, "threshold must be one of"),
        ({"threshold": [[0.0, 1.0]]}, "a row for each decision"),
        ({"threshold": [[1.0, 1.0], [1.0, 0.0]]}, "each error must lose more"),
        ({"direction": "best"}, "direction"),
        ({"shrinkage": 1.5}, "at most 1"),
        ({"shrinkage": "some"}, "shrinkage must be one of"),
        ({"priors": [0.5, 0.6]}, "priors must be 2 numbers"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2}, "n_components must be at most 1"),
    ],
)
def test_bad_parameters_get_one_clear_error(settings, words):
    with pytest.raises(ValueError, match=words):
        sx.Fisher(**settings).fit(*clouds(0, K=2))


def test_a_loss_for_many_classes_is_sent_elsewhere():
    with pytest.raises(ValueError, match="GaussianPlugIn"):
        sx.Fisher(np.ones((3, 3))).fit(*clouds(0, K=3))


def test_weights_too_large_to_write_down_are_refused():
    with pytest.raises(sx.DataError, match="Divide large columns"):
        sx.Fisher("gaussian").fit([[5e-324], [0.0], [1e-323], [1e-323]], [1, 0, 1, 1])
