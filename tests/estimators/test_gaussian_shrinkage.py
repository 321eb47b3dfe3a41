"""Covariances of Gaussian classes are shrunk towards their own variances."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris

import separatrix as sx

X, CODES = load_iris(return_X_y=True)


def draw(n_rows, n_columns=50, seed=0):
    """Draw two classes of one mean, each wide in the columns where the other is narrow."""
    rng = np.random.default_rng(seed)
    widths = np.repeat([1.0, 0.2], n_columns // 2)
    rows = [rng.normal(0.0, 1.0, (n_rows, n_columns)) * w for w in (widths, widths[::-1])]
    return np.vstack(rows), np.repeat(["a", "b"], n_rows)


def covariance_of(model, k):
    """Return the model's covariance of class k in the units of the data."""
    held = model.gaussians_
    units = held.spreads * np.exp2(held.exponents)
    return held.covariance(k) * units * units[:, None]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_covariance_is_between_that_of_the_rows_and_its_diagonal(share):
    weights = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = sx.GaussianPlugIn("full", shrinkage=share).fit(X, CODES, sample_weight=weights)
    for k in range(3):
        S = np.cov(X[k == CODES].T, fweights=weights[k == CODES].astype(int), bias=True)
        want = (1.0 - share) * S + share * np.diag(np.diag(S))
        np.testing.assert_allclose(covariance_of(model, k), want, atol=1e-12)
    assert model.certificate_.holds
    assert model.certificate_.check(X, CODES, weights)


def test_a_share_of_one_is_the_diagonal_model():
    rows, labels = draw(40)
    full = sx.GaussianPlugIn("full", shrinkage=1.0).fit(rows, labels)
    plain = sx.GaussianPlugIn("diagonal").fit(rows, labels)
    others, truth = draw(200, seed=1)
    np.testing.assert_allclose(full.predict_log_proba(others), plain.predict_log_proba(others))
    assert full.score(others, truth) > 0.95


@pytest.mark.parametrize("n_rows", [10, 30])
def test_fewer_rows_than_columns_keep_what_the_variances_know(n_rows):
    rows, labels = draw(n_rows)
    others, truth = draw(200, seed=1)
    plain = sx.GaussianPlugIn("diagonal").fit(rows, labels).score(others, truth)
    found = sx.GaussianPlugIn("full").fit(rows, labels)
    assert found.score(others, truth) > plain - 0.02
    assert found.certificate_.holds


def test_the_share_is_that_of_ledoit_and_wolf_in_columns_of_unit_variance():
    scale = np.array([1.0, 1e3, 1e-3, 1.0])
    model = sx.GaussianPlugIn("full", shrinkage="ledoit-wolf").fit(X * scale, CODES)
    for k in range(3):
        own = X[k == CODES]
        peer, share = ledoit_wolf((own - own.mean(axis=0)) / own.std(axis=0), assume_centered=True)
        assert model.gaussians_.shares[k] == pytest.approx(share, rel=1e-9)
        units = own.std(axis=0) * scale
        np.testing.assert_allclose(
            covariance_of(model, k) / units / units[:, None], peer, rtol=1e-9
        )
    sparse = sx.GaussianPlugIn("full", shrinkage="ledoit-wolf").fit(sp.csr_array(X), CODES)
    np.testing.assert_allclose(sparse.gaussians_.shares, model.gaussians_.shares, rtol=1e-9)


def test_a_column_without_variance_in_a_class_has_that_of_all_classes():
    rows = X.copy()
    rows[CODES == 0, 1] = 3.0
    model = sx.GaussianPlugIn("full", shrinkage=0.5).fit(rows, CODES)
    pooled = sum(rows[k == CODES, 1].var() for k in range(3)) / 3
    assert covariance_of(model, 0)[1, 1] == pytest.approx(0.5 * pooled)
    assert model.certificate_.holds
    with pytest.raises(sx.DataError, match="singular covariance"):
        sx.GaussianPlugIn("full", shrinkage=0.0).fit(rows, CODES)


def test_a_covariance_shrunk_otherwise_is_not_proved():
    model = sx.GaussianPlugIn("full", shrinkage=0.5).fit(X, CODES)
    claim = model.certificate_
    import dataclasses

    other = dataclasses.replace(claim.gaussians, shares=(0.5, 0.5, 0.4))
    assert not dataclasses.replace(claim, gaussians=other).check(X, CODES)
