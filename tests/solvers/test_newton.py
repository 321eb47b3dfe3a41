import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.naive import newton as naive
from tests.problems import as_sparse, problem

from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import newton, newton_cg, smooth
from separatrix.solvers.running.drive import Status, solve

METHODS = [newton, newton_cg]
LOSSES = [SQUARED_HINGE, LOGISTIC]
EVERY_WAY = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__.split(".")[-1])


def machine(seed, loss, sparse=False, intercept=True, penalty=0.0, C=None, weights=None):
    """The problem of this seed with a cost drawn for it, one in seven rows absent or heavy."""
    case = problem(seed)
    rng = np.random.default_rng([seed, 77])
    C = 10.0 ** rng.uniform(-3, 3) if C is None else C
    if weights is None:
        weights = np.ones(len(case.X))
        if seed % 3 == 0:
            weights = rng.choice([0.0, 1.0, 1.0, 2.0, 1e3], size=len(case.X))
    X = np.clip(case.X, -1e80, 1e80)
    rows = SignedProblem(as_sparse(X) if sparse else X, case.y_signs, intercept)
    return MachineProblem(rows, C * weights, loss, penalty)


def reference(given):
    X = given.X.toarray() if hasattr(given.X, "toarray") else given.X
    rule = naive.squared_hinge if given.loss == SQUARED_HINGE else naive.logistic
    return rule(X, given.signs, given.costs, given.rows.fit_intercept, given.bias_penalty)


def assert_claims_hold(state):
    """What a state says of itself is so, computed afresh; and alpha is feasible and balanced."""
    given = state.problem
    assert_allclose(state.primal, given.primal(state.w), rtol=1e-11, atol=1e-300)
    assert (state.alpha >= 0.0).all()
    assert (state.alpha[given.costs == 0.0] == 0.0).all()
    if given.loss == LOGISTIC:
        assert (state.alpha <= given.costs).all()
    if given.has_free_bias:
        assert abs(given.signs @ state.alpha) <= 1e-13 * state.alpha.sum()
    slack = 1e-11 * state.primal + rounding_of_gap(state)
    assert_allclose(state.dual, given.dual(state.alpha), rtol=1e-9, atol=slack)
    assert state.dual <= state.primal * (1.0 + 1e-12)


def rounding_of_gap(state):
    """What the last digits of alpha do to |u|^2 / 2."""
    lost = np.finfo(float).eps * (state.alpha @ abs(state.problem.X))
    return 10.0 * lost @ (lost + np.abs(state.w[1:]))


@EVERY_WAY
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_optimum_is_the_one_of_a_general_solver(method, loss, sparse):
    compared = 0
    for seed in cases(102):
        if problem(seed).kind == "extreme_columns":
            continue
        given = machine(seed, loss, sparse, intercept=seed % 5 != 1, penalty=float(seed % 4 == 1))
        state, status = solve(method, given, 300, tol=1e-10)
        assert status is Status.OPTIMAL, (seed, state.gap)
        assert state.gap <= 1e-10
        assert_claims_hold(state)
        # The bound is a proof; the general solver shows that nothing went wrong in common.
        best = given.primal(reference(given))
        assert state.primal <= best * (1.0 + 1e-9) + 1e-300, problem(seed).name
        compared += state.primal >= best * (1.0 - 1e-6)
    assert compared > 0.5 * len(cases(102))


@EVERY_WAY
@pytest.mark.parametrize("loss", LOSSES)
def test_any_cost_and_any_scale(method, loss):
    proved = 0
    for seed in cases(60):
        rng = np.random.default_rng(seed)
        n, d = 60, 5
        X = rng.normal(size=(n, d)) + rng.normal(size=d)
        signs = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.0, 1.0, -1.0)
        scales = 10.0 ** (rng.uniform(-8, 8, size=d) if method is newton else rng.uniform(-2, 2))
        weights = 10.0 ** rng.uniform(-3, 3, size=n)
        C = 10.0 ** rng.uniform(-6, 6)
        given = MachineProblem(SignedProblem(X * scales, signs), C * weights, loss)
        state, status = solve(method, given, 300, tol=1e-7)
        if status is not Status.OPTIMAL:
            assert state.primal - state.dual <= rounding_of_gap(state), (seed, state.gap)
        proved += status is Status.OPTIMAL
        assert_claims_hold(state)
    assert proved >= 0.9 * len(cases(60))


@EVERY_WAY
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_class_needs_only_a_bias(method, sign):
    X = np.random.default_rng(0).normal(size=(5, 2))
    for loss, bias in [(SQUARED_HINGE, 1.0), (LOGISTIC, 750.0)]:
        given = MachineProblem(SignedProblem(X, np.full(5, sign)), np.ones(5), loss)
        state, status = solve(method, given, tol=1e-6)
        assert status is Status.OPTIMAL
        assert state.w.tolist() == [sign * bias, 0.0, 0.0]
        assert state.primal == state.dual == given.primal(state.w) == 0.0


@EVERY_WAY
def test_rows_without_cost_are_not_there(method):
    rng = np.random.default_rng(3)
    X, signs = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], size=30)
    kept = np.arange(30) % 3 > 0
    wild = np.where(kept[:, None], X, 1e90)
    for loss in LOSSES:
        few = SignedProblem(X[kept], signs[kept])
        whole, _ = solve(
            method, MachineProblem(SignedProblem(wild, signs), 1.0 * kept, loss), tol=1e-12
        )
        part, _ = solve(method, MachineProblem(few, np.ones(20), loss), tol=1e-12)
        assert_allclose(whole.w, part.w, rtol=1e-6, atol=1e-9)
    nothing, status = solve(
        method, MachineProblem(SignedProblem(X, signs), np.zeros(30), LOGISTIC), tol=1e-6
    )
    assert status is Status.OPTIMAL
    assert not nothing.w.any()


@EVERY_WAY
@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_goes_on_from_a_claim(method, loss):
    given = machine(19, loss, C=1.0, weights=np.ones(len(problem(19).X)))
    cold, _ = solve(method, given, tol=1e-9)
    warm, status = solve(method, given, tol=1e-8, first=(cold.w, cold.alpha))
    assert status is Status.OPTIMAL
    assert warm.updates == 0
    from_alpha, status = solve(method, given, tol=1e-8, first=(None, cold.alpha))
    assert status is Status.OPTIMAL
    assert from_alpha.updates <= cold.updates
    assert_allclose(from_alpha.w, cold.w, rtol=1e-3, atol=1e-4)


@EVERY_WAY
def test_maximum_likelihood(method):
    for seed in cases(20):
        rng = np.random.default_rng(seed)
        X, signs = rng.normal(size=(80, 4)), rng.choice([-1.0, 1.0], size=80)
        X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(80, 3.0)])  # no unique maximum
        weights = rng.choice([0.0, 1.0, 2.5], size=80)
        rows = SignedProblem(X, signs)
        given = MachineProblem(rows, weights, LOGISTIC, ridge=0.0)
        state, status = solve(method, given, 100, tol=1e-12)
        assert status is Status.OPTIMAL
        alpha = weights / (1.0 + np.exp(rows.margins(state.w)))
        assert np.abs((signs * alpha) @ np.column_stack([np.ones(80), X])).max() <= 1e-5
        best = given.primal(naive.logistic(X, signs, weights, ridge=0.0))
        assert_allclose(state.primal, best, rtol=1e-9)


@EVERY_WAY
def test_budget_of_passes_ends_a_run_with_its_gap(method):
    given = machine(2, LOGISTIC, C=100.0)
    state, status = solve(method, given, tol=1e-12, max_passes=4)
    assert status is Status.BUDGET
    assert state.gap > 1e-12
    assert_claims_hold(state)


@EVERY_WAY
def test_what_newton_cannot_do_is_refused(method):
    rows = SignedProblem(np.eye(2), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="needs a loss with a slope"):
        method.start(MachineProblem(rows, np.ones(2), HINGE), tol=1e-4)
    with pytest.raises(ValueError, match="finite costs"):
        method.start(MachineProblem(rows, np.full(2, np.inf), LOGISTIC), tol=1e-4)


def test_a_constant_column_of_any_size_changes_nothing_but_the_bias():
    """A sum over its rows rounds by more than all the rest: the free bias makes it superfluous."""
    for seed in cases(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.2)
        signs = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0.0, 1.0, -1.0)
        signs[:2] = 1.0, -1.0
        wide = np.column_stack([X, np.full(60, 3e13)])
        for loss in LOSSES:
            for make in (np.array, as_sparse):
                found = []
                for data in (X, wide):
                    rows = SignedProblem(make(data), signs)
                    state = newton.start(MachineProblem(rows, np.ones(60), loss), tol=1e-9)
                    assert newton.advance(state, 50) is Status.OPTIMAL
                    found.append(state)
                assert_allclose(found[0].primal, found[1].primal, rtol=1e-8)
                assert found[1].w[-1] == 0.0


def test_a_bias_whose_square_is_no_float():
    """It costs nothing, and the fit ended in an `OverflowError`."""
    rows = SignedProblem(np.eye(2), np.array([1.0, -1.0]))
    state = newton.start(MachineProblem(rows, np.ones(2), LOGISTIC), tol=1e-4)
    state.w[0] = 1e161
    smooth.evaluate(state)
    assert np.isfinite(state.primal)
