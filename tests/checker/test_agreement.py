"""Genuine certificates of every kind are accepted, altered ones as the library says."""

import copy
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from fuzz.checker_agreement import MAKERS, by_checker, by_library, compared, run
from tests.amounts import cases

from separatrix.checker import CLAIMS, Refused, check
from separatrix.problem.canonical import as_checker_data, problem_from


def test_the_checker_and_the_library_agree():
    said = []
    genuine = max(len(MAKERS), len(cases(4_000)) // 5)
    counts = run(genuine, 30 * genuine, seed=3, say=said.append)
    assert counts["genuine"] == genuine
    assert counts["altered"] > 10 * counts["genuine"]
    assert not counts["genuine refused"] + counts["disagreements"] + counts["missing kinds"], said


def test_a_true_bound_that_the_checker_misses_is_known_as_true():
    """The library's rounded softmax proves 1e-11 more than exact softmax; a false bound is none."""
    whole, X, y = MAKERS["softmax-gap"](np.random.default_rng([4242, 5291]))

    def claiming(dual):
        return whole | {"claim": whole["claim"] | {"dual": dual.hex()}}

    low, high = (float.fromhex(whole["claim"][name]) for name in ("dual", "primal"))
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if by_library(claiming(middle), X, y) else (low, middle)
    true = claiming(low), X, y
    reason = by_checker(*true)
    assert "lower bound" in reason
    assert "own softmax" in compared("claim.dual", true, reason, True)
    false = claiming(1.01 * float.fromhex(whole["claim"]["primal"])), X, y
    assert compared("claim.dual", false, by_checker(*false), True) == "disagreements"


def test_the_checker_proves_what_a_multinomial_fit_states():
    """The fit stated the bound of its own rounded softmax: exact softmax proves 1e-11 less here."""
    case = MAKERS["softmax-gap"](np.random.default_rng([4242, 5291]))
    assert not by_checker(*case)
    assert by_library(*case)


# ---- both bounds of a gap are sharp: the exact value, by balls of 2,000 bits, divides the floats


@pytest.fixture(autouse=True)
def precise():
    kept, ctx.prec = ctx.prec, 2000
    yield
    ctx.prec = kept


def numbers(texts):
    return [arb(float.fromhex(text)) for text in texts]


def exact(value):
    return arb(Fraction(value).numerator) / Fraction(value).denominator


def rows_of(X):
    return [[arb(v) for v in row] for row in X.tolist()]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0))


def loss_of(name, margin):
    if name == "logistic":
        return (1 + (-margin).exp()).log()
    short = max(arb(0), 1 - margin)
    return short if name == "hinge" else short * short


def entropy(a, c):
    p = a / c
    return arb(0) if a == 0 or a == c else -c * (p * p.log() + (1 - p) * (1 - p).log())


def linear_objectives(whole, X, y):
    """Both objectives of a two-class model at the stored points, from the formulas."""
    claim, rows, signs = whole["claim"], rows_of(X), []
    for code in np.unique(y, return_inverse=True)[1].tolist():
        signs.append(1 if code == claim["positive"] else -1)
    bias, *w = numbers(claim["weights"])
    p, ridge = numbers([claim["bias_penalty"], claim["ridge"]])
    costs = numbers(claim["costs"]) * (1 if len(claim["costs"]) > 1 else len(X))
    bias = bias if whole["data"]["intercept"] else arb(0)
    primal = (ridge * dot(w, w) + p * bias * bias) / 2
    for x, s, c in zip(rows, signs, costs, strict=True):
        primal += c * loss_of(claim["loss"], s * (dot(w, x) + bias))
    a = [arb(0)] * len(X)
    for row, value in zip(claim["rows"], numbers(claim["multipliers"]), strict=True):
        a[row] = value
    u = [
        dot([s * v for s, v in zip(signs, a, strict=True)], column)
        for column in zip(*rows, strict=True)
    ]
    gains = {
        "hinge": lambda v, c: v,
        "squared_hinge": lambda v, c: v - v * v / (4 * c),
        "logistic": entropy,
    }
    dual = sum((gains[claim["loss"]](v, c) for v, c in zip(a, costs, strict=True)), arb(0))
    return primal, dual - dot(u, u) / 2


def floats_around(value):
    """The nearest floats below and above an exact value that is no float."""
    near = float(value.mid())
    below = next(f for f in (near, math.nextafter(near, -math.inf)) if arb(f) < value)
    return below, math.nextafter(below, math.inf)


def linear_cases():
    for seed in range(400):
        rng = np.random.default_rng(seed)
        whole, X, y = MAKERS["duality-gap"](rng)
        claim = whole["claim"]
        finite = "inf" not in claim["costs"]
        if finite and float.fromhex(claim["ridge"]) and not float.fromhex(claim["bias_penalty"]):
            yield whole, X, y


def test_bounds_of_linear_models_are_divided_by_the_exact_objectives():
    seen = set()
    for _, (whole, X, y) in zip(cases(120), linear_cases(), strict=False):
        for name, value in zip(("primal", "dual"), linear_objectives(whole, X, y), strict=True):
            low, high = floats_around(value)
            wide = {"primal": (1e300).hex(), "dual": (-1e300).hex()}
            for bound in (low, high):
                other = copy.deepcopy(whole)
                other["claim"] |= wide | {name: bound.hex()}
                true = bound == (high if name == "primal" else low)
                assert (by_checker(other, X, y) == "") == true, (whole["claim"]["loss"], name)
        seen.add(whole["claim"]["loss"])
    assert seen == {"hinge", "squared_hinge", "logistic"}


def test_the_upper_bound_of_softmax_is_divided_by_the_exact_objective():
    for seed in cases(60):
        whole, X, y = MAKERS["softmax-gap"](np.random.default_rng(seed))
        claim, rows = whole["claim"], rows_of(X)
        weights = [numbers(row) for row in claim["weights"]]
        free = 1 if whole["data"]["intercept"] else 0
        (c,) = numbers(claim["costs"])
        ridge = float.fromhex(claim["ridge"]) if "ridge" in claim else 1.0
        value = ridge * sum((dot(w[1:], w[1:]) for w in weights), arb(0)) / 2
        for x, code in zip(rows, np.unique(y, return_inverse=True)[1].tolist(), strict=True):
            z = [dot(w[1:], x) + free * w[0] for w in weights]
            value += c * (sum(((each - z[code]).exp() for each in z), arb(0))).log()
        low, high = floats_around(value)
        for bound in (low, high):
            other = copy.deepcopy(whole)
            other["claim"] |= {"primal": bound.hex(), "dual": (-1e300).hex()}
            assert (by_checker(other, X, y) == "") == (bound == high)
        # From below: softmax is at hand with 48 digits, so no more is lost than the claim allows.
        other["claim"] |= {"dual": (1.0001 * float.fromhex(whole["claim"]["primal"])).hex()}
        assert "lower bound" in by_checker(other | {"claim": other["claim"] | {
            "primal": (1e300).hex()}}, X, y)  # fmt: skip


# ---- refused by name


@pytest.mark.parametrize("kind", [kind for kind in CLAIMS if kind.endswith("gap")])
def test_costs_are_all_finite_or_all_infinite(kind):
    whole, X, y = MAKERS[kind](np.random.default_rng(1))
    claims = whole["claim"].get("machines", [whole["claim"]])
    n = len(X)
    for costs, words in (
        (["inf"] + ["0x1p+0"] * (n - 1), "all finite or all infinite"),
        (["nan"] * n, "costs: expected a finite number"),
        (["-0x1p+0"] * n, "not be below zero"),
        (["0x0p+0"], "above zero"),
        (["0x1p+0"] * (n + 1), "one for each row"),
        ([], "one for each row"),
    ):
        claims[0]["costs"] = costs
        with pytest.raises(Refused, match=words):
            check(whole, as_checker_data(problem_from(X, y, True)))


def test_mixed_costs_of_the_attack_are_refused():
    """A lower bound of 128 where w = 1 costs 0.500002, and [0.5, 0.5] for a dual of 17.77."""
    X, y = np.array([[-1.0], [1.0], [-0.875]]), np.array([0, 1, 1])
    whole, *_ = MAKERS["kernel-gap"](np.random.default_rng(0))
    data = as_checker_data(problem_from(X, y, True))
    about = {"rows": 3, "features": 1, "intercept": True, "classes": ["0", "1"]}
    claim = {"kernel": {"name": "linear", "gamma": "0x1p+0", "degree": 3, "coef0": "0x0p+0"}}
    claim |= {"positive": 1, "negative": -1, "costs": ["inf", "inf", (1e-6).hex()]}
    claim |= {"bias": "0x0p+0", "rows": [0, 2], "multipliers": [(1e-6).hex()] * 2}
    claim |= {"curved": False, "smallest": "nan", "violation": "0x1p+9"}
    claim |= {"primal": (1e9).hex(), "dual": (127.999996).hex()}
    forged = whole | {"data": about | {"sha256": data.fingerprint()}, "claim": claim}
    with pytest.raises(Refused, match="all finite or all infinite"):
        check(forged, data)


def test_infinite_costs_of_a_logistic_loss_are_refused():
    while_logistic = (c for c in linear_cases() if c[0]["claim"]["loss"] == "logistic")
    whole, X, y = next(while_logistic)
    whole["claim"]["costs"] = ["inf"]
    assert "no margin has a loss of 0" in by_checker(whole, X, y)


def test_a_kernel_that_theory_does_not_know_is_named_as_an_assumption():
    for seed in range(200):
        whole, X, y = MAKERS["kernel-gap"](np.random.default_rng(seed))
        name = whole["claim"]["kernel"]["name"]
        said = check(whole, as_checker_data(problem_from(X, y, True)))
        theory = name in ("linear", "rbf") or (
            name == "poly" and float.fromhex(whole["claim"]["kernel"]["coef0"]) >= 0.0
        )
        assert theory != ("assumed" in said or "only this is proved" in said)


def test_kernels_that_cannot_be_computed_are_refused():
    whole, X, y = MAKERS["kernel-gap"](np.random.default_rng(2))
    for change, words in (
        ({"name": "callable"}, "a Python function"),
        ({"name": "poly", "degree": 10**7}, "too long"),
        ({"gamma": "-0x1p+0"}, "gamma"),
        ({"name": "precomputed"}, "as many columns as rows"),
    ):
        other = json.loads(json.dumps(whole))
        other["claim"]["kernel"] |= change
        assert words in by_checker(other, X, y)


def test_precomputed_kernels_are_those_of_their_features():
    """The matrix of products proves what the linear kernel proves, under an assumption."""
    import separatrix as sx

    rng = np.random.default_rng(4)
    X = rng.integers(-4, 5, size=(14, 2)).astype(float)
    y = np.arange(14) % 2
    machine = sx.KernelSVM(kernel="precomputed").fit(X @ X.T, y)
    whole = json.loads(machine.certificate_.to_json())
    said = check(whole, as_checker_data(problem_from(X @ X.T, y, True)))
    assert "assumed" in said
    whole["claim"]["dual"] = (float.fromhex(whole["claim"]["primal"]) * 1.01).hex()
    assert by_checker(whole, X @ X.T, y) != ""
