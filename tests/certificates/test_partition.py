"""Genuine certificates are accepted, forged ones refused, by both checkers."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.degenerate import degenerate
from tests.forgeries import forge, hand_made

import separatrix as sx
from separatrix import checker
from separatrix.certificates.partition import Partition
from separatrix.certificates.reading import VERDICTS, from_json
from separatrix.checker import Refused
from separatrix.checker.__main__ import main
from separatrix.checker.codec import Claim
from separatrix.checker.kinds import CLAIMS, WITNESS
from separatrix.checker.separation import check_gordan, check_overlap, rank
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.exact_sums import column_sums, exact_margin_signs, modular_rank
from separatrix.problem.fingerprint import fingerprint

SEEDS = 120
FORGERIES = 6


def accepted_by_both(text, X, signs):
    """Ask both checkers; they must agree."""
    whole = json.loads(text)
    intercept = whole["data"]["intercept"]
    try:
        data = as_checker_data(problem_from(X, signs, bool(intercept)))
        plain = bool(checker.check(whole, data))
    except Refused:
        plain = False
    try:
        fast = from_json(whole, *VERDICTS).check(X, signs)
    except (Refused, ValueError, TypeError):
        fast = False
    return plain, fast


def test_genuine_certificates_are_accepted():
    kinds = set()
    for seed in range(SEEDS):
        X, signs, fit_intercept = degenerate(seed)
        proof = sx.separability(X, signs, fit_intercept=fit_intercept).certificate
        assert accepted_by_both(proof.to_json(), X, signs) == (True, True), seed
        kinds.add(json.loads(proof.to_json())["kind"])
    assert kinds == {"separation", "quasi", "overlap"}


def test_forged_certificates_are_refused():
    rng = np.random.default_rng(0)
    ways = set()
    for seed in range(SEEDS):
        X, signs, fit_intercept = degenerate(seed)
        text = sx.separability(X, signs, fit_intercept=fit_intercept).certificate.to_json()
        for _ in range(FORGERIES):
            way, forged = forge(json.loads(text), rng)
            assert accepted_by_both(json.dumps(forged), X, signs) == (False, False), (seed, way)
            ways.add(way)
    assert len(ways) >= 12


@pytest.mark.parametrize("which", range(len(hand_made())))
def test_claims_that_a_single_line_refuses(which):
    whole, data, genuine = hand_made()[which]
    if genuine:
        assert checker.check(whole, data)
    else:
        with pytest.raises(Refused):
            checker.check(whole, data)


def test_the_verdict_refuses_other_data():
    X, signs, _ = degenerate(13)
    verdict = sx.separability(X, signs)
    assert verdict.check(X, signs)
    moved = X.copy()
    moved[0, 0] += 1.0
    assert not verdict.check(moved, signs)
    assert not verdict.check(X, -signs)


@pytest.mark.parametrize(
    ("rows", "multipliers", "reason"),
    [
        ([0, 1, 2], ["0x1", "0x1", "0x1"], "sum to zero"),
        ([0, 1, 2, 3], ["0x1", "0x1", "0x1", "-0x1"], "positive"),
        ([0, 1, 2, 3], ["0x1", "0x1", "0x1"], "one length"),
        ([0, 1, 2, 3, 3], ["0x1", "0x1", "0x1", "0x1", "0x1"], "twice"),
        ([0, 1, 2, 9], ["0x1", "0x1", "0x1", "0x1"], "no row"),
        ([], [], "positive"),
    ],
)
def test_a_gordan_witness_is_checked(rows, multipliers, reason):
    X, y = np.array([[0, 0], [1, 1], [0, 1], [1, 0.0]]), [0, 0, 1, 1]
    data = as_checker_data(problem_from(X, y, True))
    genuine = {"rows": [0, 1, 2, 3], "multipliers": ["0x1"] * 4}
    assert "no hyperplane" in check_gordan(data, Claim(genuine, "it", WITNESS), True)
    with pytest.raises(Refused, match=reason):
        check_gordan(data, Claim({"rows": rows, "multipliers": multipliers}, "it", WITNESS), True)


def test_rows_that_do_not_span_prove_no_overlap():
    """Two opposite rows cancel, and yet a third is off: the rank is what is missing."""
    X, y = np.array([[0.0], [0.0], [1.0]]), [0, 1, 1]
    problem = problem_from(X, y, True)
    claim = {"rows": [0, 1], "multipliers": ["0x1", "0x1"], "others": "0x0"}
    with pytest.raises(Refused, match="span"):
        check_overlap(as_checker_data(problem), Claim(claim, "it", CLAIMS["overlap"].fields), True)
    assert sx.separability(X, y).kind == "quasi-separable"


def test_rank_is_that_of_the_stored_numbers():
    rng = np.random.default_rng(1)
    for _ in range(60):
        X = rng.integers(-2, 3, size=(6, 5)) * 2.0 ** rng.integers(-80, 80, size=(6, 1))
        data = as_checker_data(problem_from(X, [0, 1, 0, 1, 0, 1], True))
        for intercept in (True, False):
            wide = np.column_stack([np.ones(6), X]) if intercept else X
            exact = np.linalg.matrix_rank(
                wide / np.abs(wide).max(axis=1, keepdims=True).clip(1e-99)
            )
            found = rank(data, range(6), intercept)
            assert found == modular_rank(X, intercept)
            if not intercept:
                assert found == exact


def test_exact_sums_at_every_scale():
    from fractions import Fraction

    rng = np.random.default_rng(2)
    for scale in (0, 40, 300):
        X = rng.normal(size=(7, 3)) * 10.0 ** rng.integers(-scale, scale + 1, size=(7, 3))
        signs = rng.choice([-1.0, 1.0], size=7)
        sums = [
            sum(Fraction(v) * int(s) for v, s in zip(column, signs, strict=True)) for column in X.T
        ]
        assert column_sums(X, signs) == [int(signs.sum()), *sums]
        w = [3, -(10**40), 7, 10**20]
        values = [
            int(s) * (3 + sum(Fraction(v) * k for v, k in zip(row, w[1:], strict=True)))
            for row, s in zip(X, signs, strict=True)
        ]
        expected = [(v > 0) - (v < 0) for v in values]
        assert exact_margin_signs(X, signs, w, True).tolist() == expected


def test_the_checker_runs_alone(tmp_path):
    lines = ["a,b,label", "0,0,no", "1,1,no", "0,1,yes", "1,0,yes"]
    (tmp_path / "xor.csv").write_text("\n".join(lines) + "\n")
    X = np.array([[0, 0], [1, 1], [0, 1], [1, 0.0]])
    whole = json.loads(sx.separability(X, ["no", "no", "yes", "yes"]).certificate.to_json())
    whole["data"] |= {"columns": ["a", "b"], "target": "label"}
    (tmp_path / "proof.json").write_text(json.dumps(whole))
    command = [sys.executable, "-m", "separatrix.checker", "proof.json", "xor.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1][:7]) == (0, "proved:")
    whole["claim"]["multipliers"][0] = "0x7"
    (tmp_path / "proof.json").write_text(json.dumps(whole))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1][:8]) == (1, "refused:")


def test_decimals_are_read_as_written(tmp_path):
    """0.1 + 0.2 = 0.3 is true of the decimals and false of the floats."""
    X = np.array([[0.1, 0.2], [0.3, 0.0], [0.0, 0.3]])
    y = [0, 1, 1]
    verdict = sx.separability(X, y, decimal=True)
    floats = sx.separability(X, y)
    assert verdict.check(X, y)
    assert floats.check(X, y)
    assert (verdict.kind == floats.kind) == (verdict.note == "")
    whole = json.loads(verdict.certificate.to_json())
    whole["data"] |= {"columns": ["a", "b"], "target": "y"}
    (tmp_path / "d.csv").write_text("a,b,y\n0.1,0.2,0\n0.3,0.0,1\n0.0,0.3,1\n")
    (tmp_path / "d.json").write_text(json.dumps(whole))
    assert main([str(tmp_path / "d.json"), str(tmp_path / "d.csv")]) == 0


@pytest.mark.parametrize("intercept", [-1, 0, 1, 2])
def test_an_intercept_that_is_no_bool_proves_nothing(intercept):
    """With -1 the rank asked for was too small: quasi-separable rows were proved to overlap."""
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 5.0]]), np.array([0, 1, 0, 1])
    assert sx.separability(X, y).kind == "quasi-separable"
    claim = Partition(
        kind="overlap",
        rows=(0, 1, 2),
        multipliers=(1, 2, 1),
        intercept=intercept,
        data_sha256=fingerprint(problem_from(X, y, intercept)),
        n_rows=4,
        n_features=2,
    )
    assert not claim.check(X, y)


def test_weights_of_a_partition_are_integers():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), [1, 1, 0]
    proof = sx.separability(X, y, False).certificate
    assert proof.check(X, y)
    assert not replace(proof, weights=tuple(map(np.int64, proof.weights))).check(X, y)


def _hidden(prime, other):
    """Ten plain points of the plane whose determinant is the product of two primes."""
    product, a = prime * other, 2 ** (prime.bit_length() // 2 + other.bit_length() // 2) + 11
    d = product // a + 1
    u, v = np.array([a, 1.0]), np.array([float(a * d - product), float(d)])
    X = np.array([0 * u, u + v, u, v, 2 * u, 2 * v, u + 2 * v, -u, -v, u - v])
    return X, [0, 0, 1, 1, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("primes", [(1327217909, 2**31 - 19), (1425089352415399837, 1)])
def test_a_determinant_built_against_the_primes_hides_no_rank(primes):
    """The points were undecided, or the stand-alone checker refused their proof."""
    X, y = _hidden(*primes)
    verdict = sx.separability(X, y)
    assert verdict.kind == "overlapping"
    assert verdict.check(X, y)
    data = as_checker_data(problem_from(X, y, True))
    checker.check(json.loads(verdict.certificate.to_json()), data)
    assert rank(data, range(10), True) == modular_rank(X, True) == 3
    assert rank(data, range(4, 6), False) == modular_rank(X[4:6], False) == 2
