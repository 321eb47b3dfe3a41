"""ONNX, against onnxruntime: the same classes, scores and probabilities to 1e-6."""

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.storage.test_model_file import MODELS, fitted

import separatrix as sx

IRIS = load_iris()
MORE = {
    "products": lambda: make_pipeline(
        MinMaxScaler(clip=True), sx.lift.Polynomial(3, include_bias=True), sx.LinearSVM()
    ),
    "pairs of columns": lambda: make_pipeline(
        sx.lift.Polynomial(4, interaction_only=True), sx.Fisher()
    ),
    "kernel rows": lambda: make_pipeline(
        sx.lift.Nystrom(10, kernel="poly", degree=2, random_state=0), sx.LogisticRegression()
    ),
    "one class against the rest": lambda: sx.KernelSVM(multi_class="ovr"),
    "no mean": lambda: make_pipeline(StandardScaler(with_mean=False), sx.LinearSVM()),
    "no deviation": lambda: make_pipeline(StandardScaler(with_std=False), sx.LinearSVM()),
    "sparse weights": lambda: sx.LogisticRegression(0.1, l1_ratio=1.0, multi_class="ovr"),
    "sparse weights of all classes": lambda: sx.LogisticRegression(0.1, l1_ratio=1.0),
    "groups": lambda: sx.LinearSVM(
        0.1, loss="squared_hinge", l1_ratio=1.0, groups=[[0, 1], [2, 3]]
    ),
    "numbers for classes": lambda: sx.LinearSVM(probability=True),
}


def outputs(model, rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    contents = sx.exchange.to_onnx(model, ["a", "b", "c", "d"]).SerializeToString()
    session = onnxruntime.InferenceSession(contents, options)
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(rows, dtype=float)}), strict=True))


def require_the_same(model, rows):
    told = outputs(model, rows)
    assert (told["label"] == model.predict(rows)).all()
    scores = model.decision_function(rows)
    np.testing.assert_allclose(told["scores"].reshape(scores.shape), scores, atol=1e-6, rtol=1e-6)
    if "probabilities" in told:
        np.testing.assert_allclose(told["probabilities"], model.predict_proba(rows), atol=1e-6)
    return told


@pytest.mark.parametrize("name", [name for name in MODELS if name != "plug-in, full"])
def test_onnxruntime_agrees(name):
    model, rows, _ = fitted(name)
    told = require_the_same(model, rows)
    if "ogistic" in name or name == "svm, probable":
        assert "probabilities" in told


@pytest.mark.parametrize("name", MORE)
def test_lifts_scalings_and_numbers(name):
    model = MORE[name]().fit(IRIS.data, IRIS.target)
    require_the_same(model, IRIS.data)


def test_precomputed_values_are_picked_by_row():
    values = IRIS.data @ IRIS.data.T
    model = sx.KernelSVM(kernel="precomputed").fit(values, IRIS.target)
    require_the_same(model, values)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sx.GaussianPlugIn(covariance="full"), "does not decide"),
        (sx.GaussianPlugIn(reject_cost=0.1), "does not decide"),
        (sx.KernelSVM(kernel=lambda A, B: A @ B.T), "no code"),
    ],
)
def test_what_has_no_form_is_refused(model, words):
    with pytest.raises(ValueError, match=words):
        sx.exchange.to_onnx(model.fit(IRIS.data, IRIS.target))
