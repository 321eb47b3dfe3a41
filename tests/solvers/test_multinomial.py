"""The multinomial machine against a general minimiser, its proof, and other ways to solve it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.naive import multinomial as naive
from tests.problems import as_sparse
from tests.problems_many import many

from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.problem.many_classes import SoftmaxProblem
from separatrix.solvers.many_classes import multinomial
from separatrix.solvers.many_classes import softmax_rows as _softmax_rows
from separatrix.solvers.many_classes import softmax_rows as _softmax_system
from separatrix.solvers.running.drive import Status, go_on

BIASES = [(True, 0.0), (True, 1.0), (False, 0.0)]


def solved(problem, tol=1e-9, **settings):
    state = multinomial.start(problem, tol=tol, **settings)
    return state, go_on(multinomial, state, 500, slice_size=1)


def gaussians(n=400, d=6, K=5, seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    codes[:K] = np.arange(K)
    X = rng.normal(size=(n, d)) + apart * rng.normal(size=(K, d))[codes]
    return X, codes, K


@pytest.mark.parametrize(("intercept", "penalty"), BIASES)
def test_the_objective_is_that_of_a_general_minimiser(intercept, penalty):
    for seed in cases(36):
        X, codes, K, weights, C = many(seed, most_rows=14)
        data = as_sparse(X) if seed % 2 else X
        problem = SoftmaxProblem(data, codes, K, C * weights, intercept, penalty)
        state, status = solved(problem)
        assert status is Status.OPTIMAL, (seed, status, state.gap)
        least = naive.optimum(X, codes, K, C * weights, penalty, intercept)
        assert state.primal <= least * (1.0 + 1e-8)
        assert state.primal >= least * (1.0 - 1e-8)
        W, b = state.weights[:, 1:], state.weights[:, 0]
        assert_allclose(naive.objective(W, b, X, codes, C * weights, penalty), state.primal)
        assert_allclose(problem.primal(W.T, b), state.primal)
        proof = SoftmaxGap.proved(
            X=data, sides=codes, costs=problem.costs, weights=state.weights,
            intercept=intercept, bias_penalty=penalty,
        )  # fmt: skip
        assert proof.gap <= 1e-8, (seed, proof.gap)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_rounds_and_whole_systems_lead_to_the_same_point(C, monkeypatch):
    X, codes, K = gaussians()
    problem = SoftmaxProblem(X, codes, K, np.full(len(X), C))
    monkeypatch.setattr(multinomial, "_MANY_ROUNDS", -1)
    whole, _ = solved(problem, 1e-10)
    assert whole.whole
    monkeypatch.setattr(multinomial, "is_small", lambda reader: False)
    rounds, _ = solved(problem, 1e-10)
    assert not rounds.whole
    assert_allclose(rounds.primal, whole.primal, rtol=1e-8)


def test_a_sample_of_the_rows_bends_steps_and_not_the_answer(monkeypatch):
    X, codes, K = gaussians(3000)
    problem = SoftmaxProblem(X, codes, K, np.ones(len(X)))
    all_rows, _ = solved(problem, 1e-6)
    monkeypatch.setattr(multinomial, "_FEW_ROWS", 100)
    monkeypatch.setattr(multinomial, "_LEAST_SAMPLE", 200)
    sampled, status = solved(problem, 1e-6)
    assert status is Status.OPTIMAL
    assert sampled.passes < all_rows.passes
    assert_allclose(sampled.primal, all_rows.primal, rtol=2e-6)


@pytest.mark.parametrize("step", [7, 10**6])
def test_tiles_and_probabilities_made_again_change_nothing(step, monkeypatch):
    X, codes, K = gaussians(200)
    problem = SoftmaxProblem(X, codes, K, np.ones(len(X)))
    whole, _ = solved(problem)
    monkeypatch.setattr(_softmax_rows, "_ENTRIES", step * K)
    monkeypatch.setattr(_softmax_rows, "_BYTES", 0)
    tiled, _ = solved(problem)
    assert not tiled.reader.keeps
    assert_allclose(tiled.primal, whole.primal, rtol=1e-12)


def test_wide_rows_take_the_diagonal(monkeypatch):
    X, codes, K = gaussians(60, 90)
    problem = SoftmaxProblem(as_sparse(X), codes, K, np.ones(60))
    whole, _ = solved(problem)
    monkeypatch.setattr(multinomial, "most_columns", 10)
    monkeypatch.setattr(_softmax_system, "_MOST_UNKNOWN", 0)
    diagonal, status = solved(problem)
    assert status is Status.OPTIMAL
    assert_allclose(diagonal.primal, whole.primal, rtol=1e-8)


def test_single_precision_comes_near_and_double_the_rest_of_the_way():
    X, codes, K = gaussians()
    X = X.astype(np.float32)
    problem = SoftmaxProblem(X, codes, K, np.ones(len(X)))
    single, status = solved(problem, 1e-5)
    assert single.reader.is_single
    assert status is Status.OPTIMAL
    double, _ = solved(problem, 1e-9, precise=True)
    assert_allclose(single.primal, double.primal, rtol=2e-5)


def test_columns_of_very_different_sizes():
    X, codes, K = gaussians()
    X = X * 10.0 ** np.arange(-5, 7, 2) + 10.0 ** np.arange(-4, 8, 2)
    problem = SoftmaxProblem(X, codes, K, np.full(len(X), 10.0))
    state, status = solved(problem, 1e-7)
    assert status is Status.OPTIMAL
    assert state.updates < 60


def test_a_run_in_slices_is_the_same_run():
    X, codes, K, weights, C = many(4)
    problem = SoftmaxProblem(X, codes, K, C * weights)
    whole, parts = (multinomial.start(problem, tol=1e-12) for _ in range(2))
    multinomial.advance(whole, 4)
    for _ in range(4):
        multinomial.advance(parts, 1)
    assert whole.w.tobytes() == parts.w.tobytes()


def test_a_start_from_another_C_gets_there_sooner():
    X, codes, K = gaussians()
    first, _ = solved(SoftmaxProblem(X, codes, K, np.full(len(X), 1.0)), 1e-6)
    problem = SoftmaxProblem(X, codes, K, np.full(len(X), 1.2))
    cold, _ = solved(problem, 1e-6)
    warm, status = solved(problem, 1e-6, first=first.weights)
    assert status is Status.OPTIMAL
    assert_allclose(warm.primal, cold.primal, rtol=1e-5)
    assert warm.passes < cold.passes


def test_a_budget_of_passes_ends_a_run():
    X, codes, K = gaussians()
    problem = SoftmaxProblem(X, codes, K, np.ones(len(X)))
    _, status = solved(problem, 1e-12, max_passes=2.0)
    assert status is Status.BUDGET


def test_a_system_that_overflows_gives_no_step():
    X = np.array([[1.0], [2.0], [3.0]])
    problem = SoftmaxProblem(X, np.array([0, 1, 2]), 3, np.ones(3))
    reader = multinomial.start(problem, tol=1e-6).reader
    S, s = _softmax_system.exact_step(reader, np.full((1, 3), 1e308), np.full(3, np.inf), True, 0.0)
    assert not S.any()
    assert not s.any()
