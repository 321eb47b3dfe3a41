"""Few rows: one compiled loop makes the iterations that whole-array operations make."""

import numpy as np
import pytest
from tests.amounts import cases
from tests.problems import problem
from tests.solvers.test_interior_point import machine

from separatrix.problem.losses import HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import interior_point, predictor_corrector
from separatrix.solvers.linear.claims import best_bias
from separatrix.solvers.linear.small_steps import suits
from separatrix.solvers.running.drive import Status, solve


def by_whole_arrays(monkeypatch):
    monkeypatch.setattr(interior_point, "suits", lambda *_: False)


@pytest.mark.parametrize("steps", [1, 4, 40])
def test_the_iterations_of_whole_arrays(monkeypatch, steps):
    for seed in cases(60):
        case = problem(seed, kind="overlapping_gaussians")
        posed = machine(case, seed, moderate=True)
        small = interior_point.start(posed, tol=1e-6)
        assert small.memory.small is not None
        ended = interior_point.advance(small, steps)
        with monkeypatch.context() as patch:
            by_whole_arrays(patch)
            whole = interior_point.start(posed, tol=1e-6)
            assert whole.memory.small is None
            assert interior_point.advance(whole, steps) is ended, case.name
        assert small.updates == whole.updates
        ours, theirs = small.memory.run, whole.memory.run
        np.testing.assert_allclose(ours.v, theirs.v, rtol=1e-6, atol=1e-9 * abs(theirs.v).max())
        costs = posed.costs.max()
        np.testing.assert_allclose(ours.pairs.alpha, theirs.pairs.alpha, atol=1e-6 * costs)


def test_many_iterations_at_once_are_as_many_single_ones():
    for seed in cases(60):
        posed = machine(problem(seed), seed)
        at_once = interior_point.start(posed, tol=1e-9)
        one_by_one = interior_point.start(posed, tol=1e-9)
        status = interior_point.advance(at_once, 50)
        for _ in range(50):
            interior_point.advance(one_by_one, 1)
        assert interior_point.advance(one_by_one, 0) is status
        assert at_once.updates == one_by_one.updates
        assert (at_once.primal, at_once.dual) == (one_by_one.primal, one_by_one.dual)
        assert at_once.passes == pytest.approx(one_by_one.passes, rel=1e-12)
        np.testing.assert_array_equal(at_once.w, one_by_one.w)


def test_rows_that_drown_the_others_are_factored_by_rows(monkeypatch):
    calls = []
    by_rows = predictor_corrector.iteration
    monkeypatch.setattr(
        predictor_corrector, "iteration", lambda run: (calls.append(1), by_rows(run))[1]
    )
    # Without a crossover the weights of rows on the margin grow until the matrix has lost digits.
    monkeypatch.setattr(interior_point, "_CROSS", 0.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12)) @ np.diag(10.0 ** np.linspace(-3, 3, 12))
    signs = np.where(X[:, 11] + X[:, 0] > 0.0, 1.0, -1.0)
    posed = MachineProblem(SignedProblem(X, signs), np.full(80, 1e6), HINGE)
    _, status = solve(interior_point, posed, tol=1e-11)
    assert status is Status.OPTIMAL
    assert calls


def test_which_rows_are_few():
    assert suits(100, 4)
    assert suits(569, 30)
    assert not suits(100, 1000)
    assert not suits(1_000_000, 4)


# ---- the face of the box


def test_the_optimum_of_a_face_is_exact_and_ends_the_run(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 5))
    signs = np.where(X[:, 0] + rng.normal(size=200) > 0.0, 1.0, -1.0)
    posed = MachineProblem(SignedProblem(X, signs), np.ones(200), HINGE)
    crossed, status = solve(interior_point, posed, tol=1e-12)
    assert status is Status.OPTIMAL
    assert crossed.memory.has_crossed
    assert crossed.gap < 1e-13
    free = (crossed.alpha > 0.0) & (crossed.alpha < 1.0)
    assert 1 <= free.sum() <= 6
    np.testing.assert_allclose(posed.rows.margins(crossed.w)[free], 1.0, atol=1e-10)
    monkeypatch.setattr(interior_point, "_CROSS", 0.0)
    followed, _ = solve(interior_point, posed, tol=1e-12)
    assert not followed.memory.has_crossed
    assert followed.updates > crossed.updates
    assert followed.primal == pytest.approx(crossed.primal, rel=2e-9)


def test_a_run_begins_with_the_best_bias_of_no_weights():
    rng = np.random.default_rng(4)
    for seed in cases(60):
        case = problem(seed)
        n = len(case.y_signs)
        costs = rng.choice([0.0, 0.5, 1.0], size=n) if seed % 2 else np.ones(n)
        if not costs.any():
            continue
        posed = MachineProblem(SignedProblem(case.X, case.y_signs), costs, HINGE)
        state = interior_point.start(posed, tol=1e-6)
        bias = best_bias(np.zeros(n), posed.signs, costs)
        expected = posed.primal(np.append(bias, np.zeros(posed.X.shape[1])))
        assert state.primal == pytest.approx(expected, rel=1e-12)
        assert posed.primal(state.w) == pytest.approx(expected, rel=1e-12)
