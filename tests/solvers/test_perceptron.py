import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import COMPILED_ONLY, cases
from tests.naive import perceptron as naive
from tests.problems import as_sparse, problem
from tests.solvers.runs import same_until_a_tie

from separatrix.problem.signed import KeslerProblem, SignedProblem
from separatrix.solvers.running.drive import Status, go_on, replay, solve
from separatrix.solvers.updates import perceptron

SETTINGS = [
    {},
    {"rate": 0.25},
    {"order": "worst"},
    {"update": "batch"},
    {"update": "minibatch", "batch_size": 3},
    {"update": "batch", "decay": 0.5},
    {"decay": 1.0},
]
BUDGET = 25


def naive_settings(settings, n):
    given = {k: v for k, v in settings.items() if k in ("rate", "decay", "order")}
    sizes = {"single": 1, "minibatch": settings.get("batch_size", 32), "batch": n}
    return {**given, "batch_size": sizes[settings.get("update", "single")]}


def test_agrees_with_the_naive_rule_on_generated_problems():
    same = 0
    for seed in cases(10_000):
        case = problem(seed)
        settings = SETTINGS[seed // 17 % len(SETTINGS)]
        X = as_sparse(case.X, np.int32) if seed % 2 else case.X
        Z = case.signed_rows()
        with np.errstate(all="ignore"):
            frames = list(replay(perceptron, SignedProblem(X, case.y_signs), BUDGET, **settings))
            run = naive.perceptron(Z, max_updates=BUDGET, **naive_settings(settings, len(Z)))
        ours = [frame.weights for frame in frames[1:]]
        if same_until_a_tie(
            Z, np.zeros(Z.shape[1]), ours, run.history, worst_first="order" in settings
        ):
            same += 1
            if np.isfinite(run.w).all():
                assert (frames[-1].status is Status.SEPARATED) == run.separated
    assert same >= 0.9 * len(cases(10_000))


def test_counts_visits_as_the_naive_rule_does():
    for seed in cases(1000):
        case = problem(seed, kind="separable_integers")
        Z = case.signed_rows()
        run = naive.perceptron(Z, max_updates=100_000)
        state, status = solve(perceptron, SignedProblem(case.X, case.y_signs), average=True)
        assert status is Status.SEPARATED
        assert run.separated
        assert state.updates == run.updates
        assert round(state.passes * len(Z)) == run.visits
        assert_allclose(state.w, run.w, atol=0)
        assert_allclose(state.average, run.average, rtol=1e-9, atol=1e-9)
        assert state.bound == pytest.approx(
            np.linalg.norm(run.w) / run.mass if run.mass else np.inf
        )


def test_every_weight_in_the_pocket_is_the_best_so_far():
    for seed in cases(300):
        case = problem(seed, kind="overlapping_gaussians")
        Z = case.signed_rows()
        best, _ = naive.pocket(Z, max_updates=60)
        state, _ = solve(perceptron, SignedProblem(case.X, case.y_signs), 60, pocket="every")
        assert state.errors == best
        ratchet, _ = solve(perceptron, SignedProblem(case.X, case.y_signs), 60, pocket=True)
        honest = int((Z @ ratchet.answer <= 0).sum())
        assert ratchet.errors == honest
        plain, _ = solve(perceptron, SignedProblem(case.X, case.y_signs), 60)
        assert honest <= max(plain.errors, len(Z))


@COMPILED_ONLY
def test_the_ratchet_tests_few_weights_and_finds_good_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0, 1.0, -1.0)
    problem = SignedProblem(X, signs)
    state, status = solve(perceptron, problem, 3000, order="random", pocket=True)
    assert status is Status.BUDGET
    every, _ = solve(perceptron, problem, 3000, order="random", pocket="every")
    assert every.errors <= state.errors <= 1.5 * every.errors


def test_many_classes_follow_the_naive_rule_on_kesler_rows():
    for seed in cases(600):
        rng = np.random.default_rng(seed)
        n, d, k = rng.integers(2, 12), rng.integers(1, 5), rng.integers(3, 6)
        X = rng.integers(-4, 5, size=(n, d)).astype(float)
        codes = rng.integers(0, k, size=n)
        Z = naive.kesler_rows(X, codes, k)
        problem = KeslerProblem(as_sparse(X, np.int32) if seed % 2 else X, codes, k)
        settings = SETTINGS[seed % 5]
        frames = list(replay(perceptron, problem, 30, **settings))
        run = naive.perceptron(Z, max_updates=30, **naive_settings(settings, len(Z)))
        for frame, w in zip(frames[1:], run.history, strict=True):
            assert_allclose(frame.weights, w, atol=1e-12)


def test_random_order_is_seeded_and_separates():
    for seed in cases(200):
        case = problem(seed, kind="comfortable_margin")
        signed = SignedProblem(case.X, case.y_signs)
        one, status = solve(perceptron, signed, order="random", seed=seed)
        two, _ = solve(perceptron, signed, order="random", seed=seed)
        assert status is Status.SEPARATED
        assert (signed.margins(one.w) > 0).all()
        assert np.array_equal(one.w, two.w)


def test_a_clean_stretch_over_two_shuffles_is_not_taken_for_a_clean_pass():
    """The rows of two half passes need not be all rows."""
    for seed in cases(3000):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, size=(3, 1)).astype(float)
        problem = SignedProblem(X, rng.choice([-1.0, 1.0], size=3))
        state, status = solve(perceptron, problem, 40, order="random", seed=seed, rate=2.0)
        if status is Status.SEPARATED:
            assert (problem.margins(state.w) > 0).all()


def test_stops_after_patience_without_a_better_pocket():
    case = problem(5, kind="opposite_duplicates")
    signed = SignedProblem(case.X, case.y_signs)
    state, status = solve(perceptron, signed, pocket="every", patience=50)
    assert status is Status.PATIENCE
    assert state.updates >= 50


def test_stops_when_the_loss_settles_or_the_passes_are_spent():
    case = problem(3, kind="opposite_duplicates")
    signed = SignedProblem(case.X, case.y_signs)
    state, status = solve(perceptron, signed, update="batch", tol=0.5, decay=1.0)
    assert status is Status.SETTLED
    state, status = solve(perceptron, signed, max_passes=3)
    assert status is Status.BUDGET
    assert state.passes == 3.0


def test_more_budget_goes_on_where_the_last_ended():
    case = problem(0, kind="overlapping_gaussians")
    signed = SignedProblem(case.X, case.y_signs)
    whole, _ = solve(perceptron, signed, 90, order="random", pocket=True, average=True)
    parts, _ = solve(perceptron, signed, 40, order="random", pocket=True, average=True)
    go_on(perceptron, parts, 50)
    assert np.array_equal(whole.w, parts.w)
    assert np.array_equal(whole.average, parts.average)


def test_reports_weights_that_overflow():
    X = np.array([[1e308], [-1e308], [1e308]])
    with np.errstate(all="ignore"):
        _, status = solve(perceptron, SignedProblem(X, np.array([1.0, 1.0, -1.0])), rate=10.0)
    assert status is Status.OVERFLOW
