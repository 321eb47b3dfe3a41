import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import COMPILED_ONLY, cases
from tests.naive import kozinec as naive
from tests.problems import as_sparse, problem
from tests.solvers.runs import same_until_a_tie

from separatrix.errors import DataError
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status, replay, solve
from separatrix.solvers.updates import kozinec

BUDGET = 25
OUTCOMES = {
    "separated": Status.SEPARATED,
    "epsilon": Status.EPSILON,
    "origin": Status.ORIGIN,
    "budget": Status.BUDGET,
}


def can_be_squared(Z):
    with np.errstate(over="ignore"):
        largest = (Z**2).sum(axis=1).max()
    return 1e-280 < largest < np.inf


def test_agrees_with_the_naive_rule_on_generated_problems():
    same = 0
    for seed in cases(10_000):
        case = problem(seed)
        Z = case.signed_rows()
        X = as_sparse(case.X, np.int32) if seed % 2 else case.X
        signed = SignedProblem(X, case.y_signs)
        if not can_be_squared(Z):
            with pytest.raises(DataError, match="Divide the columns"):
                solve(kozinec, signed)
            continue
        epsilon = [None, 0.3, 0.01][seed // 17 % 3]
        order = ["cyclic", "worst"][seed // 51 % 2]
        frames = list(replay(kozinec, signed, BUDGET, epsilon=epsilon, order=order))
        run = naive.kozinec(Z, epsilon, order, max_updates=BUDGET)

        def level(w, epsilon=epsilon):
            norm = np.linalg.norm(w)
            return 0.0 if epsilon is None else max(0.0, norm * (norm - epsilon))

        ours = [frame.weights for frame in frames[1:]]
        if same_until_a_tie(Z, Z[0], ours, run.history, level, order == "worst"):
            same += 1
            if run.upper > 1e-9 * np.abs(Z).max():
                assert frames[-1].status is OUTCOMES[run.outcome]
    assert same >= 0.8 * len(cases(10_000))


@COMPILED_ONLY
def test_w_is_the_stated_convex_combination():
    for seed in cases(400):
        case = problem(seed, kind="overlapping_gaussians")
        signed = SignedProblem(case.X, case.y_signs)
        for order in ("cyclic", "random", "worst"):
            state, _ = solve(kozinec, signed, 2000, epsilon=1e-3, order=order)
            assert (state.alpha >= 0).all()
            assert state.alpha.sum() == pytest.approx(1.0, rel=1e-9)
            assert_allclose(signed.signed_rows().T @ state.alpha, state.w, atol=1e-9)


def test_epsilon_is_kept_and_the_margin_is_between_the_bounds():
    for seed in cases(300):
        case = problem(seed, kind="comfortable_margin")
        signed = SignedProblem(case.X, case.y_signs)
        epsilon = 0.02 * np.linalg.norm(signed.signed_rows(), axis=1).max()
        state, status = solve(kozinec, signed, epsilon=epsilon)
        assert status is Status.EPSILON
        lower = signed.margins(state.w).min() / state.bound
        assert 0 < lower <= state.bound * (1 + 1e-12) <= lower + epsilon * (1 + 1e-9)


def test_makes_no_more_updates_than_the_perceptron_bound_allows():
    for seed in cases(300):
        case = problem(seed, kind="comfortable_margin")
        signed = SignedProblem(case.X, case.y_signs)
        state, status = solve(kozinec, signed)
        assert status is Status.SEPARATED
        Z = signed.signed_rows()
        radius = np.linalg.norm(Z, axis=1).max()
        margin = signed.margins(state.w).min() / state.bound
        assert state.updates <= (radius / margin) ** 2


def test_opposite_rows_reach_the_origin():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]])
    state, status = solve(kozinec, SignedProblem(X, np.array([1.0, -1.0, 1.0])))
    assert status is Status.ORIGIN
    assert state.bound < 1e-9


def test_a_zero_row_is_the_origin():
    problem = SignedProblem(np.array([[0.0], [1.0]]), np.array([1.0, 1.0]), fit_intercept=False)
    state, status = solve(kozinec, problem)
    assert status is Status.ORIGIN
    assert state.bound == 0.0


def test_overlapping_classes_end_with_a_falling_bound():
    X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    signed = SignedProblem(X, np.sign(X[:, 0] * X[:, 1]))
    bounds = [frame.bound for frame in replay(kozinec, signed, 3000)]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(bounds))
    assert bounds[-1] < 0.1 * bounds[0]


def test_passes_end_the_run():
    case = problem(2, kind="opposite_duplicates")
    state, status = solve(kozinec, SignedProblem(case.X, case.y_signs), max_passes=2, epsilon=1e-9)
    assert status in (Status.BUDGET, Status.ORIGIN)
    assert state.passes <= 2.0
