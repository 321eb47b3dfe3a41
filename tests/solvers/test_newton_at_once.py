"""Newton's method in one loop: equal to the other solver, and nothing found rather than wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.problems import problem

from separatrix._compiled import is_interpreted
from separatrix.core.proving import (
    About,
    Effort,
    Estimate,
    Hyperplane,
    solve_and_prove,
    solved_for_errors,
)
from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import newton, newton_at_once
from separatrix.solvers.running.drive import solve

ABOUT = About.known("", ("a", "b"))


def drawn(seed, loss):
    """A model on some rows, of which a few only judge: any cost, and any kind of bias."""
    rng = np.random.default_rng([seed, 19])
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 12))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d)
    signs = np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    costs = 10.0 ** rng.uniform(-3.0, 2.0) * (rng.random(n) < 0.8)
    costs[:2] = costs.max() or 1.0
    bias = rng.choice(["free", "penalised", "none"])
    rows = SignedProblem(X, signs, bias != "none")
    return MachineProblem(rows, costs, loss, 0.7 * (bias == "penalised"))


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
def test_it_finds_what_the_other_solver_finds(loss):
    missed = 0
    for seed in cases(60):
        posed = drawn(seed, loss)
        found = newton_at_once.solved(posed, 1e-9)
        if found is None:
            missed += 1
            continue
        other, _ = solve(newton, posed, tol=1e-10)
        assert posed.primal(found.w) <= other.primal * (1.0 + 2e-9), seed
        assert_allclose(found.margins, posed.rows.margins(found.w), rtol=1e-9, atol=1e-9)
        bound = posed.dual(found.alpha)
        assert posed.primal(found.w) - bound <= 2e-9 * other.primal + 1e-15, seed
        assert (found.alpha >= 0.0).all()
        assert (found.alpha <= posed.upper).all()
        assert (found.alpha[posed.costs == 0.0] == 0.0).all()
        if posed.has_free_bias:
            assert abs(posed.signs @ found.alpha) <= 1e-12 * found.alpha.sum()
    assert missed <= 3


def test_a_start_near_the_end_saves_updates():
    posed = drawn(5, LOGISTIC)
    cold = newton_at_once.solved(posed, 1e-9)
    warm = newton_at_once.solved(posed, 1e-9, cold.w)
    assert warm.updates == 0 < cold.updates


def test_on_ugly_rows_it_is_right_or_finds_nothing():
    solved = 0
    for seed in cases(40):
        case, rng = problem(seed), np.random.default_rng(seed)
        costs = np.full(len(case.y_signs), 10.0 ** rng.uniform(-6.0, 6.0))
        loss = (SQUARED_HINGE, LOGISTIC)[seed % 2]
        with np.errstate(all="ignore"):
            posed = MachineProblem(SignedProblem(case.X, case.y_signs), costs, loss)
            for first in (None, rng.normal(size=case.X.shape[1] + 1) * 10.0 ** rng.uniform(-9, 9)):
                found = newton_at_once.solved(posed, 1e-9, first)
                if found is not None:
                    solved += 1
                    primal, dual = posed.primal(found.w), posed.dual(found.alpha)
                    assert np.isfinite(found.w).all(), seed
                    assert primal - dual <= 1e-6 * abs(primal) + 1e-300, seed
    assert solved > len(cases(40)) // 2


@pytest.mark.skipif(is_interpreted(), reason="numbers of NumPy warn where compiled ones overflow")
def test_what_overflows_is_not_solved():
    rows = SignedProblem(np.array([[1e155], [-1e155]]), np.array([1.0, -1.0]), False)
    posed = MachineProblem(rows, np.full(2, 1e200), LOGISTIC)
    assert newton_at_once.solved(posed, 1e-9, np.array([0.0, -1e-150])) is None
    plain = drawn(5, LOGISTIC)
    assert newton_at_once.solved(plain, 1e-9, np.full(plain.X.shape[1] + 1, np.nan)) is None
    other = newton_at_once.solved(plain, 1e-9, np.zeros(1))  # of other features: a start at zero
    assert other.updates == newton_at_once.solved(plain, 1e-9).updates
    endless = MachineProblem(plain.rows, plain.costs, LOGISTIC, np.inf)
    assert newton_at_once.solved(endless, 1e-9) is None


def test_what_it_is_not_made_for_is_left_to_others():
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(30, 3)), np.repeat([-1.0, 1.0], 15)
    rows = SignedProblem(X, signs)
    assert newton_at_once.solved(MachineProblem(rows, np.ones(30), HINGE), 1e-9) is None
    without = MachineProblem(rows, np.ones(30), LOGISTIC, ridge=0.0)
    assert newton_at_once.solved(without, 1e-9) is None
    single = SignedProblem(X.astype(np.float32), signs)
    assert newton_at_once.solved(MachineProblem(single, np.ones(30), LOGISTIC), 1e-9) is None
    one_class = SignedProblem(X, np.ones(30))
    assert newton_at_once.solved(MachineProblem(one_class, np.ones(30), LOGISTIC), 1e-9) is None


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, LOGISTIC])
def test_a_model_for_errors_is_the_one_that_is_proved(loss):
    for seed in cases(12):
        posed = drawn(seed, loss)
        rough = Effort(1e-3, for_errors=True)
        found = solved_for_errors(posed, rough, ABOUT, None, None)
        proved = solve_and_prove(Hyperplane, posed, Effort(1e-6), ABOUT)
        assert isinstance(found.proof, Estimate)
        assert found.proof.gap <= 1e-3
        best = posed.primal(proved.weights)
        assert posed.primal(found.weights) <= best * (1.0 + 1e-6), seed
        assert_allclose(found.proof.margins, posed.rows.margins(found.weights), atol=1e-9)
        again = solved_for_errors(
            posed, rough, ABOUT, (found.weights, found.proof.multipliers), None
        )
        assert posed.primal(again.weights) <= best * (1.0 + 1e-6), seed


def test_support_vectors_are_few_though_nothing_is_proved():
    """The interior point leaves every alpha above 0; its claims put them to their bounds."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 15))
    signs = np.where(X[:, 0] + 0.3 * rng.normal(size=1500) > 0.0, 1.0, -1.0)
    posed = MachineProblem(SignedProblem(X, signs), np.ones(1500), HINGE)
    found = solved_for_errors(posed, Effort(1e-3, for_errors=True), ABOUT, None, None)
    assert isinstance(found.proof, Estimate)
    beyond = found.proof.margins > 1.1
    assert beyond.any()
    assert (found.proof.multipliers[beyond] == 0.0).all()


def test_time_that_is_over_ends_a_model_for_errors():
    effort = Effort(1e-3, for_errors=True, deadline=0.0)
    found = solved_for_errors(drawn(5, LOGISTIC), effort, ABOUT, None, None)
    assert str(found.status) == "budget"


def test_a_run_that_falls_short_is_proved_after_all():
    posed = drawn(3, HINGE)
    effort = Effort(1e-3, for_errors=True, max_passes=1.0)
    found = solved_for_errors(posed, effort, ABOUT, None, None)
    assert not isinstance(found.proof, Estimate)
    assert str(found.status) != "optimal"
