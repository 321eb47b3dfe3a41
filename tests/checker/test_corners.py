"""Claims at the edge: hard margins, no penalty, trees and cells, and what only one line refuses."""

import copy
import itertools
import json
import warnings
from argparse import Namespace
from fractions import Fraction

import numpy as np
import pytest
from fuzz.checker_agreement import MAKERS, by_checker, by_library
from tests import error_forgeries
from tests.amounts import cases
from tests.kernel_direct import exact_objectives, exact_values
from tests.problems_many import many

import separatrix as sx
from separatrix.certificates.duality_gap import DualityGap
from separatrix.certificates.multiclass_gap import Named
from separatrix.certificates.reading import from_json
from separatrix.checker import Data, Refused, check
from separatrix.checker.codec import Claim
from separatrix.checker.gaps import between
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import Kernel


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(model.fit(X, y).certificate_.to_json())


def with_claim(whole, **changes):
    return whole | {"claim": whole["claim"] | changes}


def sharp(whole, X, y, name, exact, other):
    """The floats just true and just false of an exact value are told apart."""
    near = float(exact)
    around = sorted({near, float(np.nextafter(near, -np.inf)), float(np.nextafter(near, np.inf))})
    for bound in around:
        true = Fraction(bound) >= exact if name == "primal" else Fraction(bound) <= exact
        forged = with_claim(whole, **other, **{name: bound.hex()})
        assert (by_checker(forged, X, y) == "") == true, (name, bound, near)


WIDE = {"primal": (1e300).hex(), "dual": (-1e300).hex()}


def both_sharp(whole, X, y, primal, dual):
    sharp(whole, X, y, "primal", primal, {"dual": WIDE["dual"]})
    sharp(whole, X, y, "dual", dual, {"primal": WIDE["primal"]})


# ---- bounds that are attained


@pytest.mark.long
def test_kernel_models_of_many_classes_by_fractions():
    for seed in cases(60):
        whole, X, y = MAKERS["kernel-multiclass-gap"](np.random.default_rng(seed))
        claim = whole["claim"]
        kernel = claim["kernel"]
        if kernel["name"] in ("rbf", "sigmoid"):
            continue
        gram = exact_values(
            Kernel(kernel["name"], float.fromhex(kernel["gamma"]), kernel["degree"],
                   float.fromhex(kernel["coef0"])), X)  # fmt: skip
        multipliers = Named(np.array(claim["rows"]), np.array(claim["rivals"]),
                            np.array([float.fromhex(m) for m in claim["multipliers"]]))  # fmt: skip
        costs = [float.fromhex(c) for c in claim["costs"]] * len(X)
        biases = [float.fromhex(b) for b in claim["biases"]]
        both_sharp(whole, X, y, *exact_objectives(gram, y, 3, costs[: len(X)], multipliers, biases))


def test_a_hard_margin_by_hand():
    """Rows -1 and 1 with w = 2: divided by its margin, w = 1 costs 1/2, and so does the dual."""
    X, y = np.array([[-1.0], [1.0], [3.0]]), np.array([0, 1, 1])
    whole = fitted(sx.LinearSVM(np.inf), X, y)
    half = [(0.5).hex()] * 2
    whole["claim"] |= {"weights": [(0.0).hex(), (0.5).hex()], "rows": [0, 1], "multipliers": half}
    both_sharp(whole, X, y, Fraction(1, 2), Fraction(1, 2))
    wrong = with_claim(whole, weights=[(0.0).hex(), (-1.0).hex()])
    assert "a margin is not positive" in by_checker(wrong, X, y)
    assert "no row of the data" in by_checker(with_claim(whole, rows=[0, 3]), X, y)
    kernel = fitted(sx.KernelSVM(np.inf, kernel="linear"), X, y)
    kernel["claim"] |= {"rows": [0, 1], "multipliers": [(0.25).hex()] * 2, "bias": (0.0).hex()}
    kernel["claim"]["violation"] = (9.0).hex()
    both_sharp(kernel, X, y, Fraction(1, 2), Fraction(1, 2))
    turned = with_claim(kernel, bias=(-5.0).hex(), primal=(1e9).hex())
    assert "a margin is not positive" in by_checker(turned, X, y)


def test_maximum_likelihood_by_hand():
    """One column, u = 1/4, sum a = 1/2, sum a |x| = 3/4: the box is 1000 (|w| + 2/3)."""
    X, y = np.array([[1.0], [2.0], [1.0], [0.5], [-1.0]]), np.array([1, 0, 0, 1, 0])
    whole = fitted(sx.LogisticRegression(np.inf, fit_intercept=False), X, y)
    assert float.fromhex(whole["claim"]["ridge"]) == 0.0
    whole["claim"] |= {"weights": [(0.0).hex(), (0.5).hex()], "costs": ["0x1p+0"]}
    whole["claim"] |= {"rows": [0, 1], "multipliers": [(0.25).hex()] * 2}
    gain = 2.0 * (0.25 * np.log(4.0) + 0.75 * np.log(4.0 / 3.0))
    least = gain - 0.25 * 1000.0 * (0.5 + 2.0 / 3.0)
    for dual, true in ((least - 1e-9, True), (least + 1e-9, False)):
        claimed = with_claim(whole, primal=(1e9).hex(), dual=float(dual).hex())
        assert (by_checker(claimed, X, y) == "") == true
    still = with_claim(whole, rows=[0, 2], dual=(gain - 1e-9).hex(), primal=(1e9).hex())
    assert by_checker(still, X, y) == ""  # u = 0 costs nothing
    for ridge in (0.5, 2.0, -1.0):
        assert "ridge must be 0 or 1" in by_checker(with_claim(whole, ridge=ridge.hex()), X, y)


def test_nearly_certain_rows_are_counted_in_relation():
    """Margins of 60: losses of 1e-26 decide, and both bounds are found again from them."""
    X, y = np.array([[-60.0], [60.0], [-61.0], [62.0]]), np.array([0, 1, 0, 1])
    whole = fitted(sx.LogisticRegression(1.0, fit_intercept=False), X, y)
    claim = {"weights": [(0.0).hex(), (1.0).hex()], "rows": [0], "multipliers": [(1e-26).hex()]}
    for bound, true in ((float(np.nextafter(0.5, 1.0)), True), (0.5, False)):
        claimed = with_claim(whole, **claim, primal=bound.hex(), dual=(-1.0).hex())
        assert (by_checker(claimed, X, y) == "") == true
    a = Fraction(1e-26)
    gain = 1e-26 * (1.0 - np.log(1e-26))
    lost = float(a * a * 3600 / 2)
    for bound, true in ((gain * (1 - 1e-12) - lost, True), (gain * (1 + 1e-12) - lost, False)):
        claimed = with_claim(whole, **claim, primal=(9.0).hex(), dual=float(bound).hex())
        assert (by_checker(claimed, X, y) == "") == true


def test_nearly_certain_rows_of_many_classes():
    """Columns of 1e100, so that weights cost nothing: all others together get 1e-180 of a row."""
    X, y, K, *_ = many(3)
    X = np.column_stack([1e100 * (y == k) for k in range(K)])
    whole = fitted(sx.LogisticRegression(1e6, multi_class="multinomial", fit_intercept=False), X, y)
    assert by_checker(whole, X, y) == ""
    low = float.fromhex(whole["claim"]["primal"]) * (1.0 - 1e-6)
    assert by_checker(with_claim(whole, primal=low.hex()), X, y) != ""


# ---- fewest errors


def fewest(X, signs):
    """The fewest errors of any hyperplane, over all labelings: is it separable?"""
    best = len(X)
    for labels in itertools.product([-1.0, 1.0], repeat=len(X)):
        wrong = int((np.array(labels) != signs).sum())
        if wrong < best and (
            len(set(labels)) == 1 or sx.separability(X, labels).kind == "separable"
        ):
            best = wrong
    return best


@pytest.mark.long
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_cells_are_counted_as_all_labelings_say(dimensions):
    for seed in range(12):
        X, signs, _ = error_forgeries.small_problem(seed, dimensions)
        X, signs = X[:7], signs[:7]
        whole = fitted(sx.ZeroOne(), X, signs)
        least = fewest(X, signs)
        cells = {"by": "cells", "witnesses": [], "tree": None}
        assert by_checker(with_claim(whole, lower=least, **cells), X, signs) == ""
        assert "fewer errors" in by_checker(with_claim(whole, lower=least + 1, **cells), X, signs)


@pytest.mark.long
def test_witnesses_and_trees_and_every_way_to_forge_them():
    ways, kinds = set(), set()
    rng = np.random.default_rng(0)
    for seed in range(60):
        X, signs, _ = error_forgeries.small_problem(4 * seed + 1, 4 + seed % 2)
        if seed < 6:  # more rows, that need cases
            dice = np.random.default_rng([6, 11, 14, 22, 7, 15][seed])
            X = dice.integers(-2, 3, size=(24, [4, 5, 4, 4, 5, 5][seed])).astype(float)
            signs = dice.choice([-1.0, 1.0], size=24)
        whole = fitted(sx.ZeroOne(max_seconds=20.0), X, signs)
        assert by_checker(whole, X, signs) == ""
        tree = whole["claim"]["tree"]
        kinds.add((whole["claim"]["by"], tree is not None and "row" in tree))
        for way in error_forgeries.WAYS:
            forged = copy.deepcopy(whole)
            if way(forged, rng):
                assert by_checker(forged, X, signs) != "", way.__name__
                ways.add(way.__name__)
        if tree is not None and "row" in tree:
            forged = with_claim(whole, tree=tree | {"row": len(X)})
            assert f"there is no row {len(X)}" in by_checker(forged, X, signs)
    assert ("witnesses", True) in kinds
    assert len(ways) > 15
    cells = with_claim(whole, by="cells", witnesses=[], tree=None, lower=1)
    assert "one to three dimensions" in by_checker(cells, X, signs)
    for _ in range(3000):
        tree = {"row": 0, "wrong": tree, "right": tree}
    deep = with_claim(whole, by="witnesses", witnesses=[], tree=tree)
    with pytest.raises(Refused, match="nested too deeply"):
        check(deep, as_checker_data(problem_from(X, signs, True)))


# ---- what one line refuses


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("duality-gap", {"bias_penalty": "-0x1p+0"}, "bias_penalty"),
        ("duality-gap", {"positive": 0, **WIDE}, "positive must number a class"),
        ("duality-gap", {"primal": "0x1p+900", "dual": "0x1p+901"}, "lower bound"),
        ("duality-gap", {"weights": []}, "a weight for each column"),
        ("duality-gap", {"loss": "absolute"}, "loss: expected one of"),
        ("softmax-gap", {"weights": [["0x0p+0"]]}, "one list a class"),
        ("multiclass-gap", {"costs": ["inf"]}, "costs must be finite"),
        ("kernel-gap", {"positive": 0, "negative": 1}, "the second is the positive one"),
        ("kernel-gap", {"positive": 7}, "must number two classes"),
        ("kernel-gap", {"smallest": "0x1p+0"}, "smallest must be nan"),
        ("kernel-multiclass-gap", {"biases": []}, "a free bias for each class"),
        ("scaled-gap", {"machines": []}, "one model, or one for each"),
        ("scaled-gap", {"exponents": [10**6]}, "exponents must be one a column"),
        ("scaled-gap", {"exponents": ["1"]}, "exponents: expected a whole number|whole number"),
        ("scaled-gap", {"machines": 3}, "machines: expected a list"),
    ],
)
def test_a_wrong_field_is_named(kind, change, words):
    two = {"duality-gap": 2, "kernel-gap": 2}
    rng = np.random.default_rng(5)
    while True:
        whole, X, y = MAKERS[kind](rng)
        kernel = whole["claim"].get("kernel", {}).get("name", "rbf")
        if len(np.unique(y)) == two.get(kind, len(np.unique(y))) and kernel == "rbf":
            break
    forged = with_claim(whole, **change)
    if "exponents" in change and kind == "scaled-gap":
        forged = with_claim(whole, exponents=change["exponents"] * X.shape[1])
    with pytest.raises(Refused, match=words):
        check(forged, as_checker_data(problem_from(X, y, True)))


def test_bounds_that_cross_are_refused_even_where_both_hold():
    """A primal below the dual is false of one of them; the exact ones meet at the optimum."""
    X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    whole = fitted(sx.LinearSVM(np.inf), X, y)
    whole["claim"] |= {"weights": [(0.0).hex(), (1.0).hex()], "rows": [0, 1]}
    whole["claim"] |= {"multipliers": [(0.5).hex()] * 2, "primal": (0.5).hex()}
    assert by_checker(with_claim(whole, dual=(0.5).hex()), X, y) == ""
    assert by_checker(with_claim(whole, dual=(0.6).hex()), X, y) != ""

    crossed = Namespace(primal=1.0, dual=2.0)  # as only a kernel without a space could have them
    with pytest.raises(Refused, match="cross"):
        between(crossed, Fraction(0), Fraction(3), "model")


def test_an_intercept_that_is_missing_is_refused_where_it_is_needed():
    for kind, words in (
        ("kernel-gap", "biases of kernel models are free"),
        ("kernel-multiclass-gap", "a free bias"),
        ("errors", "with an intercept"),
    ):
        whole, X, y = MAKERS[kind](np.random.default_rng(7))
        whole["data"]["intercept"] = False
        assert words in by_checker(whole, X, y)


def test_kinds_of_two_classes_refuse_three():
    whole, X, y = MAKERS["quasi"](np.random.default_rng(1))
    y = np.arange(len(y)) % 3
    data = as_checker_data(problem_from(X, y, True))
    whole["data"] |= {"sha256": data.fingerprint(), "classes": ["0", "1", "2"]}
    for kind, claim in (
        ("quasi", whole["claim"]),
        ("gordan", {"rows": [0], "multipliers": ["0x1"]}),
    ):
        with pytest.raises(Refused, match="two classes"):
            check(whole | {"kind": kind, "claim": claim}, data)
    with pytest.raises(Refused, match="one of the classes"):
        Data(data.rows, [9] * len(y), data.n_features, 3).refuse_disorder()


def test_a_sigmoid_kernel_with_a_negative_square_is_refused():
    """tanh(2) - 2 tanh(3) + tanh(5) is below zero: no space holds two such rows."""
    X, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    whole = fitted(sx.KernelSVM(kernel="rbf"), X, y)
    whole["claim"]["kernel"] |= {"name": "sigmoid", "gamma": "0x1p+0", "coef0": (1.0).hex()}
    whole["claim"] |= {"violation": (9.0).hex(), "smallest": (0.0).hex()} | WIDE
    assert "a square is below zero" in by_checker(whole, X, y)


def test_columns_divided_to_nothing_are_refused():
    whole, X, y = MAKERS["scaled-gap"](np.random.default_rng(2))
    whole["claim"]["exponents"] = [1090] * X.shape[1]
    assert "no longer exact" in by_checker(whole, X, y)
    whole["claim"]["exponents"] = [-1090] * X.shape[1]
    assert "well-formed" in by_checker(whole, X, y)
    assert not by_library(whole, X, y)


def test_a_class_without_a_cost_has_no_free_bias():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2])
    whole = fitted(sx.LogisticRegression(multi_class="multinomial"), X, y)
    whole["claim"]["costs"] = ["0x1p+0", "0x1p+0", "0x0p+0"]
    assert "a class has no row" in by_checker(with_claim(whole, **WIDE), X, y)


def test_a_field_that_was_not_read_is_no_field():
    with pytest.raises(AttributeError):
        _ = Claim({}, "it", {}).nothing


@pytest.mark.parametrize("kind", ["duality-gap", "multiclass-gap", "softmax-gap"])
def test_one_class_is_no_problem_of_classes(kind):
    """The library refused it, and the stand-alone checker called it proved."""
    whole, X, y = MAKERS[kind](np.random.default_rng(0))
    rows = as_checker_data(problem_from(X, y, True)).rows
    data = Data(rows, [0] * len(X), X.shape[1], 1, ("0",))
    whole["data"] |= {"classes": ["0"], "sha256": data.fingerprint()}
    claim = whole["claim"] | {"costs": ["0x1p+0"], **WIDE}
    nothing = [(0.0).hex()] * (1 + X.shape[1])
    claim["weights"] = nothing if kind == "duality-gap" else [nothing]
    for name in claim.keys() & {"rows", "rivals", "multipliers"}:
        claim[name] = []
    if kind == "duality-gap":
        claim["positive"] = 0
    with pytest.raises(Refused, match=r"two classes or more|positive must number"):
        check(whole | {"claim": claim}, data)
    with pytest.raises(Refused):
        from_json(whole | {"claim": claim})


def test_a_bound_on_a_weight_has_all_its_digits_however_small_it_is():
    """Next to weights of 0 a bound of 1e-95 was cut at 2^-256: 1e18 times what it is."""
    X, y = 1e98 * np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    found = fingerprint(problem_from(X, y, True))
    proof = DualityGap.proved(
        X, np.where(y == 1, 1.0, -1.0), loss="logistic", costs=np.ones(4), weights=np.zeros(2),
        multipliers=np.full(4, 0.25), ridge=0.0, data_sha256=found,
    )  # fmt: skip
    assert proof.dual > -1e3
    assert by_checker(json.loads(proof.to_json()), X, y) == ""


def test_a_bias_that_counts_for_nothing_makes_no_margin_larger():
    """All margins are -1 or less; with a bias of 100 in |w| they once were -0.01."""
    data = Data([([0], [1.0]), ([0], [1.0])], [0, 1], 1, 2, ("0", "1"))
    about = {"rows": 2, "features": 1, "intercept": False, "classes": ["0", "1"]}
    claim = {"weights": [[(100.0).hex(), "0x1p+0"]], "upper": (0.125).hex(), "rows": [0, 1]}
    claim |= {"multipliers": ["0x1p+0", "0x1p+0"]}
    whole = {"format": "separatrix-certificate-1", "kind": "margin-bounds"}
    whole |= {"data": about | {"sha256": data.fingerprint()}}
    with pytest.raises(Refused, match="below the lower bound"):
        check(whole | {"claim": claim | {"lower": (-0.0101).hex()}}, data)
    assert "[-1, 0.125]" in check(whole | {"claim": claim | {"lower": (-1.0).hex()}}, data)


def test_cells_of_too_many_points_are_left_to_verify():
    """A thousand points in space took hours."""
    rows = [([0, 1, 2], [1.0 + k, 2.0 + k * k, 3.0 + k**3]) for k in range(500)]
    data = Data(rows, [k % 2 for k in range(500)], 3, 2, ("0", "1"))
    about = {"rows": 500, "features": 3, "intercept": True, "classes": ["0", "1"]}
    claim = {"errors": 250, "lower": 0, "unit": ["0x1", "0x1"], "sample_weight_sha256": ""}
    claim |= {"integers": ["0x1", "0x0", "0x0", "0x0"], "by": "cells", "witnesses": []}
    whole = {"format": "separatrix-certificate-1", "kind": "errors", "claim": claim}
    whole |= {"data": about | {"sha256": data.fingerprint()}}
    whole["claim"]["tree"] = None
    with pytest.raises(Refused, match="too many"):
        check(whole, data)
