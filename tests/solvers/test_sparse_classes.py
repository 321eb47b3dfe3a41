"""The solver of sparse multinomial models agrees with the slow one, by its matrix and without."""

import numpy as np
import pytest
from tests.amounts import cases
from tests.naive import sparse_softmax as naive
from tests.sparse_class_problems import drawn, posed

from separatrix.solvers.running.drive import Status
from separatrix.solvers.sparse import class_working_set


def solved(case, tol=1e-9, sparse=False, first=None):
    state = class_working_set.start(posed(*case, sparse=sparse), tol=tol, first=first)
    return state, class_working_set.advance(state, 100)


def least(case, most=20_000):
    X, codes, costs, K, ratio, intercept, groups = case
    given = X, codes, costs, K, ratio, 1.0 - ratio, intercept
    return naive.proximal_gradient(*given, most, groups=groups)


@pytest.mark.parametrize("sparse", [False, True])
def test_it_agrees_with_proximal_gradient(sparse):
    for number in cases(60):
        seed = number + 1000 * sparse
        X, codes, costs, _, ratio, _, groups = case = drawn(seed)
        state, status = solved(case, sparse=sparse)
        assert status is Status.OPTIMAL, seed
        given = X, codes, costs, ratio, 1.0 - ratio
        value = naive.objective(*given, state.W, state.bias, groups)
        assert value == pytest.approx(state.primal, rel=1e-12)
        other = naive.objective(*given, *least(case, 1500), groups)
        assert value <= other * (1.0 + 1e-8), seed
        assert state.dual <= other * (1.0 + 1e-12), seed
        assert abs(state.W.sum(axis=1)).max() <= 1e-8 * (1.0 + abs(state.W).max())


def test_without_the_matrix_it_finds_the_same(monkeypatch):
    monkeypatch.setattr(class_working_set, "_MOST_UNKNOWN", 0)
    for seed in cases(40):
        case = drawn(seed)
        state, status = solved(case, sparse=bool(seed % 2))
        assert status is Status.OPTIMAL, seed
        monkeypatch.setattr(class_working_set, "_MOST_UNKNOWN", 10**6)
        other, _ = solved(case)
        monkeypatch.setattr(class_working_set, "_MOST_UNKNOWN", 0)
        assert state.primal == pytest.approx(other.primal, rel=3e-9), seed


def test_the_conditions_of_the_optimum_hold():
    for seed in (0, 7, 14, 22, 26):
        X, codes, costs, _, ratio, intercept, groups = case = drawn(seed)
        state, _ = solved(case, tol=1e-13)
        given = X, codes, costs, ratio, 1.0 - ratio, state.W, state.bias
        assert naive.violation(*given, intercept, groups) < 1e-5, seed


def test_many_columns_few_of_which_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 400))
    codes = (X[:, :3] * 2.0 + rng.gumbel(size=(60, 3))).argmax(axis=1)
    case = X, codes, np.full(60, 0.3), 3, 1.0, True, None
    state, status = solved(case, tol=1e-7)
    assert status is Status.OPTIMAL
    assert len(state.memory.columns.numbers) < 200  # the others are proved zero on the way
    assert 0 < np.count_nonzero(state.W.any(axis=1)) < 60


def test_budgets_of_one_are_one_run():
    case = drawn(4)
    whole, _ = solved(case)
    steps = class_working_set.start(posed(*case), tol=1e-9)
    while class_working_set.advance(steps, 1) is None:
        pass
    assert steps.weights.tobytes() == whole.weights.tobytes()


def test_it_starts_where_it_is_told():
    case = drawn(24)
    state, _ = solved(case)
    assert state.updates > 0
    again, status = solved(case, tol=1e-8, first=state.weights)
    assert status is Status.OPTIMAL
    assert again.updates == 0


def test_one_heavy_row_among_light_ones():
    """Curvatures are nearly 0 at the optimum; a floor under them made the steps too short."""
    x = [9.5e-22, 1.0e-8, 3.4e-14, 2.5e7, 1.4e-10, 40.0, 5.1e6, 3.2e-5, -1.3e-23]
    codes = np.array([1, 1, 1, 0, 2, 2, 2, 1, 0])
    costs = 1.5e-6 * np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1e12, 0.0])
    case = np.array(x)[:, None], codes, costs, 3, 1.0, True, None
    first = np.array([[-9.2, 0.0], [18.4, 0.0], [-9.2, 0.0]])  # from a smaller C
    state = class_working_set.start(posed(*case), tol=1e-9, first=first)
    assert class_working_set.advance(state, 100) is Status.OPTIMAL


NEARLY_CONSTANT = np.array([[999999.998, 1000000.969], [999999.941, 1000000.556]])[[0, 1, 0]]


def test_nearly_constant_columns_keep_their_weights():
    """All digits of their spread are lost; a length of 0 made every weight dust, at any size."""
    costs = np.array([1.2e9, 1.2e2, 0.2])
    state = class_working_set.start(
        posed(NEARLY_CONSTANT, np.arange(3), costs, 3, 1.0, True, None), tol=1e-3
    )
    class_working_set.advance(state, 100)
    kept = class_working_set.without_dust(state)
    assert abs(kept[:, 1:]).max() == abs(state.W).max() > 0.0


def test_a_first_point_worse_than_none_is_not_taken():
    case = posed(NEARLY_CONSTANT, np.arange(3), np.array([5e10, 5e3, 8.0]), 3, 1.0, True, None)
    first = np.array([[-3e7, 0.0, 0.0], [3e7, 0.0, 0.0], [0.0, 0.0, 0.0]])
    state = class_working_set.start(case, tol=1e-6, first=first)
    assert state.primal <= case.costs.sum() * np.log(3)
    assert class_working_set.advance(state, 100) is Status.OPTIMAL
