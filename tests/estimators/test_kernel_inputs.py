"""What kernels are given: values of a kernel, sparse or not square, and functions of any kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import get_tags

import separatrix as sx

X, CODES = load_iris(return_X_y=True)
TWO = CODES != 0
ROWS, LABELS = X[TWO], CODES[TWO]
GIVEN = [sx.KernelSVM, sx.KernelPerceptron, sx.KernelKozinec]


@pytest.mark.parametrize("kind", GIVEN)
def test_tags_say_that_a_given_kernel_is_dense(kind):
    tags = get_tags(kind(kernel="precomputed")).input_tags
    assert tags.pairwise
    assert not tags.sparse
    assert get_tags(kind(kernel="rbf")).input_tags.sparse
    assert get_tags(kind(kernel=rbf_kernel)).input_tags.sparse
    with pytest.raises(TypeError, match="Sparse input is not supported"):
        kind(kernel="precomputed").fit(sp.csr_array(ROWS @ ROWS.T), LABELS)


def test_a_sparse_given_kernel_is_refused_in_prediction_too():
    model = sx.KernelSVM(kernel="precomputed").fit(ROWS @ ROWS.T, LABELS)
    with pytest.raises(TypeError, match="Sparse input is not supported"):
        model.predict(sp.csr_array(ROWS @ ROWS.T))


@pytest.mark.parametrize("kind", GIVEN)
def test_the_form_of_a_given_kernel_is_checked_before_labels_and_weights(kind):
    with pytest.raises(ValueError, match="must be a square matrix"):
        kind(kernel="precomputed").fit(ROWS, np.zeros(100))
    if kind is sx.KernelSVM:
        with pytest.raises(ValueError, match="must be a square matrix"):
            kind(kernel="precomputed").fit(ROWS, LABELS, sample_weight=np.full(100, -1.0))


def test_values_of_a_given_kernel_are_checked_in_scikit_learns_order():
    odd = np.random.default_rng(0).uniform(size=(10, 10))
    model = sx.KernelSVM(kernel="precomputed")
    with pytest.raises(ValueError, match="class"):
        model.fit(odd, np.repeat([0, 1], 5), sample_weight=np.repeat([0.0, 1.0], 5))
    with pytest.raises(ValueError, match="must be symmetric"):
        model.fit(odd, np.repeat([0, 1], 5))
    model.fit(ROWS @ ROWS.T, LABELS)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="2 features"):
        model.predict(np.zeros((3, 2)))


def sparse_linear(A, B):
    return sp.csr_matrix(A) @ sp.csr_matrix(B).T


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_kernel_function_may_return_a_sparse_matrix(form):
    model = sx.KernelSVM(kernel=sparse_linear).fit(form(ROWS), LABELS)
    want = sx.KernelSVM(kernel=lambda A, B: np.asarray((A @ B.T) if not sp.issparse(A) else
                                                       (A @ B.T).toarray()))  # fmt: skip
    want.fit(form(ROWS), LABELS)
    np.testing.assert_allclose(
        model.decision_function(form(ROWS)), want.decision_function(form(ROWS)), atol=1e-9
    )
    assert model.certificate_.check(form(ROWS), LABELS)


def test_a_sparse_matrix_of_another_shape_is_refused():
    with pytest.raises(sx.DataError, match="must return a matrix of shape"):
        sx.KernelSVM(kernel=lambda A, B: sp.csr_array((1, 1))).fit(ROWS, LABELS)
