"""The bracket holds in exact arithmetic, whatever the points; and forged ones are refused."""

import dataclasses
import json
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from tests.amounts import cases
from tests.naive import duality_gap as naive
from tests.problems import as_sparse, problem

from separatrix import LinearSVM
from separatrix.certificates.duality_gap import (
    DualityGap,
    DualityGaps,
    Model,
    dual_of,
    primal_of,
    terms_of,
)
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.solvers.linear.claims import balanced

LOSSES = ("hinge", "squared_hinge", "logistic")
KINDS = [
    "comfortable_margin",
    "overlapping_gaussians",
    "integer_grid",
    "opposite_duplicates",
    "constant_columns",
    "fewer_rows_than_columns",
    "zero_rows",
    "copied_columns",
]


def posed(seed, loss):
    """A problem with any points at all: the bracket must hold wherever they are."""
    case = problem(seed, KINDS[seed % len(KINDS)])
    rng = np.random.default_rng(seed)
    X = case.X * np.exp(rng.normal(size=case.X.shape[1]) * rng.choice([0.0, 3.0, 10.0]))
    costs = np.full(len(X), 10.0 ** rng.integers(-3, 4))
    if seed % 3 == 0:
        costs = costs * rng.integers(0, 4, size=len(X))
        costs[:2] = 1.0
    weights = rng.normal(size=X.shape[1] + 1) / (1e-9 + np.abs(X).max())
    alpha = np.minimum(rng.random(len(X)) * costs, costs)
    alpha[rng.random(len(X)) < 0.3] = 0.0
    at_bound = rng.random(len(X)) < 0.3
    alpha[at_bound] = costs[at_bound]
    penalty = float(rng.choice([0.0, 0.0, 1.0]))
    if penalty == 0.0:
        upper = np.where(costs > 0.0, np.inf, 0.0) if loss == "squared_hinge" else costs
        alpha = balanced(alpha, case.y_signs, upper)
    return X, case.y_signs, costs, weights, alpha, penalty


@pytest.mark.parametrize("way", ["plain", "compensated", "exact"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_bracket_holds_exactly_and_is_tight(loss, way):
    for seed in cases(120):
        X, signs, costs, weights, alpha, penalty = posed(seed, loss)
        data = as_sparse(X) if seed % 2 else X
        model = Model(loss, weights[1:], float(weights[0]))
        terms, _ = terms_of(model, data, signs, costs, alpha, way)
        primal, dual = primal_of(terms, model, penalty), dual_of(terms, penalty)
        low, high = naive.primal(X, signs, costs, loss, weights, penalty)
        assert Fraction(float(primal.low)) <= low
        assert Fraction(float(primal.high)) >= high
        assert primal.high <= float(low) * (1 + 1e-12)
        low, high = naive.dual(X, signs, costs, loss, alpha, penalty)
        assert Fraction(float(dual.low)) <= low
        assert Fraction(float(dual.high)) >= high
        size = float(alpha.sum() + costs.sum() + abs(float(high)))
        assert dual.low >= float(high) - 1e-11 * size


def test_small_shares_of_the_logistic_loss_are_bounded_to_all_their_digits():
    """At high costs alpha / c is tiny: an error of c units would drown what it brings."""
    X, signs, costs = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.full(2, 1e9)
    for size in (1e-9, 1e-3, 1.0):
        for alpha in (np.full(2, size), costs - max(size, 1e-3)):
            found = DualityGap.proved(
                X=X * 1e-30, sides=signs, costs=costs, loss="logistic",
                weights=np.zeros(2), multipliers=alpha, slack=0.0,
            )  # fmt: skip
            low, high = naive.dual(X * 1e-30, signs, costs, "logistic", alpha)
            assert low * (1 - Fraction(1, 10**13)) <= Fraction(found.dual) <= low <= high


def test_a_hard_margin_is_bounded_through_its_least_margin():
    for seed in cases(100):
        case = problem(seed, "comfortable_margin")
        costs = np.full(len(case.X), np.inf)
        rng = np.random.default_rng(seed)
        difference = case.X[case.y_signs > 0].mean(axis=0) - case.X[case.y_signs < 0].mean(axis=0)
        w = np.concatenate([[0.1 * rng.normal()], difference * 10.0 ** rng.integers(-3, 3)])
        alpha = balanced(rng.random(len(case.X)), case.y_signs, costs)
        found = DualityGap.proved(
            X=case.X, sides=case.y_signs, costs=costs, loss="hinge", weights=w, multipliers=alpha,
            slack=0.0,
        )  # fmt: skip
        exact = naive.primal(case.X, case.y_signs, costs, "hinge", w)
        if exact is None:
            assert found.primal == math.inf
            assert not found.holds
        else:
            assert exact[1] <= Fraction(found.primal) <= exact[1] * Fraction(1 + 1e-12)


@pytest.mark.parametrize("fault", ["negative", "above", "unbalanced", "nan", "absent row"])
def test_infeasible_multipliers_bound_nothing(fault):
    X, signs = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    costs, alpha = np.array([1.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.0])
    if fault == "negative":
        alpha[:] = [-0.5, -0.5, 0.0]
    elif fault == "above":
        alpha[:2] = 1.0 + 2.0**-52
    elif fault == "unbalanced":
        alpha[0] += 2.0**-53
    elif fault == "nan":
        alpha[0] = np.nan
    else:
        alpha[:] = [0.5, 0.25, 0.25]
    found = DualityGap.proved(
        X=X,
        sides=signs,
        costs=costs,
        loss="hinge",
        weights=np.array([-0.5, 1.0]),
        multipliers=alpha,
    )
    assert found.dual == -math.inf
    assert not found.holds


def test_overflow_is_never_a_proof():
    X, signs = np.array([[1e200], [-1e200]]), np.array([1.0, -1.0])
    found = DualityGap.proved(
        X=X, sides=signs, costs=np.ones(2), loss="hinge",
        weights=np.array([0.0, 1e200]), multipliers=np.array([1.0, 1.0]),
    )  # fmt: skip
    assert found.primal == math.inf
    assert found.dual == -math.inf
    assert not found.holds


def genuine(seed):
    loss = LOSSES[seed % 3]
    X, signs, costs, weights, alpha, penalty = posed(seed, loss)
    data = data_of(X, (signs > 0).astype(int), 2, True)
    proof = DualityGap.proved(
        X=X, sides=signs, costs=costs, loss=loss, weights=weights, multipliers=alpha,
        bias_penalty=penalty, data_sha256=fingerprint(data), classes=("-1.0", "1.0"),
    )  # fmt: skip
    return X, signs, proof


def test_genuine_ones_are_accepted_and_survive_writing():
    for seed in cases(120):
        X, signs, proof = genuine(seed)
        assert proof.check(X, signs)
        again = from_json(proof.to_json(), "duality-gap")
        assert again.check(X, signs)
        assert again.gap == proof.gap


def test_forged_ones_are_refused():
    refused = 0
    for seed in cases(120):
        X, signs, proof = genuine(seed)
        rng = np.random.default_rng(seed)
        forged = [
            dataclasses.replace(proof, primal=proof.primal * (1 - 1e-9)),
            dataclasses.replace(proof, dual=proof.dual + 1e-9 * proof.primal),
            dataclasses.replace(proof, data_sha256="0" * 64),
            dataclasses.replace(proof, multipliers=proof.multipliers + 2.0**-40),
        ]
        moved = proof.weights.copy()
        moved[rng.integers(len(moved))] *= 1.5
        forged.append(dataclasses.replace(proof, weights=moved * 1.5))
        other = X.copy()
        other[rng.integers(len(X)), rng.integers(X.shape[1])] += 1.0
        assert not proof.check(other, signs)
        swapped = signs.copy()
        swapped[rng.integers(len(signs))] *= -1.0
        assert not proof.check(X, swapped)
        for claim in forged:
            exact_primal = naive.primal(
                X, signs, claim.costs, claim.loss, claim.weights, claim.bias_penalty
            )
            exact_dual = naive.dual(
                X, signs, claim.costs, claim.loss, claim.multipliers, claim.bias_penalty
            )
            true = (
                exact_dual is not None
                and exact_primal[1] <= Fraction(claim.primal)
                and exact_dual[0] >= Fraction(claim.dual)
                and claim.data_sha256 == proof.data_sha256
            )
            if not true:
                refused += 1
                assert not claim.check(X, signs)
    assert refused > 3 * len(cases(120))


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c["claim"].update(loss="absolute"),
        lambda c: c["claim"].update(costs=["-0x1p+0"]),
        lambda c: c["claim"].update(costs=[]),
        lambda c: c["claim"].update(costs=["nan"]),
        lambda c: c["claim"].update(rows=[0, 0]),
        lambda c: c["claim"].update(rows=[10**6]),
        lambda c: c["claim"].update(rows=[True]),
        lambda c: c["claim"].update(weights=["0x1p+0"]),
        lambda c: c["claim"].update(primal="inf"),
        lambda c: c["claim"].update(dual="x"),
        lambda c: c["claim"].update(positive="1"),
        lambda c: c["claim"].update(bias_penalty="-0x1p+0"),
        lambda c: c["claim"].pop("dual"),
        lambda c: c.update(kind="overlap"),
        lambda c: c.update(format="other"),
        lambda c: c["data"].update(intercept=1),
    ],
)
def test_malformed_files_are_refused_in_words(damage):
    _, _, proof = genuine(1)
    whole = json.loads(proof.to_json())
    damage(whole)
    with pytest.raises(Refused):
        from_json(json.dumps(whole), "duality-gap")


@pytest.mark.parametrize("loss", LOSSES)
def test_costs_that_are_partly_infinite_are_refused_by_name(loss):
    """X = 1, -1 at costs inf and 1000 let [0.5, 0.5] pass, where the least logistic is 17.77."""
    X, signs, costs = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.array([np.inf, 1000.0])
    claim = {"loss": loss, "weights": np.array([0.0, 1.0]), "multipliers": np.array([0.5, 0.5])}
    settings = {"X": X, "sides": signs, "intercept": False, **claim}
    with pytest.raises(Refused, match="all finite or all infinite"):
        DualityGap.proved(costs=costs, **settings)
    proof = DualityGap.proved(costs=np.full(2, 1000.0), **settings)
    forged = dataclasses.replace(proof, costs=costs, primal=0.5 + 1e-9, dual=0.5)
    assert not forged.check(X, signs)
    whole = json.loads(proof.to_json())
    whole["claim"]["costs"] = ["inf", "0x1p+10"]
    with pytest.raises(Refused, match="all finite or all infinite"):
        from_json(json.dumps(whole), "duality-gap")


@pytest.mark.parametrize("form", [np.asarray, as_sparse])
def test_the_box_of_maximum_likelihood_is_not_smaller_than_stated(form):
    """Products of 5e-324 and 6e-33 vanished, and with them the part of B_j that they make."""
    X, signs = np.array([[6e-33], [3e-26]]), np.array([-1.0, 1.0])
    proof = DualityGap.proved(
        form(X), signs, costs=np.full(2, 1e-300), loss="logistic", weights=np.zeros(2), ridge=0.0,
        multipliers=np.array([5e-324, 0.0]), intercept=False, slack=0.0,
    )  # fmt: skip
    assert not proof.dual > 0.0


def test_a_sparse_matrix_without_entries_is_checked():
    """Sums of no entries were whole numbers, to which nothing could be added: a crash."""
    X, signs = as_sparse(np.zeros((2, 1))), np.array([-1.0, 1.0])
    proof = DualityGap.proved(
        X, signs, costs=np.ones(2), loss="logistic", weights=np.array([0.1, 0.0]),
        multipliers=np.array([0.5, 0.5]), slack=0.0,
    )  # fmt: skip
    assert proof.check(X, [0, 1])
    closer = dataclasses.replace(proof, primal=math.nextafter(proof.primal, 0.0))
    assert not closer.check(X, [0, 1])


def test_infinite_costs_ask_for_a_hinge():
    with pytest.raises(Refused, match="ask for a hinge"):
        DualityGap.proved(
            X=np.array([[1.0], [-1.0]]), sides=np.array([1.0, -1.0]), costs=np.full(2, np.inf),
            loss="logistic", weights=np.array([0.0, 1.0]), multipliers=np.full(2, 0.5),
        )  # fmt: skip


def test_a_slack_below_the_rounding_of_its_margin_is_charged_for():
    """A margin of 1 - 4.7e-17 was rounded to 1, and C = 1e6 of nothing is nothing."""
    X = np.array([[-756838.21, 11371.02], [238824.7, -1681594.34]])
    y = np.array([1, 0])
    machine = LinearSVM(C=1e6).fit(X, y)
    proof = machine.certificate_
    exact = naive.primal(X, np.array([1.0, -1.0]), proof.costs, "hinge", proof.weights)
    assert Fraction(proof.primal) >= exact[1]
    assert proof.check(X, y)
    forged = dataclasses.replace(proof, primal=float(exact[1]) * 0.99, dual=0.0)
    assert not forged.check(X, y)


def test_squared_hinges_with_costs_near_the_largest_number():
    """4 c overflowed, and what the dual spends was nothing."""
    X, signs, costs = np.array([[1e-160], [-1e-160]]), np.array([1.0, -1.0]), np.full(2, 1e308)
    alpha = np.full(2, 8e307)
    exact = naive.dual(X, signs, costs, "squared_hinge", alpha)
    found = DualityGap.proved(
        X=X, sides=signs, costs=costs, loss="squared_hinge", weights=np.zeros(2), multipliers=alpha,
        slack=0.0,
    )  # fmt: skip
    assert Fraction(found.dual) <= exact[0]


def test_logistic_losses_of_wide_margins_are_not_nothing():
    """Beyond a margin of 746 exp is 0 in float64; times C = 1e300 the loss is not."""
    X, signs = np.array([[1e100], [-1e100]]), np.array([1.0, -1.0])
    for margin in (700.0, 746.0, 760.0, 800.0):
        w = np.array([0.0, margin * 1e-100])
        costs = np.full(2, 1e300)
        found = DualityGap.proved(
            X=X, sides=signs, costs=costs, loss="logistic", weights=w, multipliers=np.zeros(2)
        )
        flint.ctx.prec = 3000
        m = Fraction(w[1]) * Fraction(1e100)
        exact = 2 * flint.arb(10**300) * (-(flint.arb(m.numerator) / m.denominator)).exp().log1p()
        assert flint.arb(found.primal) >= exact


def test_a_balance_too_small_to_square_still_counts():
    y = np.array([1.0] * 9 + [-1.0])
    tiny = np.full(10, 1e-163)
    found = DualityGap.proved(
        np.zeros((10, 1)), y, costs=tiny, loss="hinge", weights=np.zeros(2), multipliers=tiny,
        bias_penalty=1e-200,
    )  # fmt: skip
    assert found.dual < 0.0


@pytest.mark.parametrize(
    "change",
    [
        {"loss": "absolute", "primal": 1e300},
        {"ridge": 0.5},
        {"positive": 99},
        {"positive": 0},
        {"bias_penalty": -1.0},
        {"n_features": 99},
        {"weights": np.zeros(1)},
        {"costs": np.zeros(3)},
    ],
)
def test_claims_that_cannot_be_made_are_refused(change):
    X, signs, proof = genuine(1)
    assert proof.check(X, signs)
    assert not dataclasses.replace(proof, **change).check(X, signs)


def test_dense_and_sparse_copies_are_the_same_data():
    for seed in cases(60):
        X, signs, proof = genuine(seed)
        assert proof.check(as_sparse(X), signs)


def test_every_class_must_have_its_machine():
    X, signs, proof = genuine(1)
    assert not DualityGaps(()).check(X, signs)
    assert not DualityGaps((proof, proof)).check(X, signs)


@pytest.mark.long
def test_large_sparse_data_are_summed_plainly_first():
    rng = np.random.default_rng(0)
    X = as_sparse(np.where(rng.random((600, 500)) < 0.95, rng.normal(size=(600, 500)), 0.0))
    signs = np.where(rng.random(600) < 0.5, 1.0, -1.0)
    costs = np.ones(600)
    alpha = balanced(rng.random(600), signs, costs)
    weights = rng.normal(size=501)
    settings = {"X": X, "sides": signs, "costs": costs, "weights": weights}
    settings["multipliers"] = alpha
    for loss in LOSSES:
        loose = DualityGap.proved(**settings, loss=loss, tol=1e9)
        tight = DualityGap.proved(**settings, loss=loss)
        assert loose.primal >= tight.primal * (1 - 1e-13)
        assert loose.dual <= tight.dual + 1e-13 * tight.primal
        assert loose.gap == pytest.approx(tight.gap, rel=1e-6)
    exact = naive.dual(X.toarray(), signs, costs, "hinge", alpha)
    assert Fraction(DualityGap.proved(**settings, loss="hinge", tol=1e9).dual) <= exact[0]


@pytest.mark.parametrize("way", ["plain", "compensated", "exact"])
@pytest.mark.parametrize("loss", LOSSES)
def test_sums_that_cancel_are_not_believed(loss, way):
    """Adding one to numbers so large changes nothing: float64 loses it, the bound may not."""
    large = 2.0**53
    costs = np.full(6, 3.0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        # sum a y x = +-1 and every margin is +-1, exactly; computed, they may be 0.
        signs = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
        x = np.array([large, float(rng.choice([-1, 1])), large, 0.0, 0.0, 0.0])
        order = rng.permutation(6)
        X = np.column_stack([x, rng.permutation([large, -1.0, -large, 0.0, 0.0, 0.0])])[order]
        signs, alpha = signs[order], np.ones(6)
        points = (signs, costs, alpha, way)
        terms, _ = terms_of(Model(loss, np.zeros(2), 0.0), as_sparse(X), *points)
        found = float(dual_of(terms, 0.0).low)
        assert Fraction(found) <= naive.dual(X, signs, costs, loss, alpha)[0]
        rows = np.array([rng.permutation([large, -1.0, -large]) for _ in range(6)])
        model = Model(loss, np.ones(3), 0.0)
        terms, _ = terms_of(model, as_sparse(rows), *points)
        found = float(primal_of(terms, model, 0.0).high)
        exact = naive.primal(rows, signs, costs, loss, np.array([0.0, 1.0, 1.0, 1.0]))
        assert Fraction(found) >= exact[1]


def test_products_next_to_the_largest_number_are_not_believed():
    """Where no power of two is above all terms, high parts lost what they were summed from."""
    X = np.array([[0.0, 0.0, 0.0], [2.0**983, 2.0**900, -(2.0**983)]])
    y, weights = np.array([1, 0]), np.array([0.0, 2.0**40, 1.0, 2.0**40])
    slacks = 2 + 2**900  # no margin above 0, one of -2^900
    points = {"loss": "hinge", "costs": np.ones(2), "intercept": False}
    claim = DualityGap(
        **points, weights=weights, multipliers=np.zeros(2), n_rows=2, n_features=3, dual=-1.0,
        primal=2.0**82,
    )  # fmt: skip
    assert slacks > claim.primal
    for data in (X, as_sparse(X)):
        assert not claim.check(data, y)
    # The same of a column: what the multipliers make of it is 2^900 and not 0.
    X = np.array([[2.0**983, 0.0], [2.0**900, 0.0], [-(2.0**983), 0.0], [0.0, 0.0]])
    alpha, y = np.array([2.0**40, 1.0, 2.0**40, 0.0]), np.array([1, 1, 1, 0])
    claim = DualityGap(
        **points | {"costs": np.full(4, 2.0**40)}, weights=np.zeros(3), multipliers=alpha,
        n_rows=4, n_features=2, primal=2.0**43, dual=2.0**40,
    )  # fmt: skip
    assert Fraction(2) ** 1799 > alpha.sum()
    for data in (X, as_sparse(X)):
        assert not claim.check(data, y)


def test_what_is_said_without_a_ridge_is_true_of_every_hyperplane_it_speaks_of():
    """It spoke of hyperplanes up to 1000 times as steep, and one of them halves the objective."""
    rows = [(-1e6, 1e6, 0.0, 1), (-1e6, 1e6, 0.0, -1), (0.0, 1e-6, 0.0, 1), (0.0, -1e-6, 0.0, -1)]
    rows += [(0.0, 0.0, 1e-9, 1)] * 3 + [(0.0, 0.0, 1e-9, -1)]
    X, signs = np.array([row[:3] for row in rows]), np.array([float(row[3]) for row in rows])
    w = np.array([0.0, 0.0, math.log(3.0) * 1e9])
    alpha = 1.0 / (1.0 + np.exp(signs * (X @ w)))
    proof = DualityGap.proved(
        X, signs, loss="logistic", costs=np.ones(8), weights=np.append(0.0, w), multipliers=alpha,
        ridge=0.0, intercept=False,
    )  # fmt: skip
    assert proof.gap < 1e-5
    steeper = np.array([1e8, 1e8, w[2]])
    assert np.linalg.norm(steeper) < 1000 * np.linalg.norm(w)
    there = np.log1p(np.exp(-signs * (X @ steeper))).sum()
    assert there < 0.8 * proof.dual  # no contradiction: two coefficients were 0
    assert "no hyperplane with coefficients up to 1000 times as large lowers" in str(proof)
