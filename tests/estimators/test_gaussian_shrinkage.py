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


def test_a_class_of_tiny_weights_has_a_share():
    for tiny in (1e-160, 1e-300):
        weights = np.where(CODES == 0, tiny, 1.0)
        model = sx.GaussianPlugIn("full", shrinkage="ledoit-wolf")
        model.fit(X, CODES, sample_weight=weights)
        # Rows that count next to nothing say nothing of their covariance.
        assert model.gaussians_.shares[0] == 1.0
        assert model.certificate_.check(X, CODES, weights)


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


def naive_pair(X, y, a, p):
    """Return Friedman's covariances of the classes, by their definition."""
    own = [np.cov(X[y == k].T, bias=True) for k in range(y.max() + 1)]
    shared = sum(np.sum(y == k) * C for k, C in enumerate(own)) / len(y)
    return [(1 - a) * C + a * ((1 - p) * np.diag(np.diag(C)) + p * shared) for C in own]


@pytest.mark.parametrize("pair", [(0.3, 1.0), (0.5, 0.5), (1.0, 1.0), (1.0, 0.25)])
def test_a_pair_mixes_own_variances_and_the_shared_covariance(pair):
    model = sx.GaussianPlugIn("full", shrinkage=pair, store_covariance=True).fit(X, CODES)
    np.testing.assert_allclose(model.covariance_, naive_pair(X, CODES, *pair), atol=1e-12)
    assert model.certificate_.holds
    assert model.certificate_.check(X, CODES)
    import dataclasses

    forged = dataclasses.replace(model.gaussians_, pooled=(0.9, *model.gaussians_.pooled[1:]))
    assert not dataclasses.replace(model.certificate_, gaussians=forged).check(X, CODES)


def test_all_of_it_is_the_shared_model():
    full = sx.GaussianPlugIn("full", shrinkage=(1.0, 1.0)).fit(X, CODES)
    shared = sx.GaussianPlugIn("shared").fit(X, CODES)
    np.testing.assert_allclose(full.predict_proba(X), shared.predict_proba(X), atol=1e-9)


def test_held_out_rows_choose_the_pair_of_fewest_errors():
    """Against folds dealt by hand and scikit-learn's errors of every pair."""
    from separatrix.solvers.closed_forms.gaussian_shrinkage import candidates

    rows, labels = draw(12, n_columns=6, seed=3)
    codes = (labels == "b").astype(int)
    fold = np.empty(len(rows), dtype=int)
    for k in (0, 1):
        own = np.flatnonzero(codes == k)
        ordered = sorted(own, key=lambda i: tuple(rows[i]))
        fold[ordered] = np.arange(len(own)) % 5
    best = None
    for pair in candidates():
        errors, loss = 0, 0.0
        for held in range(5):
            inner = sx.GaussianPlugIn("full", shrinkage=tuple(pair))
            inner.fit(rows[fold != held], codes[fold != held])
            logs = inner.predict_log_proba(rows[fold == held])
            errors += (logs.argmax(axis=1) != codes[fold == held]).sum()
            loss -= logs[np.arange(len(logs)), codes[fold == held]].sum()
        if best is None or (errors, loss) < best[0]:
            best = (errors, loss), pair
    model = sx.GaussianPlugIn("full", shrinkage="held-out").fit(rows, codes)
    found = model.gaussians_
    assert (found.shares[0], found.pooled[0] if found.pooled else 0.0) == tuple(best[1])
    assert "held-out rows" in model.method_


@pytest.mark.parametrize("setting", ["auto", "held-out"])
def test_the_choice_depends_neither_on_order_nor_on_units_and_copies_are_weights(setting):
    rows, labels = draw(8, n_columns=10, seed=5)
    rows = np.vstack([rows, rows[:3]])
    labels = np.concatenate([labels, labels[:3]])
    plain = sx.GaussianPlugIn("full", shrinkage=setting).fit(rows, labels)
    others, _ = draw(50, n_columns=10, seed=6)
    mixed = np.random.default_rng(0).permutation(len(rows))
    scale, shift = np.geomspace(1e-3, 1e3, 10), np.arange(10.0)
    moved = sx.GaussianPlugIn("full", shrinkage=setting)
    moved.fit(rows[mixed] * scale + shift, labels[mixed])
    weights = np.ones(16)
    weights[:3] = 2.0
    weighted = sx.GaussianPlugIn("full", shrinkage=setting)
    weighted.fit(rows[:16], labels[:16], sample_weight=weights)
    want = plain.predict_log_proba(others)
    np.testing.assert_allclose(moved.predict_log_proba(others * scale + shift), want, atol=1e-6)
    np.testing.assert_allclose(weighted.predict_log_proba(others), want, atol=1e-9)


def test_shared_and_own_covariances_are_found_where_they_are_right():
    """Where own variances alone, the rule before, lost nine points of accuracy."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(30, 5))
    away = np.eye(30)[0]
    away -= factors @ np.linalg.solve(factors.T @ factors, factors.T @ away)  # across all factors
    away *= 2.0 / np.linalg.norm(away)

    def correlated(count):
        rows = rng.normal(size=(2 * count, 5)) @ factors.T
        rows += np.sqrt(0.2) * rng.normal(size=rows.shape)
        labels = np.repeat([0, 1], count)
        return rows + np.outer(labels, away), labels

    train, test = correlated(20), correlated(400)
    chosen = sx.GaussianPlugIn("full").fit(*train)
    own = sx.GaussianPlugIn("full", shrinkage="ledoit-wolf").fit(*train)
    assert chosen.score(*test) > own.score(*test) + 0.05
    assert chosen.certificate_.holds


def test_too_few_rows_for_folds_take_ledoit_and_wolfs_share():
    rows, labels = draw(2, n_columns=4)
    model = sx.GaussianPlugIn("full").fit(rows, labels)
    assert "held-out" not in model.method_
    assert model.certificate_.holds


@pytest.mark.parametrize("setting", ["held-out", (0.5, 0.5)])
def test_a_choice_between_covariances_goes_with_full_ones(setting):
    with pytest.raises(ValueError, match="covariance='full'"):
        sx.GaussianPlugIn(shrinkage=setting).fit(X, CODES)


@pytest.mark.parametrize("setting", [(0.5, 1.5), (0.5, 0.5, 0.5), "cv", (-0.1, 0.0)])
def test_other_shrinkages_are_refused(setting):
    with pytest.raises(ValueError, match="shrinkage must be"):
        sx.GaussianPlugIn("full", shrinkage=setting).fit(X, CODES)
