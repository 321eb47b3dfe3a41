import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from tests.naive.perceptron import kesler_rows
from tests.problems import as_sparse, problems

from separatrix._compiled import compiled
from separatrix.errors import DataError
from separatrix.problem import rows as rows_module
from separatrix.problem.equilibrate import column_exponents, divided_columns
from separatrix.problem.rows import SparseRows, least_margin, margin, push, rows_of, square_norm
from separatrix.problem.signed import KeslerProblem, SignedProblem, as_matrix


@compiled
def call_margin(rows, r, w):
    return margin(rows, r, w)


@compiled
def call_push(rows, r, step, w):
    push(rows, r, step, w)


@compiled
def call_square_norm(rows, r):
    return square_norm(rows, r)


def forms(X):
    yield X
    yield np.asfortranarray(X)
    yield X.astype(np.float32)
    yield as_sparse(X, np.int32)
    yield as_sparse(X, np.int64)


def built_rows(problem):
    if isinstance(problem, SignedProblem):
        return problem.signed_rows()
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    return kesler_rows(X, problem.codes, problem.n_classes)


def check_against_built_rows(problem):
    rng = np.random.default_rng(0)
    Z = built_rows(problem)
    rows = rows_of(problem)
    w = rng.normal(size=problem.dimension)
    assert_allclose(problem.margins(w), Z @ w, rtol=1e-5, atol=1e-9)
    for r in range(len(Z)):
        assert call_margin(rows, r, w) == pytest.approx(Z[r] @ w, rel=1e-5, abs=1e-9)
        assert call_square_norm(rows, r) == pytest.approx(Z[r] @ Z[r], rel=1e-5)
        moved = w.copy()
        call_push(rows, r, 0.5, moved)
        assert_allclose(moved, w + 0.5 * Z[r], rtol=1e-5, atol=1e-9)
    worst, least = least_margin(rows, w)
    assert least == pytest.approx((Z @ w).min(), rel=1e-5, abs=1e-9)
    assert worst == np.argmin(Z @ w)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_signed_rows_of_every_storage_equal_the_built_ones(fit_intercept):
    for problem in problems(12, kinds=["comfortable_margin", "mostly_zero"]):
        for X in forms(problem.X):
            check_against_built_rows(SignedProblem(X, problem.y_signs, fit_intercept))


def test_kesler_rows_of_every_storage_equal_the_built_ones():
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(9, 3)), rng.integers(0, 4, size=9)
    for form in forms(X):
        check_against_built_rows(KeslerProblem(form, codes, 4))


def test_errors_are_counted_by_sample():
    X, codes = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2])
    w = np.zeros(6)
    assert rows_module.count_errors(rows_of(KeslerProblem(X, codes, 3)), w, 100) == 3
    assert rows_module.count_errors(rows_of(KeslerProblem(X, codes, 3)), w, 2) == 2


def test_wide_indices_are_narrowed_and_kept_when_needed():
    X = as_sparse(np.eye(3), np.int64)
    assert as_matrix(X).indices.dtype == np.int32
    wide = SparseRows(X.data, X.indices.view(np.uint64), X.indptr.view(np.uint64))
    signed = rows_module.SignedRows(wide, np.ones(3), 1.0)
    assert call_margin(signed, 1, np.array([1.0, 0.0, 2.0, 0.0])) == 3.0


def test_duplicate_entries_are_summed_in_a_copy():
    X = sp.csr_array((np.ones(2), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert as_matrix(X).toarray().tolist() == [[2.0]]
    assert X.nnz == 2


def test_a_nan_margin_is_the_least():
    problem = SignedProblem(np.array([[1.0], [1e300]]), np.array([1.0, 1.0]))
    with np.errstate(all="ignore"):
        worst, _ = least_margin(rows_of(problem), np.array([-np.inf, 1e300]))
    assert worst in (0, 1)
    worst, least = least_margin(rows_of(problem), np.array([np.nan, 1.0]))
    assert np.isnan(least)


def test_powers_of_two_change_no_digit():
    for problem in problems(17):
        X = as_matrix(problem.X)
        exponents = column_exponents(X)
        divided = divided_columns(X, exponents)
        assert abs(divided).max() <= 1.0
        sparse = divided_columns(as_sparse(X, np.int32), exponents)
        assert np.array_equal(sparse.toarray(), divided)
        back = np.ldexp(divided, exponents)
        assert np.array_equal(back, X)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_float64_does_not_hold_are_refused(dtype):
    fine, long = np.array([[2**53], [1]], dtype=dtype), np.array([[2**53 + 1], [1]], dtype=dtype)
    assert as_matrix(fine)[0, 0] == 2.0**53
    for X in (long, sp.csr_array(long)):
        with pytest.raises(DataError, match="beyond 2\\^53"):
            as_matrix(X)
