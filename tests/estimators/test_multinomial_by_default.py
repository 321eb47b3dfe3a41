"""Several classes are fitted at once by default; where that cannot be, each against the rest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Peer

import separatrix as sx
from separatrix.core.linear_model import is_multinomial
from separatrix.storage.model_proof import prove_model

X, Y = load_iris(return_X_y=True)


def test_the_default_is_the_multinomial_model_as_in_scikit_learn():
    ours = sx.LogisticRegression(tol=1e-10).fit(X, Y)
    named = sx.LogisticRegression(tol=1e-10, multi_class="multinomial").fit(X, Y)
    assert_array_equal(ours.coef_, named.coef_)
    assert_array_equal(ours.predict_proba(X), named.predict_proba(X))
    peer = Peer(tol=1e-10, max_iter=10_000).fit(X, Y)
    assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    assert ours.certificate_.kind == "softmax-gap"
    assert ours.n_iter_.shape == (1,)


def test_weights_of_all_classes_sum_to_zero():
    for intercept in (True, False):
        model = sx.LogisticRegression(fit_intercept=intercept).fit(X, Y)
        assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12)
        assert_allclose(model.intercept_.sum(), 0.0, atol=1e-12)
        assert model.certificate_.check(X, Y)


def test_two_classes_are_one_hyperplane():
    two = Y[50:]
    ours = sx.LogisticRegression().fit(X[50:], two)
    assert_array_equal(ours.coef_, sx.LogisticRegression(multi_class="ovr").fit(X[50:], two).coef_)
    assert not is_multinomial(ours)


@pytest.mark.parametrize("settings", [{"solver": "gram"}])
def test_what_the_multinomial_model_has_not_is_fitted_class_by_class(settings):
    rows = np.random.default_rng(0).normal(size=X.shape)  # the labels do not depend on them
    ours = sx.LogisticRegression(**settings).fit(rows, Y)
    named = sx.LogisticRegression(**settings, multi_class="ovr").fit(rows, Y)
    assert_array_equal(ours.predict_proba(rows), named.predict_proba(rows))
    assert not is_multinomial(ours)
    assert prove_model(ours, rows, Y)[0]
    assert ours.n_iter_.shape == (3,)


def test_model_files_of_both_kinds_predict_alike(tmp_path):
    for number, settings in enumerate([{}, {"solver": "gram"}, {"multi_class": "ovr"}]):
        model = sx.LogisticRegression(**settings).fit(X, Y)
        path = tmp_path / f"{number}.sx"
        sx.save(model, path)
        assert_array_equal(sx.load(path).predict_proba(X), model.predict_proba(X))
        assert_allclose(sx.to_sklearn(model).predict_proba(X), model.predict_proba(X), atol=1e-12)
        assert prove_model(sx.load(path), X, Y)[0]
