"""A model file with one value altered and sealed again is refused, or says the same."""

import numpy as np
import pytest
from fuzz import altered_models
from fuzz.model_files import joined, parts
from tests.amounts import ALL, COMPILED_ONLY

import separatrix as sx
from separatrix.storage.model_file import from_bytes, to_bytes
from separatrix.storage.model_proof import examine, prove_model

RNG = np.random.default_rng(5)
X = np.vstack([RNG.normal(0.0, 1.0, (30, 2)), RNG.normal(1.5, 1.0, (30, 2))])
Y = np.repeat(["low", "high"], 30)
WIDE = np.vstack([X[:30], X[30:] + 4.0])  # and these can be separated
KINDS = {
    "svm": (sx.LinearSVM(), X),
    "kernel": (sx.KernelSVM(), X),
    "fisher": (sx.Fisher(), X),
    "squares": (sx.LeastSquares(), X),
    "kozinec": (sx.Kozinec(), WIDE),
    "perceptron": (sx.Perceptron(), WIDE),
    "logistic": (sx.LogisticRegression(), X),
    "errors": (sx.ZeroOne(), WIDE),
    "wrapper": (sx.OneVsRest(sx.LinearSVM()), X),
}


def resealed(model, change):
    """Return the model of a file whose header was changed and sealed again."""
    header, arrays = parts(to_bytes(model))
    change(header)
    return from_bytes(joined(header, arrays)).model


def swap_classes(header):
    items = header["fitted"]["classes_"]["items"]
    items[0], items[1] = items[1], items[0]


@pytest.mark.parametrize("kind", KINDS)
def test_classes_in_another_order_are_refused(kind):
    """Once proved, though 56 of 60 predictions were wrong."""
    model, rows = KINDS[kind]
    model.fit(rows, Y)
    assert prove_model(model, rows, Y)[0]
    other = resealed(model, swap_classes)
    assert (other.predict(rows) != model.predict(rows)).all()
    holds, sentence = prove_model(other, rows, Y)
    assert not holds
    assert "classes_" in sentence


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("parameters", "C"), {"is": "float", "hex": (2.0).hex()}),
        (("parameters", "loss"), "squared_hinge"),
        (("parameters", "fit_intercept"), False),
        (("parameters", "intercept_penalty"), {"is": "float", "hex": (1.0).hex()}),
        (("parameters", "class_weight"), "balanced"),
        (("fitted", "gap_"), {"is": "float", "hex": (0.0).hex()}),
        (("fitted", "objective_"), {"is": "float", "hex": (1.0).hex()}),
        (("fitted", "dual_objective_"), {"is": "float", "hex": (1.0).hex()}),
        (("fitted", "margin_"), {"is": "float", "hex": (9.0).hex()}),
        (("fitted", "status_"), {"is": "status", "name": "BUDGET"}),
        (("fitted", "certificate_", "fields", "data_sha256"), ""),
        (("fitted", "certificate_", "fields", "data_sha256"), "0" * 64),
        (("fitted", "certificate_", "fields", "classes", "items"), ["low", "high"]),
        (("fitted", "n_support_"), {"is": "array", "number": "0", "columns": False}),
        (("fitted", "secret_"), 5),
    ],
)
def test_a_stored_value_that_does_not_follow_is_refused(where, value):
    # Unequal classes, so that "balanced" is another weight of classes.
    rows, labels = X[:50], Y[:50]
    model = sx.LinearSVM(C=1.0).fit(rows, labels)
    assert prove_model(model, rows, labels)[0]

    def change(header):
        for key in where[:-1]:
            header = header[key]
        header[where[-1]] = value

    assert not prove_model(resealed(model, change), rows, labels)[0]


@pytest.mark.parametrize("threshold", ["mean", "gaussian", [[0.0, 3.0], [1.0, 0.0]]])
def test_the_threshold_and_the_side_of_fisher_are_proved(threshold):
    model = sx.Fisher(threshold).fit(X, Y)
    assert prove_model(model, X, Y)[0]
    model.intercept_ = model.intercept_ + 1e-6
    assert prove_model(model, X, Y)[1].startswith("intercept_")
    # The ratio is that of the opposite direction too, which predicts the contrary.
    model = sx.Fisher(threshold).fit(X, Y)
    opposite = tuple(-weight for weight in model.certificate_.weights)
    model.coef_, model.intercept_ = -model.coef_, -model.intercept_
    model.certificate_ = sx.Fisher(threshold).fit(-X, Y).certificate_
    object.__setattr__(model.certificate_, "weights", opposite)
    assert not prove_model(model, X, Y)[0]


def test_votes_of_a_kernel_machine_go_by_its_certificate():
    labels = np.repeat(["a", "b", "c"], 20)
    model = sx.KernelSVM(multi_class="ovr").fit(X, labels)
    assert prove_model(model, X, labels)[0]
    model.multi_class = "ovo"
    assert not prove_model(model, X, labels)[0]


def test_sample_weights_that_are_not_given_are_named():
    weights = RNG.uniform(0.5, 2.0, len(X))
    model = sx.LinearSVM().fit(X, Y, weights)
    found = examine(model, X, Y)
    assert found.proved
    assert any("sample weights" in each for each in found.not_proved)
    known = examine(model, X, Y, weights)
    assert known.proved
    assert not any("sample weights" in each for each in known.not_proved)
    assert not examine(model, X, Y, weights[::-1]).proved


def test_probabilities_of_other_slopes_are_refused():
    model = sx.LinearSVM(probability=True).fit(X, Y)
    assert prove_model(model, X, Y)[0]

    def change(header):
        header["fitted"]["_calibration"]["fields"]["above"]["hex"] = (9.0).hex()

    assert not prove_model(resealed(model, change), X, Y)[0]


@pytest.mark.long
@COMPILED_ONLY
def test_every_kind_of_model_with_a_value_altered():
    count, faults = altered_models.run(share=1 if ALL else 120)
    assert count > 100
    assert faults == []
