"""The proof of sparse multinomial models: bounds that hold, zeros that are zeros, no forgery."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.amounts import cases
from tests.naive import sparse_softmax as naive
from tests.sparse_class_problems import drawn, model_of
from tests.sparse_problems import by_checker

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.certificates.reading import from_json
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.problem.canonical import problem_from
from separatrix.problem.fingerprint import fingerprint

FIELDS = ("costs", "intercept", "ridge", "l1", "groups", "data_sha256", "classes")


def rough(proof, X, codes, shorter=0.8, share=0.9):
    """Return what is proved of weights that are too small and a dual point that is too low."""
    kept = {name: getattr(proof, name) for name in FIELDS}
    weights = proof.weights * np.append(1.0, np.full(proof.n_features, shorter))
    return SparseSoftmaxGap.proved(X, codes, weights=weights, share=share, **kept)


def objective(proof, X, codes):
    """Return the objective at the weights, as floats find it."""
    return naive.objective(
        X, codes, proof.costs, proof.l1, proof.ridge, proof.weights[:, 1:].T,
        proof.weights[:, 0] * proof.intercept, proof.groups or None,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_proved_is_so():
    zeros = 0
    for seed in cases(60):
        X, codes, costs, K, ratio, intercept, groups = case = drawn(seed)
        proof = model_of(case, tol=float(10.0 ** -(seed % 9))).certificate_
        given = X, codes, costs, K, ratio, 1.0 - ratio, intercept
        W, b = naive.proximal_gradient(*given, 1500, groups=groups)
        given = X, codes, costs, ratio, 1.0 - ratio, W, b
        assert proof.dual <= naive.objective(*given, groups) * (1.0 + 1e-12), seed
        assert objective(proof, X, codes) <= proof.primal, seed
        if naive.violation(*given, intercept, groups) > 1e-7:
            continue  # raw columns need more steps than these
        sizes = np.linalg.norm(W, axis=1) * np.sqrt(costs @ X**2)
        assert (sizes[proof.zeros] <= 1e-5 * (1.0 + sizes.max())).all(), seed
        zeros += len(proof.zeros)
    assert zeros > 20 or is_interpreted()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_wide_gap_proves_no_column_that_is_not_zero():
    zeros = 0
    for number in cases(60):
        seed = 100 + number
        X, codes, *_ = case = drawn(seed)
        fine = model_of(case, tol=1e-10).certificate_
        for shorter, share in ((0.97, 1.0), (0.9, 0.97), (0.5, 0.9)):
            proof = rough(fine, X, codes, shorter, share)
            assert not fine.weights[:, 1 + proof.zeros].any(), seed
            assert proof.check(X, codes), seed
            assert by_checker(proof, X, codes), seed
            zeros += len(proof.zeros)
    assert zeros > 20 or is_interpreted()


def test_both_checks_accept_what_is_proved():
    for seed in cases(40):
        case = drawn(seed)
        X, codes, *_ = case
        proof = model_of(case).certificate_
        assert proof.check(X, codes), seed
        assert proof.check(sp.csr_array(X), codes), seed
        again = from_json(proof.to_json())
        assert isinstance(again, SparseSoftmaxGap)
        assert again.check(X, codes), seed
        assert by_checker(proof, X, codes), seed


def test_forged_zeros_are_refused():
    tried = 0
    for seed in cases(40):
        case = drawn(seed, 40)
        X, codes, *_ = case
        proof = model_of(case).certificate_
        for j in np.flatnonzero(proof.weights[:, 1:].any(axis=0))[:2]:
            weights = proof.weights.copy()
            weights[:, 1 + j] = 0.0
            zeros = np.sort(np.append(proof.zeros, j))
            for forged in (
                replace(proof, zeros=zeros),
                replace(proof, zeros=zeros, weights=weights),
                replace(proof, zeros=zeros, weights=weights, primal=proof.primal * 1.5),
            ):
                assert not forged.check(X, codes), seed
                assert not by_checker(forged, X, codes), seed
                tried += 1
    assert tried > 20 or is_interpreted()


def test_a_zero_is_not_proved_by_a_smaller_gap_than_there_is():
    X, codes, *_ = case = drawn(26, 40)
    proof = rough(model_of(case).certificate_, X, codes)
    assert proof.gap > 1e-3
    assert proof.check(X, codes)
    for narrow in (
        replace(proof, primal=0.5 * (proof.primal + proof.dual)),
        replace(proof, dual=0.5 * (proof.primal + proof.dual)),
    ):
        assert not narrow.check(X, codes)
        assert not by_checker(narrow, X, codes)


def test_both_checks_agree_on_every_column():
    found = {True: 0, False: 0}
    for seed in range(100, 106):
        X, codes, *_ = case = drawn(seed, 40)
        fine = model_of(case).certificate_
        for shorter in (0.99, 0.9):
            proof = rough(fine, X, codes, shorter, 1.0 - 0.1 * (1.0 - shorter))
            for j in np.flatnonzero(~proof.weights[:, 1:].any(axis=0)):
                alone = replace(proof, zeros=np.array([j]))
                is_proved = alone.check(X, codes)
                assert by_checker(alone, X, codes) == is_proved, (seed, shorter, j)
                found[is_proved] += 1
    assert min(found.values()) > 5 or is_interpreted()


def test_a_bound_that_is_a_little_too_high_is_refused():
    ridges = set()
    for seed in (1, 2, 3, 4, 6, 8, 9):
        X, codes, *_ = case = drawn(seed)
        proof = rough(model_of(case).certificate_, X, codes, 0.7, 1.0)
        higher = replace(
            proof, dual=proof.dual + 1e-9 * proof.primal, zeros=np.zeros(0, dtype=np.int64)
        )
        assert not higher.check(X, codes), seed
        assert not by_checker(higher, X, codes), seed
        ridges.add(proof.ridge > 0.0)
    assert ridges == {True, False}


def test_a_bound_below_zero_proves_no_column():
    """A dual below 0 is stated as 0; the sphere is then that of the bound as it is."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 3)), np.arange(30) % 3
    X[:, -1] *= 1e-8
    far = np.zeros((3, 4))
    far[:, 1] = 30.0 * np.cos(np.arange(3))
    points = {"costs": np.full(30, 50.0), "weights": far, "l1": 1e-3, "ridge": 1e-3}
    proof = SparseSoftmaxGap.proved(X, codes, classes=tuple("abc"), **points)
    assert proof.dual <= 0.0
    assert not len(proof.zeros)
    assert proof.check(X, codes)
    assert not replace(proof, zeros=np.array([2])).check(X, codes)
    named = fingerprint(problem_from(X, codes, True))
    proof = replace(proof, data_sha256=named, classes=("0", "1", "2"))
    assert by_checker(proof, X, codes)
    assert not by_checker(replace(proof, zeros=np.array([2])), X, codes)


@pytest.mark.parametrize(
    "changed",
    [
        {"l1": 0.0},
        {"l1": -1.0},
        {"ridge": -0.5},
        {"share": 1.5},
        {"share": np.nan},
        {"zeros": np.array([0, 0])},
        {"zeros": np.array([99])},
        {"zeros": np.array([-1])},
        {"zeros": np.array([0.0])},
        {"groups": (0,)},
        {"bias_penalty": 1.0},
        {"weights": np.zeros((2, 2))},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_is_no_claim_is_refused(changed):
    X, codes, *_ = case = drawn(8, 30)
    proof = model_of(case).certificate_
    assert proof.check(X, codes)
    assert not replace(proof, **changed).check(X, codes)


def test_other_data_are_refused():
    X, codes, *_ = case = drawn(8, 30)
    proof = model_of(case).certificate_
    assert not proof.check(X * 2.0, codes)
    assert not proof.check(X, codes[::-1])
    assert "are zero in every optimal set" in str(proof) or not len(proof.zeros)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_columns_far_from_zero_are_proved_to_both_checks(ratio):
    """Scores of 1e7 and more lose digits: softmax as computed is not the exact one."""
    for seed in cases(10):
        X, codes, costs, K, *_ = drawn(seed, 20)
        case = X + 1e7, codes, 10.0 * costs, K, ratio, True, None
        proof = model_of(case, tol=1e-6, max_passes=200).certificate_
        assert proof.check(X + 1e7, codes), seed
        assert by_checker(proof, X + 1e7, codes), seed


def test_a_far_row_that_does_not_count_spoils_no_proof():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), np.ones(60)
    y = np.argmax(X + rng.normal(size=(60, 3)), axis=1)
    X[0], weights[0] = (1e18, 0.0, 0.0), 0.0
    model = sx.LogisticRegression(l1_ratio=1.0, multi_class="multinomial")
    assert model.fit(sp.csr_array(X), y, weights).status_ == "optimal"
    assert by_checker(model.certificate_, X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pulls_that_overflow_leave_a_share_that_is_a_number():
    X, codes, costs = sp.csr_array([[1e28], [1e28], [-1e28]]), np.arange(3), np.full(3, 1e291)
    proof = model_of((X, codes, costs, 3, 1.0, False, None), max_passes=3).certificate_
    assert 0.0 <= proof.share <= 1.0
    assert proof.check(X, codes)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e70])
def test_huge_and_tiny_columns_are_proved_or_said_not_to_be(scale):
    X, codes, costs, K, _, _, _ = drawn(10, 30)
    for C in (1.0, 1.0 / scale):
        case = X * scale, codes, costs * C, K, 1.0, True, None
        proof = model_of(case, max_passes=200).certificate_
        assert proof.check(X * scale, codes)
        assert by_checker(proof, X * scale, codes)


def test_data_without_columns_are_proved_too():
    X, codes = np.zeros((4, 0)), np.array([0, 1, 2, 2])
    proof = SparseSoftmaxGap.proved(
        X, codes, costs=np.ones(4), weights=np.log([[0.25], [0.25], [0.5]]), ridge=0.0, l1=1.0,
        classes=("0", "1", "2"), data_sha256=fingerprint(problem_from(X, codes, True)),
    )  # fmt: skip
    assert proof.gap < 1e-9
    assert proof.check(X, codes)
    assert by_checker(proof, X, codes)
