"""GaussianPlugIn with mixtures: against scikit-learn's, against its own rule, and in files."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

import separatrix as sx
from separatrix.solvers.closed_forms.mixtures import maximised
from separatrix.solvers.running.drive import one_thread


def diagonals(n=40, seed=0):
    """Exclusive or with noise: each class is two clouds."""
    rng = np.random.default_rng(seed)
    corners = np.repeat([[0, 0], [3, 3], [0, 3], [3, 0]], n, axis=0)
    return corners + rng.normal(size=corners.shape) * 0.6, np.repeat([0, 0, 1, 1], n)


def log_density(model, k, points):
    """Return log p(x | k) from the attributes alone, diagonal covariances not needed."""
    mixture = model.gaussians_
    own = np.flatnonzero(model.component_classes_ == k)
    scale = np.ldexp(mixture.gaussians.spreads, mixture.gaussians.exponents)
    total = 0.0
    for j in own:
        C = mixture.gaussians.covariance(j) * np.outer(scale, scale)
        law = multivariate_normal(model.component_means_[j], C)
        total = total + model.component_weights_[j] * law.pdf(points)
    return np.log(total)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_it_separates_what_one_gaussian_a_class_cannot(covariance):
    rng = np.random.default_rng(0)
    places, y = np.repeat([0.0, 4.0, 8.0, 12.0], 50), np.repeat([0, 1, 0, 1], 50)
    X, new = (places[:, None] * [1, 0.5] + rng.normal(size=(200, 2)) * 0.6 for _ in range(2))
    assert sx.GaussianPlugIn(covariance).fit(X, y).score(new, y) < 0.8
    mixed = sx.GaussianPlugIn(covariance, components=2).fit(X, y)
    assert mixed.score(new, y) > 0.99
    assert_allclose(np.sort(mixed.component_means_[:, 0]), [0, 4, 8, 12], atol=0.3)
    assert_allclose(mixed.component_weights_, 0.5, atol=0.02)
    assert mixed.component_classes_.tolist() == [0, 0, 1, 1]
    assert mixed.status_ == "settled"
    assert mixed.certificate_ is None
    assert mixed.error_rates_ is None
    assert "mixtures of 2/2 components" in str(mixed)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_scores_are_the_densities_of_the_components(covariance):
    X, y = diagonals()
    model = sx.GaussianPlugIn(covariance, components=2).fit(X * [1.0, 100.0], y)
    points = X[::7] * [1.0, 100.0]
    ratio = log_density(model, 1, points) - log_density(model, 0, points)
    assert_allclose(model.decision_function(points), ratio, rtol=1e-8, atol=1e-8)
    assert_allclose(model.means_, [(X * [1, 100])[y == k].mean(axis=0) for k in (0, 1)], rtol=1e-9)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_the_likelihood_is_that_of_scikit_learn_or_better(kind):
    for seed in range(2):
        X, y = diagonals(seed=seed)
        model = sx.GaussianPlugIn({"diag": "diagonal"}.get(kind, kind), components=2).fit(X, y)
        for k in (0, 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = GaussianMixture(2, covariance_type=kind, n_init=3, tol=1e-9, max_iter=500,
                                         random_state=0).fit(X[y == k])  # fmt: skip
            ours = log_density(model, k, X[y == k]).mean()
            assert ours >= theirs.score(X[y == k]) - 1e-4


def test_no_iteration_lowers_the_likelihood(monkeypatch):
    from separatrix.solvers.closed_forms import mixtures

    rng = np.random.default_rng(3)
    rows, s = rng.normal(size=(50, 3)), rng.uniform(0.5, 2.0, size=50)
    dealt = rng.dirichlet(np.ones(3), size=50)
    reached = []
    for most in range(1, 12):
        monkeypatch.setattr(mixtures, "_MOST_ITERATIONS", most)
        with one_thread():
            reached.append(maximised(rows, s, dealt, False)[1])
    assert (np.diff(reached) > -1e-9).all()
    assert reached[-1] > reached[0] + 1.0


def test_weights_are_copies_and_units_do_not_matter():
    X, y = diagonals(12)
    weights = 1 + np.arange(len(y)) % 2
    weighted = sx.GaussianPlugIn("full", components=2).fit(X, y, weights)
    copies = sx.GaussianPlugIn("full", components=2).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    assert_allclose(
        weighted.decision_function(X), copies.decision_function(X), rtol=1e-7, atol=1e-7
    )
    scaled = sx.GaussianPlugIn("full", components=2).fit(X * [1e-3, 1e4], y, weights)
    assert_allclose(
        scaled.decision_function(X * [1e-3, 1e4]), weighted.decision_function(X), rtol=1e-6
    )
    sparse = sx.GaussianPlugIn("full", components=2).fit(sp.csr_array(X), y, weights)
    assert_allclose(sparse.decision_function(X), weighted.decision_function(X), rtol=1e-6)


def test_losses_rejection_three_classes_and_few_rows():
    X, y = diagonals()
    three = np.where(X[:, 0] > 2.0, 2, y)
    model = sx.GaussianPlugIn("full", components=3, loss_matrix=1 - np.eye(3)).fit(X, three)
    assert model.score(X, three) > 0.9
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    refused = sx.GaussianPlugIn("diagonal", components=2, reject_cost=0.01).fit(X, y)
    assert refused.rejected(X).any()
    few = sx.GaussianPlugIn("full", components=5).fit(
        [[0.0], [1.0], [5.0], [6.0], [7.0]], [0, 0, 1, 1, 1]
    )
    assert few.component_classes_.tolist() == [0, 1]
    same = sx.GaussianPlugIn("full", components=2).fit(
        np.repeat([[0.0, 0], [1, 1]], 6, axis=0), np.repeat([0, 1], 6)
    )
    assert same.predict([[0, 0], [1, 1]]).tolist() == [0, 1]


def test_it_is_saved_cloned_and_refitted(tmp_path):
    X, y = diagonals()
    model = sx.GaussianPlugIn("full", components=2).fit(X, y)
    assert clone(model).components == 2
    sx.save(model, tmp_path / "model.sx")
    read = sx.load(tmp_path / "model.sx")
    assert np.array_equal(read.decision_function(X), model.decision_function(X))
    forged = dataclasses.replace(model.gaussians_, owners=model.gaussians_.owners * 2**40)
    assert forged.log_densities(X).shape == (len(X), 2)  # no loop over numbers of a file
    model.set_params(components=1).fit(X, y)
    assert not hasattr(model, "component_means_")
    assert model.certificate_.holds


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs covariance='full' or 'diagonal'"),
        ({"covariance": "full", "task": "minimax"}, "needs task='bayes'"),
        ({"covariance": "full", "shrinkage": 0.5}, "needs shrinkage='auto'"),
        ({"covariance": "full", "store_covariance": True}, "needs store_covariance=False"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, words):
    X, y = diagonals(3)
    with pytest.raises(ValueError, match=words):
        sx.GaussianPlugIn(components=2, **settings).fit(X, y)
    with pytest.raises(ValueError, match="components must be"):
        sx.GaussianPlugIn("full", components=0).fit(X, y)
