"""KernelSVM(multi_class="direct") against a quadratic program, the linear machine and its proof."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from tests.amounts import cases
from tests.naive import kernel_direct as naive
from tests.problems import as_sparse
from tests.problems_many import many

import separatrix as sx
from separatrix._compiled import is_interpreted

by_compiled_loops = pytest.mark.skipif(
    is_interpreted(), reason="hundreds of chunks; the smaller problems here go the same way"
)
SETTINGS = {
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
    "linear": {"kernel": "linear"},
}


def direct(C=1.0, **settings):
    return sx.KernelSVM(C, multi_class="direct", **settings)


def posed(seed):
    X, codes, n_classes, weights, C = many(seed, most_rows=16)
    return X / max(1.0, abs(X).max() / 3.0), codes, n_classes, weights, C


@pytest.mark.long
@pytest.mark.parametrize("name", list(SETTINGS))
def test_the_objective_is_that_of_the_quadratic_program(name):
    for seed in cases(30):
        X, codes, n_classes, weights, C = posed(seed)
        data = as_sparse(X) if seed % 2 else X
        machine = direct(C, tol=1e-6, **SETTINGS[name]).fit(data, codes, weights)
        least = naive.optimum(machine.kernel_.block(X, X), codes, n_classes, C * weights)
        assert machine.status_ == "optimal"
        assert machine.certificate_.check(data, codes)
        assert machine.dual_objective_ <= least * (1.0 + 1e-7) + 1e-9
        assert machine.objective_ >= least * (1.0 - 1e-7) - 1e-9
        assert_allclose(machine.objective_, least, rtol=2e-6, atol=1e-9)


@by_compiled_loops
def test_a_linear_kernel_is_the_linear_machine():
    X, y = load_iris(return_X_y=True)
    ours = direct(kernel="linear", tol=1e-8).fit(X, y)
    linear = sx.LinearSVM(multi_class="direct", tol=1e-8).fit(X, y)
    assert_allclose(ours.objective_, linear.objective_, rtol=1e-7)
    scores = [machine.decision_function(X) for machine in (ours, linear)]
    scores = [each - each.mean(axis=1, keepdims=True) for each in scores]
    assert_allclose(scores[0], scores[1], atol=1e-4)
    assert ours.dual_coef_.shape == (3, len(ours.support_))
    assert ours.intercept_.shape == (3,)


@by_compiled_loops
def test_two_classes_are_the_machine_for_twice_the_cost():
    X, y = make_moons(120, noise=0.3, random_state=0)
    for C in (0.1, 1.0, 10.0):
        both = direct(C, tol=1e-9).fit(X, y)
        one = sx.KernelSVM(2.0 * C, tol=1e-9).fit(X, y)
        assert_allclose(2.0 * both.objective_, one.objective_, rtol=1e-8)
        assert_allclose(both.decision_function(X), one.decision_function(X), atol=1e-5)
        assert both.dual_coef_.shape == (1, len(both.support_))


@pytest.mark.long
@pytest.mark.parametrize("name", list(SETTINGS))
def test_a_weight_is_so_many_copies_and_zero_is_no_row(name):
    for seed in cases(12):
        X, codes, _, _, C = posed(seed)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, size=len(X))
        weights[np.unique(codes, return_index=True)[1]] = 2
        copies = np.repeat(np.arange(len(X)), weights)
        by_weight = direct(C, **SETTINGS[name]).fit(X, codes, weights)
        by_copies = direct(C, **SETTINGS[name]).fit(X[copies], codes[copies])
        assert_allclose(by_copies.objective_, by_weight.objective_, rtol=1e-7, atol=1e-12)
        assert by_weight.certificate_.check(X, codes)
        assert (weights[by_weight.support_] > 0).all()


@by_compiled_loops
def test_one_thread_or_two_make_the_same_bits():
    X, y = load_digits(return_X_y=True)
    one, two = (direct(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.dual_coef_.tobytes() == two.dual_coef_.tobytes()
    assert one.intercept_.tobytes() == two.intercept_.tobytes()


@by_compiled_loops
def test_precomputed_values_and_functions_are_the_same_machine():
    X, y = load_iris(return_X_y=True)
    plain = direct(gamma=0.3, tol=1e-8).fit(X, y)
    K = rbf_kernel(X, gamma=0.3)
    given = direct(kernel="precomputed", tol=1e-8).fit(K, y)
    called = direct(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3), tol=1e-8).fit(X, y)
    for other, data in ((given, K), (called, X)):
        assert_allclose(other.objective_, plain.objective_, rtol=1e-7)
        assert_allclose(other.decision_function(data), plain.decision_function(X), atol=1e-4)
        assert other.certificate_.check(data, y)
        assert "positive" in str(other.certificate_)


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="ten classes of 1,797 rows by plain loops")
def test_ten_classes_in_chunks_are_proved():
    X, y = load_digits(return_X_y=True)
    found = [
        direct(tol=tol, cache_size=size).fit(X, y) for tol, size in ((1e-3, 500.0), (1e-6, 4.0))
    ]
    for machine in found:
        assert machine.status_ == "optimal"
        assert machine.certificate_.check(X, y)
        assert machine.score(X, y) > 0.99
    assert found[1].dual_objective_ <= found[0].objective_
    assert_allclose(found[0].objective_, found[1].objective_, rtol=2e-3)


@by_compiled_loops
def test_columns_on_which_visits_get_nowhere_are_factored():
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)  # raw: up to 1,680 in one column, 0.1 in another
    machine = direct(kernel="linear", tol=1e-5).fit(X, y)
    assert machine.status_ == "optimal"
    linear = sx.LinearSVM(multi_class="direct", tol=1e-8).fit(X, y)
    assert_allclose(machine.objective_, linear.objective_, rtol=2e-5)


@by_compiled_loops
@pytest.mark.parametrize("C", [1e-14, 1e-3, 1e4])
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_any_cost_is_proved(C, name):
    X, y = load_iris(return_X_y=True)
    machine = direct(C, **SETTINGS[name]).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert machine.status_ == "optimal"
    assert machine.objective_ <= C * len(X) * (1.0 + 1e-9)


def test_seven_digits_end_where_they_get_no_further():
    X, y = load_iris(return_X_y=True)
    K = (X @ X.T).astype(np.float32)
    machine = direct(kernel="precomputed").fit(K, y)
    assert machine.status_ == "optimal"
    assert machine.n_passes_ < 500
    assert machine.certificate_.check(K, y)


def test_values_beyond_all_numbers_leave_no_weights():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        machine = direct(kernel="poly", degree=200, gamma=10.0).fit(10.0 * X, y)
    assert machine.status_ == "unproved"
    assert_allclose(machine.objective_, len(X))


def test_a_device_chosen_for_one_leaves_it_on_the_processor():
    from types import SimpleNamespace

    from separatrix.core.kernel_direct import refuse_direct

    cuda, kernel = SimpleNamespace(type="cuda"), SimpleNamespace(name="rbf")
    refuse_direct(SimpleNamespace(C=1.0, kernel_=kernel, device="auto"), cuda)
    with pytest.raises(sx.DeviceError, match="on the processor"):
        refuse_direct(SimpleNamespace(C=1.0, kernel_=kernel, device="cuda"), cuda)


REFUSED = {
    "hard": ({"C": np.inf}, "finite C"),
    "sigmoid": ({"kernel": "sigmoid"}, "positive kernel"),
    "unknown": ({"multi_class": "directly"}, "multi_class must be"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_it_does_not_do_is_said(name):
    settings, words = REFUSED[name]
    X, y = load_iris(return_X_y=True)
    machine = direct().set_params(**settings)
    with pytest.raises(ValueError, match=words):
        machine.fit(X, y)
    assert not hasattr(machine, "dual_coef_")


def test_values_that_are_no_positive_kernel_are_refused():
    X, y = load_iris(return_X_y=True)
    K = -rbf_kernel(X, gamma=0.3)
    with pytest.raises(sx.DataError, match="positive kernel"):
        direct(kernel="precomputed").fit(K, y)


def test_a_budget_ends_with_what_is_proved():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    with pytest.warns(ConvergenceWarning, match="budget"):
        machine = direct(100.0, tol=1e-9, max_seconds=1e-6).fit(X, y)
    assert machine.status_ == "budget"
    assert machine.certificate_.check(X, y)
    assert 0.0 < machine.gap_ <= 1.0


@by_compiled_loops
def test_huge_and_tiny_rows_end_in_words():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    for scale in (1e-150, 1e-30, 1e30, 1e70):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine = direct(kernel="linear").fit(scale * rng.normal(size=(30, 4)), y)
        assert machine.status_ in ("optimal", "unproved")
        assert np.isfinite(machine.dual_coef_).all()


def test_classes_of_one_row():
    X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], ["a", "b", "c"]
    machine = direct(100.0, kernel="linear").fit(X, y)
    assert machine.predict(X).tolist() == y
    assert machine.certificate_.check(X, y)
    assert machine.n_support_.tolist() == [1, 1, 1]


def test_there_is_no_replay_and_that_is_said():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="no replay"):
        list(sx.replay(direct(), X, y))


@by_compiled_loops
def test_c_and_gamma_are_chosen_for_it_too():
    X, y = load_iris(return_X_y=True)
    chosen = sx.KernelSVMCV([0.1, 1.0, 10.0], gammas=[0.1, 1.0], multi_class="direct", cv=3)
    chosen.fit(X, y)
    assert (chosen.path_["gap"] <= 1e-3).all()
    assert chosen.path_["mean_error"].min() < 0.06
    assert chosen.certificate_.check(X, y)
    # One row of the path, fold by fold, from nothing.
    at = 4
    C, gamma = chosen.path_["C"][at], chosen.path_["gamma"][at]
    from sklearn.model_selection import StratifiedKFold

    errors = []
    for train, test in StratifiedKFold(3).split(X, y):
        machine = direct(C, gamma=gamma).fit(X[train], y[train])
        errors.append((machine.predict(X[test]) != y[test]).mean())
    assert_allclose(chosen.path_["mean_error"][at], np.mean(errors), atol=0.021)


@by_compiled_loops
def test_it_is_kept_in_a_file_with_its_proof(tmp_path):
    X, y = load_iris(return_X_y=True)
    machine = direct(10.0).fit(X, y)
    sx.save(machine, tmp_path / "direct.sx")
    back = sx.load(tmp_path / "direct.sx")
    assert (back.decision_function(X) == machine.decision_function(X)).all()
    assert back.certificate_.check(X, y)
    assert back.certificate_.gap == machine.gap_
