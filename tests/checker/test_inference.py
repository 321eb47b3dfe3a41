"""The checker's part for kind "inference": balls, tails, roots, and what it refuses."""

import copy
import json
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from fuzz.checker_agreement import by_checker, by_library
from tests.amounts import cases
from tests.inference_problems import METHODS, NAMES, drawn, recomputed
from tests.optional import shared_file

import separatrix as sx
from separatrix.certificates.reading import from_json
from separatrix.checker import Data, balls, check, inference


@pytest.fixture(scope="module")
def endometrial():
    whole = np.genfromtxt(shared_file("endometrial.csv"), delimiter=",", skip_header=1)
    X, y = whole[:, :3], whole[:, 3].astype(int)
    made = {m: json.loads(sx.inference(X, y, m).certificate.to_json()) for m in METHODS}
    return X, y, made


def ball(value):
    return balls.exact(Fraction(value))


def contains(found, value):
    low, high = balls.ends(found)
    return low <= Fraction(value) <= high


def test_balls_hold_the_exact_results():
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(50, 2)) * 10.0 ** rng.integers(-9, 9, (50, 2)):
        one, other = Fraction(a), Fraction(b)
        wide = balls.plus(ball(a), (0, 7))
        for got, want in (
            (balls.times(wide, ball(b)), one * other),
            (balls.over(wide, ball(b)), one / other),
            (balls.minus(wide, ball(b)), one - other),
            (balls.half(wide), one / 2),
            (balls.dot([wide, ball(b)], [ball(b), wide]), 2 * one * other),
        ):
            assert contains(got, want)
            assert got[1] < balls.ONE >> 300
    with pytest.raises(balls.NotProved):
        balls.over(ball(1), (5, 5))


def test_the_ends_of_wide_balls_are_kept():
    one = balls.ONE
    a, b = (3 * one, one), (2 * one, one)  # [2, 4] and [1, 3]
    for x in (2, 4):
        for y in (1, 3):
            assert contains(balls.times(a, b), x * y)
            assert contains(balls.over(a, b), Fraction(x, y))
            assert contains(balls.dot([a], [b]), x * y)


def test_positive_inverse_needs_a_positive_definite_matrix():
    whole = [[2, 1, 0], [1, 3, 1], [0, 1, 4]]
    found, pivots = balls.positive_inverse([[ball(v) for v in row] for row in whole])
    want = np.linalg.inv(np.array(whole, float))
    got = np.array([[balls.ends(x)[0] for x in row] for row in found], float)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert np.prod([float(balls.ends(p)[0]) for p in pivots]) == pytest.approx(18.0)
    with pytest.raises(balls.NotProved):
        balls.positive_inverse([[ball(v) for v in row] for row in [[1, 2], [2, 1]]])
    with pytest.raises(balls.NotProved):
        balls.near_inverse([[ball(v) for v in row] for row in [[1, 2], [2, 4]]])


def _lies_between(low, true, high):
    assert arb(low.numerator) / low.denominator < true < arb(high.numerator) / high.denominator


@pytest.mark.parametrize("value", [1e-30, 1e-6, 0.5, 3.84, 79.9, 80.1, 300.0, 1400.0, 9000.0])
def test_tails_hold_those_of_balls(value):
    low, high = inference.tail(Fraction(value))
    with ctx.workprec(1200):  # the bounds are narrower than balls of 300 bits
        _lies_between(low, (arb(value) / 2).sqrt().erfc(), high)
    assert high - low < Fraction(high, 10**20)


def test_the_quantile_is_that_of_the_level():
    low, high = inference.quantile(0.95, 3.841458820694124)
    assert low < Fraction(3.8414588206941245) + Fraction(1, 10**15)
    assert high - low < Fraction(1, 10**20)
    with pytest.raises(ValueError, match="not that of the level"):
        inference.quantile(0.95, 3.8414588207)


def alone(whole, j, name, pair):
    """Claim one number alone."""
    other = copy.deepcopy(whole)
    for each in other["claim"]["coefficients"]:
        each |= {key: [] for key in NAMES}
    other["claim"]["coefficients"][j][name] = [end.hex() for end in pair]
    other["claim"]["maximum"] = "local"
    return other


@pytest.mark.no_cover  # others reach the same lines sooner
@pytest.mark.parametrize("method", METHODS)
def test_bounds_are_divided_by_the_numbers_of_300_bits(method):
    """A claim as narrow as 1e-14 around the number holds; one beside it does not."""
    for seed in cases(2):
        X, y = drawn(seed + 1)
        found = sx.inference(X, y, method)
        if found.aliased:
            continue
        whole = json.loads(found.certificate.to_json())
        kept = list(range(len(found.names)))
        for name, j, number in recomputed(found, np.c_[np.ones(len(y)), X], y, kept):
            near = float(number.mid())
            if near == 0.0 or not whole["claim"]["coefficients"][j][name]:
                continue
            off = 1e-14 * abs(near)
            for pair, true in (
                ((near - off, near + off), True),
                ((near + off, near + 3 * off), False),
            ):
                if name == "p_value" and pair[1] > 1.0:
                    continue
                other = alone(whole, j, name, pair)
                assert (by_checker(other, X, y) == "") == true, (seed, name, j)


@pytest.mark.no_cover  # others reach the same lines sooner
@pytest.mark.parametrize("method", METHODS)
def test_altered_numbers_are_refused(method, endometrial):
    X, y, made = endometrial
    assert by_checker(made[method], X, y) == ""
    for name in NAMES:
        for side in (-1, 1):
            pair = [float.fromhex(end) for end in made[method]["claim"]["coefficients"][2][name]]
            moved = [end + side * 1e-3 * max(abs(pair[0]), 1e-6) for end in pair]
            whole = alone(made[method], 2, name, moved)
            assert "bounds" in by_checker(whole, X, y), (name, side)


def altered(made, method, change):
    whole = copy.deepcopy(made[method])
    change(whole["claim"], whole["claim"]["coefficients"])
    return whole


def swapped_ends(claim, listed):
    each = listed[2]
    each["lower"], each["upper"] = each["upper"], each["lower"]
    each["lower_point"], each["upper_point"] = each["upper_point"], each["lower_point"]


def runs_with_a_penalty(claim, listed):
    listed[1] |= {"runs_up": ["0x0", "0x1", "0x0", "0x0"], "upper": [], "upper_point": []}


def moved_by_a_direction_of_another(claim, listed):
    listed[2] |= {"runs_up": listed[1]["runs_up"], "upper": [], "upper_point": []}


def a_direction_that_moves_it(claim, listed):
    listed[1]["direction"] = claim["direction"]


def a_direction_of_the_wrong_side(claim, listed):
    claim["direction"] = [hex(-int(v, 16)) for v in claim["direction"]]


def a_direction_without_separation(claim, listed):
    listed[1]["direction"] = ["0x1", "0x0", "0x0", "0x0"]


def an_estimate_that_runs_off(claim, listed):
    listed[1]["estimate"] = ["0x1p+0", "0x1p+1"]


def the_highest(claim, listed):
    claim["maximum"] = "global"


def another_level(claim, listed):
    claim["level"] = (0.9).hex()


def another_ridge(claim, listed):
    claim["C"] = (1.5).hex()


def no_zero(claim, listed):
    listed[1]["null"][1] = (0.5).hex()


def another_column(claim, listed):
    claim["columns"] = [0, 2, 1]


def a_column_that_is_not_there(claim, listed):
    claim["columns"] = [0, 1, 7]


def a_point_of_another_length(claim, listed):
    listed[1]["upper_point"] = ["0x0p+0"] * 5


@pytest.mark.parametrize(
    ("method", "change", "words"),
    [
        ("mle", a_point_of_another_length, "a number a coefficient"),
        ("firth", swapped_ends, "outwards"),
        ("ridge", swapped_ends, "outwards"),
        ("firth", runs_with_a_penalty, "only mle"),
        ("mle", moved_by_a_direction_of_another, "does not move"),
        ("mle", a_direction_that_moves_it, "leave the coefficient alone"),
        ("mle", a_direction_of_the_wrong_side, "wrong side"),
        ("firth", a_direction_without_separation, "have no direction"),
        ("mle", an_estimate_that_runs_off, "coefficient 1"),
        ("firth", the_highest, "the highest"),
        ("mle", another_level, "quantile"),
        ("ridge", another_ridge, ""),
        ("firth", no_zero, "must be zero"),
        ("mle", another_column, ""),
        ("mle", a_column_that_is_not_there, "not in the data"),
    ],
)
def test_forgeries_are_refused_by_both(method, change, words, endometrial):
    X, y, made = endometrial
    whole = altered(made, method, change)
    reason = by_checker(whole, X, y)
    assert reason
    assert words in reason
    assert not by_library(whole, X, y)


def test_a_test_against_a_higher_fit_is_refused(monkeypatch):
    """Where a fit with a coefficient at zero is higher, no ratio to this maximum is a statistic."""
    monkeypatch.setattr("separatrix.infer.model._MOST_STARTS", 0)
    X, y = drawn(207703)
    whole = json.loads(sx.inference(X, y, "firth").certificate.to_json())
    claimed = [bool(each["lr"]) for each in whole["claim"]["coefficients"]]
    assert not all(claimed)
    assert by_checker(whole, X, y) == ""
    assert by_library(whole, X, y)
    j = claimed.index(False)
    whole["claim"]["coefficients"][j] |= {
        "lr": ["0x0p+0", "0x1p+10"],
        "p_value": ["0x0p+0", "0x1p+0"],
    }
    assert "higher than the maximum" in by_checker(whole, X, y)
    assert not by_library(whole, X, y)


def test_the_highest_maximum_is_proved_again():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 1))
    y = (rng.random(60) < 1.0 / (1.0 + np.exp(-X[:, 0]))).astype(int)
    proof = sx.inference(X, y, "firth").certificate
    assert proof.maximum == "global"
    assert by_checker(json.loads(proof.to_json()), X, y) == ""


@pytest.mark.parametrize("seed", [49, 108, 123])
def test_where_the_value_may_bend_the_highest_maximum_is_refused(seed):
    """Far out it is lower, but within it is not proved to be concave: one row stands out."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    X = rng.normal(size=(n, 1))
    X[0] = rng.uniform(3, 8)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-rng.uniform(0, 2) * X[:, 0]))).astype(int)
    whole = json.loads(sx.inference(X, y, "firth").certificate.to_json())
    whole["claim"]["maximum"] = "global"
    assert "the highest" in by_checker(whole, X, y)
    assert not by_library(whole, X, y)


def test_ends_that_the_ridge_alone_decides():
    X, y = drawn(334)
    proof = sx.inference(X, y, "ridge").certificate
    whole = json.loads(proof.to_json())
    assert by_checker(whole, X, y) == ""
    low, high = proof.coefficients[2].lower
    for pair in ((low - 1e-6, high - 1e-6), (low + 1e-6, high + 1e-6)):
        whole["claim"]["coefficients"][2]["lower"] = [end.hex() for end in pair]
        assert by_checker(whole, X, y)
        assert not by_library(whole, X, y)


def test_a_ridge_on_a_column_of_tiny_numbers():
    """In the units of such a column the ridge is 2^1329, of which 448 bits left nothing."""
    X = np.array([[1008.1, 1e-200], [1010.8, 1e-200], [998.0, 1e-200], [998.0, 1e-200]])
    y = np.array([1, 0, 0, 1])
    whole = json.loads(sx.inference(X, y, "ridge").certificate.to_json())
    assert len(whole["claim"]["coefficients"]) == 3
    assert by_checker(whole, X, y) == ""


@pytest.mark.parametrize("number", [0, 1, 2])
def test_columns_that_are_nearly_constant_or_parallel(number):
    """Numbers of 160 bits were too coarse here, then of 320: an honest proof was refused."""
    hair = np.array([0.0, 9.18, 11.1, 16.14, 8.38, 13.15, 8.38, 13.15])
    farther = np.array([6202.0, 7591.0, 837.0, 0.0, 4155.0, 6277.0, 1174.0, 10572.0])
    parallel = np.array([[-1335443.98, 334263912.0], [-1e-22, -1e-19], [-3.955, 0.0]])
    X, y = (
        (2.842169e-8 + 1e-14 * hair[:, None], [1, 1, 0, 1, 0, 0, 0, 1]),
        (parallel[[0, 1, 2, 1, 2]], [1, 0, 1, 0, 1]),
        (5.82e-4 + 1e-14 * farther[:, None], [0, 1, 1, 0, 1, 0, 0, 1]),
    )[number]
    whole = json.loads(sx.inference(X, np.array(y), "firth").certificate.to_json())
    assert by_checker(whole, X, np.array(y)) == ""


def test_an_end_far_from_the_point_that_was_found():
    """The rows are nearly constant, and their predictors next to 1e8: the inverse was too old."""
    x = [28823037374855934e9, 2882303735352214e10, 28823037918785801e9, 2882303735328488e10]
    X, y = (
        np.array([*x, 2882303819699982e10] * 2)[[0, 1, 2, 3, 4, 3, 4], None],
        [0, 0, 1, 0, 1, 0, 1],
    )
    whole = json.loads(sx.inference(X, np.array(y)).certificate.to_json())
    assert by_checker(whole, X, np.array(y)) == ""


def test_data_that_would_take_hours_are_refused_by_name():
    X, y = drawn(2)
    whole = json.loads(sx.inference(X, y).certificate.to_json())
    whole["claim"]["columns"] = [0] * 60
    whole["claim"]["point"] = ["0x0p+0"] * 61
    whole["claim"]["coefficients"] = [whole["claim"]["coefficients"][0]] * 61
    assert "too large for this checker" in by_checker(whole, X, y)
    for name in ("columns", "point", "coefficients"):  # few rows, and 8 seconds for each tensor
        whole["claim"][name] = whole["claim"][name][: 31 + (name != "columns")]
    whole["claim"]["method"] = "firth"
    assert "too large for this checker" in by_checker(whole, X, y)


@pytest.mark.parametrize("method", METHODS)
def test_a_claim_of_no_numbers_says_so(method, endometrial):
    """The sentence is about what is claimed; without numbers the maximum is proved all the same."""
    X, y, made = endometrial
    whole = copy.deepcopy(made[method])
    assert " 8 interval ends and 4 tests of 4 coefficients" in str(from_json(whole))
    for each in whole["claim"]["coefficients"]:
        each |= {key: [] for key in each}
    nothing = "0 estimates, 0 standard errors, 0 interval ends and 0 tests of 4 coefficients"
    assert nothing in str(from_json(whole))
    assert by_checker(whole, X, y) == ""
    assert by_library(whole, X, y)
    whole["claim"]["point"] = ["0x1p+7"] * 4
    assert by_checker(whole, X, y)
    assert not by_library(whole, X, y)
    whole["claim"] |= {"direction": [], "method": "mle", "maximum": "global"}  # there is no maximum
    assert by_checker(whole, X, y)
    assert not by_library(whole, X, y)


def test_columns_of_the_model_alone_are_laid_out():
    """A line of LIBSVM text may name column 2**31."""
    rows = [((0, 399_999), (float(i), 1.0)) for i in range(6)]
    data = Data(rows, [0, 1, 0, 1, 0, 1], 400_000, 2, ("0", "1"))
    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1]
    whole = json.loads(sx.inference(X, y).certificate.to_json())
    whole["data"] |= {"features": 400_000, "sha256": data.fingerprint()}
    tracemalloc.start()
    assert "of 2 coefficients" in check(whole, data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000
