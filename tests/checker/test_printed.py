"""What is printed as proved is what was checked, and all of it."""

import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.checker import FORMAT, NO_INTERCEPT, Data, Refused, check
from separatrix.storage.certificate_files import prove_again

PAIR = Data([([0], [1.0]), ([0], [2.0])], [0, 1], 1, 2, ("0", "1"))


def proved(data, kind, claim, intercept=True):
    about = {"rows": len(data.rows), "features": data.n_features, "intercept": intercept}
    about |= {"classes": list(data.classes), "sha256": data.fingerprint()}
    return check({"format": FORMAT, "kind": kind, "data": about, "claim": claim}, data)


@pytest.mark.parametrize(
    ("kind", "claim"),
    [
        ("gordan", {"rows": [0, 1], "multipliers": ["0x2", "0x1"]}),
        ("overlap", {"rows": [0, 1], "multipliers": ["0x2", "0x1"], "others": "0x0"}),
        (
            "margin-bounds",
            {"weights": [["0x0p+0", "0x1p+0"]], "lower": "-0x1p+1", "upper": "0x0p+0"}
            | {"rows": [0, 1], "multipliers": ["0x1p+1", "0x1p+0"]},
        ),
    ],
)
def test_a_claim_without_intercept_says_so(kind, claim):
    """x = 1.5 separates these rows, and all hyperplanes were said not to."""
    assert proved(PAIR, kind, claim, intercept=False).endswith(NO_INTERCEPT)
    with pytest.raises(Refused):
        proved(PAIR, kind, claim)


@pytest.mark.parametrize("model", [sx.LinearSVM, sx.Kozinec, sx.LeastSquares, sx.Perceptron])
def test_the_library_says_that_there_is_no_intercept_once(model):
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), np.array([1, 1, 0, 0])
    for intercept in (True, False):
        fitted = model(fit_intercept=intercept).fit(X, y)
        said = prove_again(json.loads(fitted.certificate_.to_json()), X, y)
        for words in (said, str(fitted.certificate_)):
            assert words.count(NO_INTERCEPT) == (not intercept)


def test_every_class_without_intercept():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([0, 1, 2])
    proof = sx.LinearSVM(fit_intercept=False).fit(X, y).certificate_
    assert str(proof).endswith(NO_INTERCEPT)
