"""SGD against peers, against the optimum, and against its proofs."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from tests.amounts import cases
from tests.naive import machine as naive
from tests.optional import shared_file
from tests.problems import problem

import separatrix as sx
from separatrix._compiled import is_interpreted

A9A = ("a9a.libsvm", "a9a.t.libsvm")
PROVED = ["hinge", "squared_hinge", "logistic"]


def quiet_fit(machine, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(*data)


def clouds(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, "up", "low")


@pytest.mark.parametrize("loss", PROVED)
def test_the_bounds_hold_the_optimum_between_them(loss):
    for seed in cases(30):
        case = problem(seed, ["overlapping_gaussians", "integer_grid", "copied_columns"][seed % 3])
        C = 10.0 ** (seed % 4 - 2)
        weights = np.random.default_rng(seed).integers(1, 4, size=len(case.X)).astype(float)
        machine = quiet_fit(sx.SGD(loss, C=C, scale=False), case.X, case.y_signs, weights)
        least = naive.optimum(case.X, case.y_signs, C * weights, loss, 0.0)
        assert machine.dual_objective_ <= least * (1.0 + 1e-6) + 1e-9
        assert machine.objective_ >= least * (1.0 - 1e-6) - 1e-9
        assert machine.certificate_.check(case.X, case.y_signs)
        assert machine.gap_ == machine.certificate_.gap
        assert (machine.status_ == "optimal") == (machine.gap_ <= 0.01)


def test_a_proof_of_scaled_columns_speaks_of_the_columns_as_given():
    X, y = clouds(100)
    X = X * 10.0 ** np.arange(-8, 10, 3)
    for data in (X, sp.csr_array(X)):
        machine = sx.SGD(max_passes=64, tol=0.05).fit(data, y)
        proof = machine.certificate_
        assert machine.status_ == "optimal"
        assert proof.holds
        assert proof.check(data, y)
        assert proof.exponents.min() < -20 < 20 < proof.exponents.max()
        assert not proof.check(X[:, :-1], y)
        assert not proof.check(X * 1.5, y)
        assert "divided by a power of two" in str(machine)
    divided = X / 2.0**proof.exponents
    peer = sx.LinearSVM().fit(divided, y)
    assert peer.objective_ <= machine.objective_ * (1.0 + 1e-9)
    assert peer.objective_ >= machine.dual_objective_


@pytest.mark.skipif(is_interpreted(), reason="minutes where loops are interpreted")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "perceptron"])
def test_unscaled_columns_give_the_predictions_of_standardised_ones(loss):
    X, y = clouds(2000, 9)
    wild = X * 10.0 ** np.arange(-8, 10, 2)
    standard = quiet_fit(sx.SGD(loss), StandardScaler().fit_transform(X), y)
    raw = quiet_fit(sx.SGD(loss), wild, y)
    scaled = StandardScaler().fit_transform(X)
    assert (raw.predict(wild) == standard.predict(scaled)).mean() > 0.97
    assert abs(raw.score(wild, y) - standard.score(scaled, y)) < 0.01
    stream = sx.SGD(loss).partial_fit(wild, y, classes=["low", "up"])
    beside = sx.SGD(loss).partial_fit(scaled, y, classes=["low", "up"])
    assert (stream.predict(wild) == beside.predict(scaled)).mean() > 0.95


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="minutes where loops are interpreted")
@pytest.mark.parametrize("loss", PROVED)
def test_as_good_as_scikit_learn_on_real_rows(loss):
    table, new = (sx.read(shared_file(name), n_features=123) for name in A9A)
    X_new = new.X
    ours = quiet_fit(sx.SGD(loss), table.X, table.y).score(X_new, new.y)
    names = {"hinge": "hinge", "squared_hinge": "squared_hinge", "logistic": "log_loss"}
    peer = SGDClassifier(names[loss], alpha=1.0 / len(table.y), random_state=0, average=True)
    assert ours > peer.fit(table.X, table.y).score(X_new, new.y) - 0.002
    raw, labels = load_breast_cancer(return_X_y=True)  # columns from 1e-3 to 1e3, not scaled
    unscaled = SGDClassifier(names[loss], random_state=0).fit(raw, labels).score(raw, labels)
    ours = quiet_fit(sx.SGD(loss, C=10.0), raw, labels).score(raw, labels)
    assert ours > max(0.95, unscaled)


def test_one_pass_as_rows_stand_is_partial_fit():
    X, y = clouds(90)
    for loss in PROVED:
        # Of dense columns `fit` takes the medians first, which a stream does not know.
        once = quiet_fit(sx.SGD(loss, order="cyclic", max_passes=1), sp.csr_array(X), y)
        stream = sx.SGD(loss)
        for begin in range(0, 90, 7):
            part = slice(begin, begin + 7)
            stream.partial_fit(X[part], y[part], classes=["low", "up"])
        assert np.array_equal(once.coef_, stream.coef_)
        assert np.array_equal(once.intercept_, stream.intercept_)
        assert stream.n_iter_ == 90
        assert stream.status_ == "streaming"
        assert stream.certificate_ is stream.gap_ is None


def test_weights_in_a_stream_and_by_class():
    X, y = clouds(60)
    weights = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = sx.SGD().partial_fit(X, y, ["low", "up"], sample_weight=weights)
    copied = sx.SGD().partial_fit(X.repeat(weights, axis=0), y.repeat(weights), ["low", "up"])
    assert np.array_equal(weighted.coef_, copied.coef_)
    doubled = sx.SGD(class_weight={"up": 2}).partial_fit(X, y, ["low", "up"])
    same = sx.SGD().partial_fit(X, y, ["low", "up"], sample_weight=np.where(y == "up", 2, 1))
    assert np.array_equal(doubled.coef_, same.coef_)
    with pytest.raises(ValueError, match="needs all the data at once"):
        sx.SGD(class_weight="balanced").partial_fit(X, y, ["low", "up"])
    balanced = quiet_fit(sx.SGD(class_weight="balanced"), X, y)
    assert balanced.certificate_.check(X, y)


def test_many_classes_probabilities_and_what_is_refused():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    machine = sx.SGD("logistic", max_passes=64, tol=0.05).fit(X, names)
    assert machine.score(X, names) > 0.8
    assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)
    assert machine.certificate_.check(X, names)
    assert len(machine.objective_) == 3
    assert not hasattr(sx.SGD(), "predict_proba")
    with pytest.raises(sx.DataError, match=r"not among the classes: \['rose'\]"):
        machine.partial_fit(X[:1], ["rose"])
    with pytest.raises(ValueError, match="classes must be passed"):
        sx.SGD().partial_fit(X, y)
    with pytest.raises(ValueError, match="loss must be one of"):
        sx.SGD("square").fit(X, y)


def test_a_budget_says_how_far_it_came():
    X, y = clouds(80)
    with pytest.warns(ConvergenceWarning, match=r"proved to be within \S+ of the least"):
        machine = sx.SGD(C=100.0, max_passes=1, tol=1e-6).fit(X, y)
    assert machine.status_ == "budget"
    assert 0.0 < machine.gap_ < 1.0
    free = sx.SGD(C=np.inf).fit(X, y)
    assert free.status_ == "passed"
    assert free.certificate_ is None
    rule = sx.SGD("perceptron").fit(X[:, :1] * 0 + np.sign(X[:, :1]), np.sign(X[:, 0]))
    assert rule.status_ == "separated"
    assert rule.certificate_.holds


def test_a_saved_stream_goes_on_to_the_same_bit(tmp_path):
    X, y = clouds(200)
    whole = sx.SGD("logistic").partial_fit(X, y, classes=["low", "up"])
    half = sx.SGD("logistic").partial_fit(X[:100], y[:100], classes=["low", "up"])
    sx.save(half, tmp_path / "half.sx")
    again = sx.load(tmp_path / "half.sx").partial_fit(X[100:], y[100:])
    assert np.array_equal(whole.coef_, again.coef_)
    assert again.n_iter_ == 200


def test_a_fit_and_then_a_stream_of_shifted_columns():
    X, y = clouds(150)
    X = X + 100.0
    machine = quiet_fit(sx.SGD(max_passes=4), X[:100], y[:100])
    assert machine.score(X, y) > 0.75
    assert machine.certificate_.check(X[:100], y[:100])
    sparse = quiet_fit(sx.SGD(max_passes=4), X[:100], y[:100])
    sparse.partial_fit(sp.csr_array(X[100:]), y[100:])
    machine.partial_fit(X[100:], y[100:])
    assert machine.score(X, y) > 0.75
    assert np.array_equal(machine.coef_, sparse.coef_)


def test_replay_ends_where_the_passes_end():
    X, y = clouds(40)
    machine = quiet_fit(sx.SGD(max_passes=3, average=False, tol=1e-9), X, y)
    frames = list(sx.replay(machine, X, y))
    assert len(frames) == 1 + 3 * 40
    assert np.array_equal(frames[-1].weights[1:], machine.coef_[0])
    assert frames[-1].weights[0] == machine.intercept_[0]
    assert sorted(frame.row for frame in frames[1:41]) == list(range(40))
    three = sx.replay(sx.SGD(max_passes=1), X, np.arange(40) % 3)
    assert len(list(three)) == 41
