"""The proof of a multinomial machine: true wherever it is asked, and not to be forged."""

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases
from tests.naive import multinomial as naive
from tests.problems import as_sparse
from tests.problems_many import many

import separatrix as sx
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.reading import from_json
from separatrix.certificates.softmax_gap import SoftmaxGap, _mended_dual
from separatrix.checker import Refused


def proof_of(X, y, **settings):
    return sx.LogisticRegression(multi_class="multinomial", **settings).fit(X, y).certificate_


def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


@pytest.mark.parametrize(("intercept", "penalty"), [(True, 0.0), (True, 0.5), (False, 0.0)])
def test_any_weights_bracket_the_optimum(intercept, penalty):
    for seed in cases(40):
        X, codes, K, weights, C = many(seed, most_rows=12)
        costs = C * weights
        least = naive.optimum(X, codes, K, costs, penalty, intercept)
        rng = np.random.default_rng(seed)
        for size in (0.0, 0.1, 1.0):
            at = size * rng.normal(size=(K, X.shape[1] + 1))
            found = SoftmaxGap.proved(
                X=as_sparse(X) if seed % 2 else X, sides=codes, costs=costs, weights=at,
                intercept=intercept, bias_penalty=penalty,
            )  # fmt: skip
            assert found.dual <= least * (1.0 + 1e-8) <= found.primal * (1.0 + 2e-8)
            b = at[:, 0] * intercept
            assert found.primal >= naive.objective(at[:, 1:], b, X, codes, costs, penalty) * (
                1.0 - 1e-15
            )


def test_the_dual_is_that_of_the_softmax_where_nothing_is_to_mend():
    X, y = iris()
    at = 1.001 * proof_of(X, y, fit_intercept=False, tol=1e-2).weights
    found = SoftmaxGap.proved(X=X, sides=y, costs=np.ones(150), weights=at, intercept=False)
    q = naive.probabilities(at[:, 1:], 0.0, X)
    expected = naive.dual(q, X, y, np.ones(150), 0.0, False)
    assert 0.0 < found.dual <= expected
    assert found.dual >= expected - 1e-9 * abs(expected)


def test_both_ways_bound_the_same_numbers():
    X, y = iris()
    rng = np.random.default_rng(1)
    at = rng.normal(size=(3, 5))
    claim = SoftmaxGap(weights=at, costs=np.ones(150), n_rows=150, n_features=4)
    both = [claim.one_pass(X, y, way) for way in (True, False)]
    size = [np.linalg.norm(seen.pulls.high - seen.pulls.low) for seen in both]
    assert max(size) < 1e-9
    assert size[0] <= size[1]
    assert abs(both[0].losses - both[1].losses).max() < 1e-10


def test_a_large_constant_in_a_column_hides_behind_the_free_bias():
    X, y = iris()
    proof = proof_of(X + 1e6, y, tol=1e-6)
    assert proof.gap <= 1e-6
    assert proof.check(X + 1e6, y)


def test_forged_claims_are_refused():
    X, y = iris()
    proof = proof_of(X, y)
    assert proof.check(X, y)
    rng = np.random.default_rng(0)
    scaled = [replace(proof, weights=proof.weights * factor) for factor in (0.5, 1.01, -1.0)]
    costs = proof.costs.copy()
    costs[3] *= 2.0
    forged = [
        replace(proof, primal=proof.primal * (1.0 - 1e-6)),
        replace(proof, dual=proof.dual * (1.0 + 1e-3)),
        replace(proof, primal=0.5 * proof.dual, dual=0.5 * proof.dual),
        replace(proof, costs=costs),
        replace(proof, costs=-proof.costs),
        replace(proof, costs=proof.costs[:-1]),
        replace(proof, intercept=False),
        replace(proof, bias_penalty=-1.0),
        replace(proof, weights=proof.weights[:, ::-1].copy()),
        replace(proof, weights=np.full_like(proof.weights, np.nan)),
        replace(proof, weights=proof.weights[:2]),
        replace(proof, classes=("0", "1")),
        replace(proof, n_rows=149),
        *scaled,
    ]
    for claim in forged:
        assert not claim.check(X, y), claim
    assert not proof.check(X + 1e-9, y)
    assert not proof.check(X, rng.permutation(y))


def test_the_json_form_says_the_same_and_malformed_ones_are_refused():
    X, y = iris()
    proof = proof_of(X, y)
    text = proof.to_json()
    again = from_json(text, "softmax-gap")
    assert again.check(X, y)
    assert (again.primal, again.dual) == (proof.primal, proof.dual)
    assert again.in_words() == str(proof)
    import json

    whole = json.loads(text)
    for name, value in [
        ("costs", []),
        ("costs", ["-0x1p0"]),
        ("weights", [["0x1p0"]]),
        ("primal", "inf"),
        ("bias_penalty", "-0x1p0"),
        ("dual", 3),
    ]:
        with pytest.raises(Refused):
            from_json({**whole, "claim": {**whole["claim"], name: value}}, "softmax-gap")


def test_weights_that_overflow_prove_nothing():
    X, y = iris()
    found = SoftmaxGap.proved(X=X, sides=y, costs=np.ones(150), weights=np.full((3, 5), 1e300))
    assert not found.holds
    assert "not proved" in str(found)


def test_a_claim_made_by_columns_is_found_again():
    rng = np.random.default_rng(0)
    X, y = np.sign(rng.normal(size=(3000, 2000))), rng.integers(0, 3, 3000)
    weights = 0.02 * rng.normal(size=(3, 2001))
    costs = np.full(3000, 0.01)
    claim = SoftmaxGap.proved(
        X=X, sides=y, costs=costs, weights=weights, data_sha256="", classes=("0", "1", "2")
    )
    assert claim.check(X, y)


def test_huge_columns_leave_the_bound_that_no_loss_is_below_zero():
    X, y = iris()
    with pytest.warns(ConvergenceWarning):
        assert proof_of(X * 1e50, y).gap <= 1.001


def test_a_claim_is_found_again_where_sums_are_added_up_in_another_order():
    for seed in cases(40):
        rng = np.random.default_rng(seed)
        n, d, n_classes = int(rng.integers(5, 60)), 8, 3
        X = rng.normal(size=(n, d))  # scores are small differences of huge products
        X[:, 1], X[:, 4] = 1e8 + X[:, 1], 1e8
        X[:, 6] = X[:, 1] + X[:, 0]
        weights = rng.normal(size=(n_classes, d + 1))
        weights[:, 7] = -weights[:, 2] - weights[:, 5]
        about = {"sides": np.arange(n) % n_classes, "costs": np.ones(n)}
        claim = SoftmaxGap.proved(X=X, weights=weights, **about)
        for _ in range(5):
            order = rng.permutation(d)
            turned = np.column_stack([weights[:, 0], weights[:, 1:][:, order]])
            again = SoftmaxGap.proved(X=X[:, order], weights=turned, slack=0.0, **about)
            assert again.primal <= claim.primal
            assert again.dual >= claim.dual


def test_sums_known_better_find_no_lower_bound():
    for seed in cases(60):
        rng = np.random.default_rng(seed)
        X, codes, costs = 3.0 * rng.normal(size=(40, 3)), np.arange(40) % 3, np.full(40, 0.05)
        W, bias = 0.5 * rng.normal(size=(3, 3)), 0.2 * rng.normal(size=3)
        weights = np.column_stack([bias, W.T])
        claim = SoftmaxGap(weights=weights, costs=costs, n_rows=40, n_features=3)
        seen = claim.one_pass(X, codes, True)
        for error in (1e-3, 1e-2, 1e-1):
            rough = replace(seen, excess=Enclosure.around(seen.excess.middle, 3.0 * error))
            claim = _mended_dual(rough, codes, costs, 3.0).low
            for share in (0.0, 0.3, 1.0):
                about = Enclosure.around(seen.excess.middle, share * error)
                better = replace(seen, excess=about)
                assert _mended_dual(better, codes, costs, 1.0).low >= claim


def test_losses_of_wide_margins_are_not_nothing():
    """Powers below e^-745 vanish, and a loss of zero stayed zero however far scores were off."""
    X, codes = np.array([[1e100], [-1e100]]), np.array([0, 1])
    for margin in (700.0, 746.0, 760.0):
        weights = np.array([[0.0, 0.5 * margin * 1e-100], [0.0, -0.5 * margin * 1e-100]])
        found = SoftmaxGap.proved(
            X=X, sides=codes, costs=np.full(2, 1e300), weights=weights, intercept=False
        )
        flint.ctx.prec = 1500
        gap = 2 * Fraction(weights[0, 1]) * Fraction(1e100)
        exact = 2 * flint.arb(10**300) * (-(flint.arb(gap.numerator) / gap.denominator)).exp()
        assert flint.arb(found.primal) >= exact * flint.arb("0.999")


def test_a_vanished_loss_grows_with_the_doubt_about_its_scores():
    from separatrix.certificates.softmax_gap import _from_above

    grown = _from_above(np.zeros(2), np.array([0.0, 10.0]), 3, 1.0)
    assert grown[0] >= 3 * 2.0**-1074
    assert grown[1] >= 3 * 2.0**-1074 * np.exp(20.0)
