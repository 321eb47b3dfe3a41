"""Models of LIBLINEAR and LIBSVM whose files have the labels in any order."""

import itertools

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from tests.naive.peer_models import liblinear_predictions, libsvm_predictions

import separatrix as sx
from separatrix.storage.model_file import from_bytes, to_bytes

X, CODES = load_iris(return_X_y=True)
TWO = CODES != 0
ORDERS = list(itertools.permutations(range(3)))


def liblinear_file(path, kind, labels, table):
    """Write weights, a row a feature and the last the bias, with the labels in this order."""
    lines = [" ".join(map(repr, row)) for row in np.asarray(table).tolist()]
    head = f"solver_type {kind}\nnr_class {len(labels)}\nlabel {' '.join(map(str, labels))}\n"
    path.write_text(f"{head}nr_feature {len(lines) - 1}\nbias 1\nw\n" + "\n".join(lines) + "\n")
    return path


def turned(path, order):
    """Write LIBSVM's file of three classes again with its labels in another order."""
    model = sx.KernelSVM(gamma=0.2).fit(X, CODES)
    sx.exchange.write_libsvm_model(model, path)
    text = path.read_text()
    path.write_text(text.replace("label 2 1 0", f"label {' '.join(map(str, order))}"))


@pytest.mark.parametrize("order", ORDERS)
def test_liblinear_probabilities_belong_to_their_classes(order, tmp_path):
    fitted = sx.LogisticRegression(C=10, multi_class="ovr").fit(X, CODES)
    table = np.vstack([fitted.coef_.T, fitted.intercept_])[:, list(order)]
    path = liblinear_file(tmp_path / "m.model", "L2R_LR", order, table)
    read = sx.exchange.read_liblinear(path)
    assert read.classes_.tolist() == [0, 1, 2]
    assert read.predict(X).tolist() == liblinear_predictions(path, X.tolist())
    want, got = fitted.predict_proba(X), read.predict_proba(X)
    np.testing.assert_allclose(got, want, atol=1e-12)
    assert get_scorer("roc_auc_ovr")(read, X, CODES) > 0.9
    assert log_loss(CODES, got) < 0.5


@pytest.mark.parametrize("labels", [(2, 1), (1, 2)])
@pytest.mark.parametrize("kind", ["L2R_LR", "L2R_L1LOSS_SVC_DUAL", "MCSVM_CS"])
def test_two_classes_of_liblinear_have_one_score(kind, labels, tmp_path):
    fitted = sx.LinearSVM().fit(X[TWO], CODES[TWO])
    weights = np.append(fitted.coef_[0], fitted.intercept_)
    # The first label of the file has the positive scores.
    first = weights if labels[0] == 2 else -weights
    table = np.column_stack([first / 2, -first / 2]) if kind == "MCSVM_CS" else first[:, None]
    path = liblinear_file(tmp_path / "m.model", kind, labels, table)
    read = sx.exchange.read_liblinear(path)
    scores = read.decision_function(X[TWO])
    assert read.classes_.tolist() == [1, 2]
    assert read.predict(X[TWO]).tolist() == liblinear_predictions(path, X[TWO].tolist())
    np.testing.assert_allclose(scores, fitted.decision_function(X[TWO]), atol=1e-12)
    assert roc_auc_score(CODES[TWO], scores) > 0.9
    plain = sx.exchange.read(path, plain=True).model
    assert (plain.predict(X[TWO]) == read.predict(X[TWO])).all()


@pytest.mark.parametrize("labels", ["2 1", "1 2"])
def test_two_classes_of_libsvm_score_for_the_second(labels, tmp_path):
    fitted, path = sx.KernelSVM(gamma=0.2).fit(X[TWO], CODES[TWO]), tmp_path / "m.model"
    sx.exchange.write_libsvm_model(fitted, path)
    path.write_text(path.read_text().replace("label 2 1", f"label {labels}"))
    read = sx.exchange.read_libsvm_model(path, 4)
    assert read.classes_.tolist() == [1, 2]
    assert read.predict(X[TWO]).tolist() == libsvm_predictions(path, X[TWO].tolist())
    area = roc_auc_score(read.predict(X[TWO]), read.decision_function(X[TWO]))
    assert area == 1.0


@pytest.mark.parametrize("order", ORDERS)
def test_several_classes_of_libsvm_are_sorted_and_vote_as_in_the_file(order, tmp_path):
    path, again = tmp_path / "m.model", tmp_path / "again.model"
    turned(path, order)
    rows = np.vstack([X, np.random.default_rng(3).normal(4.0, 3.0, (150, 4))])
    predicted = libsvm_predictions(path, rows.tolist())
    read = sx.exchange.read_libsvm_model(path, 4)
    assert read.classes_.tolist() == [0, 1, 2]
    assert read.predict(rows).tolist() == predicted
    votes = read.decision_function(rows)
    assert (votes[np.arange(len(rows)), predicted] == votes.max(axis=1)).all()
    assert (from_bytes(to_bytes(read)).model.predict(rows) == predicted).all()
    sx.exchange.write_libsvm_model(read, again)
    assert again.read_text().split("SV\n")[0] == path.read_text().split("SV\n")[0]
    assert libsvm_predictions(again, rows.tolist()) == predicted


def test_equal_votes_of_libsvm_go_to_the_first_label_of_the_file(tmp_path):
    path = tmp_path / "m.model"
    path.write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 0\nrho -1 1 -1\n"
        "label 2 0 1\nnr_sv 0 0 0\nSV\n"
    )
    read = sx.exchange.read_libsvm_model(path, 2)  # each class has one vote
    rows = np.zeros((1, 2))
    assert read.predict(rows).tolist() == libsvm_predictions(path, rows.tolist()) == [2]
    session = onnxruntime.InferenceSession(sx.exchange.to_onnx(read).SerializeToString())
    label, votes = session.run(["label", "scores"], {"X": rows})
    assert label.tolist() == [2]
    np.testing.assert_array_equal(votes, read.decision_function(rows))


def test_numbers_that_are_no_order_of_the_classes_are_refused(tmp_path):
    turned(tmp_path / "m.model", (1, 2, 0))
    read = sx.exchange.read_libsvm_model(tmp_path / "m.model", 4)
    read.label_order_ = np.array([0, 0, 2])
    with pytest.raises(sx.ModelFileError, match="does not number its classes"):
        from_bytes(to_bytes(read))
