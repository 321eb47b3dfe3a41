"""A model with a threshold predicts the same wherever it goes, and says what is not proved."""

import csv

import numpy as np
import onnxruntime
import pytest
from fuzz.model_files import joined, parts

import separatrix as sx
from separatrix.core.explanation import linear_form
from separatrix.storage import exchange
from separatrix.storage.claims_of_gaps import THRESHOLD
from separatrix.storage.model_file import from_bytes, to_bytes
from separatrix.storage.model_proof import examine

RNG = np.random.default_rng(7)
X = np.vstack([RNG.normal(0.0, 1.0, (40, 3)), RNG.normal(1.0, 1.0, (20, 3))])
Y = np.repeat([-1, 1], [40, 20])
NEW = RNG.normal(0.5, 1.5, (200, 3))


def moved(kind, threshold=-0.6):
    model = kind.fit(X, Y)
    model.threshold_ = threshold
    return model


KINDS = {
    "svm": lambda: sx.LinearSVM(probability=True),
    "logistic": sx.LogisticRegression,
    "multinomial": lambda: sx.LogisticRegression(multi_class="multinomial"),
    "path": lambda: sx.LinearSVMCV([0.1, 1.0], cv=3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_class_is_above_the_threshold(kind):
    model = moved(KINDS[kind]())
    scores = model.decision_function(NEW)
    assert (model.predict(NEW) == np.where(scores > -0.6, 1, -1)).all()
    assert (model.predict(NEW) != np.where(scores > 0.0, 1, -1)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_decides_by_the_sign_again(kind):
    model = moved(KINDS[kind]())
    assert model.fit(X, Y).threshold_ == 0.0
    assert "threshold_" not in vars(model)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_file_keeps_it(kind, plain):
    model = moved(KINDS[kind]())
    again = from_bytes(to_bytes(model), plain=plain).model
    assert again.threshold_ == -0.6
    assert (again.predict(NEW) == model.predict(NEW)).all()


def test_files_without_one_are_as_they_were():
    model = sx.LinearSVM().fit(X, Y)
    assert "threshold_" not in parts(to_bytes(model))[0]["fitted"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1, "0.5", None])
def test_a_file_whose_threshold_is_no_number_is_refused(value):
    header, arrays = parts(to_bytes(moved(sx.LinearSVM())))
    number = {"is": "float", "hex": value.hex()} if isinstance(value, float) else value
    header["fitted"]["threshold_"] = number
    with pytest.raises(sx.ModelFileError):
        from_bytes(joined(header, arrays))


def test_several_classes_have_no_threshold():
    model = sx.LinearSVM().fit(X, np.arange(60) % 3)
    model.threshold_ = 0.5
    with pytest.raises(sx.ModelFileError, match="threshold"):
        to_bytes(model)
    assert not examine(model, X, np.arange(60) % 3).proved


def test_what_is_proved_and_what_is_not():
    model = sx.LinearSVM().fit(X, Y)
    assert THRESHOLD not in examine(model, X, Y).not_proved
    model.threshold_ = 0.25
    found = examine(model, X, Y)
    assert found.proved
    assert THRESHOLD in found.not_proved
    model.intercept_ = model.intercept_ - 0.25  # a threshold is never hidden in the intercept
    assert not examine(model, X, Y).proved


@pytest.mark.parametrize("kind", ["svm", "logistic"])
def test_other_formats_predict_the_same(kind, tmp_path):
    model = moved(KINDS[kind]())
    scores, expected = model.decision_function(NEW), model.predict(NEW)
    clear = abs(scores + 0.6) > 1e-9
    exchange.write_liblinear(model, tmp_path / "liblinear")
    peer = exchange.read_liblinear(tmp_path / "liblinear")
    assert (peer.predict(NEW)[clear] == expected[clear]).all()
    # Its probabilities would be those of other scores: it has none.
    assert type(peer).__name__ == "LinearSVM"
    exchange.write_libsvm_model(model, tmp_path / "libsvm")
    peer = exchange.read_libsvm_model(tmp_path / "libsvm", 3)
    assert (peer.predict(NEW)[clear] == expected[clear]).all()
    plain = exchange.to_sklearn(model)
    assert (plain.predict(NEW)[clear] == expected[clear]).all()
    assert plain.decision_function(NEW) == pytest.approx(scores)
    if kind == "logistic":
        assert plain.predict_proba(NEW) == pytest.approx(model.predict_proba(NEW))
    exchange.write_coefficients(model, tmp_path / "weights.csv", ["a", "b", "c"])
    lines = dict(csv.reader((tmp_path / "weights.csv").read_text().splitlines()))
    assert float(lines["(threshold)"]) == -0.6
    assert float(lines["(intercept)"]) == model.intercept_[0]


def test_a_row_at_the_threshold_is_of_the_first_class():
    model = sx.LinearSVM().fit(X, Y)
    model.threshold_ = float(model.decision_function(NEW)[0])
    assert model.predict(NEW)[0] == -1
    assert exchange.to_sklearn(model).predict(NEW)[0] == -1


def test_onnx(tmp_path):
    model = moved(sx.LogisticRegression())
    exchange.write_onnx(model, tmp_path / "model.onnx")
    labels, scores, shares = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(
        None, {"X": NEW}
    )
    assert (labels == model.predict(NEW)).all()
    assert scores[:, 0] == pytest.approx(model.decision_function(NEW))
    assert shares == pytest.approx(model.predict_proba(NEW))


def test_scaling_keeps_it():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    whole = make_pipeline(StandardScaler(), sx.LinearSVM()).fit(X, Y)
    whole[-1].threshold_ = 0.3
    form = linear_form(whole).at_zero
    by_sign = np.where(NEW @ form.weights[0] + form.intercepts[0] > 0.0, 1, -1)
    clear = abs(whole.decision_function(NEW) - 0.3) > 1e-9
    assert (whole.predict(NEW) == by_sign)[clear].all()
