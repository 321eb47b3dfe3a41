"""`store_covariance`: covariances in the units of the data, as scikit-learn's models keep them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

import separatrix as sx
from separatrix.storage.model_proof import prove_model

X, CODES = load_iris(return_X_y=True)
SCALED = X * [1.0, 1e3, 1e-3, 7.0]


def test_fisher_and_the_shared_model_keep_that_within_the_classes():
    peer = LinearDiscriminantAnalysis(store_covariance=True, solver="lsqr").fit(SCALED, CODES)
    for model in (sx.Fisher(store_covariance=True), sx.GaussianPlugIn(store_covariance=True)):
        found = model.fit(SCALED, CODES).covariance_
        np.testing.assert_allclose(found, peer.covariance_, rtol=1e-9)
        sparse = model.fit(sp.csr_array(SCALED), CODES).covariance_
        np.testing.assert_allclose(sparse, peer.covariance_, rtol=1e-9)


def test_full_and_diagonal_models_keep_one_a_class():
    full = sx.GaussianPlugIn("full", store_covariance=True).fit(SCALED, CODES).covariance_
    peer = (
        QuadraticDiscriminantAnalysis(store_covariance=True, tol=1e-9)
        .fit(SCALED, CODES)
        .covariance_
    )
    np.testing.assert_allclose(full, np.array(peer), rtol=1e-8)
    plain = sx.GaussianPlugIn("diagonal", store_covariance=True).fit(SCALED, CODES)
    np.testing.assert_allclose(
        plain.covariance_, GaussianNB(var_smoothing=0).fit(SCALED, CODES).var_
    )


def test_shrunk_weighted_and_constant_columns():
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    rows = np.column_stack([X, np.full(len(X), 5.0)])
    model = sx.Fisher(shrinkage=0.25, store_covariance=True).fit(rows, CODES, weights)
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    within = X[copies] - np.array([np.average(X[k == CODES], axis=0, weights=weights[k == CODES])
                                   for k in range(3)])[CODES[copies]]  # fmt: skip
    S = within.T @ within / len(copies)
    want = 0.75 * S + 0.25 * np.diag(np.diag(S))
    np.testing.assert_allclose(model.covariance_[:4, :4], want, rtol=1e-9)
    assert not model.covariance_[4].any()


def test_none_is_kept_by_default_nor_after_a_fit_without():
    model = sx.Fisher(store_covariance=True).fit(X, CODES).set_params(store_covariance=False)
    assert not hasattr(model.fit(X, CODES), "covariance_")
    assert not hasattr(sx.GaussianPlugIn().fit(X, CODES), "covariance_")


MODELS = {
    "fisher": (sx.Fisher(store_covariance=True), CODES),
    "fisher of two": (sx.Fisher(store_covariance=True), CODES > 0),
    "shared": (sx.GaussianPlugIn(store_covariance=True), CODES),
    "full": (sx.GaussianPlugIn("full", shrinkage=(0.2, 0.5), store_covariance=True), CODES),
    "diagonal": (sx.GaussianPlugIn("diagonal", store_covariance=True), CODES),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_file_keeps_it_and_an_altered_one_is_refused(name, tmp_path):
    model, y = MODELS[name]
    model.fit(X, y)
    sx.save(model, tmp_path / "m.sx")
    loaded = sx.load(tmp_path / "m.sx")
    np.testing.assert_array_equal(loaded.covariance_, model.covariance_)
    assert prove_model(loaded, X, y)[0]
    loaded.covariance_ = loaded.covariance_ * 1.001
    assert not prove_model(loaded, X, y)[0]
