import json
import sys
from array import array
from fractions import Fraction

import numpy as np
import pytest
from tests.amounts import cases
from tests.naive import separation as naive
from tests.problems import as_sparse, problem

from separatrix import checker
from separatrix.certificates.separation import check_margin_bounds, check_separation
from separatrix.checker import Refused, check
from separatrix.checker.codec import same_label
from separatrix.checker.reading import number
from separatrix.problem.canonical import as_checker_data
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import KeslerProblem, SignedProblem
from separatrix.solvers.running.drive import solve
from separatrix.solvers.updates import kozinec, perceptron


def genuine(seed):
    """A problem, its exact data, and a true certificate of one of the two kinds."""
    kind = ["comfortable_margin", "separable_integers", "copied_columns"][seed % 3]
    case = problem(seed, kind=kind)
    signed = SignedProblem(case.X, case.y_signs)
    if seed % 2:
        state, _ = solve(kozinec, signed, 300)
        return case, as_checker_data(signed), check_margin_bounds(signed, state.w, state.alpha)
    state, _ = solve(perceptron, signed)
    return case, as_checker_data(signed), check_separation(signed, state.w)


def is_true(case, certificate):
    """Whether the claim happens to be true, by fractions."""
    claim = certificate["claim"]
    w = [float.fromhex(text) for text in claim["weights"][0]]
    if certificate["kind"] == "separation":
        return naive.separates(case.X, case.y_signs, w)
    alpha = np.zeros(len(case.X))
    for row, multiplier in zip(claim["rows"], claim["multipliers"], strict=True):
        alpha[row] = float.fromhex(multiplier)
    lower, upper = float.fromhex(claim["lower"]), float.fromhex(claim["upper"])
    return naive.margin_bounds_hold(case.X, case.y_signs, w, alpha, lower, upper)


def flip_bit(rng, text):
    """Flip one bit of a float64 written in hexadecimal."""
    bits = np.array(float.fromhex(text)).view(np.uint64) ^ np.uint64(1 << int(rng.integers(64)))
    return float(bits.view(np.float64)).hex()


def forge(rng, case, certificate):
    """Return a forged certificate and the data it is shown with; None: the data as they are."""
    forged = json.loads(json.dumps(certificate))
    claim = forged["claim"]
    how = rng.integers(7)
    if how == 0:
        at = rng.integers(len(claim["weights"][0]))
        claim["weights"][0][at] = flip_bit(rng, claim["weights"][0][at])
    elif how == 1:
        claim["weights"] = [[(-float.fromhex(v)).hex() for v in claim["weights"][0]]]
    elif how == 2:
        forged["data"]["intercept"] = False
    elif how == 3 and "lower" in claim:
        which = ["lower", "upper"][rng.integers(2)]
        factor = rng.choice([0.5, 1 - 1e-12, 1 + 1e-12, 2.0])
        claim[which] = float(float.fromhex(claim[which]) * factor).hex()
    elif how == 4 and "rows" in claim:
        at = rng.integers(len(claim["rows"]))
        claim["multipliers"][at] = flip_bit(rng, claim["multipliers"][at])
    elif how == 5:
        other = problem(int(rng.integers(10**6)), kind="comfortable_margin")
        signed = SignedProblem(other.X, other.y_signs)
        if rng.integers(2):
            about = {
                "sha256": fingerprint(signed),
                "rows": len(other.X),
                "features": other.X.shape[1],
            }
            forged["data"] |= about
        return forged, other
    else:
        signs = case.y_signs.copy()
        at = rng.integers(len(signs))
        signs[at] = -signs[at]
        swapped = type(case)(case.X, signs, case.name, case.kind, None, False)
        if rng.integers(2):
            forged["data"]["sha256"] = fingerprint(SignedProblem(case.X, signs))
        return forged, swapped
    return forged, case


def truth(case, forged, signed):
    """What an honest checker must say of a certificate shown with these data."""
    if forged["data"]["sha256"] != fingerprint(signed):
        return False
    if len(forged["claim"]["weights"][0]) != signed.dimension:
        return False
    numbers = [float.fromhex(v) for v in forged["claim"]["weights"][0]]
    numbers += [float.fromhex(v) for v in forged["claim"].get("multipliers", [])]
    numbers += [
        float.fromhex(forged["claim"][k]) for k in ("lower", "upper") if "lower" in forged["claim"]
    ]
    if not np.isfinite(numbers).all():
        return False
    if any(row >= len(case.X) for row in forged["claim"].get("rows", [])):
        return False
    if forged["data"]["intercept"] is False:
        return None  # another true or false claim: settled below by the homogeneous data
    return is_true(case, forged)


def test_genuine_certificates_are_accepted():
    for seed in cases(10_000):
        _, data, proof = genuine(seed)
        assert check(json.loads(proof.to_json()), data)


def test_forged_certificates_are_refused():
    refused = seed = 0
    wanted = len(cases(10_000))
    while refused < wanted:
        case, _, proof = genuine(seed)
        rng = np.random.default_rng(seed)
        seed += 1
        for _ in range(4):
            forged, shown = forge(rng, case, json.loads(proof.to_json()))
            signed = SignedProblem(shown.X, shown.y_signs)
            is_so = truth(shown, forged, signed)
            if is_so is None:
                w = [float.fromhex(v) for v in forged["claim"]["weights"][0]]
                is_so = naive.separates(shown.X, shown.y_signs, [0.0, *w[1:]])
                if forged["kind"] != "separation":
                    continue
            try:
                check(forged, as_checker_data(signed))
                accepted = True
            except Refused:
                accepted = False
            assert accepted == is_so, (seed, forged["kind"])
            refused += not accepted


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c.pop("format"),
        lambda c: c.update(format="separatrix-certificate-2"),
        lambda c: c.update(kind="miracle"),
        lambda c: c.update(kind=["separation"]),
        lambda c: c["data"].pop("sha256"),
        lambda c: c["data"].update(intercept="yes"),
        lambda c: c["data"].update(intercept=1),
        lambda c: c["data"].update(rows=3),
        lambda c: c["data"].update(features=3),
        lambda c: c["data"].update(classes=["0"]),
        lambda c: c["data"].update(weather="fair"),
        lambda c: c["claim"].update(bonus=1),
        lambda c: c.update(note="trust me"),
        lambda c: c.update(claim=None),
        lambda c: c["claim"].update(weights=[]),
        lambda c: c["claim"].update(weights=[["0x1p0"]]),
        lambda c: c["claim"].update(weights=[["nan", "0x1p0", "0x1p0"]]),
        lambda c: c["claim"].update(weights=[["inf", "0x1p0", "0x1p0"]]),
        lambda c: c["claim"].update(weights=[["0x1p99999", "0x1p0", "0x1p0"]]),
        lambda c: c["claim"].update(weights=[[1.0, 2.0, 3.0]]),
        lambda c: c["claim"].update(rows=[0, 0]),
        lambda c: c["claim"].update(rows=[0, 99]),
        lambda c: c["claim"].update(rows=[0, -1]),
        lambda c: c["claim"].update(rows=[0]),
        lambda c: c["claim"].update(multipliers=["-0x1p0", "0x1p0"]),
        lambda c: c["claim"].update(multipliers=["0x0p0", "0x0p0"]),
        lambda c: c["claim"].update(lower="inf"),
        lambda c: c["claim"].update(upper="0x0p0"),
        lambda c: c["claim"].update(upper="-0x1p9"),
        lambda c: c["claim"].update(weights=[["0x0p0", "0x0p0", "0x0p0"]], lower="0x1p0"),
        lambda c: c["claim"].update(weights=[["0x0p0", "0x0p0", "0x0p0"]], lower="0x0p0"),
        lambda c: c["claim"].update(lower="-0x1p0", upper="-0x1p1"),
        lambda c: c["claim"].pop("lower"),
    ],
)
def test_a_damaged_certificate_is_refused_and_nothing_else_is_raised(damage):
    X, signs = np.array([[1.0, 0.0], [-1.0, 0.5]]), np.array([1.0, -1.0])
    signed = SignedProblem(X, signs)
    proof = check_margin_bounds(signed, np.array([0.0, 1.0, 0.0]), np.array([0.5, 0.5]))
    certificate = json.loads(proof.to_json())
    assert check(certificate, as_checker_data(signed))
    damage(certificate)
    with pytest.raises(Refused):
        check(certificate, as_checker_data(signed))


def test_many_classes():
    X, codes = np.array([[9.0, 0.0], [0.0, 9.0], [-9.0, -9.0]]), np.array([0, 1, 2])
    problem = KeslerProblem(X, codes, 3)
    w = np.array([[0.0, 1, 0], [0, 0, 1], [0, -1, -1]])
    proof = check_separation(problem, w.ravel())
    assert proof.holds
    assert check(json.loads(proof.to_json()), as_checker_data(problem))
    bad = check_separation(problem, np.zeros(9))
    assert not bad.holds
    with pytest.raises(Refused, match="signed row 0"):
        check(json.loads(bad.to_json()), as_checker_data(problem))


def whole_certificate(data, kind, claim, intercept=True):
    name = data.fingerprint("")  # of version 0.1, which rows in disorder have too
    about = {"sha256": name, "intercept": intercept, "rows": len(data.rows)}
    about |= {"features": data.n_features, "classes": [str(k) for k in range(data.n_classes)]}
    return {"format": checker.FORMAT, "kind": kind, "data": about, "claim": claim}


def is_accepted(data, kind, claim, intercept=True):
    try:
        return bool(check(whole_certificate(data, kind, claim, intercept), data))
    except Refused:
        return False


def test_bounds_that_are_attained_hold_and_no_tighter_ones():
    """Both rows are (3/2, 2), so every margin bound can be checked in the head: 5/2."""
    X, signs = np.array([[1.5, 2.0], [-1.5, -2.0]]), np.array([1.0, -1.0])
    data = as_checker_data(SignedProblem(X, signs, False))
    attained = {
        "weights": [["0x0p0", (0.375).hex(), (0.5).hex()]],
        "lower": (2.5).hex(),
        "upper": (2.5).hex(),
        "rows": [0, 1],
        "multipliers": [(1.0).hex(), (2.0).hex()],
    }
    below, above = float(np.nextafter(2.5, 0.0)), float(np.nextafter(2.5, 9.0))
    for changes, is_true in [
        ({}, True),
        ({"lower": below.hex(), "upper": above.hex()}, True),
        ({"multipliers": ["0x1p0", "0x0p0"]}, True),
        ({"weights": [["0x0p0", (-0.375).hex(), (-0.5).hex()]], "lower": (-2.5).hex()}, True),
        ({"weights": [["0x0p0", (-0.375).hex(), (-0.5).hex()]], "lower": (-2.4).hex()}, False),
        ({"lower": above.hex(), "upper": (3.0).hex()}, False),
        ({"upper": below.hex(), "lower": (2.0).hex()}, False),
        ({"upper": below.hex(), "lower": (2.0).hex(), "multipliers": ["0x1p-2"] * 2}, False),
        ({"multipliers": ["0x1p1", "-0x1p0"]}, False),
        ({"weights": [["0x0p0"] * 3], "lower": (-1.0).hex()}, False),
    ]:
        assert is_accepted(data, "margin-bounds", attained | changes, False) == is_true, changes


def test_bounds_of_many_classes():
    rng = np.random.default_rng(5)
    X = np.array([[9.0, 0.5], [0.0, 9.0], [-9.0, -9.0], [7.0, 1.0], [1.0, 8.0], [-8.0, -7.0]])
    problem = KeslerProblem(X, np.array([0, 1, 2, 0, 1, 2]), 3)
    w = np.array([[0.25, 1, 0], [0, 0.5, 1], [0, -1, -1]])
    for _ in range(3):
        alpha = rng.integers(1, 5, size=12) * (rng.random(12) < 0.7) / 4.0
        alpha[-1] = 1.0
        proof = check_margin_bounds(problem, w.ravel(), alpha)
        data, claim = as_checker_data(problem), json.loads(proof.to_json())["claim"]
        assert proof.holds
        assert is_accepted(data, "margin-bounds", claim)
        for name, factor in (("lower", 1 + 1e-9), ("upper", 1 - 1e-9)):
            moved = float(float.fromhex(claim[name]) * factor).hex()
            assert not is_accepted(data, "margin-bounds", claim | {name: moved})
        assert not is_accepted(data, "margin-bounds", claim | {"rows": [12, *claim["rows"][1:]]})


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        ([([0], [1.0]), ([0], [-1.0])], [1]),  # a label is missing
        ([([0], [1.0])], [1, 0]),  # a row is missing
        ([([0], [1.0, 1.0]), ([0], [-1.0])], [1, 0]),  # a column is missing
        ([([0, 1], [1.0]), ([0], [-1.0])], [1, 0]),  # a value is missing
    ],
)
def test_data_that_do_not_fit_together_prove_nothing(rows, codes):
    data = checker.Data(rows, codes, 2, 2)
    assert not is_accepted(data, "separation", {"integers": ["0x0", "0x1", "0x0"]})
    pair = {"rows": [0, 1], "multipliers": ["0x1", "0x1"]}
    assert not is_accepted(data, "gordan", pair)


def test_values_without_columns_are_not_left_out_of_a_sum():
    data = checker.Data([([0], [1.0, 5.0]), ([0], [1.0])], [1, 0], 2, 2)
    assert not is_accepted(data, "gordan", {"rows": [0, 1], "multipliers": ["0x1", "0x1"]})


def test_the_fingerprint_does_not_depend_on_storage():
    for seed in cases(200):
        case = problem(seed)
        dense = SignedProblem(case.X, case.y_signs)
        stored_zero = as_sparse(case.X, np.int64)
        stored_zero.data[: len(stored_zero.data) // 2] *= 1.0
        sparse = SignedProblem(stored_zero, case.y_signs)
        assert fingerprint(dense) == fingerprint(sparse) == as_checker_data(dense).fingerprint()
        assert as_checker_data(sparse).fingerprint() == fingerprint(dense)
        signs = -case.y_signs
        assert fingerprint(SignedProblem(case.X, signs)) != fingerprint(dense)


def test_exact_integers():
    values = [0.1, -1e300, 5e-324, 0.0, -0.0, 3.0]
    numbers, exponent = checker.integers(values)
    assert [Fraction(n) * Fraction(2) ** exponent for n in numbers] == [Fraction(v) for v in values]
    assert checker.integers([]) == ([], 0)


@pytest.mark.parametrize("like", ["2-", ""])
def test_the_fingerprint_is_of_little_endian_numbers_on_any_machine(monkeypatch, like):
    """A machine of the other byte order holds numbers the other way round, and turns them."""
    data = checker.Data([([0, 1], [0.5, -3.0]), ([], [])], [1, 0], 2, 2)
    known = data.fingerprint(like)
    monkeypatch.setattr(sys, "byteorder", "big" if sys.byteorder == "little" else "little")
    assert data.fingerprint(like) != known  # turned
    monkeypatch.setattr("separatrix.checker.exact.array", Turned)
    assert data.fingerprint(like) == known  # and turned again


class Turned(array):
    """Numbers as a machine of the other byte order holds them."""

    def tobytes(self):
        """Return the bytes of each number, turned."""
        copy = array(self.typecode, self)
        copy.byteswap()
        return copy.tobytes()


def test_labels_and_decimals_of_a_file():
    assert same_label("+1", "1.0")
    assert not same_label("spam", "ham")
    assert number("0.125", 3) == 125.0
    for text in ("0.5", "1e17"):
        with pytest.raises(Refused, match="not an integer"):
            number(text, 0)
