"""What users see of a verdict."""

import json
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused
from separatrix.core.separability import Witness, as_floats
from separatrix.errors import SeparationWarning

SQUARE = np.array([[0, 0], [1, 1], [0, 1], [1, 0.0]])
CROSSED = ["no", "no", "yes", "yes"]


def test_overlap_names_rows_and_integers():
    verdict = sx.separability(SQUARE, CROSSED)
    assert verdict.kind == "overlapping"
    assert verdict.witness.rows == (0, 1, 2, 3)
    assert verdict.witness.multipliers == (1, 1, 1, 1)
    assert all(type(m) is int for m in verdict.witness.multipliers)
    assert (verdict.weights, verdict.intercept, verdict.margin) == (None, None, None)
    assert verdict.infinite.tolist() == [0.0, 0.0, 0.0]
    assert "Rows 0, 1, 2 and 3 cannot be separated: 1 x row 0 + 1 x row 1" in str(verdict)


def test_long_multipliers_are_left_to_the_certificate():
    said = str(Witness((883, 2, 7), (10**71, 3, 10**20)))
    assert said.startswith("Rows 883, 2 and 7 cannot be separated: positive whole multiples")
    assert "of up to 71 digits" in said
    assert "1e71" not in said
    assert str(Witness((3, 7), (1, 9999999))).endswith("1 x row 3 + 9999999 x row 7 = 0")


def test_two_identical_points_are_a_witness_of_two():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.sign(X[:, 0])
    X[7], y[3], y[7] = X[3], 1, -1
    verdict = sx.separability(X, y)
    assert verdict.kind != "separable"
    assert verdict.witness.rows == (3, 7)
    assert verdict.witness.multipliers == (1, 1)


def test_separable_gives_a_margin_that_is_met():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    verdict = sx.separability(X, [0, 0, 1, 1])
    signs = np.array([-1, -1, 1, 1])
    distances = signs * (X @ verdict.weights + verdict.intercept) / np.linalg.norm(verdict.weights)
    assert verdict.kind == "separable"
    assert distances.min() == pytest.approx(verdict.margin)
    assert verdict.margin == pytest.approx(1.0)
    assert verdict.witness is None


def test_quasi_separation_names_the_boundary_and_the_infinite_coefficient():
    X = np.array([[0, 1.0], [0, 2.0], [0, 1.5], [0, 0.5], [1, 3.0]])
    y = [0, 1, 0, 1, 1]
    verdict = sx.separability(X, y)
    assert verdict.kind == "quasi-separable"
    assert verdict.boundary.tolist() == [0, 1, 2, 3]
    assert verdict.infinite.tolist() == [0.0, np.inf, 0.0]


@pytest.mark.parametrize("kind", ["separable", "quasi-separable"])
def test_a_bias_that_no_proof_looks_at_is_refused(kind):
    """Without an intercept the exact margins leave it out; the second has integer weights."""
    X, y = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1, 1, 0]
    if kind == "separable":
        X, y = [[-1.0], [1.0]], [0, 1]
    verdict = sx.separability(X, y, False)
    assert verdict.kind == kind
    whole = json.loads(verdict.to_json())
    whole |= {"margin": None, "widest": None, "infinite": None}
    whole["sentence"] = sx.Verdict.from_json(json.dumps(whole)).in_words()
    assert sx.Verdict.from_json(json.dumps(whole)).check(X, y)
    whole["intercept"], claim = (5.0).hex(), whole["certificate"]["claim"]
    if kind == "separable":
        claim["weights"][0][0] = (5.0).hex()
    else:
        claim["integers"] = ["0x5", "0x1", "0x0"]
        bias, *weights = as_floats((5, 1, 0)).tolist()
        whole |= {"intercept": bias.hex(), "weights": [weight.hex() for weight in weights]}
    assert from_json(whole["certificate"]).check(X, y)
    assert not sx.Verdict.from_json(json.dumps(whole)).check(X, y)


@pytest.mark.parametrize("labels", [CROSSED, [0, 0, 0, 1], [0, 1, 1, 1]])
def test_json_keeps_everything(labels):
    verdict = sx.separability(SQUARE, labels)
    again = sx.Verdict.from_json(verdict.to_json())
    assert again.kind == verdict.kind
    assert again.witness == verdict.witness
    assert again.margin == verdict.margin
    assert np.array_equal(again.infinite, verdict.infinite, equal_nan=True)
    assert (again.weights is None) == (verdict.weights is None)
    assert again.check(SQUARE, labels)
    assert again.to_json() == verdict.to_json()


def test_a_verdict_that_was_tampered_with_is_refused():
    text = sx.separability(SQUARE, CROSSED).to_json()
    whole = json.loads(text)
    whole["kind"] = "separable"
    assert not sx.Verdict.from_json(json.dumps(whole)).check(SQUARE, CROSSED)
    whole = json.loads(text)
    whole["witness"]["multipliers"][0] = "0x2"
    assert not sx.Verdict.from_json(json.dumps(whole)).check(SQUARE, CROSSED)
    whole = json.loads(text)
    whole["witness"]["rows"] = [0, 1, 2, 2]
    assert not sx.Verdict.from_json(json.dumps(whole)).check(SQUARE, CROSSED)
    assert not accepted(json.loads(text) | {"witness": None}, SQUARE, CROSSED)
    with pytest.raises(ValueError, match="not a verdict"):
        sx.Verdict.from_json("{}")


@pytest.mark.parametrize(
    ("said", "holds"), [("inf", True), ("unknown", True), ("open", False), ("-inf", False)]
)
def test_a_sign_that_took_too_long_is_no_false_claim(said, holds):
    """Another machine may have had the time: what is checked is that the coefficient runs."""
    X = np.array([[0, 1.0], [0, 2.0], [0, 1.5], [0, 0.5], [1, 3.0]])
    y = [0, 1, 0, 1, 1]
    whole = json.loads(sx.separability(X, y).to_json())
    assert whole["infinite"] == ["0.0", "inf", "0.0"]
    whole["infinite"][1] = said
    assert sx.Verdict.from_json(json.dumps(whole)).check(X, y) == holds
    whole["infinite"][2] = "unknown"  # a finite one does not run
    assert not sx.Verdict.from_json(json.dumps(whole)).check(X, y)


def test_a_verdict_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="kind"):
        bool(sx.separability(SQUARE, CROSSED))


def test_sparse_dense_and_float32_agree():
    X = np.round(np.random.default_rng(1).normal(size=(40, 5)), 1)
    y = (X[:, 0] > 0.3).astype(int)
    y[:3] = 1 - y[:3]
    kinds = {
        sx.separability(store(X), y).kind
        for store in (np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array)
    }
    assert len(kinds) == 1
    assert sx.separability(X.astype(np.float32), y).certificate.check(X.astype(np.float32), y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[1.0], [2.0]], [0, 0], "two classes"),
        ([[1.0], [2.0], [3.0]], [0, 1, 2], "Only binary"),
        ([[np.nan], [2.0]], [0, 1], "NaN"),
        ([["a"], ["b"]], [0, 1], "number"),
    ],
)
def test_bad_data_are_refused_in_words(X, y, words):
    with pytest.raises(ValueError, match=words):
        sx.separability(X, y)


def test_decimal_decides_on_what_was_written():
    """On the line x0 + x1 = 0.3 as written; off it as stored, since 0.1 + 0.2 is not 0.3."""
    X = np.array([[0.1, 0.2], [0.3, 0.0], [0.0, 0.3], [0.2, 0.1]])
    y = [0, 1, 1, 0]
    written, stored = sx.separability(X, y, decimal=True), sx.separability(X, y)
    assert written.kind == "overlapping"
    assert written.check(X, y)
    assert stored.check(X, y)
    if stored.kind != written.kind:
        assert stored.kind in written.note


def test_decimal_refuses_what_is_no_short_decimal():
    with pytest.raises(ValueError, match="too many digits"):
        sx.separability([[1e-300], [1.0]], [0, 1], decimal=True)


def test_separation_warning_names_the_coefficients():
    verdict = sx.separability([[0, 1.0], [0, 2.0], [0, 1.5], [0, 0.5], [1, 3.0]], [0, 1, 0, 1, 1])
    warning = SeparationWarning.about(verdict, ["treated", "dose"])
    assert warning.names == ("treated",)
    assert "treated +inf" in str(warning)
    assert warning.verdict is verdict
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(warning, stacklevel=1)
    assert caught[0].category is SeparationWarning


def test_not_separable_error_carries_the_witness():
    witness = sx.separability(SQUARE, CROSSED).witness
    error = sx.NotSeparableError("no", witness)
    assert pickle.loads(pickle.dumps(error)).witness == witness


def test_the_margin_is_the_largest_with_a_proved_bracket():
    rng = np.random.default_rng(0)
    for d, intercept in ((2, True), (6, True), (3, False)):
        X = rng.normal(size=(60, d))
        y = X[:, 0] > 0
        X[:, 0] += np.where(y, 0.3, -0.3)
        verdict = sx.separability(X, y, fit_intercept=intercept)
        widest = sx.LinearSVM(C=np.inf, fit_intercept=intercept, tol=1e-9).fit(X, y)
        largest = 1.0 / np.linalg.norm(widest.coef_)
        low, high = verdict.margin_bounds
        assert low == verdict.margin <= largest * (1 + 1e-9)
        assert largest * (1 - 1e-9) <= high <= low * (1 + 1e-4)
        assert "largest margin" in str(verdict)
        again = sx.Verdict.from_json(verdict.to_json())
        assert again.margin_bounds == verdict.margin_bounds
        assert again.check(X, y)
        whole = json.loads(verdict.to_json())
        for margin, bound in ((low, 0.99 * low), (low * (1 + 1e-9), high * (1 + 1e-9))):
            whole["margin"] = whole["widest"]["low"] = margin.hex()
            whole["widest"]["high"] = bound.hex()
            assert not accepted(whole, X, y)


@pytest.mark.parametrize("share", [1 + 1e-12, 1 + 1e-9, 1 + 9e-7, 2.0, 0.5, 0.0, -1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_margin_from_a_file_is_at_most_the_exact_one(share, intercept):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 0.3, -0.3)
    whole = json.loads(sx.separability(X, y, fit_intercept=intercept).to_json())
    assert accepted(whole, X, y)
    margin = float.fromhex(whole["margin"])
    whole["margin"] = whole["widest"]["low"] = (margin * share).hex()
    assert not accepted(whole, X, y)
    whole["widest"] = None
    assert not accepted(whole, X, y)


def test_what_a_file_says_is_not_called_proved():
    verdict = sx.separability([[0.0], [1.0], [3.0]], ["a", "b", "b"])
    again = sx.Verdict.from_json(verdict.to_json())
    assert "proved" in str(verdict)
    assert str(again).startswith("Claimed by a file. Separable")
    assert "proved" not in str(again)
    assert again.in_words() == str(verdict)
    assert again.check([[0.0], [1.0], [3.0]], ["a", "b", "b"])
    assert str(pickle.loads(pickle.dumps(again))) == str(again)
    assert again.to_json() == verdict.to_json()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", ["separable"]),
        ("kind", "proved"),
        ("rows", "3"),
        ("classes", "ab"),
        ("weights", {"a": 1}),
        ("intercept", "0.5"),
        ("margin", "0x1p99999"),
        ("margin", "nan"),
        ("widest", [1]),
        ("widest", {"low": "0x1p-1"}),
        ("witness", 3),
        ("witness", {"rows": [1e400], "multipliers": []}),
        ("witness", {"rows": [], "multipliers": []}),
        ("boundary", [2**70]),
        ("boundary", [[1]]),
        ("infinite", ["inf", None]),
        ("infinite", "inf"),
        ("note", 5),
        ("certificate", []),
        ("proved", True),
    ],
)
def test_a_field_that_does_not_fit_is_refused(name, value):
    whole = json.loads(sx.separability([[0.0], [1.0], [3.0]], ["a", "b", "b"]).to_json())
    with pytest.raises(Refused):
        sx.Verdict.from_json(json.dumps(whole | {name: value}))
    del whole["certificate"]
    with pytest.raises(Refused, match="lacks 'certificate'"):
        sx.Verdict.from_json(json.dumps(whole))


def accepted(whole, X, y):
    """Whether a verdict is accepted with a sentence that follows from its other fields."""
    whole["sentence"] = sx.Verdict.from_json(json.dumps(whole)).in_words()
    return sx.Verdict.from_json(json.dumps(whole)).check(X, y)


def test_no_margin_is_shown_where_the_largest_is_not_known():
    rng = np.random.default_rng(0)
    X = sparse.random(600, 400, density=0.05, random_state=0, format="csr")
    y = np.asarray(X @ rng.normal(size=400)).ravel() > 0
    verdict = sx.separability(X, y)
    assert (verdict.kind, verdict.margin, verdict.margin_bounds) == ("separable", None, None)
    assert "margin" not in str(verdict)
