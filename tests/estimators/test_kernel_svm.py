"""KernelSVM against SVC, against its proof, and on ugly data."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from tests.amounts import cases
from tests.naive import smo as naive
from tests.problems import as_sparse, problem

import separatrix as sx
from separatrix._compiled import is_interpreted

KINDS = ["overlapping_gaussians", "integer_grid", "duplicate_rows", "mostly_zero", "zero_columns"]
SETTINGS = {
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
    "linear": {"kernel": "linear"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "coef0": -0.2},
}


def posed(seed):
    case = problem(seed, KINDS[seed % len(KINDS)])
    return case.X / max(1.0, abs(case.X).max() / 3.0), case.y_signs


def dual_of(machine, X, share):
    K = machine.kernel_.block(X, X)
    return abs(share).sum() - 0.5 * share @ K @ share


def spread(machine, n):
    share = np.zeros(n)
    share[machine.support_] = machine.dual_coef_[0]
    return share


@pytest.mark.parametrize("name", list(SETTINGS))
def test_the_dual_objective_is_that_of_svc(name):
    for seed in cases(40):
        X, y = posed(seed)
        C = 10.0 ** (seed % 3 - 1)
        data = as_sparse(X) if seed % 2 else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # sigmoid: a stationary point
            machine = sx.KernelSVM(C, tol=1e-8, **SETTINGS[name]).fit(data, y)
        peer = SVC(C=C, tol=1e-8, **SETTINGS[name]).fit(X, y)
        ours = dual_of(machine, X, spread(machine, len(X)))
        theirs = dual_of(machine, X, spread(peer, len(X)))
        assert machine.certificate_.check(data, y)
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
        if name != "sigmoid" or machine.certificate_.is_convex:
            assert machine.status_ == "optimal"
            assert machine.gap_ <= 1e-8
            assert_allclose(machine.dual_objective_, ours, rtol=1e-9, atol=1e-12)
            scores, sure = machine.decision_function(data), 1e-3
            agree = np.sign(scores) == np.sign(peer.decision_function(X))
            assert (agree | (abs(scores) < sure)).all()


# On these another order of pairs ends in another stationary point, by up to nine tenths apart.
MANY_ENDS = [29, 74, 154, 157, 159, 188, 208, 228, 243, 293, 358, 413, 494, 584, 599]


@pytest.mark.parametrize("seed", MANY_ENDS)
def test_of_many_stationary_points_a_sigmoid_finds_that_of_svc(seed):
    case = problem(seed)
    X, y, C = case.X / max(1.0, abs(case.X).max() / 3.0), case.y_signs, 10.0 ** (seed % 5 - 2)
    with pytest.warns(ConvergenceWarning, match="stationary"):
        machine = sx.KernelSVM(C, tol=1e-8, **SETTINGS["sigmoid"]).fit(X, y)
    peer = SVC(C=C, tol=1e-8, **SETTINGS["sigmoid"]).fit(X, y)
    assert machine.certificate_.check(X, y)
    assert not machine.certificate_.is_convex
    duals = [dual_of(machine, X, spread(found, len(X))) for found in (machine, peer)]
    assert_allclose(duals[0], duals[1], rtol=1e-6)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_a_weight_is_so_many_copies_and_zero_is_no_row(name):
    for seed in cases(20):
        X, y = posed(seed)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, size=len(X))
        for sign in (-1.0, 1.0):
            weights[np.flatnonzero(y == sign)[:1]] = 2
        copies = np.repeat(np.arange(len(X)), weights)
        settings = {**SETTINGS[name], "gamma": "scale"}
        by_weight = sx.KernelSVM(tol=1e-9, **settings).fit(X, y, weights)
        by_copies = sx.KernelSVM(tol=1e-9, **settings).fit(X[copies], y[copies])
        assert_allclose(by_copies.objective_, by_weight.objective_, rtol=1e-8)
        assert_allclose(by_copies.decision_function(X), by_weight.decision_function(X), atol=1e-4)
        assert by_weight.certificate_.check(X, y)
        assert (weights[by_weight.support_] > 0).all()


def test_class_weights_are_sample_weights():
    X, y = posed(0)
    by_class = sx.KernelSVM(class_weight={-1.0: 3.0}, tol=1e-9).fit(X, y)
    gamma = by_class.kernel_.gamma
    by_row = sx.KernelSVM(gamma=gamma, tol=1e-9).fit(X, y, np.where(y < 0, 3.0, 1.0))
    assert_allclose(by_class.objective_, by_row.objective_, rtol=1e-9)
    balanced = sx.KernelSVM(class_weight="balanced", tol=1e-9).fit(X, y)
    peer = SVC(class_weight="balanced", tol=1e-9).fit(X, y)
    assert_allclose(balanced.decision_function(X), peer.decision_function(X), atol=1e-4)


def test_precomputed_and_functions_are_the_same_machine():
    X, y = make_moons(60, noise=0.2, random_state=0)
    new = X[:7] + 0.1
    plain = sx.KernelSVM(gamma=1.0, tol=1e-9).fit(X, y)
    given = sx.KernelSVM(kernel="precomputed", tol=1e-9).fit(rbf_kernel(X, gamma=1.0), y)
    called = sx.KernelSVM(kernel=lambda A, B: rbf_kernel(A, B, gamma=1.0), tol=1e-9).fit(X, y)
    expected = plain.decision_function(new)
    K = rbf_kernel(new, X, gamma=1.0)
    assert_allclose(given.decision_function(K), expected, atol=1e-5)
    assert_allclose(called.decision_function(new), expected, atol=1e-5)
    assert given.certificate_.check(rbf_kernel(X, gamma=1.0), y)
    assert called.certificate_.check(X, y)
    assert "no value refuted" in str(given.certificate_)
    assert given.__sklearn_tags__().input_tags.pairwise
    assert not plain.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("way", ["ovo", "ovr"])
def test_several_classes(way):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    machine = sx.KernelSVM(multi_class=way, tol=1e-6).fit(X, names)
    scores = machine.decision_function(X)
    assert scores.shape == (150, 3)
    assert machine.dual_coef_.shape[0] == 3
    assert (machine.classes_[scores.argmax(axis=1)] == machine.predict(X)).all()
    assert (machine.predict(X) == names).mean() > 0.95
    assert machine.certificate_.check(X, names)
    assert machine.n_support_.sum() == len(machine.support_)
    for k, proof in enumerate(machine.certificate_.machines):
        rows = np.isin(y, [proof.positive, proof.negative]) if way == "ovo" else np.full(150, True)
        alone = sx.KernelSVM(gamma=machine.kernel_.gamma, tol=1e-6)
        alone.fit(X[rows], y[rows] == proof.positive)
        assert_allclose(machine.objective_[k], alone.objective_, rtol=1e-5)
    if way == "ovo":
        peer = SVC(tol=1e-6, decision_function_shape="ovo").fit(X, names)
        assert (machine.predict(X) == peer.predict(X)).all()
        assert_allclose(machine._machine_scores(X), -peer.decision_function(X), atol=1e-3)


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="needs more rows than one chunk: too slow interpreted")
def test_more_rows_than_a_chunk_and_threads_change_no_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 4))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=2600) > 0).astype(int)
    peer = SVC(C=5.0, tol=1e-6).fit(X, y)
    found = []
    for jobs in (1, 2, 3):
        machine = sx.KernelSVM(C=5.0, tol=1e-6, n_jobs=jobs).fit(X, y)
        found.append(
            (machine.dual_coef_.tobytes(), machine.intercept_.tobytes(), machine.objective_)
        )
    assert found[0] == found[1] == found[2]
    assert machine.gap_ <= 1e-6
    assert machine.n_passes_ > 3
    theirs = dual_of(machine, X, spread(peer, len(X)))
    assert_allclose(machine.dual_objective_, theirs, rtol=1e-6)
    small = sx.KernelSVM(C=5.0, tol=1e-4, cache_size=1.0).fit(X, y)  # a hundred rows
    assert small.gap_ <= 1e-4
    assert small.certificate_.check(X, y)
    sparse = sx.KernelSVM(C=5.0, tol=1e-4).fit(sp.csr_array(X), y)
    assert_allclose(sparse.dual_objective_, theirs, rtol=1e-4)


@pytest.mark.skipif(is_interpreted(), reason="too many rows")
def test_digits_one_against_one():
    X, y = load_digits(return_X_y=True)
    machine, peer = sx.KernelSVM(tol=1e-4).fit(X, y), SVC(tol=1e-4).fit(X, y)
    assert len(machine.certificate_.machines) == 45
    assert machine.gap_ <= 1e-4
    assert (machine.predict(X) == peer.predict(X)).mean() > 0.999


def test_the_hard_margin_in_the_kernels_space():
    X, y = make_circles(40, factor=0.3, random_state=0)
    machine = sx.KernelSVM(np.inf, kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y)
    margins = np.where(y == 1, 1.0, -1.0) * machine.decision_function(X)
    assert margins.min() >= 1.0 - 1e-3
    assert machine.gap_ <= 1e-3
    assert machine.certificate_.check(X, y)
    with pytest.raises(sx.NotSeparableError, match="hard margin in the kernel's space") as refusal:
        sx.KernelSVM(np.inf, kernel="linear").fit(X, y)
    witness = refusal.value.witness
    assert witness.check(X, y)
    assert witness.margin < 1e-5 * witness.length
    twice, labels = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    with pytest.raises(sx.NotSeparableError, match="rows 0 and 40 are equal") as refusal:
        sx.KernelSVM(np.inf).fit(twice, labels)
    witness = refusal.value.witness
    assert (witness.rows, witness.margin) == ((0, 40), 0.0)
    assert witness.check(twice, labels)
    assert not witness.check(twice, 1 - labels)
    with pytest.raises(sx.NotSeparableError, match="rows 0 and 40") as refusal:
        sx.KernelSVM(np.inf, gamma=1.0).fit(np.vstack([twice, [[9.0, 9.0]]]), [*labels, 2])
    assert refusal.value.witness.check(np.vstack([twice, [[9.0, 9.0]]]), [*labels, 2])


UGLY = {
    "huge gamma": ({"gamma": 1e12}, lambda X: X),
    "tiny gamma": ({"gamma": 1e-12}, lambda X: X),
    "constant columns": ({}, lambda X: np.column_stack([X, np.full(len(X), 1e5)])),
    "all columns constant": ({}, np.ones_like),
    "huge values": ({}, lambda X: 1e90 * X),
    "tiny values": ({}, lambda X: 1e-90 * X),
    "one huge column": ({}, lambda X: X * [1e8, 1.0]),
    "huge values, linear": ({"kernel": "linear"}, lambda X: 1e40 * X),
    "an offset": ({}, lambda X: X + 1e7),
    "degree 0": ({"kernel": "poly", "degree": 0}, lambda X: X),
    "degree 9": ({"kernel": "poly", "degree": 9}, lambda X: X),
    "opposite duplicates": ({}, lambda X: X[[0, 0] * (len(X) // 2)]),
    "bad sigmoid": ({"kernel": "sigmoid", "gamma": 50.0, "coef0": -9.0}, lambda X: X),
    "sigmoid that saturates": ({"kernel": "sigmoid", "coef0": 1e9}, lambda X: X),
    "large C": ({"C": 1e8}, lambda X: X),
    "small C": ({"C": 1e-12}, lambda X: X),
}


@pytest.mark.parametrize("name", list(UGLY))
def test_ugly_data_end_with_a_proof_or_a_warning(name):
    X, y = make_moons(12 if is_interpreted() else 40, noise=0.3, random_state=1)
    settings, change = UGLY[name]
    X = change(X)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        machine = sx.KernelSVM(**settings).fit(X, y)
    seen = [warning for warning in seen if warning.category is not sx.ScaleWarning]
    assert all(issubclass(warning.category, ConvergenceWarning) for warning in seen)
    assert bool(seen) == (machine.status_ != "optimal")
    if machine.status_ == "optimal":
        assert machine.gap_ <= 1e-3
    if machine.certificate_.holds:
        assert machine.certificate_.check(X, y)
    assert np.isfinite(machine.decision_function(X)).all()


def test_a_class_of_one_row():
    X, y = [[0.0], [1.0], [2.0], [9.0]], ["many", "many", "many", "one"]
    machine = sx.KernelSVM(C=10.0).fit(X, y)
    assert machine.predict(X).tolist() == y
    assert machine.certificate_.check(X, y)
    three = sx.KernelSVM(C=10.0).fit(X, ["a", "a", "b", "c"])
    assert three.predict(X).tolist() == ["a", "a", "b", "c"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gamma": 0.0}, "gamma must be"),
        ({"C": 0.0}, "C must be a number above 0"),
        ({"C": -np.inf}, "C must be"),
        ({"tol": 0}, "tol must be"),
        ({"cache_size": 0}, "cache_size must be"),
        ({"multi_class": "all"}, "multi_class must be one of 'ovo', 'ovr', 'direct'"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
    ],
)
def test_parameters_are_refused_in_plain_words(settings, words):
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match=words):
        sx.KernelSVM(**settings).fit(X, y)


def test_matrices_are_refused_in_plain_words():
    K, y = np.eye(6), [0, 1] * 3
    K[0, 1] = 0.5
    with pytest.raises(ValueError, match="must be symmetric"):
        sx.KernelSVM(kernel="precomputed").fit(K, y)
    with pytest.raises(TypeError, match="Sparse input is not supported"):
        sx.KernelSVM(kernel="precomputed").fit(sp.eye_array(6, format="csr"), y)
    with pytest.warns(ConvergenceWarning, match="not positive"):
        sx.KernelSVM(kernel="precomputed").fit(np.ones((6, 6)) - 2.0 * np.eye(6), y)


@pytest.mark.skipif(is_interpreted(), reason="a slice of steps alone takes a minute interpreted")
def test_a_budget_ends_with_what_is_proved():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), np.arange(3000) % 2
    with pytest.warns(ConvergenceWarning, match="The gap reached is"):
        machine = sx.KernelSVM(1e4, tol=1e-9, max_seconds=1e-9).fit(X, y)
    assert machine.status_ == "budget"
    assert machine.certificate_.holds
    assert machine.gap_ > 1e-9
    assert machine.certificate_.check(X, y)


def test_nothing_given_is_changed_and_a_fit_survives_pickling():
    X, y = make_moons(50, noise=0.2, random_state=0)
    before = X.copy()
    machine = sx.KernelSVM().fit(X, y)
    assert (before == X).all()
    again = pickle.loads(pickle.dumps(machine))
    assert (again.decision_function(X) == machine.decision_function(X)).all()
    assert "proved: no model" in str(machine)
    assert "support" in machine._repr_html_()


def test_the_replay_is_the_fit():
    X, y = make_moons(40, noise=0.2, random_state=0)
    frames = list(sx.replay(sx.KernelSVM(), X, y))
    K = naive.kernel_matrix("rbf", X, X, 1.0 / (2 * X.var()))
    signs = np.where(y == 1, 1.0, -1.0)
    duals = [naive.dual(K, signs, frame.alpha) for frame in frames]
    assert (np.diff(duals) > -1e-12).all()
    assert frames[-1].gap <= 1e-3
    assert frames[1].pair != (-1, -1)
    assert frames[-1].status == "optimal"
    assert frames[-1].update == sx.KernelSVM().fit(X, y).n_iter_


@pytest.mark.parametrize(("height", "gap"), [(1e-5, 2e-3), (1e-6, 0.1)])
def test_a_small_margin_is_a_margin(height, gap):
    X = np.array([[x, z] for z in (0.0, height) for x in (0.0, 1.0, 0.5)])
    y = [0, 0, 0, 1, 1, 1]
    machine = sx.KernelSVM(kernel="linear", C=np.inf, tol=gap).fit(X, y)
    assert machine.status_ == "optimal"
    assert machine.certificate_.check(X, y)
    assert (machine.predict(X) == y).all()
    assert_allclose(1.0 / np.sqrt(2.0 * machine.objective_), 0.5 * height, rtol=gap)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_rows_too_small_for_a_proof_are_not_called_inseparable(kernel):
    rng = np.random.default_rng(0)
    X, y = 1e-100 * rng.normal(size=(30, 4)), np.arange(30) % 2
    with pytest.warns(ConvergenceWarning):
        machine = sx.KernelSVM(kernel=kernel, C=np.inf).fit(X, y)
    assert machine.status_ == "unproved"


def test_a_margin_that_is_only_bounded_is_not_said_to_be_none():
    with pytest.raises(sx.NotSeparableError, match="none that can be computed") as refusal:
        sx.KernelSVM(kernel="linear", C=np.inf).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    assert 0.0 < refusal.value.witness.margin < 1e-5
    assert 3.0 * (1.0 - 1e-12) < refusal.value.witness.length <= 3.0


def test_a_fit_that_fails_leaves_the_machine_as_it_was():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 0, 1, 1]
    machine = sx.KernelSVM(kernel="linear", C=np.inf).fit(X, y)
    before = dict(vars(machine))
    with pytest.raises(sx.NotSeparableError):
        machine.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    assert vars(machine) == before


@pytest.mark.skipif(is_interpreted(), reason="45 machines of pairs by plain loops")
def test_values_that_machines_share_are_computed_once(monkeypatch):
    from separatrix.core import kernel_machines

    X, y = load_digits(return_X_y=True)
    made = []
    rows_at = kernel_machines.rows_at

    def kept(*given):
        made.append(rows_at(*given))
        return made[-1]

    monkeypatch.setattr(kernel_machines, "rows_at", kept)
    sx.KernelSVM(C=10.0).fit(X, y)
    assert [rows.computed for rows in made] == [len(X) ** 2]
    made.clear()
    sx.KernelSVM(C=10.0, cache_size=5.0).fit(X, y)  # which does not hold them all
    assert made[0].computed > len(X) ** 2
