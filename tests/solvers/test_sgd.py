import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.naive import sgd as naive
from tests.problems import as_sparse, problem

from separatrix.problem.signed import KeslerProblem, SignedProblem
from separatrix.solvers.updates import sgd
from separatrix.solvers.updates.sgd_rows import WEALTH, WEIGHT

LOSSES = ["hinge", "squared_hinge", "logistic", "perceptron"]
SENSIBLE = [
    "comfortable_margin",
    "overlapping_gaussians",
    "integer_grid",
    "opposite_duplicates",
    "constant_columns",
    "zero_rows",
    "zero_columns",
    "mostly_zero",
    "copied_columns",
]


def one_pass(X, signs, scores=None, **settings):
    rows = SignedProblem(X, signs, settings.pop("intercept", True))
    state = sgd.start(rows, order="cyclic", **settings)
    sgd.learn(state, 0, len(signs), scores)
    return state


@pytest.mark.parametrize("loss", LOSSES)
def test_agrees_with_the_naive_stream(loss):
    compared = 0
    for seed in cases(400):
        case = problem(seed, SENSIBLE[seed % len(SENSIBLE)])
        rng = np.random.default_rng(seed)
        weights = rng.choice([0.25, 1.0, 2.0, 3.5], size=len(case.X)) if seed % 3 == 0 else None
        C, intercept, scaled = [np.inf, 1.0, 0.1][seed // 2 % 3], seed % 5 != 0, seed % 7 != 0
        slow = naive.Stream(case.X.shape[1], loss, C, intercept, scaled)
        each = np.ones(len(case.X)) if weights is None else weights
        thought = [slow.learn(*row) for row in zip(case.X, case.y_signs, each, strict=True)]
        if slow.nearest_kink < 1e-9 and loss in ("hinge", "perceptron"):
            continue  # at a kink, rounding decides
        compared += 1
        X = as_sparse(case.X, np.int32) if seed % 2 else case.X
        scores = np.zeros((1, len(case.X)))
        state = one_pass(
            X, case.y_signs, scores, loss=loss, cost=C, weights=weights, scaled=scaled,
            intercept=intercept,
        )  # fmt: skip
        assert_allclose(scores[0], thought, rtol=1e-7, atol=1e-10)
        assert_allclose(state.w, slow.weights, rtol=1e-7, atol=1e-10)
        assert_allclose(state.answer, slow.mean, rtol=1e-7, atol=1e-10)
    assert compared > 0.5 * len(cases(400))


def test_the_second_pass_agrees_too():
    case = problem(3, "overlapping_gaussians")
    slow = naive.Stream(case.X.shape[1], "logistic", C=2.0)
    for again in (False, True, True):
        for row in zip(case.X, case.y_signs, strict=True):
            slow.learn(*row, again=again)
    rows = SignedProblem(case.X, case.y_signs)
    state = sgd.start(rows, loss="logistic", cost=2.0, order="cyclic", max_passes=3)
    assert sgd.advance(state, 10**9) == "budget"
    assert state.passes == 3.0
    assert_allclose(state.w, slow.weights, rtol=1e-9)
    assert_allclose(state.answer, slow.mean, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_of_columns_changes_no_score(loss):
    for seed in cases(60):
        case = problem(seed, "overlapping_gaussians")
        powers = np.random.default_rng(seed).integers(-26, 27, size=case.X.shape[1])
        plain, scaled = np.zeros((2, 1, len(case.X)))
        one_pass(case.X, case.y_signs, plain, loss=loss, cost=0.5)
        one_pass(np.ldexp(case.X, powers), case.y_signs, scaled, loss=loss, cost=0.5)
        assert np.array_equal(plain, scaled)  # powers of two: to the last bit
        tens = 10.0 ** np.random.default_rng(seed).integers(-8, 9, size=case.X.shape[1])
        if loss == "logistic":
            one_pass(case.X, case.y_signs, plain, loss=loss, cost=np.inf)
            one_pass(case.X * tens, case.y_signs, scaled, loss=loss, cost=np.inf)
            assert_allclose(plain, scaled, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_is_so_many_copies_one_after_another(loss):
    for seed in cases(60):
        case = problem(seed, SENSIBLE[seed % len(SENSIBLE)])
        weights = np.random.default_rng(seed).integers(1, 5, size=len(case.X))
        weighted = one_pass(case.X, case.y_signs, loss=loss, weights=weights.astype(float))
        copied = one_pass(case.X.repeat(weights, axis=0), case.y_signs.repeat(weights), loss=loss)
        assert np.array_equal(weighted.w, copied.w)
        assert np.array_equal(weighted.answer, copied.answer)


def test_passes_do_not_see_how_rows_stand():
    for seed in cases(60):
        case = problem(seed, SENSIBLE[seed % len(SENSIBLE)])
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 4, size=len(case.X))
        mixed = rng.permutation(np.repeat(np.arange(len(case.X)), weights))
        first = sgd.start(SignedProblem(case.X, case.y_signs), weights=weights, max_passes=3)
        X = as_sparse(case.X[mixed], np.int32) if seed % 2 else case.X[mixed]
        second = sgd.start(SignedProblem(X, case.y_signs[mixed]), max_passes=3)
        for state in (first, second):
            sgd.advance(state, 10**9)
        assert np.array_equal(first.answer, second.answer)


def test_many_classes_are_one_machine_each_against_the_rest():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), rng.integers(0, 3, size=60)
    together = sgd.start(KeslerProblem(X, codes, 3), order="cyclic")
    scores = np.zeros((3, 60))
    sgd.learn(together, 0, 60, scores)
    for k in range(3):
        alone = np.zeros((1, 60))
        state = one_pass(X, np.where(codes == k, 1.0, -1.0), alone)
        assert np.array_equal(together.memory.slots[:, k], state.memory.slots[:, 0])
        assert np.array_equal(scores[k], alone[0])


def test_no_bet_loses_more_than_half():
    for seed in cases(40):
        case = problem(seed, "overlapping_gaussians")
        state = sgd.start(SignedProblem(case.X, case.y_signs), order="cyclic", cost=np.inf)
        for row in range(len(case.X)):
            before = state.memory.slots.copy()
            sgd.learn(state, row, row + 1)
            wealth = state.memory.slots[:, :, WEALTH]
            assert (wealth >= np.minimum(0.5 * before[:, :, WEALTH], 1e-3) - 1e-12).all()
            assert (wealth >= 0.5 * before[:, :, WEALTH] - 1e-12).all() or (wealth == 1e-3).any()
        assert np.isfinite(state.w).all()


def test_a_wider_memory_knows_nothing_of_the_new():
    case = problem(1, "overlapping_gaussians")
    X = np.column_stack([case.X, np.zeros((len(case.X), 2))])
    narrow = one_pass(case.X, case.y_signs, cost=np.inf)
    wide = one_pass(X, case.y_signs, cost=np.inf)
    grown = sgd.widened(narrow.memory, X.shape[1], scaled=True)
    assert np.array_equal(grown.slots, wide.memory.slots)
    assert np.array_equal(grown.sums, wide.memory.sums)
    assert (grown.slots[-2:, :, WEIGHT] == 0.0).all()


def test_a_packed_memory_is_the_same_memory():
    X = np.zeros((20, 50))
    X[:, 7] = np.arange(20) - 9.5
    for average in (False, True):
        memory = one_pass(X, np.sign(X[:, 7]), average=average).memory
        parts = sgd.packed(memory)
        assert len(parts[0]) == 2  # the bias and one feature
        again = sgd.unpacked(parts)
        for ours, theirs in zip(memory[:3], again[:3], strict=True):
            assert np.array_equal(ours, theirs)


def test_columns_beyond_reach_are_taken_as_zero():
    X = np.array([[1.0, 1e-200], [-1.0, -1e-200], [2.0, 1e-160]])
    state = one_pass(X, np.array([1.0, -1.0, 1.0]))
    assert np.isfinite(state.w).all()
    assert state.w[2] == 0.0
