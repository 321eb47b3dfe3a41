import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import COMPILED_ONLY, cases
from tests.naive import delta_rule as naive
from tests.problems import as_sparse, problem

from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status, solve
from separatrix.solvers.updates import delta_rule

PASSES = 3


def test_agrees_with_the_naive_rule_on_generated_problems():
    compared = ties = 0
    for seed in cases(10_000):
        case = problem(seed)
        Z = case.signed_rows()
        if np.abs(Z).max() > 1e100:
            continue
        X = as_sparse(case.X, np.int32) if seed % 2 else case.X
        signed = SignedProblem(X, case.y_signs)
        update, size = [("batch", len(Z)), ("single", 1), ("minibatch", 4)][seed // 17 % 3]
        thresholded = bool(seed // 51 % 2)
        rate = 0.5 * delta_rule.largest_stable_rate(signed, min(size, len(Z)))
        state, status = solve(
            delta_rule,
            signed,
            update=update,
            batch_size=4,
            rate=rate,
            thresholded=thresholded,
            max_passes=PASSES,
        )
        w, losses = naive.delta_rule(
            Z, thresholded=thresholded, rate=rate, passes=PASSES, batch_size=size
        )
        assert status in (Status.BUDGET, Status.SEPARATED, Status.SETTLED)
        # What is left after cancellation carries the rounding errors of what was cancelled.
        reach = np.abs(w) + 2 * PASSES * rate * np.abs(Z).sum(axis=0)
        if thresholded and (np.abs(Z @ w) < 1e-9 * (np.abs(Z) @ reach)).any():
            continue  # a tie: rounding decides which rows move w
        if thresholded and not np.all(np.abs(state.w - w) <= 1e-9 * reach):
            ties += 1  # a tie on the way
            continue
        compared += 1
        assert np.all(np.abs(state.w - w) <= 1e-9 * reach)
        assert state.loss == pytest.approx(losses[-1], rel=1e-6, abs=1e-9)
    assert compared >= 0.75 * len(cases(10_000))
    assert ties <= 0.02 * len(cases(10_000))


@COMPILED_ONLY
def test_the_largest_stable_rate_is_where_divergence_begins():
    for seed in cases(60):
        case = problem(seed, kind="overlapping_gaussians")
        signed = SignedProblem(case.X, case.y_signs)
        limit = delta_rule.largest_stable_rate(signed, signed.n_rows)
        assert limit == pytest.approx(naive.largest_stable_rate(signed.signed_rows()), rel=1e-4)
        below, status = solve(delta_rule, signed, 3000, rate=0.98 * limit)
        assert status is not Status.DIVERGED
        _, status = solve(delta_rule, signed, 3000, rate=1.05 * limit)
        assert status is Status.DIVERGED
        assert np.isfinite(below.w).all()


@pytest.mark.parametrize(("update", "order"), [("single", "cyclic"), ("minibatch", "random")])
def test_rates_up_to_the_safe_limit_do_not_diverge(update, order):
    for seed in cases(60):
        case = problem(seed, kind="overlapping_gaussians")
        signed = SignedProblem(case.X, case.y_signs)
        size = {"single": 1, "minibatch": 4}[update]
        limit = delta_rule.largest_stable_rate(signed, min(size, signed.n_rows))
        _, status = solve(
            delta_rule, signed, update=update, order=order, batch_size=4, rate=limit, max_passes=200
        )
        assert status is not Status.DIVERGED


def test_batches_tend_to_least_squares():
    case = problem(2, kind="overlapping_gaussians")
    signed = SignedProblem(case.X, case.y_signs)
    Z = signed.signed_rows()
    state, status = solve(delta_rule, signed, tol=1e-14)
    assert status is Status.SETTLED
    best, *_ = np.linalg.lstsq(Z, np.ones(len(Z)), rcond=None)
    assert_allclose(state.w, best, rtol=1e-4, atol=1e-5)


def test_an_exact_fit_ends_the_run():
    X = np.array([[1.0], [-1.0]])
    state, status = solve(delta_rule, SignedProblem(X, np.array([1.0, -1.0])), first=[0.0, 1.0])
    assert status is Status.SETTLED
    assert state.updates == 0


def test_the_thresholded_unit_stops_when_all_is_right():
    case = problem(1, kind="comfortable_margin")
    signed = SignedProblem(case.X, case.y_signs)
    state, status = solve(delta_rule, signed, update="single", thresholded=True, rate=0.1)
    assert status is Status.SEPARATED
    assert (signed.margins(state.w) > 0).all()


def test_zero_rows_set_no_limit_to_the_rate():
    problem = SignedProblem(np.zeros((2, 1)), np.array([1.0, -1.0]), fit_intercept=False)
    assert delta_rule.largest_stable_rate(problem, 2) == np.inf
    assert delta_rule.largest_stable_rate(problem, 1) == np.inf
