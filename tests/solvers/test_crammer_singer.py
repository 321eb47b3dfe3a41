"""The direct machine: both solvers against a quadratic program, its proof and each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import COMPILED_ONLY, cases
from tests.naive import crammer_singer as naive
from tests.problems import as_sparse
from tests.problems_many import many

from separatrix.problem.many_classes import DirectProblem
from separatrix.solvers.many_classes import crammer_singer, direct_interior_point
from separatrix.solvers.many_classes.class_claims import exactly_feasible, rebalance
from separatrix.solvers.many_classes.class_pass import project
from separatrix.solvers.running.drive import Status, go_on

METHODS = [crammer_singer, direct_interior_point]
BIASES = [(True, 0.0), (True, 1.0), (False, 0.0)]


def solved(method, problem, tol=1e-7, updates=3000, **settings):
    state = method.start(problem, tol=tol, **settings)
    status = go_on(method, state, updates)
    return state, status


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("intercept", "penalty"), BIASES)
def test_the_objective_is_that_of_the_quadratic_program(method, intercept, penalty):
    for seed in cases(24):
        X, codes, K, weights, C = many(seed, most_rows=14)
        data = as_sparse(X) if seed % 2 else X
        problem = DirectProblem(data, codes, K, C * weights, intercept, penalty)
        state, _ = solved(method, problem)
        least = naive.optimum(X, codes, K, C * weights, penalty, intercept)
        assert state.gap <= 1e-6
        assert state.primal <= least * (1.0 + 1e-6)
        assert state.dual <= least * (1.0 + 1e-9)
        assert_allclose(
            naive.objective(state.W.T, state.bias, X, codes, C * weights, penalty), state.primal
        )
        dual = naive.dual(state.masses, X, codes, C * weights, penalty, intercept)
        assert_allclose(dual, state.dual, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_in_slices_is_the_same_run(method):
    X, codes, K, weights, C = many(4)
    problem = DirectProblem(X, codes, K, C * weights)
    whole, parts = (method.start(problem, tol=1e-9) for _ in range(2))
    method.advance(whole, 9)
    for _ in range(9):
        method.advance(parts, 1)
    assert whole.w.tobytes() == parts.w.tobytes()
    assert whole.masses.tobytes() == parts.masses.tobytes()


def test_the_projection_adds_up():
    rng = np.random.default_rng(0)
    for _ in range(200):
        heights = rng.normal(size=rng.integers(1, 9)).round(1)
        mass = rng.uniform(0.01, 3.0)
        level = project(heights, len(heights), mass)
        assert_allclose(np.maximum(0.0, heights - level).sum(), mass)


def test_balances_are_repaired_and_then_exact():
    for seed in cases(60):
        X, codes, K, weights, C = many(seed)
        problem = DirectProblem(X, codes, K, C * weights)
        rng = np.random.default_rng(seed)
        masses = rng.dirichlet(np.ones(K), size=len(X)) * problem.costs[:, None]
        rebalance(masses, problem.shares(masses).sum(axis=0))
        assert (masses >= 0.0).all()
        assert_allclose(masses.sum(axis=1), problem.costs, rtol=1e-12)
        assert_allclose(problem.shares(masses).sum(axis=0), 0.0, atol=1e-11 * problem.costs.sum())
        off = exactly_feasible(masses, problem)
        balance = [
            float(sum(map(_exact, [*off[codes == k].ravel(), *-off[:, k]]))) for k in range(K)
        ]
        assert balance == [0.0] * K
        assert (off.sum(axis=1) <= problem.costs).all()


def _exact(value):
    from fractions import Fraction

    return Fraction(float(value))


@COMPILED_ONLY
def test_a_start_from_other_costs_gets_there_sooner():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30))
    codes = (X[:, :3] + rng.normal(size=(80, 3))).argmax(axis=1)
    first, _ = solved(crammer_singer, DirectProblem(X, codes, 3, np.full(80, 0.01)), 1e-6)
    problem = DirectProblem(X, codes, 3, np.full(80, 0.011))
    cold, _ = solved(crammer_singer, problem, 1e-6)
    warm, status = solved(crammer_singer, problem, 1e-6, first=first.masses)
    assert status is Status.OPTIMAL
    assert_allclose(warm.primal, cold.primal, rtol=1e-5)
    assert warm.passes < cold.passes


def test_a_budget_of_passes_ends_a_run():
    X, codes, K, weights, C = many(1)
    problem = DirectProblem(X, codes, K, C * weights)
    _, status = solved(crammer_singer, problem, 1e-15, max_passes=2.0)
    assert status is Status.BUDGET


def test_costs_far_above_the_masses_are_no_trouble():
    X = np.array([[0.0], [10.0], [20.0], [30.0]])
    problem = DirectProblem(X, np.array([0, 0, 1, 1]), 2, np.full(4, 1e30))
    masses = np.array([[1e30, 0.0], [1e30, 1e-3], [1e-3, 1e30], [0.0, 1e30]])
    off = exactly_feasible(masses, problem)
    assert_allclose(off[[1, 2], [1, 0]], 1e-3)


def test_costs_beyond_all_units_of_tiny_shares_limit_nothing():
    """The quotient of cost and unit overflowed, and NumPy warned."""
    problem = DirectProblem(np.ones((2, 1)), np.array([0, 1]), 2, np.full(2, 1e10))
    off = exactly_feasible(np.array([[0.0, 1e-310], [1e-310, 0.0]]), problem)
    assert off[0, 1] == off[1, 0] == pytest.approx(1e-310)
