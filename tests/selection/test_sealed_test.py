import copy
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix

import separatrix as sx


@pytest.fixture
def sets():
    iris = load_iris()
    y = iris.target_names[iris.target]
    parts = sx.split(y, test=0.3)
    train, test = parts.train, parts.test
    return iris.data[train], y[train], iris.data[test], y[test]


def test_opens_once_and_counts_as_scikit_learn_does(sets):
    X, y, X_test, y_test = sets
    machine = sx.LinearSVM().fit(X, y)
    test = sx.SealedTest(X_test, y_test)
    assert "sealed" in repr(test)
    result = test.open(machine, X, y)
    predicted = machine.predict(X_test)
    assert result.errors == (predicted != y_test).sum()
    assert result.wrong.tolist() == np.flatnonzero(predicted != y_test).tolist()
    assert (result.confusion == confusion_matrix(y_test, predicted)).all()
    assert result.interval == sx.bounds.binomial(result.errors, len(y_test))
    assert result.interval.lower <= result.rate <= result.interval.upper
    assert test.result is result
    with pytest.raises(sx.ContaminatedTestError, match="opened before, with LinearSVM"):
        test.open(sx.LogisticRegression().fit(X, y))
    with pytest.raises(ValueError):  # a ValueError, as all errors users meet
        test.open(machine)


def test_bounds_stand_beside_the_estimate_of_a_halfspace(sets):
    X, y, X_test, y_test = sets
    two, rows = y != "setosa", y_test != "setosa"
    machine = sx.LinearSVM(C=10.0).fit(X[two], y[two])
    result = sx.SealedTest(X_test[rows], y_test[rows]).open(machine, X[two], y[two])
    vapnik, margin = result.bounds
    errors = int((machine.predict(X[two]) != y[two]).sum())
    assert vapnik.value == sx.bounds.vc(errors, two.sum(), 5).value
    assert vapnik.value > result.rate
    inside = int((machine.certificate_.margins < 1.0).sum())
    radius = float(np.linalg.norm(X[two], axis=1).max())
    assert margin.value == sx.bounds.margin(inside, two.sum(), radius, machine.margin_, 4).value
    assert "Vapnik" in str(result)
    three = sx.SealedTest(X_test, y_test).open(sx.LinearSVM().fit(X, y), X, y)
    assert three.bounds == ()


def test_rows_of_the_training_set_are_counted_and_named():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 3.0], [-0.0, 1.0]])
    train = sp.csr_array(np.array([[5.0, 5.0], [0.0, 1.0], [2.0, 0.0]], dtype=np.float32))
    test = sx.SealedTest(X, [0, 1, 1, 1])
    overlap = test.overlap(train)
    assert overlap.rows.tolist() == [0, 1, 3]
    assert overlap.train_rows.tolist() == [1, 2, 1]
    assert "3 of 4 test rows also stand in the training data: 0, 1, 3." in str(overlap)
    assert not test.is_open
    machine = sx.LinearSVM().fit(train, [1, 0, 1])
    result = test.open(machine, train, [1, 0, 1])
    assert result.overlap.tolist() == [0, 1, 3]
    assert result.fresh.n == 1
    with pytest.raises(sx.DataError, match="never match"):
        test.overlap(np.zeros((1, 3)))


def test_sparse_and_dense_sets_are_the_same_set():
    dense = np.array([[0.0, 2.0], [1.0, -0.0]])
    explicit = sp.csr_array((np.array([0.0, 2.0, 1.0]), ([0, 0, 1], [0, 1, 0])), shape=(2, 2))
    one, other = sx.SealedTest(dense, ["a", "b"]), sx.SealedTest(explicit, ["a", "b"])
    text = one.to_json()
    assert sx.SealedTest.from_json(text, explicit, ["a", "b"]).n == 2
    assert not other.is_open
    with pytest.raises(sx.ContaminatedTestError, match="not the rows"):
        sx.SealedTest.from_json(text, dense, ["a", "c"])


def test_no_copy_is_a_second_chance(sets, tmp_path):
    X, y, X_test, y_test = sets
    machine = sx.LinearSVM().fit(X, y)
    test = sx.SealedTest(X_test, y_test)
    copies = [copy.copy(test), copy.deepcopy(test), copy.deepcopy([test])[0]]
    copies.append(sx.SealedTest.from_json(test.to_json(), X_test, y_test))
    with pytest.raises(TypeError, match="cannot be pickled while it is sealed"):
        pickle.dumps(test)
    result = test.open(machine)
    copies.append(pickle.loads(pickle.dumps(test)))
    copies.append(sx.SealedTest.from_json(test.to_json(), X_test, y_test))
    for each in copies:
        with pytest.raises(sx.ContaminatedTestError):
            each.open(machine)
        assert each.result.errors == result.errors


def test_the_state_file_keeps_the_opening(sets, tmp_path):
    X, y, X_test, y_test = sets
    machine, state = sx.LinearSVM().fit(X, y), tmp_path / "test.seal"
    test = sx.SealedTest(X_test, y_test, state=state)
    stale = pickle.dumps(test)
    other = sx.SealedTest(X_test, y_test, state=state)
    assert not state.exists()
    result = test.open(machine, X, y)
    for each in (pickle.loads(stale), other, sx.SealedTest(X_test, y_test, state=state)):
        assert each.is_open
        assert each.result.to_dict() == result.to_dict()
        with pytest.raises(sx.ContaminatedTestError):
            each.open(machine)
    with pytest.raises(sx.ContaminatedTestError, match="other rows"):
        sx.SealedTest(X_test[1:], y_test[1:], state=state)
    assert [path.name for path in tmp_path.iterdir()] == ["test.seal"]


def test_rows_changed_after_sealing_are_refused():
    X = np.array([[0.0], [1.0], [3.0]])
    test = sx.SealedTest(X, [0, 0, 1])
    machine = sx.LinearSVM().fit([[0.0], [3.0]], [0, 1])
    X[0] = 9.0
    with pytest.raises(sx.ContaminatedTestError, match="changed after it was sealed"):
        test.open(machine)


def test_a_model_that_fails_opens_nothing():
    test = sx.SealedTest([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError):
        test.open(sx.LinearSVM().fit([[0.0, 1.0], [3.0, 1.0]], [0, 1]))
    assert not test.is_open
    with pytest.raises(ValueError, match="both X_train and y_train"):
        test.open(None, X_train=[[0.0]])


def test_one_of_many_threads_opens_it():
    test = sx.SealedTest([[0.0], [1.0]], [0, 1])
    machine = sx.LinearSVM().fit([[0.1], [1.1]], [0, 1])
    outcomes = []

    def work():
        try:
            outcomes.append(test.open(machine).errors)
        except sx.ContaminatedTestError:
            outcomes.append("refused")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["0"] + ["refused"] * 7


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "separatrix-sealed-test-1"}'])
def test_what_is_no_seal_is_refused(text):
    with pytest.raises(sx.DataError, match="not the seal"):
        sx.SealedTest.from_json(text, [[0.0]], [0])


def test_a_frame_keeps_its_columns_in_mind():
    import pandas

    rows = pandas.DataFrame({"a": [0.0, 1.0, 4.0, 5.0], "b": [0.0, 0.0, 1.0, 1.0]})
    machine = sx.LinearSVM().fit(rows + 0.1, [0, 0, 1, 1])
    assert sx.SealedTest(rows, [0, 0, 1, 1]).open(machine).errors == 0  # a warning would raise
    turned = sx.SealedTest(rows[["b", "a"]], [0, 0, 1, 1])
    with pytest.raises(sx.DataError, match="another order"):
        turned.open(machine)
    assert not turned.is_open


def test_only_what_is_known_of_the_training_is_said(sets):
    X, y, X_test, y_test = sets
    model = sx.LinearSVM().fit(X, y)
    unknown = sx.SealedTest(X_test, y_test).open(model)
    assert unknown.training == "unknown"
    assert "is not known here" in str(unknown)
    assert "no part" not in str(unknown)
    known = sx.SealedTest(X_test, y_test).open(model, X, y)
    assert known.training == "known"
    assert "certificate names its training rows" in str(known)
    other = sx.SealedTest(X_test, y_test).open(model, X[:-1], y[:-1])
    assert other.training == "given"
    assert "that the model was trained on them is not known" in str(other)
    again = type(known).from_dict(known.to_dict())
    assert again.training == "known"


def test_a_model_trained_on_the_sealed_rows_is_refused(sets):
    _, _, X_test, y_test = sets
    test = sx.SealedTest(X_test, y_test)
    for model in (sx.LinearSVM(), sx.LogisticRegression(), sx.KernelSVM()):
        with pytest.raises(sx.ContaminatedTestError, match="trained on the sealed rows"):
            test.open(model.fit(X_test, y_test))
    assert not test.is_open
