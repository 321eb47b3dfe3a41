"""The working-set solver against proximal gradient steps, the exact conditions and its budget."""

import itertools

import numpy as np
import pytest
from tests.amounts import cases
from tests.naive import sparse as naive
from tests.sparse_problems import drawn, posed

from separatrix.problem.losses import LOGISTIC
from separatrix.solvers.running.drive import Status
from separatrix.solvers.sparse import columns, working_set
from separatrix.solvers.sparse.point import radius


def solved(problem, tol=1e-10, first=None, **settings):
    state = working_set.start(problem, tol=tol, first=first, **settings)
    while (status := working_set.advance(state, 1)) is None:
        pass
    return state, status


def test_the_optimum_is_that_of_proximal_gradient_steps():
    for seed in cases(400):
        X, y, costs, loss, ratio, intercept = drawn(seed)
        state, _ = solved(posed(X, y, costs, loss, ratio, intercept, sparse=bool(seed % 4 == 1)))
        w, b = naive.proximal_gradient(X, y, costs, loss, ratio, 1.0 - ratio, intercept, 1500)
        least = naive.objective(X, y, costs, loss, ratio, 1.0 - ratio, w, b)
        found = naive.objective(X, y, costs, loss, ratio, 1.0 - ratio, state.w[1:], state.w[0])
        assert found <= least * (1.0 + 1e-9), seed
        assert state.dual <= least * (1.0 + 1e-12), seed


def test_the_conditions_of_the_optimum_hold():
    for seed in cases(2000):
        X, y, costs, loss, ratio, intercept = drawn(seed)
        state, status = solved(posed(X, y, costs, loss, ratio, intercept))
        w, b = working_set.without_dust(state)[1:], state.w[0]
        off = naive.violation(X, y, costs, loss, ratio, 1.0 - ratio, w, b, intercept)
        assert status is Status.OPTIMAL, seed
        assert off < 1e-4, (seed, off)


def test_dense_and_sparse_rows_give_one_answer():
    for seed in cases(60):
        case = drawn(seed)
        dense, sparse = solved(posed(*case))[0], solved(posed(*case, sparse=True))[0]
        assert abs(dense.primal - sparse.primal) <= 1e-9 * dense.primal


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_large_working_set_is_solved_by_columns(seed, monkeypatch):
    monkeypatch.setattr(working_set, "LARGEST_MATRIX", 0)
    for number in range(seed, 24, 4):
        case = drawn(number)
        for sparse in (False, True):
            state, _ = solved(posed(*case, sparse=sparse), tol=1e-8)
            monkeypatch.setattr(working_set, "LARGEST_MATRIX", 1500)
            other, _ = solved(posed(*case), tol=1e-8)
            monkeypatch.setattr(working_set, "LARGEST_MATRIX", 0)
            assert abs(state.primal - other.primal) <= 1e-7 * other.primal


def test_an_objective_that_goes_up_and_down_ends_the_run():
    """As rounding makes it, where a column is 1e8 times as far from zero as it is wide."""
    state = working_set.start(posed(*drawn(3)), tol=1e-12)
    values = itertools.cycle([2.0 * state.primal, 1.5 * state.primal])

    def look(state):
        state.primal = next(values)

    assert columns.advanced(state, 1000, lambda *_: None, look) is Status.UNPROVED


def test_a_budget_is_only_a_budget():
    for seed in cases(20):
        problem = posed(*drawn(seed, 40, 60))
        ones, status = solved(problem)
        whole = working_set.start(problem, tol=1e-10)
        assert working_set.advance(whole, 10**6) is status
        assert whole.w.tobytes() == ones.w.tobytes()
        assert whole.alpha.tobytes() == ones.alpha.tobytes()
        assert working_set.advance(whole, 0) is status


def test_passes_end_a_run():
    problem = posed(*drawn(7, 60, 40))
    state, status = solved(problem, tol=1e-14, max_passes=3.0)
    assert status in (Status.BUDGET, Status.OPTIMAL)
    assert state.dual <= state.primal


def test_a_warm_start_needs_fewer_passes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 60))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=120) > 0.0, 1.0, -1.0)
    problem = posed(X, y, np.full(120, 0.5), "logistic", 1.0, True)
    cold, _ = solved(problem)
    warm, _ = solved(problem, first=(cold.w, None))
    assert warm.passes < cold.passes
    assert warm.updates <= 1


def test_columns_left_out_are_zero():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 300))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.0, 1.0, -1.0)
    problem = posed(X, y, np.full(80, 0.1), "logistic", 1.0, True)
    state, _ = solved(problem)
    left_out = np.setdiff1d(np.arange(300), state.memory.columns.numbers)
    assert len(left_out) > 200
    w, _ = naive.proximal_gradient(X, y, problem.costs, "logistic", 1.0, 0.0, True, 2000)
    assert not w[left_out].any()


def test_the_model_of_newton_is_minimised():
    for seed in cases(100):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, 12))
        half = rng.normal(size=(m + int(rng.integers(0, 4)), m))
        H, g, w = (
            half.T @ half,
            rng.normal(size=m) * 3.0,
            rng.normal(size=m) * (rng.random(m) < 0.5),
        )
        ridge = float(rng.choice([0.0, 0.3]))
        v = working_set.descended(H, g, w, (1.0, ridge), 1e-14)
        slope = g + H @ (v - w) + ridge * v
        off = np.where(v != 0.0, abs(slope + np.sign(v)), np.maximum(abs(slope) - 1.0, 0.0))
        assert off.max() < 1e-5


def test_the_radius_of_the_sphere():
    assert radius(LOGISTIC, 2.0) == 1.0
    assert radius(LOGISTIC, -1e-20) == 0.0
