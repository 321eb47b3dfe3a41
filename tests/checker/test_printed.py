"""What is printed as proved is what was checked, and all of it."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.checker.claims import proved

import separatrix as sx
from separatrix.checker import NO_INTERCEPT, Data, Refused
from separatrix.checker.__main__ import main
from separatrix.checker.exact import at_least, at_most
from separatrix.storage.certificate_files import prove_again

PAIR = Data([([0], [1.0]), ([0], [2.0])], [0, 1], 1, 2, ("0", "1"))


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


def printed(tmp_path, capsys, model, y=(0, 1, 1)):
    """What the checker prints of a fitted model's certificate."""
    X = np.array([[1.0], [2.0], [4.0]])
    (tmp_path / "c.json").write_text(model.fit(X, np.array(y)).certificate_.to_json())
    rows = "".join(f"{k} 1:{x}\n" for k, x in zip(y, X.ravel(), strict=True))
    (tmp_path / "d.libsvm").write_text(rows)
    assert main([str(tmp_path / "c.json"), str(tmp_path / "d.libsvm")]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (
            sx.LogisticRegression(2.0, intercept_penalty=0.5),
            "loss logistic, costs 2.0, ridge 1.0, bias penalty 0.5, positive class '1'",
        ),
        (
            sx.LogisticRegression(0.5, l1_ratio=1.0, class_weight={0: 1, 1: 2}),
            "loss logistic, costs 0.5 to 1.0, l1 1.0, ridge 0.0, positive class '1'",
        ),
        (sx.LeastSquares(ridge=3.0), "ridge 3.0"),
    ],
)
def test_what_the_objective_is_made_of_is_printed(tmp_path, capsys, model, line):
    assert f"\nmodel: {line}\nproved: " in printed(tmp_path, capsys, model)


@pytest.mark.parametrize(("y", "models"), [((0, 1, 1), 1), ((0, 1, 2), 3)])
def test_every_model_of_divided_columns_is_printed(tmp_path, capsys, y, models):
    said = printed(tmp_path, capsys, sx.SGD(tol=0.9), y)
    assert said.count("model: loss ") == models


def test_a_ridge_is_part_of_what_is_least(tmp_path, capsys):
    """With a ridge of 1e300 weights of 0 were said to make the least squared error."""
    model = sx.LeastSquares(ridge=1e300)
    assert "the squared error plus 1e+300 |w|^2, at most" in printed(tmp_path, capsys, model)
    assert "the squared error plus 1e+300 |w|^2 is within" in str(model.certificate_)


@pytest.mark.parametrize(
    ("values", "lower", "upper", "words"),
    [
        ((7, 7, 7), (-1.0,), (-5.0,), "fewer ratios than bounds"),
        ((1, 2, 4), (-1.0,), (99.0,), "below 0"),
        ((1, 2, 4), (99.0,), (98.0,), "cross"),
        ((1, 2, 4), (0.0, 0.0), (99.0, 99.0), "fewer ratios than bounds"),
    ],
)
def test_ratios_are_there_and_their_bounds_in_order(values, lower, upper, words):
    """Of a column that does not vary a ratio of at least -1 and at most -5 was proved."""
    rows = [([0], [float(x) + bump]) for x in values for bump in (0, x != 7)]
    data = Data(rows, [0, 0, 1, 1, 2, 2], 1, 3, ("0", "1", "2"))
    zero = ["0x0p+0"]
    claim = {"weights": [zero] * 3, "moved": (1e9).hex(), "directions": [["0x1p+0"]] * len(lower)}
    claim |= {"lower": [x.hex() for x in lower], "upper": [x.hex() for x in upper]}
    with pytest.raises(Refused, match=words):
        proved(data, "fisher-directions", claim)


@pytest.mark.parametrize(
    "value", [5e-324, 1e-310, -3e-320, Fraction(1, 10**400), Fraction(10**400)]
)
def test_bounds_at_the_edge_of_floats_are_printed_outwards(value):
    """The least float above 0 was printed as a lower bound above itself."""
    for digits in (2, 9, 12):
        low, high = (Fraction(Decimal(said(value, digits))) for said in (at_least, at_most))
        assert low <= Fraction(value) <= high
        assert high - low <= abs(Fraction(value)) / 10 ** (digits - 1)
    assert at_most(1.7e308, 1) == "2e+308"
    assert at_least(float("inf"), 3) == "inf"
