"""The transformers of sx.lift against the obvious and against scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import check_estimator
from tests.amounts import COMPILED_ONLY, cases
from tests.naive import lifting as naive

import separatrix as sx

EVERY = [
    sx.lift.Polynomial(),
    sx.lift.Polynomial(3, interaction_only=True, include_bias=True),
    sx.lift.RadialBasis(),
    sx.lift.RadialBasis(2),
    sx.lift.Sigmoid(),
    sx.lift.RandomFourier(20, random_state=0),
    sx.lift.Nystrom(10, random_state=0),
    sx.lift.Nystrom(10, kernel="poly", random_state=0),
]


@COMPILED_ONLY
@pytest.mark.parametrize("lift", EVERY, ids=str)
def test_scikit_learn_finds_nothing_to_excuse(lift):
    outcomes = check_estimator(lift, on_skip=None, on_fail=None)
    bad = [(o["check_name"], o["status"]) for o in outcomes if o["status"] == "failed"]
    assert len(outcomes) > 40
    assert not bad


def test_monomials_are_those_of_scikit_learn():
    for seed in cases(40):
        rng = np.random.default_rng(seed)
        d, degree = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        X = np.where(rng.random((7, d)) < 0.5, rng.normal(size=(7, d)), 0.0)
        alone, bias = bool(seed % 2), bool(seed % 3 == 0)
        lift = sx.lift.Polynomial(degree, interaction_only=alone, include_bias=bias).fit(X)
        peer = PolynomialFeatures(degree, interaction_only=alone, include_bias=bias).fit(X)
        assert_allclose(lift.transform(X), naive.monomials(X, degree, alone, bias))
        assert_allclose(lift.transform(X), peer.transform(X))
        assert lift.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
        thin = lift.transform(sparse.csr_array(X))
        assert sparse.issparse(thin)
        assert thin.has_canonical_format
        assert_allclose(thin.toarray(), peer.transform(X))


def test_entries_given_twice_are_added_first():
    """They once wrote beyond the end of an array."""
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0, -1.0, 3.0]), np.array([1, 0, 1, 1, 1]), np.array([0, 3, 3, 5])),
        shape=(3, 2),
    )
    for degree in (1, 2, 3):
        lift = sx.lift.Polynomial(degree)
        assert_allclose(lift.fit_transform(X).toarray(), lift.fit_transform(X.toarray()))
    assert X.nnz == 5  # what was given stays as it is


def test_a_column_that_is_not_there_is_refused():
    X = sparse.csr_array(np.eye(3))
    lift = sx.lift.Polynomial(2).fit(X)
    model = sx.LinearSVM().fit(X, [0, 1, 1])
    X.indices[1] = 70_000
    several = sx.OneVsOne(sx.Fisher())
    fits = (sx.lift.Polynomial(2).fit, sx.LinearSVM().fit, several.fit)
    for refused in (*fits, lift.transform, model.predict):
        with pytest.raises(sx.DataError, match="not a well-formed CSR matrix"):
            refused(X, *([[0, 1, 1]] if refused in fits else []))


def test_wide_sparse_rows_stay_sparse():
    X = sparse.random_array((20, 60_000), density=1e-4, format="csr", rng=0)
    lifted = sx.lift.Polynomial(2).fit_transform(X)
    assert lifted.shape == (20, 60_000 + 60_000 * 60_001 // 2)
    squares = lifted[:, :60_000].data
    assert_allclose(np.sort(squares), np.sort(X.data))
    counts = np.diff(X.indptr)
    assert lifted.nnz == (counts + counts * (counts + 1) // 2).sum()


def test_bumps_and_steps_are_the_naive_ones():
    rng = np.random.default_rng(0)
    X, centres = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    for data in (X, sparse.csr_array(X)):
        bumps = sx.lift.RadialBasis(centres, width=0.7).fit_transform(data)
        assert_allclose(bumps, naive.radial(X, centres, 0.7), atol=1e-14)
        steps = sx.lift.Sigmoid(centres, slope=0.3, offset=-0.2).fit_transform(data)
        assert_allclose(steps, naive.sigmoids(X, centres, 0.3, -0.2))
        waves = sx.lift.RandomFourier(5, gamma=0.4, random_state=1).fit(data)
        assert_allclose(
            waves.transform(data), naive.cosines(X, waves.directions_, waves.offsets_), atol=1e-14
        )
    by_scale = sx.lift.RadialBasis().fit_transform(X)
    assert_allclose(by_scale, rbf_kernel(X, gamma=1.0 / (3 * X.var())), atol=1e-13)
    assert sx.lift.RadialBasis(3).fit(X).centres_.shape == (3, 3)


def test_random_cosines_miss_the_kernel_by_no_more_than_stated():
    X = np.random.default_rng(2).normal(size=(30, 4))
    for D in (100, 10_000):
        Z = sx.lift.RandomFourier(D, gamma=0.3, random_state=0).fit_transform(X)
        # 2 exp(-D e^2 / 8) for each of 465 pairs, one in a thousand for all together.
        allowed = np.sqrt(8.0 * np.log(2.0 * 465 * 1000) / D)
        assert abs(Z @ Z.T - rbf_kernel(X, gamma=0.3)).max() < allowed


def test_nystrom_is_exact_where_all_rows_are_taken():
    X = np.random.default_rng(3).normal(size=(25, 3))
    Z = sx.lift.Nystrom(25, gamma=0.5).fit_transform(X)
    assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.5), atol=1e-9)
    peer = Nystroem(gamma=0.5, n_components=25, random_state=0).fit_transform(X)
    assert_allclose(Z @ Z.T, peer @ peer.T, atol=1e-7)
    cubic = sx.lift.Nystrom(25, kernel="poly", gamma=0.5).fit_transform(sparse.csr_array(X))
    assert_allclose(cubic @ cubic.T, polynomial_kernel(X, degree=3, gamma=0.5), rtol=1e-7)
    own = sx.lift.Nystrom(25, kernel=lambda x, z: x @ z).fit_transform(X)
    assert_allclose(own @ own.T, X @ X.T, atol=1e-9)
    some = sx.lift.Nystrom(5, gamma=0.5, random_state=0).fit(X)
    at = some.component_indices_
    Z = some.transform(X[at])
    assert_allclose(Z @ Z.T, rbf_kernel(X[at], gamma=0.5), atol=1e-9)


@pytest.mark.parametrize(
    ("lift", "words"),
    [
        (sx.lift.Polynomial(0), "degree must be a whole number above 0"),
        (sx.lift.Polynomial(20), "columns, which would take"),
        (sx.lift.RadialBasis(width=0.0), "width must be"),
        (sx.lift.RadialBasis(width="auto"), "'scale' or a number"),
        (sx.lift.RadialBasis(99), "at most the number of rows"),
        (sx.lift.RadialBasis([[1.0]]), "must have the 50 columns"),
        (sx.lift.RadialBasis([[np.nan] * 50]), "must be finite"),
        (sx.lift.Sigmoid(offset=np.inf), "offset must be a finite"),
        (sx.lift.RandomFourier(0), "n_components must be"),
        (sx.lift.Nystrom(kernel="cubic"), "kernel must be one of"),
    ],
)
def test_errors_say_what_to_do(lift, words):
    with pytest.raises(ValueError, match=words):
        lift.fit(np.eye(50)[:30])


def test_powers_beyond_the_largest_number_are_refused():
    with pytest.raises(sx.DataError, match="beyond the largest number"):
        sx.lift.Polynomial(3).fit_transform([[1e200]])


def test_the_module_shows_its_transformers_alone():
    assert dir(sx.lift) == ["Nystrom", "Polynomial", "RadialBasis", "RandomFourier", "Sigmoid"]
