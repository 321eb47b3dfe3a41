import warnings
from copy import copy

import numpy as np
import pytest
from tests import optional
from tests.kernel_direct import solved
from tests.storage.test_model_file import IRIS, X, fitted

import separatrix as sx
import separatrix.estimators._validate as placing
from separatrix.storage.model_file import has_proof
from separatrix.storage.model_proof import prove_model
from separatrix.storage.model_values import Packer, Unpacker


def shift_weights(model):
    model.coef_ = model.coef_ + 1e-12


def shift_intercept(model):
    model.intercept_ = model.intercept_ + 1e-12


def shift_shares(model):
    model.dual_coef_ = model.dual_coef_ * (1.0 + 1e-12)


def move_support(model):
    model.support_vectors_ = model.support_vectors_ + 1e-12


def other_kernel(model):
    model.kernel_ = type(model.kernel_)("linear")


def turn_directions(model):
    model.scalings_ = -model.scalings_


def shift_priors(model):
    model.priors_ = model.priors_[::-1] * [0.5, 1.0, 1.5]


def fewer_machines(model):
    model.dual_coef_ = model.dual_coef_[:1]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("svm", shift_weights),
        ("svm", shift_intercept),
        ("svm, direct", shift_weights),
        ("logistic, multinomial", shift_weights),
        ("svm, pairs", shift_intercept),
        ("kozinec", shift_weights),
        ("perceptron", shift_weights),
        ("least squares", shift_weights),
        ("fisher of two", shift_weights),
        ("fisher", shift_weights),
        ("fisher", turn_directions),
        ("fisher", lambda m: setattr(m, "intercept_", m.intercept_ * (1.0 + 1e-5))),
        ("plug-in", shift_weights),
        ("plug-in", shift_intercept),
        ("plug-in, full", shift_priors),
        ("kernel perceptron", shift_intercept),
        ("kernel perceptron", shift_shares),
        ("kernel perceptron", move_support),
        ("fewest errors", shift_weights),
        ("kernel, rbf", shift_intercept),
        ("kernel, rbf", shift_shares),
        ("kernel, rbf", move_support),
        ("kernel, poly", other_kernel),
        ("kernel, rbf", fewer_machines),
        ("one against the rest", lambda m: shift_weights(m.estimators_[0])),
        ("lifted", lambda m: shift_weights(m.steps[-1][1])),
    ],
)
def test_a_proof_of_other_weights_is_none(name, change):
    model, rows, labels = fitted(name)
    assert prove_model(model, rows, labels)[0]
    change(model)
    holds, sentence = prove_model(model, rows, labels)
    assert not holds
    assert sentence.endswith("of the model does not follow from its certificate and the data")


def test_models_without_a_proof_say_so():
    assert not has_proof(sx.Fisher(direction="means").fit(X, IRIS.target))
    assert not has_proof(sx.OneVsRest(sx.Fisher(direction="means")).fit(X, IRIS.target))
    assert has_proof(sx.OneVsRest(sx.LinearSVM()).fit(X, np.asarray(IRIS.target)))


def test_a_certificate_taken_from_a_wrapper_is_missed():
    model, rows, labels = fitted("one against the rest")
    model.certificates_ = model.certificates_[:2]
    assert not prove_model(model, rows, labels)[0]


def test_a_verdict_on_the_data_is_proved_whatever_the_weights(tmp_path):
    rows, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sx.save(sx.LinearProgramHalfspace().fit(rows, labels), tmp_path / "model.sx")
    model = sx.load(tmp_path / "model.sx")
    assert prove_model(model, rows, labels)[0]
    assert not prove_model(model, rows, np.array([0, 0, 1, 1]))[0]


def test_a_proof_that_gets_its_name_late_is_kept_with_it(tmp_path, monkeypatch):
    torch = optional.torch()
    rows, labels = torch.tensor(X), IRIS.target
    monkeypatch.setattr(placing, "_NAMED_AT_ONCE", 0)
    machine = sx.LogisticRegression().fit(rows, labels)
    sx.save(machine, tmp_path / "model.sx")
    kept = sx.load(tmp_path / "model.sx")
    assert kept.certificate_.data_sha256 == machine.certificate_.data_sha256
    assert prove_model(kept, X, labels)[0]


def test_a_model_file_keeps_the_proof_of_a_direct_kernel_machine():
    proof, rows, codes = solved(4)
    packer = Packer()
    kept = Unpacker(packer.arrays).unpack(packer.pack(proof, "certificate_"))
    assert kept.to_json() == proof.to_json()
    assert kept.check(rows, codes)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_proof_of_another_direct_kernel_machine_is_none(classes):
    rows, labels = X[: 50 * classes : 4], IRIS.target[: 50 * classes : 4]
    model = sx.KernelSVM(multi_class="direct").fit(rows, labels)
    assert prove_model(model, rows, labels)[0]
    for name, value in (
        ("kernel_", type(model.kernel_)("linear")),
        ("support_vectors_", model.support_vectors_ + 1e-9),
        ("dual_coef_", model.dual_coef_ * (1.0 + 1e-15)),
        ("dual_coef_", model.dual_coef_[:-1]),
        ("intercept_", model.intercept_ + 1e-9),
        ("multi_class", "ovr"),
        ("C", 2.0),
    ):
        other = copy(model)
        setattr(other, name, value)
        assert not prove_model(other, rows, labels)[0], name
    del model.support_
    assert not prove_model(model, rows, labels)[0]
