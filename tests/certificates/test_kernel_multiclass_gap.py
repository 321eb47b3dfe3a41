"""The two bounds of the direct machine with a kernel hold, whoever proposes and whoever checks."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.kernel_direct import (
    LINEAR,
    POLY,
    RBF,
    balanced,
    claimed,
    exact_objectives,
    exact_values,
    features_of,
    of_linear_machine,
    solved,
)
from tests.naive import crammer_singer as naive
from tests.problems_many import many

import separatrix as sx
from separatrix.certificates import kernel_scores as kernel_scores_module
from separatrix.certificates.kernel_gap import KernelMulticlassGap, shares_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, Scores, kernel_scores
from separatrix.certificates.multiclass_gap import Named
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused
from separatrix.problem.kernels import Kernel

EXACT = [LINEAR, Kernel("poly", 0.25, 2, 1.0), Kernel("poly", 0.3, 3, 0.1), RBF]
UGLY = [
    "plain", "tiny", "huge", "least", "most", "copies",
    "zeros", "far", "mixed", "light", "heavy", "spare",
]  # fmt: skip


def ugly(seed):
    """Rows, class numbers, K = 2 ... 5, costs (some zero), balanced multipliers and biases."""
    rng, kind = np.random.default_rng(seed), UGLY[seed % len(UGLY)]
    K = int(rng.integers(2, 6))
    n, d = int(rng.integers(K, 9)), int(rng.integers(1, 4))
    codes = np.concatenate([np.arange(K), rng.integers(0, K, size=n - K)])
    X = rng.normal(size=(n, d))
    X *= {"tiny": 1e-120, "least": 1e-170, "huge": 1e40, "most": 1e120}.get(kind, 1.0)
    if kind == "copies":
        X = X[rng.integers(0, 2, size=n)]
    if kind == "zeros":
        X *= rng.random(X.shape) < 0.4
    if kind in ("far", "spare"):
        X += 1e8
    if kind == "mixed":
        X *= 10.0 ** rng.integers(-30, 30, size=d)
    costs = 10.0 ** rng.integers(-3, 3) * rng.random(n) * (rng.random(n) < 0.8)
    costs *= {"light": 1e-300, "heavy": 1e250}.get(kind, 1.0)
    costs[0] += float(costs.max() == 0.0)
    multipliers = balanced(rng, codes, K, costs)
    if kind == "spare":  # far below the costs: nearly all of the objective is losses
        multipliers = multipliers._replace(multipliers=multipliers.multipliers * 2.0**-20)
    biases = 10.0 ** rng.integers(-3, 3) * rng.normal(size=K)
    return X, codes, K, costs, multipliers, biases, kind


def as_float(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf


def test_both_bounds_hold_in_exact_arithmetic():
    with_multipliers, tight = 0, 0
    for seed in cases(600):
        X, codes, K, costs, multipliers, biases, kind = ugly(seed)
        kernel = EXACT[seed // len(UGLY) % len(EXACT)]
        with np.errstate(all="ignore"):
            proof = claimed(kernel, X, codes, K, costs, multipliers, biases)
            bare = claimed(kernel, X, codes, K, costs, multipliers, biases, slack=0.0)
        primal, dual = exact_objectives(
            exact_values(kernel, X), codes, K, costs, multipliers, biases
        )
        for claim in (proof, bare):
            assert math.isinf(claim.primal) or Fraction(claim.primal) >= primal, (seed, kind)
            assert math.isinf(claim.dual) or Fraction(claim.dual) <= dual, (seed, kind)
        with_multipliers += len(multipliers.rows) > 0
        if kind in ("plain", "copies", "zeros", "light"):
            assert_allclose(proof.primal, as_float(primal), rtol=1e-9, atol=1e-300)
            assert abs(proof.dual - float(dual)) <= 1e-9 * proof.primal + 1e-323
            tight += 1
        if proof.holds:
            with np.errstate(all="ignore"):
                assert proof.check(X, codes), (seed, kind)
                # Sparse rows are not moved to their centre: far from it, distances lose digits.
                if kernel is not RBF or kind not in ("far", "mixed", "spare"):
                    assert proof.check(sp.csr_array(X), codes), (seed, kind)
    assert with_multipliers > 0.5 * len(cases(600))
    assert tight > 0


def test_any_scores_within_their_errors_find_the_claim_again():
    """Whatever another machine's rounding makes of the scores, the claim is wide enough for it."""
    for seed in cases(200):
        X, codes, K, costs, multipliers, biases, _ = ugly(seed)
        rng, kernel = np.random.default_rng(seed), EXACT[seed // len(UGLY) % len(EXACT)]
        with np.errstate(all="ignore"):
            proof = claimed(kernel, X, codes, K, costs, multipliers, biases)
            seen = kernel_scores(KernelRowsInProof(kernel, X), shares_of(codes, *multipliers, K))
            if not proof.holds:
                continue
            for turn in range(4):
                signs = rng.choice([-1.0, 1.0], size=seen.values.shape) if turn else 1.0
                # As given and this, each within one error of the truth, are two apart.
                other = Scores(seen.values + 1.999 * signs * seen.errors, seen.errors, seen.clear)
                again = KernelMulticlassGap.proved(
                    kernel=kernel,
                    sides=codes,
                    costs=costs,
                    **multipliers._asdict(),
                    biases=biases,
                    X=other,
                    n_features=X.shape[1],
                    slack=0.0,
                )
                assert again.primal <= proof.primal
                assert again.dual >= proof.dual


def test_another_order_of_sums_confirms(monkeypatch):
    proof, X, codes = solved(0)
    for width, height in ((1, 1), (3, 2), (7, 5), (512, 256)):
        monkeypatch.setattr(kernel_scores_module, "_WIDTH", width)
        monkeypatch.setattr(kernel_scores_module, "_HEIGHT", height)
        for rows in (X, np.asfortranarray(X), sp.csr_array(X), X.astype(np.longdouble)):
            assert proof.check(rows, codes)


@pytest.mark.parametrize("kernel", [RBF, LINEAR, POLY], ids=lambda kernel: kernel.name)
def test_bounds_bracket_the_optimum_of_a_quadratic_program(kernel):
    small = 0
    for seed in cases(24):
        X, codes, K, weights, C = many(seed)
        costs = C * weights
        features = features_of(kernel.block(X, X))
        best = naive.optimum(X if kernel.name == "linear" else features, codes, K, costs)
        multipliers, biases = of_linear_machine(features, codes, costs)
        rng = np.random.default_rng(seed)
        for chosen, offsets in (
            (multipliers, biases),
            (balanced(rng, codes, K, costs), rng.normal(size=K)),
        ):
            proof = claimed(kernel, X, codes, K, costs, chosen, offsets)
            assert proof.holds
            assert proof.dual <= best + 1e-7 * (1.0 + abs(best))
            assert best <= proof.primal + 1e-7 * (1.0 + abs(best))
            assert proof.check(X, codes)
            small += chosen is multipliers and proof.gap < 0.05
    assert small > 0.8 * len(cases(24))


def test_a_linear_kernel_says_what_the_linear_machine_says():
    for seed in cases(12):
        X, codes, K, weights, C = many(seed)
        costs = C * weights
        multipliers, biases = of_linear_machine(X, codes, costs, 1e-9)
        proof = claimed(LINEAR, X, codes, K, costs, multipliers, biases)
        shares = shares_of(codes, *multipliers, K)
        W = shares.T @ X
        value = naive.objective(W, biases, X, codes, costs, 0.0)
        assert_allclose(proof.primal, value, rtol=1e-8)


def test_the_margins_kept_beside_a_proof_are_those_of_the_model():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), np.arange(60) % 3
    X += 2.0 * np.eye(3)[codes]
    model = sx.KernelSVM(multi_class="direct").fit(X, codes)
    scores, own = model.decision_function(X), (np.arange(60), codes)
    mine, scores[own] = scores[own], -np.inf
    assert_allclose(model.certificate_.margins, mine - scores.max(axis=1), atol=1e-9)
    model = sx.KernelSVM().fit(X[codes > 0], codes[codes > 0])
    margins = np.where(codes[codes > 0] == 2, 1.0, -1.0) * model.decision_function(X[codes > 0])
    assert_allclose(model.certificate_.margins, margins, atol=1e-9)


def test_shares_are_rounded_once_and_must_not_be_rounded_at_all():
    codes = np.array([0, 1, 2])
    # One, half a unit and half a unit: in floats the order of the sum matters, the sum does not.
    half = 2.0**-53
    rows, rivals = np.array([0, 0]), np.array([1, 2])
    assert shares_of(codes, rows, rivals, np.array([1.0, half]), 3)[0, 0] == 1.0
    codes = np.array([0, 1, 2, 3])
    three = (np.array([0, 0, 0]), np.array([1, 2, 3]), np.array([1.0, half, half]))
    assert shares_of(codes, *three, 4)[0, 0] == 1.0 + 2.0 * half
    # Balanced, within the costs, and yet 0.1 + 0.2 is no number.
    X, costs = np.array([[0.0], [1.0], [2.0]]), np.ones(3)
    odd = Named(np.array([0, 0, 1, 2]), np.array([1, 2, 0, 0]), np.array([0.1, 0.2, 0.1, 0.2]))
    proof = claimed(LINEAR, X, np.arange(3), 3, costs, odd, np.zeros(3))
    assert proof.dual == -math.inf
    assert math.isfinite(proof.primal)
    assert not proof.holds
    assert "not finite" in str(proof)
    even = odd._replace(multipliers=np.array([0.125, 0.25, 0.125, 0.25]))
    assert claimed(LINEAR, X, np.arange(3), 3, costs, even, np.zeros(3)).holds


def test_multipliers_that_are_no_dual_point_prove_nothing():
    X, codes, costs = np.arange(3.0)[:, None], np.arange(3), np.ones(3)
    for rows, rivals, values in (
        ([0], [1], [0.5]),  # no balance
        ([0, 1], [1, 0], [0.5, 0.5 + 2.0**-40]),
        ([0, 1, 2], [1, 2, 0], [0.5, 0.5, -0.5]),
        ([0, 1], [1, 0], [1.0 + 2.0**-52, 1.0 + 2.0**-52]),  # beyond the costs
        ([0, 0, 1, 2], [1, 2, 0, 0], [0.75, 0.5, 0.75, 0.5]),
        ([0, 1], [1, 0], [-0.5, -0.5]),
        ([0, 0, 0, 1, 2, 2], [1, 2, 2, 0, 0, 0], [0.125] * 6),  # more rivals than there are
    ):
        odd = Named(np.array(rows), np.array(rivals), np.array(values))
        proof = claimed(LINEAR, X, codes, 3, costs, odd, np.zeros(3))
        assert proof.dual == -math.inf
        assert not proof.holds
        assert not dataclasses.replace(proof, dual=-9.0, primal=99.0).check(X, codes)
    scores = kernel_scores(KernelRowsInProof(LINEAR, X), np.zeros((3, 3)))
    for rows, rivals in ([0], [0]), ([-1], [0]), ([3], [0]), ([0], [3]), ([0], [-1]), ([0, 1], [1]):
        proof = KernelMulticlassGap.proved(
            kernel=LINEAR,
            sides=codes,
            costs=costs,
            rows=np.array(rows),
            rivals=np.array(rivals),
            multipliers=np.full(len(rows), 0.5),
            biases=np.zeros(3),
            X=scores,
            n_features=1,
        )
        assert (proof.primal, proof.dual) == (math.inf, -math.inf)
    good = Named(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 1.0]))
    assert claimed(LINEAR, X, codes, 3, costs, good, np.zeros(3)).check(X, codes)


def test_given_matrices_and_functions():
    for seed in cases(10):
        X, codes, K, weights, C = many(seed)
        costs, gram = C * weights, RBF.block(X, X)
        gram = 0.5 * (gram + gram.T)
        multipliers, biases = of_linear_machine(features_of(gram), codes, costs)
        proof = claimed(Kernel("precomputed"), gram, codes, K, costs, multipliers, biases)
        again = from_json(proof.to_json(), "kernel-multiclass-gap")
        assert again.holds
        assert again.check(gram, codes)
        assert "the kernel is positive" in str(again)
        assert again.check(sp.csr_array(gram), codes)
        called = claimed(
            Kernel("callable", function=RBF.block), X, codes, K, costs, multipliers, biases
        )
        text = called.to_json()
        assert from_json(text, "kernel-multiclass-gap", function=RBF.block).check(X, codes)
        with pytest.raises(Refused, match="hand it over"):
            from_json(text, "kernel-multiclass-gap")
        plain = claimed(RBF, X, codes, K, costs, multipliers, biases)
        for other in (proof, called):
            assert_allclose([other.primal, other.dual], [plain.primal, plain.dual], rtol=1e-8)


def test_a_kernel_that_is_not_positive_gets_no_bound():
    X, codes, K, weights, C = many(13)
    multipliers, biases = of_linear_machine(X, codes, C * weights)
    proof = claimed(Kernel("sigmoid", 2.0, 3, -3.0), X, codes, K, C * weights, multipliers, biases)
    assert proof.smallest < -1e-8
    assert not proof.is_convex
    assert proof.gap == math.inf
    assert not proof.holds
    assert not proof.check(X, codes)
    assert "not positive" in str(proof)
    # A claim that it is positive is not believed either.
    assert not dataclasses.replace(proof, smallest=0.5).check(X, codes)
    assert not dataclasses.replace(proof, smallest=math.nan).check(X, codes)
