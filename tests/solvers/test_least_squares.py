from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.naive import least_squares as naive
from tests.problems import as_sparse, problem

from separatrix._compiled import is_interpreted
from separatrix.certificates.least_squares import check_least_squares
from separatrix.errors import DataError
from separatrix.solvers.closed_forms.least_squares import leave_one_out, solve_least_squares

RIDGES = (0.0, 0.0, 1e-3, 10.0)
SEEDS = range(120 if is_interpreted() else 600)


def proof(X, signs, found, **settings):
    return check_least_squares(X, signs, found.W, found.b, task="regression", **settings)


@pytest.mark.long
def test_agrees_with_numpy_and_is_certified_on_generated_problems():
    methods, compared = set(), 0
    for seed in SEEDS:
        case = problem(seed)
        X = as_sparse(case.X) if seed % 2 else case.X
        ridge, intercept = RIDGES[seed // 2 % 4], bool(seed // 8 % 4)
        signs = case.y_signs[:, None]
        found = solve_least_squares(X, signs, np.ones(len(signs)), ridge, intercept)
        methods.add((found.method, sp.issparse(X)))
        if not np.isfinite(found.W).all():
            assert case.kind == "extreme_columns"
            continue
        claim = proof(X, signs, found, ridge=ridge, fit_intercept=intercept)
        if case.kind == "extreme_columns":
            continue  # by exact fractions, below
        assert claim.holds, (case.name, claim, found)
        W, b = naive.least_squares(case.X, signs, ridge, intercept)
        size = max(1.0, float(np.abs(W).max()))
        assert_allclose(found.W, W, rtol=1e-6, atol=1e-7 * size, err_msg=case.name)
        assert_allclose(found.b, b, rtol=1e-6, atol=1e-6 * size, err_msg=case.name)
        compared += 1
    assert compared > 0.9 * len(SEEDS)
    assert {m for m, _ in methods} >= {"Cholesky, refined", "QR with pivoting", "LSMR"}


def test_agrees_with_exact_fractions_whatever_the_scale():
    full = 0
    for seed in cases(60):
        case = problem(seed, kind="extreme_columns")
        if case.X.size > 120:
            continue
        w, _, least = naive.exact_least_squares(case.X, case.y_signs)
        found = solve_least_squares(case.X, case.y_signs[:, None], np.ones(len(case.X)))
        if max(abs(value) for value in w) > 1e300:
            continue  # no float holds such a weight
        claim = proof(case.X, case.y_signs, found)
        got = naive.objective(case.X, case.y_signs, found.W[0], found.b[0])
        assert claim.holds, case.name
        # What is proved is true: bounds on the objective and on its distance from the least.
        assert least <= got <= Fraction(claim.objective)
        assert got - least <= Fraction(claim.gap) * got
        if not found.deficient:
            full += 1
            for value, exact in zip(found.W[0].tolist(), w, strict=True):
                assert abs(Fraction(value) - exact) <= Fraction(1, 10**8) * abs(exact) + (
                    Fraction(1, 10**10) * max(abs(v) for v in w)
                )
    assert full > 0.3 * len(cases(60))


def test_the_shortest_of_many_is_the_exact_one():
    deficient = 0
    for seed in cases(80):
        kind = ["copied_columns", "collinear", "fewer_rows_than_columns", "integer_grid"][seed % 4]
        case = problem(seed, kind=kind)
        if len(case.X) > 25:
            continue
        w, _, least = naive.exact_least_squares(case.X, case.y_signs)
        found = solve_least_squares(case.X, case.y_signs[:, None], np.ones(len(case.X)))
        deficient += found.deficient
        exact = np.array([float(v) for v in w])
        assert_allclose(found.W[0], exact, rtol=1e-7, atol=1e-8 * max(1.0, abs(exact).max()))
        got = naive.objective(case.X, case.y_signs, found.W[0], found.b[0])
        assert got - least <= Fraction(proof(case.X, case.y_signs, found).gap) * got
    assert deficient > 0.3 * len(cases(80))


def test_the_shortest_of_columns_of_unlike_size():
    rng = np.random.default_rng(3)
    for size in (2.0**-30, 2.0**-100, 2.0**-400, 2.0**100):
        base = rng.integers(-4, 5, size=(9, 2)).astype(float)
        X = np.column_stack([base, base[:, 0] * size, base[:, 1]])
        t = rng.normal(size=9)
        w, _, _ = naive.exact_least_squares(X, t)
        found = solve_least_squares(X, t[:, None], np.ones(9))
        assert found.rank == 2
        exact = np.array([float(v) for v in w])
        assert_allclose(found.W[0], exact, rtol=1e-8, atol=1e-8 * abs(exact).max())
        assert proof(X, t, found).holds


@pytest.mark.parametrize("condition", [1e2, 1e5, 1e9, 1e12])
def test_ill_conditioned_columns_go_to_qr_and_are_exact_nearby(condition):
    rng = np.random.default_rng(0)
    U, _ = np.linalg.qr(rng.normal(size=(300, 8)))
    V, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    X = U @ np.diag(np.geomspace(1.0, 1.0 / condition, 8)) @ V.T
    t = X @ np.ones(8) + 0.01 * rng.normal(size=300)
    found = solve_least_squares(X, t[:, None], np.ones(300))
    assert found.method == ("QR with pivoting" if condition > 1e4 else "Cholesky, refined")
    assert found.rank == 8
    assert proof(X, t, found).perturbation < 1e-11


def test_wide_ridge_both_ways():
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(20, 200)), rng.normal(size=(20, 3))
    for ridge, method in ((1.0, "Cholesky of the dual, refined"), (1e-12, "singular values")):
        found = solve_least_squares(X, T, np.ones(20), ridge)
        assert found.method == method
        W, b = naive.least_squares(X, T, ridge)
        assert_allclose(found.W, W, rtol=1e-6, atol=1e-8)
        assert_allclose(found.b, b, rtol=1e-6, atol=1e-7)
        claim = proof(X, T, found, ridge=ridge)
        # So small a ridge is lost in the rounding of the residuals: less can be proved.
        assert min(claim.gap, claim.perturbation) < (1e-12 if ridge == 1.0 else 1e-6)


def test_weights_are_copies_and_order_is_none():
    for seed in cases(150):
        case = problem(seed)
        if case.kind == "extreme_columns":
            continue
        rng = np.random.default_rng(seed)
        counts = rng.integers(1, 4, size=len(case.X)).astype(float)
        ridge = RIDGES[seed % 4]
        signs = case.y_signs[:, None]
        X = as_sparse(case.X) if seed % 3 == 0 else case.X
        weighted = solve_least_squares(X, signs, counts, ridge)
        W, _ = naive.least_squares(*naive.copies(case.X, signs, counts), ridge)
        atol = 1e-7 * max(1.0, float(np.abs(W).max()))
        assert_allclose(weighted.W, W, rtol=1e-6, atol=atol, err_msg=case.name)
        order = rng.permutation(len(case.X))
        moved = solve_least_squares(X[order], signs[order], counts[order], ridge)
        assert_allclose(moved.W, weighted.W, rtol=1e-6, atol=atol, err_msg=case.name)
        # Weights of any size give the same weights w once the ridge grows alike.
        large = solve_least_squares(X, signs, 1e200 * counts, 1e200 * ridge)
        assert_allclose(large.W, weighted.W, rtol=1e-6, atol=atol, err_msg=case.name)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(30, 4), (12, 25)])
def test_leave_one_out_is_what_it_says(shape, form, intercept):
    rng = np.random.default_rng(4)
    X, T = rng.normal(size=shape), rng.normal(size=(shape[0], 2))
    ridges = np.array([0.1, 3.0])
    found = leave_one_out(form(X), T, np.ones(len(X)), ridges, intercept)
    for ridge, out, error in zip(ridges, found.outputs, found.errors, strict=True):
        assert_allclose(out, naive.leave_one_out(X, T, ridge, intercept), rtol=1e-8, atol=1e-9)
        assert error == pytest.approx(((out - T) ** 2).sum(axis=1).mean())
    counts = rng.integers(1, 4, size=len(X)).astype(float)
    copied = leave_one_out(
        *naive.copies(X, T, counts), np.ones(int(counts.sum())), ridges, intercept
    )
    weighted = leave_one_out(form(X), T, counts, ridges, intercept)
    assert_allclose(weighted.errors, copied.errors, rtol=1e-8)


def test_a_row_fitted_by_itself_alone_has_no_leave_one_out_error():
    X, T = np.array([[0.0], [0.0], [1.0]]), np.array([[0.0], [1.0], [5.0]])
    found = leave_one_out(X, T, np.ones(3), np.array([0.0, 1.0]), True)
    assert found.errors[0] == np.inf
    assert np.isfinite(found.errors[1])


def test_leave_one_out_of_what_is_too_large_is_refused():
    X = sp.random_array((7000, 7000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    with pytest.raises(DataError, match="cross-validation"):
        leave_one_out(X, np.ones((7000, 1)), np.ones(7000), np.array([1.0]), True)


def test_a_budget_that_is_too_small_is_said():
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 600), density=0.05, rng=rng, format="csr")
    found = solve_least_squares(X, rng.normal(size=(400, 1)), np.ones(400), 0.01, max_passes=4)
    assert not found.converged
    assert found.iterations == 2


# ---- the certificate


@settings(max_examples=min(60, settings().max_examples))
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]), st.floats(1e-12, 1.0))
def test_the_bounds_hold_for_any_weights(seed, ridge, away):
    """Weights moved at random: the gap proved is never below the true one."""
    case = problem(seed, kind="separable_integers")
    X, t = case.X[:25], case.y_signs[:25]
    _, _, least = naive.exact_least_squares(X, t, ridge)
    found = solve_least_squares(X, t[:, None], np.ones(len(X)), ridge)
    rng = np.random.default_rng(seed)
    W = found.W + away * rng.normal(size=found.W.shape)
    claim = check_least_squares(X, t, W, found.b, ridge=ridge, task="regression")
    got = naive.objective(X, t, W[0], found.b[0], ridge)
    assert got <= Fraction(claim.objective)
    assert got - least <= Fraction(claim.gap) * got
    assert claim.check(X, t)
    assert claim.check(as_sparse(X), t)


def test_other_data_and_forged_bounds_are_refused():
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(40, 3)), rng.normal(size=40)
    weights = rng.integers(0, 3, size=40).astype(float)
    found = solve_least_squares(X[weights > 0], t[weights > 0, None], weights[weights > 0])
    claim = proof(X, t, found, sample_weight=weights)
    assert claim.holds
    assert claim.gap < 1e-20
    assert claim.check(X, t, weights)
    assert claim.check(X[weights > 0], t[weights > 0], weights[weights > 0])
    assert not claim.check(X, t)
    assert not claim.check(X[::-1], t, weights)
    assert not replace(claim, gap=claim.gap / 10).check(X, t, weights)
    assert not replace(claim, perturbation=claim.perturbation / 10).check(X, t, weights)
    assert not replace(claim, objective=claim.objective * 0.99).check(X, t, weights)
    wrong = tuple(tuple(v * 1.001 for v in row) for row in claim.weights)
    assert not replace(claim, weights=wrong).check(X, t, weights)
