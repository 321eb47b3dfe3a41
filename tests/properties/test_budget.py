"""Many small budgets give the same bits as one large one, for every method and setting."""

import time

import numpy as np
import pytest
from tests.amounts import cases
from tests.problems import as_sparse, problem

from separatrix.problem.signed import KeslerProblem, SignedProblem
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import Status, replay, solve
from separatrix.solvers.updates import delta_rule, kozinec, perceptron, scheduled_sgd, sgd

RUNS = [
    *[(perceptron, {"order": order, "pocket": True}) for order in ("cyclic", "random", "worst")],
    (perceptron, {"update": "minibatch", "batch_size": 3, "average": True}),
    (perceptron, {"update": "minibatch", "batch_size": 3, "order": "random", "pocket": "every"}),
    (perceptron, {"update": "batch", "pocket": True, "decay": 0.5, "tol": 1e-3}),
    (perceptron, {"order": "random", "average": True, "tol": 1e-4, "max_passes": 7}),
    (perceptron, {"pocket": True, "patience": 20}),
    *[(kozinec, {"order": order}) for order in ("cyclic", "random", "worst")],
    *[(kozinec, {"order": order, "epsilon": 0.01}) for order in ("cyclic", "random", "worst")],
    (kozinec, {"epsilon": 1e-6, "max_passes": 5}),
    (delta_rule, {"tol": 1e-6}),
    (delta_rule, {"update": "single", "order": "random"}),
    (delta_rule, {"update": "minibatch", "batch_size": 3, "thresholded": True, "rate": 0.1}),
    (delta_rule, {"update": "single", "thresholded": True, "rate": 0.1, "max_passes": 9}),
    (sgd, {"loss": "hinge", "max_passes": 3}),
    (sgd, {"loss": "logistic", "order": "cyclic", "cost": np.inf, "average": False}),
    (scheduled_sgd, {"loss": "hinge", "schedule": "optimal", "max_passes": 3}),
    (scheduled_sgd, {"schedule": "invscaling", "order": "cyclic", "cost": np.inf}),
]
BUDGET = 150


def bits(state):
    """All that a run remembers."""
    return [array.tobytes() for array in state.memory]


def advance_in_steps(method, signed, sizes, settings):
    state = method.start(signed, **settings)
    status = None
    for size in sizes:
        status = method.advance(state, size)
        if status is not None:
            break
    return state, status


@pytest.mark.parametrize(
    ("method", "settings"), RUNS, ids=[f"{m.__name__.split('.')[-1]}-{s}" for m, s in RUNS]
)
def test_budget_is_only_a_budget(method, settings):
    kinds = ["overlapping_gaussians", "comfortable_margin", "integer_grid", "copied_columns"]
    for seed in cases(80):
        case = problem(seed, kind=kinds[seed % 4])
        if seed % 5 == 4 and method is not delta_rule:
            signed = KeslerProblem(case.X, np.arange(len(case.X)) % 3, 3)
        else:
            X = as_sparse(case.X, np.int32) if seed % 2 else case.X
            signed = SignedProblem(X, case.y_signs)
        sizes = np.random.default_rng(seed).multinomial(BUDGET, [0.2] * 5).tolist()
        whole, status = advance_in_steps(method, signed, [BUDGET], settings)
        ones, status_of_ones = advance_in_steps(method, signed, [1] * BUDGET, settings)
        uneven, status_of_uneven = advance_in_steps(method, signed, [0, *sizes, 0], settings)
        if status is None:
            # What follows the last update is looked at with a budget of nothing.
            status = method.advance(whole, 0)
            status_of_ones = method.advance(ones, 0)
            status_of_uneven = method.advance(uneven, 0)
        assert bits(whole) == bits(ones) == bits(uneven)
        assert status is status_of_ones
        assert status is status_of_uneven


@pytest.mark.parametrize(("method", "settings"), RUNS[::3])
def test_replay_ends_where_solve_ends(method, settings):
    for seed in cases(20):
        case = problem(seed, kind="overlapping_gaussians")
        signed = SignedProblem(case.X, case.y_signs)
        state, status = solve(method, signed, BUDGET, **settings)
        *_, last = replay(method, signed, BUDGET, **settings)
        assert np.array_equal(last.weights, state.w)
        assert last.update == state.updates
        assert last.status is status


def test_seconds_end_a_run_and_progress_is_told(monkeypatch):
    case = problem(2, kind="opposite_duplicates")
    signed = SignedProblem(case.X, case.y_signs)
    clock = iter(np.arange(0.0, 1e6, 0.3))
    monkeypatch.setattr(drive.time, "perf_counter", lambda: next(clock))
    seen = []
    _, status = solve(
        perceptron, signed, seconds=10.0, progress=lambda state: seen.append(state.updates)
    )
    assert status is Status.BUDGET
    assert seen == sorted(seen)
    assert len(seen) > 5


def test_clock_is_the_real_one():
    assert drive.time.perf_counter is time.perf_counter


def test_status_has_cause_and_remedy():
    for status in Status:
        assert status.cause
        assert isinstance(status, str)
        if not status.is_final:
            assert status.remedy
