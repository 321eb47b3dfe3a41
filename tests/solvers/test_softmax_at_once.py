"""Multinomial models in one loop: equal to the other solver, or nothing found."""

import numpy as np
import pytest
from tests.amounts import cases
from tests.problems import problem

from separatrix._compiled import is_interpreted
from separatrix.core.all_classes import Multinomial
from separatrix.core.proving import About, ClassEstimate, Effort, solve_and_prove
from separatrix.problem.many_classes import SoftmaxProblem
from separatrix.solvers.many_classes import multinomial, softmax_at_once
from separatrix.solvers.running.drive import solve

ABOUT = About.known("", ("a", "b", "c"))


def drawn(seed, n_classes=None):
    """A model on some rows, of which a few only judge: any cost, and any kind of bias."""
    rng = np.random.default_rng([seed, 23])
    K = n_classes or int(rng.integers(2, 6))
    n, d = int(rng.integers(K, 80)), int(rng.integers(1, 10))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d) + rng.choice([0.0, 30.0])
    codes = rng.integers(0, K, n)
    codes[:K] = np.arange(K)
    costs = 10.0 ** rng.uniform(-3.0, 2.0) * (rng.random(n) < 0.8)
    costs[:K] = costs.max() or 1.0
    bias = rng.choice(["free", "penalised", "none"])
    return SoftmaxProblem(X, codes, K, costs, bias != "none", 0.7 * (bias == "penalised"))


def primal(posed, weights):
    return posed.primal(np.ascontiguousarray(weights[:, 1:].T), weights[:, 0])


def test_it_finds_what_the_other_solver_finds():
    missed = 0
    for seed in cases(60):
        posed = drawn(seed)
        found = softmax_at_once.solved(posed, 1e-9)
        if found is None:
            missed += 1
            continue
        other, _ = solve(multinomial, posed, tol=1e-10, precise=True)
        assert primal(posed, found.weights) <= primal(posed, other.weights) * (1.0 + 2e-9), seed
        if not posed.fit_intercept:
            assert (found.weights[:, 0] == 0.0).all()
        if posed.has_free_bias:
            assert abs(found.weights[:, 0].sum()) <= 1e-9 * (1.0 + abs(found.weights).max())
    assert missed <= 1


def test_a_start_near_the_end_saves_updates():
    posed = drawn(5)
    cold = softmax_at_once.solved(posed, 1e-9)
    warm = softmax_at_once.solved(posed, 1e-9, cold.weights)
    assert warm.updates == 0 < cold.updates


def test_rows_of_no_cost_change_nothing():
    posed = drawn(7)
    kept = posed.costs > 0.0
    assert not kept.all()
    far = posed.X.copy()
    far[~kept] = 1e6
    moved = SoftmaxProblem(
        far, posed.codes, posed.n_classes, posed.costs, posed.fit_intercept, posed.bias_penalty
    )
    first, second = (softmax_at_once.solved(each, 1e-12) for each in (posed, moved))
    np.testing.assert_allclose(first.weights[:, 1:], second.weights[:, 1:], rtol=1e-6, atol=1e-9)


@pytest.mark.skipif(is_interpreted(), reason="numbers of NumPy warn where compiled ones overflow")
def test_on_ugly_rows_it_is_right_or_finds_nothing():
    solved = 0
    for seed in cases(40):
        case, rng = problem(seed), np.random.default_rng(seed)
        n, d = case.X.shape
        codes = rng.integers(0, 3, n)
        costs = np.full(n, 10.0 ** rng.uniform(-6.0, 6.0))
        with np.errstate(all="ignore"):
            posed = SoftmaxProblem(np.asarray(case.X, dtype=np.float64), codes, 3, costs)
            for first in (None, rng.normal(size=(3, d + 1)) * 10.0 ** rng.uniform(-9, 9)):
                found = softmax_at_once.solved(posed, 1e-9, first)
                if found is None:
                    continue
                solved += 1
                assert np.isfinite(found.weights).all(), seed
                other, _ = solve(multinomial, posed, tol=1e-9, precise=True)
                best = primal(posed, other.weights)
                assert primal(posed, found.weights) <= best * (1.0 + 1e-6) + 1e-300, seed
    assert solved > len(cases(40)) // 2


@pytest.mark.skipif(is_interpreted(), reason="numbers of NumPy warn where compiled ones overflow")
def test_what_overflows_is_not_solved():
    posed = SoftmaxProblem(np.array([[1e155], [-1e155]]), np.arange(2), 2, np.full(2, 1e200), False)
    first = np.array([[0.0, -1e-150], [0.0, 1e-150]])
    assert softmax_at_once.solved(posed, 1e-9, first) is None
    plain = drawn(5)
    nothing = np.full((plain.n_classes, plain.X.shape[1] + 1), np.nan)
    assert softmax_at_once.solved(plain, 1e-9, nothing) is None


def test_what_it_is_not_made_for_is_left_to_others():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 3)), np.arange(30) % 3
    assert softmax_at_once.solved(SoftmaxProblem(X, codes, 3, np.ones(30)), 1e-9) is not None
    without = SoftmaxProblem(X, codes, 3, np.ones(30), ridge=0.0)
    assert softmax_at_once.solved(without, 1e-9) is None
    single = SoftmaxProblem(X.astype(np.float32), codes, 3, np.ones(30))
    assert softmax_at_once.solved(single, 1e-9) is None
    wide = SoftmaxProblem(rng.normal(size=(30, 60)), codes, 3, np.ones(30))
    assert softmax_at_once.solved(wide, 1e-9) is None
    endless = SoftmaxProblem(X, codes, 3, np.ones(30), True, np.inf)
    assert softmax_at_once.solved(endless, 1e-9) is None


def test_a_model_for_errors_is_the_one_that_is_proved(monkeypatch):
    for seed in cases(12):
        posed = drawn(seed, 3)
        with monkeypatch.context() as only:  # it is solved in the loop alone
            only.setattr(multinomial, "start", None)
            found = solve_and_prove(Multinomial, posed, Effort(1e-3, for_errors=True), ABOUT)
        proved = solve_and_prove(Multinomial, posed, Effort(1e-6), ABOUT)
        assert isinstance(found.proof, ClassEstimate)
        assert str(found.status) == "optimal"
        best = primal(posed, proved.proof.weights)
        assert primal(posed, found.proof.weights) <= best * (1.0 + 1e-6), seed


def test_time_that_is_over_ends_a_model_for_errors():
    effort = Effort(1e-3, for_errors=True, deadline=0.0)
    found = solve_and_prove(Multinomial, drawn(5, 3), effort, ABOUT)
    assert str(found.status) == "budget"
