import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC
from tests.amounts import cases
from tests.naive import dual_coordinate as naive
from tests.problems import as_sparse, problem

from separatrix._compiled import is_interpreted
from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import dual_coordinate, interior_point, newton
from separatrix.solvers.linear.dual_claims import best_bias
from separatrix.solvers.linear.subspace import _sift, meeting_heap
from separatrix.solvers.running.drive import Status, solve

# Columns of 1e6 and more beside others of 1 are for another solver: each step moves along one row.
WELL_SCALED = [
    "comfortable_margin",
    "overlapping_gaussians",
    "integer_grid",
    "opposite_duplicates",
    "fewer_rows_than_columns",
    "one_row",
    "zero_rows",
    "zero_columns",
    "all_columns_zero",
    "one_class",
    "copied_columns",
    "mostly_zero",
]
# A free bias, one that costs as in LIBLINEAR, none.
BIASES = [(True, 0.0), (True, 1.0), (False, 0.0)]


def machine(case, seed, loss, C=None):
    rng = np.random.default_rng(seed)
    C = 10.0 ** rng.uniform(-2, 1.5) if C is None else C
    costs = np.full(len(case.X), C)
    if seed % 3 == 1:
        costs *= rng.integers(0, 4, size=len(costs))
    X = as_sparse(case.X) if seed % 2 else case.X
    fit_intercept, penalty = BIASES[seed // 2 % 3]
    return MachineProblem(SignedProblem(X, case.y_signs, fit_intercept), costs, loss, penalty)


def reference(machine):
    X = machine.X if isinstance(machine.X, np.ndarray) else machine.X.toarray()
    return naive.optimum(
        X,
        machine.signs,
        machine.costs,
        machine.loss == SQUARED_HINGE,
        machine.rows.fit_intercept,
        machine.bias_penalty,
    )


def assert_claims(state):
    """Alpha is feasible, and the two values are what the problem says they are."""
    machine, alpha = state.problem, state.alpha
    assert (alpha >= 0).all()
    assert (alpha[machine.costs == 0] == 0).all()
    if machine.loss == HINGE:
        assert (alpha <= machine.costs).all()
    if machine.has_free_bias:
        assert abs(machine.signs @ alpha) <= 1e-13 * max(alpha.sum(), 1e-300)
    if not machine.rows.fit_intercept:
        assert state.w[0] == 0
    rounding = 1e-14 * machine.costs.sum() * max(1.0, np.abs(state.w).max())
    assert_allclose(machine.primal(state.w), state.primal, rtol=1e-10, atol=rounding)
    assert_allclose(machine.dual(alpha), state.dual, rtol=1e-10, atol=rounding)
    assert state.dual <= state.primal * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_reaches_the_optimum_of_a_conic_solver(loss):
    for seed in cases(160):
        case = problem(seed, kind=WELL_SCALED[seed % len(WELL_SCALED)])
        tight = machine(case, seed, loss)
        state, status = solve(dual_coordinate, tight, tol=1e-9, max_passes=20_000)
        assert status is Status.OPTIMAL, case.name
        assert state.gap <= 1e-9
        assert_claims(state)
        assert_allclose(state.primal, reference(tight), rtol=1e-7, atol=1e-8)


def test_every_kind_keeps_its_claims_when_the_budget_ends():
    for seed in cases(170):
        case = problem(seed)
        if np.abs(case.X).max() > 1e100:
            continue
        loss = [HINGE, SQUARED_HINGE][seed // 17 % 2]
        state, status = solve(dual_coordinate, machine(case, seed, loss), 12, tol=1e-9)
        assert status in (Status.OPTIMAL, Status.BUDGET)
        assert np.isfinite(state.w).all()
        assert (state.alpha >= 0).all()
        assert state.dual <= state.primal * (1 + 1e-6) + 1e-300


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6])
def test_small_and_large_costs(C):
    for seed in cases(24):
        case = problem(seed, kind="comfortable_margin")
        state, status = solve(dual_coordinate, machine(case, seed, HINGE, C), 20_000, tol=1e-6)
        assert status is Status.OPTIMAL, case.name
        assert_claims(state)


def test_agrees_with_the_plain_descent():
    for seed in cases(60):
        case = problem(seed, kind="overlapping_gaussians")
        loss = [HINGE, SQUARED_HINGE][seed % 2]
        penalty = [None, 1.0][seed // 2 % 2]
        rows = SignedProblem(case.X, case.y_signs, penalty is not None)
        ours = MachineProblem(rows, np.full(len(case.X), 0.3), loss, penalty or 0.0)
        state, _ = solve(dual_coordinate, ours, tol=1e-10, max_passes=20_000)
        alpha = naive.dual_coordinate(
            case.X, case.y_signs, ours.costs, loss == SQUARED_HINGE, penalty, 50
        )
        assert ours.dual(alpha) <= state.primal * (1 + 1e-9)
        assert state.dual >= ours.dual(alpha) * (1 - 1e-8)


def test_same_optimum_as_liblinear():
    rng = np.random.default_rng(0)
    X = as_sparse(np.where(rng.random((300, 80)) < 0.1, rng.normal(size=(300, 80)), 0.0))
    y = np.sign(rng.normal(size=300) + X @ rng.normal(size=80))
    for C in (0.1, 1.0, 10.0)[: len(cases(120))]:
        ours = MachineProblem(SignedProblem(X, y), np.full(300, C), HINGE, 1.0)
        state, status = solve(dual_coordinate, ours, tol=1e-8)
        peer = LinearSVC(loss="hinge", C=C, tol=1e-7, max_iter=1_000_000).fit(X, y)
        w = np.concatenate([peer.intercept_, peer.coef_[0]])
        assert status is Status.OPTIMAL
        assert state.dual <= ours.primal(w)
        assert_allclose(state.primal, ours.primal(w), rtol=1e-5)
        assert_allclose(state.w, w, atol=0.05)


def test_one_class_needs_no_weights():
    for sign in (1.0, -1.0):
        rows = SignedProblem(np.array([[1.0, 2.0], [3.0, 4.0]]), np.full(2, sign))
        state, status = solve(dual_coordinate, MachineProblem(rows, np.ones(2), HINGE), tol=1e-9)
        assert status is Status.OPTIMAL
        assert state.updates == 0
        assert state.primal == 0.0
        assert state.w.tolist() == [sign, 0.0, 0.0]


def test_a_zero_row_without_bias_goes_to_its_bound():
    rows = SignedProblem(np.array([[0.0], [1.0]]), np.array([1.0, 1.0]), fit_intercept=False)
    state, status = solve(dual_coordinate, MachineProblem(rows, np.full(2, 3.0), HINGE), tol=1e-9)
    assert status is Status.OPTIMAL
    assert_allclose(state.alpha, [3.0, 1.0])
    assert_allclose(state.primal, 3.5)


def test_what_it_does_not_solve_is_refused():
    rows = SignedProblem(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="finite costs"):
        dual_coordinate.start(MachineProblem(rows, np.full(2, np.inf), HINGE), tol=1e-3)
    with pytest.raises(ValueError, match="hinge"):
        dual_coordinate.start(MachineProblem(rows, np.ones(2), LOGISTIC), tol=1e-3)


def test_a_claim_for_the_last_cost_is_a_good_start():
    rng = np.random.default_rng(3)
    X = as_sparse(np.where(rng.random((80, 30)) < 0.2, rng.normal(size=(80, 30)), 0.0))
    rows = SignedProblem(X, np.sign(X @ rng.normal(size=30) + 0.5 * rng.normal(size=80)))
    for loss in (HINGE, SQUARED_HINGE):
        before, _ = solve(dual_coordinate, MachineProblem(rows, np.ones(80), loss), tol=1e-8)
        for C in (1.0, 1.5, 0.7):
            following = MachineProblem(rows, np.full(80, C), loss)
            first = (before.w, before.alpha)
            warm, status = solve(dual_coordinate, following, tol=1e-8, first=first)
            cold, _ = solve(dual_coordinate, following, tol=1e-8)
            assert status is Status.OPTIMAL
            assert_claims(warm)
            assert_allclose(warm.primal, cold.primal, rtol=1e-7)
            if C >= 1.0:  # a path goes upwards
                assert warm.updates <= (0 if C == 1.0 else cold.updates)


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_lone_columns_are_folded_and_come_back(loss):
    rng = np.random.default_rng(7)
    for seed in cases(40):
        n = int(rng.integers(3, 12))
        shared = rng.normal(size=(n, 2))
        lone = np.zeros((n, 2 * n))
        lone[np.arange(2 * n) % n, np.arange(2 * n)] = rng.normal(size=2 * n)
        X = as_sparse(np.hstack([lone, shared])[:, rng.permutation(2 * n + 2)])
        rows = SignedProblem(X, np.where(np.arange(n) % 2, 1.0, -1.0), seed % 3 > 0)
        whole = MachineProblem(rows, rng.uniform(0.1, 3.0, size=n), loss, float(seed % 3 == 1))
        state, status = solve(dual_coordinate, whole, tol=1e-9)
        assert state.memory.setup.fold is not None
        assert len(state.memory.memory.w) <= 2
        assert status is Status.OPTIMAL
        assert_claims(state)
        assert_allclose(state.primal, reference(whole), rtol=1e-7, atol=1e-8)


def test_passes_end_the_run():
    case = problem(2, kind="overlapping_gaussians")
    state, status = solve(dual_coordinate, machine(case, 0, HINGE, 50.0), tol=1e-12, max_passes=3)
    assert status is Status.BUDGET
    assert state.passes >= 3


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_no_other_bias_is_better(loss):
    rng = np.random.default_rng(5)
    for _ in cases(400):
        n = int(rng.integers(1, 12))
        scores, signs = rng.integers(-3, 4, size=n).astype(float), rng.choice([-1.0, 1.0], size=n)
        costs = rng.integers(0, 3, size=n).astype(float)
        rows = SignedProblem(scores[:, np.newaxis], signs)
        whole = MachineProblem(rows, costs, loss)
        best = whole.primal(np.array([best_bias(scores, signs, costs, loss), 1.0]))
        for b in np.linspace(-5, 5, 41):
            assert best <= whole.primal(np.array([b, 1.0])) + 1e-12


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 0.1, 1.0, 1e3])
def test_a_bias_of_any_price_takes_few_passes(loss, penalty):
    """With the weight 1 / p on y.a, every step was shorter by it: 968 passes at p = 1e-6."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.2)
    signs = np.where(X @ rng.normal(size=12) + rng.normal(size=60) > 1.0, 1.0, -1.0)
    rows = SignedProblem(as_sparse(X), signs)
    by_passes = MachineProblem(rows, np.ones(60), loss, penalty)
    state, status = solve(dual_coordinate, by_passes, tol=1e-6, max_passes=60)
    assert status is Status.OPTIMAL
    assert_claims(state)
    other = {HINGE: interior_point, SQUARED_HINGE: newton}[loss]
    by_matrix, _ = solve(other, by_passes, tol=1e-9)
    assert_allclose(state.primal, by_matrix.primal, rtol=2e-6)


@pytest.mark.skipif(is_interpreted(), reason="numbers of NumPy warn where compiled ones overflow")
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_costs_whose_squares_overflow_are_no_error(loss):
    rng = np.random.default_rng(0)
    rows = SignedProblem(rng.normal(size=(20, 2)) * 1e155, np.repeat([-1.0, 1.0], 10))
    for costs in (np.full(20, 1e-307), np.full(20, 1.0)):
        state, _ = solve(dual_coordinate, MachineProblem(rows, costs, loss), tol=1e-6, max_passes=9)
        assert state.dual >= 0.0


@pytest.mark.skipif(is_interpreted(), reason="numbers of NumPy warn where compiled ones overflow")
def test_a_value_that_overflows_makes_no_noise():
    X = np.array([[-0.2], [-0.7], [-3.4], [0.3], [-6.7]])
    for signs in ([1.0, 1.0, -1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, -1.0, -1.0]):
        rows = SignedProblem(X, np.array(signs), fit_intercept=False)
        problem = MachineProblem(rows, np.full(5, 1e280), HINGE)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            state, _ = solve(dual_coordinate, problem, tol=1e-9, max_passes=300)
        assert state.dual <= state.primal


def test_a_bias_of_one_beside_tiny_weights_is_no_rounding_error():
    """(p - 1) b^2 + b^2 left 1e-17 of the bias in |w|^2: the primal stood below the dual."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(251, 97)) * 10.0 ** (2.0 * rng.normal(size=97))
    signs = np.where(np.arange(251) < 6, 1.0, -1.0)
    costs = np.full(251, 0.003 / float((X * X).sum(axis=1).mean()))
    problem = MachineProblem(SignedProblem(X, signs), costs, HINGE)
    state, _ = solve(dual_coordinate, problem, tol=1e-6, max_passes=200)
    assert state.primal == pytest.approx(problem.primal(state.w), rel=1e-12)
    assert state.dual <= state.primal


@pytest.mark.parametrize("seed", cases(200))
def test_rows_meet_their_bounds_in_order_the_first_of_equals_first(seed):
    rng = np.random.default_rng(seed)
    meets = rng.choice(rng.uniform(0.0, 1.5, 20), size=int(rng.integers(1, 300)))
    meets[rng.random(len(meets)) < 0.2] = np.inf
    early = np.flatnonzero(meets < 1.0)
    expected = early[np.argsort(meets[early], kind="stable")]
    heap, found = meeting_heap(meets, len(early)), []
    for size in reversed(range(len(heap))):
        found.append(int(heap[0]))
        heap[0] = heap[size]
        _sift(heap, meets, 0, size)
    assert found == expected.tolist()
