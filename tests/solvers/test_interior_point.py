"""The interior point: optimal by its own bracket, equal to a QP solver, whatever the data."""

import numpy as np
import pytest
from tests.amounts import COMPILED_ONLY, cases
from tests.naive.interior_point import hinge_optimum
from tests.problems import as_sparse, problem

import separatrix as sx
from separatrix.problem.losses import HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import interior_point
from separatrix.solvers.linear.predictor_corrector import falling_root
from separatrix.solvers.running.drive import Status, solve

TOL = 1e-6
WEIGHTS = [0.0, 1e-6, 1.0, 2.0, 1e3]


def machine(case, seed, moderate=False):
    """A machine on these rows: any cost, scale, storage and bias."""
    rng = np.random.default_rng([seed, 7])
    n = len(case.y_signs)
    C = 10.0 ** rng.integers(*((-2, 3) if moderate else (-6, 7)))
    scaled = case.kind != "extreme_columns" and not moderate and rng.random() < 0.5
    X = case.X * (10.0 ** rng.integers(-8, 9) if scaled else 1.0)
    kinds = [0.0, 1.0, 2.0] if moderate else WEIGHTS
    weights = rng.choice(kinds, size=n) if rng.random() < 0.3 else np.ones(n)
    bias = rng.choice(["free", "free", "penalised", "none"])
    X = as_sparse(X) if rng.random() < 0.5 else X
    signed = SignedProblem(X, case.y_signs, bias != "none")
    return MachineProblem(signed, C * weights, HINGE, float(bias == "penalised"))


def rounding_of(machine, state):
    """How much the order of summation may change the two objectives."""
    X = abs(machine.rows.signed_rows())
    scores = 1e-14 * (X @ abs(state.w))
    used = np.where(np.isinf(machine.costs), 0.0, machine.costs)
    pulled = 1e-14 * np.linalg.norm(state.alpha @ X)
    u = np.linalg.norm(state.w)  # nearly sum alpha y x, near the optimum
    return 1e-12 * state.primal + used @ scores + pulled * (u + pulled)


def assert_bracket(machine, state, tol):
    """What is claimed holds on the data: feasible, balanced, and closer than tol."""
    primal, dual = machine.primal(state.w), machine.dual(state.alpha)
    rounding = rounding_of(machine, state)
    assert primal == pytest.approx(state.primal, rel=0.0, abs=rounding)
    assert dual == pytest.approx(state.dual, rel=0.0, abs=rounding)
    assert state.primal - state.dual <= tol * state.primal
    assert primal - dual <= tol * primal + 2.0 * rounding
    assert (state.alpha >= 0.0).all()
    assert (state.alpha <= machine.costs).all()
    if machine.has_free_bias:
        assert abs(machine.signs @ state.alpha) <= 1e-12 * state.alpha.sum()


def test_brackets_the_optimum_of_every_kind():
    for seed in cases(340):
        case = problem(seed)
        if case.kind == "extreme_columns":
            continue  # beyond 1e8 alpha in float64 may be too coarse to balance a column
        posed = machine(case, seed)
        state, status = solve(interior_point, posed, tol=TOL)
        assert status is Status.OPTIMAL, case.name
        assert_bracket(posed, state, TOL)


def test_agrees_with_a_quadratic_program():
    for seed in cases(204):
        case = problem(seed)
        if case.kind == "extreme_columns":
            continue  # the peer does not survive the scales
        posed = machine(case, seed, moderate=True)
        state, status = solve(interior_point, posed, tol=1e-10)
        assert status is Status.OPTIMAL, case.name
        best = hinge_optimum(
            case.X, posed.signs, posed.costs, posed.bias_penalty, posed.rows.fit_intercept
        )
        assert state.primal == pytest.approx(best, rel=1e-9, abs=1e-9 * posed.costs.max())


@pytest.mark.parametrize("kind", ["comfortable_margin", "separable_integers", "copied_columns"])
def test_hard_margin(kind):
    for seed in cases(80):
        case = problem(seed, kind=kind)
        X = as_sparse(case.X) if seed % 2 else case.X
        posed = MachineProblem(
            SignedProblem(X, case.y_signs), np.full(len(case.y_signs), np.inf), HINGE
        )
        state, status = solve(interior_point, posed, tol=1e-10)
        assert status is Status.OPTIMAL, case.name
        assert_bracket(posed, state, 1e-10)
        assert posed.rows.margins(state.w).min() >= 1.0
        if not case.one_class:
            best = hinge_optimum(case.X, posed.signs, posed.costs)
            assert state.primal == pytest.approx(best, rel=1e-8)


def test_hard_margin_that_is_not_there_ends():
    for seed in cases(20):
        case = problem(seed, kind="opposite_duplicates")
        costs = np.full(len(case.y_signs), np.inf)
        posed = MachineProblem(SignedProblem(case.X, case.y_signs), costs, HINGE)
        state, status = solve(interior_point, posed, tol=1e-4)
        assert status is Status.UNPROVED
        assert np.isfinite(state.w).all()
        assert state.primal == np.inf


def test_a_margin_of_a_hundred_millionth():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    signs = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    X[:, 0] = signs * (1e-8 + 1e-8 * rng.random(60))
    posed = MachineProblem(SignedProblem(X, signs), np.full(60, np.inf), HINGE)
    state, status = solve(interior_point, posed, tol=1e-4)
    assert status is Status.OPTIMAL
    assert_bracket(posed, state, 1e-4)


def test_one_class_needs_no_iteration():
    for sign in (-1.0, 1.0):
        for cost in (1.0, np.inf):
            rows = SignedProblem(np.array([[1.0, 5.0], [2.0, 3.0]]), np.full(2, sign))
            posed = MachineProblem(rows, np.full(2, cost), HINGE)
            state, status = solve(interior_point, posed, tol=TOL)
            assert (status, state.updates) == (Status.OPTIMAL, 0)
            assert state.w.tolist() == [sign, 0.0, 0.0]
            assert (state.primal, state.dual, state.alpha.any()) == (0.0, 0.0, False)


def test_weight_is_the_number_of_copies():
    for seed in cases(40):
        case = problem(seed, kind="overlapping_gaussians")
        copies = np.random.default_rng(seed).integers(0, 4, size=len(case.y_signs))
        copies[[np.argmax(case.y_signs), np.argmin(case.y_signs)]] = 1
        weighted = MachineProblem(SignedProblem(case.X, case.y_signs), 0.5 * copies, HINGE)
        X, signs = np.repeat(case.X, copies, axis=0), np.repeat(case.y_signs, copies)
        copied = MachineProblem(SignedProblem(X, signs), np.full(len(signs), 0.5), HINGE)
        one, _ = solve(interior_point, weighted, tol=1e-11)
        other, _ = solve(interior_point, copied, tol=1e-11)
        assert one.primal == pytest.approx(other.primal, rel=1e-10)
        assert not one.alpha[copies == 0].any()


def test_units_and_offsets_cost_nothing():
    rng = np.random.default_rng(5)
    X, scales = rng.normal(size=(400, 6)), np.exp(rng.uniform(-8, 8, size=6))
    signs = np.where(X.sum(axis=1) + rng.normal(size=400) > 0, 1.0, -1.0)
    for offset in (0.0, 1e6):
        posed = MachineProblem(SignedProblem(X * scales + offset, signs), np.ones(400), HINGE)
        state, status = solve(interior_point, posed, tol=TOL)
        assert status is Status.OPTIMAL
        assert_bracket(posed, state, TOL)
        assert state.updates < 40


def test_a_rough_answer_takes_fewer_iterations():
    case = problem(1, kind="overlapping_gaussians")
    posed = MachineProblem(SignedProblem(case.X, case.y_signs), np.ones(len(case.X)), HINGE)
    rough, _ = solve(interior_point, posed, tol=1e-1)
    fine, _ = solve(interior_point, posed, tol=1e-10)
    assert rough.updates < fine.updates


def test_a_claim_that_is_good_enough_is_kept():
    case = problem(2, kind="overlapping_gaussians")
    posed = MachineProblem(SignedProblem(case.X, case.y_signs), np.ones(len(case.X)), HINGE)
    state, _ = solve(interior_point, posed, tol=1e-8)
    again, status = solve(interior_point, posed, tol=1e-7, first=(state.w, state.alpha))
    assert (status, again.updates) == (Status.OPTIMAL, 0)
    assert again.gap <= 1e-7


def test_starts_from_any_claim():
    for seed in cases(120):
        case = problem(seed)
        if case.kind == "extreme_columns":
            continue
        posed = machine(case, seed, moderate=True)
        rng = np.random.default_rng(seed)
        w = rng.normal(size=posed.X.shape[1] + 1) * 10.0 ** rng.integers(-6, 3)
        alpha = rng.random(len(posed.costs)) * posed.costs
        rough, _ = solve(interior_point, posed, tol=10.0 ** rng.uniform(-4, -1))
        for first in ((w, alpha), (w, None), (rough.w, rough.alpha)):
            state, status = solve(interior_point, posed, tol=TOL, first=first)
            assert status is Status.OPTIMAL, seed
            assert_bracket(posed, state, TOL)


@COMPILED_ONLY
def test_a_claim_of_other_costs_saves_iterations():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4_000, 20)) * 10.0 ** rng.normal(size=20)
    signs = np.where(X[:, 0] + X[:, 1] + 8.0 * rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    rows = SignedProblem(X, signs)
    less, more = (MachineProblem(rows, np.full(len(X), C), HINGE) for C in (0.01, 0.03))
    claim, _ = solve(interior_point, less, tol=TOL)
    cold, _ = solve(interior_point, more, tol=TOL)
    warm, status = solve(interior_point, more, tol=TOL, first=(claim.w, claim.alpha))
    assert status is Status.OPTIMAL
    assert_bracket(more, warm, TOL)
    assert warm.updates <= 0.8 * cold.updates


@pytest.mark.parametrize("d", [6, 70])  # steps of few entries are made several at once
def test_products_that_are_far_too_small_do_not_stop_a_start_from_a_claim(monkeypatch, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, d))
    signs = np.where(X[:, 0] + rng.normal(size=300) > 0.0, 1.0, -1.0)
    given = MachineProblem(SignedProblem(X, signs), np.full(300, 10.0), HINGE)
    rough, _ = solve(interior_point, given, tol=1e-2)
    monkeypatch.setattr(interior_point, "_AHEAD", 1e-9)
    state, status = solve(interior_point, given, tol=TOL, first=(rough.w + 0.1, rough.alpha))
    assert status is Status.OPTIMAL
    assert_bracket(given, state, TOL)


@pytest.mark.parametrize("d", [3, 70])
def test_a_claim_that_is_near_enough_at_first_can_be_taken_further(d):
    rng = np.random.default_rng(3)
    rows = SignedProblem(rng.normal(size=(90, d)), np.where(rng.random(90) < 0.5, 1.0, -1.0))
    first, _ = solve(interior_point, MachineProblem(rows, np.full(90, 0.01), HINGE), tol=1e-9)
    other = MachineProblem(rows, np.full(90, 0.0101), HINGE)
    state = interior_point.start(other, tol=0.1, first=(first.w, first.alpha))
    assert interior_point.advance(state, 5) is Status.OPTIMAL
    assert 1e-9 < state.gap <= 0.1
    state.tol = 1e-9
    assert interior_point.advance(state, 50) is Status.OPTIMAL
    assert state.gap <= 1e-9


def test_single_precision_rows_are_summed_in_double():
    case = problem(19, kind="overlapping_gaussians")
    single = case.X.astype(np.float32)
    for convert in (np.asarray, as_sparse):
        costs = np.ones(len(case.X))
        ours = MachineProblem(SignedProblem(convert(single), case.y_signs), costs, HINGE)
        same = MachineProblem(SignedProblem(single.astype(float), case.y_signs), costs, HINGE)
        state, status = solve(interior_point, ours, tol=1e-9)
        expected, _ = solve(interior_point, same, tol=1e-9)
        assert status is Status.OPTIMAL
        assert state.primal == pytest.approx(expected.primal, rel=2e-9)


def test_a_budget_of_passes_is_kept():
    case = problem(3, kind="overlapping_gaussians")
    posed = MachineProblem(SignedProblem(case.X, case.y_signs), np.ones(len(case.X)), HINGE)
    state, status = solve(interior_point, posed, tol=1e-12, max_passes=20)
    assert status is Status.BUDGET
    assert 20 <= state.passes < 45


def test_a_row_on_the_margin_that_carries_nothing_is_no_support_vector():
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]]), np.array([1, 1, 0])
    for C in (1.0, 100.0, np.inf):
        model = sx.LinearSVM(C=C, solver="interior_point").fit(X, y)
        assert model.support_.tolist() == [0, 2]
        assert model.certificate_.check(X, y)


def test_a_root_is_found_where_both_ends_are_one_number():
    calls = []

    def falling(place):
        calls.append(place)
        assert len(calls) < 5000, "the ends are never moved apart"
        return 1e19 - place, -1.0

    assert falling_root(falling, 1e20, 1e20, 0.0) == 1e19
    calls.clear()
    assert falling_root(falling, 1e3, 1e3, 0.0) == 1e19
