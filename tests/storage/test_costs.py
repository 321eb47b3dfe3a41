"""A model whose mistakes have costs predicts alike wherever it goes, or is refused in words."""

import numpy as np
import onnxruntime
import pytest
from fuzz.model_files import joined, parts

import separatrix as sx
from separatrix.core.explanation import contributions
from separatrix.storage import exchange
from separatrix.storage.claims_of_gaps import COSTS
from separatrix.storage.model_file import from_bytes, to_bytes
from separatrix.storage.model_proof import examine

RNG = np.random.default_rng(3)
Y = np.repeat(["a", "b", "c"], 30)
X = RNG.normal(size=(90, 2)) + 1.5 * np.column_stack([Y == "a", Y == "b"])
NEW = RNG.normal(0.5, 1.5, (300, 2))
PRICES = np.array([[0.0, 5.0, 2.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
KINDS = {
    "svm": lambda: sx.LinearSVM(probability=True),
    "logistic": sx.LogisticRegression,
    "multinomial": lambda: sx.LogisticRegression(multi_class="multinomial"),
}


def costed(kind, prices=PRICES):
    model = KINDS[kind]().fit(X, Y)
    model.costs_ = prices
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_the_class_of_least_expected_cost_is_predicted(kind):
    model = costed(kind)
    plainly = []
    for shares in model.predict_proba(NEW).tolist():
        expected = [sum(p * PRICES[k, j] for k, p in enumerate(shares)) for j in range(3)]
        plainly.append("abc"[expected.index(min(expected))])
    found = model.predict(NEW)
    assert found.tolist() == plainly
    by_score = model.classes_[model.decision_function(NEW).argmax(axis=1)]
    assert (found == "a").sum() > (by_score == "a").sum()
    said = [row.speaks_for for row in contributions(model, NEW[:20])]
    assert said == found[:20].tolist()
    assert model.fit(X, Y).costs_ is None


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_file_keeps_them(kind, plain):
    model = costed(kind)
    again = from_bytes(to_bytes(model), plain=plain).model
    assert (again.costs_ == PRICES).all()
    assert (again.predict(NEW) == model.predict(NEW)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_decides_alike(kind):
    model = costed(kind)
    session = onnxruntime.InferenceSession(exchange.to_onnx(model).SerializeToString())
    assert session.run(["label"], {"X": NEW})[0].tolist() == model.predict(NEW).tolist()


@pytest.mark.parametrize("to", ["liblinear", "libsvm", "csv"])
def test_other_programs_know_no_costs(to, tmp_path):
    whole = from_bytes(to_bytes(costed("logistic")))
    with pytest.raises(ValueError, match=r"least expected cost, and .* would predict"):
        exchange.write(whole, tmp_path / "out", to, number_classes=True)
    assert not (tmp_path / "out").exists()


def test_scikit_learn_is_refused_too():
    with pytest.raises(ValueError, match="and scikit-learn would predict"):
        exchange.to_sklearn(costed("svm"))


def test_what_they_are_is_named_as_not_proved():
    found = examine(costed("multinomial"), X, Y)
    assert found.proved
    assert COSTS in found.not_proved


@pytest.mark.parametrize(
    "wrong",
    [PRICES[:2], -PRICES, PRICES + 1.0, np.full((3, 3), np.nan), PRICES.astype(int), [[0.0]]],
)
def test_costs_that_do_not_fit_are_refused(wrong):
    model = costed("logistic", wrong)
    with pytest.raises(sx.ModelFileError, match="costs of the model file"):
        to_bytes(model)
    assert not examine(model, X, Y).proved


def test_a_model_without_probabilities_has_no_costs():
    model = sx.LinearSVM().fit(X, Y)
    model.costs_ = PRICES
    with pytest.raises(sx.ModelFileError, match="no probabilities"):
        to_bytes(model)
    two = sx.LogisticRegression().fit(X[:60], Y[:60])
    two.costs_ = PRICES[:2, :2]
    with pytest.raises(sx.ModelFileError, match="three classes or more"):
        to_bytes(two)
    header, arrays = parts(to_bytes(costed("svm")))
    header["fitted"]["_calibration"] = None
    header["parameters"]["probability"] = False
    with pytest.raises(sx.ModelFileError):
        from_bytes(joined(header, arrays))
