from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.covariance import ledoit_wolf_shrinkage
from tests.amounts import cases
from tests.naive import fisher as naive
from tests.naive.least_squares import copies
from tests.problems import as_sparse, problem

from separatrix.certificates.fisher import check_fisher
from separatrix.errors import DataError
from separatrix.problem.centred import within_rows
from separatrix.solvers.closed_forms import fisher
from separatrix.solvers.closed_forms.fisher import divide_by_covariance, ledoit_wolf, solve_fisher

KINDS = ["overlapping_gaussians", "comfortable_margin", "separable_integers", "mostly_zero"]


def two(X, signs, **settings):
    found = solve_fisher(X, (signs > 0).astype(int), np.ones(len(signs)), 2, **settings)
    return found, found.W[1] - found.W[0], found.b[1] - found.b[0]


def test_agrees_with_the_naive_version_and_is_certified():
    compared = 0
    for seed in cases(120):
        case = problem(seed, kind=KINDS[seed % 4])
        X = as_sparse(case.X) if seed % 2 else case.X
        _, _, within, _ = naive.scatters(case.X, case.y_signs)
        spread = np.sqrt(np.diag(within)) + 1e-300
        if np.linalg.cond(within / spread / spread[:, None]) > 1e8:
            continue
        found, w, b = two(X, case.y_signs)
        expected_w, expected_b = naive.fisher(case.X, case.y_signs)
        size = np.abs(expected_w).max()
        assert found.method == "Cholesky"
        assert_allclose(w, expected_w, rtol=1e-7, atol=1e-8 * size, err_msg=case.name)
        assert_allclose(b, expected_b, rtol=1e-7, atol=1e-8 * size, err_msg=case.name)
        for direction, along in (
            ("fisher", w),
            ("means", two(X, case.y_signs, direction="means")[1]),
        ):
            _, w_odds, b_odds = two(X, case.y_signs, threshold="gaussian", direction=direction)
            naive_w, naive_b = naive.gaussian_log_odds(case.X, case.y_signs, along)
            atol = 1e-6 * np.abs(naive_w).max()
            assert_allclose(w_odds, naive_w, rtol=1e-6, atol=atol, err_msg=case.name)
            assert_allclose(b_odds, naive_b, rtol=1e-6, atol=atol, err_msg=case.name)
        claim = check_fisher(X, case.y_signs, w)
        d = np.diff(naive.scatters(case.X, case.y_signs)[1], axis=0)[0]
        ratio = d @ np.linalg.solve(within, d)
        assert claim.holds, (case.name, claim)
        assert claim.ratio <= ratio * (1 + 1e-9)
        assert claim.bound >= ratio * (1 - 1e-9)
        assert claim.check(X, case.y_signs)
        compared += 1
    assert compared > 0.5 * len(cases(120))


def test_no_direction_beats_the_bound_and_worse_ones_are_told():
    case = problem(4, kind="overlapping_gaussians")
    _, w, _ = two(case.X, case.y_signs)
    best = check_fisher(case.X, case.y_signs, w)
    rng = np.random.default_rng(0)
    for _ in range(30):
        other = check_fisher(case.X, case.y_signs, rng.normal(size=len(w)))
        assert other.ratio <= best.bound
        assert other.bound >= best.ratio * (1 - 1e-9)
        assert not other.holds
    assert not replace(best, bound=best.bound * (1 - 1e-6)).check(case.X, case.y_signs)
    assert not best.check(case.X[::-1], case.y_signs)


def test_many_classes_solve_the_generalised_eigenproblem():
    for seed in cases(40):
        rng = np.random.default_rng(seed)
        K, d = int(rng.integers(3, 6)), int(rng.integers(2, 7))
        y = np.concatenate([np.arange(K), rng.integers(0, K, size=60)])
        X = rng.normal(size=(len(y), d)) + 2.0 * rng.normal(size=(K, d))[y]
        form = sp.csr_array(X) if seed % 2 else X
        found = solve_fisher(form, y, np.ones(len(y)), K)
        mean, means, within, between = naive.scatters(X, y)
        values, vectors = sl.eigh(between, within)
        count = min(K - 1, d)
        assert found.directions.shape == (d, count)
        assert_allclose(found.ratios, values[::-1][:count] / values[::-1][: K - 1].sum(), rtol=1e-7)
        for k in range(count):
            own, other = found.directions[:, k], vectors[:, -1 - k]
            cosine = own @ within @ other / np.sqrt((own @ within @ own) * (other @ within @ other))
            assert abs(cosine) == pytest.approx(1.0, abs=1e-8)
            assert own @ within @ own / len(y) == pytest.approx(1.0)
        expected = len(y) * np.linalg.solve(within, (means - mean).T).T
        assert_allclose(found.W, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_shrinkage_is_that_of_ledoit_and_wolf():
    for seed in cases(60):
        case = problem(seed, kind=["overlapping_gaussians", "fewer_rows_than_columns"][seed % 2])
        if min(np.bincount((case.y_signs > 0).astype(int))) < 2 or case.X.shape[1] == 1:
            continue
        X = as_sparse(case.X) if seed // 2 % 2 else case.X
        A = within_rows(X, (case.y_signs > 0).astype(int), np.ones(len(case.X)), 2)
        share = ledoit_wolf(A)
        dense = A.times(np.eye(A.shape[1]))
        assert share == pytest.approx(naive.ledoit_wolf(case.X, case.y_signs), rel=1e-7)
        if share < 1.0:
            peer = ledoit_wolf_shrinkage(dense, assume_centered=True)
            assert share == pytest.approx(peer, rel=1e-7)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(60, 9), (12, 40)])
def test_every_way_of_dividing_gives_the_same(shape, form, monkeypatch):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=shape), np.arange(shape[0]) % 3
    A = within_rows(form(X), y, np.ones(len(y)), 3)
    dense = A.times(np.eye(shape[1]))
    M = (A.means - A.mean).T
    S = dense.T @ dense / A.mass
    expected = np.linalg.solve(0.7 * S + 0.3 * np.eye(shape[1]), M)
    assert_allclose(divide_by_covariance(A, M, 0.3).Z, expected, rtol=1e-8, atol=1e-10)
    pseudo = divide_by_covariance(A, M, "pseudo-inverse").Z
    assert_allclose(pseudo, np.linalg.pinv(S, rcond=1e-10, hermitian=True) @ M, atol=1e-7)
    assert_allclose(divide_by_covariance(A, M, 1.0).Z, M)
    monkeypatch.setattr(fisher, "FORMED", 5)
    by_products = divide_by_covariance(A, M, 0.3)
    assert "conjugate gradients" in by_products.method
    assert_allclose(by_products.Z, expected, rtol=1e-8, atol=1e-9)
    with pytest.raises(DataError, match="too large to form"):
        divide_by_covariance(A, M, "pseudo-inverse")


def test_singular_scatter_is_refused_only_where_asked():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0], [8.0, 8.0]])
    signs = np.array([-1.0, -1, 1, 1, 1])
    with pytest.raises(DataError, match="singular"):
        two(X, signs, shrinkage=0.0)
    assert "Ledoit-Wolf" in two(X, signs)[0].method
    found, w, _ = two(X, signs, shrinkage="pseudo-inverse")
    assert "rank 1" in found.method
    assert w[0] == pytest.approx(w[1])


def test_one_row_in_each_class_leaves_the_means():
    found, w, b = two(np.array([[0.0, 0.0], [2.0, 4.0]]), np.array([-1.0, 1.0]))
    assert found.shrinkage == 1.0
    assert w @ [0.0, 0.0] + b < 0 < w @ [2.0, 4.0] + b


def test_a_column_that_varies_between_classes_alone_decides():
    rng = np.random.default_rng(0)
    signs = np.repeat([-1.0, 1.0], 20)
    X = np.column_stack([rng.normal(size=40), signs, rng.normal(size=40)])
    for form in (X, sp.csr_array(X)):
        found, w, b = two(form, signs)
        assert "Ledoit-Wolf" in found.method
        assert (np.sign(X @ w + b) == signs).all()


def test_weights_are_copies_and_units_do_not_matter():
    for seed in cases(80):
        case = problem(seed, kind=KINDS[seed % 4])
        rng = np.random.default_rng(seed)
        counts = rng.integers(1, 4, size=len(case.X)).astype(float)
        X = as_sparse(case.X) if seed % 3 == 0 else case.X
        codes = (case.y_signs > 0).astype(int)
        settings = {"threshold": "gaussian", "shrinkage": ["auto", 0.2, "ledoit-wolf"][seed % 3]}
        weighted = solve_fisher(X, codes, counts, 2, **settings)
        copied_X, copied_codes = copies(case.X, codes, counts)
        copied = solve_fisher(copied_X, copied_codes, np.ones(len(copied_X)), 2, **settings)
        atol = 1e-7 * np.abs(copied.W).max()
        assert_allclose(weighted.W, copied.W, rtol=1e-6, atol=atol, err_msg=case.name)
        units = 2.0 ** rng.integers(-300, 300, size=case.X.shape[1])
        moved = solve_fisher(case.X * units, codes, counts, 2, **settings)
        assert_allclose(moved.W * units, weighted.W, rtol=1e-6, atol=atol, err_msg=case.name)
        order = rng.permutation(len(codes))
        shuffled = solve_fisher(X[order], codes[order], counts[order], 2, **settings)
        assert_allclose(shuffled.b, weighted.b, rtol=1e-6, atol=atol, err_msg=case.name)
