"""Kernels against their formulas, and their errors in plain words."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.svm import SVC
from tests.naive import smo as naive

from separatrix.errors import DataError
from separatrix.problem.kernels import Kernel, check_gram, gamma_of, kernel_of

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_blocks_are_the_formula(name, make):
    kernel = Kernel(name, gamma=0.3, degree=4, coef0=0.5)
    values = kernel.block(make(A), make(B))
    assert_allclose(values, naive.kernel_matrix(name, A, B, 0.3, 4, 0.5), atol=1e-12)
    assert_allclose(kernel.diagonal(make(A)), np.diagonal(kernel.block(A, A)), atol=1e-12)


def test_distances_lose_no_digits_to_an_offset():
    kernel = Kernel("rbf", gamma=1.0)
    assert_allclose(kernel.block(A + 1e6, B + 1e6), kernel.block(A, B), rtol=1e-8)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.25])
def test_gamma_is_that_of_scikit_learn(gamma):
    X, y = A * [1.0, 5.0, 0.1] + 3.0, [0, 1, 0, 1, 0, 1, 0]
    for rows in (X, sp.csr_array(X)):
        assert_allclose(gamma_of(gamma, rows), SVC(gamma=gamma).fit(X, y)._gamma, rtol=1e-12)


def test_gamma_of_weights_is_that_of_copies():
    weights = np.array([0.0, 2.0, 1.0, 3.0, 1.0, 1.0, 0.0])
    copies = np.repeat(A, weights.astype(int), axis=0)
    for rows in (A, sp.csr_array(A)):
        assert_allclose(gamma_of("scale", rows, weights), gamma_of("scale", copies), rtol=1e-12)
    assert gamma_of("scale", np.ones((4, 2))) == 1.0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "cosine"}, "kernel must be one of 'linear'"),
        ({"gamma": 0}, "gamma must be 'scale', 'auto' or a number above 0. Got 0"),
        ({"gamma": -1.0}, "above 0"),
        ({"gamma": float("nan")}, "above 0"),
        ({"gamma": "large"}, "Got 'large' instead"),
        ({"kernel": "poly", "degree": 2.5}, "degree must be a whole number"),
        ({"kernel": "poly", "degree": -1}, "degree must be a whole number"),
        ({"kernel": "sigmoid", "coef0": float("inf")}, "coef0 must be a finite number"),
    ],
)
def test_parameters_are_refused_in_plain_words(settings, words):
    chosen = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0, **settings}
    with pytest.raises(ValueError, match=words):
        kernel_of(X=A, **chosen)


def test_a_matrix_must_be_square_and_symmetric():
    with pytest.raises(ValueError, match="square matrix"):
        check_gram(np.ones((3, 4)), 3)
    K = np.eye(3)
    K[0, 1] = 0.5
    with pytest.raises(ValueError, match=r"must be symmetric: .* differ by 0\.5"):
        check_gram(K, 3)
    assert check_gram(np.eye(3), 3) == 0.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), "returned NaN or infinity"),
        (lambda X, Z: np.ones(len(X)), "must return a matrix of shape"),
    ],
)
def test_a_function_that_fails_is_said_to(function, words):
    with pytest.raises(DataError, match=words):
        kernel_of(function, A, "scale", 3, 0.0).block(A, B)


def test_the_variance_of_float32_rows_is_that_of_their_float64_copy():
    rng = np.random.default_rng(0)
    sorted_rows = np.sort(rng.normal(size=(40_000, 3)), axis=0) + 1e3  # several blocks, unlike
    for X in (sorted_rows, np.full((50_000, 2), 0.1), np.full((5, 2), 1e30), np.zeros((3, 1))):
        narrow = X.astype(np.float32)
        wide = gamma_of("scale", narrow.astype(np.float64))
        assert gamma_of("scale", narrow) == pytest.approx(wide, rel=1e-12)
