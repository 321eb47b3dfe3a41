"""Passes give way where another solver would be there sooner, and only there."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import COMPILED_ONLY

import separatrix as sx
from separatrix.problem.losses import HINGE, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import choose
from separatrix.solvers.linear.choose import Plan, Watch, plan


def looks(watch, gaps):
    """Return after how many passes the watch gives up; None where it does not."""
    for passes, gap in gaps:
        if passes >= watch.next and not watch.is_worth_it(passes, gap):
            return passes
    return None


def test_a_gap_that_falls_fast_enough_is_waited_for():
    assert looks(Watch(60.0, 1e-6), [(p, 0.4**p) for p in range(1, 15)]) is None


@pytest.mark.parametrize("rate", [1.0, 0.98])
def test_a_gap_that_hardly_falls_is_given_up_early(rate):
    gone = looks(Watch(60.0, 1e-6), [(p, rate**p) for p in range(1, 300)])
    assert 8 <= gone <= 15


def test_where_the_price_is_not_known_passes_are_patient():
    assert looks(Watch(np.inf, 1e-6), [(p, 1.0) for p in range(1, 400)]) == 300


def test_a_dearer_solver_is_gone_over_to_later():
    slow = [(p, 0.9**p) for p in range(1, 131)]  # then 1e-6 is reached
    assert looks(Watch(20.0, 1e-6), slow) < 14
    assert looks(Watch(1_000.0, 1e-6), slow) is None


def drawn(reach, n=3_000, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + 3.0 * rng.normal(size=n) > 0.0).astype(int)
    return X, y, reach / d


@COMPILED_ONLY
def test_auto_begins_with_passes_and_ends_with_a_proof_whichever_it_takes():
    solvers = set()
    for reach in (0.01, 1.0, 280.0):
        X, y, C = drawn(reach)
        model = sx.LinearSVM(C=C, tol=1e-6).fit(X, y)
        assert model.gap_ <= 1e-6
        solvers.add(model.solver_)
        other = sx.LinearSVM(C=C, tol=1e-6, solver="interior_point").fit(X, y)
        assert model.objective_ == pytest.approx(other.objective_, rel=2e-6)
    assert solvers == {"dual_coordinate", "interior_point"}


@COMPILED_ONLY
def test_passes_of_a_solver_that_was_given_up_are_counted():
    X, y, C = drawn(280.0)
    auto = sx.LinearSVM(C=C, tol=1e-6).fit(X, y)
    alone = sx.LinearSVM(C=C, tol=1e-6, solver="interior_point").fit(X, y)
    assert auto.solver_ == "interior_point"
    assert np.max(auto.n_passes_) > np.max(alone.n_passes_)


@COMPILED_ONLY
def test_the_same_problem_takes_the_same_way():
    X, y, C = drawn(280.0)
    first, second = (sx.LinearSVM(C=C, tol=1e-6).fit(X, y) for _ in range(2))
    assert first.solver_ == second.solver_
    assert (first.coef_ == second.coef_).all()
    assert first.n_passes_ == second.n_passes_


def test_max_passes_holds_whatever_the_watch_says():
    X, y, C = drawn(1.0)
    with pytest.warns(ConvergenceWarning):
        model = sx.LinearSVM(C=C, tol=1e-12, max_passes=3).fit(X, y)
    assert np.max(model.n_passes_) < 5


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_plans_of_ugly_problems(loss):
    rng = np.random.default_rng(0)
    for X in (np.zeros((3, 2)), rng.normal(size=(500, 50)) * 1e200, sp.csr_array((4_000, 70))):
        signs = np.where(np.arange(X.shape[0]) % 2, 1.0, -1.0)
        for cost in (1e-300, 1.0, 1e300, np.inf):
            found = plan(MachineProblem(SignedProblem(X, signs), np.full(X.shape[0], cost), loss))
            assert found.price > 0.0


@pytest.mark.parametrize(("share", "solver"), [(0.4, "interior_point"), (0.01, "dual_coordinate")])
def test_where_a_class_is_rare_passes_are_tried(share, solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 6))
    signs = np.where(rng.random(len(X)) < share, 1.0, -1.0)
    found = plan(MachineProblem(SignedProblem(X, signs), np.full(len(X), 5.0), HINGE))
    assert found.solver == solver
    assert found.other == ("interior_point" if solver == "dual_coordinate" else None)


def test_the_trial_is_a_share_of_the_price():
    late = [(p, 1.0 if p < 12 else 0.5 ** (p - 11)) for p in range(1, 60)]
    assert looks(Watch(30.0, 1e-6), late) is not None
    assert looks(Watch(90.0, 1e-6), late) is None


def test_the_nearer_the_optimum_the_less_the_other_solver_costs():
    """A tenth in ten passes: 30 more are needed. The price from here is half the whole."""
    for price, is_kept in ((30.0, False), (50.0, True)):
        watch = Watch(price, 1e-6)
        assert watch.is_worth_it(5.0, 1e-2)
        assert watch.is_worth_it(15.0, 1e-3) is is_kept


def test_a_gap_near_one_that_begins_to_move_is_waited_for():
    """From 0.99 to 0.7 the gap has hardly fallen, but its odds are 40 times less."""
    watch = Watch(40.0, 1e-6)
    assert watch.is_worth_it(5.0, 0.99)
    assert watch.is_worth_it(10.0, 0.7)
    assert not watch.is_worth_it(20.0, 0.699)


def test_a_gap_that_is_only_hoped_for_is_not_waited_for_for_ever():
    watch = Watch(20.0, 1e-6)
    hoped = [watch.is_worth_it(passes, gap) for passes, gap in ((4, 1e-8), (12, 1e-9), (30, 1e-10))]
    assert hoped == [True, False, False]


def test_updates_of_few_rows_count_as_work():
    """Passes by count hardly grow, but every update costs: looks come in time."""
    plan_ = Plan("dual_coordinate", "interior_point", 30.0, fixed=0.5)
    assert plan_.work(4.0, 4) == 4.0
    assert plan_.work(4.0, 40) == 22.0
    watch = Watch(30.0, 1e-6)
    watch.is_worth_it(4.0, 0.5, 4.0)
    assert not watch.is_worth_it(5.0, 0.4, 40.0)
    assert watch.next == pytest.approx(5.0 + 0.25 * 40.0 / 36.0)


@COMPILED_ONLY
def test_two_solvers_take_turns_where_neither_ends_soon(monkeypatch):
    """Few rows count and C is large: conjugate gradients need thousands of passes."""
    monkeypatch.setattr(choose, "_NEWTON", 1.0)  # far less than it costs
    rng = np.random.default_rng(0)
    n, d, entries = 3_000, 400, 10
    common = np.arange(1, d + 1) ** -0.7
    values = rng.lognormal(0.0, 1.0, n * entries)
    columns = rng.choice(d, n * entries, p=common / common.sum())
    X = sp.csr_array((values, (np.repeat(np.arange(n), entries), columns)), shape=(n, d))
    X.sum_duplicates()
    scores = X @ rng.normal(size=d)
    y = (scores > np.quantile(scores, 0.97)).astype(int)
    model, newton = (
        sx.LinearSVM(10.0, loss="squared_hinge", tol=1e-6, solver=solver).fit(X, y)
        for solver in ("auto", "newton")
    )
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(newton.objective_, rel=2e-6)
    assert model.solver_ == "dual_coordinate"
    assert 120 < model.n_passes_ < 0.5 * newton.n_passes_


def wide(n, d, seed=0):
    """Return sparse rows of length 1, and labels with noise."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, d, n * 8)
    X = sp.csr_array((rng.random(n * 8), (np.repeat(np.arange(n), 8), columns)), shape=(n, d))
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    scores = X @ rng.normal(size=d)
    return X, np.where(scores + scores.std() * rng.normal(size=n) > 0.0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("n", "cost", "solver", "other"),
    [
        (13_000, 1.0, "newton", None),
        (13_000, 100.0, "dual_coordinate", "newton"),
        (2_900, 5.0, "dual_coordinate", "newton"),  # rows are fewer than columns
    ],
)
def test_wide_sparse_rows_with_the_squared_hinge(n, cost, solver, other):
    X, signs = wide(n, 3_000)
    problem = MachineProblem(SignedProblem(X, signs), np.full(n, cost), SQUARED_HINGE)
    found = plan(problem)
    assert (found.solver, found.other) == (solver, other)
    if other == "newton":
        dearer = MachineProblem(SignedProblem(X, signs), np.full(n, 10 * cost), SQUARED_HINGE)
        assert 17.0 < found.price < plan(dearer).price < np.inf
    hinge = plan(MachineProblem(SignedProblem(X, signs), np.full(n, cost), HINGE))
    assert (hinge.solver, hinge.other) == ("dual_coordinate", None)


def test_the_price_of_newtons_method_has_a_limit():
    """Columns that are not scaled may make C |x|^2 huge, but Newton's method no dearer."""
    X, signs = wide(12_000, 3_000)
    prices = [
        plan(MachineProblem(SignedProblem(X, signs), np.full(12_000, cost), SQUARED_HINGE)).price
        for cost in (1e6, 1e9)
    ]
    assert prices[0] == prices[1] < 200.0


def test_fewer_rows_make_newtons_method_dearer():
    """Steps by conjugate gradients take longer where nearly all rows can be fitted."""
    X, signs = wide(12_000, 3_000)
    prices = [
        plan(
            MachineProblem(SignedProblem(X[:n], signs[:n]), np.full(n, 100.0), SQUARED_HINGE)
        ).price
        for n in (12_000, 6_000, 3_000)
    ]
    assert prices[1:] == pytest.approx([2.0 * prices[0], 4.0 * prices[0]], rel=0.05)


@COMPILED_ONLY
def test_on_wide_noisy_rows_passes_give_way_to_newton(monkeypatch):
    monkeypatch.setattr(choose, "_MODEST", 100)  # fewer columns, as if they were many
    X, signs = wide(1_000, 200)
    model = sx.LinearSVM(100.0, loss="squared_hinge", tol=1e-6).fit(X, signs)
    passes = sx.LinearSVM(100.0, loss="squared_hinge", tol=1e-6, solver="dual_coordinate")
    assert (model.solver_, passes.fit(X, signs).solver_) == ("newton", "dual_coordinate")
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(passes.objective_, rel=2e-6)
    monkeypatch.setattr(choose, "_NEWTON", 1_000.0)  # now it costs too much
    alone = sx.LinearSVM(100.0, loss="squared_hinge", tol=1e-6).fit(X, signs)
    assert alone.solver_ == "dual_coordinate"
