import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import separatrix as sx
from separatrix.data.encodings.column_features import METHODS, Scaling, deviations, fit_scaling

matrices = arrays(
    float, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.integers(-50, 50)
)


@given(matrices)
def test_agrees_with_scikit_learn(X):
    assert_allclose(fit_scaling(X).transform(X), StandardScaler().fit_transform(X), atol=1e-9)
    assert_allclose(
        fit_scaling(X, "min-max").transform(X), MinMaxScaler().fit_transform(X), atol=1e-12
    )
    S = sparse.csr_matrix(X)
    expected = StandardScaler(with_mean=False).fit_transform(S).toarray()
    assert_allclose(fit_scaling(S).transform(S).toarray(), expected, atol=1e-9)
    expected = MaxAbsScaler().fit_transform(S).toarray()
    assert_allclose(fit_scaling(S, "min-max").transform(S).toarray(), expected, atol=1e-12)


@given(matrices, st.sampled_from(METHODS), st.booleans())
def test_weights_return_to_the_original_units(X, method, as_sparse):
    given = sparse.csr_matrix(X) if as_sparse else X
    scaling = Scaling.from_dict(json.loads(json.dumps(fit_scaling(given, method).to_dict())))
    w = np.linspace(-1, 2, X.shape[1])
    original, intercept = scaling.original_weights(w, 0.25)
    assert_allclose(X @ original + intercept, scaling.transform(given) @ w + 0.25, atol=1e-8)


@given(matrices)
def test_zeros_stay_zeros(X):
    S = sparse.csr_matrix(X)
    for method in METHODS:
        assert fit_scaling(S, method).transform(S).nnz == S.nnz
        assert not fit_scaling(S, method).shift.any()


def test_a_constant_column_is_not_blown_up():
    X = np.full((10, 1), 0.1)
    assert_allclose(fit_scaling(X).transform(X), 0, atol=1e-15)


def test_what_makes_no_sense_is_refused():
    X = np.eye(2)
    with pytest.raises(sx.DataError, match="one of standard"):
        fit_scaling(X, "robust")
    with pytest.raises(sx.DataError, match="no rows"):
        fit_scaling(np.empty((0, 2)))
    with pytest.raises(sx.DataError, match="3 features"):
        fit_scaling(X).transform(np.eye(3))
    with pytest.raises(sx.DataError, match="fill"):
        fit_scaling(X).transform(sparse.csr_matrix(X))


def test_deviations_of_large_data_are_added_up(monkeypatch):
    from separatrix.data.encodings import column_features

    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32) + 100.0
    X[:, 2] = 7.0
    wanted = deviations(X)
    monkeypatch.setattr(column_features, "_AT_ONCE", 10)
    np.testing.assert_allclose(deviations(X), wanted, rtol=1e-12)
    assert deviations(X)[2] == 0.0
    np.testing.assert_allclose(fit_scaling(X).scale, [*wanted[:2], 1.0], rtol=1e-12)
