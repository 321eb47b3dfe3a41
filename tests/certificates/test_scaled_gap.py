"""The proof of machines on divided columns, as JSON and back; and what is refused."""

import copy
import json
import warnings

import numpy as np
import pytest

import separatrix as sx
from separatrix.certificates.duality_gap import ScaledGap
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused, check
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.storage.certificate_files import prove_again
from separatrix.storage.model_proof import prove_model


def fitted(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) * [100.0, 1.0, 0.01]
    y = np.digitize(X[:, 0] / 100.0 + rng.normal(size=80), [0.0] if n_classes == 2 else [-0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sx.SGD(max_passes=5, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_there_and_back(n_classes):
    machine, X, y = fitted(n_classes)
    proof = machine.certificate_
    assert isinstance(proof, ScaledGap)
    again = from_json(proof.to_json(), "scaled-gap")
    assert again.to_json() == proof.to_json()
    assert again.gap == proof.gap
    assert again.check(X, y)
    assert "divided by a power of two" in prove_again(json.loads(proof.to_json()), X, y)
    other = X.copy()
    other[3, 1] *= 2.0
    assert not again.check(other, y)
    assert not again.check(X[:, :2], y)


def test_columns_that_the_division_rounds_are_refused():
    machine, X, y = fitted(2)
    small = X.copy()
    small[0, 0] = 2.0**-1074 * 3.0
    proof = machine.certificate_
    exponents = np.full(3, 1)
    divided = np.ldexp(small, -exponents)  # 1.5 times the least number: rounded to 2 of them
    inner = sx.LinearSVM(C=1.0).fit(divided, y).certificate_
    assert inner.check(divided, y)
    assert not ScaledGap(exponents, inner).check(small, y)
    assert ScaledGap(exponents, inner).check(np.ldexp(divided, exponents), y)
    assert proof.check(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_weights_that_predict_are_those_proved(n_classes):
    machine, X, y = fitted(n_classes)
    assert prove_model(machine, X, y)[0]
    machine.coef_ = machine.coef_ * 2.0
    assert prove_model(machine, X, y) == (
        False,
        "coef_ of the model does not follow from its certificate and the data",
    )


@pytest.mark.parametrize(
    "forge",
    [
        lambda claim: claim["exponents"].append(0),
        lambda claim: claim.update(exponents=[1.5, 0, 0]),
        lambda claim: claim.update(exponents=[True, 0, 0]),
        lambda claim: claim.update(exponents=[10**9, 0, 0]),
        lambda claim: claim.update(machines=[]),
        lambda claim: claim.update(machines=3),
        lambda claim: claim["machines"][0].update(primal="0x1p+0", dual="nan"),
        lambda claim: claim["machines"][0].update(rows=[0.5]),
        lambda claim: claim["machines"][0].pop("weights"),
        lambda claim: claim.pop("exponents"),
    ],
)
def test_what_is_malformed_is_refused(forge):
    machine, _, _ = fitted(2)
    whole = json.loads(machine.certificate_.to_json())
    forge(whole["claim"])
    with pytest.raises(Refused):
        from_json(whole, "scaled-gap")


@pytest.mark.parametrize(
    "forge",
    [
        lambda claim: claim.update(exponents=[e + 1 for e in claim["exponents"]]),
        lambda claim: claim["machines"][0].update(primal=(1e-3).hex()),
        lambda claim: claim["machines"][0].update(dual=claim["machines"][0]["primal"]),
        lambda claim: claim["machines"][0].update(costs=[(0.5).hex()]),
    ],
)
def test_what_is_not_so_does_not_hold(forge):
    machine, X, y = fitted(2)
    whole = json.loads(machine.certificate_.to_json())
    forge(whole["claim"])
    assert not from_json(whole, "scaled-gap").check(X, y)


@pytest.mark.parametrize("kept", [[0], [1], [2], [0, 1], [2, 1, 0], [0, 1, 2, 2]])
def test_there_is_a_model_for_every_class(kept):
    """One of three was enough: the other two were proved by nobody."""
    machine, X, y = fitted(3)
    whole = json.loads(machine.certificate_.to_json())
    data = as_checker_data(problem_from(X, y, True))
    assert "divided" in check(whole, data)
    forged = copy.deepcopy(whole)
    forged["claim"]["machines"] = [whole["claim"]["machines"][k] for k in kept]
    assert not from_json(forged).check(X, y)
    with pytest.raises(Refused, match="one model, or one for each"):
        check(forged, data)
